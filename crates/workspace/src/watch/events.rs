//! Bounded queue of file system events.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

/// Capacity of an event queue. When it is full, events are dropped and the receiver gets a
/// [`WatchEvent::Lost`]. The sender must never wait, because one thread serves all watches.
const MAX_QUEUED_EVENTS: usize = 10_000;

/// An event of a watched directory.
#[derive(Debug, Clone)]
pub enum WatchEvent {
    /// One change that the system reported.
    Changed(notify::Event),
    /// Events were lost, so any file may have changed.
    Lost,
}

/// The receiving end of an event queue.
#[derive(Debug)]
pub struct WatchEventReceiver {
    events: Receiver<WatchEvent>,
    lost: Arc<AtomicBool>,
}

/// The sending end of an event queue.
#[derive(Debug)]
pub(super) struct WatchEventSender {
    events: SyncSender<WatchEvent>,
    lost: Arc<AtomicBool>,
}

pub(super) fn event_queue() -> (WatchEventSender, WatchEventReceiver) {
    let (sender, receiver) = sync_channel(MAX_QUEUED_EVENTS);
    let lost = Arc::new(AtomicBool::new(false));
    let sender = WatchEventSender {
        events: sender,
        lost: Arc::clone(&lost),
    };
    let events = WatchEventReceiver {
        events: receiver,
        lost,
    };
    (sender, events)
}

impl WatchEventSender {
    /// Sends an event without waiting. If the queue is full, the event is lost.
    pub(super) fn send(&self, event: WatchEvent) {
        match self.events.try_send(event) {
            // Without a receiver the event is not needed.
            Ok(()) | Err(TrySendError::Disconnected(_)) => {}
            Err(TrySendError::Full(_)) => {
                self.lost.store(true, Ordering::Release);
                // The receiver may have emptied the queue before it could see the flag. If the
                // queue is still full, the receiver will see the flag.
                match self.events.try_send(WatchEvent::Lost) {
                    Ok(()) | Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {}
                }
            }
        }
    }
}

impl WatchEventReceiver {
    /// Waits for the next event. Returns `None` once the subscription is dropped.
    pub fn next(&self) -> Option<WatchEvent> {
        if self.lost.swap(false, Ordering::Acquire) {
            return Some(WatchEvent::Lost);
        }
        self.events.recv().ok()
    }

    /// Waits for the next event until a timeout.
    ///
    /// # Errors
    ///
    /// Returns an error at the timeout, or if the subscription is dropped.
    pub fn next_timeout(&self, timeout: Duration) -> Result<WatchEvent, RecvTimeoutError> {
        if self.lost.swap(false, Ordering::Acquire) {
            return Ok(WatchEvent::Lost);
        }
        self.events.recv_timeout(timeout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_reports_the_loss_and_does_not_block() {
        let (sender, events) = event_queue();
        for _ in 0..MAX_QUEUED_EVENTS + 1 {
            let event = notify::Event::new(notify::EventKind::Any);
            sender.send(WatchEvent::Changed(event));
        }
        assert!(matches!(events.next(), Some(WatchEvent::Lost)));
        drop(sender);
        let mut changes = 0;
        while let Some(WatchEvent::Changed(_)) = events.next() {
            changes += 1;
        }
        assert_eq!(changes, MAX_QUEUED_EVENTS);
    }
}
