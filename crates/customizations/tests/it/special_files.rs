//! Pipes, sockets, devices and folders in the place of files, and files in the place of folders.

use std::os::unix::net::UnixListener;
use std::path::Path;

use agenthost_customizations::fetch::PluginSource;
use agenthost_customizations::{ConfiguredPlugin, CustomizationSettings};
use expect_test::expect;
use nix::sys::stat::Mode;

use crate::host::{Host, workspace, write};

fn pipe(path: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    nix::unistd::mkfifo(path, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
}

fn socket(path: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    // The socket file stays when its listener is dropped.
    drop(UnixListener::bind(path).unwrap());
}

#[tokio::test]
async fn special_files_are_reported_and_never_block() {
    let folder = workspace();
    let root = folder.path().join("plugin");
    pipe(&root.join("plugin.json"));
    pipe(&root.join("skills/a/SKILL.md"));
    socket(&root.join("hooks/hooks.json"));
    std::fs::create_dir_all(root.join(".mcp.json")).unwrap();
    std::fs::create_dir_all(root.join("skills/b/SKILL.md")).unwrap();
    write(&root, "skills/good/SKILL.md", "Good.");
    // Files that are no customizations are not examined, so there is no problem to report.
    socket(&root.join("agent.sock"));
    let work = folder.path().join("work");
    write(&work, "AGENTS.md/inside.md", "No rule.");
    std::os::unix::fs::symlink("/dev/null", work.join("GEMINI.md")).unwrap();
    pipe(&work.join("CLAUDE.md"));
    pipe(&work.join(".mcp.json"));
    pipe(&work.join(".claude/settings.json"));
    write(&work, ".github/hooks", "no folder");
    let settings = CustomizationSettings {
        plugins: vec![ConfiguredPlugin {
            source: PluginSource::Path(root),
            agents: None,
        }],
        ..CustomizationSettings::default()
    };
    let mut host = Host::start_tracking(folder, settings).await;
    host.all_read().await;
    let shown = host.known.iter().map(crate::render::container);
    let shown = shown.filter(|text| text.contains("degraded") || text.contains("error"));
    let shown: Vec<_> = shown.collect();
    expect![[r#"
        plugin degraded
          ! `plugin.json`: it is a pipe, a socket or a device, not a file
          ! `skills/a/SKILL.md`: it is a pipe, a socket or a device, not a file
          ! `skills/b/SKILL.md`: it is a folder, not a file
          ! `hooks/hooks.json`: it is a pipe, a socket or a device, not a file
          ! `.mcp.json`: it is a folder, not a file [good]
        Instructions Rule degraded
          ! `GEMINI.md` is a link to a target outside of its folder
          ! `AGENTS.md`: it is a folder, not a file
          ! `CLAUDE.md`: it is a pipe, a socket or a device, not a file []
        MCP servers McpServer degraded
          ! `.mcp.json`: it is a pipe, a socket or a device, not a file []
        Hooks Hook degraded
          ! `.github/hooks`: it is not a folder
          ! `.claude/settings.json`: it is a pipe, a socket or a device, not a file []"#]]
    .assert_eq(&shown.join("\n"));
}
