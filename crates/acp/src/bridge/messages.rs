//! Handles the messages of the agent: updates, requests and responses.

use agenthost_core::agent::AgentEvent;
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::uri::Uri;
use serde_json::Value;

use super::{AbandonedPrompt, AgentCall, AgentMessage, AgentSessionState, SessionBridge};
use crate::error::AcpError;
use crate::session::cancelled_outcome;
use crate::session::replay::SessionReplay;
use crate::transport::{
    AUTH_REQUIRED_CODE, AgentCallError, JsonParams, RequestResponder, session_id,
};

/// The owner of an agent session: a chat, or the bridge itself for the spare session.
pub(super) enum SessionOwner {
    Chat(Uri),
    Spare,
}

impl SessionOwner {
    /// Returns the chat that owns the session; `None` for the spare session.
    fn chat(&self) -> Option<&Uri> {
        match self {
            SessionOwner::Chat(chat) => Some(chat),
            SessionOwner::Spare => None,
        }
    }
}

impl SessionBridge {
    pub(super) async fn handle_message(
        &mut self,
        message: AgentMessage<AgentCall>,
    ) -> Result<(), AcpError> {
        match message {
            AgentMessage::Update(params) => self.handle_update(&params).await,
            AgentMessage::Permission(params, responder) => {
                self.handle_permission(&params, responder).await
            }
            AgentMessage::Elicitation(params, responder) => {
                self.handle_elicitation(&params, responder).await
            }
            AgentMessage::Service(request, params, responder) => {
                self.handle_service_request(request, params, responder)
                    .await
            }
            AgentMessage::Response(call, response) => self.handle_response(call, response).await,
            AgentMessage::Closed(reason) => self.handle_closed(reason).await,
        }
    }

    async fn handle_update(&mut self, params: &JsonParams) -> Result<(), AcpError> {
        let (Some(id), Some(update)) = (session_id(params), params.get("update")) else {
            return Ok(());
        };
        if let Some(owner) = self.owner_of(id) {
            return self.apply_update(&owner, update).await;
        }
        if let Some(replay) = self.replay_of(id) {
            replay.push_update(update);
        }
        Ok(())
    }

    pub(super) async fn apply_update(
        &mut self,
        owner: &SessionOwner,
        update: &Value,
    ) -> Result<(), AcpError> {
        let chat = owner.chat();
        let Some(session) = self.agent_session(chat) else {
            return Ok(());
        };
        let events = session.mapper.map_update(update);
        self.emit(chat, events).await
    }

    async fn handle_permission(
        &mut self,
        params: &JsonParams,
        responder: RequestResponder,
    ) -> Result<(), AcpError> {
        let Some(chat_uri) = session_id(params).and_then(|id| self.chat_of(id)) else {
            self.respond_unavailable(params, responder, &cancelled_outcome());
            return Ok(());
        };
        let chat = self.chats.get_mut(&chat_uri);
        let request = chat.and_then(|chat| {
            let session = chat.agent_session.open_session()?;
            let turn = chat.turn.as_mut()?;
            Some((session.mapper.map_permission(params)?, turn))
        });
        match request {
            Some(((permission, events), turn)) => {
                turn.add_permission(permission, responder);
                self.emit(Some(&chat_uri), events).await
            }
            None => {
                responder.respond(&cancelled_outcome());
                Ok(())
            }
        }
    }

    async fn handle_elicitation(
        &mut self,
        params: &JsonParams,
        responder: RequestResponder,
    ) -> Result<(), AcpError> {
        let chat_uri = session_id(params).and_then(|id| self.chat_of(id));
        let chat = chat_uri
            .as_ref()
            .and_then(|chat_uri| self.chats.get_mut(chat_uri));
        let request = chat.and_then(|chat| {
            let session = chat.agent_session.open_session()?;
            let turn = chat.turn.as_mut()?;
            Some((session.mapper.map_elicitation(params)?, turn))
        });
        match (request, chat_uri) {
            (Some(((id, form, event), turn)), Some(chat_uri)) => {
                turn.add_elicitation(id, form, responder);
                self.emit(Some(&chat_uri), vec![event]).await
            }
            // There is no turn in which the user could answer the request.
            _ => {
                self.respond_unavailable(
                    params,
                    responder,
                    &serde_json::json!({"action": "cancel"}),
                );
                Ok(())
            }
        }
    }

    async fn handle_response(
        &mut self,
        call: AgentCall,
        response: Result<Value, AgentCallError>,
    ) -> Result<(), AcpError> {
        // `Closed` follows on the same connection and fails everything that is pending.
        if response == Err(AgentCallError::Gone) {
            return Ok(());
        }
        match call {
            AgentCall::Initialize => self.handle_initialized(response).await,
            AgentCall::Open(chat, deadline) => {
                self.handle_session_opened(chat, deadline, response).await
            }
            AgentCall::Resume(chat, id, deadline) => {
                self.handle_resumed(chat, &id, deadline, response).await
            }
            AgentCall::Fork(chat, deadline) => self.handle_forked(chat, deadline, response).await,
            AgentCall::Prompt(chat, turn) => {
                self.handle_prompt_result(&chat, &turn, response).await
            }
            AgentCall::SetOption {
                agent_session,
                key,
                value,
            } => {
                self.handle_option_result(&agent_session, &key, &value, response)
                    .await
            }
            AgentCall::Other => Ok(()),
        }
    }

    /// Ends the turn of a prompt that the agent has answered. If the turn was cancelled before,
    /// the next turn of the chat may wait for this response.
    async fn handle_prompt_result(
        &mut self,
        chat_uri: &Uri,
        id: &TurnId,
        response: Result<Value, AgentCallError>,
    ) -> Result<(), AcpError> {
        let is_answered = |prompt: &AbandonedPrompt| prompt.chat == *chat_uri && prompt.turn == *id;
        self.abandoned_prompts.retain(|prompt| !is_answered(prompt));
        let Some(chat) = self.chats.get_mut(chat_uri) else {
            return Ok(());
        };
        let Some(prompt) = chat.in_flight.take_if(|prompt| prompt.turn == *id) else {
            return Ok(());
        };
        if let (Err(_), Some(session)) = (&response, chat.agent_session.open_session()) {
            // The prompt contained the transcript and the instructions, but the agent may not
            // have processed them.
            session.history = prompt.previous_history;
            session.instructions = prompt.previous_instructions;
        }
        self.restore_model(chat_uri);
        let response = match &self.connection {
            Some(connection) => response.map_err(|error| connection.explain(error)),
            None => response,
        };
        if is_auth_required(&response) {
            self.events.send(AgentEvent::AuthRequired).await?;
        }
        let Some(chat) = self.chats.get_mut(chat_uri) else {
            return Ok(());
        };
        let is_running = chat.turn.as_ref().is_some_and(|turn| turn.id == *id);
        if is_running && let Some(session) = chat.agent_session.open_session() {
            let (events, error) = session.mapper.finish_turn(response);
            self.emit(Some(chat_uri), events).await?;
            let turn = self
                .chats
                .get_mut(chat_uri)
                .and_then(|chat| chat.turn.take());
            if let Some(turn) = turn {
                turn.cancel_requests();
            }
            self.events.end_turn(chat_uri, id, error).await?;
        }
        self.advance_turn(chat_uri).await
    }

    async fn handle_option_result(
        &mut self,
        id: &str,
        key: &str,
        value: &Value,
        response: Result<Value, AgentCallError>,
    ) -> Result<(), AcpError> {
        let Some(owner) = self.owner_of(id) else {
            return Ok(());
        };
        let Some(session) = self.agent_session(owner.chat()) else {
            return Ok(());
        };
        session.pending_options = session.pending_options.saturating_sub(1);
        session.options.mark_settled(key, value);
        // If the agent rejects the request, its value stays; `sync_options` publishes it to the
        // host.
        match response {
            Ok(response) => match response.get("configOptions") {
                Some(options) => session.options.replace(options),
                None => session.options.set(key, value),
            },
            Err(error) => self.notices.add_rejected(key, &error.to_string()),
        }
        match owner {
            SessionOwner::Chat(chat) => {
                self.sync_options(Some(&chat)).await?;
                self.advance_turn(&chat).await
            }
            SessionOwner::Spare => self.sync_options(None).await,
        }
    }

    /// Fails the agent after its connection was closed.
    async fn handle_closed(&mut self, reason: Option<String>) -> Result<(), AcpError> {
        let stderr_line = match self.connection.take() {
            Some(connection) => connection.shutdown().await,
            None => None,
        };
        self.fail_agent(AcpError::Gone {
            reason,
            stderr_line,
        })
        .await
    }

    pub(super) fn owner_of(&self, id: &str) -> Option<SessionOwner> {
        let is_spare =
            matches!(&self.spare_session, AgentSessionState::Open(session) if session.id == id);
        let chat = || self.chat_of(id).map(SessionOwner::Chat);
        is_spare.then_some(SessionOwner::Spare).or_else(chat)
    }

    /// Returns the replay of an agent session that is being resumed.
    fn replay_of(&mut self, id: &str) -> Option<&mut SessionReplay> {
        let states = self.chats.values_mut().map(|chat| &mut chat.agent_session);
        let mut replays = states.filter_map(|state| match state {
            AgentSessionState::Resuming(_, replay) => Some(&mut **replay),
            AgentSessionState::None
            | AgentSessionState::Opening(_)
            | AgentSessionState::Open(_) => None,
        });
        replays.find(|replay| replay.id == id)
    }

    pub(super) fn chat_of(&self, id: &str) -> Option<Uri> {
        let mut chats = self.chats.iter();
        let found = chats.find(
            |(_, chat)| matches!(&chat.agent_session, AgentSessionState::Open(session) if session.id == id),
        );
        found.map(|(chat_uri, _)| chat_uri.clone())
    }
}

/// Returns `true` if the agent requires the user to sign in first.
pub(super) fn is_auth_required(response: &Result<Value, AgentCallError>) -> bool {
    matches!(response, Err(AgentCallError::Rejected { code, .. }) if *code == AUTH_REQUIRED_CODE)
}
