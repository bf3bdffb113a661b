//! Writer epochs: which numbers belong to the history in the log.
//!
//! The end of the log can be lost: by a power cut, or because the data
//! directory was restored from a copy. The host would then give out numbers
//! again that clients have seen with other actions. So each host that opens the
//! log for writing begins an epoch, whose first number is later than all others
//! in the log and not before the time in microseconds. Numbers between two
//! epochs were never given out, or are lost.
//!
//! A client also can't have seen a number of an epoch in which it was not
//! attached. That makes the rule hold when the clock goes backwards, too.

use agenthost_protocol::ids::ServerSeq;

/// The end of the log, and the numbers that it knows.
#[derive(Debug, Clone)]
pub(crate) struct HostLog {
    /// The last number that was given out.
    pub(crate) seq: ServerSeq,
    /// Everything after this number is in the log; a client that has seen less
    /// gets snapshots.
    pub(crate) log_start: ServerSeq,
    pub(crate) epochs: WriterEpochs,
}

/// Epochs that are over, and the one that goes on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriterEpochs {
    /// Those that are over, the oldest first.
    pub closed: Vec<ClosedEpoch>,
    /// The first number of the epoch that goes on. It names the epoch.
    pub current: ServerSeq,
}

/// An epoch whose writer is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClosedEpoch {
    /// The first number, which no action has.
    pub first: ServerSeq,
    /// The last number that was given out.
    pub last: ServerSeq,
}

impl WriterEpochs {
    /// Returns the first number of an epoch that begins now, in a log whose
    /// last number is known.
    ///
    /// A clock that is behind says nothing about how many numbers were lost, so
    /// an amount by chance is left out, of up to an hour in microseconds.
    pub fn next_epoch_start(last: ServerSeq, micros_since_1970: u64, chance: u32) -> ServerSeq {
        let next = last.0.saturating_add(1);
        match micros_since_1970 >= next {
            true => ServerSeq(micros_since_1970),
            false => ServerSeq(next.saturating_add(u64::from(chance))),
        }
    }

    /// Whether a client that was last attached in an epoch may have seen a
    /// number, given the last one that was given out.
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

    /// Forgets epochs of which nothing is left in the log.
    pub(crate) fn drop_before(&mut self, log_start: ServerSeq) {
        self.closed.retain(|epoch| epoch.last >= log_start);
    }
}
