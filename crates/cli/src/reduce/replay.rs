//! Applying a log, line by line.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use agenthost_protocol::action::{ReceivedAction, ReceivedEnvelope};
use agenthost_protocol::channel::{ChannelState, Snapshot};
use agenthost_protocol::ids::ServerSeq;
use agenthost_protocol::outcome::Outcome;
use agenthost_protocol::uri::Uri;

use super::line::{self, Entry, LineError};

/// The channels as far as the log has got.
pub(super) struct Replay {
    until: Option<ServerSeq>,
    channels: BTreeMap<Uri, ChannelState>,
    /// How far each channel has got: what is not later has happened.
    reached: BTreeMap<Uri, ServerSeq>,
    /// Channels that had actions but no snapshot; named once each.
    missing: BTreeSet<Uri>,
    tally: Tally,
    over: bool,
}

/// How many of what.
#[derive(Default)]
pub(super) struct Tally {
    lines: u64,
    snapshots: u64,
    applied: u64,
    idle: u64,
    skipped: u64,
    pub(super) problems: u64,
}

/// What became of something in the log.
pub(super) enum Remark {
    Snapshot(Uri, ServerSeq),
    Reduced(ServerSeq, String, Outcome),
    NotLater(ServerSeq, ServerSeq),
    AfterTheEnd(ServerSeq),
    Rejected(ServerSeq, String),
    Unknown(ServerSeq, String),
    NoSnapshot(Uri),
    Unreadable(LineError),
    Malformed(ServerSeq, String),
}

impl Remark {
    /// Whether a person should hear of it in any case.
    pub(super) fn is_problem(&self) -> bool {
        match self {
            Remark::Unreadable(_)
            | Remark::Malformed(..)
            | Remark::NoSnapshot(_)
            | Remark::Unknown(..)
            | Remark::Reduced(_, _, Outcome::WrongChannel | Outcome::Invalid(_)) => true,
            Remark::Snapshot(..)
            | Remark::Reduced(_, _, Outcome::Applied | Outcome::NoOp)
            | Remark::NotLater(..)
            | Remark::AfterTheEnd(_)
            | Remark::Rejected(..) => false,
        }
    }
}

impl Replay {
    pub(super) fn new(until: Option<ServerSeq>) -> Self {
        Replay {
            until,
            channels: BTreeMap::new(),
            reached: BTreeMap::new(),
            missing: BTreeSet::new(),
            tally: Tally::default(),
            over: false,
        }
    }

    pub(super) fn channels(&self) -> &BTreeMap<Uri, ChannelState> {
        &self.channels
    }

    /// Whether the log is past the action to stop after.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    pub(super) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Applies a line and says what became of it.
    pub(super) fn line(&mut self, line: &[u8]) -> Vec<Remark> {
        self.tally.lines += 1;
        let entries = match line::read(line) {
            Ok(entries) => entries,
            Err(error) => {
                self.tally.problems += 1;
                return vec![Remark::Unreadable(error)];
            }
        };
        let remarks: Vec<_> = entries
            .into_iter()
            .filter_map(|entry| match entry {
                Entry::Snapshot(snapshot) => Some(self.start(*snapshot)),
                Entry::Envelope(envelope) => self.apply(*envelope),
            })
            .collect();
        let problems = remarks.iter().filter(|remark| remark.is_problem());
        self.tally.problems += problems.count() as u64;
        remarks
    }

    fn start(&mut self, snapshot: Snapshot) -> Remark {
        if self.until.is_some_and(|until| snapshot.from_seq > until) {
            self.over = true;
            return Remark::AfterTheEnd(snapshot.from_seq);
        }
        self.tally.snapshots += 1;
        self.reached
            .insert(snapshot.resource.clone(), snapshot.from_seq);
        self.channels
            .insert(snapshot.resource.clone(), snapshot.state);
        Remark::Snapshot(snapshot.resource, snapshot.from_seq)
    }

    fn apply(&mut self, envelope: ReceivedEnvelope) -> Option<Remark> {
        let seq = envelope.server_seq;
        if self.until.is_some_and(|until| seq > until) {
            self.over = true;
            return Some(Remark::AfterTheEnd(seq));
        }
        if let Some(reason) = envelope.rejection_reason {
            self.tally.skipped += 1;
            return Some(Remark::Rejected(seq, reason));
        }
        let action = match envelope.action {
            ReceivedAction::Valid(action) => action,
            ReceivedAction::Unknown(raw) => {
                let name = raw.name().unwrap_or_default().to_owned();
                return Some(Remark::Unknown(seq, name));
            }
            ReceivedAction::Malformed(_, error) => {
                return Some(Remark::Malformed(seq, error.to_string()));
            }
        };
        let Some(state) = self.channels.get_mut(&envelope.channel) else {
            self.tally.skipped += 1;
            let first = self.missing.insert(envelope.channel.clone());
            return first.then_some(Remark::NoSnapshot(envelope.channel));
        };
        let reached = self.reached.entry(envelope.channel).or_default();
        if seq <= *reached {
            self.tally.skipped += 1;
            return Some(Remark::NotLater(seq, *reached));
        }
        *reached = seq;
        let outcome = state.reduce(&action);
        match outcome {
            Outcome::Applied => self.tally.applied += 1,
            Outcome::NoOp | Outcome::WrongChannel | Outcome::Invalid(_) => self.tally.idle += 1,
        }
        Some(Remark::Reduced(seq, action.info().name.to_owned(), outcome))
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Remark::Snapshot(channel, seq) => write!(f, "{} snapshot of {channel}", seq.0),
            Remark::Reduced(seq, name, outcome) => {
                write!(f, "{} {name}: ", seq.0)?;
                match outcome {
                    Outcome::Applied => f.write_str("applied"),
                    Outcome::NoOp => f.write_str("no effect"),
                    Outcome::WrongChannel => f.write_str("belongs to another kind of channel"),
                    Outcome::Invalid(reason) => write!(f, "invalid: {reason}"),
                }
            }
            Remark::NotLater(seq, reached) => {
                write!(
                    f,
                    "{} is not later than {}: it has happened already",
                    seq.0, reached.0
                )
            }
            Remark::AfterTheEnd(seq) => write!(f, "{} comes after the end", seq.0),
            Remark::Rejected(seq, reason) => write!(f, "{} was rejected: {reason}", seq.0),
            Remark::Unknown(seq, name) => write!(f, "{} unknown action type {name:?}", seq.0),
            Remark::NoSnapshot(channel) => write!(
                f,
                "{channel} has no snapshot before this action: its actions are passed over"
            ),
            Remark::Unreadable(error) => write!(f, "{error}"),
            Remark::Malformed(seq, error) => write!(f, "{} {error}", seq.0),
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "lines: {}, snapshots: {}, applied: {}, without effect: {}, passed over: {}, problems: {}",
            self.lines, self.snapshots, self.applied, self.idle, self.skipped, self.problems
        )
    }
}
