//! Tool calls that request confirmation again, and those that wait for a token.

use agenthost_protocol::action::Action;
use agenthost_protocol::chat::{
    ChatAction, ChatState, ConfirmationReason, ToolCall, ToolCallComplete, ToolCallConfirmed,
    ToolCallContributor, ToolCallPendingConfirmation, ToolCallQuestion, ToolCallReady,
    ToolCallTarget,
};
use agenthost_protocol::wire::Object;

use crate::edit::{remove_fields, replace_text};

/// Downgrades a tool call part.
pub(super) fn downgrade_call(call: &mut Object) {
    replace_text(call, "status", "auth-required", "running");
    remove_fields(call, &["riskAssessment", "auth"]);
}

/// Rewrites `toolCallReady` for a call that is already pending confirmation. Clients up to
/// 0.5.2 ignore it in that status, so the call first becomes running and then pending again.
pub(super) fn rewrite_ready(before: &ChatState, ready: Box<ToolCallReady>) -> Vec<Action> {
    let Some(ToolCall::PendingConfirmation(asked)) = find_call(before, &ready.target) else {
        return vec![Action::Chat(ChatAction::ToolCallReady(ready))];
    };
    let changes = changes_question(&ready, asked);
    let confirmed = match &ready.confirmed {
        Some(confirmed) => confirmed.clone(),
        None if !changes => return Vec::new(),
        // A client that executes the call would start it when it is confirmed.
        None if asked.head.contributor.as_ref().is_some_and(is_client) => return Vec::new(),
        None => ConfirmationReason::NotNeeded,
    };
    let mut actions = vec![confirm_call(&ready.target, confirmed)];
    if changes {
        let input = asked.parameters.tool_input.clone();
        let again = ToolCallReady {
            tool_input: ready.tool_input.clone().or(input),
            question: merge_question(&ready, asked),
            ..*ready
        };
        actions.push(Action::Chat(ChatAction::ToolCallReady(Box::new(again))));
    }
    actions
}

/// Rewrites the completion of a call that waits for a token: it can only fail, needs no result
/// confirmation, and retains its content. For clients up to 0.5.2 the call is running.
pub(super) fn rewrite_complete(before: &ChatState, mut done: Box<ToolCallComplete>) -> Vec<Action> {
    if let Some(ToolCall::AuthRequired(waiting)) = find_call(before, &done.target) {
        if done.result.success {
            return Vec::new();
        }
        done.requires_result_confirmation = None;
        if done.result.content.is_none() {
            done.result.content.clone_from(&waiting.content);
        }
    }
    vec![Action::Chat(ChatAction::ToolCallComplete(done))]
}

fn find_call<'a>(chat: &'a ChatState, target: &ToolCallTarget) -> Option<&'a ToolCall> {
    let turn = chat.active_turn.as_ref()?;
    if turn.id != target.turn_id {
        return None;
    }
    turn.response_parts.call(target.tool_call_id.as_str())
}

fn is_client(contributor: &ToolCallContributor) -> bool {
    matches!(contributor, ToolCallContributor::Client(_))
}

fn confirm_call(target: &ToolCallTarget, confirmed: ConfirmationReason) -> Action {
    Action::Chat(ChatAction::ToolCallConfirmed(Box::new(ToolCallConfirmed {
        target: target.clone(),
        approved: true,
        confirmed: Some(confirmed),
        reason: None,
        edited_tool_input: None,
        user_suggestion: None,
        reason_message: None,
        selected_option_id: None,
    })))
}

/// Returns `true` if a field changes that clients up to 0.5.2 show.
fn changes_question(ready: &ToolCallReady, asked: &ToolCallPendingConfirmation) -> bool {
    let question = ToolCallQuestion {
        risk_assessment: asked.question.risk_assessment.clone(),
        ..merge_question(ready, asked)
    };
    let input = &ready.tool_input;
    question != asked.question
        || ready.invocation_message != asked.parameters.invocation_message
        || (input.is_some() && *input != asked.parameters.tool_input)
}

/// Returns the dialog data of the action, with absent fields from the pending call.
fn merge_question(ready: &ToolCallReady, asked: &ToolCallPendingConfirmation) -> ToolCallQuestion {
    let (new, old) = (&ready.question, &asked.question);
    ToolCallQuestion {
        confirmation_title: new
            .confirmation_title
            .clone()
            .or(old.confirmation_title.clone()),
        risk_assessment: new.risk_assessment.clone().or(old.risk_assessment.clone()),
        edits: new.edits.clone().or(old.edits.clone()),
        editable: new.editable.or(old.editable),
        options: new.options.clone().or(old.options.clone()),
    }
}
