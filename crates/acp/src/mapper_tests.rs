//! Recorded conversations: what agents send in, what the host hears out.
//!
//! In a script each line is a word and some JSON: `begin`, `update`, `ask`
//! (for permission), `approve` and `refuse` (with the name of a call),
//! `question`, `answer` (the result of the prompt), `error`; `client` and `server`
//! (a tool that the host offers), `called` (a call, a client's tool, and with
//! what) and `completed`. Every action is also applied to a chat, and has to
//! change it.

use std::fmt::Write;
use std::path::Path;

use agenthost_agents::TurnMapper;
use agenthost_core::agent::ClientTool;
use agenthost_core::clean_action;
use agenthost_core::tools::mcp::driver::McpTool;
use agenthost_protocol::action::Action;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::ChatAction;
use agenthost_protocol::outcome::Outcome;
use agenthost_protocol::wire;
use expect_test::expect_file;

use super::*;
use crate::mapper::events::TerminalUpdate;

struct Play {
    mapper: ChatMapper,
    turn: TurnMapper,
    turns: u32,
    chat: ChannelState,
    heard: String,
    offered: Arc<HostToolSet>,
}

fn chat(turn: &str) -> ChannelState {
    let chat = json!({
        "resource": "c", "title": "", "status": 8, "modifiedAt": "2026-01-01T00:00:00Z", "turns": [],
        "activeTurn": {"id": turn, "startedAt": "2026-01-01T00:00:00Z", "responseParts": [],
            "message": {"text": "x", "origin": {"kind": "user"}}},
    });
    wire::from_str(&chat.to_string()).unwrap()
}

impl Play {
    fn new() -> Self {
        let session = SessionKey::of(&Uri::from("ahp-session:/1"));
        Play {
            mapper: ChatMapper::new(session, PathBuf::from("/work")),
            turn: TurnMapper::new(TurnId::from("t0")),
            turns: 0,
            chat: chat("t0"),
            heard: String::new(),
            offered: Arc::default(),
        }
    }

    fn line(&mut self, line: &str) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let json = || {
            serde_json::from_str::<Value>(rest).unwrap_or_else(|error| panic!("{line}: {error}"))
        };
        writeln!(
            self.heard,
            "> {}",
            line.chars().take(110).collect::<String>()
        )
        .unwrap();
        match word {
            "begin" => {
                self.turns += 1;
                let id = format!("t{}", self.turns);
                self.turn = TurnMapper::new(TurnId::from(id.as_str()));
                self.chat = chat(&id);
                let chat = Uri::from("ahp-chat:/1");
                self.mapper.begin_turn(&chat, &TurnId::from(id.as_str()));
            }
            "update" => {
                let told = self.mapper.map_update(&json());
                self.tell(told);
            }
            "ask" => match self.mapper.map_permission(json().as_object().unwrap()) {
                Some((_, told)) => self.tell(told),
                None => self.heard.push_str("can't be asked\n"),
            },
            "approve" => {
                let call = ToolCallId::from(rest);
                let confirmed = json!({"type": "chat/toolCallConfirmed", "turnId": format!("t{}", self.turns),
                    "toolCallId": rest, "approved": true, "confirmed": "user-action"});
                self.reduce(&wire::from_str(&confirmed.to_string()).unwrap());
                let told = self.mapper.handle_approved(&call);
                self.tell(told);
            }
            "refuse" => {
                let call = ToolCallId::from(rest);
                self.mapper.handle_denied(&call);
                self.turn.mark_denied(&call);
            }
            "question" => match self.mapper.map_elicitation(json().as_object().unwrap()) {
                Some((_, _, told)) => self.tell(vec![told]),
                None => self.heard.push_str("can't be asked\n"),
            },
            "answer" | "error" => {
                let answer = match word {
                    "answer" => Ok(json()),
                    _ => Err(AgentCallError::Rejected {
                        code: json()["code"].as_i64().unwrap() as i32,
                        message: "no".to_owned(),
                    }),
                };
                let (told, error) = self.mapper.finish_turn(answer);
                self.tell(told);
                match error {
                    Some(part) => writeln!(self.heard, "failed {}", part.error.error_type).unwrap(),
                    None => self.heard.push_str("ended\n"),
                }
            }
            "client" | "server" => {
                self.offer(word, &json());
                self.mapper.set_host_tools(&self.offered);
            }
            "called" => {
                let (id, rest) = rest.split_once(' ').unwrap();
                let (tool, input) = rest.split_once(' ').unwrap();
                self.host_runs(id, tool, input);
                let call = ToolCallId::from(id);
                self.turn.mark_handed_over(&call);
                let told = self.mapper.handle_client_tool_called(&call, tool, input);
                self.tell(told);
            }
            "completed" => {
                let call = ToolCallId::from(rest);
                let result = json!({"success": true, "pastTenseMessage": "Done"});
                self.host(rest, "chat/toolCallComplete", json!({"result": result}));
                self.turn.mark_handed_over(&call);
                self.mapper.handle_client_tool_completed(&call);
            }
            other => panic!("{other}"),
        }
    }

    fn offer(&mut self, whose: &str, tool: &Value) {
        let text = |key: &str| tool[key].as_str().map(str::to_owned);
        let mut clients = self.offered.client_tools.clone();
        let mut servers = self.offered.server_tools.clone();
        let name = text("name").unwrap();
        match whose {
            "client" => clients.push(ClientTool {
                client: text("client").unwrap().into(),
                name,
                definition: wire::from_str(&tool["definition"].to_string()).unwrap(),
            }),
            _ => servers.push(McpTool {
                server: text("server").unwrap().into(),
                name,
                original_name: text("ownName").unwrap(),
                title: text("title"),
                description: None,
                ui: tool.get("ui").cloned(),
            }),
        }
        self.offered = Arc::new(HostToolSet {
            client_tools: clients,
            server_tools: servers,
        });
    }

    /// What the host does with a call of a client's tool.
    fn host_runs(&mut self, id: &str, tool: &str, input: &str) {
        if !self.heard.contains(&format!("\"toolCallId\":\"{id}\"")) {
            let start = json!({"toolName": tool, "displayName": tool,
                "contributor": {"kind": "client", "clientId": "editor"}});
            self.host(id, "chat/toolCallStart", start);
        }
        let ready =
            json!({"invocationMessage": tool, "toolInput": input, "confirmed": "not-needed"});
        self.host(id, "chat/toolCallReady", ready);
    }

    fn host(&mut self, id: &str, name: &str, more: Value) {
        let mut action = more;
        let turn = format!("t{}", self.turns);
        action["type"] = json!(name);
        action["turnId"] = json!(turn);
        action["toolCallId"] = json!(id);
        self.reduce(&wire::from_str(&action.to_string()).unwrap());
    }

    fn tell(&mut self, told: Vec<MappedEvent>) {
        for told in told {
            match told {
                MappedEvent::StoreContent(kept) => {
                    let text = String::from_utf8_lossy(&kept.bytes).into_owned();
                    let name = kept.name.rsplit('/').next().unwrap_or_default();
                    writeln!(self.heard, "keep {name} {text:?}").unwrap();
                }
                MappedEvent::Turn(event) => {
                    for mut action in self.turn.map(event) {
                        // The host does this to the actions of every agent.
                        clean_action(&mut action);
                        let json = wire::to_json(&Action::Chat(action.clone())).to_string();
                        writeln!(self.heard, "{}", shorten(&json)).unwrap();
                        self.reduce(&Action::Chat(action));
                    }
                }
                MappedEvent::TitleChanged(title) => writeln!(self.heard, "title {title}").unwrap(),
                MappedEvent::SlashCommandsChanged(commands) => {
                    let names: Vec<_> = commands
                        .iter()
                        .map(|command| command.name.as_str())
                        .collect();
                    writeln!(self.heard, "commands {}", names.join(" ")).unwrap();
                }
                MappedEvent::OptionsChanged(options) => {
                    writeln!(self.heard, "options {options}").unwrap()
                }
                MappedEvent::ModeChanged(mode) => writeln!(self.heard, "mode {mode}").unwrap(),
                MappedEvent::Terminal(address, told) => {
                    let told = match told {
                        TerminalUpdate::Opened { title, cwd, call } => {
                            let cwd = cwd.map(|cwd| cwd.to_string()).unwrap_or_default();
                            format!("opened {title:?} in {cwd} for {call}")
                        }
                        TerminalUpdate::Claimed(call) => format!("is for {call}"),
                        TerminalUpdate::Action(action) => {
                            wire::to_json(&Action::Terminal(*action)).to_string()
                        }
                    };
                    writeln!(self.heard, "terminal {address} {told}").unwrap();
                }
            }
        }
    }

    /// Only legal steps change something.
    fn reduce(&mut self, action: &Action) {
        let quiet = matches!(action, Action::Chat(ChatAction::Usage(_)));
        let outcome = self.chat.reduce(action);
        assert!(
            quiet || outcome == Outcome::Applied,
            "{outcome:?}: {action:?}"
        );
    }
}

/// Addresses of content are long, and the same everywhere.
fn shorten(json: &str) -> String {
    let mut short = String::new();
    let mut rest = json;
    while let Some(at) = rest.find("agenthost-content:/") {
        let (before, found) = rest.split_at(at);
        short.push_str(before);
        let (path, query) = found.split_once('?').unwrap();
        short.push_str("kept:");
        short.push_str(path.rsplit('/').next().unwrap_or_default());
        // The session, a full stop and the hash.
        rest = query.get(97..).unwrap();
    }
    short.push_str(rest);
    let nonce = |text: &str| -> String {
        let mut parts = text.split(",\"nonce\":\"");
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |all, part| all + part.get(65..).unwrap_or_default())
    };
    nonce(&short).replace("\"turnId\":\"t1\",", "")
}

fn check(name: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("test_data");
    let script = std::fs::read_to_string(folder.join(format!("{name}.in"))).unwrap();
    let mut play = Play::new();
    for line in script
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        play.line(line);
    }
    expect_file![folder.join(format!("{name}.out"))].assert_eq(&play.heard);
}

macro_rules! plays {
    ($($name:ident)*) => { $(#[test] fn $name() { check(stringify!($name)); })* };
}

plays! {
    text_and_thoughts_are_parts
    a_question_may_come_before_the_call
    an_update_may_come_without_a_call
    a_call_without_status_runs_and_what_comes_after_its_end_is_dropped
    arguments_grow
    a_running_call_may_ask
    a_refused_call_is_over
    commands_are_shown_whole
    edits_are_kept
    what_a_question_says_is_no_result
    a_plan_is_one_call
    turns_end_for_reasons
    what_is_late_or_early_is_dropped
    what_is_unknown_is_dropped
    sessions_have_titles_commands_modes_and_usage
    forms_are_questions
    options_that_deceive_are_told_apart
    labels_are_plain_and_output_is_verbatim
    addresses_have_schemes_that_clients_open
    terminals_of_an_agent_can_be_watched
    a_tool_of_a_server_is_known_again
    a_tool_of_a_client_is_completed_by_its_client
    a_tool_of_a_client_may_ask_first
    a_tool_of_a_client_that_is_never_called_ends
    a_call_that_the_host_began_is_not_shown_twice
}
