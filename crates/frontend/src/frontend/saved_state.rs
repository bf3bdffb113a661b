//! The last known state, which the browser keeps while the page is closed.
//!
//! With it the page opens without the host, and keeps what the user wrote while there was no
//! connection. It is removed when the device is signed out.

use std::sync::Arc;

use agenthost_client::{HostInfo, PendingAction, SavedEngine};
use agenthost_protocol::action::Action;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::{ChatAction, ChatState, Message};
use agenthost_protocol::session::SessionSummary;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Document, Json, Limits, Wire};

use super::Frontend;
use super::new_session::FirstMessage;
use crate::effect::FrontendEffect;

/// Minimum time between two saved states while the state changes.
const SAVE_INTERVAL_MS: i64 = 15_000;

/// Maximum size of the saved state of a channel in bytes.
const MAX_CHANNEL_BYTES: usize = 2_000_000;

const PAGE_VERSION: &str = env!("CARGO_PKG_VERSION");

/// The `_meta` key of the handshake for the scope of a device that may not do everything.
const SCOPE_META_KEY: &str = "agenthost.scope";

/// The scope of a device that may change nothing.
const READ_SCOPE: &str = "read";

/// Maximum number of saved session summaries.
const MAX_SAVED_SESSIONS: usize = 500;

/// The state of the page that is saved.
#[derive(Debug, Clone, PartialEq, Wire)]
struct SavedPage {
    engine: SavedEngine,
    summaries: Vec<SessionSummary>,
    session: Option<Uri>,
    chat: Option<Uri>,
    /// Version of the page that saved the state.
    page_version: Option<String>,
    host: Option<KnownHost>,
    /// First messages of sessions that were not ready, or could not be created.
    first_messages: Option<Vec<FirstMessage>>,
}

/// The description of the host in its last full handshake. A resumed connection has none.
#[derive(Debug, Clone, Default, PartialEq, Wire)]
pub(super) struct KnownHost {
    pub(super) version: Option<String>,
    pub(super) home: Option<Uri>,
    /// Scope of this device; absent if it may do everything.
    pub(super) scope: Option<String>,
}

impl KnownHost {
    pub(super) fn of_handshake(info: &HostInfo) -> Self {
        let program = info.program.as_ref();
        let scope = info.meta.as_ref().and_then(|meta| meta.get(SCOPE_META_KEY));
        KnownHost {
            version: program.and_then(|program| program.version.clone()),
            home: info.default_directory.clone(),
            scope: scope.and_then(Json::as_str).map(str::to_owned),
        }
    }

    /// Returns `true` if the host accepts no action of this device.
    pub(super) fn is_read_only(&self) -> bool {
        self.scope.as_deref() == Some(READ_SCOPE)
    }
}

/// When the state was saved, and whether it has changed since.
#[derive(Debug, Default)]
pub(super) struct SaveClock {
    saved_at: i64,
    is_changed: bool,
}

impl Frontend {
    /// Records a change of the state, which is saved with one of the next frames.
    pub(super) fn mark_unsaved(&mut self) {
        self.save_clock.is_changed = true;
    }

    /// Saves the state with a frame, if it has changed and the last time was long enough ago.
    pub(super) fn save_if_due(&mut self) {
        if self.now.saturating_sub(self.save_clock.saved_at) >= SAVE_INTERVAL_MS {
            self.save_now();
        }
    }

    /// Saves the state, if it has changed.
    pub(super) fn save_now(&mut self) {
        if !std::mem::take(&mut self.save_clock.is_changed) {
            return;
        }
        let Some(engine) = &self.engine else {
            return;
        };
        self.save_clock.saved_at = self.now;
        let is_small = |channel: &Uri| {
            // Output of programs, and input that users type into them, is not stored in the
            // browser.
            if Self::is_terminal(channel) || Self::is_watch(channel) {
                return false;
            }
            let state = engine.confirmed_state(channel);
            // Encodes to a string, because each writer type adds code to the WebAssembly file.
            let text = state.and_then(|state| serde_json::to_string(state).ok());
            text.is_some_and(|text| text.len() <= MAX_CHANNEL_BYTES)
        };
        let summaries = self.sessions.summaries().take(MAX_SAVED_SESSIONS);
        let mut saved_engine = engine.save(is_small);
        saved_engine
            .pending
            .retain(|dispatched| !Self::is_terminal(&dispatched.channel));
        let saved = SavedPage {
            engine: saved_engine,
            summaries: summaries.cloned().collect(),
            session: self.session.clone(),
            chat: self.chat.clone(),
            page_version: Some(PAGE_VERSION.to_owned()),
            host: Some(self.host.clone()),
            first_messages: Some(self.first_messages.clone()),
        };
        match serde_json::to_string(&saved) {
            Ok(text) => self.effects.push(FrontendEffect::Save { text }),
            Err(error) => self.add_note(format!("save the state of the page: {error}"), None),
        }
    }

    /// Restores a saved state. A state of another version of the page is ignored: the host has
    /// everything but unconfirmed actions.
    pub(super) fn restore(&mut self, text: &str) {
        let Ok(document) = Document::parse(text, Limits::STATE) else {
            return;
        };
        let Ok(saved) = SavedPage::decode(document.root()) else {
            return;
        };
        if let Some(engine) = &mut self.engine
            && engine.restore(saved.engine).is_err()
        {
            self.add_note("too many unsent changes were saved".to_owned(), None);
        }
        self.sessions.restore(saved.summaries);
        // The host serves the page: another version of the page means another one of the host.
        if saved.page_version.as_deref() == Some(PAGE_VERSION) {
            self.host = saved.host.unwrap_or_default();
        }
        self.session = saved.session;
        self.chat = saved.chat;
        self.first_messages = saved.first_messages.unwrap_or_default();
        // A large state is not saved, and a new one may not have arrived in time.
        for channel in [self.session.clone(), self.chat.clone()]
            .into_iter()
            .flatten()
        {
            self.follow(&channel);
        }
    }

    /// Handles an action that the host has not confirmed before it sent a new snapshot. If the
    /// snapshot does not contain its effect, the text of the user comes back as a note.
    pub(super) fn report_unconfirmed(&mut self, channel: &Uri, pending: PendingAction) {
        if let Action::Annotations(action) = &*pending.action {
            return self.repeat_annotation(channel, pending.client_seq, action);
        }
        let is_received = self.state(channel).is_some_and(|state| {
            let ChannelState::Chat(chat) = state else {
                return false;
            };
            contains_message(chat, &pending.action)
        });
        let reason = "the host may or may not have received this".to_owned();
        if is_received {
            self.finish_action(pending.client_seq, None);
        } else if !self.finish_action(pending.client_seq, Some(reason.clone()))
            && let Some(text) = message_text(&pending.action)
        {
            self.add_note(reason, Some(text));
        }
    }

    /// Removes the saved state from the browser.
    pub(super) fn remove_saved(&mut self) {
        self.save_clock = SaveClock::default();
        let text = String::new();
        self.effects.push(FrontendEffect::Save { text });
    }
}

/// Returns the text that a user wrote in a message.
fn message_text(action: &Action) -> Option<String> {
    match action {
        Action::Chat(ChatAction::TurnStarted(started)) => Some(started.message.text.clone()),
        Action::Chat(ChatAction::PendingMessageSet(set)) => Some(set.message.text.clone()),
        Action::Chat(ChatAction::DraftChanged(changed)) => {
            let draft = changed.draft.as_ref()?;
            (!draft.text.is_empty()).then(|| draft.text.clone())
        }
        _ => None,
    }
}

/// Returns `true` if a chat contains the message of an action.
fn contains_message(chat: &ChatState, action: &Action) -> bool {
    match action {
        Action::Chat(ChatAction::TurnStarted(started)) => {
            let active = chat.active_turn.as_ref();
            active.is_some_and(|turn| turn.id == started.turn_id)
                || chat.turns.items().any(|turn| turn.id == started.turn_id)
        }
        Action::Chat(ChatAction::PendingMessageSet(set)) => {
            let queued = chat.queued_messages.iter().flat_map(|all| all.items());
            let mut waiting = queued.chain(chat.steering_message.iter());
            waiting.any(|message| message.id == set.id)
        }
        Action::Chat(ChatAction::DraftChanged(changed)) => {
            let text =
                |draft: &Option<Arc<Message>>| draft.as_ref().map(|draft| draft.text.clone());
            text(&chat.draft) == text(&changed.draft)
        }
        _ => false,
    }
}
