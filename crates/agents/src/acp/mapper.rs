//! From what an agent sends about a chat to what the host hears of it.
//!
//! Pure: messages in, [`Told`] out. Between turns only what is about the whole
//! chat counts; what belongs to a turn that is over is dropped.

mod hosted;
mod plan;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use agenthost_core::SessionKey;
use agenthost_core::agent::SlashCommand;
use agenthost_protocol::chat::{ErrorPart, ToolResultContent};
use agenthost_protocol::common::{ErrorInfo, Meta, UsageInfo};
use agenthost_protocol::ids::{InputRequestId, ToolCallId, TurnId};
use agenthost_protocol::label::clean_label;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Object;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::asking::PermissionOption;
use super::content;
use super::offered::Offered;
use super::questions::{self, Form};
use super::screens::Scene;
use super::told::{Teller, Told};
use super::tools::Tools;
use super::wire::schema::{
    AvailableCommandsUpdate, CompactionUpdate, ContentBlock, ContentChunk, Notice,
    SessionInfoUpdate, ToolCallUpdate, UsageUpdate,
};
use super::wire::{AUTHENTICATION_REQUIRED, CallError};
use crate::mapper::TurnEvent;

/// Maps what an agent sends about one chat.
#[derive(Debug)]
pub(crate) struct ChatMapper {
    session: SessionKey,
    /// Where calls happen.
    pub(crate) scene: Scene,
    turn: Option<Turn>,
    /// Calls of the turn before: what comes of them now is late.
    past: BTreeSet<ToolCallId>,
    /// How full the context is; the agent says so now and then.
    context: Option<Object>,
    /// The tools that the host offers.
    offered: Arc<Offered>,
}

/// What is known of a turn.
#[derive(Debug, Default)]
struct Turn {
    tools: Tools,
    said: Option<Said>,
    /// The plan, if it told one.
    plan: Option<Vec<ToolResultContent>>,
    questions: u32,
}

/// What the agent said last.
#[derive(Debug, PartialEq)]
struct Said {
    speech: Speech,
    message: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speech {
    Text,
    Thought,
}

/// A question about a tool call, with the answers that the agent offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Permission {
    /// The call.
    pub(crate) call: ToolCallId,
    /// The answers.
    pub(crate) options: Vec<PermissionOption>,
}

impl ChatMapper {
    /// A mapper for a chat of a session that works in a folder.
    pub(crate) fn new(session: SessionKey, folder: PathBuf) -> Self {
        ChatMapper {
            session,
            scene: Scene::new(folder),
            turn: None,
            past: BTreeSet::new(),
            context: None,
            offered: Arc::default(),
        }
    }

    /// A turn of a chat begins.
    pub(crate) fn begin(&mut self, chat: &Uri, turn: &TurnId) {
        self.scene.begin(chat, turn);
        let mut turn = Turn::default();
        turn.tools.offer(Arc::clone(&self.offered));
        self.turn = Some(turn);
    }

    /// A turn is over, however.
    pub(crate) fn end(&mut self) {
        if let Some(turn) = self.turn.take() {
            self.past = turn.tools.into_names().collect();
        }
    }

    /// Something changed. What is not known is nothing that anybody could
    /// show: it is dropped.
    pub(crate) fn update(&mut self, update: &Value) -> Vec<Told> {
        let session = self.session.clone();
        let mut teller = Teller::new(&session);
        let kind = update.get("sessionUpdate").and_then(Value::as_str);
        match kind.unwrap_or_default() {
            "agent_message_chunk" => self.chunk(Speech::Text, update, &mut teller),
            "agent_thought_chunk" => self.chunk(Speech::Thought, update, &mut teller),
            "tool_call" | "tool_call_update" => self.tool(update, &mut teller),
            "plan" => self.plan(update, &mut teller),
            "usage_update" => self.usage(update, &mut teller),
            "notice" => self.notice(update, &mut teller),
            "compaction_update" => self.compaction(update, &mut teller),
            "available_commands_update" => teller.told.extend(commands(update)),
            "session_info_update" => teller.told.extend(title(update)),
            "current_mode_update" => {
                let mode = update.get("currentModeId").and_then(Value::as_str);
                teller
                    .told
                    .extend(mode.map(|mode| Told::Mode(mode.to_owned())));
            }
            "config_option_update" => {
                let options = update.get("configOptions").cloned();
                teller.told.extend(options.map(Told::Options));
            }
            // The user's own words come back from some agents.
            _ => {}
        }
        teller.told
    }

    /// It wants to be allowed something; `None` if that can't be asked now.
    pub(crate) fn permission(&mut self, params: &Object) -> Option<(Permission, Vec<Told>)> {
        let update: ToolCallUpdate = read(params.get("toolCall")?)?;
        let options = params.get("options").and_then(Value::as_array);
        let text = |option: &Value, key: &str| Some(option.get(key)?.as_str()?.to_owned());
        // A second option with the id of another can't be told from it when it
        // is picked.
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
        options.sort_by_key(PermissionOption::reach);
        let turn = self.turn.as_mut()?;
        let call = ToolCallId::from(update.tool_call_id.to_string());
        turn.said = None;
        let mut teller = Teller::new(&self.session);
        let asked = turn
            .tools
            .ask(update, &options, &mut self.scene, &mut teller);
        asked.then_some((Permission { call, options }, teller.told))
    }

    /// Somebody agreed to a call.
    pub(crate) fn approved(&mut self, call: &ToolCallId) -> Vec<Told> {
        let mut teller = Teller::new(&self.session);
        if let Some(turn) = &mut self.turn {
            turn.tools.approved(call, &self.scene, &mut teller);
        }
        teller.told
    }

    /// Somebody did not agree to a call.
    pub(crate) fn refused(&mut self, call: &ToolCallId) {
        if let Some(turn) = &mut self.turn {
            turn.tools.refused(call);
        }
    }

    /// It wants to know something; `None` if that can't be asked now.
    pub(crate) fn question(&mut self, params: &Object) -> Option<(InputRequestId, Form, Told)> {
        let turn = self.turn.as_mut()?;
        turn.questions += 1;
        let id = InputRequestId::from(format!("question-{}", turn.questions));
        let (request, form) = questions::read(id.clone(), params)?;
        turn.said = None;
        Some((id, form, Told::Turn(TurnEvent::Question(request))))
    }

    /// The agent answered a prompt: the turn is over. Says what is left to
    /// tell, and why it failed if it did.
    pub(crate) fn answered(
        &mut self,
        answer: Result<Value, CallError>,
    ) -> (Vec<Told>, Option<ErrorPart>) {
        let session = self.session.clone();
        let mut teller = Teller::new(&session);
        let error = match answer {
            Ok(answer) => {
                self.finish(&answer, &mut teller);
                None
            }
            Err(error) => {
                let kind = match error {
                    CallError::Refused { code, .. } if code == AUTHENTICATION_REQUIRED => {
                        "authRequired"
                    }
                    CallError::Refused { .. } => "agentError",
                    CallError::Gone => "agentStopped",
                };
                Some(failure(kind, &error.to_string()))
            }
        };
        if let Some(turn) = &mut self.turn {
            turn.tools.end_uncalled(&mut self.scene, &mut teller);
        }
        teller.told.extend(self.scene.close());
        self.end();
        (teller.told, error)
    }

    fn finish(&mut self, answer: &Value, teller: &mut Teller<'_>) {
        self.finish_plan(teller);
        let tokens = |key: &str| answer.get("usage")?.get(key)?.as_u64();
        if answer.get("usage").is_some_and(Value::is_object) {
            teller.turn(TurnEvent::Usage(UsageInfo {
                input_tokens: tokens("inputTokens"),
                output_tokens: tokens("outputTokens"),
                model: None,
                cache_read_tokens: tokens("cachedReadTokens"),
                meta: self.context.clone().map(Meta::new),
            }));
        }
        let reason = answer.get("stopReason").and_then(Value::as_str);
        let remark = match reason.unwrap_or("end_turn") {
            "end_turn" => return,
            "cancelled" => "The agent stopped here.".to_owned(),
            "max_tokens" => "The answer was cut off: it got too long for the model.".to_owned(),
            "max_turn_requests" => "The agent stopped: it asked the model too often.".to_owned(),
            "refusal" => "The agent refused to go on.".to_owned(),
            other => {
                let other: String = other.chars().take(60).collect();
                format!("The agent stopped: {other}.")
            }
        };
        teller.turn(TurnEvent::Notice(remark.into()));
    }

    fn chunk(&mut self, speech: Speech, update: &Value, teller: &mut Teller<'_>) {
        let (Some(turn), Some(chunk)) = (&mut self.turn, read::<ContentChunk>(update)) else {
            return;
        };
        let said = Said {
            speech,
            message: chunk.message_id.map(|id| id.to_string()),
        };
        let ContentBlock::Text(text) = &chunk.content else {
            turn.said = None;
            if let Some(content) = content::reference(&chunk.content, teller) {
                teller.turn(TurnEvent::Content(content));
            }
            return;
        };
        if text.text.is_empty() {
            return;
        }
        if turn.said.as_ref() != Some(&said) {
            turn.said = Some(said);
            teller.turn(TurnEvent::Break);
        }
        let text = text.text.clone();
        teller.turn(match speech {
            Speech::Text => TurnEvent::Text(text),
            Speech::Thought => TurnEvent::Thought(text),
        });
    }

    fn tool(&mut self, update: &Value, teller: &mut Teller<'_>) {
        let (Some(turn), Some(call)) = (&mut self.turn, read::<ToolCallUpdate>(update)) else {
            return;
        };
        let id = call.tool_call_id.to_string();
        let begins = update.get("sessionUpdate") == Some(&json!("tool_call"));
        let known = turn.tools.knows(&id);
        if !begins && !known && self.past.contains(&ToolCallId::from(id)) {
            return;
        }
        if !known {
            turn.said = None;
        }
        turn.tools.update(call, &mut self.scene, teller);
    }

    fn usage(&mut self, update: &Value, teller: &mut Teller<'_>) {
        let Some(usage) = read::<UsageUpdate>(update) else {
            return;
        };
        let mut context = Object::new();
        context.insert("contextUsed".to_owned(), json!(usage.used));
        context.insert("contextSize".to_owned(), json!(usage.size));
        if let Some(cost) = usage.cost {
            context.insert("cost".to_owned(), json!(cost));
        }
        self.context = Some(context.clone());
        if self.turn.is_some() {
            teller.turn(TurnEvent::Usage(UsageInfo {
                input_tokens: None,
                output_tokens: None,
                model: None,
                cache_read_tokens: None,
                meta: Some(Meta::new(context)),
            }));
        }
    }

    fn notice(&mut self, update: &Value, teller: &mut Teller<'_>) {
        let (Some(turn), Some(notice)) = (&mut self.turn, read::<Notice>(update)) else {
            return;
        };
        turn.said = None;
        let text = match notice.description {
            Some(more) => format!("{}: {more}", notice.title),
            None => notice.title,
        };
        teller.turn(TurnEvent::Notice(text.into()));
    }

    fn compaction(&mut self, update: &Value, teller: &mut Teller<'_>) {
        let (Some(turn), Some(_)) = (&mut self.turn, read::<CompactionUpdate>(update)) else {
            return;
        };
        let remark = match update.get("status").and_then(Value::as_str) {
            Some("completed") => "The conversation so far was summed up to make room.",
            Some("failed") => "The conversation so far could not be summed up.",
            _ => return,
        };
        turn.said = None;
        teller.turn(TurnEvent::Notice(remark.into()));
    }
}

/// An error as a turn shows it.
pub(crate) fn failure(kind: &str, message: &str) -> ErrorPart {
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

fn commands(update: &Value) -> Option<Told> {
    let update: AvailableCommandsUpdate = read(update)?;
    let commands = update.available_commands.into_iter();
    let commands = commands.map(|command| SlashCommand {
        name: command.name.trim_start_matches('/').to_owned(),
        description: command.description,
    });
    Some(Told::Commands(commands.collect()))
}

fn title(update: &Value) -> Option<Told> {
    let update: SessionInfoUpdate = read(update)?;
    // One that is taken back leaves the host with the one that it has.
    update.title.take().map(Told::Title)
}

fn read<T: DeserializeOwned>(value: &Value) -> Option<T> {
    T::deserialize(value).ok()
}

#[cfg(test)]
#[path = "mapper_tests.rs"]
mod tests;
