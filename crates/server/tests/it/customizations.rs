//! Customizations over real sockets: every sequence in the guide.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agenthost_acp::{AcpAgent, AcpProfile, AgentLaunch};
use agenthost_customizations::fetch::PluginSource;
use agenthost_customizations::{ConfiguredPlugin, CustomizationSettings};
use agenthost_mcp::{RelayTarget, relay};
use agenthost_server::{CustomizationsConfig, RelayProgram, Server, ServerConfig, serve};
use agenthost_testkit::acp_agent;
use serde_json::{Value, json};

use crate::peer::Peer;
use crate::test_server::{SESSION, chat_uri};

/// Environment variable that makes the test program run as the relay.
const AS_RELAY: &str = "AGENTHOST_TOOLS_SOCKET";

/// Entry point of the relay process. Does nothing in a regular test run.
#[test]
fn the_relay() {
    if std::env::var_os(AS_RELAY).is_none() {
        return;
    }
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let target = RelayTarget::from_environment().unwrap();
        let passed = relay(target, tokio::io::stdin(), tokio::io::stdout()).await;
        passed.unwrap();
    });
    runtime.shutdown_background();
    std::process::exit(0);
}

/// Temporary directories of a test: the project, the data of the host, the home of the user.
pub(crate) struct TestWorkspace {
    pub(crate) project: tempfile::TempDir,
    data: tempfile::TempDir,
    home: tempfile::TempDir,
}

impl TestWorkspace {
    pub(crate) fn new() -> Self {
        let dir = || tempfile::tempdir().unwrap();
        TestWorkspace {
            project: dir(),
            data: dir(),
            home: dir(),
        }
    }

    pub(crate) fn write(&self, path: &str, text: &str) -> PathBuf {
        write(self.project.path(), path, text)
    }

    /// Writes a file into the user's home, outside of the project.
    pub(crate) fn write_at_home(&self, path: &str, text: &str) -> PathBuf {
        write(self.home.path(), path, text)
    }

    /// Starts a host with an ACP agent and these customizations.
    pub(crate) async fn serve(&self, settings: CustomizationSettings) -> Server {
        self.serve_with(settings, "plain", AcpProfile::default())
            .await
    }

    /// Like `serve`, with a mode and a profile for the agent.
    pub(crate) async fn serve_with(
        &self,
        settings: CustomizationSettings,
        how: &str,
        profile: AcpProfile,
    ) -> Server {
        let mut config = ServerConfig::new(self.data.path());
        let (program, arguments) = acp_agent::agent_command("acp::the_agent");
        let launch = AgentLaunch {
            program,
            arguments,
            environment: vec![(acp_agent::AGENT_MODE_VARIABLE.to_owned(), how.to_owned())],
        };
        let agent = AcpAgent::new("scripted", "Scripted", launch)
            .with_pid_dir(&config.pid_dir())
            .with_profile(profile);
        config.agents = vec![Arc::new(agent)];
        config.limits.grace_period = Duration::from_millis(300);
        let (program, arguments) = acp_agent::agent_command("customizations::the_relay");
        config.customizations = Some(CustomizationsConfig {
            settings: CustomizationSettings {
                home: Some(self.home.path().to_owned()),
                environment: std::env::vars().collect(),
                ..settings
            },
            relay: Some(RelayProgram {
                program: program.into(),
                arguments,
            }),
        });
        serve(config).await.unwrap()
    }
}

pub(crate) fn write(folder: &Path, path: &str, text: &str) -> PathBuf {
    let path = folder.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path
}

/// Writes a plugin with one skill and returns settings that contain it.
fn plugin(folder: &Path) -> CustomizationSettings {
    write(
        folder,
        "plugin.json",
        r#"{"name": "plugin-a", "version": "1.2.0"}"#,
    );
    let skill = "---\nname: deploy\ndescription: Deploys it\n---\nDeploy $ARGUMENTS carefully.\n";
    write(folder, "skills/deploy/SKILL.md", skill);
    let source = PluginSource::Path(folder.to_owned());
    CustomizationSettings {
        plugins: vec![ConfiguredPlugin {
            source,
            agents: None,
        }],
        ..CustomizationSettings::default()
    }
}

/// Returns a plugin whose files only the client has.
pub(crate) fn client_plugin(nonce: &str) -> Value {
    json!([{"type": "plugin", "id": "client-plugin", "uri": "virtual://editor/skills", "name": "Plugin C", "nonce": nonce}])
}

pub(crate) fn serve_plugin(peer: &mut Peer) {
    let files = [
        ("plugin.json", r#"{"name": "plugin-c"}"#),
        (
            "skills/review/SKILL.md",
            "---\nname: review\ndescription: Reviews\n---\nReview it.\n",
        ),
    ];
    for (path, text) in files {
        let uri = format!("virtual://editor/skills/{path}");
        peer.files.insert(uri, text.to_owned());
    }
}

fn is_loaded(peer: &Peer, name: &str) -> bool {
    let found = peer.customization(name);
    found.is_some_and(|found| found["load"]["kind"] == "loaded")
}

/// The full session flow in the guide: the host loads a plugin (1), a client provides another (2),
/// the first is disabled (3), and the client leaves (4). CUS-3 to CUS-9.
#[tokio::test]
async fn the_session_flow_of_the_guide_works() {
    let workspace = TestWorkspace::new();
    let package = tempfile::tempdir().unwrap();
    let server = workspace.serve(plugin(package.path())).await;
    let mut watcher = Peer::join(&server, "watcher").await;
    watcher.open(workspace.project.path()).await;
    watcher
        .until("plugin A", |peer| is_loaded(peer, "plugin-a"))
        .await;
    let found = watcher.customization("plugin-a").unwrap();
    assert_eq!(found["version"], "1.2.0");
    assert_eq!(found["children"][0]["name"], "deploy");
    assert_eq!(found["children"][0]["description"], "Deploys it");
    assert_eq!(found["children"][0]["type"], "skill");

    let mut editor = Peer::join(&server, "editor").await;
    serve_plugin(&mut editor);
    editor.subscribe_session().await;
    editor.be_active(json!([]), client_plugin("1")).await;
    editor
        .until("plugin C", |peer| {
            is_loaded(peer, "plugin-c") || is_loaded(peer, "Plugin C")
        })
        .await;
    let first = editor.served.len();
    assert!(first > 0);
    watcher
        .until("plugin C", |peer| peer.customization("review").is_some())
        .await;
    // The host also publishes the plugin while it is being loaded.
    let loading = watcher.actions.iter().any(|action| {
        let shown = &action["customization"];
        shown["clientId"] == "editor" && shown["load"]["kind"] == "loading"
    });
    assert!(loading, "{:?}", watcher.actions);
    // A plugin with the same nonce is unchanged, so its files are not read again (CUS-7).
    editor
        .be_active(json!([{"name": "x"}]), client_plugin("1"))
        .await;
    editor
        .until("the tool", |peer| {
            peer.session()["activeClients"][0]["tools"][0]["name"] == "x"
        })
        .await;
    assert_eq!(editor.served.len(), first);

    let id = found["id"].clone();
    let off = json!([{"kind": "global", "enabled": false}]);
    let toggle = json!({"type": "session/customizationToggled", "id": id, "enablement": off});
    watcher.dispatch(SESSION, toggle).await;
    watcher
        .until("plugin A to be off", |peer| {
            peer.customization("plugin-a").unwrap()["enablement"] == off
        })
        .await;
    watcher.check().await;

    drop(editor);
    watcher.action("session/activeClientRemoved").await;
    watcher.action("session/customizationRemoved").await;
    assert!(watcher.customization("review").is_none());
    watcher.check().await;
    server.stop().await.unwrap();
}

/// A skill saved to a writable directory is published and can be used (CUS-17).
#[tokio::test]
async fn a_saved_skill_is_published_and_usable() {
    let workspace = TestWorkspace::new();
    let server = workspace.serve(CustomizationSettings::default()).await;
    let mut peer = Peer::join(&server, "editor").await;
    peer.open(workspace.project.path()).await;
    let writable = |one: &Value| {
        one["type"] == "directory" && one["contents"] == "skill" && one["writable"] == true
    };
    let find = move |peer: &Peer| {
        let session = peer.session();
        let all = session["customizations"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        all.into_iter().find(writable)
    };
    peer.until("a folder for skills", |peer| find(peer).is_some())
        .await;
    let folder = find(&peer).unwrap()["uri"].as_str().unwrap().to_owned();
    let skill = "---\nname: greet\ndescription: Greets\n---\nsay Hello $ARGUMENTS\n";
    let params = json!({"channel": "ahp-root://", "uri": format!("{folder}/greet/SKILL.md"), "data": skill, "encoding": "utf-8"});
    peer.request("resourceWrite", params).await.unwrap();
    peer.until("the skill", |peer| peer.customization("greet").is_some())
        .await;
    let params = json!({"channel": chat_uri(), "kind": "userMessage", "text": "/gr", "offset": 3});
    // The completion follows shortly after the customization.
    let offered = async {
        loop {
            let offered = peer.request("completions", params.clone()).await.unwrap();
            if offered["items"][0]["insertText"] == "/greet" {
                break;
            }
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(20), offered).await;
    waited.unwrap();
    // The agent gets the content of the skill, not only its name.
    let said = peer.run_turn("t1", "/greet World").await;
    assert!(said.contains("Hello World"), "{said}");
    peer.check().await;
    server.stop().await.unwrap();
}

/// The agent gets rules and custom agents with its first message.
#[tokio::test]
async fn the_agent_receives_rules_and_custom_agents() {
    let workspace = TestWorkspace::new();
    workspace.write(
        ".agents/rules/kind.md",
        "---\nalwaysApply: true\n---\nAlways be kind.\n",
    );
    let agent = "---\nname: poet\ndescription: Rhymes\n---\nAnswer in rhymes.\n";
    workspace.write(".agents/agents/poet.md", agent);
    let server = workspace.serve(CustomizationSettings::default()).await;
    let mut peer = Peer::join(&server, "editor").await;
    peer.open(workspace.project.path()).await;
    peer.until("the agent", |peer| peer.customization("poet").is_some())
        .await;
    let said = peer.run_turn("t1", "blocks").await;
    assert!(said.contains("Always be kind."), "{said}");
    assert!(!said.contains("rhymes"), "{said}");
    let uri = peer.customization("poet").unwrap()["uri"].clone();
    let message = json!({"text": "blocks", "origin": {"kind": "user"}, "agent": {"uri": uri}});
    let start = json!({"type": "chat/turnStarted", "turnId": "t2", "startedAt": "2026-01-05T09:00:00Z", "message": message});
    peer.dispatch(&chat_uri(), start).await;
    let said = peer.end("t2").await;
    assert!(said.contains("Answer in rhymes."), "{said}");
    server.stop().await.unwrap();
}

pub(crate) fn tools() -> Value {
    json!([{"name": "runTests", "title": "Run tests", "description": "Runs tests", "inputSchema": {"type": "object", "properties": {"pattern": {"type": "string"}}}}])
}

/// The tool call in the guide: a client runs its tool, streams content and completes the call; the
/// agent gets the result (CLT-2, CLT-4, CLT-14).
#[tokio::test]
async fn a_client_runs_its_tool() {
    let workspace = TestWorkspace::new();
    let server = workspace.serve(CustomizationSettings::default()).await;
    let mut editor = Peer::join(&server, "editor").await;
    editor.open(workspace.project.path()).await;
    editor.be_active(tools(), json!([])).await;
    editor
        .start_turn("t1", r#"mcp call runTests {"pattern": "it"}"#)
        .await;
    let start = editor.action("chat/toolCallStart").await;
    assert_eq!(
        start["contributor"],
        json!({"kind": "client", "clientId": "editor"})
    );
    assert_eq!(start["toolName"], "runTests");
    let ready = editor.action("chat/toolCallReady").await;
    assert_eq!(ready["confirmed"], "not-needed");
    let input: Value = serde_json::from_str(ready["toolInput"].as_str().unwrap()).unwrap();
    assert_eq!(input, json!({"pattern": "it"}));
    let call = ready["toolCallId"].clone();
    let content = json!([{"type": "text", "text": "half"}]);
    let progress = json!({"type": "chat/toolCallContentChanged", "turnId": "t1", "toolCallId": call, "content": content});
    editor.dispatch(&chat_uri(), progress).await;
    editor.action("chat/toolCallContentChanged").await;
    let content = json!([{"type": "text", "text": "3 passed"}]);
    let result = json!({"success": true, "pastTenseMessage": "Ran tests", "content": content});
    let complete = json!({"type": "chat/toolCallComplete", "turnId": "t1", "toolCallId": call, "result": result});
    editor.dispatch(&chat_uri(), complete).await;
    let said = editor.end("t1").await;
    assert_eq!(said, "3 passed");
    let chat = editor.chat();
    let parts = chat["turns"][0]["responseParts"].as_array().unwrap();
    let calls: Vec<_> = parts
        .iter()
        .filter(|part| part["kind"] == "toolCall")
        .collect();
    assert_eq!(calls.len(), 1, "{parts:?}");
    assert_eq!(calls[0]["toolCall"]["status"], "completed");
    server.stop().await.unwrap();
}

/// A client denies a call of a tool that it no longer has; the agent is told that the call failed
/// (CLT-13).
#[tokio::test]
async fn a_client_denies_a_tool() {
    let workspace = TestWorkspace::new();
    let server = workspace.serve(CustomizationSettings::default()).await;
    let mut editor = Peer::join(&server, "editor").await;
    editor.open(workspace.project.path()).await;
    editor.be_active(tools(), json!([])).await;
    editor.start_turn("t1", "mcp quiet runTests {}").await;
    let ready = editor.action("chat/toolCallReady").await;
    let denied = json!({"type": "chat/toolCallConfirmed", "turnId": "t1", "toolCallId": ready["toolCallId"], "approved": false, "reason": "denied"});
    editor.dispatch(&chat_uri(), denied).await;
    let said = editor.end("t1").await;
    assert!(
        said.contains("it failed") && said.contains("declined"),
        "{said}"
    );
    server.stop().await.unwrap();
}

/// The host waits a limited time for a client that disconnects during a call. Then the call fails,
/// and the agent continues (CLT-7, CLT-8, TOO-27).
#[tokio::test]
async fn a_call_of_a_disconnected_client_fails_after_a_timeout() {
    let workspace = TestWorkspace::new();
    let server = workspace.serve(CustomizationSettings::default()).await;
    let mut watcher = Peer::join(&server, "watcher").await;
    watcher.open(workspace.project.path()).await;
    let mut editor = Peer::join(&server, "editor").await;
    editor.subscribe_session().await;
    editor.be_active(tools(), json!([])).await;
    watcher
        .until("the tool", |peer| {
            peer.session()["activeClients"][0]["clientId"] == "editor"
        })
        .await;
    watcher.start_turn("t1", "mcp call runTests {}").await;
    watcher.action("chat/toolCallReady").await;
    drop(editor);
    let said = watcher.end("t1").await;
    assert!(
        said.contains("it failed") && said.contains("has disconnected"),
        "{said}"
    );
    // The client's tools are removed with it.
    let said = watcher.run_turn("t2", "mcp list").await;
    assert!(!said.contains("runTests"), "{said}");
    server.stop().await.unwrap();
}

/// Two clients provide a tool of the same name: both can be called, under distinct names (CLT-2).
#[tokio::test]
async fn equal_tools_of_two_clients_get_distinct_names() {
    let workspace = TestWorkspace::new();
    let server = workspace.serve(CustomizationSettings::default()).await;
    let mut one = Peer::join(&server, "one").await;
    one.open(workspace.project.path()).await;
    let mut two = Peer::join(&server, "two").await;
    two.subscribe_session().await;
    one.be_active(tools(), json!([])).await;
    one.action("session/activeClientSet").await;
    two.be_active(tools(), json!([])).await;
    one.action("session/activeClientSet").await;
    let said = one.run_turn("t1", "mcp list").await;
    assert_eq!(said, "runTests, two_runTests");
    one.start_turn("t2", "mcp call two_runTests {}").await;
    let start = two.action("chat/toolCallStart").await;
    assert_eq!(start["contributor"]["clientId"], "two");
    assert_eq!(start["toolName"], "runTests");
    let ready = two.action("chat/toolCallReady").await;
    let result = json!({"success": true, "pastTenseMessage": "Ran", "content": [{"type": "text", "text": "by two"}]});
    let complete = json!({"type": "chat/toolCallComplete", "turnId": "t2", "toolCallId": ready["toolCallId"], "result": result});
    two.dispatch(&chat_uri(), complete).await;
    assert_eq!(one.end("t2").await, "by two");
    server.stop().await.unwrap();
}
