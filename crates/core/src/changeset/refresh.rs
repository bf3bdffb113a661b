//! When changesets are computed.
//!
//! For those who look, when something happened, and while they look: soon
//! while a turn runs, and else ever less often.

use agenthost_protocol::changeset::ChangesetStatus;
use agenthost_protocol::common::SessionStatus;
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::number::Millis;
use agenthost_protocol::uri::Uri;

use super::view::ChangesetView;
use crate::changeset::driver::{ChangeTask, ChangesetDiff, DiffEndpoint};
use crate::host::Host;
use crate::host::effect::Effects;
use crate::host::error::RequestFailure;
use crate::host::input::Input;

/// How long until the next look while a turn runs.
const ACTIVE_REFRESH_INTERVAL: Millis = Millis(1_000);

/// The longest pause between two looks while somebody watches.
const MAX_REFRESH_INTERVAL: Millis = Millis(30_000);

/// A changeset that is being computed, or will be.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChangesetRefresh {
    /// Somebody is at it.
    is_running: bool,
    /// Something happened meanwhile: what comes of it is old.
    is_stale: bool,
    /// How long the last pause was.
    interval: Millis,
    /// Which look this is; one that was planned before does not count.
    round: u64,
}

impl Host {
    /// Has a changeset computed, and says so: what it shows may be old.
    pub(super) fn refresh_and_publish(&mut self, channel: &Uri, out: &mut Effects) {
        if self.is_changeset_ready(channel) {
            self.publish_changeset_status(channel, ChangesetStatus::Recomputing, None, out);
        }
        self.refresh_changeset(channel, out);
    }

    /// Has a changeset computed. What happens while somebody is at it is
    /// looked at after that.
    pub(crate) fn refresh_changeset(&mut self, channel: &Uri, out: &mut Effects) {
        let (Some((session, view)), Some(span)) =
            (self.find_changeset(channel), self.changeset_range(channel))
        else {
            return;
        };
        let looking = self
            .changesets
            .refreshes
            .entry(channel.clone())
            .or_default();
        if std::mem::replace(&mut looking.is_running, true) {
            looking.is_stale = true;
            return;
        }
        looking.round += 1;
        let folders = self.changeset_folders(channel, &view);
        let channel = channel.clone();
        self.push_change_job(
            session,
            folders,
            ChangeTask::ComputeDiff {
                channel,
                range: span,
            },
            out,
        );
    }

    /// Something happened to the files of a session, or may have: everyone who
    /// looks at what it can have changed is shown. A turn that ended is looked
    /// at a last time.
    pub(crate) fn refresh_session(
        &mut self,
        session: &Uri,
        ended: Option<&TurnId>,
        out: &mut Effects,
    ) {
        let all: Vec<_> = self.changesets_of(session).collect();
        let concerned = |channel: &Uri| {
            let of_ended = match ChangesetView::parse_changeset_uri(channel) {
                Some((_, ChangesetView::Turn(turn))) => Some(&turn) == ended,
                Some((_, ChangesetView::BetweenTurns(one, other))) => {
                    Some(&one) == ended || Some(&other) == ended
                }
                _ => false,
            };
            self.has_subscribers(channel) && (self.is_changeset_live(channel) || of_ended)
        };
        let all: Vec<_> = all.into_iter().filter(concerned).collect();
        for channel in all {
            if let Some(looking) = self.changesets.refreshes.get_mut(&channel) {
                looking.interval = ACTIVE_REFRESH_INTERVAL;
            }
            self.refresh_and_publish(&channel, out);
        }
    }

    /// It is known how the files of a changeset differ, or why not (CHS-6).
    pub(crate) fn handle_diff_computed(
        &mut self,
        channel: &Uri,
        outcome: Result<ChangesetDiff, RequestFailure>,
        out: &mut Effects,
    ) {
        let looking = self
            .changesets
            .refreshes
            .entry(channel.clone())
            .or_default();
        looking.is_running = false;
        let again = std::mem::take(&mut looking.is_stale);
        let changed = match outcome {
            Ok(comparison) => self.publish_diff(channel, comparison, out),
            Err(failure) => self.publish_diff_error(channel, &failure, out),
        };
        if again {
            self.refresh_changeset(channel, out);
            return;
        }
        self.schedule_refresh(channel, changed, out);
    }

    /// While somebody watches files that may still change, they are looked at
    /// again: soon while a turn runs, and else ever less often.
    fn schedule_refresh(&mut self, channel: &Uri, changed: bool, out: &mut Effects) {
        if !self.is_changeset_live(channel) || !self.has_subscribers(channel) {
            self.changesets.refreshes.remove(channel);
            return;
        }
        let has_turn = self
            .session_of(channel)
            .is_some_and(|session| self.has_running_turn(session));
        let Some(looking) = self.changesets.refreshes.get_mut(channel) else {
            return;
        };
        let doubled = Millis(looking.interval.0.saturating_mul(2));
        looking.interval = if has_turn || changed {
            ACTIVE_REFRESH_INTERVAL
        } else {
            doubled.clamp(ACTIVE_REFRESH_INTERVAL, MAX_REFRESH_INTERVAL)
        };
        let (pause, round) = (looking.interval, looking.round);
        let channel = channel.clone();
        out.schedule(pause, Input::ChangesetRefreshDue { channel, round });
    }

    /// A while has passed since somebody looked.
    pub(crate) fn refresh_due(&mut self, channel: &Uri, round: u64, out: &mut Effects) {
        let current = self.changesets.refreshes.get(channel);
        if current.is_none_or(|looking| looking.is_running || looking.round != round) {
            return;
        }
        if self.has_subscribers(channel) {
            self.refresh_changeset(channel, out);
        } else {
            self.changesets.refreshes.remove(channel);
        }
    }

    /// Whether what a changeset shows can still change.
    fn is_changeset_live(&self, channel: &Uri) -> bool {
        let span = self.changeset_range(channel);
        span.is_some_and(|span| span.to == DiffEndpoint::WorkingTree)
    }

    /// Whether a turn runs in a session.
    pub(super) fn has_running_turn(&self, session: &Uri) -> bool {
        let listed = self.sessions.get(session);
        listed.is_some_and(|listed| {
            let status = listed.metadata.status;
            status.contains(SessionStatus::IN_PROGRESS)
        })
    }

    pub(super) fn is_changeset_ready(&self, channel: &Uri) -> bool {
        let state = self.changeset(channel);
        state.is_some_and(|state| state.status == ChangesetStatus::Ready)
    }

    pub(super) fn has_subscribers(&self, channel: &Uri) -> bool {
        let channel = self.channels.get(channel);
        channel.is_some_and(|channel| !channel.subscribers.is_empty())
    }
}
