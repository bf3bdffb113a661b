//! Customizations as VS Code 1.139 reads and completes them.

use expect_test::expect;

use crate::script::check_customized;

/// RES-15, CUS-19: what the state names can be read, as far as it is text for
/// agents. VS Code lists the folders of a plugin, and reads the file of a skill
/// before it sends `/name`.
#[test]
fn files_of_customizations_can_be_read_and_declarations_can_not() {
    let child = |kind: &str, uri: &str| {
        format!(r#"{{"type": "{kind}", "id": "{uri}", "uri": "file:///{uri}", "name": "x"}}"#)
    };
    let directory = |uri: &str, contents: &str, children: &str| {
        format!(
            r#"{{"type": "directory", "id": "{uri}", "uri": "file:///{uri}", "name": "D", "enabled": true, "contents": "{contents}", "writable": false, "children": [{children}]}}"#
        )
    };
    let plugin = |id: &str, more: &str, children: &[String]| {
        format!(
            r#"{{"type": "plugin", "id": "{id}", "uri": "file:///{id}", "name": "P"{more}, "children": [{}]}}"#,
            children.join(", ")
        )
    };
    let all = [
        directory(
            "home/skills",
            "skill",
            &child("skill", "home/skills/a/SKILL.md"),
        ),
        directory("home/empty", "skill", ""),
        directory("home/hooks", "hook", &child("hook", "home/hooks/h.json")),
        plugin(
            "p",
            "",
            &[
                child("skill", "p/skills/a/SKILL.md"),
                child("skill", "p/SKILL.md"),
                child("skill", "p/alone/SKILL.md"),
                child("agent", "p/agents/b.md"),
                child("hook", "p/hooks/hooks.json"),
                child("rule", "elsewhere/rule.md"),
            ],
        ),
        plugin(
            "q",
            r#", "clientId": "a""#,
            &[child("skill", "q/skills/a/SKILL.md")],
        ),
    ]
    .join(", ");
    check_customized(
        &format!(
            r#"
        - c1 joins a
        - c1 opens s1 {{"workingDirectories": ["file:///w"]}}
        - customized s1 found [{all}]
        c1 resourceList {{"uri": "file:///p/skills"}}
        "#
        ),
        expect![[r#"
            c1 resourceList {"uri": "file:///p/skills"}
                files in [Read file:///home/skills, Read file:///p/SKILL.md, Read file:///p/agents, Read file:///p/alone, Read file:///p/skills, Write file:///w]
        "#]],
    );
}

/// VS Code completes skills and prompts of directories and of its own plugins by
/// itself, and asks for the rest: each is offered once. It sends back an attachment
/// without `modelRepresentation`, with the `_meta` that it got (CMP-5).
#[test]
fn vs_code_offers_each_command_once() {
    let skill = |id: &str| {
        format!(r#"{{"type": "skill", "id": "{id}", "uri": "file:///{id}", "name": "{id}"}}"#)
    };
    let (watched, mine, hosts) = (skill("watched"), skill("mine"), skill("hosts"));
    check_customized(
        &format!(
            r#"
        - c1 joins a
        - c1 opens s1 {{"workingDirectories": ["file:///w"]}}
        - customized s1 found [{{"type": "directory", "id": "d", "uri": "file:///w/d", "name": "D", "enabled": true, "contents": "skill", "writable": true, "children": [{watched}]}}, {{"type": "plugin", "id": "p", "uri": "file:///p", "name": "P", "children": [{hosts}]}}, {{"type": "plugin", "id": "q", "uri": "vscode-synced-customization:/agent-host-shell-1", "name": "VS Code Synced Data", "clientId": "a", "children": [{mine}]}}]
        - customized s1 commands hosts mine watched
        - agent s1 commands own
        c1 completions s1.chat {{"kind": "userMessage", "text": "/", "offset": 1}}
        - c2 connect
        - c2 initialize {{"protocolVersions": ["0.9.0"], "clientId": "page", "clientInfo": {{"name": "vscode-editor-window"}}}}
        c2 completions s1 {{"kind": "userMessage", "text": "/", "offset": 1}}
        c2 ! s1.chat chat/turnStarted {{"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {{"text": "/hosts now", "origin": {{"kind": "user"}}, "attachments": [{{"type": "simple", "label": "hosts", "displayKind": "command", "range": {{"start": {{"line": 0, "character": 0}}, "end": {{"line": 0, "character": 6}}}}, "_meta": {{"agenthost.command": "hosts", "command": "hosts", "description": ""}}}}]}}}}
        "#
        ),
        expect![[r#"
            c1 completions s1.chat {"kind": "userMessage", "text": "/", "offset": 1}
                c1: items [/own for 0..1, /hosts for 0..1, /mine for 0..1, /watched for 0..1]
            c2 completions s1 {"kind": "userMessage", "text": "/", "offset": 1}
                c2: items [/own for 0..1, /hosts for 0..1]
            c2 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "/hosts now", "origin": {"kind": "user"}, "attachments": [{"type": "simple", "label": "hosts", "displayKind": "command", "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 6}}, "_meta": {"agenthost.command": "hosts", "command": "hosts", "description": ""}}]}}
                changes s1: mark before t1
                customizations: prepare t1 "/hosts now" agent None
        "#]],
    );
}
