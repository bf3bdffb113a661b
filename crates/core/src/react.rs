//! What follows from an action that was accepted.
//!
//! Causes come before effects: first the action itself, then what the session
//! shows of it, then what lists show of the session, then what agents are
//! asked to do (SEQ-5, SEQ-7).

use std::sync::Arc;

use agenthost_protocol::action::Action;
use agenthost_protocol::chat::{
    ActiveTurn, Answers, CancellationReason, ChatAction, ChatSummary, PendingMessageKind,
    ResponsePart, TurnStarted,
};
use agenthost_protocol::ids::InputRequestId;
use agenthost_protocol::session::{ChatAdded, ChatUpdated, SessionAction};
use agenthost_protocol::uri::Uri;

use crate::agent::{AgentCommand, Decision};
use crate::changes::Mark;
use crate::client_tools::client_tools;
use crate::effect::{Effect, Effects};
use crate::env::Env;
use crate::host::Host;
use crate::permissions;
use crate::summary::{self, ChatChange};
use crate::terminal_turns::command_of;

impl Host {
    pub(crate) fn react(&mut self, env: &Env, channel: &Uri, action: &Action, out: &mut Effects) {
        match action {
            Action::Chat(action) => {
                self.sync_chat(channel, out);
                self.sync_waiting_of(channel, out);
                self.react_chat(env, channel, action, out);
                self.settle_calls(channel, out);
            }
            Action::Session(action) => {
                self.sync_session(channel, out);
                self.react_session(env, channel, action, out);
            }
            Action::Annotations(_) => self.count_annotations(channel, out),
            Action::Root(_) => {
                self.answer_requests(out);
                self.tell_trusted(out);
            }
            Action::Terminal(action) => self.react_terminal(channel, action, out),
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
                self.tell_whose_tokens(session, out);
                self.offer_client_tools(session, out);
                self.tell_brought(session, out);
            }
            SessionAction::ActiveClientRemoved(removed) => {
                self.tell_whose_tokens(session, out);
                self.fail_calls_of(env, &removed.client_id, session, out);
                self.offer_client_tools(session, out);
                self.tell_brought(session, out);
            }
            SessionAction::CustomizationToggled(toggled) => {
                self.spread_decisions(session, toggled, out);
            }
            SessionAction::McpServerStartRequested(request) => {
                self.server_wanted(session, &request.id, out);
            }
            SessionAction::McpServerStopRequested(request) => {
                self.server_unwanted(session, &request.id, out);
            }
            // What waits for it does not wait any more (MCP-4).
            SessionAction::McpServerBackgroundRequested(_) => self.prompt_unblocked(session, out),
            SessionAction::IsArchivedChanged(change) => {
                self.archive_default(session, change.is_archived, out);
            }
            SessionAction::ConfigChanged(_) if self.opened.contains(session) => {
                let state = self.session(session);
                if let Some(values) = state.and_then(|state| self.agent_values(state)) {
                    self.command(session, AgentCommand::Configure { values }, out);
                }
            }
            SessionAction::WorkingDirectorySet(_)
            | SessionAction::WorkingDirectoryRemoved(_)
            | SessionAction::WorkingDirectoryReplaced(_) => {
                self.directories_changed(session, action, out);
            }
            _ => {}
        }
    }

    /// Brings what the session waits for up to date with a chat.
    pub(crate) fn sync_waiting_of(&mut self, chat: &Uri, out: &mut Effects) {
        if let Some(session) = self.owner(chat).cloned() {
            self.sync_waiting(&session, chat, out);
        }
    }

    fn react_chat(&mut self, env: &Env, chat: &Uri, action: &ChatAction, out: &mut Effects) {
        match action {
            ChatAction::TurnStarted(start) => {
                self.mark_unread(chat, out);
                self.give_title(chat, &start.message.text, out);
                self.confirm_session(chat, out);
                if !self.is_early(chat) {
                    self.begin_turn_work(env, chat, start, out);
                }
            }
            ChatAction::TurnCancelled(cancelled) => {
                self.clear_activity(chat, out);
                self.sync_chat(chat, out);
                // What the agent has not heard of, it does not have to stop.
                let unheard = self.readings.remove(chat).is_some() || self.is_early(chat);
                if !unheard && !self.is_command(chat, &cancelled.turn_id) {
                    let cancel = AgentCommand::Cancel {
                        chat: chat.clone(),
                        turn: cancelled.turn_id.clone(),
                    };
                    self.command(chat, cancel, out);
                }
                self.end_workers(env, chat, out);
                self.turn_over(chat, &cancelled.turn_id, out);
                self.mark_turn(chat, &cancelled.turn_id, Mark::After, out);
            }
            ChatAction::TurnResume(resume) => {
                let resume = AgentCommand::Resume {
                    chat: chat.clone(),
                    turn: resume.turn_id.clone(),
                };
                self.mark_unread(chat, out);
                self.command(chat, resume, out);
            }
            ChatAction::Truncated(cut) => {
                // What was running is gone, with what it was doing (TUR-15).
                self.clear_activity(chat, out);
                self.sync_chat(chat, out);
                self.cut_windows(chat);
                self.readings.remove(chat);
                // It would remember what was cut.
                if let Some(session) = self.owner(chat).cloned() {
                    self.note(&session, chat, None, out);
                }
                let last = cut.turn_id.as_ref();
                let rewind = AgentCommand::Rewind {
                    chat: chat.clone(),
                    last: last.and_then(|_| self.last_known_to_agent(chat)),
                };
                self.command(chat, rewind, out);
                self.end_workers(env, chat, out);
            }
            ChatAction::ToolCallConfirmed(confirmed)
                if !confirmed.approved && self.is_running_call(chat, &confirmed.target) =>
            {
                // Its client does not want to carry it out (CLT-13).
                let message = "The client declined to run it".to_owned();
                self.fail_call(env, chat, confirmed.target.clone(), message, out);
            }
            // The agent has asked something else by now, and hooks look at it.
            ChatAction::ToolCallConfirmed(confirmed)
                if confirmed.approved && self.waits_for_hooks(chat, &confirmed.target) => {}
            ChatAction::ToolCallConfirmed(confirmed) => {
                let picked = confirmed.selected_option_id.as_ref();
                if picked.is_some_and(permissions::is_own_option) {
                    self.allow_tool(chat, &confirmed.target, out);
                }
                let decision = if confirmed.approved {
                    let option = confirmed.selected_option_id.clone();
                    Decision::Approved {
                        option: option.filter(|id| !permissions::is_own_option(id)),
                        edited_input: confirmed.edited_tool_input.clone(),
                    }
                } else {
                    Decision::Denied {
                        option: confirmed.selected_option_id.clone(),
                        reason: confirmed.reason.unwrap_or(CancellationReason::Denied),
                        suggestion: confirmed.user_suggestion.clone(),
                    }
                };
                self.decide(chat, &confirmed.target, decision, out);
                // What it showed before it was asked about again (TOO-8).
                self.show_workers(chat, &confirmed.target, out);
            }
            // What waits for an approval is not for the agent to see (TOO-16).
            ChatAction::ToolCallComplete(complete) => {
                self.hand_over_result(chat, &complete.target, out);
                self.may_have_edited(chat, &complete.target);
            }
            ChatAction::ToolCallResultConfirmed(confirmed) if confirmed.approved => {
                self.decide(chat, &confirmed.target, Decision::ResultApproved, out);
                self.hand_over_result(chat, &confirmed.target, out);
            }
            ChatAction::ToolCallResultConfirmed(confirmed) => {
                self.decide(chat, &confirmed.target, Decision::ResultDenied, out);
            }
            ChatAction::InputCompleted(completed) => {
                let turn = self.chat(chat).and_then(|chat| chat.active_turn.as_ref());
                if let Some(turn) = turn {
                    let answer = AgentCommand::Answer {
                        chat: chat.clone(),
                        turn: turn.id.clone(),
                        request: completed.request_id.clone(),
                        response: completed.response,
                        answers: answers(turn, &completed.request_id),
                    };
                    self.command(chat, answer, out);
                }
            }
            ChatAction::PendingMessageSet(set) if set.kind == PendingMessageKind::Steering => {
                self.steer(chat, out);
            }
            ChatAction::IsArchivedChanged(change) => {
                self.archive_with(chat, change.is_archived, out);
            }
            // A message queued while nothing runs goes at once (PEN-4).
            ChatAction::PendingMessageSet(set) if set.kind == PendingMessageKind::Queued => {
                self.start_queued(env, chat, out);
            }
            _ => {}
        }
    }

    /// Has the message of a turn answered, by its agent or as a command.
    pub(crate) fn begin_turn_work(
        &mut self,
        env: &Env,
        chat: &Uri,
        start: &TurnStarted,
        out: &mut Effects,
    ) {
        self.mark_turn(chat, &start.turn_id, Mark::Before, out);
        if let Some(line) = command_of(&start.message) {
            self.run_command(env, chat, &start.turn_id, line, out);
            return;
        }
        self.prompt(env, chat, start, out);
    }

    /// Tells the agent what the user wants to say to the running turn. While
    /// none runs that the agent knows of, it waits (PEN-5, PEN-6).
    pub(crate) fn steer(&mut self, chat: &Uri, out: &mut Effects) {
        let Some(state) = self
            .chat(chat)
            .filter(|_| !self.is_reading(chat) && !self.is_early(chat))
        else {
            return;
        };
        if let (Some(turn), Some(waiting)) = (&state.active_turn, &state.steering_message)
            && !self.runs_command(chat)
        {
            let steer = AgentCommand::Steer {
                chat: chat.clone(),
                turn: turn.id.clone(),
                id: waiting.id.clone(),
                message: Arc::clone(&waiting.message),
            };
            self.command(chat, steer, out);
        }
    }

    pub(crate) fn decide(
        &mut self,
        chat: &Uri,
        target: &agenthost_protocol::chat::ToolCallTarget,
        decision: Decision,
        out: &mut Effects,
    ) {
        let command = AgentCommand::Decide {
            chat: chat.clone(),
            turn: target.turn_id.clone(),
            call: target.tool_call_id.clone(),
            decision,
        };
        self.command(chat, command, out);
    }

    /// Asks something of the agent of a session or a chat, which is opened
    /// first if it is not: after a restart.
    pub(crate) fn command(&mut self, channel: &Uri, command: AgentCommand, out: &mut Effects) {
        let Some(session) = self.owner(channel).cloned() else {
            return;
        };
        self.open_agent(&session, out);
        self.tell_agent(session, command, out);
    }

    /// Opens the agent of a session, and tells it of the tools of clients.
    /// Does nothing if it is open.
    pub(crate) fn open_agent(&mut self, session: &Uri, out: &mut Effects) {
        if self.session(session).is_none() || !self.opened.insert(session.clone()) {
            return;
        }
        self.tell_whose_tokens(session, out);
        let Some(state) = self.session(session) else {
            return;
        };
        let directories = state.metadata.working_directories.clone();
        let open = AgentCommand::Open {
            directories: directories.unwrap_or_default(),
            config: self.agent_values(state),
            notes: self.agent_notes(session),
        };
        let tools = client_tools(state);
        self.tell_agent(session.clone(), open, out);
        if !tools.is_empty() {
            self.tell_agent(session.clone(), AgentCommand::ClientTools { tools }, out);
        }
        let known = self.customizing.get(session);
        let tools = known
            .map(|known| known.server_tools.clone())
            .unwrap_or_default();
        if !tools.is_empty() {
            self.tell_agent(session.clone(), AgentCommand::ServerTools { tools }, out);
        }
        self.follow(session, out);
    }

    fn tell_agent(&self, session: Uri, command: AgentCommand, out: &mut Effects) {
        let Some(state) = self.session(&session) else {
            return;
        };
        out.push(Effect::Agent {
            provider: state.metadata.provider.clone(),
            session,
            command: Box::new(command),
        });
    }

    /// Brings the session's entry of a chat up to date (CHT-19).
    pub(crate) fn sync_chat(&mut self, chat: &Uri, out: &mut Effects) {
        let Some(session) = self.owner(chat).cloned() else {
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
            ChatChange::None => return,
            ChatChange::Some(changes) => SessionAction::ChatUpdated(Box::new(ChatUpdated {
                chat: chat.clone(),
                changes: *changes,
            })),
            ChatChange::Whole => SessionAction::ChatAdded(ChatAdded {
                summary: Arc::new(after),
            }),
        };
        self.originate(&session, action, out);
        self.sync_session(&session, out);
    }
}

/// The answers to a request that was just resolved: those that were shared,
/// and over them those that came with the resolution (INP-5).
fn answers(turn: &ActiveTurn, id: &InputRequestId) -> Answers {
    let mut parts = turn.response_parts.items().rev();
    let found = parts.find_map(|part| match part {
        ResponsePart::InputRequest(part) if part.request.id == *id => Some(&part.request),
        _ => None,
    });
    found
        .and_then(|request| request.answers.clone())
        .unwrap_or_default()
}
