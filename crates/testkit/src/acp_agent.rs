//! An ACP agent on standard input and output that runs each prompt as a script.
//!
//! It is not a separate program: a test runs itself again as the agent, so the agent is
//! always available to the test. The lines that the test harness prints are noise on its
//! output, as real agents produce it, too.

#[path = "acp_agent/memory.rs"]
mod memory;
#[path = "acp_agent/output.rs"]
mod output;
#[path = "acp_agent/sessions.rs"]
mod sessions;
#[path = "acp_agent/tools.rs"]
mod tools;
#[path = "acp_agent/web.rs"]
mod web;

use std::collections::BTreeMap;
use std::io::{BufRead, StdinLock};
use std::process::Stdio;

use serde_json::{Value, json};

use output::{
    config_options, respond, respond_error, send_chunk, send_chunks, send_message, send_update,
    text_field, write_line, write_stderr,
};

pub use memory::MEMORY_FILE_VARIABLE;

/// The environment variable that makes a process the agent. Its value contains the modes,
/// separated by spaces: any of `early`, `auth`, `silent`, `old`, `modes`, `trusting`,
/// `plain`, `http`, `load`, `resume`, `fork`, `list`, and `codex`, `gemini` or `goose` for
/// the style in which it reports MCP calls.
pub const AGENT_MODE_VARIABLE: &str = "AGENTHOST_TEST_ACP_AGENT";

/// The environment variable with the path of a file. Without the file, the user is signed
/// out. The agent creates it on a request to sign in.
pub const SIGN_IN_FILE_VARIABLE: &str = "AGENTHOST_TEST_SIGNED_IN";

/// Returns the program and arguments that run this test binary as the agent: with only the
/// test of this name, which calls [`run_as_agent`].
///
/// # Panics
///
/// If the path of this program is unknown.
#[must_use]
pub fn agent_command(test: &str) -> (String, Vec<String>) {
    #[expect(clippy::expect_used, reason = "a test fails by panicking")]
    let this = std::env::current_exe().expect("this program has a path");
    let arguments = [test, "--exact", "--nocapture", "--quiet"];
    let arguments = arguments.map(str::to_owned).to_vec();
    (this.to_string_lossy().into_owned(), arguments)
}

/// Runs the agent if this process is meant to be one; returns otherwise.
///
/// A prompt is a script with one command per line (or up to `;;`):
///
/// ```text
/// say TEXT   think TEXT        a chunk of the response, of the reasoning
/// many COUNT TEXT              the same chunk COUNT times, as fast as possible
/// update {update}              any session update
/// raw TEXT   bytes             a line that is not a message; one that is not UTF-8
/// endless                      a line of 9 MiB
/// ask {params}                 requests permission, and says the chosen option
/// form {params}                sends an elicitation, and says the response
/// call METHOD {params}         sends any request, and says the response;
///                              `$1` stands for the first terminal, and so on
/// start METHOD {params}        the same, without waiting for the response
/// offered                      says the offered capabilities and MCP servers
/// blocks                       says the content blocks of the prompt
/// chosen                       says the options that were set
/// mcp list [SERVER]            says the tools of an MCP server
/// mcp call NAME {arguments}    reports a call, makes it, says the result
/// mcp ask NAME {arguments}     the same, but requests permission
/// mcp late NAME {arguments}    the same, but reports the call afterwards
/// mcp quiet NAME {arguments}   the same, without reporting the call
/// mcp announce NAME {arguments}  reports a call, and does not make it
/// mcp abandon NAME {arguments} makes a call, and cancels it at once
/// session   known              says the session id, the prompts of the session
/// variable NAME                says the value of an environment variable
/// spawn                        starts a child process, says its pid
/// wait                         waits until the turn is cancelled
/// hang                         blocks for ever and ignores all messages
/// die TEXT                     writes to stderr and exits
/// error CODE TEXT              responds with an error
/// stop REASON                  responds with this stop reason
/// after LINE                   runs the line after the response
/// ```
///
/// At the end it responds with `end_turn`.
pub fn run_as_agent() {
    let Ok(how) = std::env::var(AGENT_MODE_VARIABLE) else {
        return;
    };
    let mut agent = FakeAgent {
        input: std::io::stdin().lock(),
        modes: how,
        id_counter: 0,
        session_count: 0,
        chosen_options: Vec::new(),
        received_offers: Vec::new(),
        terminals: Vec::new(),
        session_servers: BTreeMap::new(),
        running_servers: Vec::new(),
    };
    agent.run();
    drop(agent);
    std::process::exit(0);
}

struct FakeAgent {
    input: StdinLock<'static>,
    modes: String,
    id_counter: u32,
    session_count: u32,
    chosen_options: Vec<Value>,
    received_offers: Vec<Value>,
    terminals: Vec<String>,
    /// The MCP servers of each session.
    session_servers: BTreeMap<String, Value>,
    running_servers: Vec<tools::FakeToolServer>,
}

/// The response at the end of a script.
enum ScriptEnd {
    Answer(Value),
    Error(Value),
}

impl FakeAgent {
    fn run(&mut self) {
        while let Some(message) = self.read_message() {
            let id = message.get("id").cloned();
            let params = message.get("params").cloned().unwrap_or_default();
            let method = message.get("method").and_then(Value::as_str);
            let Some(id) = id else {
                continue;
            };
            match method.unwrap_or_default() {
                "initialize" => {
                    self.received_offers
                        .extend(params.get("clientCapabilities").cloned());
                    self.initialize(&id);
                }
                "session/new" => {
                    self.received_offers
                        .extend(params.get("mcpServers").cloned());
                    self.open_session(&id, &params);
                }
                "session/prompt" => self.run_prompt(&id, &params),
                "session/set_mode" => {
                    self.chosen_options.push(params);
                    respond(&id, &json!({}));
                }
                "session/set_config_option" => self.set_option(&id, params),
                "session/load" | "session/resume" => self.resume_session(&id, &params),
                "session/fork" => self.fork_session(&id, &params),
                "session/list" => sessions::list_sessions(&id, &params),
                "session/delete" if self.has_mode("delete") => {
                    memory::remove_session(text_field(&params, "sessionId"));
                    respond(&id, &json!({}));
                }
                "authenticate" => {
                    if let Some(place) = std::env::var_os(SIGN_IN_FILE_VARIABLE) {
                        // If the file can't be written, the next session reports that the
                        // user is signed out.
                        std::fs::write(place, "").unwrap_or_default();
                    }
                    respond(&id, &json!({}));
                }
                "session/close" => respond(&id, &json!({})),
                _ => respond_error(&id, &json!({"code": -32601, "message": "Method not found"})),
            }
        }
    }

    fn has_mode(&self, word: &str) -> bool {
        self.modes.split(' ').any(|how| how == word)
    }

    fn read_message(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = self.input.read_line(&mut line).unwrap_or_default();
        (read > 0).then(|| serde_json::from_str(&line).unwrap_or_default())
    }

    fn initialize(&mut self, id: &Value) {
        if self.has_mode("silent") {
            return;
        }
        let version = if self.has_mode("old") { 0 } else { 1 };
        respond(
            id,
            &json!({
                "protocolVersion": version,
                "agentCapabilities": {
                    "promptCapabilities": {"embeddedContext": !self.has_mode("plain"), "image": !self.has_mode("plain")},
                    "loadSession": self.has_mode("load"),
                    "mcpCapabilities": {"http": self.has_mode("http")},
                    "sessionCapabilities": {
                        "close": {},
                        "resume": self.has_mode("resume").then(|| json!({})),
                        "fork": self.has_mode("fork").then(|| json!({})),
                        "list": self.has_mode("list").then(|| json!({})),
                        "delete": self.has_mode("delete").then(|| json!({})),
                    },
                },
                "agentInfo": {"name": "scripted", "version": "1.2.3"},
                "authMethods": [
                    {"id": "key", "name": "API key"},
                    {"id": "terminal", "name": "Terminal", "type": "terminal", "args": ["--login"]},
                ],
            }),
        );
    }

    fn open_session(&mut self, id: &Value, params: &Value) {
        let signed_in = std::env::var_os(SIGN_IN_FILE_VARIABLE);
        let signed_out = signed_in.is_some_and(|place| !std::path::Path::new(&place).exists());
        if self.has_mode("auth") || signed_out {
            let error = json!({"code": -32000, "message": "Authentication required"});
            return respond_error(id, &error);
        }
        let session = self.new_session_id();
        self.store_servers(&session, params);
        if self.has_mode("early") {
            let commands = json!([{"name": "fix", "description": "Fix it"}]);
            let update = json!({"sessionUpdate": "available_commands_update", "availableCommands": commands});
            send_update(&session, &update);
        }
        let mut opened = json!({"sessionId": session});
        if let (true, Some(opened)) = (self.has_mode("modes"), opened.as_object_mut()) {
            let mut modes = vec![
                json!({"id": "ask", "name": "Ask"}),
                json!({"id": "do", "name": "Do"}),
            ];
            if self.has_mode("trusting") {
                modes.push(json!({"id": "yolo", "name": "Everything"}));
            }
            let modes = json!({"currentModeId": "ask", "availableModes": modes});
            opened.insert("modes".to_owned(), modes);
            opened.insert("configOptions".to_owned(), config_options("small"));
        }
        respond(id, &opened);
    }

    fn new_session_id(&mut self) -> String {
        self.session_count += 1;
        format!("session-{}-{}", std::process::id(), self.session_count)
    }

    /// Stores the MCP servers of a session.
    fn store_servers(&mut self, session: &str, params: &Value) {
        let given = params.get("mcpServers").cloned().unwrap_or_default();
        self.session_servers.insert(session.to_owned(), given);
    }

    fn set_option(&mut self, id: &Value, params: Value) {
        let value = params
            .get("value")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if value == "forbidden" {
            return respond_error(id, &json!({"code": -32602, "message": "Not this one"}));
        }
        let value = value.to_owned();
        self.chosen_options.push(params);
        respond(id, &json!({"configOptions": config_options(&value)}));
    }

    fn run_prompt(&mut self, id: &Value, params: &Value) {
        let session = text_field(params, "sessionId");
        let blocks = params.get("prompt").and_then(Value::as_array);
        let texts = blocks.into_iter().flatten();
        let texts = texts.filter_map(|block| block.get("text")?.as_str());
        let told = texts
            .filter(|text| !text.starts_with("Earlier conversation") && !text.trim().is_empty());
        // Blocks that the host has added are not a part of the script, but they are stored.
        let added = |text: &&str| text.starts_with("<agenthost-");
        let text = told.clone().find(|text| !added(text));
        let added: String = told.filter(added).collect();
        memory::append_message(session, &(added + text.unwrap_or_default()));
        let mut after = Vec::new();
        let mut ended = ScriptEnd::Answer(json!({"stopReason": "end_turn"}));
        for line in text
            .unwrap_or_default()
            .split(['\n'])
            .flat_map(|line| line.split(";;"))
        {
            let line = line.trim();
            if let Some(line) = line.strip_prefix("after ") {
                after.push(line.to_owned());
            } else if let Some(end) = self.run_line(session, line, params) {
                ended = end;
                break;
            }
        }
        match ended {
            ScriptEnd::Answer(result) => respond(id, &result),
            ScriptEnd::Error(error) => respond_error(id, &error),
        }
        for line in after {
            self.run_line(session, &line, params);
        }
    }

    fn run_line(&mut self, session: &str, line: &str, params: &Value) -> Option<ScriptEnd> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let say = |text: &str| send_chunk(session, "agent_message_chunk", text);
        let json = || serde_json::from_str::<Value>(rest).unwrap_or_default();
        match word {
            "" => {}
            "say" => say(rest),
            "think" => send_chunk(session, "agent_thought_chunk", rest),
            "many" => {
                let (count, text) = rest.split_once(' ').unwrap_or((rest, ""));
                send_chunks(session, count.parse().unwrap_or_default(), text);
            }
            "update" => send_update(session, &json()),
            "raw" => write_line(rest.as_bytes()),
            "bytes" => write_line(b"\xff\xfe not text"),
            "endless" => write_line(&vec![b'x'; 9 * 1024 * 1024]),
            "ask" => {
                let outcome = self.request("session/request_permission", session, json());
                let picked = outcome.pointer("/outcome/optionId").and_then(Value::as_str);
                say(picked.unwrap_or("nothing was picked"));
            }
            "form" => {
                let answer = self.request("elicitation/create", session, json());
                say(&answer.to_string());
            }
            "call" | "start" => {
                let (method, params) = rest.split_once(' ').unwrap_or((rest, "{}"));
                let mut params = params.to_owned();
                for (number, terminal) in self.terminals.iter().enumerate() {
                    params = params.replace(&format!("${}", number + 1), terminal);
                }
                let params = serde_json::from_str(&params).unwrap_or_default();
                let id = self.send_request(method, session, params);
                if word == "call" {
                    say(&self.await_outcome(id));
                }
            }
            "mcp" => self.run_mcp_line(session, rest),
            "offered" => say(&Value::Array(self.received_offers.clone()).to_string()),
            "blocks" => say(&params
                .get("prompt")
                .cloned()
                .unwrap_or_default()
                .to_string()),
            "session" => say(session),
            "known" => say(&memory::messages_of(session).join(", ")),
            "chosen" => say(&Value::Array(self.chosen_options.clone()).to_string()),
            "variable" => say(&std::env::var(rest).unwrap_or_else(|_| "not there".to_owned())),
            "spawn" => {
                let mut command = std::process::Command::new("sleep");
                let command = command
                    .arg("1000")
                    .stdin(Stdio::null())
                    .stdout(Stdio::null());
                let started = command.stderr(Stdio::null()).spawn();
                say(&started.map_or(0, |child| child.id()).to_string());
            }
            "wait" => {
                while let Some(message) = self.read_message() {
                    if message.get("method") == Some(&json!("session/cancel")) {
                        return Some(ScriptEnd::Answer(json!({"stopReason": "cancelled"})));
                    }
                }
            }
            "hang" => loop {
                std::thread::park();
            },
            "die" => {
                write_stderr(rest);
                std::process::exit(3);
            }
            "error" => {
                let (code, message) = rest.split_once(' ').unwrap_or((rest, ""));
                let code: i32 = code.parse().unwrap_or_default();
                return Some(ScriptEnd::Error(json!({"code": code, "message": message})));
            }
            "stop" => return Some(ScriptEnd::Answer(json!({"stopReason": rest}))),
            other => say(&format!("what is `{other}`?")),
        }
        None
    }

    /// Sends a request and waits for the result.
    fn request(&mut self, method: &str, session: &str, params: Value) -> Value {
        let id = self.send_request(method, session, params);
        let answer = self.await_response(id);
        answer.get("result").cloned().unwrap_or_default()
    }

    /// Waits for a response and returns it as text.
    fn await_outcome(&mut self, id: u32) -> String {
        let answer = self.await_response(id);
        let Some(result) = answer.get("result") else {
            return answer.get("error").cloned().unwrap_or_default().to_string();
        };
        let terminal = result.get("terminalId").and_then(Value::as_str);
        self.terminals.extend(terminal.map(str::to_owned));
        result.to_string()
    }

    fn send_request(&mut self, method: &str, session: &str, mut params: Value) -> u32 {
        let id = self.id_counter;
        self.id_counter += 1;
        if let Some(params) = params.as_object_mut() {
            let place = params.entry("sessionId");
            place.or_insert_with(|| json!(session));
        }
        send_message(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    fn await_response(&mut self, id: u32) -> Value {
        while let Some(message) = self.read_message() {
            if message.get("method").is_none() && message.get("id") == Some(&json!(id)) {
                return message;
            }
        }
        Value::Null
    }
}
