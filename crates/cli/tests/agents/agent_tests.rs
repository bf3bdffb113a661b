//! Tests that every agent has to pass, and the results that they expect.

use std::path::Path;

use agenthost_testkit::model::script::{THOUGHT_REPLY, WRITTEN_FILE_TEXT};
use ahp::SubscriptionEvent;
use ahp::reducers::apply_action_to_changeset;
use ahp_types::state::SnapshotState;
use serde_json::{Value, json};

use crate::agent_chat::{
    AGENT_TIMEOUT, AgentChat, Decide, MODEL_ERROR_TIMEOUT, StepResult, Turn, calls, short,
    text_of_parts,
};
use crate::agent_entry::Entry;
use crate::host::Host;

/// A behavior to test, each in a session of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AgentTest {
    Text,
    Reasoning,
    Approved,
    Denied,
    Written,
    CancelledInStream,
    CancelledOnQuestion,
    ModelError,
    SecondMessage,
}

/// All behaviors that are tested while the host is running, in this order.
pub(crate) const AGENT_TESTS: &[AgentTest] = &[
    AgentTest::Text,
    AgentTest::Reasoning,
    AgentTest::Approved,
    AgentTest::Denied,
    AgentTest::Written,
    AgentTest::CancelledInStream,
    AgentTest::CancelledOnQuestion,
    AgentTest::ModelError,
    AgentTest::SecondMessage,
];

impl AgentTest {
    /// Returns the name of the behavior in the report.
    pub(crate) fn name(self) -> &'static str {
        match self {
            AgentTest::Text => "text",
            AgentTest::Reasoning => "reasoning",
            AgentTest::Approved => "command, approved",
            AgentTest::Denied => "command, denied",
            AgentTest::Written => "file written",
            AgentTest::CancelledInStream => "cancel while the agent streams",
            AgentTest::CancelledOnQuestion => "cancel while an approval is pending",
            AgentTest::ModelError => "model error (500)",
            AgentTest::SecondMessage => "second message during a turn",
        }
    }

    /// Runs the test. Returns a description of the result, or the reason of the failure.
    pub(crate) async fn run(self, host: &Host, entry: &Entry, place: &Path) -> StepResult<String> {
        let name = format!("{self:?}").to_lowercase();
        let mut agent_chat = AgentChat::begin(host, entry, place, &name).await?;
        let happened = match self {
            AgentTest::Text => text(&mut agent_chat).await,
            AgentTest::Reasoning => reasoning(&mut agent_chat).await,
            AgentTest::Approved => approved(&mut agent_chat).await,
            AgentTest::Denied => denied(&mut agent_chat).await,
            AgentTest::Written => written(&mut agent_chat).await,
            AgentTest::CancelledInStream => cancelled_in_stream(&mut agent_chat).await,
            AgentTest::CancelledOnQuestion => cancelled_on_question(&mut agent_chat).await,
            AgentTest::ModelError => model_error(&mut agent_chat).await,
            AgentTest::SecondMessage => second_message(&mut agent_chat).await,
        };
        let disposed = agent_chat.dispose().await;
        let happened = happened?;
        disposed.map(|()| happened)
    }
}

async fn text(agent_chat: &mut AgentChat) -> StepResult<String> {
    let turn = agent_chat
        .turn("say: a heron stands still", Decide::Deny)
        .await?;
    complete(&turn)?;
    let text = text_of_parts(&turn.json, "markdown");
    expect(text.contains("a heron stands still"), "said", &text)?;
    let usage = &turn.json["usage"];
    let tokens = match (
        usage["inputTokens"].as_u64(),
        usage["outputTokens"].as_u64(),
    ) {
        (Some(_), Some(_)) => ", with token counts",
        _ if usage["_meta"].is_object() => ", with context usage",
        _ => "",
    };
    Ok(format!("the text of the model is shown{tokens}"))
}

async fn reasoning(agent_chat: &mut AgentChat) -> StepResult<String> {
    let turn = agent_chat
        .turn("think: herons are patient", Decide::Deny)
        .await?;
    complete(&turn)?;
    let text = text_of_parts(&turn.json, "markdown");
    expect(text.contains(THOUGHT_REPLY), "said", &text)?;
    let thought = text_of_parts(&turn.json, "reasoning");
    expect(thought.contains("herons are patient"), "thought", &thought)?;
    Ok("the reasoning of the model is shown, separate from the text".to_owned())
}

async fn approved(agent_chat: &mut AgentChat) -> StepResult<String> {
    let order = agent_chat
        .commands
        .order("touch approved.txt && echo is there");
    let turn = agent_chat.turn(&order, Decide::Approve).await?;
    complete(&turn)?;
    let asked = permission_options(&turn)?;
    let calls = calls(&turn.json);
    let call = calls.last().ok_or("there is no tool call")?;
    expect(
        call["status"] == "completed",
        "the call is",
        &call["status"].to_string(),
    )?;
    expect(call["success"] == true, "the call went", &call.to_string())?;
    expect(
        agent_chat.folder.join("approved.txt").exists(),
        "the command ran",
        "not",
    )?;
    let shown = match call["content"].to_string().contains("is there") {
        true => "its output is shown",
        false => "its output is not shown",
    };
    Ok(format!("required approval ({asked}), then ran; {shown}"))
}

async fn denied(agent_chat: &mut AgentChat) -> StepResult<String> {
    let order = agent_chat.commands.order("touch denied.txt");
    let turn = agent_chat.turn(&order, Decide::Deny).await?;
    let asked = permission_options(&turn)?;
    expect(
        !agent_chat.folder.join("denied.txt").exists(),
        "the command ran",
        "although denied",
    )?;
    let calls = calls(&turn.json);
    let call = calls.last().ok_or("there is no tool call")?;
    expect(
        call["status"] == "cancelled",
        "the call is",
        &call["status"].to_string(),
    )?;
    let after = match turn.json["state"].as_str() {
        Some("complete") => match text_of_parts(&turn.json, "systemNotification") {
            notice if notice.is_empty() => "the model received the denial and continued".to_owned(),
            notice => format!("the agent ended the turn: “{notice}”"),
        },
        state => format!("the turn ended as {}", state.unwrap_or("nothing")),
    };
    Ok(format!("required approval ({asked}), did not run; {after}"))
}

async fn written(agent_chat: &mut AgentChat) -> StepResult<String> {
    let path = agent_chat.folder.join("notes.txt");
    let order = format!("write: {}", path.display());
    let turn = agent_chat.turn(&order, Decide::Approve).await?;
    complete(&turn)?;
    let is = std::fs::read_to_string(&path).unwrap_or_default();
    expect(is == WRITTEN_FILE_TEXT, "in the file is", &is)?;
    let turn_id = turn.json["id"].as_str().unwrap_or_default();
    let channel = format!("{}/changeset/turn/{turn_id}", agent_chat.session);
    let lines = changed(agent_chat, &channel, "notes.txt").await?;
    let asked = match turn.asked.len() {
        0 => "required no approval",
        _ => "required approval",
    };
    let calls = calls(&turn.json);
    let edits = calls
        .iter()
        .any(|call| call.to_string().contains("fileEdit"));
    let edits = match edits {
        true => "the call shows the edit",
        false => "the call shows no edit",
    };
    Ok(format!(
        "{asked}; the file is written and in the changeset (+{lines}); {edits}"
    ))
}

/// Cancels a turn. Returns a description of the next turn.
async fn cancel(agent_chat: &mut AgentChat, turn: &str) -> StepResult<String> {
    agent_chat.cancel(turn).await?;
    let turn = agent_chat.finish(turn, Decide::Deny).await?;
    expect(
        turn.json["state"] == "cancelled",
        "the turn is",
        &turn.json["state"].to_string(),
    )?;
    check_next_message(agent_chat).await
}

async fn cancelled_in_stream(agent_chat: &mut AgentChat) -> StepResult<String> {
    let turn = agent_chat.start_turn("slow: 600").await?;
    agent_chat.until(ticks).await?;
    let after = cancel(agent_chat, &turn).await?;
    Ok(format!("the turn is cancelled; {after}"))
}

async fn cancelled_on_question(agent_chat: &mut AgentChat) -> StepResult<String> {
    let order = agent_chat.commands.order("touch never.txt");
    let turn = agent_chat.start_turn(&order).await?;
    let asks =
        |action: &Value| action["type"] == "chat/toolCallReady" && action["confirmed"].is_null();
    agent_chat.until(asks).await?;
    let after = cancel(agent_chat, &turn).await?;
    expect(
        !agent_chat.folder.join("never.txt").exists(),
        "the command ran",
        "although cancelled",
    )?;
    Ok(format!(
        "the turn is cancelled, the command did not run; {after}"
    ))
}

async fn model_error(agent_chat: &mut AgentChat) -> StepResult<String> {
    let id = agent_chat.start_turn("fail: 500").await?;
    agent_chat.patience = MODEL_ERROR_TIMEOUT;
    let finished = agent_chat.finish(&id, Decide::Deny).await;
    agent_chat.patience = AGENT_TIMEOUT;
    let happened = match finished {
        Ok(turn) if turn.json["state"] == "error" => {
            let parts = turn.json["responseParts"].as_array();
            let error = parts.and_then(|parts| parts.last());
            let message = error.map(|part| short(&part["error"]["message"]));
            format!("the turn failed: “{}”", message.unwrap_or_default())
        }
        Ok(turn) => {
            let text = text_of_parts(&turn.json, "markdown");
            let text = match text.is_empty() {
                true => text_of_parts(&turn.json, "systemNotification"),
                false => text,
            };
            let text: String = text.chars().take(160).collect();
            format!("the agent reports it as text: “{}”", text.trim())
        }
        Err(silence) if silence.starts_with("nothing for") => {
            agent_chat.cancel(&id).await?;
            agent_chat.finish(&id, Decide::Deny).await?;
            format!("the agent sent {silence}, and the turn was cancelled")
        }
        Err(error) => return Err(error),
    };
    let after = check_next_message(agent_chat).await?;
    Ok(format!("{happened}; {after}"))
}

async fn second_message(agent_chat: &mut AgentChat) -> StepResult<String> {
    let first = agent_chat.start_turn("slow: 30").await?;
    agent_chat.until(ticks).await?;
    agent_chat
        .dispatch(json!({
            "type": "chat/pendingMessageSet", "kind": "queued", "id": "m1",
            "message": {"text": "say: the second heron", "origin": {"kind": "user"}},
        }))
        .await?;
    let first = agent_chat.finish(&first, Decide::Deny).await?;
    complete(&first)?;
    let heard = text_of_parts(&first.json, "markdown")
        .matches("tick")
        .count();
    expect(heard == 30, "pieces of the first", &heard.to_string())?;
    let started = agent_chat
        .until(|action| action["type"] == "chat/turnStarted")
        .await?;
    let second = started["turnId"].as_str().unwrap_or_default().to_owned();
    let second = agent_chat.finish(&second, Decide::Deny).await?;
    complete(&second)?;
    let text = text_of_parts(&second.json, "markdown");
    expect(text.contains("the second heron"), "said", &text)?;
    Ok("the host queued it; it is answered after the first, which is complete".to_owned())
}

/// Checks that the agent answers another message in the same chat.
async fn check_next_message(agent_chat: &mut AgentChat) -> StepResult<String> {
    let turn = agent_chat
        .turn("say: the heron is still there", Decide::Deny)
        .await?;
    complete(&turn)?;
    let text = text_of_parts(&turn.json, "markdown");
    expect(
        text.contains("the heron is still there"),
        "said after that",
        &text,
    )?;
    let notice = text_of_parts(&turn.json, "systemNotification");
    Ok(match notice.is_empty() {
        true => "the next message is answered".to_owned(),
        false => format!("the next message is answered: “{notice}”"),
    })
}

/// Waits until a changeset contains a file. Returns the number of added lines.
async fn changed(agent_chat: &AgentChat, channel: &str, name: &str) -> StepResult<u64> {
    let subscribed = agent_chat.client.subscribe(channel.to_owned()).await;
    let (result, mut actions) = subscribed.map_err(|error| format!("{channel}: {error}"))?;
    let state = result.snapshot.map(|snapshot| snapshot.state);
    let Some(SnapshotState::Changeset(state)) = state else {
        return Err("the changeset has no state".to_owned());
    };
    let mut state = *state;
    loop {
        let now = json!(state);
        let files = now["files"].as_array().into_iter().flatten();
        let mut files = files.filter(|file| file["id"].to_string().contains(name));
        if let Some(file) = files.next() {
            return Ok(file["edit"]["diff"]["added"].as_u64().unwrap_or_default());
        }
        match tokio::time::timeout(AGENT_TIMEOUT, actions.recv()).await {
            Ok(Some(SubscriptionEvent::Action(envelope))) => {
                apply_action_to_changeset(&mut state, &envelope.action);
            }
            Ok(Some(_)) => {}
            Ok(None) => return Err("the connection ended".to_owned()),
            Err(_) => {
                return Err(format!(
                    "the changeset does not show {name}: {}",
                    short(&now)
                ));
            }
        }
    }
}

/// Returns `true` if the action is a piece of a slow answer.
pub(crate) fn ticks(action: &Value) -> bool {
    let content = match action["type"].as_str() {
        Some("chat/delta") => &action["content"],
        Some("chat/responsePart") => &action["part"]["content"],
        _ => return false,
    };
    content.as_str().is_some_and(|text| text.contains("tick"))
}

/// Returns the labels of the options of the first permission request.
fn permission_options(turn: &Turn) -> StepResult<String> {
    let Some(options) = turn.asked.first() else {
        let text = text_of_parts(&turn.json, "markdown");
        return Err(format!("the agent did not ask: “{}”", short(&json!(text))));
    };
    let options = options.as_array().into_iter().flatten();
    let labels: Vec<_> = options.map(|option| short(&option["label"])).collect();
    Ok(labels.join(" / "))
}

/// Checks that a turn is complete.
pub(crate) fn complete(turn: &Turn) -> StepResult<()> {
    let state = turn.json["state"].as_str().unwrap_or_default();
    if state == "complete" {
        return Ok(());
    }
    let parts = turn.json["responseParts"].as_array();
    let last = parts.and_then(|parts| parts.last()).map(short);
    Err(format!("the turn is {state}: {}", last.unwrap_or_default()))
}

/// Checks a condition. The error says what was found instead.
pub(crate) fn expect(holds: bool, what: &str, is: &str) -> StepResult<()> {
    if holds {
        return Ok(());
    }
    let is: String = is.chars().take(200).collect();
    Err(format!("{what}: {is}"))
}
