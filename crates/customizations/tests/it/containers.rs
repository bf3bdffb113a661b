//! Folders and packages on the disk.

use std::collections::BTreeMap;

use agenthost_core::customization::driver::{CustomizationCommand, CustomizationEvent};
use agenthost_core::tools::mcp::transport::McpTransport;
use agenthost_customizations::fetch::PluginSource;
use agenthost_customizations::parse::{DeclaredServer, DeclaredTransport};
use agenthost_customizations::{
    ConfiguredPlugin, CustomizationSettings, ServerSpecError, code_key, configured_customizations,
};
use agenthost_protocol::ids::ProviderId;
use agenthost_protocol::session::Customization;
use agenthost_protocol::uri::Uri;
use expect_test::expect;

use crate::host::{Host, session, workspace, write};
use crate::render;

fn plugin(path: impl Into<std::path::PathBuf>) -> ConfiguredPlugin {
    ConfiguredPlugin {
        source: PluginSource::Path(path.into()),
        agents: None,
    }
}

#[tokio::test]
async fn watched_directories_are_published_before_they_exist() {
    let mut host = Host::start_tracking(workspace(), CustomizationSettings::default()).await;
    host.next().await;
    let lines: Vec<_> = host.known.iter().map(render::container).collect();
    expect![[r#"
        .agents/agents Agent writable loading not read
        .agents/skills Skill writable loading not read
        .agents/prompts Prompt writable loading not read
        .agents/rules Rule writable loading not read"#]]
    .assert_eq(&lines.join("\n"));
}

#[tokio::test]
async fn containers_are_published_as_loading_and_then_loaded() {
    let folder = workspace();
    let root = folder.path().join("plugin");
    write(&root, "plugin.json", r#"{"name": "mine"}"#);
    write(&root, "skills/a/SKILL.md", "A.");
    write(&folder.path().join("work"), "AGENTS.md", "Be kind.");
    write(
        &folder.path().join("work"),
        ".claude/commands/fix.md",
        "Fix it.",
    );
    write(&folder.path().join("home"), ".claude/agents/me.md", "Me.");
    let settings = CustomizationSettings {
        plugins: vec![plugin(&root)],
        ..CustomizationSettings::default()
    };
    let mut host = Host::start_tracking(folder, settings).await;
    let CustomizationEvent::CustomizationsFound { all } = host.next().await else {
        panic!("all that there is comes first (CUS-3)");
    };
    assert!(all.iter().all(|one| one.children().is_none()), "CUS-4");
    assert!(
        all.iter()
            .all(|one| render::container(one).contains("loading"))
    );
    host.wait_until_read().await;
    host.until(|host| host.commands.len() == 2).await;
    expect![[r#"
        mine loaded [a]
        Instructions Rule loaded [AGENTS.md]
        .claude/commands Skill writable loaded [fix]
        ~/.claude/agents Agent loaded [me]
    "#]]
    .assert_eq(&host.text());
    assert_eq!(host.commands, ["a", "fix"]);
}

#[tokio::test]
async fn a_change_reloads_one_container_for_all_sessions() {
    let folder = workspace();
    for name in ["one", "two"] {
        write(&folder.path().join(name), "skills/a/SKILL.md", "A.");
    }
    let settings = CustomizationSettings {
        plugins: vec![
            plugin(folder.path().join("one")),
            plugin(folder.path().join("two")),
        ],
        ..CustomizationSettings::default()
    };
    let mut host = Host::start_tracking(folder, settings).await;
    host.all_read().await;
    let before = host.customizations.read_count();
    let other = Uri::from("ahp-session:/other");
    host.track_session(&other).await;
    let all = loop {
        if let CustomizationEvent::CustomizationsFound { all } = host.next().await {
            break all;
        }
    };
    assert!(
        all.iter().all(|one| one.children().is_some()),
        "it is read already"
    );
    let root = host.folder.path().join("one");
    write(&root, "skills/b/SKILL.md", "B.");
    let mut told = 0;
    while told < 2 {
        if let CustomizationEvent::CustomizationUpdated(one) = host.next().await {
            // The folder is there before its file is.
            told += usize::from(render::container(&one) == "one loaded [a, b]");
        }
    }
    let reads = host.customizations.read_count() - before;
    assert!((1..=2).contains(&reads), "{reads} containers were read");
}

/// CUS-17.
#[tokio::test]
async fn saved_and_removed_files_update_the_customizations() {
    let mut host = Host::start_tracking(workspace(), CustomizationSettings::default()).await;
    host.wait_until_read().await;
    assert!(host.child(".agents/skills", "new").is_none());
    host.write(
        ".agents/skills/new/SKILL.md",
        "---\ndescription: n\n---\nNew.",
    );
    host.until(|host| host.child(".agents/skills", "new").is_some())
        .await;
    host.until(|host| host.commands == ["new"]).await;
    let id = host.child(".agents/skills", "new");
    host.write(
        ".agents/skills/new/SKILL.md",
        "---\ndescription: m\n---\nNew.",
    );
    host.until(|host| {
        let skills = host.find(".agents/skills").unwrap();
        serde_json::to_string(skills)
            .unwrap()
            .contains("\"description\":\"m\"")
    })
    .await;
    assert_eq!(host.child(".agents/skills", "new"), id, "its id stays");
    std::fs::remove_dir_all(host.work().join(".agents")).unwrap();
    host.until(|host| host.child(".agents/skills", "new").is_none())
        .await;
    host.until(|host| host.commands.is_empty()).await;
    // It comes again in the same place.
    host.write(".agents/skills/new/SKILL.md", "New.");
    host.until(|host| host.child(".agents/skills", "new") == id)
        .await;
}

#[tokio::test]
async fn a_directory_is_published_when_it_is_created() {
    let mut host = Host::start_tracking(workspace(), CustomizationSettings::default()).await;
    host.wait_until_read().await;
    assert!(host.find(".cursor/rules").is_none());
    host.write(".cursor/rules/a.mdc", "A.");
    host.until(|host| host.child(".cursor/rules", "a").is_some())
        .await;
    std::fs::remove_dir_all(host.work().join(".cursor")).unwrap();
    host.until(|host| host.find(".cursor/rules").is_none())
        .await;
}

#[tokio::test]
async fn symlinks_outside_of_the_workspace_are_not_followed() {
    let folder = workspace();
    let work = folder.path().join("work");
    write(folder.path(), "secret.md", "Secret.");
    write(&work, ".agents/skills/good/SKILL.md", "Good.");
    write(&work, "shared/linked/SKILL.md", "Linked.");
    let link = |to: std::path::PathBuf, from: &str| {
        let from = work.join(".agents/skills").join(from);
        std::os::unix::fs::symlink(to, from).unwrap();
    };
    link(folder.path().join("secret.md"), "bad.md");
    link(work.join("shared/linked"), "linked");
    link(work.join(".agents"), "circle");
    link(work.join("nowhere"), "lost.md");
    let mut host = Host::start_tracking(folder, CustomizationSettings::default()).await;
    host.wait_until_read().await;
    expect![[r#"
        .agents/skills Skill writable degraded
          ! `bad.md` is a link to a target outside of its folder
          ! `circle/skills`: links form a cycle
          ! `lost.md`: it is a broken link [good, linked]
    "#]]
    .assert_eq(&host.text());
}

#[tokio::test]
async fn missing_and_unfetched_plugins_report_a_remedy() {
    let folder = workspace();
    let settings = CustomizationSettings {
        plugins: vec![
            plugin(folder.path().join("missing")),
            ConfiguredPlugin {
                source: PluginSource::Git {
                    url: "https://example.org/tools.git".to_owned(),
                    reference: None,
                },
                agents: None,
            },
        ],
        ..CustomizationSettings::default()
    };
    let mut host = Host::start_tracking(folder, settings).await;
    host.wait_until_read().await;
    expect![[r#"
        missing error
          ! there is no folder `…/missing` []
        tools error
          ! it is not fetched yet: run `agenthost customizations fetch tools` []
    "#]]
    .assert_eq(&host.text());
}

#[tokio::test]
async fn workspace_servers_need_approval() {
    let folder = workspace();
    let servers = r#"{"mcpServers": {"a": {"command": "serve", "args": ["${X:-y}"]}, "b": {"url": "http://b"}}}"#;
    write(&folder.path().join("work"), ".mcp.json", servers);
    let mut host = Host::start_tracking(folder, CustomizationSettings::default()).await;
    host.wait_until_read().await;
    let name = |host: &Host| {
        let found = host
            .known
            .iter()
            .find(|one| render::container(one).starts_with("MCP"));
        render::container(found.unwrap())
    };
    expect![[r#"
        MCP servers McpServer degraded
          ! its hooks and MCP servers wait for approval: run `agenthost customizations allow 'MCP servers'` [a, b]"#]]
    .assert_eq(&name(&host));
    let container = host.find("MCP").unwrap();
    let ids: Vec<_> = container
        .children()
        .unwrap()
        .iter()
        .map(|child| child.id().unwrap().clone())
        .collect();
    let spec =
        |host: &Host, number: usize| host.customizations.server_spec(&session(), &ids[number]);
    assert_eq!(
        spec(&host, 0),
        Err(ServerSpecError::UntrustedCode("'MCP servers'".to_owned()))
    );
    assert!(
        spec(&host, 1).is_err(),
        "an address is nobody's to ask, too"
    );
    let untrusted = host.customizations.untrusted_code();
    assert_eq!(untrusted.len(), 1);
    assert!(
        untrusted[0]
            .key
            .starts_with(code_key(&untrusted[0].uri, "").as_str())
    );
    host.customizations
        .execute(CustomizationCommand::SetTrustedCode {
            keys: [untrusted[0].key.clone()].into(),
        })
        .unwrap();
    host.until(|host| name(host).contains("loaded")).await;
    assert!(matches!(
        spec(&host, 1).unwrap().transport,
        McpTransport::Http { .. }
    ));
    let McpTransport::Stdio {
        command,
        arguments,
        directory,
        ..
    } = spec(&host, 0).unwrap().transport
    else {
        panic!("it is a program");
    };
    assert_eq!(
        (command.as_str(), arguments),
        ("serve", vec!["y".to_owned()])
    );
    assert_eq!(directory, Some(host.work()));
    assert!(host.customizations.untrusted_code().is_empty());
    // Other code is not what was allowed.
    host.write(".mcp.json", &servers.replace("serve", "other"));
    host.until(|host| name(host).contains("degraded")).await;
    assert!(spec(&host, 0).is_err());
}

#[tokio::test]
async fn configured_servers_are_not_in_a_container() {
    let server = DeclaredServer {
        name: "tools".to_owned(),
        transport: DeclaredTransport::Http {
            url: "https://${HOST_OF_TOOLS}/mcp".into(),
            headers: Vec::new(),
        },
    };
    let settings = CustomizationSettings {
        servers: vec![server],
        ..CustomizationSettings::default()
    };
    let agent = ProviderId::from("agent");
    let known = configured_customizations(&settings, std::path::Path::new("/data"), &agent);
    assert!(matches!(known.as_slice(), [Customization::McpServer(_)]));
    let mut host = Host::start_tracking(workspace(), settings).await;
    host.wait_until_read().await;
    let id = known[0].id().unwrap();
    assert!(host.known.iter().any(|one| one.id() == Some(id)));
    let error = host.customizations.server_spec(&session(), id).unwrap_err();
    assert_eq!(error.to_string(), "`HOST_OF_TOOLS` is not set");
}

#[tokio::test]
async fn servers_and_hooks_that_the_agent_reads_itself_are_skipped() {
    let folder = workspace();
    let servers = r#"{"mcpServers": {"a": {"url": "http://a"}}}"#;
    write(&folder.path().join("work"), ".mcp.json", servers);
    write(
        &folder.path().join("work"),
        ".claude/settings.json",
        r#"{"hooks": {"Stop": [{"command": "x"}]}}"#,
    );
    let native = vec![".mcp.json".to_owned(), ".claude/".to_owned()];
    let settings = CustomizationSettings {
        native_paths: BTreeMap::from([(ProviderId::from("agent"), native)]),
        ..CustomizationSettings::default()
    };
    let mut host = Host::start_tracking(folder, settings).await;
    host.wait_until_read().await;
    assert_eq!(host.text(), "\n");
}

#[tokio::test]
async fn an_untracked_session_gets_no_events() {
    let mut host = Host::start_tracking(workspace(), CustomizationSettings::default()).await;
    host.wait_until_read().await;
    let session = session();
    host.customizations
        .execute(CustomizationCommand::Untrack { session })
        .unwrap();
    host.write(".agents/skills/new/SKILL.md", "New.");
    let other = Uri::from("ahp-session:/other");
    host.track_session(&other).await;
    let before = host.known.clone();
    loop {
        // All of this is about the other session.
        if let CustomizationEvent::CustomizationUpdated(one) = host.next().await
            && render::container(&one).contains("[new]")
        {
            break;
        }
    }
    assert_eq!(host.known, before);
    host.customizations.stop().await;
}

/// A workspace is removed, as by who clones it anew, and comes again.
#[tokio::test]
async fn a_recreated_workspace_is_read_again() {
    let folder = workspace();
    let work = folder.path().join("work");
    write(&work, ".agents/rules/old.md", "Old.");
    let mut host = Host::start_tracking(folder, CustomizationSettings::default()).await;
    let has = |host: &Host, name: &str| {
        let mut all = host.known.iter();
        all.any(|one| render::container(one).contains(name))
    };
    host.until(|host| has(host, "old")).await;
    std::fs::remove_dir_all(&work).unwrap();
    host.until(|host| !has(host, "old")).await;
    write(&work, ".agents/rules/new.md", "New.");
    host.until(|host| has(host, "new")).await;
    // And again by another name.
    let away = work.with_file_name("away");
    std::fs::rename(&work, &away).unwrap();
    host.until(|host| !has(host, "new")).await;
    std::fs::rename(&away, &work).unwrap();
    host.until(|host| has(host, "new")).await;
}
