//! Signing in to agents, probing them, and tokens from clients.

use std::path::Path;

use agenthost_acp::TokenBinding;
use agenthost_acp::{
    AcpAgent, AcpProfile, AgentLaunch, SignInKind, SignInState, probe_agent, program_version,
    sign_in, sign_in_command,
};
use agenthost_agents::Agent;
use agenthost_core::agent::AgentCommand;
use agenthost_core::{AccessToken, Principal, TokenKey};

use crate::acp::{agent, open_agent, run_turn};
use crate::acp_agent;
use crate::bench::session;

/// Returns an agent that is signed out until a file exists.
fn signed_out_agent(file: &Path) -> AcpAgent {
    let (program, arguments) = acp_agent::agent_command("acp::the_agent");
    let file = file.to_str().unwrap().to_owned();
    let launch = AgentLaunch {
        program,
        arguments,
        environment: vec![
            (acp_agent::AGENT_MODE_VARIABLE.to_owned(), String::new()),
            (acp_agent::SIGN_IN_FILE_VARIABLE.to_owned(), file),
        ],
    };
    let profile = AcpProfile {
        sign_in_hint: Some("do as you like".to_owned()),
        token_binding: Some(TokenBinding {
            environment: "THE_TOKEN".to_owned(),
            resource: "https://example.org/api".to_owned(),
            name: Some("Example".to_owned()),
            authorization_servers: Vec::new(),
            scopes: vec!["read".to_owned()],
        }),
        ..AcpProfile::default()
    };
    AcpAgent::new("scripted", "Scripted", launch).with_profile(profile)
}

#[tokio::test]
async fn a_user_signs_in_with_a_method_of_the_agent() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("signed-in");
    let agent = signed_out_agent(&file);
    let report = probe_agent(&agent, folder.path()).await.unwrap();
    assert_eq!(report.version.as_deref(), Some("1.2.3"));
    let hint = "do as you like, or run `agenthost agents sign-in scripted`: API key, Terminal";
    assert_eq!(
        report.sign_in_state,
        SignInState::SignedOut(hint.to_owned())
    );
    // The host reports the same hint, and asks its clients for a token.
    let mut bench = open_agent(agent.clone(), None, None);
    assert_eq!(bench.next().await, "sign in");
    let stopped = bench.next().await;
    assert!(stopped.contains("requires you to sign in"), "{stopped}");
    assert!(stopped.ends_with(hint), "{stopped}");
    let refused = sign_in(&agent, folder.path(), "nothing").await.unwrap_err();
    let refused = refused.to_string();
    assert!(refused.contains("no sign-in method `nothing`"), "{refused}");
    let refused = sign_in(&agent, folder.path(), "terminal")
        .await
        .unwrap_err();
    let refused = refused.to_string();
    assert!(refused.contains("requires a terminal"), "{refused}");
    sign_in(&agent, folder.path(), "key").await.unwrap();
    let report = probe_agent(&agent, folder.path()).await.unwrap();
    assert_eq!(report.sign_in_state, SignInState::SignedIn);
}

#[tokio::test]
async fn a_terminal_sign_in_has_a_command_and_an_environment() {
    let folder = tempfile::tempdir().unwrap();
    let agent = signed_out_agent(&folder.path().join("signed-in"));
    let report = probe_agent(&agent, folder.path()).await.unwrap();
    let SignInKind::Terminal(terminal) = &report.sign_in_methods[1].kind else {
        panic!("not in a terminal: {:?}", report.sign_in_methods);
    };
    let command = sign_in_command(&agent, terminal);
    let arguments: Vec<_> = command.get_args().collect();
    assert_eq!(arguments.last().unwrap().to_str(), Some("--login"));
    assert_eq!(arguments.len(), 5, "after its own");
    let mut names = command.get_envs().map(|(name, _)| name.to_str().unwrap());
    assert!(names.any(|name| name == acp_agent::SIGN_IN_FILE_VARIABLE));
}

#[tokio::test]
async fn a_probe_reports_an_agent_that_fails_to_start() {
    let folder = tempfile::tempdir().unwrap();
    let script = |text: &str| AgentLaunch {
        program: "sh".to_owned(),
        arguments: vec!["-c".to_owned(), text.to_owned()],
        environment: Vec::new(),
    };
    let broken = AcpAgent::new("a", "A", script("echo no key >&2; exit 1"));
    let reason = probe_agent(&broken, folder.path()).await.unwrap_err();
    assert_eq!(reason.to_string(), "the agent ended: no key");
    let old = probe_agent(&agent("old"), folder.path()).await.unwrap_err();
    let old = old.to_string();
    assert!(old.contains("version"), "{old}");
    let arguments = ["-c".to_owned(), "echo; echo a 1.2; sleep 1000".to_owned()];
    let version = program_version(&script(""), &arguments).await;
    assert_eq!(version.as_deref(), Some("a 1.2"));
    let arguments = ["-c".to_owned(), "exit 1".to_owned()];
    assert_eq!(program_version(&script(""), &arguments).await, None);
}

/// AUT-1, AUT-2, AUT-10: a token from a client is in the environment of the agent after its next
/// start, and nowhere else.
#[tokio::test]
async fn client_tokens_are_set_in_the_environment_of_the_agent() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("signed-in");
    std::fs::write(&file, "").unwrap();
    let agent = signed_out_agent(&file);
    let resources = agent.info().protected_resources.unwrap();
    assert_eq!(resources[0].resource, "https://example.org/api");
    assert_eq!(resources[0].required, Some(false));
    let mut bench = open_agent(agent, None, None);
    assert_eq!(bench.next().await, "opened");
    let events = run_turn(&mut bench, "t1", "variable THE_TOKEN").await;
    assert_eq!(events[0], "text \"not there\"");
    let me = Principal("me".to_owned());
    bench.agents.set_token_principals(session(), vec![me]);
    for (token, found) in [
        ("secret", "secret"),
        ("$HOME", "not there"),
        ("", "not there"),
    ] {
        let key = TokenKey {
            principal: Principal("me".to_owned()),
            resource: "https://example.org/api".to_owned(),
        };
        let token = (!token.is_empty()).then(|| AccessToken::from(token.to_owned()));
        assert!(!format!("{token:?}").contains("secret"));
        bench.agents.store_token(key, token);
        // A running agent keeps its environment, so it has to be started again.
        run_turn(&mut bench, "t2", "die now").await;
        let events = run_turn(&mut bench, "t3", "variable THE_TOKEN").await;
        assert!(events.contains(&format!("text {found:?}")), "{events:?}");
    }
    bench.command(AgentCommand::Close);
}
