//! Runs every command that README.md and docs show, as it is written there.
//!
//! A page is a session at a terminal: its commands run one after the other in a project, and every
//! prompt is answered with `y`. A configured agent stands in for `goose`. Commands that install
//! software or take minutes are in [`SKIPPED_COMMANDS`], with the command that runs them.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use agenthost_testkit::acp_agent;
use portable_pty::{CommandBuilder, PtySize, native_pty_system};

/// The beginnings of commands that do not run here, and where they run.
const SKIPPED_COMMANDS: &[(&str, &str)] = &[
    ("cargo install --path crates/cli", "./test long install"),
    ("cargo install cargo-fuzz", "before ./test long fuzz"),
    (
        "cargo run --release -p agenthost-server --example scripted",
        "./test long install builds it; it is started by hand",
    ),
    ("cargo run --release", "./test long install"),
    ("agenthost tui", "crates/cli/tests/it/tui.rs"),
    ("NO_COLOR=1 agenthost tui", "crates/cli/tests/it/tui.rs"),
    (
        "agenthost --host ssh:box",
        "crates/cli/tests/it/remote_host.rs",
    ),
    (
        "agenthost run --host ssh:",
        "crates/cli/tests/it/remote_host.rs",
    ),
    (
        "agenthost attach --host ssh:",
        "crates/cli/tests/it/remote_host.rs",
    ),
    (
        "agenthost sessions --host ssh:",
        "crates/cli/tests/it/remote_host.rs",
    ),
    ("rustup target add", "before ./release"),
    ("npm install", "./test agents"),
    ("node lib/vscode/", "./test vscode"),
    (
        "agenthost run --data-dir /tmp/scripted",
        "crates/server/tests/it/scripted.rs",
    ),
    ("./test", "CI"),
    ("./fuzz/run", "./test long fuzz"),
    ("./release", "before a release"),
];

/// Commands that fail on the page as well, because it explains their error.
const FAILING: &[&str] = &["agenthost serve --config config.toml"];

/// Commands whose output is shown whole on the page.
const EXACT: &[&str] = &["agenthost serve --config", "agenthost reduce"];

/// A command of a page, with the lines that the page shows after it.
#[derive(Debug, PartialEq)]
struct Example {
    command: String,
    output: Vec<String>,
}

/// Returns the commands in blocks of `sh`, and behind `$` in blocks of `console`.
fn examples(page: &str) -> Vec<Example> {
    let mut found: Vec<Example> = Vec::new();
    let mut language = None;
    let mut continued = false;
    for line in page.lines() {
        if let Some(fence) = line.trim_start().strip_prefix("```") {
            language = match language {
                None => Some(fence.to_owned()),
                Some(_) => None,
            };
            continue;
        }
        let command = match language.as_deref() {
            Some("sh") if !line.trim().is_empty() => Some(line),
            Some("console") => line.strip_prefix("$ "),
            _ => None,
        };
        match (command, found.last_mut()) {
            (Some(line), Some(last)) if continued => {
                last.command.truncate(last.command.len() - 1);
                last.command.push_str(without_comment(line));
            }
            (Some(line), _) => {
                let command = without_comment(line).to_owned();
                let output = Vec::new();
                found.push(Example { command, output });
            }
            (None, Some(last)) if language.as_deref() == Some("console") => {
                last.output.push(line.to_owned());
            }
            (None, _) => {}
        }
        continued = found
            .last()
            .is_some_and(|last| language.is_some() && last.command.ends_with('\\'));
    }
    found
}

fn without_comment(line: &str) -> &str {
    line.split(" # ").next().unwrap_or(line).trim()
}

/// A user with a home directory, a project, a session and an agent.
struct User {
    directory: tempfile::TempDir,
    hosts: Vec<Child>,
}

impl User {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut user = User {
            directory,
            hosts: Vec::new(),
        };
        for folder in ["bin", "home/.config/agenthost", "project/.claude"] {
            fs::create_dir_all(user.path(folder)).unwrap();
        }
        symlink(env!("CARGO_BIN_EXE_agenthost"), user.path("bin/agenthost")).unwrap();
        // `agenthost open` must not open the browser of this machine.
        symlink("/bin/true", user.path("bin/xdg-open")).unwrap();
        let (program, arguments) = acp_agent::agent_command("acp::the_agent");
        let command = [vec![program], arguments].concat();
        let config = format!(
            "auto_agents = false\n[[agents]]\nid = 'goose'\ncommand = {command:?}\nenv = {{ {} = '', GOOSE_PROVIDER = 'x' }}\n",
            acp_agent::AGENT_MODE_VARIABLE
        );
        fs::write(user.path("home/.config/agenthost/config.toml"), config).unwrap();
        // The configuration with a mistake of docs/configuration.md.
        let wrong = "[limits]\n# of all clients\nconections = 10\n";
        fs::write(user.path("project/config.toml"), wrong).unwrap();
        let hooks = r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}"#;
        fs::write(user.path("project/.claude/settings.json"), hooks).unwrap();
        let example = user.path("project/crates/cli/examples");
        fs::create_dir_all(&example).unwrap();
        fs::copy(crate::EXAMPLE, example.join("session.jsonl")).unwrap();
        let set_up = "git init -q && git config user.email a@b && git config user.name a && git add . && \
            git commit -qm first && printf '#!/bin/sh\n' > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit";
        for command in [set_up, "agenthost run --temporary --yes true"] {
            let done = user.shell(command).output().unwrap();
            assert!(done.status.success(), "{command}: {done:?}");
        }
        // The host of the quick start.
        user.start_host("agenthost serve");
        user
    }

    fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    /// Returns a shell in the project that runs a command.
    fn shell(&self, command: &str) -> Command {
        let mut shell = Command::new("sh");
        let path = std::env::var("PATH").unwrap_or_default();
        shell
            .args(["-c", command])
            .env_clear()
            .env("PATH", format!("{}:{path}", self.path("bin").display()))
            .env("HOME", self.path("home"))
            .current_dir(self.path("project"));
        shell
    }

    /// Runs a command to its end, or starts it if it is a host.
    fn run(&mut self, example: &Example) {
        let Example { command, output } = example;
        if let Some((_, place)) = SKIPPED_COMMANDS
            .iter()
            .find(|(start, _)| command.starts_with(start))
        {
            println!("not run here: {command} ({place})");
            return;
        }
        let fails = FAILING.contains(&command.as_str());
        if command.starts_with("agenthost serve") && !fails {
            self.start_host(command);
            return;
        }
        let command = command.replace(" ID", &format!(" {}", self.last_session()));
        let (succeeded, shown) = self.run_at_terminal(&command);
        assert_eq!(succeeded, !fails, "{command}\n{shown}");
        if EXACT.iter().any(|start| command.starts_with(start)) {
            for line in output {
                // `…` is where the page leaves something out.
                let is_shown = line.split('…').all(|part| shown.contains(part));
                assert!(is_shown, "{command} does not print\n{line}\nbut\n{shown}");
            }
        }
    }

    /// Runs a command in a terminal where the user answers `y`. Returns `true` if it succeeded, and
    /// the screen.
    fn run_at_terminal(&self, command: &str) -> (bool, String) {
        let size = PtySize {
            rows: 24,
            cols: 400,
            pixel_width: 0,
            pixel_height: 0,
        };
        let pty = native_pty_system().openpty(size).unwrap();
        let shell = self.shell(command);
        let mut builder = CommandBuilder::new("sh");
        builder.args(shell.get_args());
        builder.env_clear();
        for (name, value) in shell.get_envs() {
            builder.env(name, value.unwrap_or_default());
        }
        builder.cwd(self.path("project"));
        let mut child = pty.slave.spawn_command(builder).unwrap();
        drop(pty.slave);
        // The terminal buffers the answer until the command reads it. `run` ignores what was typed
        // before its question, so each of its questions is answered as well.
        let mut writer = pty.master.take_writer().unwrap();
        writer.write_all(b"y\n").unwrap();
        let mut screen = Vec::new();
        let mut reader = pty.master.try_clone_reader().unwrap();
        let mut answered = 0;
        let mut chunk = [0; 4096];
        // Linux reports the end of the output as an error.
        while let Ok(count @ 1..) = reader.read(&mut chunk) {
            screen.extend_from_slice(&chunk[..count]);
            let asked = String::from_utf8_lossy(&screen)
                .matches("(or y, n)")
                .count();
            for _ in answered..asked {
                writer.write_all(b"y\n").unwrap();
            }
            answered = asked;
        }
        let succeeded = child.wait().unwrap().success();
        (succeeded, String::from_utf8_lossy(&screen).into_owned())
    }

    /// Starts a host, and stops the one before it: they have the same data directory.
    fn start_host(&mut self, command: &str) {
        self.stop_hosts();
        let mut host = self
            .shell(&format!("exec {command}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut stderr = BufReader::new(host.stderr.take().unwrap());
        stderr.read_line(&mut line).unwrap();
        self.hosts.push(host);
        if line.contains("in use") {
            println!("not run: {command}: the port is in use on this machine");
        } else {
            assert!(line.contains("listens on"), "{command}: {line}");
        }
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
    }

    fn stop_hosts(&mut self) {
        // One that a command has started in the background.
        let stopped = self.shell("agenthost stop --yes").output().unwrap();
        assert!(stopped.status.success(), "{stopped:?}");
        for mut host in self.hosts.drain(..) {
            // A host that could not start has exited.
            drop(host.kill());
            drop(host.wait());
        }
    }

    fn last_session(&self) -> String {
        let output = self.shell("agenthost sessions --json").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let first = text.lines().next().unwrap_or("{}");
        let session: serde_json::Value = serde_json::from_str(first).unwrap();
        session["resource"].as_str().unwrap_or("ID").to_owned()
    }
}

impl Drop for User {
    fn drop(&mut self) {
        self.stop_hosts();
    }
}

fn run_page(path: &Path) -> usize {
    let examples = examples(&fs::read_to_string(path).unwrap());
    let mut user = User::new();
    for example in &examples {
        user.run(example);
    }
    examples.len()
}

#[test]
fn documented_commands_work() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    let docs = fs::read_dir(root.join("docs")).unwrap();
    let docs = docs.map(|entry| entry.unwrap().path());
    pages.extend(docs.filter(|path| path.extension().is_some_and(|found| found == "md")));
    let count: usize = pages.iter().map(|path| run_page(path)).sum();
    assert!(count > 30, "only {count} commands were found");
}

#[test]
fn commands_are_extracted_from_pages() {
    let page = "```sh\nnode a \\\n  --b c   # d\n```\n\n```console\n$ one\ntwo\n$ three\n```\n```text\nfour\n```\n";
    let example = |command: &str, output: &[&str]| Example {
        command: command.to_owned(),
        output: output.iter().map(|line| (*line).to_owned()).collect(),
    };
    let expected = [
        example("node a --b c", &[]),
        example("one", &["two"]),
        example("three", &[]),
    ];
    assert_eq!(examples(page), expected);
}
