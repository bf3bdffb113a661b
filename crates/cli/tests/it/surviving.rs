//! `kill -9` of the host while agents and terminals work: the runner keeps them, and the next
//! host continues the same turns.

use std::path::Path;

use serde_json::{Value as Json, json};

use crate::acp::configure;
use crate::killed::{CHAT, Client, Host, SESSION};

/// Number of kills of the longest test. `KILLS=1000` in the environment makes a long run.
const KILLS: u32 = 50;

/// Starts a host with the scripted agent, and a client with a session.
async fn start(directory: &Path, provider: &str) -> (Host, Client) {
    configure(directory, "");
    let host = Host::start(directory).await;
    let mut client = Client::connect(&host).await;
    client.initialize("a").await;
    let folder = directory.join("project");
    std::fs::create_dir_all(&folder).unwrap();
    let folder = format!("file://{}", folder.display());
    let session = json!({"channel": SESSION, "provider": provider, "workingDirectories": [folder]});
    client.request("createSession", session).await;
    client.until_ready().await;
    client.subscribe().await;
    (host, client)
}

async fn start_turn(client: &mut Client, id: &str, text: &str) {
    let message = json!({"text": text, "origin": {"kind": "user"}});
    let start = json!({"type": "chat/turnStarted", "turnId": id, "startedAt": "2026-01-05T09:00:00Z", "message": message});
    client.dispatch(start).await;
}

/// Kills the host, starts the next one and resumes.
async fn survive(directory: &Path, host: Host, client: Client) -> (Host, Client) {
    survive_with(directory, host, client, &[CHAT]).await
}

/// Like [`survive`], with the subscriptions of the client.
async fn survive_with(
    directory: &Path,
    host: Host,
    mut client: Client,
    channels: &[&str],
) -> (Host, Client) {
    let runner = host.runner();
    host.kill();
    // Messages that the host sent before it was killed count as seen, too.
    while client.receive().await.is_some() {}
    let host = Host::start(directory).await;
    assert_eq!(host.runner(), runner, "the runner was replaced");
    let client = client.reconnect(&host, channels).await;
    (host, client)
}

/// Waits until this many turns have ended.
async fn until_turns(client: &mut Client, count: usize) {
    while client.text()["turns"].as_array().unwrap().len() < count {
        client.receive().await.unwrap();
    }
}

/// Returns the state and the text of each turn.
fn outcomes(client: &Client) -> Vec<(String, String)> {
    let chat = client.text();
    let turns = chat["turns"].as_array().unwrap().iter();
    turns
        .map(|turn| {
            let parts = turn["responseParts"].as_array().unwrap().iter();
            let text: String = parts.filter_map(|part| part["content"].as_str()).collect();
            (turn["state"].as_str().unwrap().to_owned(), text)
        })
        .collect()
}

fn complete(text: &str) -> (String, String) {
    ("complete".to_owned(), text.to_owned())
}

/// Finds the first value with this key.
fn find<'a>(json: &'a Json, key: &str) -> Option<&'a Json> {
    match json {
        Json::Object(object) => {
            let inside = || object.values().find_map(|value| find(value, key));
            object.get(key).or_else(inside)
        }
        Json::Array(items) => items.iter().find_map(|item| find(item, key)),
        _ => None,
    }
}

#[tokio::test]
async fn streamed_text_is_complete_after_kills() {
    let directory = tempfile::tempdir().unwrap();
    let (mut host, mut client) = start(directory.path(), "scripted").await;
    let script = "many 9000 ab;; many 9000 cd;; many 9000 ef;; say end";
    start_turn(&mut client, "t1", script).await;
    client.until("chat/delta").await;
    for _ in 0..5 {
        (host, client) = survive(directory.path(), host, client).await;
        // The text may have ended while no host ran.
        if client.text().get("activeTurn").is_some() {
            client.receive().await.unwrap();
        }
    }
    until_turns(&mut client, 1).await;
    let text = format!(
        "{}{}{}end",
        "ab".repeat(9000),
        "cd".repeat(9000),
        "ef".repeat(9000)
    );
    assert!(outcomes(&client) == [complete(&text)], "text is missing");
    host.stop();
}

#[tokio::test]
async fn an_open_approval_is_answered_after_a_kill() {
    let directory = tempfile::tempdir().unwrap();
    let (host, mut client) = start(directory.path(), "scripted").await;
    let ask = json!({
        "toolCall": {"toolCallId": "c1", "title": "Do it", "kind": "execute", "status": "pending"},
        "options": [
            {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
            {"optionId": "no", "name": "No", "kind": "reject_once"},
        ],
    });
    start_turn(&mut client, "t1", &format!("ask {ask}")).await;
    client.until("chat/toolCallReady").await;
    let (host, mut client) = survive(directory.path(), host, client).await;
    let call = client.text()["activeTurn"].clone();
    assert_eq!(find(&call, "status").unwrap(), "pending-confirmation");
    let id = find(&call, "toolCallId").unwrap().clone();
    let approve = json!({"type": "chat/toolCallConfirmed", "turnId": "t1", "toolCallId": id, "approved": true, "confirmed": "user-action", "selectedOptionId": "yes"});
    client.dispatch(approve).await;
    until_turns(&mut client, 1).await;
    assert_eq!(outcomes(&client), [complete("yes")]);
    host.stop();
}

#[tokio::test]
async fn an_open_form_is_answered_after_a_kill() {
    let directory = tempfile::tempdir().unwrap();
    let (host, mut client) = start(directory.path(), "scripted").await;
    let form = json!({
        "mode": "form", "message": "Which one?",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    });
    start_turn(&mut client, "t1", &format!("form {form}")).await;
    client.until("chat/inputRequested").await;
    let (host, mut client) = survive(directory.path(), host, client).await;
    let turn = client.text()["activeTurn"].clone();
    let request = find(&turn, "request").unwrap().clone();
    let question = find(&request["questions"], "id").unwrap();
    let mut answers = serde_json::Map::new();
    answers.insert(
        question.as_str().unwrap().to_owned(),
        json!({"state": "submitted", "value": {"kind": "text", "value": "the second"}}),
    );
    let answer = json!({"type": "chat/inputCompleted", "requestId": request["id"], "response": "accept", "answers": answers});
    client.dispatch(answer).await;
    until_turns(&mut client, 1).await;
    let outcomes = outcomes(&client);
    assert!(outcomes[0].1.contains("the second"), "{outcomes:?}");
    host.stop();
}

#[tokio::test]
async fn the_output_of_a_command_is_complete_after_kills() {
    let directory = tempfile::tempdir().unwrap();
    let (mut host, mut client) = start(directory.path(), "shell").await;
    let command = "!for n in $(seq 200); do echo line $n; sleep 0.02; done";
    start_turn(&mut client, "t1", command).await;
    client.until("chat/toolCallContentChanged").await;
    let turn = client.text()["activeTurn"].clone();
    let content = find(&turn, "content").unwrap();
    let terminal = find(content, "resource")
        .unwrap()
        .as_str()
        .unwrap()
        .to_owned();
    client
        .request("subscribe", json!({"channel": terminal}))
        .await;
    for _ in 0..3 {
        client.until("terminal/data").await;
        let channels = [CHAT, &terminal];
        (host, client) = survive_with(directory.path(), host, client, &channels).await;
    }
    until_turns(&mut client, 1).await;
    let turn = client.text()["turns"][0].clone();
    assert_eq!(turn["state"], "complete");
    let preview = find(&turn, "preview").unwrap().as_str().unwrap();
    let lines: Vec<_> = preview.lines().map(str::trim_end).collect();
    let expected: Vec<_> = (1..=200).map(|n| format!("line {n}")).collect();
    assert_eq!(lines, expected);
    host.stop();
}

#[tokio::test]
async fn a_terminal_and_its_program_go_on_after_a_kill() {
    const TERMINAL: &str = "ahp-terminal:/t1";
    let directory = tempfile::tempdir().unwrap();
    let (host, mut client) = start(directory.path(), "shell").await;
    let terminal = json!({"channel": TERMINAL, "claim": {"kind": "client", "clientId": "a"}});
    client.request("createTerminal", terminal).await;
    type_line(&mut client, TERMINAL, "exec cat -A").await;
    output_until(&mut client, TERMINAL, "exec cat").await;
    let (host, mut client) = survive(directory.path(), host, client).await;
    type_line(&mut client, TERMINAL, "still\there").await;
    output_until(&mut client, TERMINAL, "still^Ihere$").await;
    client
        .request("disposeTerminal", json!({"channel": TERMINAL}))
        .await;
    host.stop();
}

async fn type_line(client: &mut Client, terminal: &str, line: &str) {
    let input = json!({"type": "terminal/input", "data": format!("{line}\r")});
    client.dispatch_to(terminal, input).await;
}

/// Subscribes to a terminal again until its output contains a text.
async fn output_until(client: &mut Client, terminal: &str, text: &str) {
    loop {
        let result = client
            .request("subscribe", json!({"channel": terminal}))
            .await;
        if result["snapshot"].to_string().contains(text) {
            return;
        }
        client.until("terminal/data").await;
    }
}

#[tokio::test]
async fn a_queue_runs_to_its_end_after_kills() {
    let directory = tempfile::tempdir().unwrap();
    let (mut host, mut client) = start(directory.path(), "scripted").await;
    start_turn(&mut client, "t1", "many 5000 ab").await;
    for number in 0..10 {
        let message = json!({"text": format!("say turn {number}"), "origin": {"kind": "user"}});
        let queued = json!({"type": "chat/pendingMessageSet", "kind": "queued", "id": format!("m{number}"), "message": message});
        client.dispatch(queued).await;
        client.until("chat/pendingMessageSet").await;
    }
    for _ in 0..3 {
        (host, client) = survive(directory.path(), host, client).await;
    }
    until_turns(&mut client, 11).await;
    let mut expected = vec![complete(&"ab".repeat(5000))];
    expected.extend((0..10).map(|number| complete(&format!("turn {number}"))));
    let found = outcomes(&client);
    assert_eq!(shortened(&found), shortened(&expected));
    assert!(found == expected, "text is missing");
    host.stop();
}

/// Returns the outcomes with the beginning of each text, for messages that can be read.
fn shortened(outcomes: &[(String, String)]) -> Vec<(&str, &str, usize)> {
    let outcomes = outcomes.iter();
    let short =
        outcomes.map(|(state, text)| (&**state, text.get(..20).unwrap_or(text), text.len()));
    short.collect()
}

/// Each round has one turn of text and one approval, with a kill at another moment.
#[tokio::test]
async fn no_turn_is_lost_in_many_kills() {
    let kills = std::env::var("KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let (mut host, mut client) = start(directory.path(), "scripted").await;
    let mut expected = Vec::new();
    for round in 0..kills {
        let count = 200 + round % 300;
        start_turn(
            &mut client,
            &format!("t{round}"),
            &format!("many {count} ab;; say end"),
        )
        .await;
        // Actions before the kill: none, the start of the turn, some text, or all of it.
        for _ in 0..round % 7 {
            if client.text().get("activeTurn").is_some() {
                client.receive().await.unwrap();
            }
        }
        if round % 2 == 1 {
            client.until("chat/turnStarted").await;
        }
        (host, client) = survive(directory.path(), host, client).await;
        let text = format!("{}end", "ab".repeat(count as usize));
        let has_started = client.text()["turns"].as_array().unwrap().len() > expected.len()
            || client.text().get("activeTurn").is_some();
        if has_started {
            until_turns(&mut client, expected.len() + 1).await;
            expected.push(complete(&text));
        }
        let found = outcomes(&client);
        assert!(found == expected, "round {round}: {:?}", found.last());
    }
    println!("{} of {kills} turns ran through a kill", expected.len());
    host.stop();
}
