//! Customizations as VS Code 1.139 reads them.

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
