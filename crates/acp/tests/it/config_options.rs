//! Option values that are not set: those with which an agent approves everything itself, and those
//! that the agent rejects.

use agenthost_acp::{AcpProfile, AutoApprovePolicy};
use agenthost_core::agent::AgentCommand;
use serde_json::{Value, json};

use crate::acp::{agent, open_agent, run_turn};
use crate::bench::Bench;

fn configure(bench: &mut Bench, values: &Value) {
    bench.command(AgentCommand::SetConfig {
        values: values.as_object().unwrap().clone(),
    });
}

/// Opens an agent with a mode that approves everything. Returns its events up to the point at which
/// it is open and has published its options.
async fn open(profile: AcpProfile, mode: &str) -> (Bench, Vec<String>) {
    let agent = agent("modes trusting").with_profile(profile);
    let config = Some(json!({"mode": mode}));
    let mut bench = open_agent(agent, None, config);
    let mut open_events = bench.until("opened").await;
    // The agent has answered the request for the mode by now, or its options arrive next.
    if !open_events.iter().any(|event| event.starts_with("options")) {
        open_events.extend(bench.until("options").await);
    }
    (bench, open_events)
}

#[tokio::test]
async fn an_auto_approving_mode_is_rejected_at_open() {
    let (mut bench, open_events) = open(AcpProfile::default(), "yolo").await;
    let expected = [
        r#"forbids mode="yolo""#,
        r#"options {"model":"small","mode":"ask"}"#,
        "opened",
    ];
    assert_eq!(open_events, expected);
    let events = run_turn(&mut bench, "t1", "chosen").await;
    assert!(events[0].contains("mode was not changed"), "{events:?}");
    assert!(events[0].contains("allow_trusting"), "{events:?}");
    assert_eq!(events[1..], ["text \"[]\"", "end t1"]);
}

#[tokio::test]
async fn an_auto_approving_mode_is_reset_in_an_open_session() {
    let (mut bench, _) = open(AcpProfile::default(), "ask").await;
    configure(&mut bench, &json!({"mode": "yolo", "model": "small"}));
    // The option is reset at once.
    assert_eq!(
        bench.next().await,
        r#"options {"model":"small","mode":"ask"}"#
    );
    let events = run_turn(&mut bench, "t1", "chosen").await;
    assert!(events[0].contains("mode was not changed"), "{events:?}");
    assert_eq!(events[1..], ["text \"[]\"", "end t1"]);
    // The notice is shown only once.
    let events = run_turn(&mut bench, "t2", "say fine").await;
    assert_eq!(events, ["text \"fine\"", "end t2"]);
}

#[tokio::test]
async fn an_auto_approving_mode_is_set_if_the_profile_allows_it() {
    let profile = AcpProfile {
        auto_approve: AutoApprovePolicy::Allowed,
        ..AcpProfile::default()
    };
    let (mut bench, open_events) = open(profile, "yolo").await;
    let set = r#"options {"model":"small","mode":"yolo"}"#.to_owned();
    assert!(open_events.contains(&set), "{open_events:?}");
    assert!(!open_events.iter().any(|event| event.starts_with("forbids")));
    let events = run_turn(&mut bench, "t1", "chosen").await;
    assert!(events[0].contains("yolo"), "{events:?}");
}

/// The host cannot prevent an agent from setting such a mode by itself, so it shows a notice, once.
#[tokio::test]
async fn an_agent_that_enables_auto_approval_itself_causes_a_notice() {
    let (mut bench, _) = open(AcpProfile::default(), "ask").await;
    let switch = r#"update {"sessionUpdate": "current_mode_update", "currentModeId": "yolo"}"#;
    let events = run_turn(&mut bench, "t1", &format!("{switch};; {switch};; say done")).await;
    let remarks = events
        .iter()
        .filter(|event| event.contains("The agent itself set"));
    assert_eq!(remarks.count(), 1, "{events:?}");
    // A client that repeats the agent's own value has not chosen it, so there is no other notice.
    configure(&mut bench, &json!({"mode": "yolo", "model": "large"}));
    bench.until("options").await;
    let events = run_turn(&mut bench, "t2", "say fine").await;
    assert_eq!(events, ["text \"fine\"", "end t2"]);
    // A profile can list values whose names do not show that they approve everything.
    let profile = AcpProfile {
        auto_approve_values: vec!["do".to_owned()],
        ..AcpProfile::default()
    };
    let (_, open_events) = open(profile, "do").await;
    assert_eq!(open_events[0], r#"forbids mode="do" mode="yolo""#);
}

/// A value that the agent rejects, and an option that it does not have, are reset and reported in
/// the next turn.
#[tokio::test]
async fn option_values_rejected_by_the_agent_are_reset_and_reported() {
    let (mut bench, _) = open(AcpProfile::default(), "ask").await;
    configure(&mut bench, &json!({"mode": "ask", "model": "forbidden"}));
    let kept = r#"options {"model":"small","mode":"ask"}"#;
    assert_eq!(bench.next().await, kept);
    configure(&mut bench, &json!({"mode": "ask", "effort": "high"}));
    assert_eq!(bench.next().await, kept);
    let events = run_turn(&mut bench, "t1", "chosen").await;
    assert!(events[0].contains("model was not changed") && events[0].contains("Not this one"));
    assert!(events[1].contains("effort was not changed"), "{events:?}");
    assert_eq!(events[2..], ["text \"[]\"", "end t1"]);
}
