//! Files over the protocol: a client can access the folder of a session, and nothing else.

use agenthost_server::{ServerConfig, serve};
use serde_json::{Value, json};

use crate::raw_messages::Raw;
use crate::test_server::{SESSION, start};

/// Sends a request, on the root channel unless the parameters name another.
async fn request(raw: &mut Raw, id: u64, method: &str, mut params: Value) -> Value {
    if params.get("channel").is_none() {
        params["channel"] = json!("ahp-root://");
    }
    raw.call(id, method, &params).await
}

async fn join(raw: &mut Raw, folder: &str) {
    let hello = json!({"clientId": "a", "protocolVersions": ["1.0.0"]});
    request(raw, 0, "initialize", hello).await;
    let params = json!({"channel": SESSION, "workingDirectories": [folder]});
    request(raw, 1, "createSession", params).await;
}

#[tokio::test]
async fn a_client_can_access_only_files_of_a_session() {
    let directory = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    let mut raw = Raw::connect(&server).await;
    let at = |name: &str| format!("file://{}/{name}", folder.path().display());
    let token = format!("file://{}/token", directory.path().display());
    let denied = json!({"uri": at("a"), "data": "1", "encoding": "utf-8"});
    request(
        &mut raw,
        0,
        "initialize",
        json!({"clientId": "b", "protocolVersions": ["1.0.0"]}),
    )
    .await;
    let answer = request(&mut raw, 1, "resourceWrite", denied.clone()).await;
    assert_eq!(answer["error"]["code"], -32009, "{answer}");
    assert_eq!(answer["error"]["data"]["request"]["uri"], at("a"));
    assert_eq!(answer["error"]["data"]["request"]["write"], true);

    let mut raw = Raw::connect(&server).await;
    join(&mut raw, &at("")).await;
    let answer = request(&mut raw, 2, "resourceWrite", denied).await;
    assert_eq!(answer["result"], json!({}), "{answer}");
    let read = request(&mut raw, 3, "resourceRead", json!({"uri": at("a")})).await;
    assert_eq!(read["result"], json!({"data": "1", "encoding": "utf-8"}));
    let made = request(&mut raw, 4, "resourceMkdir", json!({"uri": at("b/c")})).await;
    assert_eq!(made["result"], json!({}));
    let moved = json!({"source": at("a"), "destination": at("b/a"), "failIfExists": true});
    assert_eq!(
        request(&mut raw, 5, "resourceMove", moved).await["result"],
        json!({})
    );
    let copied = json!({"source": at("b/a"), "destination": at("b/a"), "failIfExists": true});
    let answer = request(&mut raw, 6, "resourceCopy", copied).await;
    assert_eq!(answer["error"]["code"], -32010, "{answer}");
    let list = request(&mut raw, 7, "resourceList", json!({"uri": at("b")})).await;
    let entries = json!([{"name": "a", "type": "file"}, {"name": "c", "type": "directory"}]);
    assert_eq!(list["result"]["entries"], entries);
    let resolved = request(&mut raw, 8, "resourceResolve", json!({"uri": at("b/a")})).await;
    assert_eq!(resolved["result"]["size"], 1);
    let stale = json!({"uri": at("b/a"), "data": "", "encoding": "utf-8", "ifMatch": "x"});
    let answer = request(&mut raw, 9, "resourceWrite", stale).await;
    assert_eq!(answer["error"]["code"], -32011, "{answer}");
    let missing = request(&mut raw, 10, "resourceRead", json!({"uri": at("none")})).await;
    assert_eq!(missing["error"]["code"], -32008);
    let secret = request(&mut raw, 11, "resourceRead", json!({"uri": token})).await;
    assert_eq!(
        secret["error"]["code"], -32009,
        "the host's own files are nobody's"
    );
    let deleted = json!({"uri": at("b"), "recursive": true});
    assert_eq!(
        request(&mut raw, 12, "resourceDelete", deleted).await["result"],
        json!({})
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    server.stop().await.unwrap();
}

/// The host executes the file requests of a client in order, and answers every request, including
/// those over the limit.
#[tokio::test]
async fn file_requests_are_executed_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    let mut raw = Raw::connect(&server).await;
    join(&mut raw, &format!("file://{}", folder.path().display())).await;
    let uri = format!("file://{}/log", folder.path().display());
    for id in 100..300 {
        let params = json!({
            "channel": "ahp-root://", "uri": uri, "data": format!("{id}\n"), "encoding": "utf-8",
            "mode": "append",
        });
        let request =
            json!({"jsonrpc": "2.0", "id": id, "method": "resourceWrite", "params": params});
        raw.send(&request.to_string()).await;
    }
    let mut written = Vec::new();
    for _ in 100..300 {
        let answer = raw.receive().await.unwrap();
        if answer.get("result").is_some() {
            written.push(answer["id"].as_u64().unwrap());
        } else {
            let message = answer["error"]["message"].as_str().unwrap();
            assert!(message.contains("open file requests"), "{answer}");
        }
    }
    written.sort_unstable();
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    let lines: Vec<u64> = log.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(lines, written);
    assert!(!lines.is_empty());
    server.stop().await.unwrap();
}

/// A client is notified of changes in a watched folder (WAT-1 to WAT-5).
#[tokio::test]
async fn a_client_receives_changes_of_a_watched_folder() {
    let directory = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    let mut raw = Raw::connect(&server).await;
    let uri = format!("file://{}", folder.path().display());
    join(&mut raw, &uri).await;
    let missing = json!({"uri": format!("{uri}/none")});
    let answer = request(&mut raw, 2, "createResourceWatch", missing).await;
    assert_eq!(answer["error"]["code"], -32008, "{answer}");
    let answer = request(&mut raw, 3, "createResourceWatch", json!({"uri": uri})).await;
    let channel = answer["result"]["channel"].as_str().unwrap().to_owned();
    let subscribe =
        json!({"jsonrpc": "2.0", "id": 4, "method": "subscribe", "params": {"channel": channel}});
    let answer = raw.request(&subscribe.to_string()).await;
    assert_eq!(
        answer["result"]["snapshot"]["state"],
        json!({"root": uri, "recursive": false})
    );
    std::fs::write(folder.path().join("a"), "").unwrap();
    let told = raw.receive().await.unwrap();
    let action = &told["params"]["action"];
    assert_eq!(action["type"], "resourceWatch/changed", "{told}");
    assert_eq!(
        action["changes"]["items"],
        json!([{"uri": format!("{uri}/a"), "type": "added"}])
    );
    server.stop().await.unwrap();
}

/// A real shell, from a client's input to its output (TER-1, TER-5, TER-12, TER-18).
#[tokio::test]
async fn a_terminal_receives_input_and_publishes_output() {
    let directory = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut config = ServerConfig::new(directory.path());
    // A shell that does not read the configuration files of the user who runs the test.
    config.shell = Some("/bin/sh".into());
    let server = serve(config).await.unwrap();
    let mut raw = Raw::connect(&server).await;
    let uri = format!("file://{}", folder.path().display());
    join(&mut raw, &uri).await;
    let terminal = "ahp-terminal:/t";
    let params =
        json!({"channel": terminal, "claim": {"kind": "client", "clientId": "a"}, "cwd": uri});
    let created = request(&mut raw, 2, "createTerminal", params).await;
    assert_eq!(created["result"], Value::Null);
    let subscribe =
        json!({"jsonrpc": "2.0", "id": 3, "method": "subscribe", "params": {"channel": terminal}});
    raw.request(&subscribe.to_string()).await;
    let action = json!({"type": "terminal/input", "data": "echo $((6 * 7))nd && exit 5\n"});
    let params = json!({"channel": terminal, "clientSeq": 1, "action": action});
    let typed = json!({"jsonrpc": "2.0", "method": "dispatchAction", "params": params});
    raw.send(&typed.to_string()).await;
    let mut output = String::new();
    loop {
        let told = raw.receive().await.unwrap();
        let action = &told["params"]["action"];
        match action["type"].as_str() {
            Some("terminal/data") => output.push_str(action["data"].as_str().unwrap()),
            Some("terminal/exited") => {
                assert_eq!(action["exitCode"], 5, "{output}");
                break;
            }
            _ => {}
        }
    }
    assert!(output.contains("42nd"), "{output}");
    let disposed = request(&mut raw, 4, "disposeTerminal", json!({"channel": terminal})).await;
    assert_eq!(disposed["result"], Value::Null);
    server.stop().await.unwrap();
}
