//! Handles agent events: checks them, applies chat actions and tracks the agent's
//! lifecycle.

use std::collections::BTreeSet;

use agenthost_protocol::action::{Action, Dispatcher};
use agenthost_protocol::chat::{ChatAction, ConfirmationReason, ErrorPart, ResponsePart};
use agenthost_protocol::common::{ErrorInfo, ToolDefinition};
use agenthost_protocol::session::{
    CreationFailed, Ready, ServerToolsChanged, SessionAction, SessionLifecycle,
};
use agenthost_protocol::terminal::TerminalState;
use agenthost_protocol::uri::Uri;

use crate::agent::content::clean_event;
use crate::agent::{AgentEvent, SlashCommand};
use crate::host::Host;
use crate::host::effect::{Effect, Effects};
use crate::host::error::ActionCheckError;
use crate::host::step::Env;
use crate::resource::links::is_web_page;
use crate::session::pending_input;
use crate::terminal::output::CommandLine;
use crate::tools::permissions;
use crate::tools::permissions::PermissionVerdict;

/// Limit for the slash commands of an agent; the rest of a longer list is dropped.
const MAX_SLASH_COMMANDS: usize = 500;

impl Host {
    pub(crate) fn handle_agent_event(
        &mut self,
        env: &Env,
        session: &Uri,
        mut event: AgentEvent,
        out: &mut Effects,
    ) {
        clean_event(&mut event);
        let Some(event) = self.hold_for_survey(env, session, event, out) else {
            return;
        };
        match event {
            AgentEvent::Opened { tools } => self.handle_agent_opened(env, session, tools, out),
            AgentEvent::Stopped { error } => self.handle_agent_stopped(env, session, error, out),
            // An agent must not act in chats of other sessions.
            AgentEvent::Chat { chat, .. }
            | AgentEvent::SteeringAccepted { chat, .. }
            | AgentEvent::TurnStarted { chat, .. }
            | AgentEvent::TurnEnded { chat, .. }
            | AgentEvent::TitleSuggested { chat, .. }
            | AgentEvent::NoteChanged { chat, .. }
            | AgentEvent::HistoryImported { chat, .. }
            | AgentEvent::WorkerClosed { chat }
                if self.session_of(&chat) != Some(session) => {}
            AgentEvent::Chat { chat, action } => self.handle_agent_action(env, &chat, *action, out),
            AgentEvent::SteeringAccepted { chat, id } => {
                self.remove_steering_message(&chat, id, out);
            }
            AgentEvent::TurnStarted {
                chat,
                turn,
                message,
            } => self.begin_agent_turn(&chat, turn, message, env, out),
            // A command turn has no calls of the agent: the call would be the host's own.
            AgentEvent::WorkerOpened(worker) if self.runs_command_turn(&worker.parent) => {}
            AgentEvent::WorkerOpened(worker) => self.open_worker(env, session, *worker, out),
            AgentEvent::WorkerClosed { chat } => self.close_worker(env, &chat, out),
            AgentEvent::SlashCommandsChanged { commands } => {
                self.set_slash_commands(session, commands)
            }
            AgentEvent::NoteChanged { chat, note } => {
                self.set_agent_note(session, &chat, note.as_deref(), out)
            }
            AgentEvent::HistoryImported { chat, turns } => {
                self.import_history(env, &chat, turns, out)
            }
            AgentEvent::TitleSuggested { chat, title } => {
                self.apply_suggested_title(session, &chat, &title, out)
            }
            AgentEvent::ConfigSchemaChanged { schema, values } => {
                self.update_config_schema(session, *schema, values, out);
            }
            AgentEvent::ForbiddenValuesChanged { values } => {
                self.set_forbidden_values(session, values, out)
            }
            AgentEvent::AuthRequired => self.require_auth(session, out),
            AgentEvent::TurnEnded { chat, turn, error } => {
                self.handle_turn_ended(env, &chat, &turn, error, out);
            }
            AgentEvent::TerminalOpened {
                terminal,
                state,
                command,
            } => self.open_agent_terminal(env, session, &terminal, *state, command, out),
            AgentEvent::Terminal { terminal, action } => {
                if self.session_of(&terminal) == Some(session) {
                    self.apply_agent_terminal_action(env, &terminal, *action, out);
                }
            }
        }
    }

    fn handle_agent_opened(
        &mut self,
        env: &Env,
        session: &Uri,
        mut tools: Vec<ToolDefinition>,
        out: &mut Effects,
    ) {
        let mut names = BTreeSet::new();
        tools.retain(|tool| names.insert(tool.name.clone()));
        // An agent that is opened again after a restart has a session that is ready
        // already.
        let created = self.is_creating(session);
        if created {
            self.originate(session, SessionAction::Ready(Ready {}), out);
        }
        if !tools.is_empty() {
            let changed = ServerToolsChanged { tools };
            self.originate(session, SessionAction::ServerToolsChanged(changed), out);
            self.resend_client_tools(session, out);
        }
        self.sync_session(session, out);
        if created {
            self.begin_early_turns(env, session, out);
        }
    }

    fn open_agent_terminal(
        &mut self,
        env: &Env,
        session: &Uri,
        terminal: &Uri,
        state: TerminalState,
        command: Option<CommandLine>,
        out: &mut Effects,
    ) {
        if !self.channels.contains(terminal) && self.sessions.contains(session) {
            self.create_channel(terminal, Some(session), state.into(), out);
            if let Some(line) = command {
                self.record_command(env, terminal, line);
            }
        }
    }

    /// Handles the exit of an agent. A session that is being created fails. A session that
    /// is ready loses its active turns and opens the agent again for the next one.
    pub(crate) fn handle_agent_stopped(
        &mut self,
        env: &Env,
        session: &Uri,
        error: ErrorInfo,
        out: &mut Effects,
    ) {
        self.sessions.close_agent(session);
        if self.is_creating(session) {
            self.fail_creation(env, session, error, out);
            return;
        }
        let chats = self.session(session).map(|session| session.chats.clone());
        for chat in chats.iter().flat_map(|chats| chats.items()) {
            self.drop_survey(env, session, &chat.resource, out);
            let turn = self
                .chat(&chat.resource)
                .and_then(|chat| chat.active_turn.as_ref());
            let turn = turn.map(|turn| turn.id.clone());
            // Command turns run without the agent, so they continue.
            if let Some(turn) = turn.filter(|turn| !self.is_command_turn(&chat.resource, turn)) {
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

    /// Reports that a session could not be created, and fails the turns that wait for it.
    pub(crate) fn fail_creation(
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

    /// Checks that the host can apply an action of an agent.
    fn check_agent_action(&self, chat: &Uri, action: &ChatAction) -> Result<(), ActionCheckError> {
        let name = match action {
            ChatAction::ResponsePart(added) if has_own_action(&added.part) => {
                return Err(ActionCheckError::PartHasOwnAction);
            }
            ChatAction::InputRequested(requested)
                if requested.request.url.iter().any(|url| !is_web_page(url)) =>
            {
                return Err(ActionCheckError::NotWebPage);
            }
            ChatAction::BackgroundWorkSet(set) => {
                let session = self.session_of(chat);
                return session.map_or(Ok(()), |session| self.check_background(session, &set.work));
            }
            ChatAction::ResponsePart(added) => added.part.key(),
            ChatAction::ToolCallStart(start) => Some(start.target.tool_call_id.as_str()),
            ChatAction::TurnStarted(_)
            | ChatAction::Delta(_)
            | ChatAction::Reasoning(_)
            | ChatAction::Usage(_)
            | ChatAction::TurnComplete(_)
            | ChatAction::TurnCancelled(_)
            | ChatAction::Error(_)
            | ChatAction::TurnResume(_)
            | ChatAction::ToolCallDelta(_)
            | ChatAction::ToolCallReady(_)
            | ChatAction::ToolCallConfirmed(_)
            | ChatAction::ToolCallComplete(_)
            | ChatAction::ToolCallResultConfirmed(_)
            | ChatAction::ToolCallContentChanged(_)
            | ChatAction::ToolCallAuthRequired(_)
            | ChatAction::ToolCallAuthResolved(_)
            | ChatAction::ActivityChanged(_)
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
        };
        // Parts and tool calls share one namespace, and no id is used twice in a turn
        // (PRT-3, A-24).
        let turn = self.chat(chat).and_then(|chat| chat.active_turn.as_ref());
        let parts = turn.map(|turn| &turn.response_parts);
        let used = parts.zip(name).is_some_and(|(parts, name)| {
            parts.position(name).is_some() || parts.position_of_call(name).is_some()
        });
        if used {
            return Err(ActionCheckError::NameUsed);
        }
        Ok(())
    }

    /// Replaces the slash commands that the host offers as completions.
    fn set_slash_commands(&mut self, session: &Uri, mut commands: Vec<SlashCommand>) {
        if self.sessions.contains(session) {
            commands.truncate(MAX_SLASH_COMMANDS);
            self.sessions.set_slash_commands(session.clone(), commands);
        }
    }

    pub(crate) fn is_creating(&self, session: &Uri) -> bool {
        self.session(session)
            .is_some_and(|session| session.lifecycle == SessionLifecycle::Creating)
    }

    /// Applies an action of an agent. An agent may use actions that only a host may
    /// originate, and only in an active turn: late actions are dropped (TUR-16).
    pub(crate) fn apply_agent_action(
        &mut self,
        env: &Env,
        chat: &Uri,
        mut action: ChatAction,
        out: &mut Effects,
    ) {
        let is_agent_action = action.info().dispatcher == Dispatcher::Host
            || matches!(
                action,
                ChatAction::ToolCallComplete(_) | ChatAction::ToolCallContentChanged(_)
            );
        // Only the host ends turns, loads turns and decides if a chat can be moved.
        let is_host_action = matches!(
            action,
            ChatAction::TurnComplete(_)
                | ChatAction::Error(_)
                | ChatAction::TurnsLoaded(_)
                | ChatAction::MovableChanged(_)
        );
        let is_late = match (action.turn_id(), &action) {
            // The agent is not involved in command turns.
            (Some(turn), _) => !self.is_running(chat, turn) || self.is_command_turn(chat, turn),
            // The action names no turn, but a chat without an active turn has no activity.
            (None, ChatAction::ActivityChanged(_)) => {
                let state = self.chat(chat);
                state.is_none_or(|chat| chat.active_turn.is_none())
            }
            (None, _) => false,
        };
        if !is_agent_action || is_host_action || is_late {
            return;
        }
        if let Err(error) = self.check_agent_action(chat, &action) {
            out.push(Effect::ReportDiscarded {
                channel: chat.clone(),
                action: action.info().name,
                reason: error.to_string(),
            });
            return;
        }
        self.preserve_worker_links(chat, &mut action);
        self.keep_answering_client(chat, &mut action);
        if let Err(limit) = self.check_response_size(chat, &action) {
            let turn = self.chat(chat).and_then(|chat| chat.active_turn.as_ref());
            if let Some(turn) = turn.map(|turn| turn.id.clone()) {
                self.end_oversized_turn(env, chat, turn, &limit, out);
            }
            return;
        }
        let mut verdict = PermissionVerdict::Ask;
        let mut ready_target = None;
        if let ChatAction::ToolCallReady(ready) = &mut action {
            ready_target = Some(ready.target.clone());
            verdict = self.permission_verdict(chat, ready);
            match verdict {
                PermissionVerdict::Ask | PermissionVerdict::Deny => {
                    permissions::add_session_option(ready)
                }
                PermissionVerdict::Allow(_) => ready.confirmed = Some(ConfirmationReason::Setting),
            }
        }
        if let ChatAction::ToolCallComplete(complete) = &action {
            self.mark_call_answered(chat, &complete.target);
        }
        let is_usage = matches!(action, ChatAction::Usage(_));
        let usage_before = is_usage.then(|| self.usage_of_turn(chat));
        let ends_background_work = matches!(action, ChatAction::BackgroundWorkRemoved(_));
        let affects_input = pending_input::affects_input_needed(&action);
        let may_orphan_calls = matches!(
            action,
            ChatAction::ToolCallStart(_) | ChatAction::ToolCallReady(_)
        );
        if self.originate(chat, Action::Chat(action), out) {
            self.sync_chat(chat, out);
            if affects_input {
                self.sync_input_needed_of(chat, out);
            }
            if may_orphan_calls {
                self.fail_orphaned_calls(env, chat, out);
            }
            if let Some(target) = ready_target {
                self.publish_worker_links(chat, &target, out);
                self.apply_permission_verdict(env, chat, target, verdict, out);
            }
            if let Some(before) = usage_before {
                self.add_turn_usage(chat, before, out);
            }
            if ends_background_work {
                self.end_workers(env, chat, out);
            }
        }
    }
}

/// Returns `true` for parts that change the status of a chat. They are added by actions of
/// their own (PRT-5, TUR-8).
fn has_own_action(part: &ResponsePart) -> bool {
    match part {
        ResponsePart::ToolCall(_) | ResponsePart::InputRequest(_) | ResponsePart::Error(_) => true,
        ResponsePart::Markdown(_)
        | ResponsePart::ContentRef(_)
        | ResponsePart::Reasoning(_)
        | ResponsePart::SystemNotification(_)
        | ResponsePart::Unknown(_) => false,
    }
}
