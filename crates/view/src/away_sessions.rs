//! "Since you were away" over all sessions, from two states of the session list and of the chat
//! that was open.

use std::collections::BTreeMap;

use agenthost_protocol::common::SessionStatus;
use agenthost_protocol::session::SessionSummary;
use agenthost_protocol::sorted::sort_by_key;
use agenthost_protocol::timestamp::Timestamp;
use agenthost_protocol::uri::Uri;
use serde::Serialize;

use crate::away::AwayDigest;
use crate::session_list::SessionActivity;
use crate::usage::{CostAmount, CostSum};
use crate::visible_text::visible_order;

/// Sessions that are listed; the totals count all of them.
const MAX_AWAY_SESSIONS: usize = 20;

/// The events in all sessions while the user was away.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AwaySummary {
    /// Time at which the user left.
    pub since: Timestamp,
    /// Sessions in which something happened, the latest first.
    pub sessions: Vec<AwaySession>,
    /// Number of sessions in which something happened.
    pub total: usize,
    /// Number of files that the sessions have changed in addition.
    pub files: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<String>,
}

/// A session in which something happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AwaySession {
    /// URI of the session channel.
    pub key: Uri,
    /// Title of the session.
    pub title: String,
    /// Activity of the session now.
    pub status: SessionActivity,
    /// `true` if the session was created meanwhile.
    pub is_new: bool,
    /// Number of files that the session has changed in addition.
    pub files: u64,
    /// Cost of the session as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<String>,
    /// Events in the chat that was open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<AwayDigest>,
}

/// The chat that was open: its session, and the events in it.
pub type OpenChatDigest = (Uri, AwayDigest);

impl AwaySummary {
    /// Compares two states of the session list; `None` if nothing happened.
    pub fn compare<'a>(
        since: Timestamp,
        before: &BTreeMap<Uri, SessionSummary>,
        after: impl IntoIterator<Item = &'a SessionSummary>,
        open_chat: Option<OpenChatDigest>,
    ) -> Option<Self> {
        let mut open_chat = open_chat.filter(|(_, digest)| !digest.is_empty());
        let mut costs = CostSum::default();
        let mut changed: Vec<(&Timestamp, AwaySession)> = Vec::new();
        for summary in after {
            let known = before.get(&summary.resource);
            let digest = open_chat.take_if(|(session, _)| *session == summary.resource);
            let digest = digest.map(|(_, digest)| digest);
            let cost = CostAmount::of_meta(summary.meta.as_ref());
            let cost = cost.map(|cost| {
                let known = known.and_then(|known| CostAmount::of_meta(known.meta.as_ref()));
                cost.since(known.as_ref())
            });
            let cost = cost.filter(|cost| cost.amount > 0.0);
            if digest.is_none() && cost.is_none() && !has_news(known, summary) {
                continue;
            }
            let session = AwaySession {
                key: summary.resource.clone(),
                title: visible_order(&summary.metadata.title),
                status: SessionActivity::of_status(summary.metadata.status),
                is_new: known.is_none(),
                files: changed_files(summary).saturating_sub(known.map_or(0, changed_files)),
                cost: cost.as_ref().map(CostAmount::to_string),
                digest,
            };
            if let Some(cost) = cost {
                costs.add(cost);
            }
            changed.push((&summary.modified_at, session));
        }
        sort_by_key(&mut changed, |(time, _)| {
            let time = time.to_millis().ok();
            time.map_or(i128::MAX, |time| -i128::from(time.0))
        });
        let total = changed.len();
        let files = changed.iter().map(|(_, session)| session.files).sum();
        let sessions = changed.into_iter().map(|(_, session)| session);
        let summary = AwaySummary {
            since,
            sessions: sessions.take(MAX_AWAY_SESSIONS).collect(),
            total,
            files,
            cost: costs.to_text(),
        };
        (total > 0).then_some(summary)
    }
}

fn changed_files(summary: &SessionSummary) -> u64 {
    let changes = summary.changes.as_ref();
    changes.and_then(|changes| changes.files).unwrap_or(0)
}

/// Returns `true` if a session was created, stopped, waits for the user or has other changes. A
/// session that was renamed or read on another device has no news.
fn has_news(known: Option<&SessionSummary>, summary: &SessionSummary) -> bool {
    let Some(known) = known else {
        return true;
    };
    let (now, then) = (summary.metadata.status, known.metadata.status);
    let has_changed = SessionActivity::of_status(now) != SessionActivity::of_status(then);
    let became_unread =
        !now.contains(SessionStatus::IS_READ) && then.contains(SessionStatus::IS_READ);
    has_changed || became_unread || summary.changes != known.changes
}

#[cfg(test)]
#[path = "away_sessions_tests.rs"]
mod tests;
