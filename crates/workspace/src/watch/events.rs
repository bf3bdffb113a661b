//! A bounded queue of file system events.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

/// Events that wait in a queue. If there are more, they are dropped and the
/// receiver gets a [`WatchEvent::Lost`]: whoever sends must never wait, because
/// one thread serves all watches.
const MAX_QUEUED_EVENTS: usize = 10_000;

/// Something that happened in a watched folder.
#[derive(Debug, Clone)]
pub enum WatchEvent {
    /// A change.
    Changed(notify::Event),
    /// Events were lost: anything may have changed.
    Lost,
}

/// The receiving end of a queue of events.
#[derive(Debug)]
pub struct WatchEventReceiver {
    events: Receiver<WatchEvent>,
    lost: Arc<AtomicBool>,
}

/// The sending end of a queue of events.
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
    /// Sends an event without waiting.
    pub(super) fn send(&self, event: WatchEvent) {
        match self.events.try_send(event) {
            // Without a receiver nobody misses anything.
            Ok(()) | Err(TrySendError::Disconnected(_)) => {}
            Err(TrySendError::Full(_)) => {
                self.lost.store(true, Ordering::Release);
                // The receiver may have emptied the queue before it could see
                // the flag. If the queue is still full, it will see it.
                match self.events.try_send(WatchEvent::Lost) {
                    Ok(()) | Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {}
                }
            }
        }
    }
}

impl WatchEventReceiver {
    /// Waits for the next event; `None` once the subscription is dropped.
    pub fn next(&self) -> Option<WatchEvent> {
        if self.lost.swap(false, Ordering::Acquire) {
            return Some(WatchEvent::Lost);
        }
        self.events.recv().ok()
    }

    /// Waits for the next event, but not longer than a timeout.
    ///
    /// # Errors
    ///
    /// If there is none in time, or the subscription is dropped.
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
