//! Measures the response of each running turn, and ends a turn whose response
//! grows past its limits.
//!
//! An agent that floods a turn is stopped with an error instead of having more
//! and more of its text stored elsewhere: text that is spilled still fills the
//! disk, so that needs a hard limit as well, and no real response comes near
//! it. What was said before the limit stays in the turn as clients have seen
//! it. Large tool results, which real agents do produce, are spilled before
//! they get here (`agents::large`).

use std::collections::BTreeMap;

use agenthost_protocol::chat::{ChatAction, ChatState, ErrorPart};
use agenthost_protocol::common::ErrorInfo;
use agenthost_protocol::ids::{ToolCallId, TurnId};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::encoded_len;

use crate::agent::AgentCommand;
use crate::host::Host;
use crate::host::effect::Effects;
use crate::host::error::Refusal;
use crate::host::step::Env;
use crate::policy::limits::{
    MAX_RESPONSE_BYTES, MAX_RESPONSE_PARTS, check_bytes, message_bytes, meta_bytes,
};

/// The sizes of the responses of all running turns, by chat.
#[derive(Debug, Clone, Default)]
pub(crate) struct ResponseUsages(BTreeMap<Uri, ResponseUsage>);

/// The size of the response of one turn.
#[derive(Debug, Clone, Default)]
struct ResponseUsage {
    bytes: usize,
    /// What each running call shows, which the next update replaces. Included
    /// in `bytes`.
    call_content: BTreeMap<ToolCallId, usize>,
}

/// How an action changes the size of a response.
enum ResponseGrowth<'a> {
    /// It has nothing to do with the size.
    None,
    /// It adds bytes, but no part.
    Bytes(usize),
    /// It adds a part.
    Part(usize),
    /// It replaces what a call shows.
    CallContent(&'a ToolCallId, usize),
    /// It begins a response.
    Started,
    /// It takes up a response that has some parts already.
    Resumed,
    /// The response is complete.
    Ended,
}

impl ResponseUsages {
    /// Records an action that was applied to a chat.
    pub(crate) fn record(&mut self, chat: &Uri, state: &ChatState, action: &ChatAction) {
        let growth = measure_growth(action);
        match growth {
            ResponseGrowth::None => {}
            ResponseGrowth::Started => {
                self.0.insert(chat.clone(), ResponseUsage::default());
            }
            ResponseGrowth::Resumed => {
                let turn = state.active_turn.as_ref();
                let bytes = turn.map_or(0, |turn| encoded_len(&turn.response_parts));
                let call_content = BTreeMap::new();
                let usage = ResponseUsage {
                    bytes,
                    call_content,
                };
                self.0.insert(chat.clone(), usage);
            }
            ResponseGrowth::Ended => self.remove(chat),
            ResponseGrowth::Bytes(_)
            | ResponseGrowth::Part(_)
            | ResponseGrowth::CallContent(..) => {
                if let Some(usage) = self.0.get_mut(chat) {
                    usage.bytes = usage.bytes_after(&growth);
                    if let ResponseGrowth::CallContent(call, bytes) = growth {
                        usage.call_content.insert(call.clone(), bytes);
                    }
                }
            }
        }
    }

    /// Forgets a chat that is gone.
    pub(crate) fn remove(&mut self, chat: &Uri) {
        self.0.remove(chat);
    }
}

impl ResponseUsage {
    fn bytes_after(&self, growth: &ResponseGrowth<'_>) -> usize {
        match growth {
            ResponseGrowth::Bytes(bytes) | ResponseGrowth::Part(bytes) => {
                self.bytes.saturating_add(*bytes)
            }
            ResponseGrowth::CallContent(call, bytes) => {
                let replaced = self.call_content.get(*call).copied().unwrap_or_default();
                self.bytes.saturating_sub(replaced).saturating_add(*bytes)
            }
            ResponseGrowth::None
            | ResponseGrowth::Started
            | ResponseGrowth::Resumed
            | ResponseGrowth::Ended => self.bytes,
        }
    }
}

impl Host {
    /// Refuses an action that would make the response of a turn too large.
    pub(crate) fn check_response_size(
        &self,
        chat: &Uri,
        action: &ChatAction,
    ) -> Result<(), Refusal> {
        let growth = measure_growth(action);
        let turn = self.chat(chat).and_then(|chat| chat.active_turn.as_ref());
        let (Some(turn), Some(usage)) = (turn, self.turns.response_sizes.0.get(chat)) else {
            return Ok(());
        };
        if matches!(growth, ResponseGrowth::Part(_))
            && turn.response_parts.len() >= MAX_RESPONSE_PARTS
        {
            let reason =
                format!("the response of a turn may have at most {MAX_RESPONSE_PARTS} parts");
            return Err(Refusal::Invalid(reason));
        }
        let bytes = usage.bytes_after(&growth);
        // What makes a response smaller is always welcome.
        if bytes <= usage.bytes {
            return Ok(());
        }
        check_bytes("the response of a turn", bytes, MAX_RESPONSE_BYTES)
    }

    /// Ends a turn whose response has reached a limit, and tells its agent to
    /// stop. What the agent still says about the turn is late, and dropped.
    pub(crate) fn end_oversized_turn(
        &mut self,
        env: &Env,
        chat: &Uri,
        turn: TurnId,
        limit: &Refusal,
        out: &mut Effects,
    ) {
        let message = format!("{limit}: the host has stopped the agent");
        let error = ErrorInfo::new("responseTooLarge", message);
        let resumable = None;
        self.end_turn(env, chat, &turn, Some(ErrorPart { error, resumable }), out);
        let cancel = AgentCommand::Cancel {
            chat: chat.clone(),
            turn,
        };
        self.send_agent_command(chat, cancel, out);
    }
}

/// Returns how many bytes an action adds to a response.
pub(crate) fn response_bytes(action: &ChatAction) -> usize {
    match measure_growth(action) {
        ResponseGrowth::Bytes(bytes)
        | ResponseGrowth::Part(bytes)
        | ResponseGrowth::CallContent(_, bytes) => bytes,
        ResponseGrowth::None
        | ResponseGrowth::Started
        | ResponseGrowth::Resumed
        | ResponseGrowth::Ended => 0,
    }
}

fn measure_growth(action: &ChatAction) -> ResponseGrowth<'_> {
    match action {
        ChatAction::TurnStarted(_) => ResponseGrowth::Started,
        ChatAction::TurnResume(_) => ResponseGrowth::Resumed,
        ChatAction::TurnComplete(_)
        | ChatAction::TurnCancelled(_)
        | ChatAction::Error(_)
        | ChatAction::Truncated(_) => ResponseGrowth::Ended,
        ChatAction::Delta(delta) => {
            ResponseGrowth::Bytes(text_bytes(&delta.content) + meta_bytes(delta.meta.as_ref()))
        }
        ChatAction::Reasoning(delta) => {
            ResponseGrowth::Bytes(text_bytes(&delta.content) + meta_bytes(delta.meta.as_ref()))
        }
        ChatAction::ToolCallDelta(delta) => {
            let content = delta.content.as_ref().map_or(0, text_bytes);
            ResponseGrowth::Bytes(content + meta_bytes(delta.target.meta.as_ref()))
        }
        ChatAction::ToolCallReady(ready) => ResponseGrowth::Bytes(encoded_len(ready)),
        ChatAction::ToolCallConfirmed(confirmed) => {
            let edited = confirmed.edited_tool_input.as_ref().map_or(0, String::len);
            let suggestion = confirmed.user_suggestion.as_ref();
            let reason = confirmed.reason_message.as_ref();
            let said = suggestion.map_or(0, |message| message_bytes(message))
                + reason.map_or(0, |reason| reason.as_str().len());
            ResponseGrowth::Bytes(edited + said)
        }
        ChatAction::ToolCallAuthRequired(needed) => ResponseGrowth::Bytes(encoded_len(needed)),
        ChatAction::ResponsePart(added) => ResponseGrowth::Part(encoded_len(&added.part)),
        ChatAction::ToolCallStart(start) => ResponseGrowth::Part(encoded_len(start)),
        ChatAction::InputRequested(requested) => ResponseGrowth::Part(encoded_len(requested)),
        ChatAction::ToolCallContentChanged(changed) => {
            ResponseGrowth::CallContent(&changed.target.tool_call_id, encoded_len(&changed.content))
        }
        ChatAction::ToolCallComplete(complete) => ResponseGrowth::CallContent(
            &complete.target.tool_call_id,
            encoded_len(&complete.result),
        ),
        // What these change is not part of the response, or has a limit of its
        // own.
        ChatAction::Usage(_)
        | ChatAction::ToolCallResultConfirmed(_)
        | ChatAction::ToolCallAuthResolved(_)
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
        | ChatAction::InputAnswerChanged(_)
        | ChatAction::InputCompleted(_)
        | ChatAction::TurnsLoaded(_) => ResponseGrowth::None,
    }
}

/// Returns the size of text as part of a JSON string, where some characters take
/// up to six bytes.
fn text_bytes(text: &String) -> usize {
    encoded_len(text).saturating_sub("\"\"".len())
}
