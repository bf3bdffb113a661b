//! Records, resumes, forks and imports agent sessions.

use agenthost_agents::TurnMapper;
use agenthost_core::agent::{AgentEvent, ChatContext, ImportedTurn};
use agenthost_core::resource::uris;
use agenthost_protocol::chat::Message;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};
use serde_json::Value;
use tokio::time::Instant;

use super::messages::is_auth_required;
use super::{AgentSessionState, BridgeStage, MappedEvent, SessionBridge};
use crate::error::{AcpError, AgentStep, UnsupportedFeature};
use crate::mapper::ChatMapper;
use crate::session::HistoryKnowledge;
use crate::session::options;
use crate::session::replay::{ReplayPurpose, ReplayedTurn, SessionReplay};
use crate::transport::AgentCallError;

impl SessionBridge {
    /// Adds a chat that begins with a context, and forks the agent session of its source if
    /// possible. Turns of the history also arrive with each prompt; the context of a side chat
    /// arrives only here.
    pub(super) fn open_chat(&mut self, chat_uri: Uri, context: ChatContext) {
        let source = match &context {
            ChatContext::History { copy_of, .. } => copy_of.as_ref(),
            ChatContext::SideChat { .. } => None,
        };
        let source = source.and_then(|source| self.chats.get_mut(source));
        let idle_source = source.filter(|source| source.in_flight.is_none());
        let id =
            idle_source.and_then(|source| Some(source.agent_session.open_session()?.id.clone()));
        let connection = self.connection.as_ref();
        let deadline = connection
            .zip(id)
            .and_then(|(connection, id)| connection.fork_session(&chat_uri, &id, &self.folders));
        let chat = self.chats.entry(chat_uri).or_default();
        if let Some(deadline) = deadline {
            chat.agent_session = AgentSessionState::Opening(deadline);
        }
        if let ChatContext::SideChat { .. } = context {
            chat.context = Some(context);
        }
    }

    /// Installs a forked session for a chat. If the agent could not fork, the chat gets a new
    /// session.
    pub(super) async fn handle_forked(
        &mut self,
        chat_uri: Uri,
        deadline: Instant,
        response: Result<Value, AgentCallError>,
    ) -> Result<(), AcpError> {
        if !self.awaits_session(&chat_uri, deadline) {
            self.close_unclaimed_session(&response);
            return Ok(());
        }
        let response = response.unwrap_or_default();
        let id = response.get("sessionId").and_then(Value::as_str);
        if let Some(id) = id {
            let id = id.to_owned();
            return self
                .install_session(Some(chat_uri), id, &response, HistoryKnowledge::Complete)
                .await;
        }
        if let Some(chat) = self.chats.get_mut(&chat_uri) {
            chat.agent_session = AgentSessionState::None;
        }
        self.advance_turn(&chat_uri).await
    }

    /// Requests that the agent resume its session of a chat. Returns `false` if the chat has
    /// none or the agent can't resume it.
    pub(super) fn resume_session(&mut self, chat_uri: &Uri, purpose: ReplayPurpose) -> bool {
        let key = self.session_key();
        let folder = self.folders.first().cloned().unwrap_or_default();
        let (Some(connection), Some(chat)) = (&self.connection, self.chats.get_mut(chat_uri))
        else {
            return false;
        };
        let Some(id) = chat.resumable_id.take() else {
            return false;
        };
        let Some(deadline) = connection.resume_session(chat_uri, &id, purpose, &self.folders)
        else {
            return false;
        };
        let replay =
            SessionReplay::new(id, purpose, chat_uri.clone(), ChatMapper::new(key, folder));
        chat.agent_session = AgentSessionState::Resuming(deadline, Box::new(replay));
        true
    }

    /// Handles the response to a resume request.
    pub(super) async fn handle_resumed(
        &mut self,
        chat_uri: Uri,
        id: &str,
        deadline: Instant,
        response: Result<Value, AgentCallError>,
    ) -> Result<(), AcpError> {
        let Some(connection) = &self.connection else {
            return Ok(());
        };
        let chat = self.chats.get_mut(&chat_uri);
        let state = chat.map(|chat| &mut chat.agent_session);
        let Some(state) = state.filter(|state| state.deadline() == Some(deadline)) else {
            // The chat no longer waits for this response.
            connection.close_session(id);
            return Ok(());
        };
        let AgentSessionState::Resuming(_, replay) = std::mem::take(state) else {
            return Ok(());
        };
        let replay = *replay;
        if response.is_err() {
            connection.release_session(id);
        }
        let purpose = replay.purpose;
        let response = match (response, purpose) {
            (Ok(response), _) => response,
            (Err(error), ReplayPurpose::Import) => {
                let step = AgentStep::ResumeSession(replay.id);
                return Err(connection.to_acp_error(&error).in_step(step));
            }
            (Err(error), ReplayPurpose::Resume) if is_auth_required(&Err(error.clone())) => {
                let error = connection.to_acp_error(&error);
                if let Some(chat) = self.chats.get_mut(&chat_uri) {
                    chat.resumable_id = Some(replay.id);
                }
                self.events.send(AgentEvent::AuthRequired).await?;
                return self.fail_turn(&chat_uri, "authRequired", &error).await;
            }
            // The agent no longer has the session: a new one gets a transcript.
            (Err(_), ReplayPurpose::Resume) => return self.advance_turn(&chat_uri).await,
        };
        let chat = self.chats.get(&chat_uri);
        let turn = chat.and_then(|chat| chat.turn.as_ref());
        let history = turn.map(|turn| &turn.previous_turns);
        if purpose == ReplayPurpose::Resume
            && history.is_some_and(|history| !replay.matches_history(history))
        {
            connection.close_session(&replay.id);
            return self.advance_turn(&chat_uri).await;
        }
        let id = replay.id.clone();
        let (turns, session_events) = replay.finish();
        let knowledge = match purpose {
            ReplayPurpose::Resume => HistoryKnowledge::Resumed,
            ReplayPurpose::Import => {
                self.import_turns(&chat_uri, turns).await?;
                HistoryKnowledge::Complete
            }
        };
        self.install_session(Some(chat_uri.clone()), id, &response, knowledge)
            .await?;
        self.emit(Some(&chat_uri), session_events).await?;
        if purpose == ReplayPurpose::Import {
            self.clear_import_request().await?;
            self.mark_ready().await?;
        }
        Ok(())
    }

    /// Returns the id of the agent session that a new session of the host has to import.
    pub(super) fn import_request(&self) -> Option<String> {
        let session_id = self
            .config_values
            .get(options::AGENT_SESSION_KEY)?
            .as_str()?;
        (!session_id.is_empty()).then(|| session_id.to_owned())
    }

    /// Resumes an agent session that the host does not know, to import its conversation.
    pub(crate) fn import_session(&mut self, id: String) -> Result<(), AcpError> {
        let chat = uris::default_chat_uri(&self.session);
        self.chats.entry(chat.clone()).or_default().resumable_id = Some(id);
        if self.resume_session(&chat, ReplayPurpose::Import) {
            return Ok(());
        }
        Err(UnsupportedFeature::ImportSession.into())
    }

    async fn import_turns(&mut self, chat: &Uri, turns: Vec<ReplayedTurn>) -> Result<(), AcpError> {
        let mut imported = Vec::new();
        for turn in turns {
            let id = turn.id;
            let mut mapper = TurnMapper::new(id.clone());
            let mut actions = Vec::new();
            for event in turn.events {
                match event {
                    MappedEvent::Turn(turn_event) => actions.extend(mapper.map(turn_event)),
                    MappedEvent::StoreContent(blob) => {
                        self.events.store_content(blob.name, blob.bytes).await?;
                    }
                    MappedEvent::Terminal(terminal, update) => {
                        self.emit_terminal_update(chat, terminal, update).await?;
                    }
                    MappedEvent::TitleChanged(_)
                    | MappedEvent::SlashCommandsChanged(_)
                    | MappedEvent::OptionsChanged(_)
                    | MappedEvent::ModeChanged(_) => {}
                }
            }
            imported.push(ImportedTurn {
                id,
                message: Message::of_user(turn.user_text).into(),
                actions,
            });
        }
        let chat = chat.clone();
        let turns = imported;
        Ok(self
            .events
            .send(AgentEvent::HistoryImported { chat, turns })
            .await?)
    }

    /// Clears the import request after the import. The host then stores the session id like
    /// that of any other session.
    async fn clear_import_request(&mut self) -> Result<(), AcpError> {
        let cleared = (options::AGENT_SESSION_KEY.to_owned(), Json::from(""));
        let schema_changed = AgentEvent::ConfigSchemaChanged {
            schema: Box::new(options::placeholder_schema()),
            values: Object::from_iter([cleared]),
        };
        self.events.send(schema_changed).await?;
        let chat = uris::default_chat_uri(&self.session);
        self.sync_options(Some(&chat)).await
    }

    /// Reports to the host that the session accepts prompts, and advances waiting turns.
    pub(crate) async fn mark_ready(&mut self) -> Result<(), AcpError> {
        self.stage = BridgeStage::Open;
        let tools = Vec::new();
        self.events.send(AgentEvent::Opened { tools }).await?;
        self.advance_turns().await
    }

    /// Sends the id of a chat's agent session to the host, which stores it, if the agent can
    /// resume sessions.
    pub(crate) async fn record_session_id(&mut self, chat: &Uri, id: &str) -> Result<(), AcpError> {
        if !self
            .connection
            .as_ref()
            .is_some_and(|connection| connection.can_resume())
        {
            return Ok(());
        }
        let note_changed = AgentEvent::NoteChanged {
            chat: chat.clone(),
            note: Some(id.to_owned()),
        };
        Ok(self.events.send(note_changed).await?)
    }
}
