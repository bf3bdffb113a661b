//! An agent that speaks ACP on standard input and output, and does what each
//! prompt says.
//!
//! It is no program of its own: a test runs itself again, as the agent. So it
//! is there whenever the test is. What the test harness prints is noise on its
//! output, and such noise is what real agents make, too.

use std::io::{BufRead, BufWriter, StdinLock, Write};
use std::process::Stdio;

use serde_json::{Value, json};

/// Set for the process that is to be the agent; says how it starts: any of
/// `early`, `auth`, `silent`, `old`, `modes`, `plain`, `http`, separated by
/// spaces.
pub const AS_AGENT: &str = "AGENTHOST_TEST_ACP_AGENT";

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
    };
    agent.work();
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
                    self.open(&id);
                }
                "session/prompt" => self.prompt(&id, &params),
                "session/set_mode" => {
                    self.chosen.push(params);
                    answer(&id, &json!({}));
                }
                "session/set_config_option" => self.set(&id, params),
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
                    "sessionCapabilities": {"close": {}},
                    "mcpCapabilities": {"http": self.is("http")},
                },
                "authMethods": [{"id": "key", "name": "API key"}],
            }),
        );
    }

    fn open(&mut self, id: &Value) {
        if self.is("auth") {
            let error = json!({"code": -32000, "message": "Authentication required"});
            return fail(id, &error);
        }
        self.sessions += 1;
        let session = format!("session-{}", self.sessions);
        if self.is("early") {
            let commands = json!([{"name": "fix", "description": "Fix it"}]);
            let update = json!({"sessionUpdate": "available_commands_update", "availableCommands": commands});
            tell_update(&session, &update);
        }
        let mut opened = json!({"sessionId": session});
        if let (true, Some(opened)) = (self.is("modes"), opened.as_object_mut()) {
            let modes = json!([{"id": "ask", "name": "Ask"}, {"id": "do", "name": "Do"}]);
            let modes = json!({"currentModeId": "ask", "availableModes": modes});
            opened.insert("modes".to_owned(), modes);
            opened.insert("configOptions".to_owned(), options("small"));
        }
        answer(id, &opened);
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
        let text = params.pointer("/prompt/0/text").and_then(Value::as_str);
        let session = params.get("sessionId").and_then(Value::as_str);
        let session = session.unwrap_or_default();
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
        let chunk = |kind: &str, text: &str| {
            let content = json!({"type": "text", "text": text});
            tell_update(session, &json!({"sessionUpdate": kind, "content": content}));
        };
        let say = |text: &str| chunk("agent_message_chunk", text);
        let json = || serde_json::from_str::<Value>(rest).unwrap_or_default();
        match word {
            "" => {}
            "say" => say(rest),
            "think" => chunk("agent_thought_chunk", rest),
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
            "offered" => say(&Value::Array(self.offered.clone()).to_string()),
            "blocks" => say(&params
                .get("prompt")
                .cloned()
                .unwrap_or_default()
                .to_string()),
            "chosen" => say(&Value::Array(self.chosen.clone()).to_string()),
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

fn options(model: &str) -> Value {
    json!([{
        "id": "the-model", "name": "Model", "category": "model", "type": "select", "currentValue": model,
        "options": [
            {"value": "small", "name": "Small"}, {"value": "large", "name": "Large"},
            {"value": "forbidden", "name": "Forbidden"},
        ],
    }])
}

fn tell_update(session: &str, update: &Value) {
    let params = json!({"sessionId": session, "update": update});
    send(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}));
}

fn flood(session: &str, count: usize, text: &str) {
    let content = json!({"type": "text", "text": text});
    let update = json!({"sessionUpdate": "agent_message_chunk", "content": content});
    let params = json!({"sessionId": session, "update": update});
    let line = json!({"jsonrpc": "2.0", "method": "session/update", "params": params});
    let line = format!("{line}\n");
    let mut output = BufWriter::new(std::io::stdout().lock());
    for _ in 0..count {
        // A host that is gone does not want to know.
        output.write_all(line.as_bytes()).unwrap_or_default();
    }
    output.flush().unwrap_or_default();
}

fn answer(id: &Value, result: &Value) {
    send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
}

fn fail(id: &Value, error: &Value) {
    send(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
}

fn send(message: &Value) {
    write(message.to_string().as_bytes());
}

/// A host that is gone does not want to know.
fn write(line: &[u8]) {
    let mut output = std::io::stdout().lock();
    let written = output
        .write_all(line)
        .and_then(|()| output.write_all(b"\n"));
    written.and_then(|()| output.flush()).unwrap_or_default();
}

fn complain(words: &str) {
    let mut output = std::io::stderr().lock();
    output.write_all(words.as_bytes()).unwrap_or_default();
    output.write_all(b"\n").unwrap_or_default();
}
