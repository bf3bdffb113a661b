//! Removes old sessions by the limits of the configuration.
//!
//! A session that runs, waits for a user or has a subscriber is never removed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use agenthost_protocol::common::SessionStatus;
use agenthost_protocol::number::Millis;
use agenthost_protocol::session::SessionSummary;
use agenthost_protocol::uri::Uri;

use crate::changeset::driver::WorktreeDisposal;
use crate::host::Host;
use crate::host::effect::audit::RemovalReason;
use crate::host::effect::{Effect, Effects};

/// Maximum number of sessions that one input removes, because they are removed in one step.
const MAX_REMOVALS: usize = 50;

/// The names of the limits, as users know them from the configuration.
const AGE_RULE: &str = "retention.session_days";
const SIZE_RULE: &str = "retention.session_megabytes";

/// Limits on the sessions that are kept. Without any, all are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SessionRetention {
    /// Maximum time since a session was last modified.
    pub age: Option<Millis>,
    /// Maximum size of all sessions in bytes. Archived sessions go first, then the oldest.
    pub bytes: Option<u64>,
}

impl SessionRetention {
    /// Returns `true` if there is a limit.
    pub fn is_limited(self) -> bool {
        self.age.is_some() || self.bytes.is_some()
    }
}

/// The input of a check of the limits.
#[derive(Debug, Clone)]
pub struct RetentionCheck {
    pub limits: SessionRetention,
    /// The time of the check.
    pub now: Millis,
    /// The size of each session in bytes. Empty if no limit needs it.
    pub sizes: BTreeMap<Uri, u64>,
}

impl Host {
    /// Removes the sessions beyond the limits.
    pub(crate) fn apply_retention(&mut self, check: &RetentionCheck, out: &mut Effects) {
        for (session, rule) in self.expired_sessions(check) {
            let reason = RemovalReason::Retention(rule);
            self.remove_session(&session, reason, WorktreeDisposal::KeepWork, out);
            out.push(Effect::ReportRemoved { session, rule });
        }
    }

    /// Returns the sessions beyond the limits, each with the limit.
    pub(crate) fn expired_sessions(&self, check: &RetentionCheck) -> Vec<(Uri, &'static str)> {
        let watched = self.watched_sessions();
        let is_unused = |summary: &&SessionSummary| {
            let status = summary.metadata.status;
            !status.contains(SessionStatus::IN_PROGRESS) && !watched.contains(&summary.resource)
        };
        let listed = self.listed_sessions().map(|summary| &**summary);
        let mut unused: Vec<_> = listed.filter(is_unused).collect();
        unused.sort_by_key(|summary| {
            let is_archived = summary.metadata.status.contains(SessionStatus::IS_ARCHIVED);
            (Reverse(is_archived), modified_at(summary))
        });
        let size_of = |summary: &SessionSummary| check.sizes.get(&summary.resource).copied();
        let all = self.listed_sessions();
        let mut total: u64 = all.filter_map(|summary| size_of(summary)).sum();
        let mut expired = Vec::new();
        for summary in unused {
            let age = check.now.0.saturating_sub(modified_at(summary).0);
            let size = size_of(summary).unwrap_or(0);
            let rule = if check.limits.age.is_some_and(|limit| age > limit.0) {
                AGE_RULE
            } else if size > 0 && check.limits.bytes.is_some_and(|limit| total > limit) {
                SIZE_RULE
            } else {
                continue;
            };
            total = total.saturating_sub(size);
            expired.push((summary.resource.clone(), rule));
            if expired.len() >= MAX_REMOVALS {
                break;
            }
        }
        expired
    }

    /// Returns the sessions of which a client has subscribed to a channel.
    fn watched_sessions(&self) -> BTreeSet<Uri> {
        let channels = self.channels.iter();
        let watched = channels.filter(|(_, channel)| !channel.subscribers.is_empty());
        watched
            .filter_map(|(_, channel)| channel.session.clone())
            .collect()
    }
}

fn modified_at(summary: &SessionSummary) -> Millis {
    summary.modified_at.to_millis().unwrap_or(Millis(0))
}
