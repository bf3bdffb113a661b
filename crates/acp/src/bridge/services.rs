//! Handles the agent's requests for files and terminals of the host.

use std::time::Duration;

use agenthost_core::agent::AgentEvent;
use agenthost_core::{CommandLine, CommandSize};
use agenthost_protocol::ids::ToolCallId;
use agenthost_protocol::terminal::{
    TerminalAction, TerminalClaim, TerminalClaimed, TerminalSessionClaim, TerminalState,
};
use agenthost_protocol::uri::Uri;
use agenthost_stdx::result::IgnoreResult;
use agenthost_stdx::text::truncate_chars;
use agenthost_workspace::{PtyProgram, TerminalOptions};
use serde_json::{Value, json};

use super::SessionBridge;
use super::messages::SessionOwner;
use crate::error::AcpError;
use crate::mapper::events::TerminalUpdate;
use crate::process_pool::launch::agent_environment;
use crate::services::{
    FileOperation, ServiceError, ServiceRequest, TerminalNotice, TerminalRequester, text_param,
};
use crate::transport::{JsonParams, RequestResponder, session_id};

/// The timeout for the exits of terminals when the session is closed.
const TERMINAL_EXIT_TIMEOUT: Duration = Duration::from_secs(2);

impl SessionBridge {
    /// Executes a service request of the agent. Each request gets a response, which may be an
    /// error.
    pub(super) async fn handle_service_request(
        &mut self,
        request: ServiceRequest,
        params: JsonParams,
        responder: RequestResponder,
    ) -> Result<(), AcpError> {
        let session = session_id(&params).unwrap_or_default().to_owned();
        if let Err(error) = self.check_service(request, &session) {
            responder.respond_result(Err(error));
            return Ok(());
        }
        let terminals = &mut self.services.terminals;
        match request {
            ServiceRequest::ReadFile => {
                self.services
                    .submit_file_job(FileOperation::Read, params, responder)
                    .await;
            }
            ServiceRequest::WriteFile => {
                self.services
                    .submit_file_job(FileOperation::Write, params, responder)
                    .await;
            }
            ServiceRequest::CreateTerminal => {
                return self.open_terminal(session, &params, responder).await;
            }
            ServiceRequest::TerminalOutput => {
                responder.respond_result(terminals.output(&session, &params))
            }
            ServiceRequest::WaitForExit => terminals.wait_for_exit(&session, &params, responder),
            ServiceRequest::KillTerminal => {
                responder.respond_result(terminals.kill(&session, &params))
            }
            ServiceRequest::ReleaseTerminal => {
                responder.respond_result(terminals.release(&session, &params))
            }
        }
        Ok(())
    }

    /// Checks that the service is offered to the agent and that the session exists. While a
    /// session is being opened, unknown ids are accepted: agents use a session before they
    /// respond with its id.
    fn check_service(&self, request: ServiceRequest, session: &str) -> Result<(), ServiceError> {
        if !self.agent.services.contains(&request.service()) {
            return Err(ServiceError::NotOffered);
        }
        let states = self.chats.values().map(|chat| &chat.agent_session);
        let mut states = states.chain([&self.spare_session]);
        let is_opening = states.any(|state| state.deadline().is_some());
        if is_opening {
            return Ok(());
        }
        self.check_session(session)
    }

    fn check_session(&self, session: &str) -> Result<(), ServiceError> {
        if self.owner_of(session).is_some() {
            return Ok(());
        }
        Err(ServiceError::UnknownSession(truncate_chars(session, 60)))
    }

    /// Responds to a request that the user can't answer: with the given response, or with an
    /// error if the session is unknown.
    pub(super) fn respond_unavailable(
        &self,
        params: &JsonParams,
        responder: RequestResponder,
        response: &Value,
    ) {
        // Some requests have no session.
        let checked = session_id(params).map_or(Ok(()), |session| self.check_session(session));
        responder.respond_result(checked.map(|()| response.clone()));
    }

    /// Runs a command for the agent. The host publishes the terminal before the agent gets its
    /// id.
    async fn open_terminal(
        &mut self,
        session: String,
        params: &JsonParams,
        responder: RequestResponder,
    ) -> Result<(), AcpError> {
        let Some(SessionOwner::Chat(chat)) = self.owner_of(&session) else {
            let reason = "this session has no messages yet".to_owned();
            responder.respond_result(Err(ServiceError::Refused(reason)));
            return Ok(());
        };
        let prompt = self
            .chats
            .get(&chat)
            .and_then(|chat| chat.in_flight.as_ref());
        if prompt.is_some_and(|prompt| prompt.cancel_deadline.is_some()) {
            let reason = "the turn was cancelled".to_owned();
            responder.respond_result(Err(ServiceError::Refused(reason)));
            return Ok(());
        }
        let directory = match self.services.resolve_directory(text_param(params, "cwd")) {
            Ok(directory) => directory,
            Err(error) => {
                responder.respond_result(Err(error));
                return Ok(());
            }
        };
        let turn = self.chats.get(&chat).and_then(|chat| chat.turn.as_ref());
        let size = turn.map_or_else(CommandSize::default, |turn| {
            CommandSize::of_message(&turn.message)
        });
        let options = TerminalOptions {
            program: PtyProgram::Command(CommandLine(String::new())),
            environment: Vec::new(),
            directory: Some(directory.clone()),
            cols: size.cols,
            rows: size.rows,
            pid_dir: self.agent.pid_dir.clone(),
            output_sink: self.events.output_sink(),
        };
        let claim = self.terminal_claim(&chat, None);
        let requester = TerminalRequester {
            agent_session: session,
            claim: claim.clone(),
        };
        let environment = agent_environment(&self.agent.launch, &self.agent.environment);
        let terminals = &mut self.services.terminals;
        let opened = match terminals.create(requester, options, environment, params) {
            Ok(opened) => opened,
            Err(error) => {
                responder.respond_result(Err(error));
                return Ok(());
            }
        };
        let state = TerminalState {
            cwd: Some(directory),
            cols: Some(size.cols),
            rows: Some(size.rows),
            is_pty: Some(true),
            ..TerminalState::new(opened.command_line.title(), TerminalClaim::Session(claim))
        };
        let event = AgentEvent::TerminalOpened {
            terminal: opened.uri.clone(),
            state: Box::new(state),
            command: Some(opened.command_line.clone()),
        };
        self.events.send(event).await?;
        let entry = self.chats.get_mut(&chat);
        if let Some(session) = entry.and_then(|chat| chat.agent_session.open_session()) {
            let call_terminals = &mut session.mapper.terminals;
            call_terminals.add_host_terminal(
                opened.id.clone(),
                opened.uri,
                opened.command_line.title(),
            );
        }
        responder.respond(&json!({ "terminalId": opened.id }));
        Ok(())
    }

    /// Handles an event of a terminal that the host runs for the agent.
    pub(super) async fn handle_terminal_event(
        &mut self,
        notice: TerminalNotice,
    ) -> Result<(), AcpError> {
        let Some(report) = self.services.terminals.handle_notice(notice) else {
            return Ok(());
        };
        let chat = self.chat_of(&report.agent_session);
        let entry = chat.and_then(|chat| self.chats.get_mut(&chat));
        let session = entry.and_then(|chat| chat.agent_session.open_session());
        if let (Some(end), Some(session)) = (report.end, session) {
            session.mapper.terminals.handle_exited(&report.uri, end);
        }
        let event = AgentEvent::Terminal {
            terminal: report.uri,
            action: Box::new(report.action),
        };
        Ok(self.events.send(event).await?)
    }

    /// Sends a change of a terminal that a tool call shows to the host.
    pub(super) async fn emit_terminal_update(
        &mut self,
        chat: &Uri,
        terminal: Uri,
        update: TerminalUpdate,
    ) -> Result<(), AcpError> {
        let event = match update {
            TerminalUpdate::Opened { title, cwd, call } => {
                let claim = TerminalClaim::Session(self.terminal_claim(chat, Some(call)));
                let state = TerminalState {
                    cwd,
                    is_pty: Some(false),
                    ..TerminalState::new(title, claim)
                };
                AgentEvent::TerminalOpened {
                    terminal,
                    state: Box::new(state),
                    // The output is plain text without escape sequences.
                    command: None,
                }
            }
            TerminalUpdate::Claimed(call) => {
                let claim = TerminalClaim::Session(self.terminal_claim(chat, Some(call)));
                let claimed = TerminalAction::Claimed(TerminalClaimed { claim });
                AgentEvent::Terminal {
                    terminal,
                    action: Box::new(claimed),
                }
            }
            TerminalUpdate::Action(action) => AgentEvent::Terminal { terminal, action },
        };
        Ok(self.events.send(event).await?)
    }

    /// Ends the terminals that the agent showed in a turn, after the turn was ended from
    /// outside.
    pub(crate) async fn close_turn_terminals(&mut self, chat: &Uri) -> Result<(), AcpError> {
        let entry = self.chats.get_mut(chat);
        let Some(session) = entry.and_then(|chat| chat.agent_session.open_session()) else {
            return Ok(());
        };
        let events = session.mapper.terminals.close_agent_terminals();
        self.emit(Some(chat), events).await
    }

    /// Releases all terminals of the agent and publishes their exits.
    pub(super) async fn close_terminals(&mut self) {
        self.services.terminals.release_all();
        let wait_for_exits = async {
            while self.services.terminals.has_running() {
                let notice = self.services.terminals.next_notice().await;
                self.handle_terminal_event(notice).await?;
            }
            Ok::<(), AcpError>(())
        };
        // The wait ends early if the host has stopped, or at the timeout if a process survives
        // its kill signal. Dropping the terminals releases the rest.
        let result = tokio::time::timeout(TERMINAL_EXIT_TIMEOUT, wait_for_exits).await;
        result.ignore_elapsed();
    }

    /// Returns the claim of a terminal: its session, chat, turn and tool call.
    fn terminal_claim(&self, chat: &Uri, call: Option<ToolCallId>) -> TerminalSessionClaim {
        let turn = self.chats.get(chat).and_then(|chat| chat.turn.as_ref());
        TerminalSessionClaim {
            session: self.session.clone(),
            chat: chat.clone(),
            turn_id: turn.map(|turn| turn.id.clone()),
            tool_call_id: call,
        }
    }
}
