//! Maps the messages of an agent about a chat to events for the host.
//!
//! The mapper is pure: messages in, [`MappedEvent`] out. Between turns it maps only messages
//! about the whole chat. Messages that belong to an ended turn are dropped.
//!
//! A session update passes `ChatMapper::map_update` (a [`MappedEvent`]), the bridge
//! (`SessionBridge::emit`), and `TurnMapper` of `agents`, which makes actions of events in turns;
//! other events reach `core::agent::handler`. A new kind of text chunk also has to be listed in
//! `transport::text_chunk`, which merges chunks.

pub(crate) mod content;
pub(crate) mod elicitation;
pub(crate) mod events;
pub(crate) mod host_tool_calls;
pub(crate) mod host_tools;
pub(crate) mod line_diff;
pub(crate) mod permission;
mod plan;
pub(crate) mod terminal_views;
pub(crate) mod tool_calls;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use agenthost_agents::TurnEvent;
use agenthost_core::SessionKey;
use agenthost_core::agent::SlashCommand;
use agenthost_protocol::chat::{ErrorPart, ToolResultContent};
use agenthost_protocol::common::{ErrorInfo, Meta, UsageInfo};
use agenthost_protocol::ids::{InputRequestId, ToolCallId, TurnId};
use agenthost_protocol::label::clean_label;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Object;
use agenthost_stdx::text::truncate_chars;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::mapper::permission::PermissionOption;

use super::mapper::elicitation::ElicitationForm;
use super::mapper::events::{EventCollector, MappedEvent};
use super::mapper::host_tools::HostToolSet;
use super::mapper::terminal_views::CallTerminals;
use super::mapper::tool_calls::TurnToolCalls;
use super::transport::schema::{
    AvailableCommandsUpdate, CompactionUpdate, ContentBlock, ContentChunk, Notice,
    SessionInfoUpdate, ToolCallUpdate, UsageUpdate,
};
use super::transport::{AUTH_REQUIRED_CODE, AgentCallError};

/// Maps the messages of an agent about one chat.
#[derive(Debug)]
pub(crate) struct ChatMapper {
    session: SessionKey,
    /// The terminals of tool calls, and the folder of the session.
    pub(crate) terminals: CallTerminals,
    turn: Option<MappedTurn>,
    /// The tool calls of the previous turn: later updates of them are dropped.
    past_calls: BTreeSet<ToolCallId>,
    /// The usage of the context window that the agent last reported.
    context_usage: Option<Object>,
    /// The tools that the host offers.
    host_tools: Arc<HostToolSet>,
}

/// The state of the running turn.
#[derive(Debug, Default)]
struct MappedTurn {
    tool_calls: TurnToolCalls,
    last_speech: Option<LastSpeech>,
    /// The last plan of the agent, if it sent one.
    plan: Option<Vec<ToolResultContent>>,
    elicitation_count: u32,
}

/// The kind and message id of the last text chunk.
#[derive(Debug, PartialEq)]
struct LastSpeech {
    kind: SpeechKind,
    message: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SpeechKind {
    Text,
    Thought,
}

/// A permission request for a tool call, with the options that the agent offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PermissionRequest {
    pub(crate) call: ToolCallId,
    pub(crate) options: Vec<PermissionOption>,
}

impl ChatMapper {
    /// Creates a mapper for a chat of a session that works in a folder.
    pub(crate) fn new(session: SessionKey, folder: PathBuf) -> Self {
        ChatMapper {
            session,
            terminals: CallTerminals::new(folder),
            turn: None,
            past_calls: BTreeSet::new(),
            context_usage: None,
            host_tools: Arc::default(),
        }
    }

    pub(crate) fn begin_turn(&mut self, chat: &Uri, turn: &TurnId) {
        self.terminals.begin_turn(chat, turn);
        let mut turn = MappedTurn::default();
        turn.tool_calls.set_host_tools(Arc::clone(&self.host_tools));
        self.turn = Some(turn);
    }

    /// Ends the turn, for any reason.
    pub(crate) fn end_turn(&mut self) {
        if let Some(turn) = self.turn.take() {
            self.past_calls = turn.tool_calls.into_ids().collect();
        }
    }

    /// Maps a `session/update` notification. Unknown kinds of updates are dropped.
    pub(crate) fn map_update(&mut self, update: &Value) -> Vec<MappedEvent> {
        let session = self.session.clone();
        let mut collector = EventCollector::new(&session);
        let kind = update.get("sessionUpdate").and_then(Value::as_str);
        match kind.unwrap_or_default() {
            "agent_message_chunk" => self.map_chunk(SpeechKind::Text, update, &mut collector),
            "agent_thought_chunk" => self.map_chunk(SpeechKind::Thought, update, &mut collector),
            "tool_call" | "tool_call_update" => self.map_tool_call(update, &mut collector),
            "plan" => self.map_plan(update, &mut collector),
            "usage_update" => self.map_usage(update, &mut collector),
            "notice" => self.map_notice(update, &mut collector),
            "compaction_update" => self.map_compaction(update, &mut collector),
            "available_commands_update" => collector.events.extend(map_commands(update)),
            "session_info_update" => collector.events.extend(map_title(update)),
            "current_mode_update" => {
                let mode = update.get("currentModeId").and_then(Value::as_str);
                collector
                    .events
                    .extend(mode.map(|mode| MappedEvent::ModeChanged(mode.to_owned())));
            }
            "config_option_update" => {
                let options = update.get("configOptions").cloned();
                collector
                    .events
                    .extend(options.map(MappedEvent::OptionsChanged));
            }
            // Some agents echo the user's message.
            _ => {}
        }
        collector.events
    }

    /// Maps a permission request; `None` if there is no turn, or if the tool call has ended.
    pub(crate) fn map_permission(
        &mut self,
        params: &Object,
    ) -> Option<(PermissionRequest, Vec<MappedEvent>)> {
        let update: ToolCallUpdate = parse(params.get("toolCall")?)?;
        let options = params.get("options").and_then(Value::as_array);
        let text = |option: &Value, key: &str| Some(option.get(key)?.as_str()?.to_owned());
        // If two options have the same id, only the first can be selected.
        let mut ids = BTreeSet::new();
        let mut options: Vec<_> = options
            .into_iter()
            .flatten()
            .filter_map(|option| {
                let id = text(option, "optionId")?;
                let mut label = text(option, "name").unwrap_or_else(|| id.clone());
                clean_label(&mut label);
                ids.insert(id.clone()).then(|| PermissionOption {
                    label,
                    kind: text(option, "kind").unwrap_or_default(),
                    id,
                })
            })
            .collect();
        options.sort_by_key(PermissionOption::scope_rank);
        let turn = self.turn.as_mut()?;
        let call = ToolCallId::from(update.tool_call_id.to_string());
        turn.last_speech = None;
        let mut collector = EventCollector::new(&self.session);
        let is_askable = turn.tool_calls.request_permission(
            update,
            &options,
            &mut self.terminals,
            &mut collector,
        );
        is_askable.then_some((PermissionRequest { call, options }, collector.events))
    }

    /// Continues a tool call that the user approved.
    pub(crate) fn handle_approved(&mut self, call: &ToolCallId) -> Vec<MappedEvent> {
        let mut collector = EventCollector::new(&self.session);
        if let Some(turn) = &mut self.turn {
            turn.tool_calls
                .mark_approved(call, &self.terminals, &mut collector);
        }
        collector.events
    }

    /// Ends a tool call that the user denied.
    pub(crate) fn handle_denied(&mut self, call: &ToolCallId) {
        if let Some(turn) = &mut self.turn {
            turn.tool_calls.mark_denied(call);
        }
    }

    /// Maps a request for input of the user; `None` if there is no turn, or if the request is
    /// not supported.
    pub(crate) fn map_elicitation(
        &mut self,
        params: &Object,
    ) -> Option<(InputRequestId, ElicitationForm, MappedEvent)> {
        let turn = self.turn.as_mut()?;
        turn.elicitation_count += 1;
        let id = InputRequestId::from(format!("question-{}", turn.elicitation_count));
        let (request, form) = elicitation::parse_elicitation(id.clone(), params)?;
        turn.last_speech = None;
        Some((id, form, MappedEvent::Turn(TurnEvent::Question(request))))
    }

    /// Ends the turn with the response to its prompt. Returns the remaining events, and the
    /// error if the turn failed.
    pub(crate) fn finish_turn(
        &mut self,
        response: Result<Value, AgentCallError>,
    ) -> (Vec<MappedEvent>, Option<ErrorPart>) {
        let session = self.session.clone();
        let mut collector = EventCollector::new(&session);
        let error = match response {
            Ok(response) => {
                self.map_prompt_result(&response, &mut collector);
                None
            }
            Err(error) => {
                let kind = match error {
                    AgentCallError::Rejected { code, .. } if code == AUTH_REQUIRED_CODE => {
                        "authRequired"
                    }
                    AgentCallError::Rejected { .. } => "agentError",
                    AgentCallError::Gone => "agentStopped",
                };
                Some(error_part(kind, &error.to_string()))
            }
        };
        if let Some(turn) = &mut self.turn {
            turn.tool_calls
                .end_uncalled_calls(&mut self.terminals, &mut collector);
        }
        collector
            .events
            .extend(self.terminals.close_agent_terminals());
        self.end_turn();
        (collector.events, error)
    }

    fn map_prompt_result(&mut self, result: &Value, collector: &mut EventCollector<'_>) {
        self.finish_plan(collector);
        let tokens = |key: &str| result.get("usage")?.get(key)?.as_u64();
        if result.get("usage").is_some_and(Value::is_object) {
            collector.push_turn_event(TurnEvent::Usage(UsageInfo {
                input_tokens: tokens("inputTokens"),
                output_tokens: tokens("outputTokens"),
                model: None,
                cache_read_tokens: tokens("cachedReadTokens"),
                meta: self.context_usage.clone().map(Meta::new),
            }));
        }
        let reason = result.get("stopReason").and_then(Value::as_str);
        let notice = match reason.unwrap_or("end_turn") {
            "end_turn" => return,
            "cancelled" => "The agent cancelled the turn.".to_owned(),
            "max_tokens" => {
                "The response was cut off: it reached the token limit of the model.".to_owned()
            }
            "max_turn_requests" => {
                "The agent stopped: it reached its limit of model requests for a turn.".to_owned()
            }
            "refusal" => "The agent refused to continue.".to_owned(),
            other => {
                let other = truncate_chars(other, 60);
                format!("The agent stopped: {other}.")
            }
        };
        collector.push_turn_event(TurnEvent::Notice(notice.into()));
    }

    fn map_chunk(&mut self, kind: SpeechKind, update: &Value, collector: &mut EventCollector<'_>) {
        let (Some(turn), Some(chunk)) = (&mut self.turn, parse::<ContentChunk>(update)) else {
            return;
        };
        let speech = LastSpeech {
            kind,
            message: chunk.message_id.map(|id| id.to_string()),
        };
        let ContentBlock::Text(text) = &chunk.content else {
            turn.last_speech = None;
            if let Some(content) = content::to_content_ref(&chunk.content, collector) {
                collector.push_turn_event(TurnEvent::Content(content));
            }
            return;
        };
        if text.text.is_empty() {
            return;
        }
        if turn.last_speech.as_ref() != Some(&speech) {
            turn.last_speech = Some(speech);
            collector.push_turn_event(TurnEvent::Break);
        }
        let text = text.text.clone();
        collector.push_turn_event(match kind {
            SpeechKind::Text => TurnEvent::Text(text),
            SpeechKind::Thought => TurnEvent::Thought(text),
        });
    }

    fn map_tool_call(&mut self, update: &Value, collector: &mut EventCollector<'_>) {
        let (Some(turn), Some(call)) = (&mut self.turn, parse::<ToolCallUpdate>(update)) else {
            return;
        };
        let id = call.tool_call_id.to_string();
        let is_start = update.get("sessionUpdate") == Some(&json!("tool_call"));
        let is_known = turn.tool_calls.contains(&id);
        if !is_start && !is_known && self.past_calls.contains(&ToolCallId::from(id)) {
            return;
        }
        if !is_known {
            turn.last_speech = None;
        }
        turn.tool_calls
            .update_call(call, &mut self.terminals, collector);
    }

    fn map_usage(&mut self, update: &Value, collector: &mut EventCollector<'_>) {
        let Some(usage) = parse::<UsageUpdate>(update) else {
            return;
        };
        let mut context = Object::new();
        context.insert("contextUsed".to_owned(), json!(usage.used));
        context.insert("contextSize".to_owned(), json!(usage.size));
        if let Some(cost) = usage.cost {
            context.insert("cost".to_owned(), json!(cost));
        }
        self.context_usage = Some(context.clone());
        if self.turn.is_some() {
            collector.push_turn_event(TurnEvent::Usage(UsageInfo {
                input_tokens: None,
                output_tokens: None,
                model: None,
                cache_read_tokens: None,
                meta: Some(Meta::new(context)),
            }));
        }
    }

    fn map_notice(&mut self, update: &Value, collector: &mut EventCollector<'_>) {
        let (Some(turn), Some(notice)) = (&mut self.turn, parse::<Notice>(update)) else {
            return;
        };
        turn.last_speech = None;
        let text = match notice.description {
            Some(description) => format!("{}: {description}", notice.title),
            None => notice.title,
        };
        collector.push_turn_event(TurnEvent::Notice(text.into()));
    }

    fn map_compaction(&mut self, update: &Value, collector: &mut EventCollector<'_>) {
        let (Some(turn), Some(_)) = (&mut self.turn, parse::<CompactionUpdate>(update)) else {
            return;
        };
        let notice = match update.get("status").and_then(Value::as_str) {
            Some("completed") => "The conversation so far was summarized to free context.",
            Some("failed") => "The conversation so far could not be summarized.",
            _ => return,
        };
        turn.last_speech = None;
        collector.push_turn_event(TurnEvent::Notice(notice.into()));
    }
}

/// Returns an error as a part of a turn.
pub(crate) fn error_part(kind: &str, message: &str) -> ErrorPart {
    ErrorPart {
        error: ErrorInfo {
            error_type: kind.to_owned(),
            message: message.to_owned(),
            stack: None,
            meta: None,
        },
        resumable: None,
    }
}

fn map_commands(update: &Value) -> Option<MappedEvent> {
    let update: AvailableCommandsUpdate = parse(update)?;
    let commands = update.available_commands.into_iter();
    let commands = commands.map(|command| SlashCommand {
        name: command.name.trim_start_matches('/').to_owned(),
        description: command.description,
    });
    Some(MappedEvent::SlashCommandsChanged(commands.collect()))
}

fn map_title(update: &Value) -> Option<MappedEvent> {
    let update: SessionInfoUpdate = parse(update)?;
    // If the agent removes the title, the host keeps the last one.
    update.title.take().map(MappedEvent::TitleChanged)
}

fn parse<T: DeserializeOwned>(value: &Value) -> Option<T> {
    T::deserialize(value).ok()
}

#[cfg(test)]
#[path = "mapper_tests.rs"]
mod tests;
