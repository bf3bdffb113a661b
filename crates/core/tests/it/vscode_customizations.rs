//! Customizations as VS Code 1.139 reads them.

use expect_test::expect;

use crate::script::check_customized;

/// RES-15, CUS-19: what the state names can be read, as far as it is text for
/// agents. VS Code lists the folders of a plugin, and reads the file of a skill
/// before it sends `/name`.
#[test]
fn customization_files_are_readable_except_declarations() {
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

/// VS Code in a browser calls files of the host `vscode-remote:`, also those of
/// custom agents and skills that the host has shown as `file:`. What is not of the
/// session is asked of the client.
#[test]
fn vscode_remote_uris_of_agents_and_skills_are_recognized() {
    let child = |kind: &str, uri: &str| {
        format!(r#"{{"type": "{kind}", "id": "{uri}", "uri": "file:///{uri}", "name": "{kind}"}}"#)
    };
    let (agent, skill) = (
        child("agent", "home/a%2Bb.md"),
        child("skill", "home/SKILL.md"),
    );
    let start = |turn: &str, agent: &str, attached: &str| {
        format!(
            r#"c1 ! s1.chat chat/turnStarted {{"turnId": "{turn}", "startedAt": "2026-01-05T09:00:00Z", "message": {{"text": "go", "origin": {{"kind": "user"}}, "agent": {{"uri": "vscode-remote://127.0.0.1:8080/{agent}"}}, "attachments": [{{"type": "resource", "uri": "vscode-remote://127.0.0.1:8080/{attached}", "label": "prompt:SKILL.md", "displayKind": "document"}}]}}}}"#
        )
    };
    let (first, second) = (
        start("t1", "home/a%2Bb.md", "home/SKILL.md"),
        start("t2", "home/gone.md", "elsewhere"),
    );
    check_customized(
        &format!(
            r#"
        - c1 connect
        - c1 initialize {{"protocolVersions": ["0.9.0"], "clientId": "page", "clientInfo": {{"name": "vscode-editor-window"}}}}
        - c2 joins b
        - c2 opens s1 {{"workingDirectories": ["file:///w"]}}
        - customized s1 found [{{"type": "plugin", "id": "p", "uri": "file:///home", "name": "P", "children": [{agent}, {skill}]}}]
        {first}
        customized s1 prepared t1
        - agent s1 end t1
        {second}
        "#
        ),
        expect![[r#"
            c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "go", "origin": {"kind": "user"}, "agent": {"uri": "vscode-remote://127.0.0.1:8080/home/a%2Bb.md"}, "attachments": [{"type": "resource", "uri": "vscode-remote://127.0.0.1:8080/home/SKILL.md", "label": "prompt:SKILL.md", "displayKind": "document"}]}}
                changes s1: mark before t1
                customizations: prepare t1 "go" agent Some("file:///home/a%2Bb.md") about [file:///home/SKILL.md]
            customized s1 prepared t1
                agent s1: prompt t1 "go"
            c1 ! s1.chat chat/turnStarted {"turnId": "t2", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "go", "origin": {"kind": "user"}, "agent": {"uri": "vscode-remote://127.0.0.1:8080/home/gone.md"}, "attachments": [{"type": "resource", "uri": "vscode-remote://127.0.0.1:8080/elsewhere", "label": "prompt:SKILL.md", "displayKind": "document"}]}}
                changes s1: mark before t2
                customizations: prepare t2 "go" agent None about [vscode-remote://127.0.0.1:8080/elsewhere]
                c1: asked resourceRead vscode-remote://127.0.0.1:8080/elsewhere
                await an answer 10000
        "#]],
    );
}
