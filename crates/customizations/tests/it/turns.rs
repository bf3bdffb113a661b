//! Preparation of turns: instructions, models, prompts and skills.

use std::collections::BTreeMap;

use agenthost_core::customization::driver::TurnPreparation;
use agenthost_customizations::fetch::PluginSource;
use agenthost_customizations::{ConfiguredPlugin, CustomizationSettings};
use agenthost_protocol::ids::ProviderId;
use agenthost_protocol::uri::Uri;
use agenthost_workspace::uri_of;
use expect_test::{Expect, expect};

use crate::host::{Host, turn, workspace, write};

async fn example(settings: CustomizationSettings) -> Host {
    let folder = workspace();
    let work = folder.path().join("work");
    write(&work, "AGENTS.md", "Be kind.");
    write(&work, "CLAUDE.md", "Be Claude.");
    write(
        &work,
        ".cursor/rules/ts.mdc",
        "---\nglobs: *.ts\n---\nNo any.",
    );
    write(
        &work,
        ".cursor/rules/db.mdc",
        "---\ndescription: About the database\n---\nNo joins.",
    );
    write(&work, ".cursor/rules/manual.mdc", "Only by hand.");
    write(
        &work,
        ".agents/agents/writer.md",
        "---\nmodel: big\ntools: [Read]\n---\nYou write.",
    );
    write(
        &work,
        ".agents/skills/lint/SKILL.md",
        "---\ndescription: Runs linters\n---\nRun $ARGUMENTS.",
    );
    write(
        &work,
        ".agents/skills/own/SKILL.md",
        "---\ndescription: x\ndisable-model-invocation: true\n---\nX.",
    );
    write(
        &work,
        ".agents/skills/hidden/SKILL.md",
        "---\ndescription: y\nuser-invocable: false\n---\nY.",
    );
    write(&work, ".agents/prompts/fix.prompt.md", "Fix $1, then $2.");
    write(&work, ".claude/commands/fix.md", "Other fix.");
    write(
        &work,
        ".claude/commands/git/tag.md",
        "---\ndescription: Tags\n---\nTag $1 as $ARGUMENTS.",
    );
    write(
        &work,
        ".claude/commands/ship.md",
        "---\ndescription: Ships\ndisable-model-invocation: true\n---\nShip $ARGUMENTS.",
    );
    let mut host = Host::start_tracking(folder, settings).await;
    host.wait_until_read().await;
    host
}

async fn check(host: &mut Host, preparation: TurnPreparation, expected: Expect) {
    let prepared = host.prepare(preparation).await.unwrap();
    let mut text = format!("model {:?}\n", prepared.model.map(|model| model.id));
    text.push_str(prepared.instructions.as_deref().unwrap_or("nothing"));
    expected.assert_eq(&text.replace(host.folder.path().to_str().unwrap(), "…"));
}

#[tokio::test]
async fn instructions_have_rules_and_skills() {
    let mut host = example(CustomizationSettings::default()).await;
    check(&mut host, turn(1, "hello"), expect![[r#"
        model None
        # Rules

        ## AGENTS.md

        Be kind.

        ## CLAUDE.md

        Be Claude.

        # Rules for specific tasks

        Before you start a task that one of these rules covers, read its file.

        - db: About the database (…/work/.cursor/rules/db.mdc)
        - ts: for *.ts (…/work/.cursor/rules/ts.mdc)

        # Skills

        When a task fits one of these, read its file first and follow it. Paths in it are relative to its folder.

        - hidden: y (…/work/.agents/skills/hidden/SKILL.md)
        - lint: Runs linters (…/work/.agents/skills/lint/SKILL.md)
        - fix: Other fix. (…/work/.claude/commands/fix.md)
        - git:tag: Tags (…/work/.claude/commands/git/tag.md)
    "#]]).await;
}

#[tokio::test]
async fn attached_files_select_rules_and_a_custom_agent_adds_instructions() {
    let mut host = example(CustomizationSettings::default()).await;
    let preparation = TurnPreparation {
        files: vec![uri_of(&host.work().join("src/a.ts")).unwrap()],
        agent: uri_of(&host.work().join(".agents/agents/writer.md")),
        ..turn(1, "hello")
    };
    check(&mut host, preparation, expect![[r#"
        model Some("big")
        # Rules

        ## AGENTS.md

        Be kind.

        ## CLAUDE.md

        Be Claude.

        ## ts

        No any.

        # Rules for specific tasks

        Before you start a task that one of these rules covers, read its file.

        - db: About the database (…/work/.cursor/rules/db.mdc)

        # Act as the agent `writer`

        You write.

        Use no other tools than these: Read

        # Skills

        When a task fits one of these, read its file first and follow it. Paths in it are relative to its folder.

        - hidden: y (…/work/.agents/skills/hidden/SKILL.md)
        - lint: Runs linters (…/work/.agents/skills/lint/SKILL.md)
        - fix: Other fix. (…/work/.claude/commands/fix.md)
        - git:tag: Tags (…/work/.claude/commands/git/tag.md)
    "#]]).await;
}

#[tokio::test]
async fn globs_restrict_an_always_applied_rule() {
    let folder = workspace();
    let work = folder.path().join("work");
    let rule = |globs: &str, text: &str| {
        format!("---\ndescription: d\nalwaysApply: true\nglobs: {globs}\n---\n{text}")
    };
    write(&work, ".cursor/rules/ts.mdc", &rule("*.ts", "No any."));
    write(&work, ".cursor/rules/all.mdc", &rule("**", "Be kind."));
    let mut host = Host::start_tracking(folder, CustomizationSettings::default()).await;
    for (text, counts) in [("hello", false), ("fix src/a.ts", true)] {
        let prepared = host.prepare(turn(1, text)).await.unwrap();
        let told = prepared.instructions.unwrap();
        assert!(told.contains("Be kind."), "{text}");
        assert_eq!(told.contains("No any."), counts, "{text}");
        assert_eq!(told.contains("- ts: d"), !counts, "{text}");
    }
}

#[tokio::test]
async fn files_mentioned_in_a_message_select_rules() {
    let mut host = example(CustomizationSettings::default()).await;
    for (text, counts) in [
        ("fix @src/a.ts, please", true),
        ("what is in `src/new.ts`?", true),
        ("fix src/a.rs", false),
    ] {
        let prepared = host.prepare(turn(1, text)).await.unwrap();
        let told = prepared.instructions.unwrap();
        assert_eq!(told.contains("No any."), counts, "{text}");
    }
}

#[tokio::test]
async fn instructions_omit_files_that_the_agent_reads_itself() {
    let native = vec![
        "CLAUDE.md".to_owned(),
        "AGENTS.md".to_owned(),
        ".agents/".to_owned(),
    ];
    let settings = CustomizationSettings {
        native_paths: BTreeMap::from([(ProviderId::from("agent"), native)]),
        ..CustomizationSettings::default()
    };
    let mut host = example(settings).await;
    check(
        &mut host,
        turn(1, "hello"),
        expect![[r#"
            model None
            # Rules for specific tasks

            Before you start a task that one of these rules covers, read its file.

            - db: About the database (…/work/.cursor/rules/db.mdc)
            - ts: for *.ts (…/work/.cursor/rules/ts.mdc)

            # Skills

            When a task fits one of these, read its file first and follow it. Paths in it are relative to its folder.

            - fix: Other fix. (…/work/.claude/commands/fix.md)
            - git:tag: Tags (…/work/.claude/commands/git/tag.md)
        "#]],
    )
    .await;
    host.until(|host| host.commands == [".claude/commands:fix", "git:tag", "ship"])
        .await;
}

/// CUS-16: a disabled customization has no effect on a turn.
#[tokio::test]
async fn disabled_customizations_have_no_effect() {
    let mut host = example(CustomizationSettings::default()).await;
    let [rules, skills, files] =
        [".cursor/rules", ".agents/skills", "Instructions"].map(|name| host.id(name));
    let agents = host.child("Instructions", "AGENTS.md").unwrap();
    host.disable(&[&rules, &skills, &agents]).await;
    check(
        &mut host,
        turn(1, "/lint"),
        expect![[r#"
            model None
            # Rules

            ## CLAUDE.md

            Be Claude.

            # Skills

            When a task fits one of these, read its file first and follow it. Paths in it are relative to its folder.

            - fix: Other fix. (…/work/.claude/commands/fix.md)
            - git:tag: Tags (…/work/.claude/commands/git/tag.md)
        "#]],
    )
    .await;
    host.disable(&[&rules, &skills, &files]).await;
    assert_eq!(host.prepare(turn(2, "/lint")).await.unwrap().text, None);
}

#[tokio::test]
async fn slash_commands_expand_to_prompts_and_skills() {
    let mut host = example(CustomizationSettings::default()).await;
    let expected = [
        ".claude/commands:fix",
        "fix",
        "git:tag",
        "lint",
        "own",
        "ship",
    ];
    host.until(|host| host.commands == expected).await;
    let cases = [
        ("/fix this 'and that'", Some("Fix this, then and that.")),
        ("/ship v1", Some("Ship v1.")),
        ("/git:tag v1 now", Some("Tag v1 as v1 now.")),
        // VS Code writes the name in this way.
        ("/git tag v1 now", Some("Tag v1 as v1 now.")),
        ("/git tag", Some("Tag  as .")),
        ("/git push", None),
        ("/git", None),
        (
            "/.claude/commands:fix now",
            Some("Other fix.\n\nARGUMENTS: now"),
        ),
        ("/hidden", None),
        ("/unknown", None),
        ("fix", None),
        ("/", None),
    ];
    for (number, (text, expected)) in (0..).zip(cases) {
        let prepared = host.prepare(turn(number, text)).await.unwrap();
        assert_eq!(prepared.text.as_deref(), expected, "{text}");
    }
    let skill = host
        .prepare(turn(10, "/lint all"))
        .await
        .unwrap()
        .text
        .unwrap();
    let skill = skill.replace(host.folder.path().to_str().unwrap(), "…");
    assert_eq!(
        skill,
        "Follow the skill `lint`. Its files are in `…/work/.agents/skills/lint`.\n\nRun all."
    );
    let own = TurnPreparation {
        own_commands: vec!["fix".to_owned()],
        ..turn(11, "/fix a b")
    };
    assert_eq!(host.prepare(own).await.unwrap().text, None);
}

/// Open Plugins puts the name of the plugin in front of its skills, and so does VS Code, which
/// writes `/release-tools ship`.
#[tokio::test]
async fn plugin_skills_can_be_invoked_with_the_plugin_name() {
    let folder = workspace();
    let plugin = folder.path().join("plugins/tools");
    write(&plugin, "plugin.json", r#"{"name": "Release Tools"}"#);
    write(&plugin, "commands/ship.md", "Ship $ARGUMENTS.");
    write(&plugin, "skills/notes/SKILL.md", "Write notes.");
    let settings = CustomizationSettings {
        plugins: vec![ConfiguredPlugin {
            source: PluginSource::Path(plugin),
            agents: None,
        }],
        ..CustomizationSettings::default()
    };
    let mut host = Host::start_tracking(folder, settings).await;
    host.all_read().await;
    host.until(|host| host.commands == ["notes", "ship"]).await;
    for (number, text) in (1..).zip([
        "/ship v1",
        "/Release-Tools:ship v1",
        "/release-tools:ship v1",
        "/release-tools ship v1",
    ]) {
        let prepared = host.prepare(turn(number, text)).await.unwrap();
        assert_eq!(prepared.text.as_deref(), Some("Ship v1."), "{text}");
    }
    let prepared = host.prepare(turn(9, "/release-tools notes")).await.unwrap();
    assert!(prepared.text.unwrap().ends_with("Write notes."));
    let prepared = host.prepare(turn(10, "/tools ship")).await.unwrap();
    assert_eq!(prepared.text, None);
}

#[tokio::test]
async fn a_missing_custom_agent_rejects_the_turn() {
    let mut host = example(CustomizationSettings::default()).await;
    let preparation = TurnPreparation {
        agent: Some(Uri::from("file:///gone.md")),
        ..turn(1, "hello")
    };
    let refused = host.prepare(preparation).await.unwrap_err();
    assert_eq!(
        refused,
        "custom agent `file:///gone.md` does not exist or is disabled"
    );
}

#[tokio::test]
async fn a_turn_of_an_untracked_session_needs_no_preparation() {
    let mut host = Host::start(workspace(), CustomizationSettings::default());
    let prepared = host.prepare(turn(1, "/fix")).await.unwrap();
    assert!(prepared.instructions.is_none() && prepared.text.is_none());
}
