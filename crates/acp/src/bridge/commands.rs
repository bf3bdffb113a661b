//! Handles the commands of the host: turns, decisions, configuration, chats and tools.

use std::sync::Arc;

use agenthost_core::agent::{AgentCommand, AgentNotes, ClientTool, ToolCallDecision};
use agenthost_core::tools::mcp::driver::McpTool;
use agenthost_protocol::ids::{ToolCallId, TurnId};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Object;
use agenthost_workspace::path_of;
use tokio::time::Instant;

use super::{
    AbandonedPrompt, AgentSession, AgentSessionState, ChatEntry, SessionBridge, TurnInProgress,
    set_option,
};
use crate::error::{AcpError, StartError};
use crate::mapper::error_part;
use crate::mapper::host_tools::HostToolSet;
use crate::session::PermissionOutcome;
use crate::session::options::MODEL_KEY;

/// The result of cancelling the turn of a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CancelOutcome {
    Cancelled,
    NothingToCancel,
}

impl SessionBridge {
    pub(crate) async fn handle_command(&mut self, command: AgentCommand) -> Result<(), AcpError> {
        match command {
            AgentCommand::Open {
                directories,
                config,
                notes,
            } => self.start_session(&directories, config, notes).await?,
            AgentCommand::AddAttachment {
                chat,
                turn,
                resource,
                content,
            } => {
                let chat = self.chats.entry(chat).or_default();
                chat.attachments.for_turn(&turn).push((resource, content));
            }
            AgentCommand::Prompt {
                chat,
                turn,
                message,
                history: previous_turns,
                prepared,
            } => {
                let turn = TurnInProgress::new(turn, message, previous_turns, prepared);
                self.begin_turn(&chat, turn).await?;
            }
            AgentCommand::Cancel { chat, turn } => match self.cancel_turn(&chat, Some(&turn)) {
                CancelOutcome::Cancelled => self.close_turn_terminals(&chat).await?,
                CancelOutcome::NothingToCancel => {}
            },
            AgentCommand::DecideToolCall {
                chat,
                turn,
                call,
                decision,
            } => self.decide_call(&chat, &turn, &call, &decision).await?,
            AgentCommand::AnswerInput {
                chat,
                turn,
                request,
                response,
                answers,
            } => {
                if let Some(running) = self.running_turn(&chat, &turn) {
                    running.answer_elicitation(&request, response, &answers);
                }
            }
            AgentCommand::SetConfig { values } => self.set_config(values).await?,
            AgentCommand::SetDirectories { directories } => self.set_directories(&directories)?,
            AgentCommand::OpenChat { chat, context } => self.open_chat(chat, context),
            AgentCommand::CloseChat { chat } => self.close_chat(&chat).await?,
            AgentCommand::Rewind { chat, .. } => self.rewind_chat(chat).await?,
            AgentCommand::Resume { chat, turn } => self.reject_resume(&chat, &turn).await?,
            AgentCommand::UseTerminal {
                terminal, command, ..
            } => self.services.terminals.execute(&terminal, command),
            AgentCommand::ContinueInBackground { terminal, .. } => {
                self.services.terminals.continue_in_background(&terminal);
            }
            AgentCommand::SetClientTools { tools } => self.set_client_tools(tools),
            AgentCommand::SetMcpTools { tools } => self.set_mcp_tools(tools),
            AgentCommand::HandOverToolCall {
                chat,
                turn,
                call,
                tool,
                input,
            } => {
                self.begin_client_call(&chat, &turn, &call, &tool, &input)
                    .await?;
            }
            AgentCommand::CompleteToolCall {
                chat, turn, call, ..
            } => self.complete_client_call(&chat, &turn, &call),
            // ACP has no way to steer a running prompt, so the host queues steering messages.
            // The run loop handles `Close`.
            AgentCommand::Steer { .. } | AgentCommand::Close => {}
        }
        Ok(())
    }

    /// Stores the session's folders, configuration and resumable agent sessions, and starts the
    /// agent.
    async fn start_session(
        &mut self,
        directories: &[Uri],
        config: Option<Object>,
        notes: AgentNotes,
    ) -> Result<(), AcpError> {
        self.set_directories(directories)?;
        self.config_values = config.unwrap_or_default();
        for (chat, note) in notes {
            self.chats.entry(chat).or_default().resumable_id = Some(note);
        }
        self.start_agent().await
    }

    /// Begins a turn of a chat. A turn that is still running is replaced and its pending
    /// requests are cancelled.
    async fn begin_turn(&mut self, chat: &Uri, turn: TurnInProgress) -> Result<(), AcpError> {
        let entry = self.chats.entry(chat.clone()).or_default();
        entry.attachments.for_turn(&turn.id);
        if let Some(previous) = entry.turn.replace(turn) {
            previous.cancel_requests();
        }
        self.advance_turn(chat).await
    }

    /// Returns the turn of a chat if its id matches.
    fn running_turn(&mut self, chat: &Uri, turn: &TurnId) -> Option<&mut TurnInProgress> {
        let running = self.chats.get_mut(chat)?.turn.as_mut();
        running.filter(|running| running.id == *turn)
    }

    /// Sends the decision about a tool call as the response to the agent's permission request.
    async fn decide_call(
        &mut self,
        chat: &Uri,
        turn: &TurnId,
        call: &ToolCallId,
        decision: &ToolCallDecision,
    ) -> Result<(), AcpError> {
        let Some(entry) = self.chats.get_mut(chat) else {
            return Ok(());
        };
        let (Some(session), Some(running)) = (entry.agent_session.open_session(), &mut entry.turn)
        else {
            return Ok(());
        };
        if running.id != *turn {
            return Ok(());
        }
        match running.resolve_permission(call, decision) {
            Some(PermissionOutcome::Allowed) => {
                let events = session.mapper.handle_approved(call);
                self.emit(Some(chat), events).await
            }
            Some(PermissionOutcome::Denied) => {
                session.mapper.handle_denied(call);
                running.mapper.mark_denied(call);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Cancels the turn and the terminals of a chat, closes its agent session and removes the
    /// chat.
    async fn close_chat(&mut self, chat: &Uri) -> Result<(), AcpError> {
        self.cancel_turn(chat, None);
        self.services
            .terminals
            .terminate_matching(|claim| claim.chat == *chat);
        self.close_turn_terminals(chat).await?;
        if let Some(mut entry) = self.chats.remove(chat) {
            self.abandon_prompt(chat, &mut entry);
            self.release_session(&mut entry);
        }
        Ok(())
    }

    /// Closes the agent session of a chat, so that its next turn begins in a new one. ACP has
    /// no request that removes part of a conversation.
    async fn rewind_chat(&mut self, chat: Uri) -> Result<(), AcpError> {
        self.cancel_turn(&chat, None);
        self.close_turn_terminals(&chat).await?;
        if let Some(mut entry) = self.chats.remove(&chat) {
            self.abandon_prompt(&chat, &mut entry);
            self.release_session(&mut entry);
            entry.resumable_id = None;
            self.chats.insert(chat, entry);
        }
        Ok(())
    }

    /// Ends a turn that the host wants to resume, with an error: ACP agents can't resume turns.
    async fn reject_resume(&mut self, chat: &Uri, turn: &TurnId) -> Result<(), AcpError> {
        let reason = "this agent cannot resume a turn";
        let error = Some(error_part("notResumable", reason));
        Ok(self.events.end_turn(chat, turn, error).await?)
    }

    fn set_client_tools(&mut self, tools: Vec<ClientTool>) {
        self.set_host_tools(HostToolSet {
            client_tools: tools,
            server_tools: self.host_tools.server_tools.clone(),
        });
    }

    fn set_mcp_tools(&mut self, tools: Vec<McpTool>) {
        self.set_host_tools(HostToolSet {
            client_tools: self.host_tools.client_tools.clone(),
            server_tools: tools,
        });
    }

    /// Hands a tool call over to the client that has the tool.
    async fn begin_client_call(
        &mut self,
        chat: &Uri,
        turn: &TurnId,
        call: &ToolCallId,
        tool: &str,
        input: &str,
    ) -> Result<(), AcpError> {
        let events = match self.hand_over_call(chat, turn, call) {
            Some(session) => session.mapper.handle_client_tool_called(call, tool, input),
            None => Vec::new(),
        };
        self.emit(Some(chat), events).await
    }

    /// Ends a tool call that a client has executed. The agent receives the result on the
    /// connection on which it called the tool.
    fn complete_client_call(&mut self, chat: &Uri, turn: &TurnId, call: &ToolCallId) {
        if let Some(session) = self.hand_over_call(chat, turn, call) {
            session.mapper.handle_client_tool_completed(call);
        }
    }

    /// Replaces the tools that the host offers, in the mappers of all open agent sessions.
    fn set_host_tools(&mut self, host_tools: HostToolSet) {
        self.host_tools = Arc::new(host_tools);
        let states = self.chats.values_mut().map(|chat| &mut chat.agent_session);
        for session in states
            .chain([&mut self.spare_session])
            .filter_map(AgentSessionState::open_session)
        {
            session.mapper.set_host_tools(&self.host_tools);
        }
    }

    /// Marks a tool call of a running turn as handed over, so that later messages of the agent
    /// do not change it. Returns the agent session of the chat.
    fn hand_over_call(
        &mut self,
        chat: &Uri,
        turn: &TurnId,
        call: &ToolCallId,
    ) -> Option<&mut AgentSession> {
        let chat = self.chats.get_mut(chat)?;
        let running = chat.turn.as_mut().filter(|running| running.id == *turn)?;
        running.mapper.mark_handed_over(call);
        chat.agent_session.open_session()
    }

    fn set_directories(&mut self, directories: &[Uri]) -> Result<(), AcpError> {
        self.services.set_directories(directories);
        let folders: Option<Vec<_>> = directories.iter().map(path_of).collect();
        self.folders = folders.ok_or(StartError::RemoteFolder)?;
        if self.folders.is_empty() {
            // A session without folders is a plain conversation, but agents require a folder.
            self.folders.extend(std::env::home_dir());
        }
        Ok(())
    }

    /// Cancels the turn of a chat: the given one, or any if `turn` is `None`.
    fn cancel_turn(&mut self, chat_uri: &Uri, turn: Option<&TurnId>) -> CancelOutcome {
        let Some(chat) = self.chats.get_mut(chat_uri) else {
            return CancelOutcome::NothingToCancel;
        };
        let is_target = |running: &mut TurnInProgress| turn.is_none_or(|turn| running.id == *turn);
        let Some(running) = chat.turn.take_if(is_target) else {
            return CancelOutcome::NothingToCancel;
        };
        if let (Some(connection), AgentSessionState::Open(session), Some(prompt)) = (
            &self.connection,
            &mut chat.agent_session,
            &mut chat.in_flight,
        ) && prompt.turn == running.id
        {
            connection.cancel_prompt(&session.id);
            session.mapper.end_turn();
            prompt.cancel_deadline = Some(Instant::now() + self.agent.cancel_timeout);
        }
        let turn = Some(&running.id);
        let terminals = &mut self.services.terminals;
        terminals
            .terminate_matching(|claim| claim.turn_id.as_ref() == turn && claim.chat == *chat_uri);
        running.cancel_requests();
        CancelOutcome::Cancelled
    }

    /// Moves a cancelled prompt of a chat to the abandoned prompts. Its response is discarded,
    /// but its cancel deadline still applies.
    fn abandon_prompt(&mut self, chat_uri: &Uri, chat: &mut ChatEntry) {
        let prompt = chat.in_flight.take();
        if let Some((turn, cancel_deadline)) =
            prompt.and_then(|prompt| Some((prompt.turn, prompt.cancel_deadline?)))
        {
            let chat = chat_uri.clone();
            self.abandoned_prompts.push(AbandonedPrompt {
                chat,
                turn,
                cancel_deadline,
            });
        }
    }

    /// Closes the agent session of a chat, if it is open.
    fn release_session(&mut self, chat: &mut ChatEntry) {
        if let (AgentSessionState::Open(session), Some(connection)) =
            (std::mem::take(&mut chat.agent_session), &self.connection)
        {
            connection.close_session(&session.id);
        }
    }

    async fn set_config(&mut self, values: Object) -> Result<(), AcpError> {
        self.config_values = values;
        let Some(connection) = &self.connection else {
            return Ok(());
        };
        let mut rejected_chat = None;
        let states = self.chats.iter_mut();
        let states =
            states.map(|(chat_uri, chat)| (Some(chat_uri.clone()), &mut chat.agent_session));
        for (chat_uri, state) in states.chain([(None, &mut self.spare_session)]) {
            let Some(session) = state.open_session() else {
                continue;
            };
            // Values that are already set are not sent again; the agent may have chosen them
            // itself.
            let current = session.options.values();
            let mut values = self.config_values.clone();
            values.retain(|key, value| current.get(key) != Some(value));
            match (&session.chosen_model, self.config_values.get(MODEL_KEY)) {
                // The agent gets the chosen model back when the turn ends.
                (Some(chosen_model), Some(model)) if chosen_model == model => {
                    drop(values.remove(MODEL_KEY))
                }
                (Some(_), Some(_)) => session.chosen_model = None,
                (Some(_), None) | (None, _) => {}
            }
            let schema = session.options.schema();
            let removed = self
                .agent
                .profile
                .auto_approve_rules()
                .remove_forbidden(&schema, &mut values);
            self.notices.add_forbidden(&removed);
            let mut keys = values.keys();
            let unknown_key = keys.find(|key| !schema.properties.contains_key(*key));
            if let Some(unknown_key) = unknown_key {
                self.notices
                    .add_rejected(unknown_key, "there is no such option");
            }
            if unknown_key.is_some() || !removed.is_empty() {
                rejected_chat = Some(chat_uri);
            }
            for (key, value) in &values {
                set_option(connection, session, key, value);
            }
        }
        // Publishes the current values again, so that clients revert the rejected ones.
        match rejected_chat {
            Some(chat_uri) => self.sync_options(chat_uri.as_ref()).await,
            None => Ok(()),
        }
    }
}
