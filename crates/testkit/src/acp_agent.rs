//! An agent that speaks ACP on standard input and output, and does what each
//! prompt says.
//!
//! It is no program of its own: a test runs itself again, as the agent. So it
//! is there whenever the test is. What the test harness prints is noise on its
//! output, and such noise is what real agents make, too.

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

use output::{answer, chunk, complain, fail, flood, options, send, tell_update, text_of, write};

pub use memory::MEMORY;

/// Set for the process that is to be the agent; says how it starts: any of
/// `early`, `auth`, `silent`, `old`, `modes`, `trusting`, `plain`, `http`, `load`,
/// `resume`, `fork`, `list`, and `codex`, `gemini` or `goose` for how it tells of
/// calls of servers of tools; separated by spaces.
pub const AS_AGENT: &str = "AGENTHOST_TEST_ACP_AGENT";

/// Names a file: without it, nobody is signed in. The agent makes it when it is
/// told to sign somebody in.
pub const SIGNED_IN: &str = "AGENTHOST_TEST_SIGNED_IN";

/// The program and its arguments that make a test the agent: this one, with
/// nothing but the test of this name, which calls [`play`].
///
/// # Panics
///
/// If the system does not know which program this is.
#[must_use]
pub fn command(test: &str) -> (String, Vec<String>) {
    #[expect(clippy::expect_used, reason = "a test fails by panicking")]
    let this = std::env::current_exe().expect("this program has a path");
    let arguments = [test, "--exact", "--nocapture", "--quiet"];
    let arguments = arguments.map(str::to_owned).to_vec();
    (this.to_string_lossy().into_owned(), arguments)
}

/// Is the agent, if this process is meant to be; returns otherwise.
///
/// A prompt is a script, a line (or up to `;;`) at a time:
///
/// ```text
/// say TEXT   think TEXT        a piece of its answer, of its thoughts
/// many COUNT TEXT              the same piece so many times, as fast as can be
/// update {update}              any update
/// raw TEXT   bytes             a line that is no message; one that is no text
/// endless                      a line that never ends
/// ask {params}                 asks for permission, and says what was picked
/// form {params}                asks the user, and says what was answered
/// call METHOD {params}         asks for anything, and says what came back;
///                              `$1` stands for the first terminal, and so on
/// start METHOD {params}        the same, but does not wait for what comes back
/// offered                      says what it was offered, and told to use
/// blocks                       says what the prompt was
/// chosen                       says what was set
/// mcp list [SERVER]            says which tools a server has that it was given
/// mcp call NAME {arguments}    tells of a call, makes it, says what came of it
/// mcp ask NAME {arguments}     the same, but asks whether it may
/// mcp late NAME {arguments}    the same, but tells of it afterwards
/// mcp quiet NAME {arguments}   the same, but tells nothing
/// mcp announce NAME {arguments}  tells of a call, and does not make it
/// mcp abandon NAME {arguments} makes a call, and does not wait for its end
/// session   known              says what the session is called, what was said in it
/// variable NAME                says what it finds in its environment
/// spawn                        starts something that stays, says its number
/// wait                         until it is told to stop
/// hang                         does nothing any more, whatever it is told
/// die WORDS                    complains, and is gone
/// error CODE WORDS             answers with an error
/// stop REASON                  answers
/// after LINE                   when it has answered
/// ```
///
/// At the end it answers `end_turn`.
pub fn play() {
    let Ok(how) = std::env::var(AS_AGENT) else {
        return;
    };
    let mut agent = Agent {
        input: std::io::stdin().lock(),
        how,
        asked: 0,
        sessions: 0,
        chosen: Vec::new(),
        offered: Vec::new(),
        terminals: Vec::new(),
        given: BTreeMap::new(),
        servers: Vec::new(),
    };
    agent.work();
    drop(agent);
    std::process::exit(0);
}

struct Agent {
    input: StdinLock<'static>,
    how: String,
    asked: u32,
    sessions: u32,
    chosen: Vec<Value>,
    offered: Vec<Value>,
    terminals: Vec<String>,
    /// The servers of tools that each session was given.
    given: BTreeMap<String, Value>,
    servers: Vec<tools::Server>,
}

/// How a script ended.
enum Ended {
    Answer(Value),
    Error(Value),
}

impl Agent {
    fn work(&mut self) {
        while let Some(message) = self.read() {
            let id = message.get("id").cloned();
            let params = message.get("params").cloned().unwrap_or_default();
            let method = message.get("method").and_then(Value::as_str);
            let Some(id) = id else {
                continue;
            };
            match method.unwrap_or_default() {
                "initialize" => {
                    self.offered
                        .extend(params.get("clientCapabilities").cloned());
                    self.initialize(&id);
                }
                "session/new" => {
                    self.offered.extend(params.get("mcpServers").cloned());
                    self.open(&id, &params);
                }
                "session/prompt" => self.prompt(&id, &params),
                "session/set_mode" => {
                    self.chosen.push(params);
                    answer(&id, &json!({}));
                }
                "session/set_config_option" => self.set(&id, params),
                "session/load" | "session/resume" => self.take_up(&id, &params),
                "session/fork" => self.copy(&id, &params),
                "session/list" => sessions::list(&id, &params),
                "authenticate" => {
                    if let Some(place) = std::env::var_os(SIGNED_IN) {
                        // Who can't be signed in hears of it at the next try.
                        std::fs::write(place, "").unwrap_or_default();
                    }
                    answer(&id, &json!({}));
                }
                "session/close" => answer(&id, &json!({})),
                _ => fail(&id, &json!({"code": -32601, "message": "Method not found"})),
            }
        }
    }

    fn is(&self, word: &str) -> bool {
        self.how.split(' ').any(|how| how == word)
    }

    fn read(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = self.input.read_line(&mut line).unwrap_or_default();
        (read > 0).then(|| serde_json::from_str(&line).unwrap_or_default())
    }

    fn initialize(&mut self, id: &Value) {
        if self.is("silent") {
            return;
        }
        let version = if self.is("old") { 0 } else { 1 };
        answer(
            id,
            &json!({
                "protocolVersion": version,
                "agentCapabilities": {
                    "promptCapabilities": {"embeddedContext": !self.is("plain"), "image": !self.is("plain")},
                    "loadSession": self.is("load"),
                    "mcpCapabilities": {"http": self.is("http")},
                    "sessionCapabilities": {
                        "close": {},
                        "resume": self.is("resume").then(|| json!({})),
                        "fork": self.is("fork").then(|| json!({})),
                        "list": self.is("list").then(|| json!({})),
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

    fn open(&mut self, id: &Value, params: &Value) {
        let signed_in = std::env::var_os(SIGNED_IN);
        let signed_out = signed_in.is_some_and(|place| !std::path::Path::new(&place).exists());
        if self.is("auth") || signed_out {
            let error = json!({"code": -32000, "message": "Authentication required"});
            return fail(id, &error);
        }
        let session = self.name();
        self.take_servers(&session, params);
        if self.is("early") {
            let commands = json!([{"name": "fix", "description": "Fix it"}]);
            let update = json!({"sessionUpdate": "available_commands_update", "availableCommands": commands});
            tell_update(&session, &update);
        }
        let mut opened = json!({"sessionId": session});
        if let (true, Some(opened)) = (self.is("modes"), opened.as_object_mut()) {
            let mut modes = vec![
                json!({"id": "ask", "name": "Ask"}),
                json!({"id": "do", "name": "Do"}),
            ];
            if self.is("trusting") {
                modes.push(json!({"id": "yolo", "name": "Everything"}));
            }
            let modes = json!({"currentModeId": "ask", "availableModes": modes});
            opened.insert("modes".to_owned(), modes);
            opened.insert("configOptions".to_owned(), options("small"));
        }
        answer(id, &opened);
    }

    fn name(&mut self) -> String {
        self.sessions += 1;
        format!("session-{}-{}", std::process::id(), self.sessions)
    }

    /// Keeps the servers of tools that a session is given.
    fn take_servers(&mut self, session: &str, params: &Value) {
        let given = params.get("mcpServers").cloned().unwrap_or_default();
        self.given.insert(session.to_owned(), given);
    }

    fn set(&mut self, id: &Value, params: Value) {
        let value = params
            .get("value")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if value == "forbidden" {
            return fail(id, &json!({"code": -32602, "message": "Not this one"}));
        }
        let value = value.to_owned();
        self.chosen.push(params);
        answer(id, &json!({"configOptions": options(&value)}));
    }

    fn prompt(&mut self, id: &Value, params: &Value) {
        let session = text_of(params, "sessionId");
        let blocks = params.get("prompt").and_then(Value::as_array);
        let texts = blocks.into_iter().flatten();
        let texts = texts.filter_map(|block| block.get("text")?.as_str());
        let told = texts
            .filter(|text| !text.starts_with("What was said before") && !text.trim().is_empty());
        // What the host has to add is no script, but it is remembered.
        let added = |text: &&str| text.starts_with("<agenthost-");
        let text = told.clone().find(|text| !added(text));
        let added: String = told.filter(added).collect();
        memory::keep(session, &(added + text.unwrap_or_default()));
        let mut after = Vec::new();
        let mut ended = Ended::Answer(json!({"stopReason": "end_turn"}));
        for line in text
            .unwrap_or_default()
            .split(['\n'])
            .flat_map(|line| line.split(";;"))
        {
            let line = line.trim();
            if let Some(line) = line.strip_prefix("after ") {
                after.push(line.to_owned());
            } else if let Some(end) = self.line(session, line, params) {
                ended = end;
                break;
            }
        }
        match ended {
            Ended::Answer(result) => answer(id, &result),
            Ended::Error(error) => fail(id, &error),
        }
        for line in after {
            self.line(session, &line, params);
        }
    }

    fn line(&mut self, session: &str, line: &str, params: &Value) -> Option<Ended> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let say = |text: &str| chunk(session, "agent_message_chunk", text);
        let json = || serde_json::from_str::<Value>(rest).unwrap_or_default();
        match word {
            "" => {}
            "say" => say(rest),
            "think" => chunk(session, "agent_thought_chunk", rest),
            "many" => {
                let (count, text) = rest.split_once(' ').unwrap_or((rest, ""));
                flood(session, count.parse().unwrap_or_default(), text);
            }
            "update" => tell_update(session, &json()),
            "raw" => write(rest.as_bytes()),
            "bytes" => write(b"\xff\xfe not text"),
            "endless" => write(&vec![b'x'; 9 * 1024 * 1024]),
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
                    say(&self.outcome(id));
                }
            }
            "mcp" => self.use_tools(session, rest),
            "offered" => say(&Value::Array(self.offered.clone()).to_string()),
            "blocks" => say(&params
                .get("prompt")
                .cloned()
                .unwrap_or_default()
                .to_string()),
            "session" => say(session),
            "known" => say(&memory::of(session).join(", ")),
            "chosen" => say(&Value::Array(self.chosen.clone()).to_string()),
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
                while let Some(message) = self.read() {
                    if message.get("method") == Some(&json!("session/cancel")) {
                        return Some(Ended::Answer(json!({"stopReason": "cancelled"})));
                    }
                }
            }
            "hang" => loop {
                std::thread::park();
            },
            "die" => {
                complain(rest);
                std::process::exit(3);
            }
            "error" => {
                let (code, message) = rest.split_once(' ').unwrap_or((rest, ""));
                let code: i32 = code.parse().unwrap_or_default();
                return Some(Ended::Error(json!({"code": code, "message": message})));
            }
            "stop" => return Some(Ended::Answer(json!({"stopReason": rest}))),
            other => say(&format!("what is `{other}`?")),
        }
        None
    }

    /// Asks something, and waits for the answer.
    fn request(&mut self, method: &str, session: &str, params: Value) -> Value {
        let id = self.send_request(method, session, params);
        let answer = self.wait_for(id);
        answer.get("result").cloned().unwrap_or_default()
    }

    /// What came of a request, in words.
    fn outcome(&mut self, id: u32) -> String {
        let answer = self.wait_for(id);
        let Some(result) = answer.get("result") else {
            return answer.get("error").cloned().unwrap_or_default().to_string();
        };
        let terminal = result.get("terminalId").and_then(Value::as_str);
        self.terminals.extend(terminal.map(str::to_owned));
        result.to_string()
    }

    fn send_request(&mut self, method: &str, session: &str, mut params: Value) -> u32 {
        let id = self.asked;
        self.asked += 1;
        if let Some(params) = params.as_object_mut() {
            let place = params.entry("sessionId");
            place.or_insert_with(|| json!(session));
        }
        send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    fn wait_for(&mut self, id: u32) -> Value {
        while let Some(message) = self.read() {
            if message.get("method").is_none() && message.get("id") == Some(&json!(id)) {
                return message;
            }
        }
        Value::Null
    }
}
