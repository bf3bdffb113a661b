//! `customizations` and the section of `doctor` about them, as a user runs them.

use std::path::Path;
use std::process::Command;

use expect_test::{Expect, expect};
use serde_json::Value;

use crate::commands::{Host, configuration, err, out, run};

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Creates a project folder, beside the data and the configuration. Returns its path.
fn project(directory: &Path) -> String {
    let project = directory.join("project");
    std::fs::create_dir_all(&project).unwrap();
    project.to_str().unwrap().to_owned()
}

/// Checks the output and the exit code of a command. The path of the directory is removed from the
/// output.
fn check(directory: &Path, arguments: &[&str], expected: Expect) {
    let output = run(directory, arguments, "");
    let real = directory.canonicalize().unwrap();
    let said = format!(
        "{}{}exit code {}\n",
        out(&output),
        err(&output),
        output.status.code().unwrap()
    );
    let said = said.replace(real.to_str().unwrap(), "");
    expected.assert_eq(&said.replace(directory.to_str().unwrap(), ""));
}

const SKILL: &str = "---\nname: deploy\ndescription: Deploys it\n---\nDeploy it.\n";

const HOOKS: &str =
    r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "./notify.sh done"}]}]}}"#;

const SERVERS: &str = r#"{"mcpServers": {"files": {"command": "sh", "args": ["-c", "files"]}}}"#;

#[test]
fn an_empty_folder_prints_where_to_put_customizations() {
    let directory = tempfile::tempdir().unwrap();
    let project = project(directory.path());
    check(
        directory.path(),
        &["customizations", &project],
        expect![[r#"
            no customizations found: put skills in .agents/skills/NAME/SKILL.md, rules in AGENTS.md, and plugins in `[[plugins]]` of the configuration; docs/customizations.md lists all locations
            exit code 0
        "#]],
    );
    check(
        directory.path(),
        &["customizations", "/no/such/folder"],
        expect![[r#"
            error: resolve folder `/no/such/folder`: No such file or directory (os error 2)
            exit code 1
        "#]],
    );
    check(
        directory.path(),
        &["customizations", "--agent", "nobody", &project],
        expect![[r#"
            error: there is no agent `nobody` here
            hint: `agenthost agents` lists them
            exit code 1
        "#]],
    );
}

/// CUS-1, CUS-5: the listing shows the tree, with each problem at the customization that has it.
#[test]
fn the_tree_of_a_folder_is_listed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let project = project(path);
    let files = path.join("project");
    write(&files, "AGENTS.md", "Be kind.");
    write(&files, ".agents/skills/deploy/SKILL.md", SKILL);
    write(&files, ".agents/skills/twice/SKILL.md", SKILL);
    let long = "Writes very long sentences ".repeat(10);
    let prompt = format!("---\ndescription: {long}\n---\nWrite.");
    write(&files, ".github/prompts/write.prompt.md", &prompt);
    let servers = SERVERS.replace("-c\", \"files", "-c\", \"files --token ${T}");
    assert!(servers.contains("${T}"), "{servers}");
    write(&files, ".mcp.json", &servers);
    let plugin = path.join("plugin");
    let manifest = r#"{"name": "tools", "version": "1.2.0"}"#;
    write(&plugin, "plugin.json", manifest);
    write(&plugin, "rules/style.md", "---\nglobs: '*.rs'\n---\nShort.");
    let config = format!(
        "auto_agents = false\n\
         [[plugins]]\npath = '{}'\nagents = ['goose']\n\
         [[mcp_servers]]\nname = 'search'\nurl = 'https://mcp.example.org'\n",
        plugin.canonicalize().unwrap().display()
    );
    std::fs::write(configuration(path), config).unwrap();
    check(
        path,
        &["customizations", &project],
        expect![[r#"
            plugin  tools 1.2.0              loaded     file:///plugin
              rule    style                  Short.
            folder  Instructions             loaded     file:///project
              rule    AGENTS.md
            folder  MCP servers              degraded   file:///project
                    its code needs approval: run `agenthost customizations allow 'MCP servers'`
              server  files
            folder  .agents/skills           degraded   file:///project/.agents/skills
                    `twice/SKILL.md`: the name `deploy` is taken by `deploy/SKILL.md`
              skill   deploy                 Deploys it
            folder  .github/prompts          loaded     file:///project/.github/prompts
              prompt  write                  Writes very long sentences Writes very long sentences Writes very long senten…
            server  search                              agenthost-config:/servers/search
            empty or missing folders: .agents/agents, .agents/prompts, .agents/rules
            exit code 0
        "#]],
    );
    // The plugin is for another agent.
    let output = run(path, &["customizations", "--agent", "shell", &project], "");
    assert!(!out(&output).contains("tools"), "{}", out(&output));

    let output = run(path, &["customizations", "--json", &project], "");
    let all: Vec<Value> = out(&output)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let skills = all.iter().find(|one| one["name"] == ".agents/skills");
    let skills = skills.unwrap();
    assert_eq!(skills["type"], "directory");
    assert_eq!(skills["load"]["kind"], "degraded");
    assert_eq!(skills["writable"], true);
    assert!(all.iter().any(|one| one["type"] == "mcpServer"));
    // CUS-19: commands are shown only to the user who approves them, so they are not listed.
    assert!(!out(&output).contains("--token"), "{}", out(&output));
}

#[test]
fn code_is_approved_only_with_a_confirmation() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let project = project(path);
    let files = path.join("project");
    write(&files, ".claude/settings.json", HOOKS);
    write(&files, ".mcp.json", SERVERS);
    let _host = Host::start(path, &[]);
    let allow = |more: &[&str]| {
        let start = ["customizations", "allow", "--directory", &project];
        run(path, &[&start, more].concat(), "")
    };
    // There is no terminal at which the user could confirm.
    let output = allow(&["Hooks"]);
    assert_eq!(output.status.code(), Some(1));
    let said = err(&output);
    assert!(
        said.contains("hook Stop, timeout 30s: sh -c './notify.sh done'"),
        "{said}"
    );
    assert!(said.contains("`--yes` allows without asking"), "{said}");
    assert!(out(&allow(&[])).contains("pending  Hooks"));

    let output = allow(&["--yes", "Hooks"]);
    assert!(output.status.success(), "{output:?}");
    assert!(err(&allow(&["--yes", "Hooks"])).contains("already allowed"));
    // A name of two words can be typed as it is shown, without quotes.
    let output = allow(&["--yes", "mcp", "servers"]);
    assert!(
        err(&output).contains("server files: sh -c files"),
        "{output:?}"
    );
    let listed = run(path, &["customizations", &project], "");
    assert!(!out(&listed).contains("degraded"), "{}", out(&listed));
    let listed = out(&allow(&["--list"]));
    assert_eq!(listed.matches("allowed ").count(), 2, "{listed}");

    // A changed hook requires approval again.
    write(
        &files,
        ".claude/settings.json",
        &HOOKS.replace("done", "all"),
    );
    let listed = run(path, &["customizations", &project], "");
    assert!(out(&listed).contains("needs approval"), "{listed:?}");
    write(&files, ".claude/settings.json", HOOKS);
    assert!(allow(&["--remove", "Hooks"]).status.success());
    let output = allow(&["--remove", "Hooks"]);
    assert!(err(&output).contains("it is not allowed"), "{output:?}");
    assert!(out(&allow(&[])).contains("pending  Hooks"));
    let output = allow(&["--yes", "nothing"]);
    assert!(err(&output).contains("available: "), "{output:?}");
}

/// An approval covers the fields of a declaration: words that move to another field require
/// approval again. The listing tells the fields apart.
#[test]
fn moving_arguments_of_an_approved_server_to_variables_requires_approval() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let project = project(path);
    let files = path.join("project");
    let approved = r#"{"mcpServers": {"s": {"command": "mcp.py",
        "args": ["one", "with", "NODE_OPTIONS", "--require=./evil.js", "x"]}}}"#;
    let later = r#"{"mcpServers": {"s": {"command": "mcp.py", "args": ["one"],
        "env": {"NODE_OPTIONS": "--require=./evil.js", "x": "with"}}}}"#;
    write(&files, ".mcp.json", approved);
    let _host = Host::start(path, &[]);
    let allow = |more: &[&str]| {
        let start = ["customizations", "allow", "--directory", &project];
        run(path, &[&start, more].concat(), "")
    };
    let output = allow(&["--yes", "mcp", "servers"]);
    let expected = "server s: mcp.py one with NODE_OPTIONS '--require=./evil.js' x\n";
    assert!(err(&output).contains(expected), "{output:?}");
    assert!(out(&allow(&[])).starts_with("allowed  "));
    write(&files, ".mcp.json", later);
    let listed = out(&allow(&[]));
    let expected = "server s: NODE_OPTIONS='--require=./evil.js' x=with mcp.py one\n";
    assert!(listed.starts_with("pending  MCP servers"), "{listed}");
    assert!(listed.contains(expected), "{listed}");
    // Characters that would move the cursor or turn text around are escaped.
    let hidden = r#"{"mcpServers": {"s": {"command": "x", "args": ["a b", "\u001b[1A\u202e"]}}}"#;
    write(&files, ".mcp.json", hidden);
    let listed = out(&allow(&[]));
    let expected = r"server s: x 'a b' $'\x1b[1A\u202e'";
    assert!(listed.contains(expected), "{listed}");
}

/// The listing of a session shows its customizations and MCP servers as the host knows them.
#[test]
fn the_listing_of_a_session_has_the_state_of_the_host() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let project = project(path);
    let files = path.join("project");
    write(&files, ".agents/skills/deploy/SKILL.md", SKILL);
    write(&files, ".claude/settings.json", HOOKS);
    let config = "auto_agents = false\n[[mcp_servers]]\nname = 'search'\ncommand = '/no/such'\n";
    std::fs::write(configuration(path), config).unwrap();
    let _host = Host::start(path, &[]);
    run(path, &["run", "--yes", "--cwd", &project, "true"], "");
    let sessions = run(path, &["sessions", "--json"], "");
    let session: Value = serde_json::from_str(out(&sessions).trim()).unwrap();
    let session = session["resource"].as_str().unwrap();
    let output = run(path, &["customizations", "--session", session], "");
    let listed = out(&output);
    assert!(listed.contains("skill   deploy"), "{output:?}");
    assert!(listed.contains("server  search"), "{listed}");
    assert!(listed.contains("wait for approval"), "{listed}");

    // Code that waits for approval in a session can be approved by the name in this listing, too.
    let start = ["customizations", "allow", "--session", session, "--yes"];
    let output = run(path, &[&start[..], &["Hooks"]].concat(), "");
    assert!(output.status.success(), "{output:?}");
    // The host reads the hooks again in the background.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    loop {
        let output = run(path, &["customizations", "--session", session], "");
        if !out(&output).contains("degraded") {
            break;
        }
        assert!(std::time::Instant::now() < deadline, "{output:?}");
    }
    let output = run(path, &["customizations", "--session", "nothing"], "");
    assert!(err(&output).contains("there is no session `nothing`"));
}

fn git(folder: &Path, arguments: &[&str]) -> bool {
    let done = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .current_dir(folder)
        .output();
    done.is_ok_and(|done| done.status.success())
}

#[test]
fn plugins_are_fetched_only_on_request() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let project = project(path);
    let output = run(path, &["customizations", "fetch"], "");
    assert!(err(&output).contains("nothing to fetch"), "{output:?}");
    let plugin = path.join("review.git");
    write(&plugin, "skills/review/SKILL.md", SKILL);
    if !git(&plugin, &["init", "--quiet"]) {
        eprintln!("skipped: there is no git");
        return;
    }
    assert!(git(&plugin, &["add", "."]));
    assert!(git(&plugin, &["commit", "--quiet", "-m", "first"]));
    let config = format!(
        "auto_agents = false\n\
         [[plugins]]\nurl = 'file://{}'\n\
         [[plugins]]\nurl = 'file:///no/such/gone.git'\n\
         [[plugins]]\npath = '/no/such/folder'\n",
        plugin.display()
    );
    std::fs::write(configuration(path), config).unwrap();
    let listed = out(&run(path, &["customizations", &project], ""));
    let hint = "run `agenthost customizations fetch review`";
    assert!(listed.contains(hint), "{listed}");
    assert!(listed.contains("no folder `/no/such/folder`"), "{listed}");
    check(
        path,
        &["customizations", "fetch", "review"],
        expect![[r#"
        review  loaded, 1 customization
        fetching `review` from file:///review.git …
        exit code 0
    "#]],
    );
    let output = run(path, &["customizations", "fetch"], "");
    assert_eq!(output.status.code(), Some(1));
    let said = err(&output);
    assert!(said.contains("error: fetch `gone`: run `git`"), "{said}");
    assert!(out(&output).contains("review"), "{output:?}");
    check(
        path,
        &["customizations", "fetch", "folder"],
        expect![[r#"
        error: `folder` is a local folder: it is read in place and not fetched
        exit code 1
    "#]],
    );
    check(
        path,
        &["customizations", "fetch", "other"],
        expect![[r#"
        error: the configuration has no plugin `other` to fetch; available: review, gone
        exit code 1
    "#]],
    );
    let listed = out(&run(path, &["customizations", &project], ""));
    assert!(listed.contains("skill   deploy"), "{listed}");
    // A failed fetch leaves nothing behind, and other users cannot read the plugins.
    let fetched = path.join("data/agenthost/packages/plugins/fetched");
    assert_eq!(std::fs::read_dir(fetched).unwrap().count(), 1);
    let output = run(path, &["doctor"], "");
    assert!(!out(&output).contains("can be read by other users"));
}

#[test]
fn doctor_reports_problems_of_customizations() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    write(path, ".agents/skills/deploy/SKILL.md", SKILL);
    write(path, ".agents/skills/twice/SKILL.md", SKILL);
    write(path, ".claude/settings.json", HOOKS);
    let config = "auto_agents = false\n\
         [[plugins]]\nurl = 'https://example.org/review.git'\n\
         [[mcp_servers]]\nname = 'search'\ncommand = 'no-such-program'\n\
         [[mcp_servers]]\nname = 'wiki'\nurl = 'https://example.org'\nheaders = { A = '$NO_SUCH_NAME' }\n";
    std::fs::write(configuration(path), config).unwrap();
    let output = run(path, &["doctor"], "");
    assert_eq!(output.status.code(), Some(1));
    let said = out(&output);
    let about: Vec<_> = said
        .lines()
        .skip_while(|line| !line.contains("customizations"))
        .collect();
    expect![[r#"
        ok      customizations 1 hook, 1 plugin, 2 servers, 1 skill for this folder
        problem customizations plugin `review` has not been fetched
                agenthost customizations fetch review
        ok      customizations `Hooks` has hooks or servers that need approval
                agenthost customizations allow Hooks
        problem customizations `.agents/skills`: `twice/SKILL.md`: the name `deploy` is taken by `deploy/SKILL.md`
                correct the file; the rest is loaded
        problem customizations server `search`: program `no-such-program` was not found
                install it, or correct `command`
        problem customizations server `wiki`: `NO_SUCH_NAME` is not set
                set it in the environment of the host"#]]
    .assert_eq(&about.join("\n"));
    run(path, &["customizations", "allow", "--yes", "Hooks"], "");
    let said = out(&run(path, &["doctor"], ""));
    assert!(!said.contains("need approval"), "{said}");
}
