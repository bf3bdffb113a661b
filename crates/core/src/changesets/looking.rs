//! When changesets are computed.
//!
//! For those who look, when something happened, and while they look: soon
//! while a turn runs, and else ever less often.

use agenthost_protocol::changeset::ChangesetStatus;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::common::SessionStatus;
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::number::Millis;
use agenthost_protocol::uri::Uri;

use super::view::View;
use crate::changes::{ChangeTask, Comparison, Moment};
use crate::effect::Effects;
use crate::host::Host;
use crate::input::Input;
use crate::refusal::Failure;

/// How long until the next look while a turn runs.
const SOON: Millis = Millis(1_000);

/// The longest pause between two looks while somebody watches.
const PAUSE: Millis = Millis(30_000);

/// A changeset that is being computed, or will be.
#[derive(Debug, Clone, Default)]
pub(crate) struct Looking {
    /// Somebody is at it.
    busy: bool,
    /// Something happened meanwhile: what comes of it is old.
    again: bool,
    /// How long the last pause was.
    pause: Millis,
    /// Which look this is; one that was planned before does not count.
    round: u64,
}

impl Host {
    /// Has a changeset computed, and says so: what it shows may be old.
    pub(super) fn refresh_aloud(&mut self, channel: &Uri, out: &mut Effects) {
        if self.is_ready(channel) {
            self.show_status(channel, ChangesetStatus::Recomputing, None, out);
        }
        self.refresh(channel, out);
    }

    /// Has a changeset computed. What happens while somebody is at it is
    /// looked at after that.
    pub(crate) fn refresh(&mut self, channel: &Uri, out: &mut Effects) {
        let (Some((session, view)), Some(span)) = (self.changeset(channel), self.span(channel))
        else {
            return;
        };
        let looking = self.looking.entry(channel.clone()).or_default();
        if std::mem::replace(&mut looking.busy, true) {
            looking.again = true;
            return;
        }
        looking.round += 1;
        let folders = self.folders_of(channel, &view);
        let channel = channel.clone();
        self.look(session, folders, ChangeTask::Compare { channel, span }, out);
    }

    /// Something happened to the files of a session, or may have: everyone who
    /// looks at what it can have changed is shown. A turn that ended is looked
    /// at a last time.
    pub(crate) fn look_again_at_all(
        &mut self,
        session: &Uri,
        ended: Option<&TurnId>,
        out: &mut Effects,
    ) {
        let all: Vec<_> = self.changesets_of(session).collect();
        let concerned = |channel: &Uri| {
            let of_ended = match View::read(channel) {
                Some((_, View::Turn(turn))) => Some(&turn) == ended,
                Some((_, View::Between(one, other))) => {
                    Some(&one) == ended || Some(&other) == ended
                }
                _ => false,
            };
            self.is_watched(channel) && (self.is_live(channel) || of_ended)
        };
        let all: Vec<_> = all.into_iter().filter(concerned).collect();
        for channel in all {
            if let Some(looking) = self.looking.get_mut(&channel) {
                looking.pause = SOON;
            }
            self.refresh_aloud(&channel, out);
        }
    }

    /// It is known how the files of a changeset differ, or why not (CHS-6).
    pub(crate) fn compared(
        &mut self,
        channel: &Uri,
        outcome: Result<Comparison, Failure>,
        out: &mut Effects,
    ) {
        let looking = self.looking.entry(channel.clone()).or_default();
        looking.busy = false;
        let again = std::mem::take(&mut looking.again);
        let changed = match outcome {
            Ok(comparison) => self.show_comparison(channel, comparison, out),
            Err(failure) => self.show_failure(channel, &failure, out),
        };
        if again {
            self.refresh(channel, out);
            return;
        }
        self.plan_next_look(channel, changed, out);
    }

    /// While somebody watches files that may still change, they are looked at
    /// again: soon while a turn runs, and else ever less often.
    fn plan_next_look(&mut self, channel: &Uri, changed: bool, out: &mut Effects) {
        if !self.is_live(channel) || !self.is_watched(channel) {
            self.looking.remove(channel);
            return;
        }
        let busy = self
            .owner(channel)
            .is_some_and(|session| self.is_busy(session));
        let Some(looking) = self.looking.get_mut(channel) else {
            return;
        };
        let longer = Millis(looking.pause.0.saturating_mul(2));
        looking.pause = if busy || changed {
            SOON
        } else {
            longer.clamp(SOON, PAUSE)
        };
        let (pause, round) = (looking.pause, looking.round);
        let channel = channel.clone();
        out.later(pause, Input::LookAgain { channel, round });
    }

    /// A while has passed since somebody looked.
    pub(crate) fn look_again(&mut self, channel: &Uri, round: u64, out: &mut Effects) {
        let current = self.looking.get(channel);
        if current.is_none_or(|looking| looking.busy || looking.round != round) {
            return;
        }
        if self.is_watched(channel) {
            self.refresh(channel, out);
        } else {
            self.looking.remove(channel);
        }
    }

    /// Whether what a changeset shows can still change.
    fn is_live(&self, channel: &Uri) -> bool {
        let span = self.span(channel);
        span.is_some_and(|span| span.to == Moment::Now)
    }

    /// Whether a turn runs in a session.
    pub(super) fn is_busy(&self, session: &Uri) -> bool {
        let listed = self.sessions.get(session);
        listed.is_some_and(|listed| {
            let status = listed.metadata.status;
            status.contains(SessionStatus::IN_PROGRESS)
        })
    }

    pub(super) fn is_ready(&self, channel: &Uri) -> bool {
        match self.state(channel) {
            Some(ChannelState::Changeset(state)) => state.status == ChangesetStatus::Ready,
            _ => false,
        }
    }

    pub(super) fn is_watched(&self, channel: &Uri) -> bool {
        let channel = self.channels.get(channel);
        channel.is_some_and(|channel| !channel.subscribers.is_empty())
    }
}
