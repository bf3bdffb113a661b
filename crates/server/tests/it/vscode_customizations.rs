//! Customizations as VS Code 1.139.1 publishes, reads and shows them.

use std::collections::BTreeMap;

use agenthost_customizations::fetch::PluginSource;
use agenthost_customizations::{ConfiguredPlugin, CustomizationSettings};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use crate::customizations::{TestWorkspace, write};
use crate::peer::Peer;
use crate::raw_messages::Raw;
use crate::test_server::{SESSION, chat_uri};

/// The plugin with everything that the editor has: the type of session and a
/// hash of its folders.
const BUNDLE: &str = "vscode-synced-customization:/agent-host-scripted-742190";

/// An editor that serves files of its memory.
struct Editor {
    raw: Raw,
    asked: u64,
    /// By path, as its file system has them.
    files: BTreeMap<String, &'static str>,
    state: Value,
    /// The latest state of the plugin.
    plugin: Value,
    /// Kinds of actions that came.
    heard: Vec<String>,
}

impl Editor {
    async fn join(server: &agenthost_server::Server, files: &[(&str, &'static str)]) -> Self {
        let root = BUNDLE.split_once(':').unwrap().1;
        let files = files.iter();
        let mut editor = Editor {
            raw: Raw::connect(server).await,
            asked: 0,
            files: files
                .map(|(path, text)| (format!("{root}/{path}"), *text))
                .collect(),
            state: Value::Null,
            plugin: Value::Null,
            heard: Vec::new(),
        };
        let hello = json!({"channel": "ahp-root://", "clientId": "editor", "protocolVersions": ["0.9.0", "0.7.0", "0.6.0", "0.5.2", "0.5.1"], "initialSubscriptions": ["ahp-root://"]});
        let hello = editor.request("initialize", hello).await;
        assert_eq!(hello["protocolVersion"], "0.9.0");
        editor
    }

    async fn request(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.raw.send(&request.to_string()).await;
        loop {
            let message = self.receive().await;
            if message["id"] == id && message.get("method").is_none() {
                assert_eq!(message.get("error"), None, "{method}");
                return message["result"].clone();
            }
        }
    }

    async fn dispatch(&mut self, channel: &str, action: Value) {
        let params = json!({"channel": channel, "clientSeq": 0, "action": action});
        let message = json!({"jsonrpc": "2.0", "method": "dispatchAction", "params": params});
        self.raw.send(&message.to_string()).await;
    }

    /// The next message. Requests of the host are answered.
    async fn receive(&mut self) -> Value {
        let message = self.raw.receive().await.unwrap();
        if let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id")) {
            let answer = self.serve(method, message["params"]["uri"].as_str().unwrap());
            let answer = match answer {
                Some(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
                None => {
                    json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32008, "message": "Unable to resolve nonexistent file"}})
                }
            };
            self.raw.send(&answer.to_string()).await;
        }
        let action = &message["params"]["action"];
        self.heard
            .extend(action["type"].as_str().map(str::to_owned));
        if action["customization"]["uri"] == BUNDLE {
            self.plugin = action["customization"].clone();
        }
        message
    }

    /// Answers by the path that an address means, as a URI class does.
    fn serve(&self, method: &str, uri: &str) -> Option<Value> {
        let (scheme, path) = uri.split_once(':').unwrap();
        assert_eq!(scheme, "vscode-synced-customization");
        let path = percent_decode_str(path).decode_utf8().unwrap();
        match method {
            "resourceRead" => {
                let data = STANDARD.encode(self.files.get(path.as_ref())?);
                Some(json!({"data": data, "encoding": "base64"}))
            }
            "resourceList" => {
                let inside = self.files.keys();
                let inside = inside.filter_map(|file| file.strip_prefix(&format!("{path}/")));
                let entries: BTreeMap<_, _> = inside
                    .map(|inside| match inside.split_once('/') {
                        Some((folder, _)) => (folder, "directory"),
                        None => (inside, "file"),
                    })
                    .collect();
                let entries = entries.iter();
                let entries = entries.map(|(name, kind)| json!({"name": name, "type": kind}));
                Some(json!({"entries": entries.collect::<Vec<_>>()}))
            }
            other => panic!("VS Code does not answer `{other}` without asking a person"),
        }
    }

    async fn until(&mut self, what: &str, holds: impl Fn(&Editor) -> bool) {
        while !holds(self) {
            self.receive().await;
            assert!(self.heard.len() < 500, "{what}: {}", self.plugin);
        }
    }
}

/// CUS-3, CUS-7, CUS-8, CUS-14, CUS-15, at the version and with the fields that
/// VS Code goes by. Names are such that a URI class writes them otherwise.
#[tokio::test]
async fn the_synced_data_plugin_of_vs_code_is_loaded() {
    let workspace = TestWorkspace::new();
    let server = workspace.serve(CustomizationSettings::default()).await;
    let files = [
        (
            ".plugin/plugin.json",
            "{\"name\": \"VS Code Synced Data\", \"description\": \"Customization data\"}",
        ),
        (
            "agents/größe+1 (new)@x.agent.md",
            "---\nname: sizer\ndescription: Measures\n---\nYou measure.",
        ),
        (
            "commands/fix it.prompt.md",
            "---\nagent: agent\ndescription: Fixes\n---\nFix $ARGUMENTS.",
        ),
        (
            "rules/100%.instructions.md",
            "---\napplyTo: '**'\n---\nBe complete.",
        ),
        (
            "skills/create-pr/SKILL.md",
            "---\nname: create-pr\ndescription: Creates\ndisable-model-invocation: true\n---\nCreate it.",
        ),
        ("skills/create-pr/scripts/run.sh", "echo"),
        (
            ".mcp.json",
            "{\"mcpServers\": {\"docs\": {\"type\": \"http\", \"transport\": \"http\", \"url\": \"https://docs.example/mcp\"}}}",
        ),
    ];
    let mut editor = Editor::join(&server, &files).await;
    let folder = format!("file://{}", workspace.project.path().display());
    let bundle = json!({"type": "plugin", "id": BUNDLE, "uri": BUNDLE, "name": "VS Code Synced Data", "nonce": "-1592217204", "_meta": {"mcpDefaultCwds": {"docs": null}}, "enablement": [{"kind": "global", "enabled": true}], "childEnablement": {"docs": [{"kind": "global", "enabled": false}]}});
    let active = json!({"clientId": "editor", "tools": [], "customizations": [bundle]});
    let create = json!({"channel": SESSION, "provider": "scripted", "workingDirectories": [folder], "activeClient": active});
    editor.request("createSession", create).await;
    let state = editor
        .request("subscribe", json!({"channel": SESSION}))
        .await;
    editor.state = state["snapshot"]["state"].clone();
    editor
        .request("subscribe", json!({"channel": chat_uri()}))
        .await;
    // Equal to what was published, or VS Code publishes it again.
    assert_eq!(editor.state["activeClients"], json!([active]));
    editor
        .until("the plugin", |editor| {
            editor.plugin["load"]["kind"] == "degraded"
        })
        .await;

    let plugin = editor.plugin.clone();
    assert_eq!(plugin["clientId"], "editor");
    assert_eq!(plugin["nonce"], "-1592217204");
    assert_eq!(
        plugin["enablement"],
        json!([{"kind": "global", "enabled": true}])
    );
    let children = plugin["children"].as_array().unwrap();
    let shown: Vec<_> = children
        .iter()
        .map(|child| {
            let [kind, name, uri] =
                ["type", "name", "uri"].map(|key| child[key].as_str().unwrap().to_owned());
            format!("{kind} {name} {}", uri.strip_prefix(BUNDLE).unwrap())
        })
        .collect();
    assert_eq!(
        shown,
        [
            "agent sizer /agents/gr%C3%B6%C3%9Fe%2B1%20%28new%29%40x.agent.md",
            "skill create-pr /skills/create-pr/SKILL.md",
            "skill fix it /commands/fix%20it.prompt.md",
            "rule 100% /rules/100%25.instructions.md",
            "mcpServer docs /.mcp.json",
        ]
    );
    assert_eq!(children[1]["disableModelInvocation"], true);
    let docs = &children[4];
    assert_eq!(docs["state"]["kind"], "stopped");
    assert_eq!(
        docs["enablement"],
        json!([{"kind": "global", "enabled": false}])
    );

    // The address of a custom agent comes back as it was shown, and its prompt
    // and the rule reach the agent.
    let agent = children[0]["uri"].clone();
    let message = json!({"text": "say done", "origin": {"kind": "user"}, "agent": {"uri": agent}});
    let start = json!({"type": "chat/turnStarted", "turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": message});
    editor.dispatch(&chat_uri(), start).await;
    editor
        .until("the end of the turn", |editor| {
            editor.heard.iter().any(|kind| kind == "chat/turnComplete")
        })
        .await;
    server.stop().await.unwrap();
}

/// RES-15: VS Code reads the file of a skill before it sends `/name`, and lists
/// the folders of a plugin, wherever these are. CUS-19: not what would run.
#[tokio::test]
async fn files_of_skills_are_readable_in_any_location() {
    let workspace = TestWorkspace::new();
    let package = tempfile::tempdir().unwrap();
    let root = package.path().join("plugin");
    write(&root, "skills/deploy/SKILL.md", "Deploy it.");
    let command = r#"{"mcpServers": {"x": {"command": "x", "env": {"TOKEN": "secret"}}}}"#;
    write(&root, ".mcp.json", command);
    let source = PluginSource::Path(root.clone());
    let mine = workspace.write_at_home(".agents/skills/mine/SKILL.md", "Mine.");
    let other = workspace.write_at_home(".ssh/id", "secret");
    let server = workspace
        .serve(CustomizationSettings {
            plugins: vec![ConfiguredPlugin {
                source,
                agents: None,
            }],
            ..CustomizationSettings::default()
        })
        .await;
    let mut peer = Peer::join(&server, "editor").await;
    let at = |path: &std::path::Path| json!({"channel": "ahp-root://", "uri": format!("file://{}", path.display())});
    let refused = peer.request("resourceRead", at(&mine)).await.unwrap_err();
    assert_eq!(refused["code"], -32009, "no session shows it");
    peer.open(workspace.project.path()).await;
    peer.until("the skills", |peer| {
        peer.customization("mine").is_some() && peer.customization("deploy").is_some()
    })
    .await;
    let uri = peer.customization("mine").unwrap()["uri"].clone();
    let read = json!({"channel": "ahp-root://", "uri": uri, "encoding": "base64"});
    assert!(peer.request("resourceRead", read).await.is_ok());
    let listed = peer.request("resourceList", at(&root.join("skills"))).await;
    assert_eq!(
        listed.unwrap()["entries"],
        json!([{"name": "deploy", "type": "directory"}])
    );
    for (method, path) in [
        ("resourceRead", &root.join(".mcp.json")),
        ("resourceList", &root),
        ("resourceRead", &other),
        ("resourceDelete", &mine),
    ] {
        let refused = peer.request(method, at(path)).await.unwrap_err();
        assert_eq!(refused["code"], -32009, "{method} {}", path.display());
    }
    server.stop().await.unwrap();
}
