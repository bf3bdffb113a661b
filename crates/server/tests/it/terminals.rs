//! Terminals, from the input of one client to the output at all clients.

use std::time::{Duration, Instant};

use agenthost_server::Server;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::raw_messages::Raw;
use crate::test_server::{
    Mirror, chat_uri, create_session, dispatch, folder, join, start, start_turn,
};

async fn connect_client(server: &Server, name: &str) -> Raw {
    let mut raw = Raw::connect(server).await;
    let params = json!({"channel": "ahp-root://", "protocolVersions": ["1.0.0"], "clientId": name});
    let answer = raw.call(1, "initialize", &params).await;
    assert_eq!(answer["result"]["terminalCommandPrefix"], "!");
    raw
}

async fn type_into(raw: &mut Raw, terminal: &str, text: &str) {
    let action = json!({"type": "terminal/input", "data": text});
    let params = json!({"channel": terminal, "clientSeq": 1, "action": action});
    let typed = json!({"jsonrpc": "2.0", "method": "dispatchAction", "params": params});
    raw.send(&typed.to_string()).await;
}

/// Returns the output of a terminal until it exits.
async fn output(raw: &mut Raw) -> String {
    let mut output = String::new();
    loop {
        let told = raw.receive().await.unwrap();
        let action = &told["params"]["action"];
        match action["type"].as_str() {
            Some("terminal/data") => output.push_str(action["data"].as_str().unwrap()),
            Some("terminal/exited") => return output,
            _ => {}
        }
    }
}

/// Returns the terminal of the running turn.
async fn shown(mirror: &mut Mirror) -> String {
    let shown = |action: &ahp_types::actions::StateAction| {
        matches!(
            action,
            ahp_types::actions::StateAction::ChatToolCallContentChanged(_)
        )
    };
    mirror.until(shown).await;
    let chat = mirror.json();
    let content = &chat["activeTurn"]["responseParts"][0]["toolCall"]["content"][0];
    content["resource"].as_str().unwrap().to_owned()
}

async fn wait_until_gone(process: i32) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while kill(Pid::from_raw(process), None).is_ok() {
        assert!(Instant::now() < deadline, "{process} is still there");
        tokio::task::yield_now().await;
    }
}

/// TUR-20: a message that is a command runs without approval, any client can type into its
/// terminal, and all clients see the same output.
#[tokio::test]
async fn a_command_turn_runs_in_a_shared_terminal() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    let a = join(&server, "a").await;
    create_session(&a).await;
    let mut mirror = Mirror::open(&a).await;
    let line = "!pwd; stty size; read answer; echo got:$answer; exit 3";
    start_turn(&a, "t1", line).await;
    let terminal = shown(&mut mirror).await;
    let mut raw = connect_client(&server, "b").await;
    let subscribed = raw
        .call(2, "subscribe", &json!({"channel": terminal}))
        .await;
    let state = &subscribed["result"]["snapshot"]["state"];
    assert_eq!(state["isPty"], true);
    assert_eq!(state["claim"]["turnId"], "t1");
    type_into(&mut raw, &terminal, "yes\n").await;
    let written = output(&mut raw).await;
    assert!(written.ends_with("got:yes\r\n"), "{written:?}");
    mirror.until_end().await;
    let chat = mirror.json();
    let turn = &chat["turns"][0];
    assert_eq!(turn["state"], "complete");
    let call = &turn["responseParts"][0]["toolCall"];
    assert_eq!(call["status"], "completed");
    assert_eq!(call["success"], false);
    let result = &call["content"][1]["result"];
    assert_eq!(result["exitCode"], 3);
    // The position of the echoed input in the output varies.
    let preview = result["preview"].as_str().unwrap();
    let folder = agenthost_workspace::path_of(&folder().into()).unwrap();
    let expected = format!("{}\n30 120\ngot:yes\n", folder.display());
    assert_eq!(preview.replacen("yes\n", "", 1), expected);
    assert_eq!(call["content"][0]["text"], preview);

    // An empty command is an error; the next one runs as usual.
    start_turn(&a, "t2", "!").await;
    mirror.until_end().await;
    assert_eq!(mirror.json()["turns"][1]["state"], "error");
    start_turn(&a, "t3", "!true").await;
    mirror.until_end().await;
    let call = &mirror.json()["turns"][2]["responseParts"][0]["toolCall"];
    assert_eq!(call["success"], true, "{call}");
    server.stop().await.unwrap();
}

/// A command is terminated with its turn or with the host, including all processes that it started.
#[tokio::test]
async fn all_processes_of_a_command_end_with_its_turn_or_host() {
    let directory = tempfile::tempdir().unwrap();
    let notes = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    let a = join(&server, "a").await;
    create_session(&a).await;
    let mut mirror = Mirror::open(&a).await;
    let mut started = Vec::new();
    let mut terminal = String::new();
    for turn in ["t1", "t2"] {
        let note = notes.path().join(turn);
        let stubborn = "trap '' HUP TERM; while :; do sleep 0.1; done";
        let note = note.display();
        let line =
            format!("!sh -c \"{stubborn}\" & echo $! > {note}.new; mv {note}.new {note}; wait");
        start_turn(&a, turn, &line).await;
        terminal = shown(&mut mirror).await;
        let deadline = Instant::now() + Duration::from_secs(20);
        let process = loop {
            match std::fs::read_to_string(notes.path().join(turn)) {
                Ok(text) => break text.trim().parse::<i32>().unwrap(),
                Err(_) => assert!(Instant::now() < deadline),
            }
            tokio::task::yield_now().await;
        };
        assert!(kill(Pid::from_raw(process), None).is_ok());
        if turn == "t1" {
            let cancel = json!({"type": "chat/turnCancelled", "turnId": turn, "duration": 0});
            dispatch(&a, cancel).await;
            mirror.until_end().await;
            wait_until_gone(process).await;
        }
        started.push(process);
    }
    server.stop().await.unwrap();
    wait_until_gone(started[1]).await;

    // After the restart the turn has failed, and its terminal can still be subscribed to.
    let server = start(directory.path()).await;
    let mut raw = connect_client(&server, "b").await;
    let chat = raw
        .call(2, "subscribe", &json!({"channel": chat_uri()}))
        .await;
    let turn = &chat["result"]["snapshot"]["state"]["turns"][1];
    assert_eq!(turn["state"], "error", "{turn}");
    let terminal = raw
        .call(3, "subscribe", &json!({"channel": terminal}))
        .await;
    let state = &terminal["result"]["snapshot"]["state"];
    assert_eq!(state["lifecycle"]["status"], "exited", "{terminal}");
    server.stop().await.unwrap();
}

/// TER-7, TER-8: the user's shell reports its commands.
#[tokio::test]
async fn commands_of_a_shell_are_reported_separately() {
    let shell = std::env::var("SHELL").unwrap_or_default();
    if !["/bash", "/zsh", "/fish"]
        .iter()
        .any(|name| shell.ends_with(name))
    {
        println!("skipped: the shell `{shell}` does not tell of its commands");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    let mut raw = connect_client(&server, "a").await;
    let terminal = "ahp-terminal:/t";
    let params = json!({"channel": terminal, "claim": {"kind": "client", "clientId": "a"}});
    raw.call(2, "createTerminal", &params).await;
    let subscribed = raw
        .call(3, "subscribe", &json!({"channel": terminal}))
        .await;
    // The first prompt may have been printed before the snapshot was taken.
    let state = &subscribed["result"]["snapshot"]["state"];
    let mut detected = state["supportsCommandDetection"] == true;
    type_into(&mut raw, terminal, "sh -c 'exit 7'\n").await;
    let mut executed = Value::Null;
    let finished = loop {
        let told = raw.receive().await.unwrap();
        let action = &told["params"]["action"];
        match action["type"].as_str() {
            Some("terminal/commandDetectionAvailable") => detected = true,
            Some("terminal/commandExecuted") => executed = action.clone(),
            Some("terminal/commandFinished") => break action.clone(),
            _ => {}
        }
    };
    assert!(detected);
    assert_eq!(executed["commandLine"], "sh -c 'exit 7'");
    assert_eq!(executed["commandId"], finished["commandId"]);
    assert_eq!(finished["exitCode"], 7);
    server.stop().await.unwrap();
}

/// A stopping host terminates all its terminals at once, not one after the other.
#[tokio::test]
async fn terminals_are_terminated_in_parallel_when_the_host_stops() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    let mut raw = connect_client(&server, "a").await;
    for number in 0..20 {
        let terminal = format!("ahp-terminal:/{number}");
        let params = json!({"channel": terminal, "claim": {"kind": "client", "clientId": "a"}});
        raw.call(2, "createTerminal", &params).await;
        let stubborn = "trap '' HUP; echo re''ady; while :; do sleep 1; done\n";
        type_into(&mut raw, &terminal, stubborn).await;
        raw.call(3, "subscribe", &json!({"channel": terminal}))
            .await;
    }
    let begun = Instant::now();
    server.stop().await.unwrap();
    assert!(
        begun.elapsed() < Duration::from_secs(6),
        "{:?}",
        begun.elapsed()
    );
}
