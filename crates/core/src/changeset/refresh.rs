//! Schedules the computation of changesets.
//!
//! A changeset with subscribers is refreshed after events that may have changed files, and
//! periodically: every second while a turn is active, otherwise with exponential backoff.

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

/// Delay until the next refresh while a turn is active or files are changing.
const ACTIVE_REFRESH_INTERVAL: Millis = Millis(1_000);

/// Limit for the backoff between two refreshes, so that changes from outside of the host
/// appear within half a minute.
const MAX_REFRESH_INTERVAL: Millis = Millis(30_000);

/// Refresh state of one changeset.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChangesetRefresh {
    /// `true` while a diff job is running.
    is_running: bool,
    /// `true` if files may have changed since the running job started: its result is
    /// outdated and the job is repeated.
    is_stale: bool,
    /// Delay before the scheduled refresh.
    interval: Millis,
    /// Number of the last diff job. A timer of an earlier round is ignored.
    round: u64,
}

impl Host {
    /// Marks a changeset as recomputing, and refreshes it.
    pub(super) fn refresh_and_publish(&mut self, channel: &Uri, out: &mut Effects) {
        if self.is_changeset_ready(channel) {
            self.publish_changeset_status(channel, ChangesetStatus::Recomputing, None, out);
        }
        self.refresh_changeset(channel, out);
    }

    /// Starts a diff job for a changeset. If one is running already, another one follows
    /// it.
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

    /// Refreshes the subscribed changesets of a session whose files may have changed.
    /// Changesets of the turn that has just ended are refreshed a last time.
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

    /// Publishes the result of a diff job, or its error (CHS-6), and schedules the next
    /// refresh.
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

    /// Schedules the next refresh of a changeset that has subscribers and can still change.
    /// The delay doubles after each refresh without changes, unless a turn is active.
    fn schedule_refresh(&mut self, channel: &Uri, changed: bool, out: &mut Effects) {
        if !self.is_changeset_live(channel) || !self.has_subscribers(channel) {
            self.changesets.refreshes.remove(channel);
            return;
        }
        let has_turn = self
            .session_of(channel)
            .is_some_and(|session| self.has_running_turn_in(session));
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

    /// Refreshes a changeset whose timer has fired.
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

    /// Returns `true` if the changeset ends at the working tree, so its diff can still
    /// change.
    fn is_changeset_live(&self, channel: &Uri) -> bool {
        let span = self.changeset_range(channel);
        span.is_some_and(|span| span.to == DiffEndpoint::WorkingTree)
    }

    pub(super) fn has_running_turn_in(&self, session: &Uri) -> bool {
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
