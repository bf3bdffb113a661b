//! Modes that no client may select, and tokens, with the official client.

use std::sync::Arc;

use agenthost_acp::TokenBinding;
use agenthost_acp::{AcpAgent, AcpProfile, AgentLaunch};
use agenthost_server::serve;
use agenthost_testkit::acp_agent;
use serde_json::{Value, json};

use crate::test_server::{Mirror, SESSION, config, create_session, join, start_turn};

fn agent() -> AcpAgent {
    let (program, arguments) = acp_agent::agent_command("acp::the_agent");
    let launch = AgentLaunch {
        program,
        arguments,
        environment: vec![(
            acp_agent::AGENT_MODE_VARIABLE.to_owned(),
            "modes trusting".to_owned(),
        )],
    };
    let profile = AcpProfile {
        // `do` is known before the agent runs; `yolo` is recognized once it does.
        auto_approve_values: vec!["do".to_owned()],
        token_binding: Some(TokenBinding {
            environment: "THE_TOKEN".to_owned(),
            resource: "https://example.org/api".to_owned(),
            name: None,
            authorization_servers: Vec::new(),
            scopes: Vec::new(),
        }),
        ..AcpProfile::default()
    };
    AcpAgent::new("scripted", "Scripted", launch).with_profile(profile)
}

async fn create(client: &ahp::Client, mode: &str) -> String {
    let params = json!({"channel": "ahp-session:/refused", "workingDirectories": ["file:///tmp"], "config": {"mode": mode}});
    let refused = client.request::<_, Value>("createSession", params).await;
    refused.unwrap_err().to_string()
}

#[tokio::test]
async fn an_auto_approving_mode_is_rejected() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(directory.path());
    config.agents = vec![Arc::new(agent().with_pid_dir(&config.pid_dir()))];
    let server = serve(config).await.unwrap();
    let client = join(&server, "one").await;
    let refused = create(&client, "do").await;
    assert!(refused.contains("allow_trusting"), "{refused}");
    create_session(&client).await;
    // The agent is running now and has reported its modes.
    let refused = create(&client, "yolo").await;
    assert!(refused.contains("without asking"), "{refused}");
    let params =
        json!({"channel": "ahp-root://", "provider": "scripted", "config": {"mode": "yolo"}});
    let resolved: Value = client
        .request("resolveSessionConfig", params)
        .await
        .unwrap();
    let values = json!({"mode": "ask", "autoApprove": "default"});
    assert_eq!(resolved["values"], values);
    let mode = &resolved["schema"]["properties"]["mode"];
    assert_eq!(mode["enum"], json!(["ask", "do", "yolo"]));
    let meaning = mode["enumDescriptions"][2].as_str().unwrap();
    assert!(meaning.contains("without asking"), "{meaning}");

    // AUT-2: the token is in the agent's environment after its next start.
    let mut mirror = Mirror::open(&client).await;
    let token = json!({"channel": "ahp-root://", "resource": "https://example.org/api", "token": "a-token"});
    let given: Value = client.request("authenticate", token).await.unwrap();
    assert_eq!(given, json!({}));
    start_turn(&client, "t1", "die").await;
    mirror.until_end().await;
    start_turn(&client, "t2", "variable THE_TOKEN").await;
    mirror.until_end().await;
    let said = mirror.json()["turns"][1].to_string();
    assert!(said.contains("a-token"), "{said}");
    // AUT-10: the token is in no state, except where the agent itself printed it.
    let (result, _) = client.subscribe(SESSION.to_owned()).await.unwrap();
    let session = serde_json::to_string(&result.snapshot.unwrap().state).unwrap();
    assert!(!session.contains("a-token"), "{session}");
    server.stop().await.unwrap();
}
