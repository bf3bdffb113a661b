//! Stores the notes of agents across restarts, and imports the history that agents bring.

use std::sync::Arc;

use agenthost_protocol::chat::{ChatAction, ChatState, TurnComplete, TurnStarted};
use agenthost_protocol::ids::ProviderId;
use agenthost_protocol::number::Millis;
use agenthost_protocol::session::{MetaChanged, SessionAction, SessionSummary};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};

use crate::agent::{AgentNotes, ImportedTurn};
use crate::changeset::turn_edits::strip_edits;
use crate::host::Host;
use crate::host::effect::Effects;
use crate::host::error::RequestFailure;
use crate::host::step::Env;

/// The key of the notes in the `_meta` of their session. They are removed with the session,
/// and a user can find the id of the agent session there to resume it in another program.
const AGENT_SESSIONS_META_KEY: &str = "agenthost.agentSessions";

/// The property of a session's configuration with the id of the agent session to import.
const AGENT_SESSION_PROPERTY: &str = "agentSession";

/// Limit for the size of a note; a longer one is ignored.
const MAX_NOTE_BYTES: usize = 1024;

impl Host {
    /// Returns the notes of a session's agent about the chats of this session.
    pub(crate) fn agent_notes(&self, session: &Uri) -> AgentNotes {
        let Some(state) = self.session(session) else {
            return AgentNotes::new();
        };
        let notes = state
            .meta
            .as_ref()
            .and_then(|meta| meta.get(AGENT_SESSIONS_META_KEY));
        let notes = notes.and_then(Json::as_object).into_iter().flatten();
        let notes = notes.filter_map(|(chat, note)| {
            let chat = Uri::from(chat.as_str());
            let its = self.session_of(&chat) == Some(session);
            Some((chat, note.as_str().filter(|_| its)?.to_owned()))
        });
        notes.collect()
    }

    /// Stores the note of an agent about a chat; `None` removes it.
    pub(crate) fn set_agent_note(
        &mut self,
        session: &Uri,
        chat: &Uri,
        note: Option<&str>,
        out: &mut Effects,
    ) {
        let mut notes = self.agent_notes(session);
        match note {
            Some(note) if note.len() > MAX_NOTE_BYTES => return,
            Some(note) => notes.insert(chat.clone(), note.to_owned()),
            None => notes.remove(chat),
        };
        let notes = notes
            .into_iter()
            .map(|(chat, note)| (chat.to_string(), Json::from(note)));
        let notes: Object = notes.collect();
        let notes = (!notes.is_empty()).then_some(Json::Object(notes));
        self.set_session_meta(session, AGENT_SESSIONS_META_KEY, notes.clone(), out);
        self.list_agent_sessions(session, notes, out);
    }

    /// Copies the notes of a session to its summary. Summaries are always in memory, so an agent
    /// session is found there although its session is not open.
    fn list_agent_sessions(&mut self, session: &Uri, notes: Option<Json>, out: &mut Effects) {
        let Some(before) = self.sessions.get(session) else {
            return;
        };
        let mut after = SessionSummary::clone(before);
        match (notes, &mut after.meta) {
            (Some(notes), meta) => {
                let meta = meta.get_or_insert_default();
                meta.insert(AGENT_SESSIONS_META_KEY.to_owned(), notes);
            }
            (None, Some(meta)) => {
                meta.remove(AGENT_SESSIONS_META_KEY);
            }
            (None, None) => {}
        }
        self.publish_summary(session, after, out);
    }

    /// Refuses to import an agent session that a session of the host has already.
    pub(crate) fn check_agent_session_free(
        &self,
        provider: &ProviderId,
        config: Option<&Object>,
    ) -> Result<(), RequestFailure> {
        let wanted = config.and_then(|config| config.get(AGENT_SESSION_PROPERTY)?.as_str());
        let Some(wanted) = wanted.filter(|wanted| !wanted.is_empty()) else {
            return Ok(());
        };
        let has_it = |summary: &&Arc<SessionSummary>| {
            let notes = summary
                .meta
                .as_ref()
                .and_then(|meta| meta.get(AGENT_SESSIONS_META_KEY)?.as_object());
            let mut notes = notes.into_iter().flatten();
            summary.metadata.provider == *provider
                && notes.any(|(_, note)| note.as_str() == Some(wanted))
        };
        match self.sessions.summaries().find(has_it) {
            Some(summary) => Err(RequestFailure::InvalidParams(format!(
                "config.{AGENT_SESSION_PROPERTY}: this agent session is already in session `{}`",
                summary.resource
            ))),
            None => Ok(()),
        }
    }

    /// Sets one key in the `_meta` of a session; `None` removes it. All other keys stay
    /// (SES-24).
    pub(crate) fn set_session_meta(
        &mut self,
        session: &Uri,
        key: &str,
        value: Option<Json>,
        out: &mut Effects,
    ) {
        let Some(state) = self.session(session) else {
            return;
        };
        let mut meta = state.meta.clone().unwrap_or_default();
        if meta.get(key) == value.as_ref() {
            return;
        }
        match value {
            Some(value) => meta.insert(key.to_owned(), value),
            None => meta.remove(key),
        };
        let changed = SessionAction::MetaChanged(MetaChanged { meta: Some(meta) });
        self.originate(session, changed, out);
    }

    /// Adds the turns that an agent knows to a chat without turns. Their real times are
    /// unknown, so they get the current time and no duration.
    pub(crate) fn import_history(
        &mut self,
        env: &Env,
        chat: &Uri,
        turns: Vec<ImportedTurn>,
        out: &mut Effects,
    ) {
        let is_empty_chat =
            |state: &ChatState| state.turns.is_empty() && state.active_turn.is_none();
        if !self.chat(chat).is_some_and(is_empty_chat) {
            return;
        }
        if let Some(first) = turns.first() {
            self.derive_title(chat, &first.message.text, out);
        }
        for turn in turns {
            let ImportedTurn {
                id: turn_id,
                message,
                actions,
            } = turn;
            let started = ChatAction::TurnStarted(TurnStarted {
                turn_id: turn_id.clone(),
                started_at: env.timestamp(),
                message,
                queued_message_id: None,
                meta: None,
            });
            self.originate(chat, started, out);
            for mut action in actions {
                // The file contents at that time are unknown, so edits can't be verified.
                strip_edits(&mut action);
                self.apply_agent_action(env, chat, action, out);
            }
            let complete = ChatAction::TurnComplete(TurnComplete {
                turn_id,
                duration: Millis(0),
                meta: None,
            });
            self.originate(chat, complete, out);
        }
        self.clear_activity(chat, out);
        self.sync_chat(chat, out);
        self.sync_input_needed_of(chat, out);
    }
}
