//! The connection to the host: its state, and attempts with backoff.

use agenthost_client::EnginePhase;
use serde::Serialize;

use super::PageCore;
use super::slices::DirtySlices;
use crate::effect::PageEffect;

/// Delay before the second attempt to connect. It doubles with each further attempt.
const INITIAL_BACKOFF_MS: u64 = 250;

/// Maximum delay between two attempts.
const MAX_BACKOFF_MS: u64 = 10_000;

/// The state of the connection.
#[derive(Debug, Default)]
pub(super) struct LinkTracker {
    state: LinkState,
    /// Time of the last loss of the connection.
    lost_at: Option<i64>,
    /// Reason that the host or the browser gave.
    error: Option<String>,
    attempts: u32,
    was_live: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum LinkState {
    #[default]
    Connecting,
    /// The missed actions are on their way.
    CatchingUp,
    Live,
    Offline,
    SignedOut,
}

/// Slice `link`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LinkView {
    state: LinkState,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Actions of the user that the host has not confirmed.
    pending: usize,
}

impl LinkTracker {
    pub(super) fn is_live(&self) -> bool {
        self.state == LinkState::Live
    }

    pub(super) fn view(&self, pending: usize) -> LinkView {
        let since = self.lost_at.filter(|_| !self.is_live());
        let since = since.map(|millis| {
            let millis = agenthost_protocol::number::Millis(millis);
            agenthost_protocol::timestamp::Timestamp::from_millis(millis).to_string()
        });
        LinkView {
            state: self.state,
            since,
            error: self.error.clone(),
            pending,
        }
    }
}

impl PageCore {
    pub(super) fn connect(&mut self) {
        if self.link.state == LinkState::SignedOut {
            return;
        }
        let url = self.url.clone();
        self.effects.push(PageEffect::Connect { url });
    }

    pub(super) fn reconnect_now(&mut self) {
        if self.link.state == LinkState::Offline {
            self.link.attempts = 0;
            self.connect();
        }
    }

    pub(super) fn handle_opened(&mut self) {
        self.link.state = if self.link.was_live {
            LinkState::CatchingUp
        } else {
            LinkState::Connecting
        };
        self.dirty.link = true;
        if let Some(engine) = &mut self.engine
            && let Err(error) = engine.open()
        {
            self.link.error = Some(error.to_string());
            self.effects.push(PageEffect::Disconnect);
        }
    }

    pub(super) fn handle_text(&mut self, text: String) {
        let Some(engine) = &mut self.engine else {
            return;
        };
        if let Err(error) = engine.receive(text) {
            self.link.error = Some(error.to_string());
            self.effects.push(PageEffect::Disconnect);
            return;
        }
        match engine.phase() {
            EnginePhase::Live if !self.link.is_live() => {
                self.link = LinkTracker {
                    state: LinkState::Live,
                    was_live: true,
                    ..LinkTracker::default()
                };
                self.dirty = DirtySlices::ALL;
                self.list_sessions();
                self.sync_subscriptions();
            }
            // The next connection tries the other form of `reconnect`.
            EnginePhase::Reopen => self.connect(),
            EnginePhase::Live | EnginePhase::Opening | EnginePhase::Closed => {}
        }
    }

    pub(super) fn handle_closed(&mut self, reason: &str) {
        if let Some(engine) = &mut self.engine {
            engine.close();
        }
        if self.link.lost_at.is_none() {
            self.link.lost_at = Some(self.now);
        }
        if !reason.is_empty() {
            self.link.error = Some(reason.to_owned());
        }
        self.link.state = LinkState::Offline;
        self.dirty.link = true;
        let doubled = INITIAL_BACKOFF_MS << self.link.attempts.min(8);
        self.link.attempts += 1;
        self.effects.push(PageEffect::Wake {
            after_ms: Some(doubled.min(MAX_BACKOFF_MS)),
        });
    }

    pub(super) fn handle_signed_out(&mut self) {
        if let Some(engine) = &mut self.engine {
            engine.close();
        }
        self.link.state = LinkState::SignedOut;
        self.dirty.link = true;
        self.effects.push(PageEffect::Wake { after_ms: None });
    }
}
