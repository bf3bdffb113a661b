//! The fuzz target of ACP: what an agent writes to its standard output.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the fuzzer sees a violated invariant as a panic"
)]

use std::path::PathBuf;
use std::sync::Arc;

use agenthost_core::SessionKey;
use agenthost_protocol::action::Action;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::{ChatAction, InputResponseKind};
use agenthost_protocol::ids::{ToolCallId, TurnId};
use agenthost_protocol::list::List;
use agenthost_protocol::outcome::Outcome;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{self, Json};
use futures_util::FutureExt;
use serde_json::json;

use super::lines::{Kind, Line, LineReader};
use super::mapper::ChatMapper;
use super::options::Options;
use super::replay::{Purpose, Replay};
use super::sign_in;
use super::tail::Tail;
use super::told::Told;
use super::wire::CallError;
use crate::mapper::TurnMapper;

const CHAT: &str = "ahp-chat:/1";

/// Most bytes of noise that are kept.
const NOISE: usize = 256;

/// Reads lines of an agent, and maps every message to actions on a chat. Each
/// line is a JSON object with what it was said to be; each action decodes to
/// itself and applies to the chat.
pub fn acp_lines(data: &[u8]) {
    let noise = Arc::new(Tail::new(NOISE));
    let mut reader = LineReader::new(data, noise);
    let mut conversation = Conversation::new();
    // All input is in memory, so reading never waits.
    while let Ok(Some(line)) = reader.next().now_or_never().unwrap() {
        conversation.hear(&line);
    }
    conversation.finish();
}

/// A chat with an agent that may say anything.
struct Conversation {
    mapper: ChatMapper,
    replay: Replay,
    options: Options,
    turn: TurnMapper,
    turns: u32,
    chat: ChannelState,
}

impl Conversation {
    fn new() -> Self {
        let mapper = || {
            let session = SessionKey::of(&Uri::from("ahp-session:/1"));
            ChatMapper::new(session, PathBuf::from("/work"))
        };
        let replay = Replay::new("s".to_owned(), Purpose::Adopt, Uri::from(CHAT), mapper());
        let mut conversation = Conversation {
            mapper: mapper(),
            replay,
            options: Options::default(),
            turn: TurnMapper::new(turn_id(0)),
            turns: 0,
            chat: chat(0),
        };
        conversation.begin();
        conversation
    }

    fn begin(&mut self) {
        self.turns = self.turns.saturating_add(1);
        self.turn = TurnMapper::new(turn_id(self.turns));
        self.chat = chat(self.turns);
        self.mapper.begin(&Uri::from(CHAT), &turn_id(self.turns));
    }

    fn hear(&mut self, line: &Line) {
        let message: Json = serde_json::from_str(&line.text).unwrap();
        let method = message.get("method").and_then(Json::as_str);
        assert_eq!(message.get("jsonrpc"), Some(&json!("2.0")));
        assert_eq!(line.kind == Kind::Answer, line.method.is_none());
        if line.kind == Kind::Answer {
            self.answer(&message);
            return;
        }
        assert_eq!(method, line.method.as_deref());
        let params = message.get("params").and_then(Json::as_object);
        let params = params.cloned().unwrap_or_default();
        match (line.kind, method.unwrap_or_default()) {
            (Kind::News, "session/update") => {
                if let Some(update) = params.get("update") {
                    self.replay.update(update);
                    let told = self.mapper.update(update);
                    self.apply(told);
                }
            }
            (Kind::Question, "session/request_permission") => {
                if let Some((permission, told)) = self.mapper.permission(&params) {
                    self.apply(told);
                    self.decide(&permission.call);
                }
            }
            (Kind::Question, "elicitation/create") => {
                if let Some((_, form, told)) = self.mapper.question(&params) {
                    self.apply(vec![told]);
                    let answer = form.answer(InputResponseKind::Accept, &Default::default());
                    assert!(answer.is_object());
                }
            }
            _ => {}
        }
    }

    /// Approves every other question, refuses the rest.
    fn decide(&mut self, call: &ToolCallId) {
        let turn = format!("t{}", self.turns);
        let approves = call.as_str().len().is_multiple_of(2);
        let confirmed = match approves {
            true => json!({
                "type": "chat/toolCallConfirmed", "turnId": turn, "toolCallId": call.as_str(),
                "approved": true, "confirmed": "user-action",
            }),
            false => json!({
                "type": "chat/toolCallConfirmed", "turnId": turn, "toolCallId": call.as_str(),
                "approved": false, "reason": "denied",
            }),
        };
        self.reduce(&wire::from_str(&confirmed.to_string()).unwrap());
        if approves {
            let told = self.mapper.approved(call);
            self.apply(told);
        } else {
            self.mapper.refused(call);
            self.turn.refused(call);
        }
    }

    /// The answer to a prompt ends a turn; it is read as the answers to
    /// `initialize` and `session/new` as well.
    fn answer(&mut self, message: &Json) {
        let result = message.get("result").cloned();
        if let Some(result) = &result {
            self.options = Options::read(result);
            assert!(wire::to_json(&self.options.schema()).is_object());
            assert!(sign_in::read(result).len() <= result.to_string().len());
        }
        let answer = result.ok_or_else(|| {
            let error = message.get("error").unwrap();
            let code = error.get("code").and_then(Json::as_i64).unwrap();
            CallError::Refused {
                code: i32::try_from(code).unwrap(),
                message: error.get("message").unwrap().to_string(),
            }
        });
        let (told, _error) = self.mapper.answered(answer);
        self.apply(told);
        self.begin();
    }

    fn apply(&mut self, told: Vec<Told>) {
        for told in told {
            match told {
                Told::Turn(event) => {
                    for action in self.turn.map(event) {
                        self.reduce(&Action::Chat(action));
                    }
                }
                Told::Options(options) => {
                    self.options.replace(&options);
                    assert!(wire::to_json(&self.options.schema()).is_object());
                }
                Told::Mode(mode) => self.options.set_mode(&mode),
                Told::Keep(_) | Told::Title(_) | Told::Commands(_) | Told::Terminal(..) => {}
            }
        }
    }

    fn reduce(&mut self, action: &Action) {
        let text = serde_json::to_string(action).unwrap();
        assert_eq!(wire::from_str::<Action>(&text).as_ref(), Ok(action));
        let outcome = self.chat.reduce(action);
        // A report of nothing new changes nothing.
        let is_usage = matches!(action, Action::Chat(ChatAction::Usage(_)));
        if outcome != Outcome::Applied && !is_usage {
            panic!("{outcome:?}: {action:?}");
        }
    }

    fn finish(self) {
        assert!(self.replay.fits(&List::default()));
        let (turns, _about) = self.replay.finish();
        for turn in turns {
            let mut mapper = TurnMapper::new(turn.id);
            for told in turn.told {
                if let Told::Turn(event) = told {
                    drop(mapper.map(event));
                }
            }
        }
        // The state that clients see can be read by them.
        let text = serde_json::to_string(&self.chat).unwrap();
        assert_eq!(wire::from_str::<ChannelState>(&text), Ok(self.chat));
    }
}

fn turn_id(number: u32) -> TurnId {
    TurnId::from(format!("t{number}"))
}

/// A chat with a running turn.
fn chat(number: u32) -> ChannelState {
    let chat = json!({
        "resource": CHAT, "title": "", "status": 8, "modifiedAt": "2026-01-01T00:00:00Z",
        "turns": [],
        "activeTurn": {
            "id": format!("t{number}"), "startedAt": "2026-01-01T00:00:00Z", "responseParts": [],
            "message": {"text": "x", "origin": {"kind": "user"}},
        },
    });
    wire::from_str(&chat.to_string()).unwrap()
}

#[cfg(test)]
#[path = "../../../../fuzz/seeds.rs"]
mod seeds;

#[cfg(test)]
mod tests {
    #[test]
    fn every_seed_of_the_corpus_passes() {
        super::seeds::check_seeds("acp_lines", super::acp_lines);
    }
}
