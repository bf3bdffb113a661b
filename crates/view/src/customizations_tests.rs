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

fn filter_of(text: &str, kind: Option<CustomizationKind>) -> CustomizationFilter {
    CustomizationFilter {
        text: text.to_owned(),
        kind,
    }
}

fn all() -> CustomizationFilter {
    CustomizationFilter::default()
}

fn settings(keys: &[&str]) -> Object {
    decode(json!({"trustedCode": keys}))
}

#[test]
fn containers_have_states_content_and_the_key_of_waiting_code() {
    let tree = CustomizationTree::compute(&customized(), None, &all());
    check(
        &tree.rows,
        expect![[r#"
            {"key":"d1","kind":"directory","name":"Hooks","path":"/work/.claude","origin":"workspace","enabled":true,"scoped":false,"load":{"state":"degraded","message":"its hooks wait for approval"},"code":{"state":"waiting","key":"file:///work/.claude#v2:aa"},"children":[{"key":"Stop","kind":"hook","name":"Stop","path":"/work/.claude/settings.json","enabled":true,"scoped":false,"children":[]},{"key":"PreToolUse","kind":"hook","name":"PreToolUse","path":"/work/.claude/settings.json","enabled":true,"scoped":false,"children":[]}]}
            {"key":"p1","kind":"plugin","name":"Tools","version":"1.2","origin":"client","client":"Editor","enabled":false,"scoped":true,"decided":"global","load":{"state":"loading"},"children":[]}
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
        let tree = CustomizationTree::compute(&customized(), None, &filter_of(filter, None));
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
        let tree = CustomizationTree::compute(&state, Some(&settings(keys)), &all());
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
        let tree = CustomizationTree::compute(&state, None, &all());
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
            {"state":"authRequired","blocking":false,"requires":{"name":"https://mcp.example","resource":"https://mcp.example","address":"https://mcp.example","scopes":["read"],"authorizationServers":[{"label":"https://login.example","url":"https://login.example"}],"expired":true}}
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
    let tree = CustomizationTree::compute(&state, None, &all());
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

#[test]
fn the_filter_by_kind_keeps_the_containers_of_that_kind_of_item() {
    let filter = filter_of("", Some(CustomizationKind::Skill));
    let tree = CustomizationTree::compute(&customized(), None, &filter);
    let names: Vec<_> = tree.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!((names, tree.rows[0].children.len()), (vec!["Skills"], 1));
    assert_eq!((tree.total, tree.hidden), (4, 0));
}

#[test]
fn rows_over_the_limit_are_counted() {
    let child =
        |id: usize| json!({"type": "skill", "id": id.to_string(), "uri": "file:///s", "name": "s"});
    let children: Vec<_> = (0..MAX_ROWS + 10).map(child).collect();
    let plugin = |id: &str, children: &[Value]| json!({"type": "plugin", "id": id, "uri": "file:///p", "name": id, "children": children});
    let state = session(json!({"customizations": [plugin("a", &children), plugin("b", &[])]}));
    let tree = CustomizationTree::compute(&state, None, &all());
    let keys: Vec<_> = tree.rows.iter().map(|row| row.key.as_str()).collect();
    assert_eq!(keys, ["a", "b"]);
    assert_eq!(
        (tree.rows[0].children.len(), tree.hidden),
        (MAX_ROWS - 1, 11)
    );
}

fn review_of(files: &[CodeFile]) -> CodeReview {
    let state = customized();
    let container = find_container(&state, "d1").unwrap();
    let uri = agenthost_protocol::uri::Uri::from("s:/1");
    CodeReview::compute(&uri, &state, None, container, files).unwrap()
}

#[test]
fn code_is_complete_only_if_all_of_it_can_be_shown() {
    let file = |content: CodeContent| CodeFile {
        path: "/f".to_owned(),
        content,
    };
    let text = CodeContent::of_text("run \u{202e}\r\n");
    assert_eq!(text, CodeContent::Text("run \\u{202e}\\u{d}\n".to_owned()));
    let status = |files: &[CodeFile]| review_of(files).status;
    assert_eq!(status(&[file(text.clone())]), ReviewStatus::Complete);
    assert_eq!(
        status(&[file(CodeContent::Loading {})]),
        ReviewStatus::Loading
    );
    let broken = CodeContent::Error("gone".to_owned());
    assert_eq!(status(&[file(broken)]), ReviewStatus::Incomplete);
    // A file is missing, there is one too many, or the text is too long.
    assert_eq!(status(&[]), ReviewStatus::Incomplete);
    let two = [file(text.clone()), file(text)];
    assert_eq!(status(&two), ReviewStatus::Incomplete);
    let long = CodeContent::of_text(&"\u{202e}".repeat(300_000));
    assert_eq!(status(&[file(long)]), ReviewStatus::Incomplete);
    assert!(matches!(
        CodeContent::of_text(&"x".repeat(1_000_001)),
        CodeContent::Error(_)
    ));
}

#[test]
fn keys_are_added_once_and_removed_in_all_versions() {
    let given = settings(&[
        "a#v2:1",
        "file:///work/.claude#v2:old",
        "file:///work/.claude-x#v2:1",
    ]);
    assert_eq!(allowed_keys(Some(&given), "a#v2:1").len(), 3);
    assert_eq!(allowed_keys(None, "k"), ["k"]);
    let state = customized();
    let container = find_container(&state, "d1").unwrap();
    let kept = keys_without(Some(&given), container).unwrap();
    assert_eq!(kept, ["a#v2:1", "file:///work/.claude-x#v2:1"]);
    assert_eq!(keys_without(None, container), None);
}

#[test]
fn tokens_have_safe_links_and_the_scopes_of_all_challenges() {
    let challenge = |scope: &str| {
        json!({"kind": "authRequired", "reason": "required", "requiredScopes": [scope], "description": "x\u{202e}",
            "resource": {"resource": "https://r", "resource_name": "\u{1b}[2J", "authorization_servers":
                ["https://ok.example", "javascript:alert(1)", "https://a b", "https://e\u{202e}vil"]}})
    };
    let server = |id: &str, scope: &str| json!({"type": "mcpServer", "id": id, "uri": "file:///a", "name": id, "state": challenge(scope)});
    let state = session(json!({"customizations": [server("m1", "a"),
        {"type": "plugin", "id": "p", "uri": "file:///p", "name": "p", "children": [server("m2", "b")]}]}));
    let tokens = required_tokens(&state);
    let urls: Vec<_> = tokens[0]
        .authorization_servers
        .iter()
        .map(|link| link.url.as_deref())
        .collect();
    assert_eq!(urls, [Some("https://ok.example"), None, None, None]);
    assert_eq!(tokens[0].name, "\\u{1b}[2J");
    assert_eq!(tokens[0].description.as_deref(), Some("x\\u{202e}"));
    let scopes = required_scopes(&state, "https://r");
    assert_eq!(scopes.into_iter().collect::<Vec<_>>(), ["a", "b"]);
    assert!(required_scopes(&state, "https://other").is_empty());
    assert_eq!(challenged_servers(&state, "https://r").len(), 2);
}
