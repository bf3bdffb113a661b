//! Actions on a chat.

mod conversation;
mod organisation;
mod tool_calls;

use crate::action::actions;
use crate::ids::TurnId;

pub use conversation::*;
pub use organisation::*;
pub use tool_calls::*;

actions! {
    /// An action on a chat.
    pub enum ChatAction on Chat {
        /// Starts a turn with a message.
        TurnStarted(TurnStarted) = "chat/turnStarted", Client, V0_4;
        /// Appends text to a text part.
        Delta(Delta) = "chat/delta", Host, V0_4;
        /// Adds a part to the response.
        ResponsePart(ResponsePartAdded) = "chat/responsePart", Host, V0_4;
        /// Appends text to a reasoning part.
        Reasoning(Reasoning) = "chat/reasoning", Host, V0_4;
        /// Sets the token usage of the turn.
        Usage(Usage) = "chat/usage", Host, V0_4;
        /// Completes the active turn.
        TurnComplete(TurnComplete) = "chat/turnComplete", Host, V0_4;
        /// Cancels the active turn.
        TurnCancelled(TurnCancelled) = "chat/turnCancelled", Client, V0_4;
        /// Ends the active turn with an error.
        Error(ChatError) = "chat/error", Host, V0_4;
        /// Resumes a turn that ended with an error.
        TurnResume(TurnResume) = "chat/turnResume", Client, V0_9;
        /// Starts a tool call.
        ToolCallStart(Box<ToolCallStart>) = "chat/toolCallStart", Host, V0_4;
        /// Appends to the arguments of a streaming tool call.
        ToolCallDelta(ToolCallDelta) = "chat/toolCallDelta", Host, V0_4;
        /// Completes the arguments of a tool call, which then runs or waits for confirmation.
        ToolCallReady(Box<ToolCallReady>) = "chat/toolCallReady", Host, V0_4;
        /// Approves or denies a tool call.
        ToolCallConfirmed(Box<ToolCallConfirmed>) = "chat/toolCallConfirmed", Client, V0_4;
        /// Sets the result of a tool call.
        ToolCallComplete(Box<ToolCallComplete>) = "chat/toolCallComplete", Client, V0_4;
        /// Approves or denies the use of a tool call's result.
        ToolCallResultConfirmed(ToolCallResultConfirmed) = "chat/toolCallResultConfirmed", Client, V0_4;
        /// Replaces the content of a running tool call.
        ToolCallContentChanged(ToolCallContentChanged) = "chat/toolCallContentChanged", Client, V0_4;
        /// Pauses a running tool call until its MCP server has a token.
        ToolCallAuthRequired(Box<ToolCallAuthNeeded>) = "chat/toolCallAuthRequired", Host, V0_6;
        /// Continues a tool call after authentication.
        ToolCallAuthResolved(ToolCallAuthResolved) = "chat/toolCallAuthResolved", Host, V0_6;
        /// Sets or clears the activity text.
        ActivityChanged(ChatActivityChanged) = "chat/activityChanged", Host, V0_5;
        /// Adds or replaces an item of background work.
        BackgroundWorkSet(BackgroundWorkSet) = "chat/backgroundWorkSet", Host, V1_0;
        /// Removes an item of background work.
        BackgroundWorkRemoved(BackgroundWorkRemoved) = "chat/backgroundWorkRemoved", Host, V1_0;
        /// Sets the `movable` flag of the chat.
        MovableChanged(MovableChanged) = "chat/movableChanged", Host, V1_0;
        /// Replaces the changeset catalogue.
        ChangesetsChanged(ChatChangesetsChanged) = "chat/changesetsChanged", Host, V1_0;
        /// Replaces the list of canvases.
        CanvasesChanged(CanvasesChanged) = "chat/canvasesChanged", Host, V1_0;
        /// Adds a working directory to the chat's subset.
        WorkingDirectorySet(ChatWorkingDirectorySet) = "chat/workingDirectorySet", Client, V0_7;
        /// Removes a working directory from the chat's subset.
        WorkingDirectoryRemoved(ChatWorkingDirectoryRemoved) = "chat/workingDirectoryRemoved", Client, V0_7;
        /// Adds or replaces a pending message.
        PendingMessageSet(PendingMessageSet) = "chat/pendingMessageSet", Client, V0_4;
        /// Removes a pending message.
        PendingMessageRemoved(PendingMessageRemoved) = "chat/pendingMessageRemoved", Client, V0_4;
        /// Changes the order of the queued messages.
        QueuedMessagesReordered(QueuedMessagesReordered) = "chat/queuedMessagesReordered", Client, V0_4;
        /// Sets or clears the draft message.
        DraftChanged(DraftChanged) = "chat/draftChanged", Client, V0_5;
        /// Sets the read flag of the chat.
        IsReadChanged(ChatIsReadChanged) = "chat/isReadChanged", Client, V1_0;
        /// Sets the archived flag of the chat.
        IsArchivedChanged(ChatIsArchivedChanged) = "chat/isArchivedChanged", Client, V1_0;
        /// Adds or replaces an open input request.
        InputRequested(Box<InputRequested>) = "chat/inputRequested", Host, V0_4;
        /// Sets or clears a shared answer of an open input request.
        InputAnswerChanged(InputAnswerChanged) = "chat/inputAnswerChanged", Client, V0_4;
        /// Resolves an open input request.
        InputCompleted(InputCompleted) = "chat/inputCompleted", Client, V0_4;
        /// Removes the turns after a given one.
        Truncated(Truncated) = "chat/truncated", Client, V0_4;
        /// Adds earlier turns to the state.
        TurnsLoaded(TurnsLoaded) = "chat/turnsLoaded", Host, V0_5_1;
    }
}

impl ChatAction {
    /// Returns the id of the turn that the action belongs to. Truncating and loading turns
    /// belongs to no single turn.
    pub fn turn_id(&self) -> Option<&TurnId> {
        match self {
            ChatAction::TurnStarted(action) => Some(&action.turn_id),
            ChatAction::Delta(action) => Some(&action.turn_id),
            ChatAction::ResponsePart(action) => Some(&action.turn_id),
            ChatAction::Reasoning(action) => Some(&action.turn_id),
            ChatAction::Usage(action) => Some(&action.turn_id),
            ChatAction::TurnComplete(action) => Some(&action.turn_id),
            ChatAction::TurnCancelled(action) => Some(&action.turn_id),
            ChatAction::Error(action) => Some(&action.turn_id),
            ChatAction::TurnResume(action) => Some(&action.turn_id),
            ChatAction::ToolCallStart(_)
            | ChatAction::ToolCallDelta(_)
            | ChatAction::ToolCallReady(_)
            | ChatAction::ToolCallConfirmed(_)
            | ChatAction::ToolCallComplete(_)
            | ChatAction::ToolCallResultConfirmed(_)
            | ChatAction::ToolCallContentChanged(_)
            | ChatAction::ToolCallAuthRequired(_)
            | ChatAction::ToolCallAuthResolved(_) => self.tool_call().map(|call| &call.turn_id),
            ChatAction::ActivityChanged(_)
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

    /// Returns the tool call that the action applies to, if any.
    pub fn tool_call(&self) -> Option<&ToolCallTarget> {
        match self {
            ChatAction::ToolCallStart(action) => Some(&action.target),
            ChatAction::ToolCallDelta(action) => Some(&action.target),
            ChatAction::ToolCallReady(action) => Some(&action.target),
            ChatAction::ToolCallConfirmed(action) => Some(&action.target),
            ChatAction::ToolCallComplete(action) => Some(&action.target),
            ChatAction::ToolCallResultConfirmed(action) => Some(&action.target),
            ChatAction::ToolCallContentChanged(action) => Some(&action.target),
            ChatAction::ToolCallAuthRequired(action) => Some(&action.target),
            ChatAction::ToolCallAuthResolved(action) => Some(&action.target),
            ChatAction::TurnStarted(_)
            | ChatAction::Delta(_)
            | ChatAction::ResponsePart(_)
            | ChatAction::Reasoning(_)
            | ChatAction::Usage(_)
            | ChatAction::TurnComplete(_)
            | ChatAction::TurnCancelled(_)
            | ChatAction::Error(_)
            | ChatAction::TurnResume(_)
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
}
