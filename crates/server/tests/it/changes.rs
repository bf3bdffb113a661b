//! Changesets over the protocol, from the files on disk to a client and back.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use agenthost_server::Server;
use serde_json::{Value, json};

use crate::raw_messages::Raw;
use crate::test_server::{SESSION, chat_uri, start};

fn git(folder: &Path, arguments: &[&str]) -> String {
    let identity = ["-c", "user.name=A", "-c", "user.email=a@example.com"];
    let output = Command::new("git")
        .args(identity)
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A client that is subscribed to one changeset.
struct Viewer {
    raw: Raw,
    next: u64,
    channel: String,
    /// Lines added and removed, by file name.
    files: BTreeMap<String, (Value, Value)>,
    contents: BTreeMap<String, Value>,
    status: String,
    changes: Value,
}

impl Viewer {
    async fn join(server: &Server, name: &str) -> Self {
        let mut viewer = Viewer {
            raw: Raw::connect(server).await,
            next: 0,
            channel: String::new(),
            files: BTreeMap::new(),
            contents: BTreeMap::new(),
            status: String::new(),
            changes: Value::Null,
        };
        let hello = json!({
            "channel": "ahp-root://", "clientId": name, "protocolVersions": ["1.0.0"],
            "initialSubscriptions": ["ahp-root://"],
        });
        viewer.request("initialize", hello).await;
        viewer
    }

    async fn request(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.raw.send(&request.to_string()).await;
        loop {
            let message = self.raw.receive().await.unwrap();
            if message["id"] == json!(id) {
                return message;
            }
            self.take(&message);
        }
    }

    async fn watch(&mut self, view: &str) {
        self.channel = format!("{SESSION}/changeset/{view}");
        let answer = self
            .request("subscribe", json!({"channel": self.channel}))
            .await;
        let state = &answer["result"]["snapshot"]["state"];
        self.files.clear();
        for file in state["files"].as_array().unwrap() {
            self.set(file);
        }
        self.status = state["status"].as_str().unwrap().to_owned();
    }

    fn set(&mut self, file: &Value) {
        let id = file["id"].as_str().unwrap();
        let name = id.rsplit('/').next().unwrap().to_owned();
        let diff = &file["edit"]["diff"];
        let counts = (diff["added"].clone(), diff["removed"].clone());
        self.files.insert(name.clone(), counts);
        self.contents.insert(name, file["edit"].clone());
    }

    fn take(&mut self, message: &Value) {
        let params = &message["params"];
        if message["method"] == "root/sessionSummaryChanged" {
            let changes = &params["changes"]["changes"];
            if changes.is_object() {
                self.changes = changes.clone();
            }
        }
        if params["channel"] != json!(self.channel) {
            return;
        }
        let action = &params["action"];
        match action["type"].as_str().unwrap_or_default() {
            "changeset/contentChanged" => {
                self.files.clear();
                for file in action["files"].as_array().unwrap() {
                    self.set(file);
                }
            }
            "changeset/fileSet" => self.set(&action["file"]),
            "changeset/fileRemoved" => {
                let id = action["fileId"].as_str().unwrap();
                self.files.remove(id.rsplit('/').next().unwrap());
            }
            "changeset/cleared" => self.files.clear(),
            "changeset/statusChanged" => {
                self.status = action["status"].as_str().unwrap().to_owned();
            }
            _ => {}
        }
    }

    /// Waits until the changeset contains exactly these files.
    async fn until(&mut self, files: &[(&str, u64, u64)]) {
        let wanted: BTreeMap<_, _> = files
            .iter()
            .map(|(name, added, removed)| ((*name).to_owned(), (json!(added), json!(removed))))
            .collect();
        while self.files != wanted || self.status != "ready" {
            let message = self.raw.receive().await.unwrap();
            self.take(&message);
        }
    }

    async fn dispatch(&mut self, channel: &str, action: Value) {
        self.next += 1;
        let params = json!({"channel": channel, "clientSeq": self.next, "action": action});
        let message = json!({"jsonrpc": "2.0", "method": "dispatchAction", "params": params});
        self.raw.send(&message.to_string()).await;
    }

    /// Runs a shell command as a turn and approves it.
    async fn run(&mut self, turn: &str, line: &str) {
        let chat = chat_uri();
        let started = json!({
            "type": "chat/turnStarted", "turnId": turn, "startedAt": "2026-01-01T00:00:00.000Z",
            "message": {"text": line, "origin": {"kind": "user"}},
        });
        self.request("subscribe", json!({"channel": chat})).await;
        self.dispatch(&chat, started).await;
        loop {
            let message = self.raw.receive().await.unwrap();
            self.take(&message);
            let action = &message["params"]["action"];
            match action["type"].as_str().unwrap_or_default() {
                "chat/toolCallReady" if action.get("confirmed").is_none() => {
                    let confirmed = json!({
                        "type": "chat/toolCallConfirmed", "turnId": turn,
                        "toolCallId": action["toolCallId"], "approved": true,
                        "confirmed": "user-action", "selectedOptionId": "once",
                    });
                    self.dispatch(&chat, confirmed).await;
                }
                "chat/turnComplete" => break,
                _ => {}
            }
        }
    }

    async fn operate(&mut self, operation: &str) -> Value {
        let params = json!({"channel": self.channel, "operationId": operation});
        self.request("invokeChangesetOperation", params).await
    }

    async fn read(&mut self, name: &str, side: &str) -> Value {
        let uri = self.contents[name][side]["content"]["uri"].clone();
        let params = json!({"channel": "ahp-root://", "uri": uri});
        self.request("resourceRead", params).await["result"]["data"].clone()
    }
}

#[tokio::test]
async fn the_changeset_of_a_turn_is_published_and_undone() {
    let directory = tempfile::tempdir().unwrap();
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path();
    git(folder, &["init", "--quiet", "--initial-branch=main"]);
    std::fs::write(folder.join("a.txt"), "1\n").unwrap();
    git(folder, &["add", "."]);
    git(folder, &["commit", "--quiet", "--message", "first"]);
    std::fs::write(folder.join("a.txt"), "1\nby hand\n").unwrap();
    let index = std::fs::read(folder.join(".git/index")).unwrap();

    let server = start(directory.path()).await;
    let mut viewer = Viewer::join(&server, "a").await;
    let here = format!("file://{}", folder.display());
    let params = json!({"channel": SESSION, "workingDirectories": [here]});
    viewer.request("createSession", params).await;
    viewer.watch("session").await;
    viewer.until(&[]).await;
    viewer
        .run("t1", "echo new > new.txt; echo 2 >> a.txt")
        .await;
    viewer.until(&[("a.txt", 1, 0), ("new.txt", 1, 0)]).await;
    assert_eq!(viewer.read("a.txt", "before").await, "1\nby hand\n");
    assert_eq!(viewer.read("a.txt", "after").await, "1\nby hand\n2\n");
    viewer.run("t2", "rm new.txt").await;
    viewer.until(&[("a.txt", 1, 0)]).await;
    while viewer.changes["files"] != json!(1) {
        let message = viewer.raw.receive().await.unwrap();
        viewer.take(&message);
    }
    assert_eq!(
        viewer.changes,
        json!({"additions": 1, "deletions": 0, "files": 1})
    );
    // A manual edit is published to subscribers without a turn.
    std::fs::write(folder.join("c.txt"), "c\n").unwrap();
    viewer.until(&[("a.txt", 1, 0), ("c.txt", 1, 0)]).await;
    viewer.watch("turn/t1").await;
    viewer.until(&[("a.txt", 1, 0), ("new.txt", 1, 0)]).await;
    viewer.watch("turn/t2").await;
    viewer.until(&[("new.txt", 0, 1)]).await;
    server.stop().await.unwrap();

    // After a restart all changesets are still available and can be undone.
    let server = start(directory.path()).await;
    let mut viewer = Viewer::join(&server, "b").await;
    viewer.watch("turn/t2").await;
    viewer.until(&[("new.txt", 0, 1)]).await;
    let undone = viewer.operate("undo").await;
    assert_eq!(undone["result"]["message"], "Restored 1 file.", "{undone}");
    assert_eq!(
        std::fs::read_to_string(folder.join("new.txt")).unwrap(),
        "new\n"
    );
    assert_eq!(std::fs::read(folder.join(".git/index")).unwrap(), index);
    viewer.watch("turn/t1").await;
    viewer.until(&[("a.txt", 1, 0), ("new.txt", 1, 0)]).await;
    viewer.operate("undo").await;
    assert_eq!(
        std::fs::read_to_string(folder.join("a.txt")).unwrap(),
        "1\nby hand\n"
    );
    assert!(!folder.join("new.txt").exists());
    let refused = viewer.operate("undo").await;
    assert_eq!(refused["error"]["code"], -32011, "{refused}");

    viewer.watch("uncommitted").await;
    viewer.until(&[("a.txt", 1, 0), ("c.txt", 1, 0)]).await;
    git(folder, &["config", "user.name", "A"]);
    git(folder, &["config", "user.email", "a@example.com"]);
    let committed = viewer.operate("commit").await;
    assert!(committed["result"]["message"].is_string(), "{committed}");
    viewer.until(&[]).await;
    assert_eq!(git(folder, &["status", "--porcelain"]), "");
    viewer
        .request("disposeSession", json!({"channel": SESSION}))
        .await;
    let gone = viewer
        .request("subscribe", json!({"channel": viewer.channel.clone()}))
        .await;
    assert_eq!(gone["error"]["code"], -32008, "{gone}");
    server.stop().await.unwrap();
}

/// Creates a repository whose hook and filter append to `ran` when they are executed.
fn repository_with_code(folder: &Path, ran: &Path) {
    use std::os::unix::fs::PermissionsExt;
    git(folder, &["init", "--quiet", "--initial-branch=main"]);
    std::fs::write(folder.join("a.txt"), "1\n").unwrap();
    git(folder, &["add", "."]);
    git(folder, &["commit", "--quiet", "--message", "first"]);
    git(folder, &["config", "user.name", "A"]);
    git(folder, &["config", "user.email", "a@example.com"]);
    let filter = format!("echo filter >> '{}'; cat", ran.display());
    git(folder, &["config", "filter.x.clean", &filter]);
    std::fs::write(folder.join(".gitattributes"), "* filter=x\n").unwrap();
    let hook = folder.join(".git/hooks/pre-commit");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    let text = format!("#!/bin/sh\necho hook >> '{}'\n", ran.display());
    std::fs::write(&hook, text).unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn repository_code_runs_only_after_approval() {
    let directory = tempfile::tempdir().unwrap();
    let temporary = tempfile::tempdir().unwrap();
    let (folder, ran) = (temporary.path().join("p"), temporary.path().join("ran"));
    std::fs::create_dir(&folder).unwrap();
    repository_with_code(&folder, &ran);
    let server = start(directory.path()).await;
    let mut viewer = Viewer::join(&server, "a").await;
    let here = format!("file://{}", folder.display());
    let params = json!({"channel": SESSION, "workingDirectories": [here]});
    viewer.request("createSession", params).await;
    viewer.watch("uncommitted").await;
    viewer.until(&[(".gitattributes", 1, 0)]).await;
    viewer.run("t1", "echo 2 >> a.txt").await;
    let changed = [(".gitattributes", 1, 0), ("a.txt", 1, 0)];
    viewer.until(&changed).await;
    let refused = viewer.operate("commit").await;
    let reason = refused["error"]["message"].as_str().unwrap();
    assert!(reason.contains("hook pre-commit"), "{refused}");
    assert!(reason.contains("agenthost customizations allow git"));
    assert!(!ran.exists(), "code ran without consent");

    let code = agenthost_workspace::RepositoryCode::inspect(&folder);
    let key = code.unwrap().unwrap().key;
    let allow = json!({"type": "root/configChanged", "config": {"trustedCode": [key]}});
    viewer.dispatch("ahp-root://", allow).await;
    let committed = viewer.operate("commit").await;
    assert!(committed["result"]["message"].is_string(), "{committed}");
    let ran = std::fs::read_to_string(&ran).unwrap();
    assert!(ran.contains("hook") && ran.contains("filter"), "{ran}");
    server.stop().await.unwrap();
}
