//! Applies a log to the states of its channels, line by line.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use agenthost_protocol::action::{ReceivedAction, ReceivedEnvelope};
use agenthost_protocol::channel::{ChannelState, Snapshot};
use agenthost_protocol::ids::ServerSeq;
use agenthost_protocol::outcome::Outcome;
use agenthost_protocol::uri::Uri;

use super::line;
use super::line::{LogEntry, LogLineError};

/// The states of the channels after the lines that were applied so far.
pub(super) struct LogReplay {
    until: Option<ServerSeq>,
    channels: BTreeMap<Uri, ChannelState>,
    /// The sequence number that each channel has reached. Actions up to it are skipped.
    last_seqs: BTreeMap<Uri, ServerSeq>,
    /// Channels with actions but without a snapshot. Each is reported once.
    without_snapshot: BTreeSet<Uri>,
    stats: ReplayStats,
    is_past_end: bool,
}

/// Counters for the summary line.
#[derive(Default)]
pub(super) struct ReplayStats {
    lines: u64,
    snapshots: u64,
    applied: u64,
    without_effect: u64,
    skipped: u64,
    pub(super) problems: u64,
}

/// The result of applying one entry of the log.
pub(super) enum ReplayNote {
    Snapshot(Uri, ServerSeq),
    Reduced(ServerSeq, String, Outcome),
    AlreadyApplied(ServerSeq, ServerSeq),
    AfterEnd(ServerSeq),
    Rejected(ServerSeq, String),
    Unknown(ServerSeq, String),
    NoSnapshot(Uri),
    Unreadable(LogLineError),
    Malformed(ServerSeq, String),
}

impl ReplayNote {
    /// Returns `true` if the note is printed even without `--trace`.
    pub(super) fn is_problem(&self) -> bool {
        match self {
            ReplayNote::Unreadable(_)
            | ReplayNote::Malformed(..)
            | ReplayNote::NoSnapshot(_)
            | ReplayNote::Unknown(..)
            | ReplayNote::Reduced(_, _, Outcome::WrongChannel | Outcome::Invalid(_)) => true,
            ReplayNote::Snapshot(..)
            | ReplayNote::Reduced(_, _, Outcome::Applied | Outcome::NoOp)
            | ReplayNote::AlreadyApplied(..)
            | ReplayNote::AfterEnd(_)
            | ReplayNote::Rejected(..) => false,
        }
    }
}

impl LogReplay {
    pub(super) fn new(until: Option<ServerSeq>) -> Self {
        LogReplay {
            until,
            channels: BTreeMap::new(),
            last_seqs: BTreeMap::new(),
            without_snapshot: BTreeSet::new(),
            stats: ReplayStats::default(),
            is_past_end: false,
        }
    }

    pub(super) fn channels(&self) -> &BTreeMap<Uri, ChannelState> {
        &self.channels
    }

    /// Returns `true` after an entry beyond the last action to apply.
    pub(super) fn is_past_end(&self) -> bool {
        self.is_past_end
    }

    pub(super) fn stats(&self) -> &ReplayStats {
        &self.stats
    }

    /// Applies a line and returns the results of its entries.
    pub(super) fn apply_line(&mut self, line: &[u8]) -> Vec<ReplayNote> {
        self.stats.lines += 1;
        let entries = match line::parse_line(line) {
            Ok(entries) => entries,
            Err(error) => {
                self.stats.problems += 1;
                return vec![ReplayNote::Unreadable(error)];
            }
        };
        let remarks: Vec<_> = entries
            .into_iter()
            .filter_map(|entry| match entry {
                LogEntry::Snapshot(snapshot) => Some(self.apply_snapshot(*snapshot)),
                LogEntry::Envelope(envelope) => self.apply_envelope(*envelope),
            })
            .collect();
        let problems = remarks.iter().filter(|remark| remark.is_problem());
        self.stats.problems += problems.count() as u64;
        remarks
    }

    fn apply_snapshot(&mut self, snapshot: Snapshot) -> ReplayNote {
        if self.until.is_some_and(|until| snapshot.from_seq > until) {
            self.is_past_end = true;
            return ReplayNote::AfterEnd(snapshot.from_seq);
        }
        self.stats.snapshots += 1;
        self.last_seqs
            .insert(snapshot.resource.clone(), snapshot.from_seq);
        self.channels
            .insert(snapshot.resource.clone(), snapshot.state);
        ReplayNote::Snapshot(snapshot.resource, snapshot.from_seq)
    }

    fn apply_envelope(&mut self, envelope: ReceivedEnvelope) -> Option<ReplayNote> {
        let seq = envelope.server_seq;
        if self.until.is_some_and(|until| seq > until) {
            self.is_past_end = true;
            return Some(ReplayNote::AfterEnd(seq));
        }
        if let Some(reason) = envelope.rejection_reason {
            self.stats.skipped += 1;
            return Some(ReplayNote::Rejected(seq, reason));
        }
        let action = match envelope.action {
            ReceivedAction::Valid(action) => action,
            ReceivedAction::Unknown(raw) => {
                let name = raw.name().unwrap_or_default().to_owned();
                return Some(ReplayNote::Unknown(seq, name));
            }
            ReceivedAction::Malformed(_, error) => {
                return Some(ReplayNote::Malformed(seq, error.to_string()));
            }
        };
        let Some(state) = self.channels.get_mut(&envelope.channel) else {
            self.stats.skipped += 1;
            let first = self.without_snapshot.insert(envelope.channel.clone());
            return first.then_some(ReplayNote::NoSnapshot(envelope.channel));
        };
        let reached = self.last_seqs.entry(envelope.channel).or_default();
        if seq <= *reached {
            self.stats.skipped += 1;
            return Some(ReplayNote::AlreadyApplied(seq, *reached));
        }
        *reached = seq;
        let outcome = state.reduce(&action);
        match outcome {
            Outcome::Applied => self.stats.applied += 1,
            Outcome::NoOp | Outcome::WrongChannel | Outcome::Invalid(_) => {
                self.stats.without_effect += 1
            }
        }
        Some(ReplayNote::Reduced(
            seq,
            action.info().name.to_owned(),
            outcome,
        ))
    }
}

impl fmt::Display for ReplayNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReplayNote::Snapshot(channel, seq) => write!(f, "{} snapshot of {channel}", seq.0),
            ReplayNote::Reduced(seq, name, outcome) => {
                write!(f, "{} {name}: ", seq.0)?;
                match outcome {
                    Outcome::Applied => f.write_str("applied"),
                    Outcome::NoOp => f.write_str("no effect"),
                    Outcome::WrongChannel => f.write_str("belongs to another kind of channel"),
                    Outcome::Invalid(reason) => write!(f, "invalid: {reason}"),
                }
            }
            ReplayNote::AlreadyApplied(seq, reached) => {
                write!(
                    f,
                    "{} is not later than {}: already applied",
                    seq.0, reached.0
                )
            }
            ReplayNote::AfterEnd(seq) => write!(f, "{} is after the last requested action", seq.0),
            ReplayNote::Rejected(seq, reason) => write!(f, "{} was rejected: {reason}", seq.0),
            ReplayNote::Unknown(seq, name) => write!(f, "{} unknown action type {name:?}", seq.0),
            ReplayNote::NoSnapshot(channel) => write!(
                f,
                "{channel} has no snapshot before this action: its actions are skipped"
            ),
            ReplayNote::Unreadable(error) => write!(f, "{error}"),
            ReplayNote::Malformed(seq, error) => write!(f, "{} {error}", seq.0),
        }
    }
}

impl fmt::Display for ReplayStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "lines: {}, snapshots: {}, applied: {}, without effect: {}, skipped: {}, problems: {}",
            self.lines,
            self.snapshots,
            self.applied,
            self.without_effect,
            self.skipped,
            self.problems
        )
    }
}
