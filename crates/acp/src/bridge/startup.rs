//! Initializes the agent connection and installs agent sessions.

use agenthost_core::agent::AgentEvent;
use agenthost_protocol::uri::Uri;
use serde_json::Value;
use tokio::time::Instant;

use super::messages::{SessionOwner, is_auth_required};
use super::{AgentSession, AgentSessionState, BridgeStage, SessionBridge, set_option};
use crate::error::{AcpError, AgentStep};
use crate::mapper::ChatMapper;
use crate::session::HistoryKnowledge;
use crate::session::options::SessionOptions;
use crate::transport::AgentCallError;

impl SessionBridge {
    pub(super) async fn handle_initialized(
        &mut self,
        response: Result<Value, AgentCallError>,
    ) -> Result<(), AcpError> {
        let Some(connection) = &mut self.connection else {
            return Ok(());
        };
        let initialized = match response {
            Ok(response) => connection.handle_initialized(&response),
            Err(error) => Err(connection.to_acp_error(&error)),
        };
        if let Err(error) = initialized {
            self.connection = None;
            return self.fail_agent(error.in_step(AgentStep::Initialize)).await;
        }
        if self.stage == BridgeStage::Opening {
            // Resumable sessions are resumed when a turn needs them.
            if self.chats.values().any(|chat| chat.resumable_id.is_some()) {
                return self.mark_ready().await;
            }
            if let Some(id) = self.import_request() {
                return self.import_session(id);
            }
            if let Some(connection) = &self.connection {
                self.spare_session =
                    AgentSessionState::Opening(connection.open_session(None, &self.folders));
            }
            return Ok(());
        }
        self.advance_turns().await
    }

    /// Handles the response to a request for a new session.
    pub(super) async fn handle_session_opened(
        &mut self,
        chat: Option<Uri>,
        deadline: Instant,
        response: Result<Value, AgentCallError>,
    ) -> Result<(), AcpError> {
        if chat
            .as_ref()
            .is_some_and(|chat| !self.awaits_session(chat, deadline))
        {
            self.close_unclaimed_session(&response);
            return Ok(());
        }
        let Some(connection) = &mut self.connection else {
            return Ok(());
        };
        let id = |response: &Value| Some(response.get("sessionId")?.as_str()?.to_owned());
        let response = response.map_err(|error| connection.explain(error));
        let error = match &response {
            Ok(response) if id(response).is_some() => None,
            Ok(_) => Some(AcpError::MissingSessionId),
            Err(error) => Some(connection.to_acp_error(error)),
        };
        if let Some(error) = error {
            let error = error.in_step(AgentStep::OpenSession);
            if is_auth_required(&response) {
                self.events.send(AgentEvent::AuthRequired).await?;
            }
            return match chat {
                None => Err(error),
                Some(chat) => {
                    if let Some(entry) = self.chats.get_mut(&chat) {
                        entry.agent_session = AgentSessionState::None;
                    }
                    self.fail_turn(&chat, "agentSession", &error).await
                }
            };
        }
        let response = response.unwrap_or_default();
        let id = id(&response).unwrap_or_default();
        self.install_session(chat, id, &response, HistoryKnowledge::None)
            .await
    }

    /// Returns `true` if a chat still waits for the session request with this deadline.
    pub(super) fn awaits_session(&self, chat: &Uri, deadline: Instant) -> bool {
        let chat = self.chats.get(chat);
        chat.is_some_and(|chat| chat.agent_session.deadline() == Some(deadline))
    }

    /// Closes a session that arrived after its chat stopped waiting for it.
    pub(super) fn close_unclaimed_session(&self, response: &Result<Value, AgentCallError>) {
        let id = response
            .as_ref()
            .ok()
            .and_then(|response| response.get("sessionId")?.as_str());
        if let (Some(id), Some(connection)) = (id, &self.connection) {
            connection.close_session(id);
        }
    }

    /// Stores a new agent session, for a chat or as the spare session, and sends the
    /// configuration values and the updates that arrived early.
    pub(super) async fn install_session(
        &mut self,
        chat: Option<Uri>,
        id: String,
        response: &Value,
        history: HistoryKnowledge,
    ) -> Result<(), AcpError> {
        let Some(connection) = &mut self.connection else {
            return Ok(());
        };
        let early_updates = connection.take_early_updates(&id);
        let folder = self.folders.first().cloned().unwrap_or_default();
        let mut session = AgentSession {
            mapper: ChatMapper::new(self.session_key(), folder),
            options: SessionOptions::parse(response),
            id: id.clone(),
            pending_options: 0,
            option_deadline: None,
            history,
            instructions: None,
            chosen_model: None,
        };
        session.mapper.set_host_tools(&self.host_tools);
        let rules = self.agent.profile.auto_approve_rules();
        let mut values = self.config_values.clone();
        let removed = rules.remove_forbidden(&session.options.schema(), &mut values);
        self.notices.add_forbidden(&removed);
        if let Some(connection) = &self.connection {
            for (key, value) in &values {
                set_option(connection, &mut session, key, value);
            }
        }
        let state = AgentSessionState::Open(Box::new(session));
        let owner = match chat {
            None => {
                self.spare_session = state;
                SessionOwner::Spare
            }
            Some(chat) => match self.chats.get_mut(&chat) {
                Some(entry) => {
                    entry.agent_session = state;
                    SessionOwner::Chat(chat)
                }
                // The chat was closed while the request was pending.
                None => {
                    if let Some(connection) = &self.connection {
                        connection.close_session(&id);
                    }
                    return Ok(());
                }
            },
        };
        for update in early_updates
            .iter()
            .filter_map(|params| params.get("update"))
        {
            self.apply_update(&owner, update).await?;
        }
        match owner {
            SessionOwner::Spare => {
                self.sync_options(None).await?;
                self.mark_ready().await
            }
            SessionOwner::Chat(chat) => {
                self.record_session_id(&chat, &id).await?;
                self.sync_options(Some(&chat)).await?;
                self.advance_turn(&chat).await
            }
        }
    }
}
