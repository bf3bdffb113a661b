//! Tests of what the host offers to agents: tools of an MCP server, tools of a client, and rules
//! and skills of the project.

use std::path::Path;

use serde_json::{Value, json};

use crate::entry::{Entry, tool_server};
use crate::host::{Host, gone, processes};
use crate::talk::{Decide, Talk, Told, Turn, calls, said, short};
use crate::tries::{complete, expect};

/// A feature to test, each in a session of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Offer {
    ServerTool,
    ClientTool,
    Instructions,
}

/// All features that are tested while the host is running, in this order.
pub(crate) const OFFERED: &[Offer] = &[Offer::ServerTool, Offer::ClientTool, Offer::Instructions];

/// Texts that occur only in the rule and only in the skill of the project.
const RULE: &str = "Herons are counted at dawn, rule 7531.";
const SKILL: &str = "Wades through ponds, skill 8642.";

impl Offer {
    /// Returns the name of the feature in the report.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Offer::ServerTool => "tool of an MCP server from npm",
            Offer::ClientTool => "client tool",
            Offer::Instructions => "rule and skill of the project",
        }
    }

    /// Runs the test. Returns a description of the result, or the reason of the failure.
    pub(crate) async fn run(self, host: &Host, entry: &Entry, place: &Path) -> Told<String> {
        let name = format!("{self:?}").to_lowercase();
        if self == Offer::Instructions {
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
            Offer::ClientTool => vec![tool()],
            Offer::ServerTool | Offer::Instructions => Vec::new(),
        };
        let mut talk = Talk::begin_with(host, entry, place, &name, &tools).await?;
        let happened = match self {
            Offer::ServerTool => server_tool(&mut talk, "a grey heron").await,
            Offer::ClientTool => client_tool(&mut talk).await,
            Offer::Instructions => instructions(&mut talk, &place.join("model.log")).await,
        };
        let disposed = talk.dispose().await;
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
) -> (Host, Told<String>) {
    let talk = async {
        let mut talk = Talk::begin(&host, entry, place, "killedtools").await?;
        server_tool(&mut talk, "a heron before").await?;
        Ok::<_, String>(talk)
    };
    let talk = talk.await;
    let before = processes(&entry.id);
    let host = host.killed().await;
    let happened = match talk {
        Ok(talk) => resumed(talk, &host, entry, &before).await,
        Err(error) => Err(error),
    };
    (host, happened)
}

async fn resumed(talk: Talk, host: &Host, entry: &Entry, before: &[(u32, String)]) -> Told<String> {
    let server = tool_server().id;
    let ran = before.iter().any(|(_, command)| command.contains(&server));
    expect(ran, "the server did not run before", &format!("{before:?}"))?;
    let left = gone(&entry.id, before).await;
    expect(left.is_empty(), "still runs", &left.join(", "))?;
    let mut talk = talk.again(host).await?;
    let happened = server_tool(&mut talk, "a heron after").await;
    talk.dispose().await?;
    let happened = happened?;
    Ok(format!(
        "no process of the agent, the relay or the MCP server is left; the next turn: {happened}"
    ))
}

/// Makes the model call a tool of the server, and checks that it receives the result.
async fn server_tool(talk: &mut Talk, text: &str) -> Told<String> {
    let server = tool_server().id;
    let order = format!(r#"use: {server}_echo {{"message": "{text}"}}"#);
    let turn = talk.turn(&order, Decide::Approve).await?;
    complete(&turn)?;
    let heard = said(&turn.json, "markdown");
    expect(
        heard.contains("The tool said") && heard.contains(&format!("Echo: {text}")),
        "the model says",
        &heard,
    )?;
    let session = talk.session_state().await?;
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
        &shown(call),
    )?;
    // Some agents have one tool that calls all others, and report that tool.
    let name = match call["toolName"].as_str() {
        Some("echo") => String::new(),
        name => format!(" (named `{}`)", name.unwrap_or_default()),
    };
    expect(call["success"] == true, "the call went", &shown(call))?;
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
async fn client_tool(talk: &mut Talk) -> Told<String> {
    let client = "client-clienttool";
    let turn = talk.say(r#"use: count_herons {"pond": "north"}"#).await?;
    let asked = carry_out(talk, &turn, client).await?;
    let turn = Turn {
        json: talk.checked(&turn).await?,
        asked,
    };
    complete(&turn)?;
    let heard = said(&turn.json, "markdown");
    expect(
        heard.contains("The tool said") && heard.contains("42 herons"),
        "the model says",
        &heard,
    )?;
    let call = only_call(&turn)?;
    expect(
        call["status"] == "completed" && call["success"] == true,
        "the call is",
        &shown(call),
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
async fn carry_out(talk: &mut Talk, turn: &str, client: &str) -> Told<Vec<Value>> {
    let mut asked = Vec::new();
    let mut own = Vec::new();
    let mut done = Vec::new();
    loop {
        let action = talk.next().await?;
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
                talk.decide(&action, Decide::Approve).await?;
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
            talk.dispatch(json!({"type": "chat/toolCallContentChanged", "turnId": turn, "toolCallId": call, "content": half}))
                .await?;
            let whole = json!([{"type": "text", "text": "42 herons"}]);
            let result =
                json!({"success": true, "pastTenseMessage": "Counted herons", "content": whole});
            talk.dispatch(json!({"type": "chat/toolCallComplete", "turnId": turn, "toolCallId": call, "result": result}))
                .await?;
        }
    }
}

/// Checks that each model request contains the rule and the skill of the project exactly once.
async fn instructions(talk: &mut Talk, notes: &Path) -> Told<String> {
    for order in [
        "say: the first heron of two",
        "say: the second heron of two",
    ] {
        let turn = talk.turn(order, Decide::Deny).await?;
        complete(&turn)?;
        let text = said(&turn.json, "markdown");
        let wanted = order.trim_start_matches("say: ");
        expect(text.contains(wanted), "said", &text)?;
        let asked = asked_of_model(notes, order)?;
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
fn asked_of_model(notes: &Path, order: &str) -> Told<String> {
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
fn only_call(turn: &Turn) -> Told<&Value> {
    let calls = calls(&turn.json);
    let all: Vec<_> = calls.iter().map(|call| shown(call)).collect();
    match calls.as_slice() {
        [call] => Ok(call),
        _ => Err(format!("{} calls: {}", all.len(), all.join("; "))),
    }
}

/// Describes a tool call in error messages.
fn shown(call: &Value) -> String {
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
