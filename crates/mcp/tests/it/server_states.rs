//! The states of MCP servers.

use std::sync::Arc;
use std::time::Duration;

use agenthost_core::tools::mcp::driver::{McpCommand, McpEvent, StartReason};
use agenthost_core::tools::mcp::transport::{McpServerSpec, McpTransport};
use agenthost_mcp::McpConfig;
use agenthost_testkit::mcp_server::{HttpServer, TestAuth};
use serde_json::json;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;

use super::agent::Agent;
use super::harness::{McpHarness, chat, id, program, session, web};

#[tokio::test]
async fn a_program_starts_lists_its_tools_and_stops() {
    let mut harness = McpHarness::new();
    harness.start("a", program("plain"));
    let apps = harness.ready().await;
    // MCP-13: the advertised capabilities are those that are served.
    let capabilities = apps.capabilities;
    assert_eq!(
        capabilities.server_tools,
        Some(json!({"listChanged": true}))
    );
    assert_eq!(capabilities.server_resources, Some(json!({})));
    assert!(capabilities.logging.is_some());
    assert_eq!(capabilities.sampling, None);
    // The host receives the tools before it learns that the server is ready.
    let (_, event) = harness.other.remove(0);
    let McpEvent::ToolsChanged { tools } = event else {
        panic!("{event:?}");
    };
    assert_eq!(tools.len(), 12);
    let image = tools
        .iter()
        .find(|tool| tool.original_name == "image")
        .unwrap();
    assert_eq!(image.name, "test_image");
    assert_eq!(image.title.as_deref(), Some("Show an image"));
    assert_eq!(image.ui, Some(json!({"resourceUri": "ui://image"})));

    harness.stop_server("a");
    harness.stopped().await;
    harness.tools(<[_]>::is_empty).await;
    // Stopping a server that is not running is reported as a stop, too.
    harness.stop_server("a");
    harness.stopped().await;
    harness.end().await;
}

#[tokio::test]
async fn a_server_by_http_starts_and_stops() {
    let server = HttpServer::start(TestAuth::default()).await;
    let mut harness = McpHarness::new();
    harness.start("w", web(&server.url()));
    harness.ready().await;
    let tools = harness.tools(|tools| !tools.is_empty()).await;
    assert_eq!(tools[0].name, "web_echo");
    harness.stop_server("w");
    harness.stopped().await;
    harness.end().await;
}

#[tokio::test]
async fn a_restarted_server_does_not_report_its_stop() {
    let mut harness = McpHarness::new();
    harness.start("a", program("plain"));
    harness.ready().await;
    harness.start("a", program("plain"));
    harness.ready().await;
    let stopped = |(_, event): &(_, McpEvent)| matches!(event, McpEvent::ServerStopped { .. });
    assert!(!harness.other.iter().any(stopped));
    harness.end().await;
}

#[tokio::test]
async fn a_server_that_cannot_start_reports_the_reason() {
    let mut harness = McpHarness::new();
    harness.start(
        "a",
        McpServerSpec {
            name: "none".to_owned(),
            transport: McpTransport::Stdio {
                command: "/there/is/no/such/program".to_owned(),
                arguments: Vec::new(),
                environment: Vec::new(),
                directory: None,
            },
        },
    );
    let why = harness.failed().await;
    assert!(why.contains("program not found"), "{why}");
    for url in ["nonsense", "file:///etc/passwd", "http://127.0.0.1:1/mcp"] {
        harness.start("a", web(url));
        let why = harness.failed().await;
        let expected = match url {
            "http://127.0.0.1:1/mcp" => {
                "the server cannot be reached: Connection refused (os error 111)"
            }
            _ => "the server has no valid `https://` or `http://` URL",
        };
        assert_eq!(why, expected);
    }
    harness.execute(McpCommand::Start {
        reason: StartReason::User,
        session: session(),
        server: id("nobody"),
    });
    assert_eq!(harness.failed().await, "there is no such MCP server");
    harness.end().await;
}

#[tokio::test]
async fn a_crashed_server_reports_its_last_stderr_lines_without_secrets() {
    let mut harness = McpHarness::new();
    harness.start("a", program("die"));
    let why = harness.failed().await;
    assert_eq!(
        why,
        "the server closed the connection before it was ready\nthere is no configuration\nthe key is …"
    );
    harness.start("a", program("refuse"));
    assert_eq!(
        harness.failed().await,
        "the server rejected the handshake: go away"
    );
    harness.end().await;
}

#[tokio::test]
async fn a_server_that_does_not_respond_times_out() {
    let mut harness = McpHarness::with(McpConfig {
        start_timeout: Duration::from_secs(1),
        ..McpConfig::default()
    });
    harness.start("a", program("hang"));
    assert_eq!(
        harness.failed().await,
        "the server was not ready within 1 s"
    );
    // A server that hangs can be stopped, too.
    harness.start("a", program("hang"));
    harness.stop_server("a");
    harness.stopped().await;
    harness.end().await;
}

#[tokio::test]
async fn noise_is_ignored_and_overlong_lines_are_errors() {
    let mut harness = McpHarness::new();
    harness.start("a", program("junk"));
    harness.ready().await;
    harness.start("b", program("huge"));
    assert_eq!(
        harness.failed().await,
        "the server sent a message of more than 16 MiB"
    );
    // TOO-27: a call with an answer that is too long fails, instead of waiting.
    let mut agent = Agent::connect_chat(&harness, &chat()).await;
    let big = agent.call("test_big", json!({"bytes": 20_000_000})).await;
    assert_eq!(big["result"]["isError"], true);
    assert_eq!(
        harness.failed().await,
        "the server sent a message of more than 16 MiB"
    );
    harness.end().await;
}

#[tokio::test]
async fn the_number_of_listed_tools_is_limited() {
    let mut harness = McpHarness::new();
    harness.start("a", program("many"));
    harness.ready().await;
    let tools = harness.tools(|tools| !tools.is_empty()).await;
    assert_eq!(tools.len(), 1_000);
    assert_eq!(
        harness.tool_list_problem().await.unwrap(),
        "only the first 1000 listed tools are used"
    );
    harness.end().await;
}

#[tokio::test]
async fn invalid_tools_are_omitted_and_reported() {
    let mut harness = McpHarness::new();
    harness.start("a", program("mixed"));
    harness.ready().await;
    let tools = harness.tools(|tools| !tools.is_empty()).await;
    assert_eq!(tools.len(), 1);
    assert_eq!(tools[0].original_name, "good");
    assert_eq!(
        harness.tool_list_problem().await.unwrap(),
        "4 listed tools cannot be used: they have no name or arguments, are too \
         long, or are listed twice"
    );
    harness.start("b", program("nolist"));
    assert_eq!(
        harness.failed().await,
        "the tool list of the server is malformed"
    );
    harness.end().await;
}

#[tokio::test]
async fn a_server_with_an_untrusted_certificate_is_rejected() {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into())
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let talked = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        acceptor.accept(stream).await.is_ok()
    });
    let mut harness = McpHarness::new();
    harness.start("w", web(&format!("https://localhost:{port}/mcp")));
    assert_eq!(
        harness.failed().await,
        "the server cannot be reached: invalid peer certificate: UnknownIssuer"
    );
    assert!(!talked.await.unwrap());
    harness.end().await;
}
