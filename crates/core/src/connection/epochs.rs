//! Writer epochs: the ranges of sequence numbers that belong to this log.
//!
//! The end of the log can be lost in a power failure, or when the data directory is
//! restored from a backup. The host would then assign numbers again that clients have seen
//! with other actions. So each host that opens the log for writing begins an epoch. Its
//! first number is greater than all numbers in the log, and not less than the time in
//! microseconds. Numbers between two epochs were never assigned, or are lost.
//!
//! A client also can't have seen a number of an epoch in which it was not attached. So the
//! rule holds even if the clock goes backwards.

use agenthost_protocol::ids::ServerSeq;

/// The end of the log and its range of numbers.
#[derive(Debug, Clone)]
pub(crate) struct HostLog {
    /// The last number that was assigned.
    pub(crate) seq: ServerSeq,
    /// The log has every action after this number. A client that has seen less gets
    /// snapshots.
    pub(crate) log_start: ServerSeq,
    pub(crate) epochs: WriterEpochs,
}

/// The closed epochs and the current one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriterEpochs {
    /// Closed epochs, the oldest first.
    pub closed: Vec<ClosedEpoch>,
    /// First number of the current epoch, which identifies the epoch.
    pub current: ServerSeq,
}

/// An epoch whose host has stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClosedEpoch {
    /// The first number, which no action has.
    pub first: ServerSeq,
    /// The last number that was assigned.
    pub last: ServerSeq,
}

impl WriterEpochs {
    /// Returns the first number of an epoch that begins now, after the last number in the
    /// log.
    ///
    /// If the clock is behind the log, the number of lost actions is unknown. A random gap
    /// of up to `u32::MAX` microseconds, a little more than an hour, makes a collision
    /// unlikely.
    pub fn next_epoch_start(last: ServerSeq, micros_since_1970: u64, chance: u32) -> ServerSeq {
        let next = last.0.saturating_add(1);
        if micros_since_1970 >= next {
            ServerSeq(micros_since_1970)
        } else {
            ServerSeq(next.saturating_add(u64::from(chance)))
        }
    }

    /// Returns `true` if a client that was last attached in the epoch `attached` may have
    /// seen the number `seen`. `last` is the last number that was assigned.
    pub fn may_have_seen(&self, seen: ServerSeq, attached: ServerSeq, last: ServerSeq) -> bool {
        let in_closed = |epoch: &ClosedEpoch| epoch.first <= seen && seen <= epoch.last;
        let epoch = if self.current <= seen && seen <= last {
            Some(self.current)
        } else {
            self.closed
                .iter()
                .rev()
                .find(|epoch| in_closed(epoch))
                .map(|epoch| epoch.first)
        };
        epoch.is_some_and(|epoch| epoch <= attached)
    }

    /// Removes closed epochs that have no action in the log any more.
    pub(crate) fn drop_before(&mut self, log_start: ServerSeq) {
        self.closed.retain(|epoch| epoch.last >= log_start);
    }
}
