//! Options of `run`, `sessions`, and the commands on the changes and settings of a session.

use std::path::Path;
use std::process::Command;

use agenthost_testkit::acp_agent;
use serde_json::Value;

use crate::commands::{Host, agenthost, err, out, run};
use crate::pty::{Pty, command};

/// Configures the scripted agent as the default.
fn configure(path: &Path, mode: &str) {
    let (program, arguments) = acp_agent::agent_command("acp::the_agent");
    let mut command = vec![program];
    command.extend(arguments);
    let text = format!(
        "auto_agents = false\ndefault_agent = 'scripted'\n[[agents]]\nid = 'scripted'\ncommand = {command:?}\nenv = {{ {} = '{mode}' }}\n",
        acp_agent::AGENT_MODE_VARIABLE
    );
    std::fs::write(crate::commands::configuration(path), text).unwrap();
}

#[test]
fn a_message_comes_from_words_and_from_standard_input() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    configure(path, "plain");
    let _host = Host::start(path, &[]);
    let said = out(&run(path, &["run", "say", "several", "words"], ""));
    assert_eq!(said, "several words\n");
    for arguments in [&["run", "-"][..], &["run"]] {
        let said = out(&run(path, arguments, "say from the pipe\n"));
        assert_eq!(said, "from the pipe\n", "{arguments:?}");
    }
    let output = run(path, &["run"], "");
    assert!(
        err(&output).contains("no message on standard input"),
        "{output:?}"
    );
    let mut terminal = Pty::run(path, &["run"]);
    terminal.wait("there is no message");
    assert_eq!(terminal.exit_code(), 1);

    // Piped text, files and images are attached.
    std::fs::write(path.join("inside.txt"), "").unwrap();
    std::fs::write(path.join("tiny.png"), "not really").unwrap();
    let arguments = [
        "run",
        "--file",
        "inside.txt",
        "--image",
        "tiny.png",
        "blocks",
    ];
    let blocks = out(&run(path, &arguments, "the piped text"));
    for expected in ["the piped text", "inside.txt", "tiny.png"] {
        assert!(blocks.contains(expected), "{expected}: {blocks}");
    }
    let blocks = out(&run(path, &["run", "blocks;; say @inside.txt"], ""));
    assert!(
        blocks.contains("inside.txt") && blocks.contains("file://"),
        "{blocks}"
    );
    let output = run(path, &["run", "--image", "inside.txt", "blocks"], "");
    assert!(
        err(&output).contains("does not end with one of png"),
        "{output:?}"
    );
}

#[test]
fn a_command_has_its_own_exit_code_and_input() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let _host = Host::start(path, &[]);
    for (command, code) in [("exit 3", 3), ("true", 0), ("kill -9 $$", 1)] {
        let output = run(path, &["run", "--yes", command], "");
        assert_eq!(output.status.code(), Some(code), "{command}: {output:?}");
    }
    let output = run(
        path,
        &["run", "--yes", "read line; echo \"<$line>\""],
        "piped\n",
    );
    assert!(out(&output).ends_with("<piped>\n"), "{output:?}");
}

#[test]
fn the_output_has_three_formats() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    configure(path, "plain");
    let _host = Host::start(path, &[]);
    let output = out(&run(
        path,
        &["run", "--output-format", "json", "say hello;; think x"],
        "",
    ));
    let result: Value = serde_json::from_str(&output).unwrap();
    assert_eq!(result["response"], "hello", "{output}");
    assert_eq!(result["status"], "succeeded");
    let session = result["session"].as_str().unwrap().to_owned();
    let id = &session.rsplit('/').next().unwrap()[..8];
    for flag in ["--json", "--output-format=stream-json"] {
        let lines = out(&run(path, &["run", "--session", id, flag, "say again"], ""));
        let last: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
        assert_eq!(
            last["action"]["type"], "chat/turnComplete",
            "{flag}: {lines}"
        );
        assert!(lines.contains(&session), "{flag}: {lines}");
    }
    let failed = out(&run(
        path,
        &["run", "--output-format", "json", "error -32000 broken"],
        "",
    ));
    let failed: Value = serde_json::from_str(&failed).unwrap();
    assert_eq!(failed["status"], "failed");
}

#[test]
fn models_and_modes_are_listed_and_changed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    configure(path, "plain modes");
    let _host = Host::start(path, &[]);
    assert!(run(path, &["run", "say hello"], "").status.success());
    let output = run(path, &["mode"], "");
    let listed = out(&output);
    let current = listed.lines().find(|line| line.starts_with("* "));
    let other = listed.lines().find_map(|line| line.strip_prefix("  "));
    assert!(current.is_some() && other.is_some(), "{output:?}");
    let other = other.unwrap().split_whitespace().next().unwrap();
    let output = run(path, &["mode", other], "");
    assert!(output.status.success(), "{output:?}");
    let listed = out(&run(path, &["mode"], ""));
    assert!(listed.contains(&format!("* {other}")), "{listed}");
    let output = run(path, &["mode", "nonsense"], "");
    assert!(err(&output).contains("hint: the modes are "), "{output:?}");
    let listed = out(&run(path, &["model"], ""));
    assert!(listed.contains("  large  Large"), "{listed}");
    assert!(run(path, &["model", "large"], "").status.success());
    let listed = out(&run(path, &["model"], ""));
    assert!(listed.contains("* large  Large"), "{listed}");
    let chosen = out(&run(path, &["run", "-c", "chosen"], ""));
    assert!(chosen.contains("large"), "{chosen}");
    assert!(
        run(path, &["run", "--model", "small", "say x"], "")
            .status
            .success()
    );
    let output = run(path, &["run", "--model", "huge", "chosen"], "");
    assert!(
        err(&output).contains("hint: the models are default, small, large"),
        "{output:?}"
    );
    let output = run(path, &["run", "--mode", "nonsense", "say x"], "");
    assert!(
        err(&output).contains("there is no mode `nonsense`"),
        "{output:?}"
    );
}

#[test]
fn a_message_that_cannot_be_sent_leaves_no_session() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    configure(path, "plain modes");
    let _host = Host::start(path, &[]);
    for arguments in [
        ["--model", "nope"],
        ["--mode", "nope"],
        ["--image", "nowhere.png"],
    ] {
        let output = run(path, &[&["run"], &arguments[..], &["say x"]].concat(), "");
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let output = run(path, &["sessions"], "");
        assert!(
            err(&output).contains("there are no sessions"),
            "{arguments:?}: {output:?}"
        );
    }
}

/// Creates a repository with a commit in the folder of the test.
fn repository(path: &Path) {
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .args(arguments)
            .current_dir(path)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    std::fs::write(path.join(".gitignore"), "config\ndata\nhome\nstate\n").unwrap();
    std::fs::write(path.join("file"), "one\n").unwrap();
    git(&["init", "-q"]);
    git(&["config", "user.name", "A"]);
    git(&["config", "user.email", "a@b"]);
    git(&["add", "."]);
    git(&["commit", "-qm", "first"]);
}

fn git_log(path: &Path) -> String {
    let log = Command::new("git")
        .args(["log", "--format=%s"])
        .current_dir(path)
        .output();
    out(&log.unwrap())
}

#[test]
fn changes_are_undone_restored_and_committed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    repository(path);
    let _host = Host::start(path, &[]);
    let file = || std::fs::read_to_string(path.join("file")).unwrap();
    assert!(
        run(path, &["run", "--yes", "echo two >> file"], "")
            .status
            .success()
    );
    let output = run(path, &["undo"], "");
    assert!(
        err(&output).contains("`--yes` does it without asking"),
        "{output:?}"
    );
    let output = run(path, &["undo", "--yes"], "");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(file(), "one\n");
    let output = run(path, &["undo", "--all", "--yes"], "");
    assert!(
        err(&output).contains("there are no differences"),
        "{output:?}"
    );

    assert!(
        run(path, &["run", "-c", "--yes", "echo three >> file"], "")
            .status
            .success()
    );
    std::fs::write(path.join("file"), "by hand\n").unwrap();
    let output = run(path, &["restore", "--yes"], "");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(file(), "one\n");

    assert!(
        run(path, &["run", "-c", "--yes", "echo four >> file"], "")
            .status
            .success()
    );
    let output = run(path, &["commit", "-m", "the fourth"], "");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(git_log(path), "the fourth\nfirst\n");
}

#[test]
fn a_worktree_is_merged_and_removed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    repository(path);
    let _host = Host::start(path, &[]);
    let arguments = ["run", "--worktree", "--yes", "--output-format", "json"];
    let output = run(
        path,
        &[&arguments[..], &["echo two >> file; pwd"]].concat(),
        "",
    );
    let result: Value = serde_json::from_str(&out(&output)).unwrap();
    let worktree = result["response"].as_str().unwrap().trim().to_owned();
    assert_ne!(Path::new(&worktree), path.canonicalize().unwrap());
    let output = run(path, &["commit", "-m", "in the worktree"], "");
    assert!(output.status.success(), "{output:?}");
    let output = run(path, &["merge"], "");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(
        std::fs::read_to_string(path.join("file")).unwrap(),
        "one\ntwo\n"
    );
    let id = &result["session"]
        .as_str()
        .unwrap()
        .rsplit('/')
        .next()
        .unwrap()[..8]
        .to_owned();
    let output = run(path, &["remove", id], "");
    assert!(
        err(&output).contains("`--yes` deletes without asking"),
        "{output:?}"
    );
    let output = run(path, &["remove", id, "--yes"], "");
    assert!(err(&output).contains("deleted shell in "), "{output:?}");
    assert!(err(&run(path, &["sessions"], "")).contains("there are no sessions"));
}

#[test]
fn a_fork_begins_with_the_turns_of_its_source() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let _host = Host::start(path, &[]);
    assert!(
        run(path, &["run", "--yes", "echo original"], "")
            .status
            .success()
    );
    let output = run(path, &["fork"], "");
    let id = out(&output).trim().to_owned();
    assert_eq!(id.len(), 8, "{output:?}");
    let history = out(&run(path, &["attach", &id], ""));
    assert!(history.contains("> echo original\noriginal\n"), "{history}");
}

#[test]
fn the_list_of_sessions_fits_and_can_be_filtered() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    configure(path, "plain");
    let _host = Host::start(path, &[]);
    let long = format!("say {}", "long ".repeat(40));
    run(path, &["run", &long], "");
    run(
        path,
        &["run", "--agent", "shell", "--yes", "echo from the shell"],
        "",
    );
    let mut waiting = Pty::run(path, &["run", "--agent", "shell", "touch wanted"]);
    waiting.wait("1) Allow once");

    let mut terminal = Pty::start(command(path, &["sessions"]), 24, 60);
    assert_eq!(terminal.exit_code(), 0);
    let screen = terminal.screen();
    let rows: Vec<_> = screen.lines().collect();
    assert_eq!(rows.len(), 4, "no row is wrapped: {screen}");
    assert!(
        rows[0].contains("waiting") && rows[0].contains("touch wanted"),
        "{screen}"
    );
    assert!(
        rows[1].contains("waits: Run in terminal: touch wanted"),
        "{screen}"
    );
    assert!(rows[3].ends_with('…'), "{screen}");

    let mut narrow = Pty::start(command(path, &["sessions"]), 24, 40);
    assert_eq!(narrow.exit_code(), 0);
    let screen = narrow.screen();
    let rows: Vec<_> = screen.lines().collect();
    assert_eq!(rows.len(), 7, "two rows each and a request: {screen}");
    assert!(rows[0].contains("waiting  shell"), "{screen}");
    assert!(
        rows[1].starts_with("  ") && rows[1].contains("touch wanted"),
        "{screen}"
    );
    assert!(
        rows[2].contains("waits: Run in terminal: touch wanted"),
        "{screen}"
    );
    assert!(
        rows[6].contains("long long") && rows[6].ends_with('…'),
        "{screen}"
    );

    let count = |arguments: &[&str]| {
        let output = run(path, &[&["sessions", "--json"], arguments].concat(), "");
        out(&output).lines().count()
    };
    assert_eq!(count(&[]), 3);
    assert_eq!(count(&["--waiting"]), 1);
    assert_eq!(count(&["--agent", "scripted"]), 1);
    assert_eq!(count(&["--search", "FROM the"]), 1);
    assert_eq!(count(&["--here"]), 3);
    let mut elsewhere = agenthost(path);
    elsewhere.args(["sessions", "--here"]).current_dir("/");
    assert!(err(&elsewhere.output().unwrap()).contains("no session fits"));
    waiting.line("n");
    assert_eq!(waiting.exit_code(), 1);
}

#[test]
fn shells_complete_ids_of_sessions() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let _host = Host::start(path, &[]);
    run(path, &["run", "--yes", "echo hello"], "");
    let listed = out(&run(path, &["sessions"], ""));
    let id = listed.split_whitespace().next().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let script = out(&run(path, &["completions", shell], ""));
        assert!(script.contains("COMPLETE="), "{shell}: {script}");
    }
    let mut complete = agenthost(path);
    let words = ["--", "agenthost", "attach", &id[..3]];
    complete.env("COMPLETE", "fish").args(words);
    let completed = out(&complete.output().unwrap());
    assert!(
        completed.starts_with(id) && completed.contains("echo hello"),
        "{completed}"
    );
}

/// The user is called when an answer is needed, and nothing of it is written without a terminal.
#[test]
fn the_terminal_calls_the_user() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let _host = Host::start(path, &[]);
    let mut terminal = Pty::run(path, &["run", "true"]);
    terminal.wait("1) Allow once");
    terminal.line("y");
    assert_eq!(terminal.exit_code(), 0);
    let raw = terminal.raw();
    for sequence in [
        "\u{7}",
        "\u{1b}]9;",
        "\u{1b}]777;notify;",
        "\u{1b}]2;",
        "\u{1b}[23;2t",
    ] {
        assert!(raw.contains(sequence), "{sequence:?}: {raw:?}");
    }
    let mut dumb = command(path, &["run", "true"]);
    dumb.env("TERM", "dumb");
    let mut terminal = Pty::start(dumb, 24, 80);
    terminal.wait("1) Allow once");
    terminal.line("y");
    assert_eq!(terminal.exit_code(), 0);
    assert!(
        !terminal.raw().contains(['\u{1b}', '\u{7}']),
        "{:?}",
        terminal.raw()
    );
    let output = run(path, &["run", "true"], "y\n");
    assert!(!err(&output).contains(['\u{1b}', '\u{7}']), "{output:?}");
}
