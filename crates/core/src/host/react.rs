//! Reactions: the further actions and effects that follow from a committed action.
//!
//! Causes come before consequences: first the action itself, then the change of its session,
//! then the change of the session list, then commands to agents (SEQ-5, SEQ-7).

mod chat;

use std::sync::Arc;

use agenthost_protocol::action::Action;
use agenthost_protocol::chat::{ChatSummary, TurnStarted};
use agenthost_protocol::session::{ChatAdded, ChatUpdated, SessionAction};
use agenthost_protocol::uri::Uri;

use crate::agent::{AgentCommand, ToolCallDecision};
use crate::changeset::driver::CheckpointId;
use crate::chat::turn::checkpoint_barrier::TurnEffect;
use crate::chat::turn::command_turn::parse_command;
use crate::host::Host;
use crate::host::effect::Effects;
use crate::host::step::Env;
use crate::session::summary;
use crate::session::summary::ChatChange;
use crate::tools::client_tools::client_tools;

impl Host {
    pub(crate) fn react(&mut self, env: &Env, channel: &Uri, action: &Action, out: &mut Effects) {
        match action {
            Action::Chat(action) => {
                self.sync_chat(channel, out);
                self.sync_input_needed_of(channel, out);
                self.react_chat(env, channel, action, out);
                self.deliver_results(channel, out);
            }
            Action::Session(action) => {
                self.sync_session(channel, out);
                self.react_session(env, channel, action, out);
            }
            Action::Annotations(_) => self.sync_annotation_counts(channel, out),
            Action::Root(_) => {
                self.resolve_access_requests(out);
                self.sync_trusted_code(out);
            }
            Action::Terminal(action) => self.react_terminal(env, channel, action, out),
            Action::Changeset(_)
            | Action::ResourceWatch(_)
            | Action::Canvas(_)
            | Action::Automations(_)
            | Action::AutomationRun(_) => {}
        }
    }

    fn react_session(
        &mut self,
        env: &Env,
        session: &Uri,
        action: &SessionAction,
        out: &mut Effects,
    ) {
        match action {
            SessionAction::ActiveClientSet(_) => {
                self.sync_token_principals(session, out);
                self.send_client_tools(session, out);
                self.sync_client_plugins(session, out);
            }
            SessionAction::ActiveClientRemoved(removed) => {
                self.sync_token_principals(session, out);
                self.fail_client_calls(env, &removed.client_id, session, out);
                self.send_client_tools(session, out);
                self.sync_client_plugins(session, out);
            }
            SessionAction::CustomizationToggled(toggled) => {
                self.store_enablement(session, toggled, out);
            }
            SessionAction::McpServerStartRequested(request) => {
                self.start_by_user(session, &request.id, out);
            }
            SessionAction::McpServerStopRequested(request) => {
                self.stop_by_user(session, &request.id, out);
            }
            // Prompts no longer wait for this server (MCP-4).
            SessionAction::McpServerBackgroundRequested(_) => {
                self.send_unblocked_prompts(session, out)
            }
            SessionAction::IsArchivedChanged(change) => {
                self.archive_default_chat(session, change.is_archived, out);
            }
            SessionAction::ConfigChanged(_) => self.forward_config(session, out),
            SessionAction::WorkingDirectorySet(_)
            | SessionAction::WorkingDirectoryRemoved(_)
            | SessionAction::WorkingDirectoryReplaced(_) => {
                self.handle_directories_changed(session, action, out);
            }
            SessionAction::Ready(_)
            | SessionAction::CreationFailed(_)
            | SessionAction::ChatAdded(_)
            | SessionAction::ChatRemoved(_)
            | SessionAction::ChatUpdated(_)
            | SessionAction::ChatsReordered(_)
            | SessionAction::DefaultChatChanged(_)
            | SessionAction::TitleChanged(_)
            | SessionAction::ServerToolsChanged(_)
            | SessionAction::InputNeededSet(_)
            | SessionAction::InputNeededRemoved(_)
            | SessionAction::CustomizationsChanged(_)
            | SessionAction::CustomizationUpdated(_)
            | SessionAction::CustomizationRemoved(_)
            | SessionAction::McpServerStateChanged(_)
            | SessionAction::IsReadChanged(_)
            | SessionAction::ActivityChanged(_)
            | SessionAction::ChangesetsChanged(_)
            | SessionAction::MetaChanged(_) => {}
        }
    }

    /// Sends the configuration of a session to its agent, if the agent is open.
    fn forward_config(&mut self, session: &Uri, out: &mut Effects) {
        if !self.sessions.is_agent_open(session) {
            return;
        }
        let state = self.session(session);
        if let Some(values) = state.and_then(|state| self.agent_config_values(state)) {
            self.send_agent_command(session, AgentCommand::SetConfig { values }, out);
        }
    }

    /// Updates the input needed of the session that owns a chat.
    pub(crate) fn sync_input_needed_of(&mut self, chat: &Uri, out: &mut Effects) {
        if let Some(session) = self.session_of(chat).cloned() {
            self.sync_input_needed(&session, chat, out);
        }
    }

    /// Starts the work of a turn: runs its command, or prepares the prompt for the agent.
    pub(crate) fn begin_turn_work(
        &mut self,
        env: &Env,
        chat: &Uri,
        start: &TurnStarted,
        out: &mut Effects,
    ) {
        self.checkpoint_turn(chat, &start.turn_id, CheckpointId::BeforeTurn, out);
        if let Some(line) = parse_command(&start.message) {
            self.run_command(env, chat, start, line, out);
            self.forward_steering(chat, out);
            return;
        }
        self.start_prompt(env, chat, start, out);
    }

    pub(crate) fn send_decision(
        &mut self,
        chat: &Uri,
        target: &agenthost_protocol::chat::ToolCallTarget,
        decision: ToolCallDecision,
        out: &mut Effects,
    ) {
        let command = AgentCommand::DecideToolCall {
            chat: chat.clone(),
            turn: target.turn_id.clone(),
            call: target.tool_call_id.clone(),
            decision,
        };
        self.send_agent_command(chat, command, out);
    }

    /// Sends a command to the agent of a session or chat. Opens the agent first if necessary,
    /// for example after a restart.
    pub(crate) fn send_agent_command(
        &mut self,
        channel: &Uri,
        command: AgentCommand,
        out: &mut Effects,
    ) {
        let Some(session) = self.session_of(channel).cloned() else {
            return;
        };
        self.open_agent(&session, out);
        self.push_agent_command(session, command, out);
    }

    /// Opens the agent of a session and sends it the tools of clients and MCP servers. Does
    /// nothing if it is open.
    pub(crate) fn open_agent(&mut self, session: &Uri, out: &mut Effects) {
        if self.session(session).is_none() || !self.sessions.open_agent(session.clone()) {
            return;
        }
        self.sync_token_principals(session, out);
        let Some(state) = self.session(session) else {
            return;
        };
        let directories = state.metadata.working_directories.clone();
        let open = AgentCommand::Open {
            directories: directories.unwrap_or_default(),
            config: self.agent_config_values(state),
            notes: self.agent_notes(session),
        };
        let tools = client_tools(state);
        self.push_agent_command(session.clone(), open, out);
        if !tools.is_empty() {
            self.push_agent_command(session.clone(), AgentCommand::SetClientTools { tools }, out);
        }
        let known = self.customizations.get(session);
        let tools = known
            .map(|known| known.mcp_tools.clone())
            .unwrap_or_default();
        if !tools.is_empty() {
            self.push_agent_command(session.clone(), AgentCommand::SetMcpTools { tools }, out);
        }
        self.track_customizations(session, out);
    }

    fn push_agent_command(&mut self, session: Uri, command: AgentCommand, out: &mut Effects) {
        let Some(state) = self.session(&session) else {
            return;
        };
        let provider = state.metadata.provider.clone();
        let chat = command.chat().cloned();
        let effect = TurnEffect::Agent {
            session,
            provider,
            command: Box::new(command),
        };
        self.turns.push_effect(chat.as_ref(), effect, out);
    }

    /// Updates the session's entry of a chat (CHT-19).
    pub(crate) fn sync_chat(&mut self, chat: &Uri, out: &mut Effects) {
        let Some(session) = self.session_of(chat).cloned() else {
            return;
        };
        let Some(after) = self.chat(chat).map(|chat| chat.summary.clone()) else {
            return;
        };
        let entry = self.session(&session).and_then(|session| {
            let mut chats = session.chats.items();
            chats.find(|entry| entry.resource == *chat).cloned()
        });
        let Some(before) = entry else {
            return;
        };
        let after = ChatSummary {
            changes: before.changes.clone(),
            ..after
        };
        let action = match summary::chat_change(&before, &after) {
            ChatChange::Unchanged => return,
            ChatChange::Partial(changes) => SessionAction::ChatUpdated(Box::new(ChatUpdated {
                chat: chat.clone(),
                changes: *changes,
            })),
            ChatChange::Full => SessionAction::ChatAdded(ChatAdded {
                summary: Arc::new(after),
            }),
        };
        self.originate(&session, action, out);
        self.sync_session(&session, out);
    }
}
