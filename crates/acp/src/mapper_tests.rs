//! Recorded conversations: the messages of agents, and the events and actions that they map to.
//!
//! In a script each line is a keyword and some JSON: `begin`, `update`, `ask` (a permission
//! request), `approve` and `refuse` (with the id of a call), `question` (an elicitation), `answer`
//! (the response to the prompt), `error`; `client` and `server` (a tool that the host offers),
//! `called` (a call, a client tool, and its arguments) and `completed`. Every action is also
//! applied to a chat and, except for usage reports, must change it.

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

struct ScriptRun {
    mapper: ChatMapper,
    turn: TurnMapper,
    turn_count: u32,
    chat: ChannelState,
    output: String,
    host_tools: Arc<HostToolSet>,
}

fn chat(turn: &str) -> ChannelState {
    let chat = json!({
        "resource": "c", "title": "", "status": 8, "modifiedAt": "2026-01-01T00:00:00Z", "turns": [],
        "activeTurn": {"id": turn, "startedAt": "2026-01-01T00:00:00Z", "responseParts": [],
            "message": {"text": "x", "origin": {"kind": "user"}}},
    });
    wire::from_str(&chat.to_string()).unwrap()
}

impl ScriptRun {
    fn new() -> Self {
        let session = SessionKey::of(&Uri::from("ahp-session:/1"));
        ScriptRun {
            mapper: ChatMapper::new(session, PathBuf::from("/work")),
            turn: TurnMapper::new(TurnId::from("t0")),
            turn_count: 0,
            chat: chat("t0"),
            output: String::new(),
            host_tools: Arc::default(),
        }
    }

    fn run_line(&mut self, line: &str) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let json = || {
            serde_json::from_str::<Value>(rest).unwrap_or_else(|error| panic!("{line}: {error}"))
        };
        writeln!(
            self.output,
            "> {}",
            line.chars().take(110).collect::<String>()
        )
        .unwrap();
        match word {
            "begin" => {
                self.turn_count += 1;
                let id = format!("t{}", self.turn_count);
                self.turn = TurnMapper::new(TurnId::from(id.as_str()));
                self.chat = chat(&id);
                let chat = Uri::from("ahp-chat:/1");
                self.mapper.begin_turn(&chat, &TurnId::from(id.as_str()));
            }
            "update" => {
                let events = self.mapper.map_update(&json());
                self.record_events(events);
            }
            "ask" => match self.mapper.map_permission(json().as_object().unwrap()) {
                Some((_, events)) => self.record_events(events),
                None => self.output.push_str("can't be asked\n"),
            },
            "approve" => {
                let call = ToolCallId::from(rest);
                let confirmed = json!({"type": "chat/toolCallConfirmed", "turnId": format!("t{}", self.turn_count),
                    "toolCallId": rest, "approved": true, "confirmed": "user-action"});
                self.reduce(&wire::from_str(&confirmed.to_string()).unwrap());
                let events = self.mapper.handle_approved(&call);
                self.record_events(events);
            }
            "refuse" => {
                let call = ToolCallId::from(rest);
                self.mapper.handle_denied(&call);
                self.turn.mark_denied(&call);
            }
            "question" => match self.mapper.map_elicitation(json().as_object().unwrap()) {
                Some((_, _, event)) => self.record_events(vec![event]),
                None => self.output.push_str("can't be asked\n"),
            },
            "answer" | "error" => {
                let response = match word {
                    "answer" => Ok(json()),
                    _ => Err(AgentCallError::Rejected {
                        code: json()["code"].as_i64().unwrap() as i32,
                        message: "no".to_owned(),
                    }),
                };
                let (events, error) = self.mapper.finish_turn(response);
                self.record_events(events);
                match error {
                    Some(part) => {
                        writeln!(self.output, "failed {}", part.error.error_type).unwrap()
                    }
                    None => self.output.push_str("ended\n"),
                }
            }
            "client" | "server" => {
                self.add_host_tool(word, &json());
                self.mapper.set_host_tools(&self.host_tools);
            }
            "called" => {
                let (id, rest) = rest.split_once(' ').unwrap();
                let (tool, input) = rest.split_once(' ').unwrap();
                self.run_client_tool(id, tool, input);
                let call = ToolCallId::from(id);
                self.turn.mark_handed_over(&call);
                let events = self.mapper.handle_client_tool_called(&call, tool, input);
                self.record_events(events);
            }
            "completed" => {
                let call = ToolCallId::from(rest);
                let result = json!({"success": true, "pastTenseMessage": "Done"});
                self.apply_host_action(rest, "chat/toolCallComplete", json!({"result": result}));
                self.turn.mark_handed_over(&call);
                self.mapper.handle_client_tool_completed(&call);
            }
            other => panic!("{other}"),
        }
    }

    fn add_host_tool(&mut self, owner: &str, tool: &Value) {
        let text = |key: &str| tool[key].as_str().map(str::to_owned);
        let mut clients = self.host_tools.client_tools.clone();
        let mut servers = self.host_tools.server_tools.clone();
        let name = text("name").unwrap();
        match owner {
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
        self.host_tools = Arc::new(HostToolSet {
            client_tools: clients,
            server_tools: servers,
        });
    }

    /// Applies the actions with which the host reports a call of a client tool.
    fn run_client_tool(&mut self, id: &str, tool: &str, input: &str) {
        if !self.output.contains(&format!("\"toolCallId\":\"{id}\"")) {
            let start = json!({"toolName": tool, "displayName": tool,
                "contributor": {"kind": "client", "clientId": "editor"}});
            self.apply_host_action(id, "chat/toolCallStart", start);
        }
        let ready =
            json!({"invocationMessage": tool, "toolInput": input, "confirmed": "not-needed"});
        self.apply_host_action(id, "chat/toolCallReady", ready);
    }

    fn apply_host_action(&mut self, id: &str, name: &str, more: Value) {
        let mut action = more;
        let turn = format!("t{}", self.turn_count);
        action["type"] = json!(name);
        action["turnId"] = json!(turn);
        action["toolCallId"] = json!(id);
        self.reduce(&wire::from_str(&action.to_string()).unwrap());
    }

    fn record_events(&mut self, events: Vec<MappedEvent>) {
        for event in events {
            match event {
                MappedEvent::StoreContent(blob) => {
                    let text = String::from_utf8_lossy(&blob.bytes).into_owned();
                    let name = blob.name.rsplit('/').next().unwrap_or_default();
                    writeln!(self.output, "keep {name} {text:?}").unwrap();
                }
                MappedEvent::Turn(turn_event) => {
                    for mut action in self.turn.map(turn_event) {
                        // The host cleans the actions of every agent in this way.
                        clean_action(&mut action);
                        let json = wire::to_json(&Action::Chat(action.clone())).to_string();
                        writeln!(self.output, "{}", shorten(&json)).unwrap();
                        self.reduce(&Action::Chat(action));
                    }
                }
                MappedEvent::TitleChanged(title) => writeln!(self.output, "title {title}").unwrap(),
                MappedEvent::SlashCommandsChanged(commands) => {
                    let names: Vec<_> = commands
                        .iter()
                        .map(|command| command.name.as_str())
                        .collect();
                    writeln!(self.output, "commands {}", names.join(" ")).unwrap();
                }
                MappedEvent::OptionsChanged(options) => {
                    writeln!(self.output, "options {options}").unwrap()
                }
                MappedEvent::ModeChanged(mode) => writeln!(self.output, "mode {mode}").unwrap(),
                MappedEvent::Terminal(uri, update) => {
                    let text = match update {
                        TerminalUpdate::Opened { title, cwd, call } => {
                            let cwd = cwd.map(|cwd| cwd.to_string()).unwrap_or_default();
                            format!("opened {title:?} in {cwd} for {call}")
                        }
                        TerminalUpdate::Claimed(call) => format!("is for {call}"),
                        TerminalUpdate::Action(action) => {
                            wire::to_json(&Action::Terminal(*action)).to_string()
                        }
                    };
                    writeln!(self.output, "terminal {uri} {text}").unwrap();
                }
            }
        }
    }

    /// Applies an action to the chat, and asserts that it changes the chat. A usage report may not.
    fn reduce(&mut self, action: &Action) {
        let is_usage = matches!(action, Action::Chat(ChatAction::Usage(_)));
        let outcome = self.chat.reduce(action);
        assert!(
            is_usage || outcome == Outcome::Applied,
            "{outcome:?}: {action:?}"
        );
    }
}

/// Shortens content URIs to `kept:NAME`, and removes nonces and the id of the first turn.
fn shorten(json: &str) -> String {
    let mut short = String::new();
    let mut rest = json;
    while let Some(index) = rest.find("agenthost-content:/") {
        let (before, found) = rest.split_at(index);
        short.push_str(before);
        let (path, query) = found.split_once('?').unwrap();
        short.push_str("kept:");
        short.push_str(path.rsplit('/').next().unwrap_or_default());
        // Skips the query: the session, a full stop and the hash.
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
    let mut run = ScriptRun::new();
    for line in script
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        run.run_line(line);
    }
    expect_file![folder.join(format!("{name}.out"))].assert_eq(&run.output);
}

macro_rules! script_tests {
    ($($name:ident)*) => { $(#[test] fn $name() { check(stringify!($name)); })* };
}

script_tests! {
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

#[test]
fn a_request_with_more_text_than_its_message_says_so() {
    let ask = |text: &str, note: &str| {
        let mut run = ScriptRun::new();
        run.run_line("begin");
        let request = json!({
            "sessionId": "s",
            "options": [{"optionId": "y", "name": "Yes", "kind": "allow_always"}],
            "toolCall": {"toolCallId": "c1", "title": "Edit", "kind": "edit", "content": [
                {"type": "diff", "path": "/work/a.rs", "newText": text},
                {"type": "content", "content": {"type": "text", "text": note}}]},
        });
        run.run_line(&format!("ask {request}"));
        run.output
    };
    let mark = r#""agenthost.truncated":true"#;
    let whole = ask(&"short\n".repeat(5_000), "note");
    assert!(!whole.contains(mark) && !whole.contains("not shown here"));
    let cut = ask(&"a longer line\n".repeat(20_000), "note");
    assert!(cut.contains(mark) && cut.contains("more lines of the changes are not shown here."));
    let cut = ask("short\n", &"word ".repeat(10_000));
    assert!(cut.contains(mark) && cut.contains("The rest of this text is not shown here."));
}
