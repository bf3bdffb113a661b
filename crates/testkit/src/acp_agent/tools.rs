//! Calls tools of the MCP servers that the host gave to the agent.
//!
//! It implements the part of MCP that this requires, one line at a time, and waits for each
//! response.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use super::FakeAgent;
use super::output::{send_chunk, send_update, text_field};
use super::web::HttpToolServer;

/// The server that is used if the script names none.
const DEFAULT_SERVER: &str = "agenthost";

/// A connected MCP server of a session.
pub(super) struct FakeToolServer {
    session: String,
    name: String,
    connection: ServerConnection,
    id_counter: u32,
}

/// The transport of an MCP server.
enum ServerConnection {
    Stdio(StdioServer),
    Http(HttpToolServer),
}

/// An MCP server that runs as a child process.
struct StdioServer {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Drop for StdioServer {
    fn drop(&mut self) {
        // The process may have exited before, so errors are ignored.
        self.process.kill().unwrap_or_default();
        self.process.wait().map(drop).unwrap_or_default();
    }
}

/// The time at which a tool call is reported to the host.
enum CallAnnouncement {
    Before,
    BeforeWithPermission,
    After,
    Never,
}

impl FakeAgent {
    /// Runs a line that begins with `mcp`, and says the result or the error.
    pub(super) fn run_mcp_line(&mut self, session: &str, line: &str) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let said = match word {
            "list" => self.list_tools(session, rest),
            "call" => self.call_tool(session, rest, &CallAnnouncement::Before),
            "ask" => self.call_tool(session, rest, &CallAnnouncement::BeforeWithPermission),
            "late" => self.call_tool(session, rest, &CallAnnouncement::After),
            "quiet" => self.call_tool(session, rest, &CallAnnouncement::Never),
            "announce" => {
                let (tool, input) = parse_tool_call(rest);
                let id = self.new_call_id();
                self.announce(session, &id, tool, &input, "pending");
                Ok(id)
            }
            "abandon" => self.abandon_tool(session, rest),
            other => Err(format!("what is `mcp {other}`?")),
        };
        send_chunk(
            session,
            "agent_message_chunk",
            &said.unwrap_or_else(|why| why),
        );
    }

    fn list_tools(&mut self, session: &str, name: &str) -> Result<String, String> {
        let name = if name.is_empty() {
            DEFAULT_SERVER
        } else {
            name
        };
        let listed = self
            .ensure_server(session, name)?
            .request("tools/list", &json!({}))?;
        let tools = listed.get("tools").and_then(Value::as_array);
        let names = tools.into_iter().flatten();
        let names = names.filter_map(|tool| tool.get("name")?.as_str());
        Ok(names.collect::<Vec<_>>().join(", "))
    }

    fn call_tool(
        &mut self,
        session: &str,
        rest: &str,
        announcement: &CallAnnouncement,
    ) -> Result<String, String> {
        let (tool, input) = parse_tool_call(rest);
        let id = self.new_call_id();
        match announcement {
            CallAnnouncement::Before => self.announce(session, &id, tool, &input, "in_progress"),
            CallAnnouncement::BeforeWithPermission => {
                self.announce(session, &id, tool, &input, "pending");
                if !self.request_permission(session, &id, tool, &input) {
                    return Ok("it was refused".to_owned());
                }
                send_call_update(session, &id, &json!({"status": "in_progress"}));
            }
            CallAnnouncement::After | CallAnnouncement::Never => {}
        }
        let params = json!({"name": tool, "arguments": input});
        let came = self
            .ensure_server(session, DEFAULT_SERVER)?
            .request("tools/call", &params);
        if let CallAnnouncement::After = announcement {
            self.announce(session, &id, tool, &input, "in_progress");
        }
        let failed = match &came {
            Ok(result) => result.get("isError") == Some(&json!(true)),
            Err(_) => true,
        };
        let text = came.map_or_else(|why| why, |result| result_text(&result));
        if !matches!(announcement, CallAnnouncement::Never) {
            let status = if failed { "failed" } else { "completed" };
            let content = json!([{"type": "content", "content": {"type": "text", "text": text}}]);
            send_call_update(
                session,
                &id,
                &json!({"status": status, "content": content, "rawOutput": text}),
            );
        }
        Ok(if failed {
            format!("it failed: {text}")
        } else {
            text
        })
    }

    /// Calls a tool and cancels the call without waiting for its result.
    fn abandon_tool(&mut self, session: &str, rest: &str) -> Result<String, String> {
        let (tool, input) = parse_tool_call(rest);
        let server = self.ensure_server(session, DEFAULT_SERVER)?;
        let params = json!({"name": tool, "arguments": input});
        let id = server.send_request("tools/call", &params)?;
        let params = json!({"requestId": id, "reason": "it takes too long"});
        server.send(
            &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}),
        )?;
        Ok("abandoned".to_owned())
    }

    fn new_call_id(&mut self) -> String {
        self.id_counter += 1;
        format!("call-{}", self.id_counter)
    }

    /// Reports a tool call, in the style of one of several agents.
    fn announce(&self, session: &str, id: &str, tool: &str, input: &Value, status: &str) {
        let mut call = json!({"sessionUpdate": "tool_call", "toolCallId": id, "kind": "other",
            "status": status, "title": self.call_title(tool), "rawInput": input});
        if let (true, Some(call)) = (self.has_mode("codex"), call.as_object_mut()) {
            let input = json!({"server": DEFAULT_SERVER, "tool": tool, "arguments": input});
            call.insert("rawInput".to_owned(), input);
        }
        send_update(session, &call);
    }

    fn call_title(&self, tool: &str) -> String {
        if self.has_mode("codex") {
            format!("Tool: {DEFAULT_SERVER}/{tool}")
        } else if self.has_mode("gemini") {
            format!("{tool} ({DEFAULT_SERVER} MCP Server)")
        } else if self.has_mode("goose") {
            format!("{DEFAULT_SERVER}: {tool}")
        } else {
            format!("mcp__{DEFAULT_SERVER}__{tool}")
        }
    }

    /// Requests permission for a tool call. Returns `true` if it was granted.
    fn request_permission(&mut self, session: &str, id: &str, tool: &str, input: &Value) -> bool {
        let options = json!([
            {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
            {"optionId": "no", "name": "No", "kind": "reject_once"},
        ]);
        let call = json!({"toolCallId": id, "title": self.call_title(tool), "rawInput": input});
        let params = json!({"toolCall": call, "options": options});
        let outcome = self.request("session/request_permission", session, params);
        outcome.pointer("/outcome/optionId") == Some(&json!("yes"))
    }

    /// Returns an MCP server of a session, which is started on first use.
    fn ensure_server(&mut self, session: &str, name: &str) -> Result<&mut FakeToolServer, String> {
        let its = |server: &FakeToolServer| server.session == session && server.name == name;
        let running = self.running_servers.iter().position(its);
        let index = match running {
            Some(place) => place,
            None => {
                let declared = self.session_servers.get(session).and_then(Value::as_array);
                let named = |server: &&Value| server.get("name") == Some(&json!(name));
                let given = declared.and_then(|given| given.iter().find(named));
                let given = given.ok_or_else(|| format!("there is no server `{name}`"))?;
                let server = FakeToolServer::start(session, name, given)?;
                self.running_servers.push(server);
                self.running_servers.len() - 1
            }
        };
        self.running_servers
            .get_mut(index)
            .ok_or_else(|| "it is gone".to_owned())
    }
}

impl FakeToolServer {
    fn start(session: &str, name: &str, given: &Value) -> Result<Self, String> {
        let way = match given.get("url") {
            Some(_) => ServerConnection::Http(HttpToolServer::new(given)?),
            None => ServerConnection::Stdio(StdioServer::start(name, given)?),
        };
        let mut server = FakeToolServer {
            session: session.to_owned(),
            name: name.to_owned(),
            connection: way,
            id_counter: 0,
        };
        let info = json!({"name": "scripted", "version": "1.2.3"});
        let hello =
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info});
        server.request("initialize", &hello)?;
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(server)
    }

    /// Sends a request and waits for its result.
    fn request(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        if let ServerConnection::Http(server) = &mut self.connection {
            self.id_counter += 1;
            let asked = self.id_counter;
            let asked = json!({"jsonrpc": "2.0", "id": asked, "method": method, "params": params});
            return parse_outcome(&server.post(&asked)?);
        }
        let id = self.send_request(method, params)?;
        loop {
            let ServerConnection::Stdio(program) = &mut self.connection else {
                return Err("it is no program".to_owned());
            };
            let mut line = String::new();
            let read = program.output.read_line(&mut line);
            if read.map_err(|error| error.to_string())? == 0 {
                return Err(format!("`{}` has ended", self.name));
            }
            // Lines that are not messages are noise.
            let Ok(message) = serde_json::from_str::<Value>(&line) else {
                continue;
            };
            match (message.get("method"), message.get("id")) {
                (None, Some(of)) if *of == json!(id) => return parse_outcome(&message),
                // Requests of the server get an empty result.
                (Some(_), Some(asked)) => {
                    self.send(&json!({"jsonrpc": "2.0", "id": asked, "result": {}}))?;
                }
                _ => {}
            }
        }
    }

    fn send_request(&mut self, method: &str, params: &Value) -> Result<u32, String> {
        self.id_counter += 1;
        let id = self.id_counter;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        Ok(id)
    }

    fn send(&mut self, message: &Value) -> Result<(), String> {
        match &mut self.connection {
            ServerConnection::Http(server) => server.post(message).map(drop),
            ServerConnection::Stdio(program) => {
                let input = &mut program.input;
                let written = writeln!(input, "{message}").and_then(|()| input.flush());
                written.map_err(|error| error.to_string())
            }
        }
    }
}

impl StdioServer {
    fn start(name: &str, given: &Value) -> Result<Self, String> {
        let listed = |key: &str| given.get(key).and_then(Value::as_array);
        let mut command = Command::new(text_field(given, "command"));
        command.args(
            listed("args")
                .into_iter()
                .flatten()
                .filter_map(Value::as_str),
        );
        for variable in listed("env").into_iter().flatten() {
            command.env(text_field(variable, "name"), text_field(variable, "value"));
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("start `{name}`: {error}"))?;
        let (input, output) = (process.stdin.take(), process.stdout.take());
        let (input, output) = input.zip(output).ok_or("it has no pipes")?;
        Ok(StdioServer {
            process,
            input,
            output: BufReader::new(output),
        })
    }
}

/// Returns the result of a response, or its error message.
fn parse_outcome(message: &Value) -> Result<Value, String> {
    let error = message.pointer("/error/message").and_then(Value::as_str);
    match error {
        Some(error) => Err(error.to_owned()),
        None => Ok(message.get("result").cloned().unwrap_or_default()),
    }
}

fn send_call_update(session: &str, id: &str, more: &Value) {
    let mut update = json!({"sessionUpdate": "tool_call_update", "toolCallId": id});
    if let (Some(update), Some(more)) = (update.as_object_mut(), more.as_object()) {
        update.extend(more.clone());
    }
    send_update(session, &update);
}

fn parse_tool_call(rest: &str) -> (&str, Value) {
    let (tool, input) = rest.split_once(' ').unwrap_or((rest, "{}"));
    (tool, serde_json::from_str(input).unwrap_or_default())
}

/// Returns the text of a tool result.
fn result_text(result: &Value) -> String {
    let content = result.get("content").and_then(Value::as_array);
    let texts = content.into_iter().flatten();
    let texts = texts.filter_map(|block| block.get("text")?.as_str());
    texts.collect::<Vec<_>>().join("\n")
}
