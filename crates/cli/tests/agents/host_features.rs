//! Tests of what the host offers to agents: tools of an MCP server, tools of a client, and rules
//! and skills of the project.

use std::path::Path;

use serde_json::{Value, json};

use crate::agent_chat::{AgentChat, Decide, StepResult, Turn, calls, short, text_of_parts};
use crate::agent_entry::{Entry, tool_server};
use crate::agent_tests::{complete, expect};
use crate::host::{Host, processes, wait_until_gone};

/// A feature to test, each in a session of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HostFeature {
    ServerTool,
    ClientTool,
    Instructions,
}

/// All features that are tested while the host is running, in this order.
pub(crate) const HOST_FEATURES: &[HostFeature] = &[
    HostFeature::ServerTool,
    HostFeature::ClientTool,
    HostFeature::Instructions,
];

/// Texts that occur only in the rule and only in the skill of the project.
const RULE: &str = "Herons are counted at dawn, rule 7531.";
const SKILL: &str = "Wades through ponds, skill 8642.";

impl HostFeature {
    /// Returns the name of the feature in the report.
    pub(crate) fn name(self) -> &'static str {
        match self {
            HostFeature::ServerTool => "tool of an MCP server from npm",
            HostFeature::ClientTool => "client tool",
            HostFeature::Instructions => "rule and skill of the project",
        }
    }

    /// Runs the test. Returns a description of the result, or the reason of the failure.
    pub(crate) async fn run(self, host: &Host, entry: &Entry, place: &Path) -> StepResult<String> {
        let name = format!("{self:?}").to_lowercase();
        if self == HostFeature::Instructions {
            let folder = place.join("work").join(&name);
            write(
                &folder.join(".agents/rules/dawn.md"),
                &format!("---\nalwaysApply: true\n---\n{RULE}\n"),
            );
            write(
                &folder.join(".agents/skills/wade/SKILL.md"),
                &format!("---\nname: wade\ndescription: {SKILL}\n---\nWade slowly.\n"),
            );
        }
        let tools = match self {
            HostFeature::ClientTool => vec![tool()],
            HostFeature::ServerTool | HostFeature::Instructions => Vec::new(),
        };
        let mut agent_chat = AgentChat::begin_with(host, entry, place, &name, &tools).await?;
        let happened = match self {
            HostFeature::ServerTool => server_tool(&mut agent_chat, "a grey heron").await,
            HostFeature::ClientTool => client_tool(&mut agent_chat).await,
            HostFeature::Instructions => {
                instructions(&mut agent_chat, &place.join("model.log")).await
            }
        };
        let disposed = agent_chat.dispose().await;
        let happened = happened?;
        disposed.map(|()| happened)
    }
}

/// Kills the host between two turns that use a tool. Returns the new host, and the result of the
/// test.
pub(crate) async fn killed_with_tools(
    host: Host,
    entry: &Entry,
    place: &Path,
) -> (Host, StepResult<String>) {
    let agent_chat = async {
        let mut agent_chat = AgentChat::begin(&host, entry, place, "killedtools").await?;
        server_tool(&mut agent_chat, "a heron before").await?;
        Ok::<_, String>(agent_chat)
    };
    let agent_chat = agent_chat.await;
    let before = processes(&entry.id);
    let host = host.killed().await;
    let happened = match agent_chat {
        Ok(agent_chat) => resumed(agent_chat, &host, entry, &before).await,
        Err(error) => Err(error),
    };
    (host, happened)
}

async fn resumed(
    agent_chat: AgentChat,
    host: &Host,
    entry: &Entry,
    before: &[(u32, String)],
) -> StepResult<String> {
    let server = tool_server().id;
    let ran = before.iter().any(|(_, command)| command.contains(&server));
    expect(ran, "the server did not run before", &format!("{before:?}"))?;
    let left = wait_until_gone(&entry.id, before).await;
    expect(left.is_empty(), "still runs", &left.join(", "))?;
    let mut agent_chat = agent_chat.again(host).await?;
    let happened = server_tool(&mut agent_chat, "a heron after").await;
    agent_chat.dispose().await?;
    let happened = happened?;
    Ok(format!(
        "no process of the agent, the relay or the MCP server is left; the next turn: {happened}"
    ))
}

/// Makes the model call a tool of the server, and checks that it receives the result.
async fn server_tool(agent_chat: &mut AgentChat, text: &str) -> StepResult<String> {
    let server = tool_server().id;
    let order = format!(r#"use: {server}_echo {{"message": "{text}"}}"#);
    let turn = agent_chat.turn(&order, Decide::Approve).await?;
    complete(&turn)?;
    let heard = text_of_parts(&turn.json, "markdown");
    expect(
        heard.contains("The tool said") && heard.contains(&format!("Echo: {text}")),
        "the model says",
        &heard,
    )?;
    let session = agent_chat.session_state().await?;
    let all = session["customizations"].as_array().into_iter().flatten();
    let mut all = all.filter(|one| one["name"] == server.as_str());
    let known = all.next().ok_or("the session does not show the server")?;
    expect(
        known["state"]["kind"] == "ready",
        "the server is",
        &known["state"].to_string(),
    )?;
    let call = only_call(&turn)?;
    let wanted = json!({"kind": "mcp", "customizationId": known["id"]});
    expect(
        call["contributor"] == wanted,
        "the call is shown as",
        &describe_call(call),
    )?;
    // Some agents have one tool that calls all others, and report that tool.
    let name = match call["toolName"].as_str() {
        Some("echo") => String::new(),
        name => format!(" (named `{}`)", name.unwrap_or_default()),
    };
    expect(
        call["success"] == true,
        "the call went",
        &describe_call(call),
    )?;
    let output = match call["content"].to_string().contains(text) {
        true => "its result is shown",
        false => "its result is not shown",
    };
    let asked = asked(&turn);
    Ok(format!(
        "{asked}, ran as a tool of the MCP server{name}; {output} and reached the model"
    ))
}

/// Returns a tool of the client.
fn tool() -> Value {
    let schema = json!({
        "type": "object", "properties": {"pond": {"type": "string"}}, "required": ["pond"],
    });
    json!({
        "name": "count_herons", "title": "Count herons",
        "description": "Counts the herons of a pond", "inputSchema": schema,
    })
}

/// Makes the model call a tool of the client, and carries the tool out.
async fn client_tool(agent_chat: &mut AgentChat) -> StepResult<String> {
    let client = "client-clienttool";
    let turn = agent_chat
        .start_turn(r#"use: count_herons {"pond": "north"}"#)
        .await?;
    let asked = run_client_tool(agent_chat, &turn, client).await?;
    let turn = Turn {
        json: agent_chat.checked(&turn).await?,
        asked,
    };
    complete(&turn)?;
    let heard = text_of_parts(&turn.json, "markdown");
    expect(
        heard.contains("The tool said") && heard.contains("42 herons"),
        "the model says",
        &heard,
    )?;
    let call = only_call(&turn)?;
    expect(
        call["status"] == "completed" && call["success"] == true,
        "the call is",
        &describe_call(call),
    )?;
    expect(
        call["content"].to_string().contains("42 herons"),
        "in the call is",
        &call["content"].to_string(),
    )?;
    let asked = match turn.asked.len() {
        0 => "required no approval",
        _ => "required approval",
    };
    Ok(format!(
        "{asked}; the client received the call, streamed its output and completed it; the model received the result; one call is shown"
    ))
}

/// Acts as the client until the turn ends: approves calls, streams output and completes calls.
/// Returns the options of each approval request.
async fn run_client_tool(
    agent_chat: &mut AgentChat,
    turn: &str,
    client: &str,
) -> StepResult<Vec<Value>> {
    let mut asked = Vec::new();
    let mut own = Vec::new();
    let mut done = Vec::new();
    loop {
        let action = agent_chat.next().await?;
        let call = &action["toolCallId"];
        let runs = match action["type"].as_str().unwrap_or_default() {
            "chat/toolCallStart" => {
                let contributor = &action["contributor"];
                if *contributor == json!({"kind": "client", "clientId": client}) {
                    own.push(call.clone());
                }
                false
            }
            "chat/toolCallReady" if action["confirmed"].is_null() => {
                agent_chat.decide(&action, Decide::Approve).await?;
                asked.push(action["options"].clone());
                false
            }
            "chat/toolCallReady" => true,
            "chat/toolCallConfirmed" => action["approved"] == true,
            "chat/turnComplete" | "chat/turnCancelled" | "chat/error"
                if action["turnId"] == turn =>
            {
                expect(
                    own.len() == 1,
                    "calls that were started for the client",
                    &own.len().to_string(),
                )?;
                return Ok(asked);
            }
            _ => false,
        };
        if runs && own.contains(call) && !done.contains(call) {
            done.push(call.clone());
            let half = json!([{"type": "text", "text": "counting"}]);
            agent_chat.dispatch(json!({"type": "chat/toolCallContentChanged", "turnId": turn, "toolCallId": call, "content": half}))
                .await?;
            let whole = json!([{"type": "text", "text": "42 herons"}]);
            let result =
                json!({"success": true, "pastTenseMessage": "Counted herons", "content": whole});
            agent_chat.dispatch(json!({"type": "chat/toolCallComplete", "turnId": turn, "toolCallId": call, "result": result}))
                .await?;
        }
    }
}

/// Checks that each model request contains the rule and the skill of the project exactly once.
async fn instructions(agent_chat: &mut AgentChat, notes: &Path) -> StepResult<String> {
    for order in [
        "say: the first heron of two",
        "say: the second heron of two",
    ] {
        let turn = agent_chat.turn(order, Decide::Deny).await?;
        complete(&turn)?;
        let text = text_of_parts(&turn.json, "markdown");
        let wanted = order.trim_start_matches("say: ");
        expect(text.contains(wanted), "said", &text)?;
        let asked = last_model_request(notes, order)?;
        for (what, words) in [("rule", RULE), ("skill", SKILL)] {
            let times = asked.matches(words).count();
            expect(
                times == 1,
                &format!("times that the {what} reached the model with “{order}”"),
                &times.to_string(),
            )?;
        }
    }
    Ok("both reached the model exactly once, also with the second message".to_owned())
}

/// Returns the last model request with this message and with tools. Requests without tools are for
/// titles and the like.
fn last_model_request(notes: &Path, order: &str) -> StepResult<String> {
    let notes = std::fs::read_to_string(notes).map_err(|error| error.to_string())?;
    let notes = notes.lines().rev();
    let notes = notes.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut asked = notes.filter_map(|note| {
        let tools = note["asked"]["tools"].as_array()?;
        let text = note["asked"].to_string();
        (!tools.is_empty() && text.contains(order)).then_some(text)
    });
    asked.next().ok_or("the model was not asked".to_owned())
}

/// Returns the only tool call of a turn; fails if there is not exactly one.
fn only_call(turn: &Turn) -> StepResult<&Value> {
    let calls = calls(&turn.json);
    let all: Vec<_> = calls.iter().map(|call| describe_call(call)).collect();
    match calls.as_slice() {
        [call] => Ok(call),
        _ => Err(format!("{} calls: {}", all.len(), all.join("; "))),
    }
}

/// Describes a tool call in error messages.
fn describe_call(call: &Value) -> String {
    let (name, title) = (&call["toolName"], short(&call["displayName"]));
    let (status, whose) = (&call["status"], &call["contributor"]);
    format!("{name} “{title}” {status} of {whose}")
}

fn asked(turn: &Turn) -> String {
    let Some(options) = turn.asked.first() else {
        return "required no approval".to_owned();
    };
    let options = options.as_array().into_iter().flatten();
    let labels: Vec<_> = options.map(|option| short(&option["label"])).collect();
    format!("required approval ({})", labels.join(" / "))
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}
