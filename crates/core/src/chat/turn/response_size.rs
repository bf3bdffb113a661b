//! Measures the response of each active turn, and ends a turn whose response exceeds a
//! limit.
//!
//! An agent that floods a turn is stopped with an error. Spilling its text instead would
//! fill the disk and would need a hard limit as well, and no real response comes near the
//! limit. The response up to the limit stays in the turn, as clients have received it.
//! Large tool results, which real agents do produce, are spilled before they get here
//! (`agents::spill`).

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

/// Response sizes of all active turns, by chat.
#[derive(Debug, Clone, Default)]
pub(crate) struct ResponseUsages(BTreeMap<Uri, ResponseUsage>);

/// Size of the response of one turn.
#[derive(Debug, Clone, Default)]
struct ResponseUsage {
    bytes: usize,
    /// Size of the content of each running call, which the next update replaces. It is
    /// included in `bytes`.
    call_content: BTreeMap<ToolCallId, usize>,
}

/// Effect of an action on the size of a response.
enum ResponseGrowth<'a> {
    /// The action does not change the size.
    None,
    /// The action adds bytes, but no part.
    Bytes(usize),
    /// The action adds a part.
    Part(usize),
    /// The action replaces the content of a tool call.
    CallContent(&'a ToolCallId, usize),
    /// The action starts a response.
    Started,
    /// The action resumes a response that already has parts.
    Resumed,
    /// The action ends the response.
    Ended,
}

impl ResponseUsages {
    /// Measures the response that the active turn of a chat has so far.
    pub(crate) fn measure(&mut self, chat: &Uri, state: &ChatState) {
        let turn = state.active_turn.as_ref();
        let bytes = turn.map_or(0, |turn| encoded_len(&turn.response_parts));
        let call_content = BTreeMap::new();
        let usage = ResponseUsage {
            bytes,
            call_content,
        };
        self.0.insert(chat.clone(), usage);
    }

    /// Records an action that was applied to a chat.
    pub(crate) fn record(&mut self, chat: &Uri, state: &ChatState, action: &ChatAction) {
        let growth = measure_growth(action);
        match growth {
            ResponseGrowth::None => {}
            ResponseGrowth::Started => {
                self.0.insert(chat.clone(), ResponseUsage::default());
            }
            ResponseGrowth::Resumed => self.measure(chat, state),
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

    /// Removes a chat whose turn has ended or whose channel was removed.
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
        // An action that does not grow the response is accepted, even over the limit.
        if bytes <= usage.bytes {
            return Ok(());
        }
        check_bytes("the response of a turn", bytes, MAX_RESPONSE_BYTES)
    }

    /// Ends a turn whose response has reached a limit, and cancels it at the agent. Later
    /// events of the agent for this turn are dropped.
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

/// Returns the number of bytes that an action adds to a response.
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
        // These do not change the response, or have a limit of their own.
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

/// Returns the size of text inside of a JSON string, where some characters take up to six
/// bytes.
fn text_bytes(text: &String) -> usize {
    encoded_len(text).saturating_sub("\"\"".len())
}
