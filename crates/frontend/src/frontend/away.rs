//! "Since you were away": what happened while the page was hidden or had no connection.

use std::collections::BTreeMap;

use agenthost_protocol::chat::ChatState;
use agenthost_protocol::ids::ClientId;
use agenthost_protocol::number::Millis;
use agenthost_protocol::session::SessionSummary;
use agenthost_protocol::timestamp::Timestamp;
use agenthost_protocol::uri::Uri;
use agenthost_view::away::{AwayChat, AwayDigest};
use agenthost_view::away_sessions::AwaySummary;

use super::Frontend;

/// Absences shorter than this have no summary.
const MIN_AWAY_MS: i64 = 3 * 60 * 1000;

/// A connection that is lost this soon after the return was dead before: a device that slept
/// reports the loss late.
const STALE_LINK_MS: i64 = 60 * 1000;

/// The absence of the user.
#[derive(Debug, Default)]
pub(super) struct AwayTracker {
    is_hidden: bool,
    /// State of the host when the user left.
    left: Option<Departure>,
    /// The last absence, and the time of the return.
    last: Option<(i64, Departure)>,
    pub(super) summary: Option<AwaySummary>,
}

#[derive(Debug)]
struct Departure {
    at: i64,
    sessions: BTreeMap<Uri, SessionSummary>,
    /// The open chat with its session.
    chat: Option<(Uri, ChatState)>,
}

impl Frontend {
    pub(super) fn set_hidden(&mut self, id: u64, hidden: bool) {
        self.away.is_hidden = hidden;
        if hidden {
            self.note_departure();
        } else {
            self.note_return();
        }
        self.done(id);
    }

    pub(super) fn dismiss_away(&mut self, id: u64) {
        self.away.summary = None;
        self.away.last = None;
        self.dirty.panels = true;
        self.done(id);
    }

    /// Keeps the state that the user has seen.
    pub(super) fn note_departure(&mut self) {
        if self.away.left.is_some() {
            return;
        }
        let now = self.now;
        let last = self.away.last.take();
        let last = last.filter(|(returned, _)| now - returned < STALE_LINK_MS);
        let chat = self.session.clone().zip(self.chat_state().cloned());
        self.away.left = Some(match last {
            Some((_, departure)) => departure,
            None => Departure {
                at: now,
                sessions: self.sessions.snapshot(),
                chat,
            },
        });
    }

    /// Compares the state of the host with the one that the user has seen, if the user is there
    /// and the connection is live.
    pub(super) fn note_return(&mut self) {
        if self.away.is_hidden || !self.link.is_live() {
            return;
        }
        let Some(left) = self.away.left.take() else {
            return;
        };
        if self.now - left.at < MIN_AWAY_MS {
            return;
        }
        let own_id = ClientId::from(self.client_id.as_str());
        let open_chat = left.chat.as_ref().and_then(|(session, before)| {
            let after = self.chat_state()?;
            let is_same = after.summary.resource == before.summary.resource;
            let chat = AwayChat {
                before: Some(before),
                after,
            };
            is_same.then(|| (session.clone(), AwayDigest::compare([chat], &own_id)))
        });
        let since = Timestamp::from_millis(Millis(left.at));
        let sessions = self.sessions.summaries();
        let summary = AwaySummary::compare(since, &left.sessions, sessions, open_chat);
        if summary.is_some() {
            self.away.summary = summary;
        }
        self.away.last = Some((self.now, left));
        self.dirty.panels = true;
    }
}
