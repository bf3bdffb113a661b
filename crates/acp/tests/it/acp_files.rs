//! Files that agents read and write through the host, and MCP servers that are passed on to agents.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use agenthost_acp::{AcpAgent, AcpService, AgentMcpServer};
use agenthost_core::agent::AgentCommand;
use agenthost_core::tools::mcp::transport::{EnvRef, McpTransport};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::acp::{agent, run_turn};
use crate::bench::Bench;

/// A session whose folder is beside a file that its agent must not reach.
pub(crate) struct FileTest {
    bench: Bench,
    turn_count: u32,
    root: TempDir,
}

impl FileTest {
    async fn open() -> Self {
        Self::with(agent("").with_service(AcpService::Files)).await
    }

    async fn with(agent: AcpAgent) -> Self {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("folder");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(root.path().join("outside.txt"), "secret").unwrap();
        let bench = open_in_folder(agent, &folder).await;
        FileTest {
            bench,
            turn_count: 0,
            root,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join("folder").join(name)
    }

    /// Has the agent send a request in a turn, and returns the response.
    async fn call(&mut self, method: &str, params: Value) -> Value {
        self.turn_count += 1;
        let name = format!("t{}", self.turn_count);
        let events = run_turn(&mut self.bench, &name, &format!("call {method} {params}")).await;
        parse_event_json(&events[0])
    }

    async fn read(&mut self, params: Value) -> Value {
        self.call("fs/read_text_file", params).await
    }

    async fn write(&mut self, path: &Path, content: &str) -> Value {
        let params = json!({"path": path, "content": content});
        self.call("fs/write_text_file", params).await
    }
}

/// Opens an agent in a folder.
pub(crate) async fn open_in_folder(agent: AcpAgent, folder: &Path) -> Bench {
    let mut bench = Bench::of(std::sync::Arc::new(agent), None);
    bench.command(AgentCommand::Open {
        directories: vec![agenthost_workspace::uri_of(folder).unwrap()],
        config: None,
        notes: Default::default(),
    });
    assert_eq!(bench.next().await, "opened");
    bench
}

/// Parses the text of an event as JSON. Text that is not JSON is returned as a string.
pub(crate) fn parse_event_json(event: &str) -> Value {
    let text = event.strip_prefix("text ");
    let text = text.unwrap_or_else(|| panic!("not said: {event}"));
    let text: String = serde_json::from_str(text).unwrap();
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}

#[tokio::test]
async fn a_range_of_lines_is_read() {
    let mut test = FileTest::open().await;
    let path = test.path("a.txt");
    std::fs::write(&path, "one\ntwo\nthree\n").unwrap();
    let all = test.read(json!({ "path": path })).await;
    assert_eq!(all, json!({"content": "one\ntwo\nthree\n"}));
    let some = test
        .read(json!({"path": path, "line": 2, "limit": 1}))
        .await;
    assert_eq!(some, json!({"content": "two\n"}));
    // A symlink that leads to a file inside the folder may be read.
    symlink("a.txt", test.path("inside")).unwrap();
    let inside = test.path("inside");
    let same = test
        .read(json!({"path": inside, "line": 3, "limit": null}))
        .await;
    assert_eq!(same, json!({"content": "three\n"}));
}

#[tokio::test]
async fn read_errors_have_a_code_and_a_reason() {
    let mut test = FileTest::open().await;
    let missing = test.path("missing.txt");
    let answer = test.read(json!({ "path": missing })).await;
    assert_eq!(answer["code"], -32002);
    assert_eq!(answer["data"]["uri"], json!(missing));

    symlink(test.root.path().join("outside.txt"), test.path("link")).unwrap();
    symlink(test.root.path(), test.path("up")).unwrap();
    std::fs::write(test.path("binary"), b"\xff\x00").unwrap();
    let huge = std::fs::File::create(test.path("huge")).unwrap();
    huge.set_len(17 * 1024 * 1024).unwrap();
    let outside = test.root.path().join("outside.txt");
    for (path, expected) in [
        (outside, "outside of the granted folders"),
        (test.path("link"), "outside of the granted folders"),
        (
            test.path("up/outside.txt"),
            "outside of the granted folders",
        ),
        (
            test.path("../outside.txt"),
            "outside of the granted folders",
        ),
        (test.path("binary"), "is binary, not text"),
        (test.path("huge"), "has 17825792 bytes"),
        (test.path(""), "is a directory, not a file"),
        (PathBuf::from("a.txt"), "must be an absolute path"),
    ] {
        let answer = test.read(json!({ "path": path })).await;
        assert_eq!(answer["code"], -32602, "{path:?}: {answer}");
        let message = answer["message"].as_str().unwrap();
        assert!(message.contains(expected), "{path:?}: {answer}");
    }
    let answer = test.read(json!({})).await;
    assert_eq!(answer["code"], -32602, "{answer}");
    let nobody = json!({"path": "/x", "sessionId": "nobody"});
    let answer = test.read(nobody).await;
    assert_eq!(answer["code"], -32002, "{answer}");
    assert!(answer["message"].as_str().unwrap().contains("`nobody`"));
}

#[tokio::test]
async fn files_are_written_atomically_and_keep_their_mode() {
    let mut test = FileTest::open().await;
    let new = test.path("made/here/new.txt");
    assert_eq!(test.write(&new, "one\n").await, json!({}));
    assert_eq!(std::fs::read_to_string(&new).unwrap(), "one\n");
    std::fs::set_permissions(&new, PermissionsExt::from_mode(0o755)).unwrap();
    assert_eq!(test.write(&new, "two\n").await, json!({}));
    assert_eq!(std::fs::read_to_string(&new).unwrap(), "two\n");
    let mode = std::fs::metadata(&new).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    // No temporary file is left.
    let folder = std::fs::read_dir(test.path("made/here")).unwrap();
    assert_eq!(folder.count(), 1);
}

/// An agent may send a request before it has the response to the last one. Requests are handled in
/// order.
#[tokio::test]
async fn file_requests_are_handled_in_order() {
    let mut test = FileTest::open().await;
    let path = test.path("a.txt");
    let writes = (0..100).map(|number| {
        let params = json!({"path": path, "content": number.to_string()});
        format!("start fs/write_text_file {params}\n")
    });
    let read = json!({ "path": path });
    let script = format!(
        "{}call fs/read_text_file {read}",
        writes.collect::<String>()
    );
    let events = run_turn(&mut test.bench, "t1", &script).await;
    assert_eq!(parse_event_json(&events[0]), json!({"content": "99"}));
}

#[tokio::test]
async fn rejected_writes_leave_files_unchanged() {
    let mut test = FileTest::open().await;
    let outside = test.root.path().join("outside.txt");
    symlink(&outside, test.path("link")).unwrap();
    symlink(test.root.path(), test.path("up")).unwrap();
    std::fs::write(test.path("fixed"), "as it is").unwrap();
    std::fs::set_permissions(test.path("fixed"), PermissionsExt::from_mode(0o444)).unwrap();
    for (path, code, expected) in [
        (outside.clone(), -32602, "outside of the granted folders"),
        (test.path("link"), -32602, "outside of the granted folders"),
        (
            test.path("up/outside.txt"),
            -32602,
            "outside of the granted folders",
        ),
        (
            test.path("up/new/x.txt"),
            -32602,
            "outside of the granted folders",
        ),
        (test.path(""), -32602, "is a directory, not a file"),
        (test.path("fixed"), -32603, "the system denies access"),
    ] {
        let answer = test.write(&path, "other").await;
        assert_eq!(answer["code"], code, "{path:?}: {answer}");
        let message = answer["message"].as_str().unwrap();
        assert!(message.contains(expected), "{path:?}: {answer}");
    }
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "secret");
    let fixed = std::fs::read_to_string(test.path("fixed")).unwrap();
    assert_eq!(fixed, "as it is");
    assert!(!test.root.path().join("new").exists());
}

/// Files and terminals that are not offered are not advertised, and requests for them fail with
/// "method not found".
#[tokio::test]
async fn disabled_services_fail_with_method_not_found() {
    let mut test = FileTest::with(agent("")).await;
    let path = test.path("a.txt");
    let methods = ["fs/read_text_file", "terminal/create", "terminal/output"];
    for method in methods {
        let params = json!({"path": path, "command": "ls", "terminalId": "x"});
        let answer = test.call(method, params).await;
        assert_eq!(answer["code"], -32601, "{method}: {answer}");
    }
    let events = run_turn(&mut test.bench, "offered", "offered").await;
    let offered = parse_event_json(&events[0]);
    assert_eq!(offered[0]["fs"]["readTextFile"], false);
    assert_eq!(offered[0]["terminal"], false);

    let both = agent("")
        .with_service(AcpService::Files)
        .with_service(AcpService::Terminals);
    let mut test = FileTest::with(both).await;
    let events = run_turn(&mut test.bench, "offered", "offered").await;
    let offered = parse_event_json(&events[0]);
    let files = json!({"readTextFile": true, "writeTextFile": true});
    assert_eq!(offered[0]["fs"], files);
    assert_eq!(offered[0]["terminal"], true);
    assert_eq!(offered[1], json!([]));
}

#[tokio::test]
async fn configured_mcp_servers_are_passed_to_the_agent() {
    let server = |name: &str, transport| AgentMcpServer {
        name: name.to_owned(),
        transport,
    };
    let program = McpTransport::Stdio {
        command: "/bin/tools".to_owned(),
        arguments: vec!["-x".to_owned()],
        environment: vec![("P".to_owned(), EnvRef("$PATH".to_owned()))],
        directory: None,
    };
    let http = McpTransport::Http {
        url: "http://127.0.0.1/mcp".to_owned(),
        headers: Vec::new(),
    };
    let servers = vec![server("one", program), server("two", http)];
    let mut test = FileTest::with(agent("http").with_mcp_servers(servers.clone())).await;
    let events = run_turn(&mut test.bench, "t1", "offered").await;
    let servers_sent = parse_event_json(&events[0])[1].clone();
    assert_eq!(
        servers_sent[0]["env"][0]["value"],
        std::env::var("PATH").unwrap()
    );
    assert_eq!(servers_sent[1]["type"], "http");

    let mut test = FileTest::with(agent("").with_mcp_servers(servers)).await;
    let events = run_turn(&mut test.bench, "t1", "offered").await;
    assert!(events[0].contains("It cannot use: two."), "{events:?}");
    assert_eq!(parse_event_json(&events[1])[1].as_array().unwrap().len(), 1);
    // The notice is shown only once.
    let events = run_turn(&mut test.bench, "t2", "say on").await;
    assert_eq!(events, ["text \"on\"", "end t2"]);
}
