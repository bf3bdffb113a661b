//! The fuzz target of ACP: the standard output of an agent.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the fuzzer sees a violated invariant as a panic"
)]

use std::path::PathBuf;
use std::sync::Arc;

use agenthost_agents::TurnMapper;
use agenthost_core::SessionKey;
use agenthost_process::StreamTail;
use agenthost_protocol::action::Action;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::{ChatAction, InputResponseKind};
use agenthost_protocol::ids::{ToolCallId, TurnId};
use agenthost_protocol::list::List;
use agenthost_protocol::outcome::Outcome;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire;
use agenthost_protocol::wire::Json;
use futures_util::FutureExt;
use serde_json::json;

use super::mapper::ChatMapper;
use super::mapper::events::MappedEvent;
use super::registry::probe::sign_in;
use super::session::options::SessionOptions;
use super::session::replay::{ReplayPurpose, SessionReplay};
use super::transport::AgentCallError;
use super::transport::line_reader::{JsonRpcKind, JsonRpcLine, LineReader};

const CHAT_URI: &str = "ahp-chat:/1";

/// The maximum number of bytes of noise that are kept.
const MAX_NOISE_BYTES: usize = 256;

/// Reads lines of an agent, and maps every message to actions on a chat. Checks that each line
/// is a JSON object of the reported kind, and that each action decodes to itself and applies to
/// the chat.
pub fn acp_lines(data: &[u8]) {
    let noise = Arc::new(StreamTail::new(MAX_NOISE_BYTES));
    let mut reader = LineReader::new(data, noise);
    let mut conversation = FuzzedChat::new();
    // All input is in memory, so reading never waits.
    while let Ok(Some(line)) = reader.next_message().now_or_never().unwrap() {
        conversation.feed_line(&line);
    }
    conversation.finish();
}

/// A chat with an agent that sends arbitrary messages.
struct FuzzedChat {
    mapper: ChatMapper,
    replay: SessionReplay,
    options: SessionOptions,
    turn: TurnMapper,
    turn_count: u32,
    chat: ChannelState,
}

impl FuzzedChat {
    fn new() -> Self {
        let mapper = || {
            let session = SessionKey::of(&Uri::from("ahp-session:/1"));
            ChatMapper::new(session, PathBuf::from("/work"))
        };
        let replay = SessionReplay::new(
            "s".to_owned(),
            ReplayPurpose::Import,
            Uri::from(CHAT_URI),
            mapper(),
        );
        let mut conversation = FuzzedChat {
            mapper: mapper(),
            replay,
            options: SessionOptions::default(),
            turn: TurnMapper::new(turn_id(0)),
            turn_count: 0,
            chat: chat(0),
        };
        conversation.begin_turn();
        conversation
    }

    fn begin_turn(&mut self) {
        self.turn_count = self.turn_count.saturating_add(1);
        self.turn = TurnMapper::new(turn_id(self.turn_count));
        self.chat = chat(self.turn_count);
        self.mapper
            .begin_turn(&Uri::from(CHAT_URI), &turn_id(self.turn_count));
    }

    fn feed_line(&mut self, line: &JsonRpcLine) {
        let message: Json = serde_json::from_str(&line.text).unwrap();
        let method = message.get("method").and_then(Json::as_str);
        assert_eq!(message.get("jsonrpc"), Some(&json!("2.0")));
        assert_eq!(line.kind == JsonRpcKind::Response, line.method.is_none());
        if line.kind == JsonRpcKind::Response {
            self.feed_response(&message);
            return;
        }
        assert_eq!(method, line.method.as_deref());
        let params = message.get("params").and_then(Json::as_object);
        let params = params.cloned().unwrap_or_default();
        match (line.kind, method.unwrap_or_default()) {
            (JsonRpcKind::Notification, "session/update") => {
                if let Some(update) = params.get("update") {
                    self.replay.push_update(update);
                    let events = self.mapper.map_update(update);
                    self.apply(events);
                }
            }
            (JsonRpcKind::Request, "session/request_permission") => {
                if let Some((permission, events)) = self.mapper.map_permission(&params) {
                    self.apply(events);
                    self.decide(&permission.call);
                }
            }
            (JsonRpcKind::Request, "elicitation/create") => {
                if let Some((_, form, event)) = self.mapper.map_elicitation(&params) {
                    self.apply(vec![event]);
                    let response = form.to_response(InputResponseKind::Accept, &Default::default());
                    assert!(response.is_object());
                }
            }
            _ => {}
        }
    }

    /// Approves about half of the permission requests, and denies the rest.
    fn decide(&mut self, call: &ToolCallId) {
        let turn = format!("t{}", self.turn_count);
        let approves = call.as_str().len().is_multiple_of(2);
        let (key, reason) = if approves {
            ("confirmed", "user-action")
        } else {
            ("reason", "denied")
        };
        let confirmed = json!({
            "type": "chat/toolCallConfirmed", "turnId": turn, "toolCallId": call.as_str(),
            "approved": approves, key: reason,
        });
        self.reduce(&wire::from_str(&confirmed.to_string()).unwrap());
        if approves {
            let events = self.mapper.handle_approved(call);
            self.apply(events);
        } else {
            self.mapper.handle_denied(call);
            self.turn.mark_denied(call);
        }
    }

    /// Ends the turn, as the response to a prompt. Also parses the message as a response to
    /// `initialize` and `session/new`.
    fn feed_response(&mut self, message: &Json) {
        let result = message.get("result").cloned();
        if let Some(result) = &result {
            self.options = SessionOptions::parse(result);
            assert!(wire::to_json(&self.options.schema()).is_object());
            assert!(sign_in::parse_methods(result).len() <= result.to_string().len());
        }
        let response = result.ok_or_else(|| {
            let error = message.get("error").unwrap();
            let code = error.get("code").and_then(Json::as_i64).unwrap();
            AgentCallError::Rejected {
                code: i32::try_from(code).unwrap(),
                message: error.get("message").unwrap().to_string(),
            }
        });
        let (events, _error) = self.mapper.finish_turn(response);
        self.apply(events);
        self.begin_turn();
    }

    fn apply(&mut self, events: Vec<MappedEvent>) {
        for event in events {
            match event {
                MappedEvent::Turn(turn_event) => {
                    for action in self.turn.map(turn_event) {
                        self.reduce(&Action::Chat(action));
                    }
                }
                MappedEvent::OptionsChanged(options) => {
                    self.options.replace(&options);
                    assert!(wire::to_json(&self.options.schema()).is_object());
                }
                MappedEvent::ModeChanged(mode) => self.options.set_mode(&mode),
                MappedEvent::StoreContent(_)
                | MappedEvent::TitleChanged(_)
                | MappedEvent::SlashCommandsChanged(_)
                | MappedEvent::Terminal(..) => {}
            }
        }
    }

    fn reduce(&mut self, action: &Action) {
        let text = serde_json::to_string(action).unwrap();
        assert_eq!(wire::from_str::<Action>(&text).as_ref(), Ok(action));
        let outcome = self.chat.reduce(action);
        // A usage report with the same values changes nothing.
        let is_usage = matches!(action, Action::Chat(ChatAction::Usage(_)));
        if outcome != Outcome::Applied && !is_usage {
            panic!("{outcome:?}: {action:?}");
        }
    }

    fn finish(self) {
        assert!(self.replay.matches_history(&List::default()));
        let (turns, _session_events) = self.replay.finish();
        for turn in turns {
            let mut mapper = TurnMapper::new(turn.id);
            for event in turn.events {
                if let MappedEvent::Turn(turn_event) = event {
                    drop(mapper.map(turn_event));
                }
            }
        }
        // Clients can decode the state.
        let text = serde_json::to_string(&self.chat).unwrap();
        assert_eq!(wire::from_str::<ChannelState>(&text), Ok(self.chat));
    }
}

fn turn_id(number: u32) -> TurnId {
    TurnId::from(format!("t{number}"))
}

/// Returns a chat with an active turn.
fn chat(number: u32) -> ChannelState {
    let chat = json!({
        "resource": CHAT_URI, "title": "", "status": 8, "modifiedAt": "2026-01-01T00:00:00Z",
        "turns": [],
        "activeTurn": {
            "id": format!("t{number}"), "startedAt": "2026-01-01T00:00:00Z", "responseParts": [],
            "message": {"text": "x", "origin": {"kind": "user"}},
        },
    });
    wire::from_str(&chat.to_string()).unwrap()
}

#[cfg(test)]
#[path = "../../../fuzz/seeds.rs"]
mod seeds;

#[cfg(test)]
mod tests {
    #[test]
    fn every_seed_of_the_corpus_passes() {
        super::seeds::check_seeds("acp_lines", super::acp_lines);
    }
}
