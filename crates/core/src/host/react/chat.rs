//! Reactions to chat actions: turns, tool calls and pending messages.

use agenthost_protocol::chat::{
    ActiveTurn, Answers, CancellationReason, ChatAction, InputCompleted, PendingMessageKind,
    ResponsePart, ToolCallConfirmed, ToolCallResultConfirmed, Truncated, TurnCancelled, TurnResume,
    TurnStarted,
};
use agenthost_protocol::ids::InputRequestId;
use agenthost_protocol::uri::Uri;

use crate::agent::{AgentCommand, ToolCallDecision};
use crate::changeset::driver::CheckpointId;
use crate::host::Host;
use crate::host::effect::Effects;
use crate::host::step::Env;
use crate::tools::permissions;

impl Host {
    pub(crate) fn react_chat(
        &mut self,
        env: &Env,
        chat: &Uri,
        action: &ChatAction,
        out: &mut Effects,
    ) {
        match action {
            ChatAction::TurnStarted(start) => self.react_turn_started(env, chat, start, out),
            ChatAction::TurnCancelled(cancelled) => {
                self.react_turn_cancelled(env, chat, cancelled, out);
            }
            ChatAction::TurnResume(resume) => self.react_turn_resumed(chat, resume, out),
            ChatAction::Truncated(cut) => self.react_truncated(env, chat, cut, out),
            ChatAction::ToolCallConfirmed(confirmed) => {
                self.react_call_confirmed(env, chat, confirmed, out);
            }
            // A result that waits for approval is not sent to the agent (TOO-16).
            ChatAction::ToolCallComplete(complete) => {
                self.forward_tool_result(chat, &complete.target, out);
                self.mark_possible_edit(chat, &complete.target);
            }
            ChatAction::ToolCallResultConfirmed(confirmed) => {
                self.react_result_confirmed(chat, confirmed, out);
            }
            ChatAction::InputCompleted(completed) => self.forward_answers(chat, completed, out),
            ChatAction::PendingMessageSet(set) => match set.kind {
                PendingMessageKind::Steering => self.forward_steering(chat, out),
                // A message queued while no turn is active starts at once (PEN-4).
                PendingMessageKind::Queued => {
                    self.turns.queued_steering.forget(chat, &set.id);
                    self.start_queued(env, chat, out);
                }
            },
            ChatAction::PendingMessageRemoved(removed) => {
                self.turns.queued_steering.forget(chat, &removed.id);
            }
            ChatAction::IsArchivedChanged(change) => {
                self.archive_session_of(chat, change.is_archived, out);
            }
            ChatAction::Delta(_)
            | ChatAction::ResponsePart(_)
            | ChatAction::Reasoning(_)
            | ChatAction::Usage(_)
            | ChatAction::TurnComplete(_)
            | ChatAction::Error(_)
            | ChatAction::ToolCallStart(_)
            | ChatAction::ToolCallDelta(_)
            | ChatAction::ToolCallReady(_)
            | ChatAction::ToolCallContentChanged(_)
            | ChatAction::ToolCallAuthRequired(_)
            | ChatAction::ToolCallAuthResolved(_)
            | ChatAction::ActivityChanged(_)
            | ChatAction::BackgroundWorkSet(_)
            | ChatAction::BackgroundWorkRemoved(_)
            | ChatAction::MovableChanged(_)
            | ChatAction::ChangesetsChanged(_)
            | ChatAction::CanvasesChanged(_)
            | ChatAction::WorkingDirectorySet(_)
            | ChatAction::WorkingDirectoryRemoved(_)
            | ChatAction::QueuedMessagesReordered(_)
            | ChatAction::DraftChanged(_)
            | ChatAction::IsReadChanged(_)
            | ChatAction::InputRequested(_)
            | ChatAction::InputAnswerChanged(_)
            | ChatAction::TurnsLoaded(_) => {}
        }
    }

    fn react_turn_started(
        &mut self,
        env: &Env,
        chat: &Uri,
        start: &TurnStarted,
        out: &mut Effects,
    ) {
        self.mark_unread(chat, out);
        self.derive_title(chat, &start.message.text, out);
        self.confirm_provisional(chat, out);
        if !self.waits_for_session(chat) {
            self.begin_turn_work(env, chat, start, out);
        }
    }

    fn react_turn_cancelled(
        &mut self,
        env: &Env,
        chat: &Uri,
        cancelled: &TurnCancelled,
        out: &mut Effects,
    ) {
        self.clear_activity(chat, out);
        self.sync_chat(chat, out);
        self.drop_steering(chat, out);
        // An agent that has not received the prompt has no turn to cancel.
        let prompt_was_unsent = self.turns.remove_prompt(chat) || self.waits_for_session(chat);
        if !prompt_was_unsent && !self.is_command_turn(chat, &cancelled.turn_id) {
            let cancel = AgentCommand::Cancel {
                chat: chat.clone(),
                turn: cancelled.turn_id.clone(),
            };
            self.send_agent_command(chat, cancel, out);
        }
        self.end_workers(env, chat, out);
        self.notify_turn_ended(chat, &cancelled.turn_id, out);
        self.checkpoint_turn(chat, &cancelled.turn_id, CheckpointId::AfterTurn, out);
    }

    fn react_turn_resumed(&mut self, chat: &Uri, resume: &TurnResume, out: &mut Effects) {
        let resume = AgentCommand::Resume {
            chat: chat.clone(),
            turn: resume.turn_id.clone(),
        };
        self.mark_unread(chat, out);
        self.send_agent_command(chat, resume, out);
    }

    fn react_truncated(&mut self, env: &Env, chat: &Uri, cut: &Truncated, out: &mut Effects) {
        // The active turn was removed, and its activity with it (TUR-15).
        self.clear_activity(chat, out);
        self.sync_chat(chat, out);
        self.drop_queued_steering(chat, out);
        self.clamp_windows(chat);
        self.turns.remove_prompt(chat);
        // The agent session still has the removed turns in its history, so it must not be
        // resumed.
        if let Some(session) = self.session_of(chat).cloned() {
            self.set_agent_note(&session, chat, None, out);
        }
        let last = cut.turn_id.as_ref();
        let rewind = AgentCommand::Rewind {
            chat: chat.clone(),
            last_turn: last.and_then(|_| self.last_turn_of_agent(chat)),
        };
        self.send_agent_command(chat, rewind, out);
        self.end_workers(env, chat, out);
    }

    fn react_call_confirmed(
        &mut self,
        env: &Env,
        chat: &Uri,
        confirmed: &ToolCallConfirmed,
        out: &mut Effects,
    ) {
        if !confirmed.approved && self.is_running_call(chat, &confirmed.target) {
            // The client refuses to execute a running call (CLT-13).
            let message = "The client declined to run it".to_owned();
            self.fail_call(env, chat, confirmed.target.clone(), message, out);
            return;
        }
        // Hooks still check the call, because the agent has requested another approval since.
        if confirmed.approved && self.waits_for_hooks(chat, &confirmed.target) {
            return;
        }
        let picked = confirmed.selected_option_id.as_ref();
        if picked.is_some_and(permissions::is_host_option) {
            self.allow_tool_in_session(chat, &confirmed.target, out);
        }
        self.send_decision(chat, &confirmed.target, decision_of(confirmed), out);
        // Content from before the second approval request is published again (TOO-8).
        self.publish_worker_links(chat, &confirmed.target, out);
    }

    fn react_result_confirmed(
        &mut self,
        chat: &Uri,
        confirmed: &ToolCallResultConfirmed,
        out: &mut Effects,
    ) {
        let target = &confirmed.target;
        if confirmed.approved {
            self.send_decision(chat, target, ToolCallDecision::ResultApproved, out);
            self.forward_tool_result(chat, target, out);
        } else {
            self.send_decision(chat, target, ToolCallDecision::ResultDenied, out);
        }
    }

    /// Sends the answers of a resolved input request to the agent.
    fn forward_answers(&mut self, chat: &Uri, completed: &InputCompleted, out: &mut Effects) {
        let turn = self.chat(chat).and_then(|chat| chat.active_turn.as_ref());
        if let Some(turn) = turn {
            let answer = AgentCommand::AnswerInput {
                chat: chat.clone(),
                turn: turn.id.clone(),
                request: completed.request_id.clone(),
                response: completed.response,
                answers: resolved_answers(turn, &completed.request_id),
            };
            self.send_agent_command(chat, answer, out);
        }
    }
}

/// Converts a confirmation to the decision for the agent. An approval does not carry an option
/// that the host itself has added.
fn decision_of(confirmed: &ToolCallConfirmed) -> ToolCallDecision {
    let option = confirmed.selected_option_id.clone();
    if confirmed.approved {
        ToolCallDecision::Approved {
            option: option.filter(|id| !permissions::is_host_option(id)),
            edited_input: confirmed.edited_tool_input.clone(),
        }
    } else {
        ToolCallDecision::Denied {
            option,
            reason: confirmed.reason.unwrap_or(CancellationReason::Denied),
            suggestion: confirmed.user_suggestion.clone(),
        }
    }
}

/// Returns the answers of a request that was just resolved: the shared drafts, overridden by
/// the answers of the resolution (INP-5).
fn resolved_answers(turn: &ActiveTurn, id: &InputRequestId) -> Answers {
    let mut parts = turn.response_parts.items().rev();
    let found = parts.find_map(|part| {
        if let ResponsePart::InputRequest(part) = part
            && part.request.id == *id
        {
            Some(&part.request)
        } else {
            None
        }
    });
    found
        .and_then(|request| request.answers.clone())
        .unwrap_or_default()
}
