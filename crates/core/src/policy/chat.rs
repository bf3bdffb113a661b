//! Checks client actions on chats.

use agenthost_protocol::chat::{
    CancellationReason, ChatAction, ChatInteractivity, ChatState, ChatWorkingDirectoryRemoved,
    ChatWorkingDirectorySet, ConfirmationOptionKind, ConfirmationReason, ErrorPart, Message,
    PendingMessageKind, PendingMessageRemoved, PendingMessageSet, ResponsePart, ToolCall,
    ToolCallConfirmed, ToolCallContributor, ToolCallHead, ToolCallPendingConfirmation,
    ToolCallTarget, ToolInput, Truncated, TurnCancelled, TurnStarted, TurnState,
};
use agenthost_protocol::ids::{ClientId, PendingMessageId, TurnId};
use agenthost_protocol::number::Millis;
use agenthost_protocol::root::AgentInfo;
use agenthost_protocol::session::{SessionLifecycle, SessionState};

use super::{
    check_from_user, check_message, check_multiple_directories, check_name, input, unknown,
};
use crate::chat::turn::elapsed;
use crate::host::error::Refusal;
use crate::host::step::Env;
use crate::policy::limits::{
    MAX_DRAFT_BYTES, check_bytes, check_message_meta, check_meta, check_pending_messages,
    message_bytes,
};
use crate::resource::content::ContentAddress;
use crate::resource::uris;

/// Maximum time that a client's clock may be ahead of the host's. Beyond it the host sets the
/// start of the turn to its own time.
const MAX_CLOCK_AHEAD_MS: i64 = 60_000;

/// Maximum time that the start of a turn may lie in the past. One day, because a message may
/// have waited for a connection.
const MAX_CLOCK_BEHIND_MS: i64 = 24 * 60 * 60 * 1_000;

/// Maximum number of queued messages per chat.
pub(crate) const MAX_QUEUED_MESSAGES: usize = 100;

/// The chat of an action, with its session and agent.
pub(super) struct ChatActionContext<'a> {
    pub(super) agent: Option<&'a AgentInfo>,
    pub(super) session: Option<&'a SessionState>,
    pub(super) chat: &'a ChatState,
    /// Turns of the chat that are not in memory.
    pub(super) evicted_turns: &'a [TurnId],
    /// `true` if the client may start a turn before the session is ready.
    pub(super) early_turns: bool,
}

pub(super) fn check_chat_action(
    env: &Env,
    context: &ChatActionContext<'_>,
    client: &ClientId,
    mut action: ChatAction,
) -> Result<ChatAction, Refusal> {
    let chat = context.chat;
    match &mut action {
        ChatAction::TurnStarted(start) => check_turn_start(env, context, start)?,
        ChatAction::TurnCancelled(cancel) => check_turn_cancel(env, chat, cancel)?,
        ChatAction::TurnResume(resume) => check_resumable(chat, &resume.turn_id)?,
        ChatAction::Truncated(cut) => check_truncation(chat, cut)?,
        ChatAction::ToolCallConfirmed(confirmed) => check_confirmation(chat, client, confirmed)?,
        ChatAction::ToolCallComplete(complete) => {
            let failed = !complete.result.success;
            check_executor(chat, client, &complete.target, failed)?;
        }
        ChatAction::ToolCallContentChanged(change) => {
            check_executor(chat, client, &change.target, false)?;
        }
        ChatAction::ToolCallResultConfirmed(confirmed) => {
            let call = find_call(chat, &confirmed.target)?;
            if !matches!(call, ToolCall::PendingResultConfirmation(_)) {
                return Err(call_not_waiting(&confirmed.target));
            }
        }
        ChatAction::PendingMessageSet(set) => check_pending_message(context, set)?,
        ChatAction::PendingMessageRemoved(removed) => check_pending_removal(chat, removed)?,
        ChatAction::DraftChanged(change) => {
            change.draft.as_deref().map_or(Ok(()), check_draft)?;
        }
        ChatAction::InputAnswerChanged(change) => input::check_answer(chat, change)?,
        ChatAction::InputCompleted(completed) => input::check_completion(chat, completed)?,
        ChatAction::WorkingDirectorySet(set) => check_added_directory(context, set)?,
        ChatAction::WorkingDirectoryRemoved(removed) => check_removed_directory(context, removed)?,
        ChatAction::QueuedMessagesReordered(_)
        | ChatAction::IsReadChanged(_)
        | ChatAction::IsArchivedChanged(_) => {}
        ChatAction::Delta(_)
        | ChatAction::ResponsePart(_)
        | ChatAction::Reasoning(_)
        | ChatAction::Usage(_)
        | ChatAction::TurnComplete(_)
        | ChatAction::Error(_)
        | ChatAction::ToolCallStart(_)
        | ChatAction::ToolCallDelta(_)
        | ChatAction::ToolCallReady(_)
        | ChatAction::ToolCallAuthRequired(_)
        | ChatAction::ToolCallAuthResolved(_)
        | ChatAction::ActivityChanged(_)
        | ChatAction::BackgroundWorkSet(_)
        | ChatAction::BackgroundWorkRemoved(_)
        | ChatAction::MovableChanged(_)
        | ChatAction::ChangesetsChanged(_)
        | ChatAction::CanvasesChanged(_)
        | ChatAction::InputRequested(_)
        | ChatAction::TurnsLoaded(_) => return Err(Refusal::HostOnly(action.info().name)),
    }
    Ok(action)
}

fn check_turn_start(
    env: &Env,
    context: &ChatActionContext<'_>,
    start: &mut TurnStarted,
) -> Result<(), Refusal> {
    let chat = context.chat;
    check_message(context.agent, context.session, &start.message)?;
    check_meta(start.meta.as_ref())?;
    if let Some(active) = &chat.active_turn {
        return Err(Refusal::TurnInProgress(active.id.clone()));
    }
    let lifecycle = context.session.map(|session| &session.lifecycle);
    let early = context.early_turns && lifecycle == Some(&SessionLifecycle::Creating);
    if lifecycle != Some(&SessionLifecycle::Ready) && !early {
        return Err(Refusal::NotReady);
    }
    check_writable(chat)?;
    let used = chat.turns.find(|turn| turn.id == start.turn_id).is_some()
        || context.evicted_turns.contains(&start.turn_id);
    check_name("turn", start.turn_id.as_str())?;
    if used {
        return Err(Refusal::TurnIdUsed(start.turn_id.clone()));
    }
    if let Some(id) = &start.queued_message_id {
        let queued = chat.queued_messages.iter().flat_map(|queue| queue.items());
        let mut waiting = queued.chain(&chat.steering_message);
        let Some(waiting) = waiting.find(|message| message.id == *id) else {
            return Err(unknown("pending message", id));
        };
        // The turn consumes the pending message, so both have to be equal.
        if waiting.message != start.message {
            let reason = format!("the message differs from pending message `{id}`");
            return Err(Refusal::Invalid(reason));
        }
    }
    let Millis(started) = start.started_at.to_millis()?;
    let ahead = started > env.now.0.saturating_add(MAX_CLOCK_AHEAD_MS);
    let behind = started < env.now.0.saturating_sub(MAX_CLOCK_BEHIND_MS);
    if ahead || behind {
        start.started_at = env.timestamp();
    }
    Ok(())
}

fn check_turn_cancel(
    env: &Env,
    chat: &ChatState,
    cancel: &mut TurnCancelled,
) -> Result<(), Refusal> {
    check_in_progress(chat, &cancel.turn_id)?;
    check_meta(cancel.meta.as_ref())?;
    // Durations are measured with the host's clock (TUR-5).
    cancel.duration = elapsed(env, chat);
    Ok(())
}

fn check_truncation(chat: &ChatState, cut: &Truncated) -> Result<(), Refusal> {
    check_writable(chat)?;
    if let Some(last) = &cut.turn_id
        && chat.turns.find(|turn| turn.id == *last).is_none()
    {
        return Err(unknown("turn", last));
    }
    Ok(())
}

fn check_pending_message(
    context: &ChatActionContext<'_>,
    set: &PendingMessageSet,
) -> Result<(), Refusal> {
    let chat = context.chat;
    check_writable(chat)?;
    check_message(context.agent, context.session, &set.message)?;
    check_name("pending message", set.id.as_str())?;
    check_queue_capacity(chat, &set.id, set.kind)?;
    check_pending_messages(chat, &set.id, &set.message)
}

fn check_pending_removal(chat: &ChatState, removed: &PendingMessageRemoved) -> Result<(), Refusal> {
    let waits = match removed.kind {
        PendingMessageKind::Steering => chat
            .steering_message
            .as_ref()
            .is_some_and(|message| message.id == removed.id),
        PendingMessageKind::Queued => chat
            .queued_messages
            .as_ref()
            .is_some_and(|queue| queue.find(|message| message.id == removed.id).is_some()),
    };
    if !waits {
        return Err(unknown("pending message", &removed.id));
    }
    Ok(())
}

fn check_draft(draft: &Message) -> Result<(), Refusal> {
    check_from_user(draft)?;
    check_message_meta(draft)?;
    check_bytes("a draft", message_bytes(draft), MAX_DRAFT_BYTES)
}

/// Checks that a chat gets a directory of its session, and spells it as the session does.
fn check_added_directory(
    context: &ChatActionContext<'_>,
    set: &mut ChatWorkingDirectorySet,
) -> Result<(), Refusal> {
    check_multiple_directories(context.agent)?;
    let session = context.session.iter();
    let mut known = session.flat_map(|s| s.metadata.working_directories.iter().flatten());
    let Some(known) = known.find(|known| uris::is_same_uri(known, &set.directory)) else {
        return Err(unknown("directory of the session", &set.directory));
    };
    set.directory.clone_from(known);
    Ok(())
}

fn check_removed_directory(
    context: &ChatActionContext<'_>,
    removed: &mut ChatWorkingDirectoryRemoved,
) -> Result<(), Refusal> {
    check_multiple_directories(context.agent)?;
    let mut own = context.chat.summary.working_directories.iter().flatten();
    if let Some(known) = own.find(|known| uris::is_same_uri(known, &removed.directory)) {
        removed.directory.clone_from(known);
    }
    Ok(())
}

/// Refuses a new queued message if the queue is full (SEC-5).
fn check_queue_capacity(
    chat: &ChatState,
    id: &PendingMessageId,
    kind: PendingMessageKind,
) -> Result<(), Refusal> {
    let Some(queue) = &chat.queued_messages else {
        return Ok(());
    };
    let new = queue.find(|message| message.id == *id).is_none();
    if kind == PendingMessageKind::Queued && new && queue.len() >= MAX_QUEUED_MESSAGES {
        let reason = format!("the queue of the chat is full ({MAX_QUEUED_MESSAGES} messages)");
        return Err(Refusal::Invalid(reason));
    }
    Ok(())
}

fn check_writable(chat: &ChatState) -> Result<(), Refusal> {
    match chat.summary.interactivity {
        None | Some(ChatInteractivity::Full) => Ok(()),
        Some(ChatInteractivity::ReadOnly | ChatInteractivity::Hidden) => Err(Refusal::ReadOnly),
    }
}

fn check_in_progress(chat: &ChatState, turn: &TurnId) -> Result<(), Refusal> {
    match &chat.active_turn {
        Some(active) if active.id == *turn => Ok(()),
        _ => Err(Refusal::NotInProgress(turn.clone())),
    }
}

fn check_resumable(chat: &ChatState, turn: &TurnId) -> Result<(), Refusal> {
    if let Some(active) = &chat.active_turn {
        return Err(Refusal::TurnInProgress(active.id.clone()));
    }
    let resumable = chat.turns.last_item().is_some_and(|latest| {
        let error = latest.response_parts.last_item();
        let resumable = matches!(
            error,
            Some(ResponsePart::Error(ErrorPart {
                resumable: Some(true),
                ..
            }))
        );
        latest.id == *turn && latest.state == TurnState::Error && resumable
    });
    if resumable {
        Ok(())
    } else {
        Err(Refusal::NotResumable(turn.clone()))
    }
}

/// Finds the tool call of an action in the active turn.
fn find_call<'a>(chat: &'a ChatState, target: &ToolCallTarget) -> Result<&'a ToolCall, Refusal> {
    check_in_progress(chat, &target.turn_id)?;
    check_meta(target.meta.as_ref())?;
    let turn = chat.active_turn.as_ref();
    let call = turn.and_then(|turn| turn.response_parts.call(target.tool_call_id.as_str()));
    call.ok_or_else(|| unknown("tool call", &target.tool_call_id))
}

fn call_not_waiting(target: &ToolCallTarget) -> Refusal {
    Refusal::CallNotWaiting(target.tool_call_id.clone())
}

/// Sets the fields that a client may omit (CRT-8), and checks that the selected option exists
/// and matches the decision.
fn check_confirmation(
    chat: &ChatState,
    client: &ClientId,
    confirmed: &mut ToolCallConfirmed,
) -> Result<(), Refusal> {
    let call = match find_call(chat, &confirmed.target)? {
        ToolCall::PendingConfirmation(call) => call,
        // A client that can't execute a call refuses it, possibly after the call has started
        // (CLT-13).
        ToolCall::Running(call) if !confirmed.approved && is_executor(&call.head, client) => {
            return Ok(());
        }
        ToolCall::Streaming(_)
        | ToolCall::Running(_)
        | ToolCall::AuthRequired(_)
        | ToolCall::PendingResultConfirmation(_)
        | ToolCall::Completed(_)
        | ToolCall::Cancelled(_)
        | ToolCall::Unknown(_) => return Err(call_not_waiting(&confirmed.target)),
    };
    if confirmed.edited_tool_input.is_some() {
        check_editable(call)?;
    }
    if let Some(suggestion) = &confirmed.user_suggestion {
        check_from_user(suggestion)?;
        check_message_meta(suggestion)?;
    }
    if let Some(id) = &confirmed.selected_option_id {
        let mut options = call.question.options.iter().flatten();
        let option = options.find(|option| option.id == *id);
        let fits = match option.map(|option| &option.kind) {
            Some(ConfirmationOptionKind::Approve) => confirmed.approved,
            Some(ConfirmationOptionKind::Deny) => !confirmed.approved,
            Some(ConfirmationOptionKind::Unknown(_)) => true,
            None => return Err(unknown("option", id)),
        };
        if !fits {
            let reason = "the option and the decision contradict each other";
            return Err(Refusal::Invalid(reason.to_owned()));
        }
    }
    if confirmed.approved {
        // A client must not claim that no confirmation was needed (SEC-6).
        confirmed.confirmed = Some(ConfirmationReason::UserAction);
        confirmed.reason = None;
    } else {
        confirmed.confirmed = None;
        confirmed.reason = Some(confirmed.reason.unwrap_or(CancellationReason::Denied));
    }
    Ok(())
}

/// Checks that the arguments of a call are editable, and that the host can store the edited
/// version (TOO-10).
fn check_editable(call: &ToolCallPendingConfirmation) -> Result<(), Refusal> {
    if call.question.editable != Some(true) {
        return Err(Refusal::Invalid("the arguments can't be edited".to_owned()));
    }
    match &call.parameters.tool_input {
        Some(ToolInput::Referenced(input))
            if !matches!(ContentAddress::parse(&input.uri), Some(Ok(_))) =>
        {
            let reason = "the arguments are not stored by the host and can't be edited";
            Err(Refusal::Invalid(reason.to_owned()))
        }
        Some(ToolInput::Referenced(_) | ToolInput::Inline(_)) | None => Ok(()),
    }
}

/// Checks that the client executes the call itself. As an exception, any client may fail a call
/// that waits for a token (TOO-21).
fn check_executor(
    chat: &ChatState,
    client: &ClientId,
    target: &ToolCallTarget,
    failed: bool,
) -> Result<(), Refusal> {
    match find_call(chat, target)? {
        ToolCall::AuthRequired(_) if failed => Ok(()),
        ToolCall::Running(call) if is_executor(&call.head, client) => Ok(()),
        ToolCall::Running(_) => Err(Refusal::NotOwner(target.tool_call_id.clone())),
        ToolCall::Streaming(_)
        | ToolCall::PendingConfirmation(_)
        | ToolCall::AuthRequired(_)
        | ToolCall::PendingResultConfirmation(_)
        | ToolCall::Completed(_)
        | ToolCall::Cancelled(_)
        | ToolCall::Unknown(_) => Err(call_not_waiting(target)),
    }
}

/// Returns `true` if the client executes the tool call.
fn is_executor(head: &ToolCallHead, client: &ClientId) -> bool {
    match &head.contributor {
        Some(ToolCallContributor::Client(owner)) => owner.client_id == *client,
        Some(ToolCallContributor::Mcp(_) | ToolCallContributor::Unknown(_)) | None => false,
    }
}
