//! The connection to the host: its state, and attempts with backoff.

use agenthost_client::EnginePhase;
use agenthost_protocol::connection::PingParams;
use serde::Serialize;

use super::Frontend;
use super::responses::ResponsePurpose;
use super::saved_state::KnownHost;
use super::slices::DirtySlices;
use crate::effect::FrontendEffect;

/// Delay before the second attempt to connect. It doubles with each further attempt.
const INITIAL_BACKOFF_MS: u64 = 250;

/// Maximum delay between two attempts.
const MAX_BACKOFF_MS: u64 = 10_000;

/// Silence after which the frontend sends a `ping`. A stalled connection looks open to a browser
/// for minutes.
const PING_AFTER_MS: i64 = 20_000;

/// Maximum time for the answer to a `ping`. Any message counts as one.
const PING_TIMEOUT_MS: i64 = 8_000;

/// The reason for which the frontend gives up a connection.
const NO_ANSWER: &str = "the host does not answer";

/// Maximum silence while a connection opens or the missed actions arrive. A host that accepts a
/// connection and never answers looks like a slow one to a browser.
const CONNECT_TIMEOUT_MS: i64 = 15_000;

/// The connection: its state and its attempts.
#[derive(Debug, Default)]
pub(super) struct LinkTracker {
    state: LinkState,
    /// Time of the last loss of the connection.
    lost_at: Option<i64>,
    /// Reason that the host or the browser gave.
    error: Option<String>,
    attempts: u32,
    was_live: bool,
    /// Time of the last message of the host.
    heard_at: i64,
    /// Time of a `ping` that has no answer yet.
    pinged_at: Option<i64>,
    /// Time of the last sign of an attempt to connect that is not over.
    attempted_at: Option<i64>,
}

/// The state of the connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum LinkState {
    #[default]
    Connecting,
    /// The missed actions are on their way.
    CatchingUp,
    Live,
    Offline,
    SignedOut,
}

/// The connection as the user sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LinkView {
    pub state: LinkState,
    /// Time of the loss of the connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Reason that the host or the transport gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Actions of the user that the host has not confirmed.
    pub pending: usize,
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

impl Frontend {
    pub(super) fn connect(&mut self) {
        if self.link.state == LinkState::SignedOut {
            return;
        }
        let url = self.url.clone();
        self.link.attempted_at = Some(self.now);
        self.wake_after(CONNECT_TIMEOUT_MS);
        self.effects.push(FrontendEffect::Connect { url });
    }

    /// Handles the return of the network or of the user: connects at once, or checks that the
    /// connection still works.
    pub(super) fn reconnect_now(&mut self) {
        match self.link.state {
            LinkState::Offline => {
                self.link.attempts = 0;
                self.connect();
            }
            LinkState::Live => self.ping(),
            LinkState::Connecting | LinkState::CatchingUp | LinkState::SignedOut => {}
        }
    }

    /// Handles the timer: the next attempt to connect, or a check of a silent connection.
    pub(super) fn handle_timer(&mut self) {
        if !self.link.is_live() {
            return match self.link.attempted_at {
                Some(at) if self.now.saturating_sub(at) >= CONNECT_TIMEOUT_MS => {
                    self.drop_connection(NO_ANSWER);
                }
                Some(at) => self.wake_after(at + CONNECT_TIMEOUT_MS - self.now),
                None => self.connect(),
            };
        }
        let silence = self.now.saturating_sub(self.link.heard_at);
        match self.link.pinged_at {
            Some(at) if self.now.saturating_sub(at) >= PING_TIMEOUT_MS => {
                self.drop_connection(NO_ANSWER);
            }
            Some(at) => self.wake_after(at + PING_TIMEOUT_MS - self.now),
            None if silence >= PING_AFTER_MS => self.ping(),
            None => self.wake_after(PING_AFTER_MS - silence),
        }
    }

    fn ping(&mut self) {
        if self.link.pinged_at.is_none() {
            self.link.pinged_at = Some(self.now);
            self.request(&PingParams::default(), ResponsePurpose::Ping);
            self.wake_after(PING_TIMEOUT_MS);
        }
    }

    fn wake_after(&mut self, millis: i64) {
        self.effects.push(FrontendEffect::Wake {
            after_ms: Some(u64::try_from(millis).unwrap_or_default()),
        });
    }

    /// Closes the connection. The worker reports nothing more about its socket.
    fn drop_connection(&mut self, reason: &str) {
        self.effects.push(FrontendEffect::Disconnect);
        self.handle_closed(reason);
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
            self.drop_connection(&error.to_string());
        }
    }

    pub(super) fn handle_text(&mut self, text: String) {
        let Some(engine) = &mut self.engine else {
            return;
        };
        self.link.heard_at = self.now;
        self.link.pinged_at = None;
        self.link.attempted_at = Some(self.now);
        if let Err(error) = engine.receive(text) {
            return self.drop_connection(&error.to_string());
        }
        match engine.phase() {
            EnginePhase::Live if !self.link.is_live() => {
                if let Some(info) = engine.host_info() {
                    self.host = KnownHost::of_handshake(info);
                    self.mark_unsaved();
                }
                self.link = LinkTracker {
                    state: LinkState::Live,
                    was_live: true,
                    heard_at: self.now,
                    ..LinkTracker::default()
                };
                self.dirty = DirtySlices::ALL;
                self.wake_after(PING_AFTER_MS);
                self.list_sessions();
                self.sync_subscriptions();
                self.resume_files();
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
        self.note_departure();
        if self.link.lost_at.is_none() {
            self.link.lost_at = Some(self.now);
        }
        if !reason.is_empty() {
            self.link.error = Some(reason.to_owned());
        }
        self.link.state = LinkState::Offline;
        self.link.pinged_at = None;
        self.link.attempted_at = None;
        self.dirty.link = true;
        let doubled = INITIAL_BACKOFF_MS << self.link.attempts.min(8);
        self.link.attempts += 1;
        self.effects.push(FrontendEffect::Wake {
            after_ms: Some(doubled.min(MAX_BACKOFF_MS)),
        });
    }

    pub(super) fn handle_signed_out(&mut self) {
        if let Some(engine) = &mut self.engine {
            engine.close();
        }
        self.link.state = LinkState::SignedOut;
        self.remove_saved();
        self.dirty.link = true;
        self.effects.push(FrontendEffect::Wake { after_ms: None });
    }
}
