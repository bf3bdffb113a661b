//! "Restore Checkpoint" as VS Code implements it: the client writes files back itself, with the
//! contents that the edits of completed calls refer to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agenthost_server::Server;
use agenthost_workspace::uri_of;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::{Value, json};

use crate::legacy_clients::JsonClient;
use crate::test_server::start;

const SESSION: &str = "shell:/4f1c2a1e-3f0e-4a55-9d0b-6a3d0f6f1d11";

/// Characters that VS Code does not percent-encode when it formats a URI.
const PRINTED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'/');

/// Returns a URI as VS Code formats it after parsing it.
fn reprint(uri: &str) -> String {
    let decoded = |text: &str| percent_decode_str(text).decode_utf8().unwrap().into_owned();
    let printed = |text: &str| utf8_percent_encode(&decoded(text), PRINTED).to_string();
    let (scheme, rest) = uri.split_once(':').unwrap();
    let (rest, query) = match rest.split_once('?') {
        Some((rest, query)) => (rest, format!("?{}", printed(query))),
        None => (rest, String::new()),
    };
    let slashes = if scheme == "file" { "//" } else { "" };
    let path = rest.strip_prefix("//").unwrap_or(rest);
    format!("{scheme}:{slashes}{}{query}", printed(path))
}

fn chat() -> String {
    agenthost_core::resource::uris::default_chat_uri(&SESSION.into()).to_string()
}

struct Window {
    json_client: JsonClient,
    /// Edits of completed calls, by turn id.
    edits: BTreeMap<String, Vec<Value>>,
}

impl Window {
    async fn open(server: &Server, name: &str, kind: &str) -> Self {
        let mut json_client = JsonClient::connect(server).await;
        let hello = json!({
            "channel": "ahp-root://", "clientId": name,
            "protocolVersions": ["0.9.0", "0.8.0", "0.7.0", "0.6.0", "0.5.2", "0.5.1"],
            "clientInfo": {"name": "vscode-editor-window", "title": "VS Code"},
            "initialSubscriptions": ["ahp-root://"],
            "_meta": {"vscode.telemetryLevel": "off", "vscode.clientConnectionKind": kind},
        });
        json_client.request("initialize", hello).await.unwrap();
        Window {
            json_client,
            edits: BTreeMap::new(),
        }
    }

    async fn create(&mut self, folder: &Path) {
        let folder = reprint(uri_of(folder).unwrap().as_str());
        let params = json!({
            "channel": SESSION, "provider": "shell", "workingDirectories": [folder],
            "config": {"isolation": "folder", "autoApprove": "default", "mode": "interactive"},
        });
        self.json_client
            .request("createSession", params)
            .await
            .unwrap();
        for channel in [SESSION.to_owned(), chat()] {
            let params = json!({"channel": channel});
            self.json_client.request("subscribe", params).await.unwrap();
        }
    }

    async fn dispatch(&mut self, action: Value) {
        let params = json!({"channel": chat(), "action": action});
        self.json_client.dispatch(params).await;
    }

    /// Runs a command and records the edits of its turn.
    async fn run(&mut self, turn: &str, line: &str) {
        self.dispatch(json!({
            "type": "chat/turnStarted", "turnId": turn, "startedAt": "2026-01-01T00:00:00.000Z",
            "message": {"text": format!("!{line}"), "origin": {"kind": "user"}},
        }))
        .await;
        self.json_client.until("chat/turnComplete").await;
        let heard = std::mem::take(&mut self.json_client.heard);
        let mut edits = Vec::new();
        for message in &heard {
            let action = &message["params"]["action"];
            if action["type"] == "chat/toolCallComplete" && action["turnId"] == turn {
                let content = action["result"]["content"].as_array();
                let content = content.into_iter().flatten().cloned();
                let found: Vec<_> = content
                    .filter(|block| block["type"] == "fileEdit")
                    .collect();
                // VS Code shows edits in place of their call, so the call of the command itself
                // must have none.
                assert!(found.is_empty() || action["toolCallId"] != "command");
                edits.extend(found);
            }
        }
        self.edits.insert(turn.to_owned(), edits);
    }

    async fn resource(&mut self, method: &str, mut params: Value) -> Result<Value, Value> {
        params["channel"] = json!("ahp-root://");
        for field in ["uri", "source", "destination"] {
            if let Some(uri) = params[field].as_str() {
                params[field] = json!(reprint(uri));
            }
        }
        params
            .as_object_mut()
            .unwrap()
            .retain(|_, value| !value.is_null());
        self.json_client.request(method, params).await
    }

    async fn read(&mut self, uri: &Value) -> String {
        let params = json!({"uri": uri, "encoding": "base64"});
        let read = self.resource("resourceRead", params).await.unwrap();
        let bytes = match read["encoding"].as_str() {
            Some("base64") => STANDARD.decode(read["data"].as_str().unwrap()).unwrap(),
            _ => read["data"].as_str().unwrap().as_bytes().to_vec(),
        };
        String::from_utf8(bytes).unwrap()
    }

    /// Restores the files of a turn, as VS Code does.
    async fn restore(&mut self, turn: &str) {
        let mut files: BTreeMap<String, (Value, bool)> = BTreeMap::new();
        for edit in &self.edits[turn] {
            let side = if edit["after"].is_object() {
                &edit["after"]
            } else {
                &edit["before"]
            };
            let uri = side["uri"].as_str().unwrap().to_owned();
            let before = edit["before"]["content"]["uri"].clone();
            let known = files.entry(uri).or_insert((before, false));
            known.1 = !edit["after"].is_object();
        }
        for (uri, (before, is_gone)) in files {
            let found = self.resource("resourceResolve", json!({"uri": uri})).await;
            if before.is_null() {
                if !is_gone {
                    assert_eq!(found.unwrap()["type"], "file");
                    let params = json!({"uri": uri, "recursive": false});
                    self.resource("resourceDelete", params).await.unwrap();
                }
                continue;
            }
            if is_gone {
                assert_eq!(found.unwrap_err()["code"], -32008);
            }
            let data = self.read(&before).await;
            let params = json!({"uri": uri, "data": data, "encoding": "utf-8"});
            self.resource("resourceWrite", params).await.unwrap();
        }
    }
}

fn files(folder: &Path) -> BTreeMap<PathBuf, String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let files = paths.filter(|path| path.is_file());
    files
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            (path, text)
        })
        .collect()
}

fn folder_with_files(temporary: &Path) -> PathBuf {
    let folder = temporary.join("my proj+(1) @ü's");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("a b.txt"), "1\n2\n").unwrap();
    std::fs::write(folder.join("gone#1.txt"), "gone\n").unwrap();
    std::fs::write(folder.join("old.txt"), "one\ntwo\nthree\nfour\n").unwrap();
    folder
}

const COMMAND: &str = "echo 3 >> 'a b.txt'; rm 'gone#1.txt'; mv old.txt new.txt; echo n > 'ä+.txt'";

/// Restoring a checkpoint restores files and truncates turns (findings 6, 13 and 16). For a window
/// in a browser `file:` means the browser's machine, so edits use another scheme for files.
#[tokio::test]
async fn restoring_a_checkpoint_restores_files_and_truncates_turns() {
    let data = tempfile::tempdir().unwrap();
    let temporary = tempfile::tempdir().unwrap();
    let folder = folder_with_files(temporary.path());
    let server = start(data.path()).await;
    for kind in ["remote_extension_host", "local"] {
        let mut window = Window::open(&server, kind, kind).await;
        if kind == "local" {
            let params = json!({"channel": SESSION});
            window
                .json_client
                .request("disposeSession", params)
                .await
                .unwrap();
        }
        window.create(&folder).await;
        window.run("t1", "echo 0 > zero.txt").await;
        let checkpoint = files(&folder);
        window.run("t2", COMMAND).await;
        window.run("t3", "echo 4 >> 'a b.txt'; rm 'ä+.txt'").await;
        let scheme = match kind {
            "local" => "file:///",
            _ => "agenthost-file:/",
        };
        let sides = window.edits["t2"].iter();
        let sides = sides.flat_map(|edit| [&edit["before"], &edit["after"]]);
        for side in sides.filter(|side| side.is_object()) {
            let uri = side["uri"].as_str().unwrap();
            let path = uri.strip_prefix(scheme).unwrap_or_else(|| panic!("{uri}"));
            let content = side["content"]["uri"].as_str().unwrap();
            let content = content.strip_prefix("agenthost-content:/").unwrap();
            assert_eq!(content.split_once('?').unwrap().0, path);
        }
        assert_ne!(files(&folder), checkpoint);

        window.restore("t3").await;
        window.restore("t2").await;
        assert_eq!(files(&folder), checkpoint);
        // VS Code truncates the turns together with the next message.
        window
            .dispatch(json!({"type": "chat/truncated", "turnId": "t1"}))
            .await;
        window.run("t4", "echo 9 > zero.txt").await;
        let params = json!({"channel": chat()});
        let answer = window
            .json_client
            .request("subscribe", params)
            .await
            .unwrap();
        let turns = answer["snapshot"]["state"]["turns"].as_array().unwrap();
        let turns: Vec<_> = turns.iter().map(|turn| turn["id"].clone()).collect();
        assert_eq!(turns, ["t1", "t4"]);
        std::fs::remove_file(folder.join("zero.txt")).unwrap();
    }
    server.stop().await.unwrap();
}

/// The changeset of a turn has file URIs with the same paths as their contents, which can be read
/// and watched however the URIs are formatted (findings 13 and 16).
#[tokio::test]
async fn changes_of_a_turn_have_readable_contents_with_the_same_paths() {
    let data = tempfile::tempdir().unwrap();
    let temporary = tempfile::tempdir().unwrap();
    let folder = folder_with_files(temporary.path());
    let server = start(data.path()).await;
    let mut window = Window::open(&server, "a", "local").await;
    window.create(&folder).await;
    window.run("t1", COMMAND).await;
    let channel = format!("{SESSION}/changeset/turn/t1");
    let state = loop {
        let params = json!({"channel": channel});
        let answer = window
            .json_client
            .request("subscribe", params)
            .await
            .unwrap();
        let state = answer["snapshot"]["state"].clone();
        if state["status"] == "ready" {
            break state;
        }
        window.json_client.until("changeset/statusChanged").await;
    };
    let mut shown = Vec::new();
    for file in state["files"].as_array().unwrap() {
        let mut line = Vec::new();
        for side in ["before", "after"] {
            let side = &file["edit"][side];
            if side.is_null() {
                line.push("-".to_owned());
                continue;
            }
            let uri = side["uri"].as_str().unwrap();
            let content = &side["content"]["uri"];
            let path = content.as_str().unwrap().strip_prefix("agenthost-git:");
            let (path, _) = path.unwrap().split_once('?').unwrap();
            assert_eq!(format!("file://{path}"), uri);
            let name = percent_decode_str(path.rsplit('/').next().unwrap()).decode_utf8();
            line.push(format!(
                "{} {:?}",
                name.unwrap(),
                window.read(content).await
            ));
            let params = json!({"uri": content, "recursive": false});
            let watch = window.resource("createResourceWatch", params).await;
            let params = json!({"channel": watch.unwrap()["channel"]});
            window
                .json_client
                .request("subscribe", params)
                .await
                .unwrap();
        }
        shown.push(line.join(" -> "));
    }
    shown.sort();
    let renamed = "\"one\\ntwo\\nthree\\nfour\\n\"";
    assert_eq!(
        shown,
        [
            "- -> ä+.txt \"n\\n\"".to_owned(),
            "a b.txt \"1\\n2\\n\" -> a b.txt \"1\\n2\\n3\\n\"".to_owned(),
            "gone#1.txt \"gone\\n\" -> -".to_owned(),
            format!("old.txt {renamed} -> new.txt {renamed}"),
        ]
    );
    server.stop().await.unwrap();
}
