//! What waits to be sent to one connection.
//!
//! One FIFO for each connection, so that answers, actions and notifications
//! leave in the order the host decided (TRN-8). It is bounded twice, in
//! messages and in bytes. When it is full, the connection is closed with code
//! 1013 and the client resumes by `reconnect`: nothing is ever skipped in
//! silence, and nobody else waits (TRN-9).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use agenthost_core::Answer;
use agenthost_protocol::rpc::RequestId;
use axum::extract::ws::Utf8Bytes;
use tokio::sync::mpsc;

use crate::encode::Recovered;
use crate::older::OlderAnswer;
use tokio_util::sync::CancellationToken;

/// Most messages that wait, however small they are.
const MESSAGES: usize = 4_096;

/// Something to send.
#[derive(Debug)]
pub(crate) enum Outgoing {
    /// As it is; shared by everyone it goes to.
    Text(Utf8Bytes),
    /// An answer, encoded by the connection that it goes to: a snapshot can be
    /// large, and the loop has no time for that.
    Answer(RequestId, Box<Answer>),
    /// The answer to a client that came back with cursors, encoded likewise.
    Recoveries(RequestId, Vec<Recovered>),
    /// An answer in the words of an older version, encoded likewise.
    Older(Box<OlderAnswer>),
    /// The end, once all before it is sent.
    Close(Closing),
}

/// Why the host ends a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Closing {
    /// There is nothing more to say.
    Done,
    /// The host stops.
    Stopping,
    /// The client could not keep up.
    TooSlow,
    /// The client said nothing for too long.
    Silent,
    /// What came is more than a message may be.
    TooLarge,
    /// What came is no text.
    NotText,
    /// What came breaks the rules of the transport.
    Broken,
}

impl Closing {
    /// Why, in words.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Closing::Done => "",
            Closing::Stopping => "the host stops",
            Closing::TooSlow => "too slow: reconnect to go on",
            Closing::Silent => "silent for too long",
            Closing::TooLarge => "a message is too large",
            Closing::NotText => "a message is not UTF-8",
            Closing::Broken => "this is not how WebSockets talk",
        }
    }
}

/// The loop's end of an outbox.
#[derive(Debug)]
pub(crate) struct Outbox {
    queue: mpsc::Sender<Outgoing>,
    waiting: Arc<AtomicUsize>,
    taken: Arc<AtomicUsize>,
    most: usize,
    overflow: CancellationToken,
}

/// Tells the loop that an outbox has room again.
pub(crate) type Room = Arc<tokio::sync::Notify>;

/// The connection's end of an outbox.
#[derive(Debug)]
pub(crate) struct Outlet {
    queue: mpsc::Receiver<Outgoing>,
    waiting: Arc<AtomicUsize>,
    taken: Arc<AtomicUsize>,
    most: usize,
    room: Room,
    /// Set when the outbox overflowed.
    pub(crate) overflow: CancellationToken,
}

/// The connection can't keep up; it is being closed.
#[derive(Debug)]
pub(crate) struct Overflow;

pub(crate) fn outbox(most: usize, room: Room) -> (Outbox, Outlet) {
    let (sender, receiver) = mpsc::channel(MESSAGES);
    let waiting = Arc::new(AtomicUsize::new(0));
    let taken = Arc::new(AtomicUsize::new(0));
    let overflow = CancellationToken::new();
    let outbox = Outbox {
        queue: sender,
        waiting: Arc::clone(&waiting),
        taken: Arc::clone(&taken),
        most,
        overflow: overflow.clone(),
    };
    let outlet = Outlet {
        queue: receiver,
        waiting,
        taken,
        most,
        room,
        overflow,
    };
    (outbox, outlet)
}

impl Outbox {
    /// Puts something at the end. Never waits.
    pub(crate) fn push(&self, outgoing: Outgoing) -> Result<(), Overflow> {
        let size = size(&outgoing, self.most);
        let before = self.waiting.fetch_add(size, Ordering::Relaxed);
        // Something large goes through while little else waits: whoever reads
        // must not be cut off for what others say.
        let fits = before <= self.most / 2 || before + size <= self.most;
        if !fits || self.queue.try_send(outgoing).is_err() {
            self.overflow.cancel();
            return Err(Overflow);
        }
        Ok(())
    }

    /// How many messages the connection has taken so far.
    pub(crate) fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    /// How many messages wait.
    pub(crate) fn messages(&self) -> usize {
        self.queue.max_capacity() - self.queue.capacity()
    }

    /// Whether it is more than half full.
    pub(crate) fn is_crowded(&self) -> bool {
        let messages = self.messages();
        self.waiting.load(Ordering::Relaxed) > self.most / 2 || messages > MESSAGES / 2
    }
}

impl Outlet {
    /// The next thing to send; `None` when there will be no more.
    pub(crate) async fn next(&mut self) -> Option<Outgoing> {
        let outgoing = self.queue.recv().await?;
        Some(self.account(outgoing))
    }

    /// The next thing to send, if it is there already.
    pub(crate) fn take(&mut self) -> Option<Outgoing> {
        let outgoing = self.queue.try_recv().ok()?;
        Some(self.account(outgoing))
    }

    fn account(&self, outgoing: Outgoing) -> Outgoing {
        self.taken.fetch_add(1, Ordering::Relaxed);
        let size = size(&outgoing, self.most);
        let before = self.waiting.fetch_sub(size, Ordering::Relaxed);
        let half = self.most / 2;
        let emptied = before > half && before - size <= half;
        if emptied || self.queue.len() == MESSAGES / 2 {
            self.room.notify_one();
        }
        outgoing
    }
}

/// What a message counts for. One that is larger than all that may wait leaves
/// some room, or whoever reads it would be cut off by the next.
fn size(outgoing: &Outgoing, most: usize) -> usize {
    let bounded = |bytes| match bytes > most {
        true => most - most / 4,
        false => bytes,
    };
    match outgoing {
        Outgoing::Text(text) => bounded(text.len()),
        Outgoing::Recoveries(_, channels) => {
            bounded(channels.iter().map(Recovered::bytes).sum::<usize>() + 1_024)
        }
        // A pointer to a state that the host has anyway.
        Outgoing::Answer(..) | Outgoing::Older(_) => 1_024,
        Outgoing::Close(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(length: usize) -> Outgoing {
        Outgoing::Text("x".repeat(length).into())
    }

    #[tokio::test]
    async fn a_full_outbox_says_so_once_and_for_all() {
        let (outbox, mut outlet) = outbox(100, Room::default());
        assert!(outbox.push(text(60)).is_ok());
        assert!(outbox.push(text(40)).is_ok());
        assert!(!outlet.overflow.is_cancelled());
        assert!(outlet.next().await.is_some());
        assert!(outbox.push(text(60)).is_ok());
        assert!(outbox.push(text(1)).is_err());
        assert!(outlet.overflow.is_cancelled());
    }

    #[tokio::test]
    async fn one_large_message_goes_through_behind_small_ones() {
        let (outbox, mut outlet) = outbox(100, Room::default());
        assert!(outbox.push(text(10)).is_ok());
        assert!(outbox.push(text(1_000)).is_ok());
        assert!(outlet.next().await.is_some());
        assert!(outlet.next().await.is_some());
        assert!(outbox.push(text(1_000)).is_ok());
        assert!(outbox.push(text(25)).is_ok());
        assert!(outbox.push(text(1)).is_err());
    }

    #[tokio::test]
    async fn whoever_reads_something_very_large_is_not_cut_off_by_the_next() {
        let (outbox, _outlet) = outbox(100, Room::default());
        assert!(outbox.push(text(1_000)).is_ok());
        assert!(outbox.is_crowded());
        assert!(outbox.push(text(20)).is_ok());
        assert!(outbox.push(text(1_000)).is_err());
    }

    #[tokio::test]
    async fn a_crowded_outbox_says_when_there_is_room() {
        let room = Room::default();
        let (outbox, mut outlet) = outbox(100, Arc::clone(&room));
        for _ in 0..3 {
            assert!(outbox.push(text(30)).is_ok());
        }
        assert!(outbox.is_crowded());
        outlet.next().await.unwrap();
        outlet.next().await.unwrap();
        assert!(!outbox.is_crowded());
        room.notified().await;
    }

    #[tokio::test]
    async fn many_small_messages_are_bounded_too() {
        let (outbox, _outlet) = outbox(usize::MAX, Room::default());
        let taken = (0..10_000).take_while(|_| outbox.push(text(1)).is_ok());
        assert_eq!(taken.count(), MESSAGES);
    }
}
