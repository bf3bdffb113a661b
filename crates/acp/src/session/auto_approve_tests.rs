use super::*;
use crate::registry::known_agents;
use crate::session::options::SessionOptions;

fn rules_for(known: &[String], policy: AutoApprovePolicy) -> AutoApproveRules<'_> {
    AutoApproveRules {
        known_values: known,
        policy,
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

fn forbidden_pairs(known: &[&str], policy: AutoApprovePolicy) -> Vec<String> {
    let known: Vec<_> = known.iter().map(|word| (*word).to_owned()).collect();
    let values = rules_for(&known, policy).annotate_schema(&mut options().schema());
    values
        .iter()
        .map(|value| format!("{}={}", value.key, value.value))
        .collect()
}

#[test]
fn auto_approving_values_are_recognized() {
    let always = [r#"mode="m3""#, r#"allow_all="on""#, "auto_approve=true"];
    assert_eq!(forbidden_pairs(&[], AutoApprovePolicy::Forbidden), always);
    let mut known = always.to_vec();
    known.insert(1, r#"mode="auto""#);
    assert_eq!(
        forbidden_pairs(&["auto"], AutoApprovePolicy::Forbidden),
        known
    );
    assert!(forbidden_pairs(&["auto"], AutoApprovePolicy::Allowed).is_empty());
}

#[test]
fn auto_approving_values_are_annotated_in_the_schema() {
    let known = ["auto".to_owned()];
    for (policy, remark) in [
        (AutoApprovePolicy::Forbidden, FORBIDDEN_REMARK),
        (AutoApprovePolicy::Allowed, ALLOWED_REMARK),
    ] {
        let mut schema = options().schema();
        rules_for(&known, policy).annotate_schema(&mut schema);
        let mode = &schema.properties.get("mode").unwrap().property;
        let descriptions = mode.enum_descriptions.clone().unwrap();
        let expected = ["", remark, &format!("Approves by itself: {remark}")];
        assert_eq!(descriptions, expected);
        let labels = mode.enum_labels.clone().unwrap();
        assert_eq!(labels, ["Ask", "YOLO mode ⚠", "Auto ⚠"]);
        let approve = &schema.properties.get("auto_approve").unwrap().property;
        assert_eq!(approve.description.as_deref(), Some(remark));
    }
}

#[test]
fn forbidden_values_are_removed_from_a_config() {
    let schema = options().schema();
    let values =
        json!({"mode": "m3", "model": "yolo-7b", "auto_approve": true, "edits": "acceptEdits"});
    let mut values = values.as_object().unwrap().clone();
    let removed =
        rules_for(&[], AutoApprovePolicy::Forbidden).remove_forbidden(&schema, &mut values);
    let keys: Vec<_> = removed.iter().map(|value| value.key.as_str()).collect();
    assert_eq!(keys, ["mode", "auto_approve"]);
    assert!(
        removed
            .iter()
            .all(|value| value.reason.contains("allow_trusting"))
    );
    let left: Vec<_> = values.keys().map(String::as_str).collect();
    assert_eq!(left, ["model", "edits"]);
    assert!(
        rules_for(&[], AutoApprovePolicy::Allowed)
            .remove_forbidden(&schema, &mut values)
            .is_empty()
    );
}

/// Pitfall 10: what is known of real agents.
#[test]
fn auto_approving_values_of_known_agents_are_listed() {
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
        let forbidden = rules_for(&agent.trusting, AutoApprovePolicy::Forbidden).known_forbidden();
        let found = forbidden
            .iter()
            .any(|one| one.key == "mode" && one.value == value);
        assert!(found, "{id}");
    }
    let copilot = known_agents()
        .iter()
        .find(|agent| agent.id == "copilot")
        .unwrap();
    let forbidden = rules_for(&copilot.trusting, AutoApprovePolicy::Forbidden).known_forbidden();
    assert!(
        forbidden
            .iter()
            .any(|value| value.key == "allow_all" && value.value == json!(true))
    );
}
