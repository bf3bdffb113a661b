//! Parsing of packages in all formats.

use std::path::{Path, PathBuf};

use agenthost_customizations::package::Package;
use agenthost_customizations::parse::{
    ContainerFrame, ContainerLayout, ItemDetail, ItemKind, ParsedContainer, parse,
};
use agenthost_protocol::uri::Uri;
use expect_test::{Expect, expect};

use crate::render;

fn frame(layout: ContainerLayout) -> ContainerFrame {
    ContainerFrame {
        uri: Uri::from("x:/p"),
        owner: String::new(),
        layout,
    }
}

fn load(package: &mut Package, root: &Path, folder: &Path) {
    let mut entries: Vec<PathBuf> = folder
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            load(package, root, &path);
            continue;
        }
        let name = path.strip_prefix(root).unwrap().to_str().unwrap();
        package.add_file(name, std::fs::read(&path).unwrap());
    }
}

fn check(name: &str, expected: Expect) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("test_data")
        .join(name);
    let mut package = Package::default();
    load(&mut package, &root, &root);
    expected.assert_eq(&render::parsed(&parse(
        &package,
        &frame(ContainerLayout::Plugin),
    )));
}

fn of(layout: ContainerLayout, files: &[(&str, &str)]) -> ParsedContainer {
    let mut package = Package::default();
    for (path, text) in files {
        package.add_file(path, text.as_bytes().to_vec());
    }
    parse(&package, &frame(layout))
}

#[test]
fn a_claude_code_package_is_parsed() {
    check(
        "claude",
        expect![[r#"
            release-tools 2.1.0: degraded
              ! `hooks/hooks.json`: hooks of `PreToolUse` do not run for an agent's own tools that it uses without asking for approval
              agent releaser x:/p/agents/releaser.md tools=["Read","Bash"] model="opus" description="Use it when: a release is due"
              skill release-notes x:/p/skills/notes/SKILL.md disableModelInvocation=true description="Writes notes from commits"
              skill changelog x:/p/commands/changelog.md description="Write the changelog"
              skill git:tag x:/p/commands/git/tag.md description="Tag $ARGUMENTS."
              skill publish x:/p/commands/publish.md disableModelInvocation=true description="Publish the release"
              hook UserPromptSubmit x:/p/hooks/hooks.json at="2:4-4:5"
              hook PreToolUse x:/p/hooks/hooks.json at="5:4-7:5"
              mcpServer tracker x:/p/.mcp.json at="2:4-2:102"
              mcpServer docs x:/p/.mcp.json at="3:4-3:101"
        "#]],
    );
}

#[test]
fn a_portable_package_is_parsed() {
    check(
        "portable",
        expect![[r#"
        portable 1.0.0: degraded
          ! `mcp.json`: the server `old` supports only SSE, which the host does not support: use the URL of its streamable HTTP endpoint
          ! `mcp.json`: the server `empty` has neither a `command` nor a `url`
          agent doc x:/p/com.github.copilot/helpers/doc.agent.md disableModelInvocation=true description="Writes docs"
          skill lint x:/p/skills/lint/SKILL.md disableUserInvocation=true description="Runs the linters and repairs what they find"
          skill flat x:/p/skills/flat.md description="Formats all that was changed."
          mcpServer good x:/p/mcp.json at="3:4-3:77"
    "#]],
    );
}

#[test]
fn a_cursor_package_is_parsed() {
    check(
        "cursor",
        expect![[r#"
            house-style -: degraded
              ! `.cursor-plugin/plugin.json`: hooks of `afterFileEdit` are not run: the host does not receive this event
              rule always x:/p/style/always.mdc alwaysApply=true
              rule typescript x:/p/style/typescript.mdc globs=["*.ts","**/*.{tsx,mts}"] alwaysApply=false description="How we write TypeScript"
              rule plain x:/p/rules/plain.md description="Name things plainly."
              rule react x:/p/rules/react.instructions.md globs=["src/**/*.tsx"]
              hook beforeSubmitPrompt x:/p/.cursor-plugin/plugin.json at="3:13-3:64"
              hook afterFileEdit x:/p/.cursor-plugin/plugin.json at="3:66-3:112"
              mcpServer inline x:/p/.cursor-plugin/plugin.json at="4:18-4:50"
        "#]],
    );
}

#[test]
fn valid_parts_of_a_broken_package_are_used() {
    check(
        "broken",
        expect![[r#"
            - -: degraded
              ! `plugin.json`: `name` must be a non-empty string
              ! `plugin.json`: `version` must be a non-empty string
              ! `plugin.json`: `agents` must be a path or a list of paths
              ! `plugin.json`: `skills` names a path outside of the package: `../../elsewhere`
              ! `plugin.json`: `skills` names a path outside of the package: `/etc`
              ! `plugin.json`: it names `missing`, which does not exist
              ! and 13 more
              skill extra x:/p/more/extra/SKILL.md description="Extra."
              skill endless x:/p/skills/endless/SKILL.md description="description: it never ends"
              skill good x:/p/skills/good/SKILL.md description="It works"
              skill malformed x:/p/skills/malformed/SKILL.md description="Still a skill."
              skill twin x:/p/skills/twin-a/SKILL.md description="A."
              skill types x:/p/skills/types/SKILL.md description="Types."
        "#]],
    );
}

#[test]
fn an_invalid_manifest_does_not_affect_the_other_files() {
    for text in ["", "{", "[]", "nonsense", "\"x\"", "null", "7"] {
        let parsed = of(
            ContainerLayout::Plugin,
            &[("plugin.json", text), ("skills/a/SKILL.md", "A.")],
        );
        assert_eq!(parsed.items.len(), 1, "{text}");
        assert_eq!(parsed.failure, None, "{text}");
        assert!(
            parsed.problems[0].starts_with("`plugin.json`: it "),
            "{text}"
        );
    }
    let all_wrong = r#"{"name": 1, "version": {}, "agents": true, "skills": [7], "commands": {},
        "rules": 1.5, "hooks": 3, "mcpServers": false, "extensions": []}"#;
    let parsed = of(
        ContainerLayout::Plugin,
        &[("plugin.json", all_wrong), ("skills/a/SKILL.md", "A.")],
    );
    assert_eq!((parsed.items.len(), parsed.failure), (1, None));
    assert_eq!(parsed.problems.len(), 8, "{:?}", parsed.problems);
}

#[test]
fn the_limit_of_servers_is_reported_once() {
    let servers: Vec<String> = (0..150)
        .map(|number| format!(r#""s{number}": {{"command": "x"}}"#))
        .collect();
    let text = format!(r#"{{"mcpServers": {{{}}}}}"#, servers.join(","));
    let parsed = of(
        ContainerLayout::Files(ItemKind::Server),
        &[(".mcp.json", &text)],
    );
    assert_eq!(parsed.items.len(), 100);
    assert_eq!(
        parsed.problems,
        ["`.mcp.json`: there are more than 100 servers"]
    );
}

#[test]
fn a_rule_with_invalid_conditions_does_not_always_apply() {
    let parsed = of(
        ContainerLayout::Folder(ItemKind::Rule),
        &[
            ("endless.md", "---\nglobs: *.ts\nText."),
            ("broken.md", "---\na: b\n  c: [\n---\nText."),
            ("types.md", "---\nglobs: 7\n---\nText."),
            ("maybe.md", "---\nalwaysApply: maybe\n---\nText."),
            ("said.md", "---\nglobs: 7\nalwaysApply: true\n---\nText."),
            ("plain.md", "Text."),
        ],
    );
    expect![[r#"
        - -: degraded
          ! `broken.md`: its front matter cannot be parsed: mapping values are not allowed in this context at line 2, column 4
          ! `endless.md`: its front matter has no closing `---`
          ! `maybe.md`: `alwaysApply` must be true or false
          ! `said.md`: `globs` must be a list of strings
          ! `types.md`: `globs` must be a list of strings
          rule broken x:/p/broken.md alwaysApply=false
          rule endless x:/p/endless.md alwaysApply=false
          rule maybe x:/p/maybe.md alwaysApply=false
          rule plain x:/p/plain.md alwaysApply=true
          rule said x:/p/said.md alwaysApply=true
          rule types x:/p/types.md alwaysApply=false
    "#]].assert_eq(&render::parsed(&parsed));
}

/// Open Plugins: without `alwaysApply` the agent decides whether a rule applies, for which it needs
/// a description.
#[test]
fn a_plugin_rule_always_applies_only_if_it_is_declared() {
    let parsed = of(
        ContainerLayout::Plugin,
        &[
            ("rules/always.md", "---\nalwaysApply: true\n---\nText."),
            (
                "rules/all.instructions.md",
                "---\napplyTo: '**'\n---\nText.",
            ),
            ("rules/plain.md", "# Style\n\nUse tabs."),
            ("rules/silent.mdc", "Only by hand."),
        ],
    );
    expect![[r#"
        - -: loaded
          rule all x:/p/rules/all.instructions.md globs=["**"] alwaysApply=true
          rule always x:/p/rules/always.md alwaysApply=true description="Text."
          rule plain x:/p/rules/plain.md description="Use tabs."
          rule silent x:/p/rules/silent.mdc
    "#]]
    .assert_eq(&render::parsed(&parsed));
}

#[test]
fn hook_events_are_accepted_in_pascal_and_camel_case() {
    for (written, told) in [
        ("PostToolUse", false),
        ("postToolUse", false),
        ("UserPromptSubmit", false),
        ("userPromptSubmit", false),
        ("AfterFileEdit", true),
        ("afterFileEdit", true),
        ("preCompact", true),
    ] {
        let hooks = format!(r#"{{"hooks": {{"{written}": [{{"command": "true"}}]}}}}"#);
        let parsed = of(ContainerLayout::Plugin, &[("hooks/hooks.json", &hooks)]);
        assert_eq!(parsed.items.len(), 1, "{written}");
        let problem = parsed.problems.first().map_or("", String::as_str);
        let never_run = problem.ends_with("are not run: the host does not receive this event");
        assert_eq!(never_run, told, "{written}: {problem}");
    }
}

#[test]
fn a_single_skill_plugin_names_its_skill() {
    let manifest = r#"{"name": "notes"}"#;
    let parsed = of(
        ContainerLayout::Plugin,
        &[
            ("plugin.json", manifest),
            ("SKILL.md", "Write notes."),
            ("commands/tag.md", "Tag."),
        ],
    );
    expect![[r#"
        notes -: loaded
          skill tag x:/p/commands/tag.md description="Tag."
          skill notes x:/p/SKILL.md description="Write notes."
    "#]]
    .assert_eq(&render::parsed(&parsed));
}

#[test]
fn a_hook_with_an_invalid_matcher_is_not_run() {
    let hooks = r#"{"hooks": {"Stop": [
        {"matcher": ["Read"], "command": "a"},
        {"matcher": 7, "hooks": [{"command": "b"}]},
        {"matcher": null, "timeout": "10", "command": "c"},
        {"timeout": -1, "command": "d"},
        {"timeout": null, "command": "e"}
    ]}}"#;
    let parsed = of(ContainerLayout::Plugin, &[("hooks/hooks.json", hooks)]);
    let ItemDetail::Hooks(run) = &parsed.items[0].detail else {
        panic!("expected hooks");
    };
    let run: Vec<_> = run
        .iter()
        .map(|hook| (hook.command.as_str(), hook.timeout.as_secs()))
        .collect();
    assert_eq!(run, [("c", 30), ("d", 30), ("e", 30)]);
    expect![[r#"
        - -: degraded
          ! `hooks/hooks.json`: a hook is not run: its matcher must be a string
          ! `hooks/hooks.json`: a hook's timeout must be a positive number of seconds: using 30
          hook Stop x:/p/hooks/hooks.json at="0:11-6:5"
    "#]]
    .assert_eq(&render::parsed(&parsed));
}

#[test]
fn an_item_with_an_empty_name_is_named_by_its_path() {
    let parsed = of(
        ContainerLayout::Plugin,
        &[
            (
                "skills/one/SKILL.md",
                "---\nname: \"\"\ndescription: d\n---\nText.",
            ),
            ("skills/two/SKILL.md", "---\nname:\n---\nText."),
            ("skills/three/SKILL.md", "---\nname: '  '\n---\nText."),
            ("agents/four.md", "---\nname: ''\n---\nText."),
        ],
    );
    expect![[r#"
        - -: degraded
          ! `agents/four.md`: its `name` is empty: using `four`
          ! `skills/one/SKILL.md`: its `name` is empty: using `one`
          ! `skills/three/SKILL.md`: its `name` is empty: using `three`
          ! `skills/two/SKILL.md`: its `name` is empty: using `two`
          agent four x:/p/agents/four.md
          skill one x:/p/skills/one/SKILL.md description="d"
          skill three x:/p/skills/three/SKILL.md description="Text."
          skill two x:/p/skills/two/SKILL.md description="Text."
    "#]]
    .assert_eq(&render::parsed(&parsed));
}

#[test]
fn server_urls_must_be_http() {
    let servers = r#"{"mcpServers": {
        "file": {"url": "file:///etc/passwd"},
        "script": {"url": "javascript:alert(1)"},
        "hostless": {"url": "http://"},
        "words": {"url": "not an address"},
        "hidden": {"url": "FILE://${HOST}/x"},
        "later": {"url": "${ADDRESS}/mcp"},
        "part": {"url": "https://${HOST}/mcp"},
        "old": {"type": "http", "transport": "sse", "url": "https://a.b/sse"},
        "good": {"type": "http", "transport": "http", "url": "https://a.b/mcp"}
    }}"#;
    let parsed = of(
        ContainerLayout::Files(ItemKind::Server),
        &[(".mcp.json", servers)],
    );
    expect![[r#"
        - -: degraded
          ! `.mcp.json`: the server `file` has an invalid `url`: it must be an `https://` or `http://` URL
          ! `.mcp.json`: the server `script` has an invalid `url`: it must be an `https://` or `http://` URL
          ! `.mcp.json`: the server `hostless` has an invalid `url`: it must be an `https://` or `http://` URL
          ! `.mcp.json`: the server `words` has an invalid `url`: it must be an `https://` or `http://` URL
          ! `.mcp.json`: the server `hidden` has an invalid `url`: it must be an `https://` or `http://` URL
          ! `.mcp.json`: the server `old` supports only SSE, which the host does not support: use the URL of its streamable HTTP endpoint
          mcpServer later x:/p/.mcp.json at="6:8-6:42"
          mcpServer part x:/p/.mcp.json at="7:8-7:46"
          mcpServer good x:/p/.mcp.json at="9:8-9:79"
    "#]].assert_eq(&render::parsed(&parsed));
}

#[test]
fn folders_of_each_kind_are_parsed() {
    let files = &[
        ("a.md", "---\ndescription: about a\n---\nA."),
        ("b/SKILL.md", "B."),
        ("b/nested/SKILL.md", "Not one of its own."),
        ("README.md", "How to add one."),
    ];
    let mut text = String::new();
    for kind in [
        ItemKind::Agent,
        ItemKind::Skill,
        ItemKind::Command,
        ItemKind::Prompt,
        ItemKind::Rule,
    ] {
        let parsed = of(ContainerLayout::Folder(kind), files);
        text.push_str(&render::parsed(&parsed));
    }
    expect![[r#"
        - -: degraded
          ! `b/nested/SKILL.md`: the name `SKILL` is taken by `b/SKILL.md`
          agent a x:/p/a.md description="about a"
          agent SKILL x:/p/b/SKILL.md
        - -: loaded
          skill b x:/p/b/SKILL.md description="B."
          skill a x:/p/a.md description="about a"
        - -: loaded
          skill b x:/p/b/SKILL.md description="B."
          skill a x:/p/a.md description="about a"
        - -: loaded
          prompt a x:/p/a.md description="about a"
          prompt b:SKILL x:/p/b/SKILL.md
          prompt b:nested:SKILL x:/p/b/nested/SKILL.md
        - -: loaded
          rule a x:/p/a.md alwaysApply=true description="about a"
          rule b/SKILL x:/p/b/SKILL.md alwaysApply=true
          rule b/nested/SKILL x:/p/b/nested/SKILL.md alwaysApply=true
    "#]]
    .assert_eq(&text);
}

/// CUS-15: skills of a plugin share one namespace across all formats, and those in `skills/` take
/// precedence.
#[test]
fn a_command_with_the_name_of_a_skill_is_omitted_and_reported() {
    let parsed = of(
        ContainerLayout::Plugin,
        &[
            ("skills/fix/SKILL.md", "Fix as a skill."),
            ("commands/fix.md", "Fix as a command."),
            ("commands/new/SKILL.md", "Saved by a client."),
            ("commands/new/more.md", "Belongs to it."),
            ("commands/SKILL.md", "A command of that name."),
            ("prompts/fix.prompt.md", "Fix as a prompt."),
        ],
    );
    expect![[r#"
        - -: degraded
          ! `commands/fix.md`: the name `fix` is taken by `skills/fix/SKILL.md`
          skill fix x:/p/skills/fix/SKILL.md description="Fix as a skill."
          skill new x:/p/commands/new/SKILL.md description="Saved by a client."
          skill SKILL x:/p/commands/SKILL.md description="A command of that name."
          prompt fix x:/p/prompts/fix.prompt.md
    "#]]
    .assert_eq(&render::parsed(&parsed));
}

/// CUS-18: the front matter of a command can reserve it for users or for the model.
#[test]
fn a_command_can_be_reserved_for_users_or_the_model() {
    let parsed = of(
        ContainerLayout::Plugin,
        &[
            (
                "commands/deploy.md",
                "---\ndisable-model-invocation: true\n---\nDeploy $ARGUMENTS.",
            ),
            (
                "commands/lint.md",
                "---\ndescription: Lints\nuser-invocable: false\n---\nLint.",
            ),
        ],
    );
    expect![[r#"
        - -: loaded
          skill deploy x:/p/commands/deploy.md disableModelInvocation=true description="Deploy $ARGUMENTS."
          skill lint x:/p/commands/lint.md disableUserInvocation=true description="Lints"
    "#]].assert_eq(&render::parsed(&parsed));
}

#[test]
fn instruction_files_are_parsed_as_rules() {
    let parsed = of(
        ContainerLayout::Files(ItemKind::Rule),
        &[
            ("AGENTS.md", "Be kind."),
            (".github/copilot-instructions.md", "Be brief."),
        ],
    );
    expect![[r#"
        - -: loaded
          rule .github/copilot-instructions.md x:/p/.github/copilot-instructions.md alwaysApply=true
          rule AGENTS.md x:/p/AGENTS.md alwaysApply=true
    "#]]
    .assert_eq(&render::parsed(&parsed));
}

#[test]
fn ids_of_children_are_stable() {
    let files = [("skills/a/SKILL.md", "A."), ("skills/b/SKILL.md", "B.")];
    let ids = |parsed: &ParsedContainer| -> Vec<String> {
        let children = parsed.children();
        children
            .iter()
            .map(|child| child.id().unwrap().to_string())
            .collect()
    };
    let first = ids(&of(ContainerLayout::Plugin, &files));
    assert_eq!(first, ids(&of(ContainerLayout::Plugin, &files)));
    // Neither a new sibling nor another name changes an id.
    let more = [
        ("skills/0/SKILL.md", "0."),
        ("skills/a/SKILL.md", "---\nname: renamed\n---\nA."),
        files[1],
    ];
    assert_eq!(first, ids(&of(ContainerLayout::Plugin, &more))[1..]);
}

#[test]
fn containers_with_code_have_a_digest() {
    let hook = r#"{"hooks": {"Stop": [{"command": "x"}]}}"#;
    let code = |files: &[(&str, &str)]| of(ContainerLayout::Plugin, files).code;
    assert_eq!(code(&[("skills/a/SKILL.md", "A.")]), None);
    let first = code(&[("hooks/hooks.json", hook), ("x.sh", "1")]);
    assert!(first.is_some());
    assert_ne!(first, code(&[("hooks/hooks.json", hook), ("x.sh", "2")]));
    let server = |server: &str| {
        let text = format!(r#"{{"mcpServers": {{"a": {server}}}}}"#);
        code(&[(".mcp.json", &text)]).is_some()
    };
    assert!(server(r#"{"command": "x"}"#));
    // A remote server requires approval, too: its answers reach the agent.
    assert!(server(r#"{"url": "https://x"}"#));
}

/// Returns a rule whose aliases expand to a million values.
fn alias_bomb() -> String {
    let mut text = "---\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..6 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        text.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
    }
    text + "---\nA rule.\n"
}

#[test]
fn a_container_of_alias_bombs_is_degraded() {
    let bomb = alias_bomb();
    let names: Vec<String> = (0..500).map(|number| format!("{number:03}.md")).collect();
    let files: Vec<(&str, &str)> = names
        .iter()
        .map(|name| (name.as_str(), bomb.as_str()))
        .collect();
    let parsed = of(ContainerLayout::Folder(ItemKind::Rule), &files);
    assert_eq!(parsed.items.len(), 500, "the rules are there");
    let first = parsed.problems.first().unwrap();
    assert_eq!(
        first,
        "`000.md`: its front matter cannot be parsed: its aliases expand to too many values"
    );
    let last = parsed.problems.last().unwrap();
    assert!(
        last.ends_with(
            "its front matter was not parsed: the container exceeds the limit for front matter"
        ),
        "{last}"
    );
}
