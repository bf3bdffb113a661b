use expect_test::expect;
use serde_json::{Value, json};

use super::*;
use crate::samples::{check, decode, session};

fn customized() -> SessionState {
    let child = |kind: &str, id: &str, file: &str, more: Value| {
        let mut child =
            json!({"type": kind, "id": id, "uri": format!("file:///work/{file}"), "name": id});
        let fields = child.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        child
    };
    session(json!({
        "workingDirectories": ["file:///work"],
        "activeClients": [{"clientId": "c1", "displayName": "Editor", "tools": []}],
        "serverTools": [{"name": "calc_add"}, {"name": "calc_sub"}, {"name": "bash"}],
        "customizations": [
            {"type": "directory", "id": "d1", "uri": "file:///work/.claude", "name": "Hooks", "enabled": true,
             "contents": "hook", "writable": false, "_meta": {"agenthost.code": "file:///work/.claude#v2:aa"},
             "load": {"kind": "degraded", "message": "its hooks wait for approval"},
             "children": [child("hook", "Stop", ".claude/settings.json", json!({})),
                          child("hook", "PreToolUse", ".claude/settings.json", json!({}))]},
            {"type": "plugin", "id": "p1", "uri": "virtual://x/plugin", "name": "Tools", "version": "1.2",
             "clientId": "c1", "enablement": [{"kind": "global", "enabled": false}], "load": {"kind": "loading"}},
            {"type": "directory", "id": "d2", "uri": "file:///work/.agents/skills", "name": "Skills",
             "enabled": true, "contents": "skill", "writable": true, "load": {"kind": "loaded"},
             "children": [child("skill", "release", ".agents/skills/release/SKILL.md", json!({"description": "Makes a\nrelease"})),
                          child("rule", "style", "r.md", json!({"globs": ["*.rs"], "enabled": false}))]},
            {"type": "mcpServer", "id": "m1", "uri": "agenthost-config:/servers/calc", "name": "calc", "state": {"kind": "ready"}},
            {"type": "later", "id": "x"},
        ],
    }))
}

fn settings(keys: &[&str]) -> Object {
    decode(json!({"trustedCode": keys}))
}

#[test]
fn containers_have_states_content_and_the_key_of_waiting_code() {
    let tree = CustomizationTree::compute(&customized(), None, "");
    check(
        &tree.rows,
        expect![[r#"
        {"key":"d1","kind":"directory","name":"Hooks","path":"/work/.claude","origin":"workspace","enabled":true,"scoped":false,"load":{"state":"degraded","message":"its hooks wait for approval"},"code":{"state":"waiting","key":"file:///work/.claude#v2:aa","files":["file:///work/.claude/settings.json"]},"children":[{"key":"Stop","kind":"hook","name":"Stop","path":"/work/.claude/settings.json","enabled":true,"scoped":false,"children":[]},{"key":"PreToolUse","kind":"hook","name":"PreToolUse","path":"/work/.claude/settings.json","enabled":true,"scoped":false,"children":[]}]}
        {"key":"p1","kind":"plugin","name":"Tools","version":"1.2","origin":"client","client":"Editor","enabled":false,"scoped":true,"load":{"state":"loading"},"children":[]}
        {"key":"d2","kind":"directory","name":"Skills","path":"/work/.agents/skills","origin":"workspace","enabled":true,"scoped":false,"load":{"state":"loaded"},"children":[{"key":"release","kind":"skill","name":"release","description":"Makes a release","path":"/work/.agents/skills/release/SKILL.md","enabled":true,"scoped":false,"children":[]},{"key":"style","kind":"rule","name":"style","description":"*.rs","path":"/work/r.md","enabled":false,"scoped":false,"children":[]}]}
        {"key":"m1","kind":"mcpServer","name":"calc","origin":"configuration","enabled":true,"scoped":true,"server":{"state":"ready","blocking":false,"tools":2},"children":[]}
    "#]],
    );
    check(
        &tree.counts,
        expect![[r#"
        {"kind":"plugin","count":1}
        {"kind":"directory","count":2}
        {"kind":"rule","count":1}
        {"kind":"skill","count":1}
        {"kind":"hook","count":2}
        {"kind":"mcpServer","count":1}
    "#]],
    );
    assert_eq!((tree.waiting, tree.total), (1, 4));
}

#[test]
fn the_filter_keeps_containers_with_matching_items() {
    let names = |filter: &str| -> Vec<(String, usize)> {
        let tree = CustomizationTree::compute(&customized(), None, filter);
        let rows = tree.rows.into_iter();
        rows.map(|row| (row.name, row.children.len())).collect()
    };
    assert_eq!(names("RELEASE"), [("Skills".to_owned(), 1)]);
    // A container that matches keeps all of its items.
    assert_eq!(names("hooks"), [("Hooks".to_owned(), 2)]);
    assert_eq!(names("nothing"), []);
}

#[test]
fn approved_code_is_recognized_by_the_address_of_its_container() {
    let mut state = customized();
    let list = state.customizations.as_mut().unwrap();
    let Customization::Directory(directory) = list.item_mut(0).unwrap() else {
        panic!("the first container is a directory");
    };
    directory.container.base.meta = None;
    let approval = |keys: &[&str]| {
        let tree = CustomizationTree::compute(&state, Some(&settings(keys)), "");
        tree.rows[0].code.as_ref().map(|code| code.state)
    };
    assert_eq!(
        approval(&["file:///work/.claude#v2:aa"]),
        Some(CodeState::Approved)
    );
    assert_eq!(approval(&["file:///work/.claude-other#v2:aa"]), None);
    assert_eq!(approval(&[]), None);
}

#[test]
fn server_states_have_reasons_and_required_tokens() {
    let server = |state: Value| {
        let state = session(json!({"customizations": [
            {"type": "mcpServer", "id": "m", "uri": "file:///a/.mcp.json", "name": "m", "state": state}]}));
        let tree = CustomizationTree::compute(&state, None, "");
        serde_json::to_value(&tree.rows[0].server).unwrap()
    };
    let rows = [
        server(json!({"kind": "starting", "blocking": true})),
        server(
            json!({"kind": "error", "error": {"errorType": "x", "message": "no\u{202e}such program"}}),
        ),
        server(
            json!({"kind": "authRequired", "reason": "expired", "requiredScopes": ["read"],
            "resource": {"resource": "https://mcp.example", "authorization_servers": ["https://login.example"]}}),
        ),
        server(json!({"kind": "stopped"})),
        server(json!({"kind": "later"})),
    ];
    check(
        &rows,
        expect![[r#"
        {"state":"starting","blocking":true}
        {"state":"error","message":"no\\u{202e}such program","blocking":false}
        {"state":"authRequired","blocking":false,"requires":{"title":"https://mcp.example","resource":"https://mcp.example","scopes":["read"],"authorizationServers":["https://login.example"],"expired":true}}
        {"state":"stopped","blocking":false}
        {"state":"unknown","blocking":false}
    "#]],
    );
}

#[test]
fn names_of_files_and_peers_are_bounded_and_visible() {
    let name = format!("<img onerror=x>\u{202e}\u{1b}[2J{}", "x".repeat(100_000));
    let state = session(
        json!({"customizations": [{"type": "plugin", "id": "p", "uri": "file:///p", "name": name,
        "load": {"kind": "error", "message": name}, "children": [
            {"type": "skill", "id": "s", "uri": "file:///p/s", "name": name, "description": name}]}]}),
    );
    let tree = CustomizationTree::compute(&state, None, "");
    let text = serde_json::to_string(&tree).unwrap();
    assert!(text.len() < 8_000, "{}", text.len());
    assert!(!text.contains('\u{202e}') && text.contains("<img onerror=x>\\\\u{202e}\\\\u{1b}[2J"));
}

#[test]
fn a_decision_replaces_those_of_its_scope_and_of_narrower_ones() {
    let decided = |id: &str, scope: DecisionScope, enabled: bool| {
        let all = decisions(&customized(), id, scope, enabled)?;
        let all = all
            .iter()
            .map(|one| agenthost_protocol::wire::to_json(one).to_string());
        Some(all.collect::<Vec<_>>().join(" "))
    };
    check(
        &[
            decided("p1", DecisionScope::Session, true),
            decided("p1", DecisionScope::Workspace, true),
            decided("p1", DecisionScope::Global, true),
            decided("release", DecisionScope::Session, false),
            decided("unknown", DecisionScope::Session, false),
        ],
        expect![[r#"
            "{\"kind\":\"session\",\"enabled\":true} {\"kind\":\"global\",\"enabled\":false}"
            "{\"kind\":\"workspace\",\"uri\":\"file:///work\",\"enabled\":true} {\"kind\":\"global\",\"enabled\":false}"
            "{\"kind\":\"global\",\"enabled\":true}"
            "{\"kind\":\"session\",\"enabled\":false}"
            null
        "#]],
    );
}
