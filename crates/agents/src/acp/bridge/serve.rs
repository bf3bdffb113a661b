//! What the agent has the host do for it.

use std::time::Duration;

use agenthost_core::agent::AgentEvent;
use agenthost_core::{COMMAND_COLS, COMMAND_ROWS, CommandLine};
use agenthost_protocol::ids::ToolCallId;
use agenthost_protocol::terminal::{
    TerminalAction, TerminalClaim, TerminalClaimed, TerminalSessionClaim, TerminalState,
};
use agenthost_protocol::uri::Uri;
use agenthost_workspace::{Program, TerminalStart};
use serde_json::{Value, json};

use super::Bridge;
use super::heard::{Owner, session_of};
use crate::acp::process::environment;
use crate::acp::services::{AccessWay, Happened, Origin, ServiceError, ServiceRequest, text};
use crate::acp::told::TerminalTold;
use crate::acp::wire::{Object, Reply};

/// How long to wait for the ends of what runs, when all ends.
const ENDS: Duration = Duration::from_secs(2);

impl Bridge {
    /// Does what the agent asks for, or says why not. It is always answered.
    pub(super) async fn serve(
        &mut self,
        request: ServiceRequest,
        params: Object,
        reply: Reply,
    ) -> Result<(), String> {
        let session = session_of(&params).unwrap_or_default().to_owned();
        if let Err(error) = self.check(request, &session) {
            reply.settle(Err(error));
            return Ok(());
        }
        let terminals = &mut self.services.terminals;
        match request {
            ServiceRequest::ReadFile => {
                self.services.use_file(AccessWay::Read, params, reply).await;
            }
            ServiceRequest::WriteFile => {
                self.services
                    .use_file(AccessWay::Write, params, reply)
                    .await;
            }
            ServiceRequest::CreateTerminal => {
                return self.open_terminal(session, &params, reply).await;
            }
            ServiceRequest::TerminalOutput => reply.settle(terminals.output(&session, &params)),
            ServiceRequest::WaitForExit => terminals.wait(&session, &params, reply),
            ServiceRequest::KillTerminal => reply.settle(terminals.kill(&session, &params)),
            ServiceRequest::ReleaseTerminal => reply.settle(terminals.release(&session, &params)),
        }
        Ok(())
    }

    /// Whether the agent was offered this, and the session is there. One that
    /// is about to be may be used: agents do before they say that it is there.
    fn check(&self, request: ServiceRequest, session: &str) -> Result<(), ServiceError> {
        if !self.agent.services.contains(&request.service()) {
            return Err(ServiceError::NotOffered);
        }
        let links = self.chats.values().map(|chat| &chat.agent_session);
        let mut links = links.chain([&self.spare]);
        let opening = links.any(|link| link.deadline().is_some());
        if opening {
            return Ok(());
        }
        self.check_session(session)
    }

    fn check_session(&self, session: &str) -> Result<(), ServiceError> {
        if self.owner(session).is_some() {
            return Ok(());
        }
        Err(ServiceError::UnknownSession(
            session.chars().take(60).collect(),
        ))
    }

    /// Nobody can be asked: the agent gets the answer that says so, or is told
    /// that there is no such session.
    pub(super) fn refuse(&self, params: &Object, reply: Reply, answer: &Value) {
        // Some questions are about no session at all.
        let known = session_of(params).map_or(Ok(()), |session| self.check_session(session));
        reply.settle(known.map(|()| answer.clone()));
    }

    /// Runs a command for the agent. Everybody can watch before it hears of it.
    async fn open_terminal(
        &mut self,
        session: String,
        params: &Object,
        reply: Reply,
    ) -> Result<(), String> {
        let Some(Owner::Chat(chat)) = self.owner(&session) else {
            let reason = "nothing was said in this session yet".to_owned();
            reply.settle(Err(ServiceError::Refused(reason)));
            return Ok(());
        };
        let flight = self
            .chats
            .get(&chat)
            .and_then(|chat| chat.in_flight.as_ref());
        if flight.is_some_and(|flight| flight.stop_by.is_some()) {
            let reason = "the turn was cancelled".to_owned();
            reply.settle(Err(ServiceError::Refused(reason)));
            return Ok(());
        }
        let directory = match self.services.directory(text(params, "cwd")) {
            Ok(directory) => directory,
            Err(error) => {
                reply.settle(Err(error));
                return Ok(());
            }
        };
        let start = TerminalStart {
            program: Program::Command(CommandLine(String::new())),
            directory: Some(directory.clone()),
            cols: COMMAND_COLS,
            rows: COMMAND_ROWS,
            notes: self.agent.notes.clone(),
            keep: self.events.keep_output(),
        };
        let claim = self.claim(&chat, None);
        let origin = Origin {
            agent_session: session,
            claim: claim.clone(),
        };
        let environment = environment(&self.agent.launch);
        let terminals = &mut self.services.terminals;
        let opened = match terminals.create(origin, start, environment, params) {
            Ok(opened) => opened,
            Err(error) => {
                reply.settle(Err(error));
                return Ok(());
            }
        };
        let state = TerminalState {
            cwd: Some(directory),
            cols: Some(COMMAND_COLS),
            rows: Some(COMMAND_ROWS),
            is_pty: Some(true),
            ..TerminalState::new(opened.line.title(), TerminalClaim::Session(claim))
        };
        let told = AgentEvent::TerminalOpened {
            terminal: opened.address.clone(),
            state: Box::new(state),
            command: Some(opened.line.clone()),
        };
        self.events.send(told).await?;
        let place = self.chats.get_mut(&chat);
        if let Some(session) = place.and_then(|chat| chat.agent_session.open()) {
            let scene = &mut session.mapper.scene;
            scene.add(opened.id.clone(), opened.address, opened.line.title());
        }
        reply.send(&json!({ "terminalId": opened.id }));
        Ok(())
    }

    /// Something happened in a terminal that the host runs for the agent.
    pub(super) async fn happened(&mut self, happened: Happened) -> Result<(), String> {
        let Some(news) = self.services.terminals.take_in(happened) else {
            return Ok(());
        };
        let chat = self.chat_of(&news.agent_session);
        let place = chat.and_then(|chat| self.chats.get_mut(&chat));
        let session = place.and_then(|chat| chat.agent_session.open());
        if let (Some(end), Some(session)) = (news.end, session) {
            session.mapper.scene.ended(&news.address, end);
        }
        let told = AgentEvent::Terminal {
            terminal: news.address,
            action: Box::new(news.action),
        };
        Ok(self.events.send(told).await?)
    }

    /// Tells the host about a terminal that a call of a chat shows.
    pub(super) async fn tell_terminal(
        &mut self,
        chat: &Uri,
        terminal: Uri,
        told: TerminalTold,
    ) -> Result<(), String> {
        let event = match told {
            TerminalTold::Opened { title, cwd, call } => {
                let claim = TerminalClaim::Session(self.claim(chat, Some(call)));
                let state = TerminalState {
                    cwd,
                    is_pty: Some(false),
                    ..TerminalState::new(title, claim)
                };
                AgentEvent::TerminalOpened {
                    terminal,
                    state: Box::new(state),
                    // What it writes is plain text, which is shown as it is.
                    command: None,
                }
            }
            TerminalTold::Claimed(call) => {
                let claim = TerminalClaim::Session(self.claim(chat, Some(call)));
                let claimed = TerminalAction::Claimed(TerminalClaimed { claim });
                AgentEvent::Terminal {
                    terminal,
                    action: Box::new(claimed),
                }
            }
            TerminalTold::Action(action) => AgentEvent::Terminal { terminal, action },
        };
        Ok(self.events.send(event).await?)
    }

    /// A turn of a chat was ended from outside: nothing that the agent showed
    /// in it goes on.
    pub(super) async fn settle(&mut self, chat: &Uri) -> Result<(), String> {
        let place = self.chats.get_mut(chat);
        let Some(session) = place.and_then(|chat| chat.agent_session.open()) else {
            return Ok(());
        };
        let told = session.mapper.scene.close();
        self.tell(Some(chat), told).await
    }

    /// Ends all that runs for the agent, and says how it ended.
    pub(super) async fn close_terminals(&mut self) {
        self.services.terminals.forget();
        let ends = async {
            while self.services.terminals.is_busy() {
                let happened = self.services.terminals.next().await;
                self.happened(happened).await?;
            }
            Ok::<(), String>(())
        };
        // If the host is gone, or something does not end even when it is
        // killed: what is left goes when it is dropped.
        drop(tokio::time::timeout(ENDS, ends).await);
    }

    /// What a terminal of a chat is for.
    fn claim(&self, chat: &Uri, call: Option<ToolCallId>) -> TerminalSessionClaim {
        let turn = self.chats.get(chat).and_then(|chat| chat.turn.as_ref());
        TerminalSessionClaim {
            session: self.session.clone(),
            chat: chat.clone(),
            turn_id: turn.map(|turn| turn.id.clone()),
            tool_call_id: call,
        }
    }
}
