//! All that can happen to a chat.

mod conversation;
mod organisation;
mod tool_calls;

use crate::action::actions;
use crate::ids::TurnId;

pub use conversation::*;
pub use organisation::*;
pub use tool_calls::*;

actions! {
    /// Something that happened to a chat.
    pub enum ChatAction on Chat {
        /// A turn began.
        TurnStarted(TurnStarted) = "chat/turnStarted", Client, V0_4;
        /// Text was added to the answer.
        Delta(Delta) = "chat/delta", Host, V0_4;
        /// A part was added to the response.
        ResponsePart(ResponsePartAdded) = "chat/responsePart", Host, V0_4;
        /// Text was added to the model's thoughts.
        Reasoning(Reasoning) = "chat/reasoning", Host, V0_4;
        /// The cost of the turn became known.
        Usage(Usage) = "chat/usage", Host, V0_4;
        /// The turn ended by itself.
        TurnComplete(TurnComplete) = "chat/turnComplete", Host, V0_4;
        /// Someone stopped the turn.
        TurnCancelled(TurnCancelled) = "chat/turnCancelled", Client, V0_4;
        /// The turn failed.
        Error(ChatError) = "chat/error", Host, V0_4;
        /// A turn that failed goes on.
        TurnResume(TurnResume) = "chat/turnResume", Client, V0_9;
        /// A tool call began.
        ToolCallStart(Box<ToolCallStart>) = "chat/toolCallStart", Host, V0_4;
        /// Arguments of a tool call were added.
        ToolCallDelta(ToolCallDelta) = "chat/toolCallDelta", Host, V0_4;
        /// The arguments of a tool call are complete: it runs, or asks first.
        ToolCallReady(Box<ToolCallReady>) = "chat/toolCallReady", Host, V0_4;
        /// Someone agreed to a tool call, or refused it.
        ToolCallConfirmed(Box<ToolCallConfirmed>) = "chat/toolCallConfirmed", Client, V0_4;
        /// A tool call is done.
        ToolCallComplete(Box<ToolCallComplete>) = "chat/toolCallComplete", Client, V0_4;
        /// Someone released the result of a tool call, or withheld it.
        ToolCallResultConfirmed(ToolCallResultConfirmed) = "chat/toolCallResultConfirmed", Client, V0_4;
        /// A running tool call produced something.
        ToolCallContentChanged(ToolCallContentChanged) = "chat/toolCallContentChanged", Client, V0_4;
        /// A running tool call needs a token.
        ToolCallAuthRequired(Box<ToolCallAuthNeeded>) = "chat/toolCallAuthRequired", Host, V0_6;
        /// The token is there.
        ToolCallAuthResolved(ToolCallAuthResolved) = "chat/toolCallAuthResolved", Host, V0_6;
        /// What the chat is doing changed.
        ActivityChanged(ChatActivityChanged) = "chat/activityChanged", Host, V0_5;
        /// Work in the background began, or changed.
        BackgroundWorkSet(BackgroundWorkSet) = "chat/backgroundWorkSet", Host, V1_0;
        /// Work in the background ended.
        BackgroundWorkRemoved(BackgroundWorkRemoved) = "chat/backgroundWorkRemoved", Host, V1_0;
        /// The chat can be moved now, or no longer.
        MovableChanged(MovableChanged) = "chat/movableChanged", Host, V1_0;
        /// The views of file changes changed.
        ChangesetsChanged(ChatChangesetsChanged) = "chat/changesetsChanged", Host, V1_0;
        /// The canvases changed.
        CanvasesChanged(CanvasesChanged) = "chat/canvasesChanged", Host, V1_0;
        /// The chat may use one more directory.
        WorkingDirectorySet(ChatWorkingDirectorySet) = "chat/workingDirectorySet", Client, V0_7;
        /// The chat may use one directory less.
        WorkingDirectoryRemoved(ChatWorkingDirectoryRemoved) = "chat/workingDirectoryRemoved", Client, V0_7;
        /// A message waits, or a waiting one changed.
        PendingMessageSet(PendingMessageSet) = "chat/pendingMessageSet", Client, V0_4;
        /// A message no longer waits.
        PendingMessageRemoved(PendingMessageRemoved) = "chat/pendingMessageRemoved", Client, V0_4;
        /// The queued messages were put in another order.
        QueuedMessagesReordered(QueuedMessagesReordered) = "chat/queuedMessagesReordered", Client, V0_4;
        /// What somebody is typing changed.
        DraftChanged(DraftChanged) = "chat/draftChanged", Client, V0_5;
        /// The chat was read, or has something new.
        IsReadChanged(ChatIsReadChanged) = "chat/isReadChanged", Client, V1_0;
        /// The chat was put away, or taken out again.
        IsArchivedChanged(ChatIsArchivedChanged) = "chat/isArchivedChanged", Client, V1_0;
        /// The agent asks the user something.
        InputRequested(Box<InputRequested>) = "chat/inputRequested", Host, V0_4;
        /// An answer was drafted or taken back.
        InputAnswerChanged(InputAnswerChanged) = "chat/inputAnswerChanged", Client, V0_4;
        /// The questions were answered or declined.
        InputCompleted(InputCompleted) = "chat/inputCompleted", Client, V0_4;
        /// Turns were cut off.
        Truncated(Truncated) = "chat/truncated", Client, V0_4;
        /// Older turns were loaded.
        TurnsLoaded(TurnsLoaded) = "chat/turnsLoaded", Host, V0_5_1;
    }
}

impl ChatAction {
    /// The turn that the action belongs to, if it belongs to one. What cuts turns off, or loads
    /// them, belongs to none.
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

    /// The tool call that the action is about, if it is about one.
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
