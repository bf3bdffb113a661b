//! What agents do.

use std::collections::BTreeSet;

use agenthost_protocol::action::{Action, Dispatcher};
use agenthost_protocol::chat::{
    ChatAction, ConfirmationReason, ErrorPart, PendingMessageKind, PendingMessageRemoved,
    ResponsePart,
};
use agenthost_protocol::common::ErrorInfo;
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::session::{
    CreationFailed, Ready, ServerToolsChanged, SessionAction, SessionLifecycle,
};
use agenthost_protocol::uri::Uri;

use crate::agent::{AgentEvent, SlashCommand};
use crate::agent_content::clean_event;
use crate::effect::{Effect, Effects};
use crate::env::Env;
use crate::host::Host;
use crate::links::is_web_page;
use crate::permissions::{self, Verdict};
use crate::waiting;

/// Most commands that an agent can make known.
const COMMANDS: usize = 500;

impl Host {
    pub(crate) fn agent_event(
        &mut self,
        env: &Env,
        session: &Uri,
        mut event: AgentEvent,
        out: &mut Effects,
    ) {
        clean_event(&mut event);
        let Some(event) = self.keep_for_survey(env, session, event, out) else {
            return;
        };
        match event {
            AgentEvent::Opened { mut tools } => {
                let mut names = BTreeSet::new();
                tools.retain(|tool| names.insert(tool.name.clone()));
                // Opened again after a restart: it has been ready all along.
                let created = self.is_creating(session);
                if created {
                    self.originate(session, SessionAction::Ready(Ready {}), out);
                }
                if !tools.is_empty() {
                    let changed = ServerToolsChanged { tools };
                    self.originate(session, SessionAction::ServerToolsChanged(changed), out);
                    self.rename_client_tools(session, out);
                }
                self.sync_session(session, out);
                if created {
                    self.begin_early_turns(env, session, out);
                }
            }
            AgentEvent::Stopped { error } => self.agent_stopped(env, session, error, out),
            // An agent has no business in the chats of others.
            AgentEvent::Chat { chat, .. }
            | AgentEvent::Steered { chat, .. }
            | AgentEvent::TurnBegun { chat, .. }
            | AgentEvent::TurnEnded { chat, .. }
            | AgentEvent::Titled { chat, .. }
            | AgentEvent::Noted { chat, .. }
            | AgentEvent::Adopted { chat, .. }
            | AgentEvent::WorkerClosed { chat }
                if self.owner(&chat) != Some(session) => {}
            AgentEvent::Chat { chat, action } => self.agent_acts(env, &chat, *action, out),
            AgentEvent::Steered { chat, id } => {
                let waiting = self
                    .chat(&chat)
                    .and_then(|chat| chat.steering_message.as_ref());
                if waiting.is_some_and(|waiting| waiting.id == id) {
                    let kind = PendingMessageKind::Steering;
                    let removed = PendingMessageRemoved { kind, id };
                    let removed = ChatAction::PendingMessageRemoved(removed);
                    self.originate(&chat, removed, out);
                }
            }
            AgentEvent::TurnBegun {
                chat,
                turn,
                message,
            } => self.begin_turn(&chat, turn, message, env, out),
            // Its call would be one that the host makes itself.
            AgentEvent::WorkerOpened(worker) if self.runs_command(&worker.parent) => {}
            AgentEvent::WorkerOpened(worker) => self.open_worker(env, session, *worker, out),
            AgentEvent::WorkerClosed { chat } => self.close_worker(env, &chat, out),
            AgentEvent::Commands { commands } => self.learn_commands(session, commands),
            AgentEvent::Noted { chat, note } => self.note(session, &chat, note.as_deref(), out),
            AgentEvent::Adopted { chat, turns } => self.adopt(env, &chat, turns, out),
            AgentEvent::Titled { chat, title } => self.rename(session, &chat, &title, out),
            AgentEvent::Configurable { schema, values } => {
                self.learn_configuration(session, *schema, values, out);
            }
            AgentEvent::Forbids { values } => self.learn_forbidden(session, values, out),
            AgentEvent::SignInNeeded => self.need_token(session, out),
            AgentEvent::TurnEnded { chat, turn, error } => {
                self.turn_ended(env, &chat, &turn, error, out);
            }
            AgentEvent::TerminalOpened {
                terminal,
                state,
                command,
            } => {
                if !self.channels.contains_key(&terminal) && self.sessions.contains_key(session) {
                    self.create(&terminal, Some(session), (*state).into(), out);
                    if let Some(line) = command {
                        self.note_command(env, &terminal, line);
                    }
                }
            }
            AgentEvent::Terminal { terminal, action } => {
                if self.owner(&terminal) == Some(session) {
                    self.agent_terminal(env, &terminal, *action, out);
                }
            }
        }
    }

    /// A session that was being created has failed; one that was ready lost
    /// what was running, and opens its agent again when it is needed.
    fn agent_stopped(&mut self, env: &Env, session: &Uri, error: ErrorInfo, out: &mut Effects) {
        self.opened.remove(session);
        if self.is_creating(session) {
            self.creation_failed(env, session, error, out);
            return;
        }
        let chats = self.session(session).map(|session| session.chats.clone());
        for chat in chats.iter().flat_map(|chats| chats.items()) {
            self.drop_survey(env, session, &chat.resource, out);
            let turn = self
                .chat(&chat.resource)
                .and_then(|chat| chat.active_turn.as_ref());
            let turn = turn.map(|turn| turn.id.clone());
            // What the host runs itself goes on without the agent.
            if let Some(turn) = turn.filter(|turn| !self.is_command(&chat.resource, turn)) {
                let part = ErrorPart {
                    error: error.clone(),
                    resumable: None,
                };
                self.end_turn(env, &chat.resource, &turn, Some(part), out);
            }
            self.clear_background(env, &chat.resource, out);
        }
        self.end_agent_terminals(env, session, out);
    }

    /// A session can't be made, and so can't what was said in it be answered.
    pub(crate) fn creation_failed(
        &mut self,
        env: &Env,
        session: &Uri,
        error: ErrorInfo,
        out: &mut Effects,
    ) {
        let failed = CreationFailed {
            error: error.clone(),
        };
        self.originate(session, SessionAction::CreationFailed(failed), out);
        self.sync_session(session, out);
        self.fail_early_turns(env, session, &error, out);
    }

    /// Whether the host can do what an agent wants; if not, why.
    fn makes_sense(&self, chat: &Uri, action: &ChatAction) -> Result<(), String> {
        let name = match action {
            ChatAction::ResponsePart(added) if has_its_own_action(&added.part) => {
                return Err("such a part is added by an action of its own".to_owned());
            }
            ChatAction::InputRequested(requested)
                if requested.request.url.iter().any(|url| !is_web_page(url)) =>
            {
                return Err("its URL is not one of a web page".to_owned());
            }
            ChatAction::BackgroundWorkSet(set) => {
                let session = self.owner(chat);
                return session.map_or(Ok(()), |session| self.check_background(session, &set.work));
            }
            ChatAction::ResponsePart(added) => added.part.key(),
            ChatAction::ToolCallStart(start) => Some(start.target.tool_call_id.as_str()),
            _ => None,
        };
        // Parts and calls share their names, each is used once (PRT-3, A-24).
        let turn = self.chat(chat).and_then(|chat| chat.active_turn.as_ref());
        let parts = turn.map(|turn| &turn.response_parts);
        let used = parts.zip(name).is_some_and(|(parts, name)| {
            parts.position(name).is_some() || parts.position_of_call(name).is_some()
        });
        if used {
            return Err("its name is in use in this turn".to_owned());
        }
        Ok(())
    }

    /// What can be completed at the beginning of a message.
    fn learn_commands(&mut self, session: &Uri, mut commands: Vec<SlashCommand>) {
        if self.sessions.contains_key(session) {
            commands.truncate(COMMANDS);
            self.slash_commands.insert(session.clone(), commands);
        }
    }

    pub(crate) fn is_creating(&self, session: &Uri) -> bool {
        self.session(session)
            .is_some_and(|session| session.lifecycle == SessionLifecycle::Creating)
    }

    /// An agent may do what only the host may, and only in a turn that is
    /// still running: what comes late is dropped (TUR-16).
    pub(crate) fn agent_action(
        &mut self,
        env: &Env,
        chat: &Uri,
        mut action: ChatAction,
        out: &mut Effects,
    ) {
        let agents = action.info().dispatcher == Dispatcher::Host
            || matches!(
                action,
                ChatAction::ToolCallComplete(_) | ChatAction::ToolCallContentChanged(_)
            );
        // How a turn ends, what of a chat is loaded and where it may go is the
        // host's business.
        let host = matches!(
            action,
            ChatAction::TurnComplete(_)
                | ChatAction::Error(_)
                | ChatAction::TurnsLoaded(_)
                | ChatAction::MovableChanged(_)
        );
        let late = match (turn_of(&action), &action) {
            // The host runs some turns without the agent.
            (Some(turn), _) => !self.is_running(chat, turn) || self.is_command(chat, turn),
            // It names no turn, but nothing is being done without one.
            (None, ChatAction::ActivityChanged(_)) => {
                let state = self.chat(chat);
                state.is_none_or(|chat| chat.active_turn.is_none())
            }
            (None, _) => false,
        };
        if !agents || host || late {
            return;
        }
        if let Err(reason) = self.makes_sense(chat, &action) {
            out.push(Effect::Discarded {
                channel: chat.clone(),
                action: action.info().name,
                reason,
            });
            return;
        }
        self.keep_workers(chat, &mut action);
        if let Err(limit) = self.check_response(chat, &action) {
            let turn = self.chat(chat).and_then(|chat| chat.active_turn.as_ref());
            if let Some(turn) = turn.map(|turn| turn.id.clone()) {
                self.end_oversized_turn(env, chat, turn, &limit, out);
            }
            return;
        }
        let mut verdict = Verdict::Ask;
        if let ChatAction::ToolCallReady(ready) = &mut action {
            verdict = self.verdict(chat, ready);
            match verdict {
                Verdict::Ask | Verdict::Deny => permissions::offer_session_option(ready),
                Verdict::Allow => ready.confirmed = Some(ConfirmationReason::Setting),
            }
        }
        if let ChatAction::ToolCallComplete(complete) = &action {
            self.completed_by_agent(chat, &complete.target);
        }
        let again = match &action {
            ChatAction::ToolCallReady(ready) => Some(ready.target.clone()),
            _ => None,
        };
        let used = match &action {
            ChatAction::Usage(_) => Some(self.usage_of_turn(chat)),
            _ => None,
        };
        let settles = matches!(action, ChatAction::BackgroundWorkRemoved(_));
        let matters = waiting::matters(&action);
        let stamped = matches!(
            action,
            ChatAction::ToolCallStart(_) | ChatAction::ToolCallReady(_)
        );
        if self.originate(chat, Action::Chat(action), out) {
            self.sync_chat(chat, out);
            if matters {
                self.sync_waiting_of(chat, out);
            }
            if stamped {
                self.fail_stray_calls(env, chat, out);
            }
            if let Some(target) = again {
                self.show_workers(chat, &target, out);
                self.answer_by_settings(env, chat, target, verdict, out);
            }
            if let Some(before) = used {
                self.count_usage(chat, before, out);
            }
            if settles {
                self.end_workers(env, chat, out);
            }
        }
    }
}

/// Parts that change what a chat waits for are opened by actions that say so
/// (PRT-5, TUR-8).
fn has_its_own_action(part: &ResponsePart) -> bool {
    match part {
        ResponsePart::ToolCall(_) | ResponsePart::InputRequest(_) | ResponsePart::Error(_) => true,
        ResponsePart::Markdown(_)
        | ResponsePart::ContentRef(_)
        | ResponsePart::Reasoning(_)
        | ResponsePart::SystemNotification(_)
        | ResponsePart::Unknown(_) => false,
    }
}

/// The turn that an action belongs to, if it belongs to one.
fn turn_of(action: &ChatAction) -> Option<&TurnId> {
    match action {
        ChatAction::Delta(action) => Some(&action.turn_id),
        ChatAction::ResponsePart(action) => Some(&action.turn_id),
        ChatAction::Reasoning(action) => Some(&action.turn_id),
        ChatAction::Usage(action) => Some(&action.turn_id),
        ChatAction::ToolCallStart(action) => Some(&action.target.turn_id),
        ChatAction::ToolCallDelta(action) => Some(&action.target.turn_id),
        ChatAction::ToolCallReady(action) => Some(&action.target.turn_id),
        ChatAction::ToolCallComplete(action) => Some(&action.target.turn_id),
        ChatAction::ToolCallContentChanged(action) => Some(&action.target.turn_id),
        ChatAction::ToolCallAuthRequired(action) => Some(&action.target.turn_id),
        ChatAction::ToolCallAuthResolved(action) => Some(&action.target.turn_id),
        ChatAction::TurnStarted(_)
        | ChatAction::TurnComplete(_)
        | ChatAction::TurnCancelled(_)
        | ChatAction::Error(_)
        | ChatAction::TurnResume(_)
        | ChatAction::ToolCallConfirmed(_)
        | ChatAction::ToolCallResultConfirmed(_)
        | ChatAction::ActivityChanged(_)
        | ChatAction::BackgroundWorkSet(_)
        | ChatAction::BackgroundWorkRemoved(_)
        | ChatAction::MovableChanged(_)
        | ChatAction::ChangesetsChanged(_)
        | ChatAction::CanvasesChanged(_)
        | ChatAction::WorkingDirectorySet(_)
        | ChatAction::WorkingDirectoryRemoved(_)
        | ChatAction::PendingMessageSet(_)
        | ChatAction::PendingMessageRemoved(_)
        | ChatAction::QueuedMessagesReordered(_)
        | ChatAction::DraftChanged(_)
        | ChatAction::IsReadChanged(_)
        | ChatAction::IsArchivedChanged(_)
        | ChatAction::InputRequested(_)
        | ChatAction::InputAnswerChanged(_)
        | ChatAction::InputCompleted(_)
        | ChatAction::Truncated(_)
        | ChatAction::TurnsLoaded(_) => None,
    }
}
