use super::*;
use crate::registry::known_agents;
use crate::session::options::SessionOptions;

fn rule(known: &[String], trust: AutoApprovePolicy) -> AutoApproveRules<'_> {
    AutoApproveRules {
        known_values: known,
        policy: trust,
    }
}

fn options() -> SessionOptions {
    SessionOptions::parse(&json!({
        "modes": {"currentModeId": "default", "availableModes": [
            {"id": "default", "name": "Ask"}, {"id": "m3", "name": "YOLO mode"},
            {"id": "auto", "name": "Auto", "description": "Approves by itself"},
        ]},
        "configOptions": [
            {"id": "the-model", "name": "Model", "category": "model", "type": "select", "currentValue": "yolo-7b",
                "options": [{"value": "yolo-7b", "name": "Yolo 7B"}]},
            {"id": "allow_all", "name": "Allow all", "type": "select", "currentValue": "off",
                "options": [{"value": "off", "name": "Off"}, {"value": "on", "name": "On"}]},
            {"id": "auto_approve", "name": "Approve by itself", "type": "boolean", "currentValue": false},
            {"id": "edits", "name": "Edits", "type": "select", "currentValue": "acceptEdits",
                "options": [{"value": "acceptEdits", "name": "Accept edits"}]},
        ],
    }))
}

fn forbidden(known: &[&str], trust: AutoApprovePolicy) -> Vec<String> {
    let known: Vec<_> = known.iter().map(|word| (*word).to_owned()).collect();
    let values = rule(&known, trust).annotate_schema(&mut options().schema());
    values
        .iter()
        .map(|one| format!("{}={}", one.key, one.value))
        .collect()
}

#[test]
fn what_grants_everything_is_recognised() {
    let always = [r#"mode="m3""#, r#"allow_all="on""#, "auto_approve=true"];
    assert_eq!(forbidden(&[], AutoApprovePolicy::Forbidden), always);
    let mut known = always.to_vec();
    known.insert(1, r#"mode="auto""#);
    assert_eq!(forbidden(&["auto"], AutoApprovePolicy::Forbidden), known);
    assert!(forbidden(&["auto"], AutoApprovePolicy::Allowed).is_empty());
}

#[test]
fn it_says_so_where_it_can_be_chosen() {
    let known = ["auto".to_owned()];
    for (trust, remark) in [
        (AutoApprovePolicy::Forbidden, FORBIDDEN_REMARK),
        (AutoApprovePolicy::Allowed, ALLOWED_REMARK),
    ] {
        let mut schema = options().schema();
        rule(&known, trust).annotate_schema(&mut schema);
        let mode = &schema.properties.get("mode").unwrap().property;
        let meanings = mode.enum_descriptions.clone().unwrap();
        let expected = ["", remark, &format!("Approves by itself: {remark}")];
        assert_eq!(meanings, expected);
        let labels = mode.enum_labels.clone().unwrap();
        assert_eq!(labels, ["Ask", "YOLO mode ⚠", "Auto ⚠"]);
        let approve = &schema.properties.get("auto_approve").unwrap().property;
        assert_eq!(approve.description.as_deref(), Some(remark));
    }
}

#[test]
fn what_nobody_may_choose_is_taken_out() {
    let schema = options().schema();
    let values =
        json!({"mode": "m3", "model": "yolo-7b", "auto_approve": true, "edits": "acceptEdits"});
    let mut values = values.as_object().unwrap().clone();
    let withheld = rule(&[], AutoApprovePolicy::Forbidden).remove_forbidden(&schema, &mut values);
    let keys: Vec<_> = withheld.iter().map(|one| one.key.as_str()).collect();
    assert_eq!(keys, ["mode", "auto_approve"]);
    assert!(
        withheld
            .iter()
            .all(|one| one.reason.contains("allow_trusting"))
    );
    let left: Vec<_> = values.keys().map(String::as_str).collect();
    assert_eq!(left, ["model", "edits"]);
    assert!(
        rule(&[], AutoApprovePolicy::Allowed)
            .remove_forbidden(&schema, &mut values)
            .is_empty()
    );
}

/// Pitfall 10: what is known of real agents.
#[test]
fn known_agents_have_theirs() {
    for (id, value) in [
        ("claude", json!("bypassPermissions")),
        ("codex", json!("agent-full-access")),
        ("codex-zed", json!("full-access")),
        ("gemini", json!("yolo")),
        ("qwen", json!("yolo")),
        ("goose", json!("auto")),
        ("vibe", json!("auto-approve")),
    ] {
        let agent = known_agents().iter().find(|agent| agent.id == id).unwrap();
        let forbidden = rule(&agent.trusting, AutoApprovePolicy::Forbidden).known_forbidden();
        let found = forbidden
            .iter()
            .any(|one| one.key == "mode" && one.value == value);
        assert!(found, "{id}");
    }
    let copilot = known_agents()
        .iter()
        .find(|agent| agent.id == "copilot")
        .unwrap();
    let forbidden = rule(&copilot.trusting, AutoApprovePolicy::Forbidden).known_forbidden();
    assert!(
        forbidden
            .iter()
            .any(|one| one.key == "allow_all" && one.value == json!(true))
    );
}
