//! The session that `attach` joins, what it prints of it, and what goes on when the user leaves.

use std::process::Output;

use crate::attach::Terminal;
use crate::commands::{Host, agenthost, err, out, run};
use crate::pty::{Pty, command};

/// Runs `agenthost` in another folder, with the files of `path`.
fn run_in(path: &std::path::Path, folder: &std::path::Path, arguments: &[&str]) -> Output {
    let mut command = agenthost(path);
    command.args(arguments).current_dir(folder);
    command.stdin(std::process::Stdio::null()).output().unwrap()
}

#[test]
fn a_session_of_another_folder_is_used_only_if_the_user_agrees() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let _host = Host::start(path, &[]);
    let (here, elsewhere) = (path.join("here"), path.join("home/elsewhere"));
    std::fs::create_dir_all(&here).unwrap();
    std::fs::create_dir_all(&elsewhere).unwrap();
    let output = run_in(path, &elsewhere, &["run", "--yes", "echo from elsewhere"]);
    assert!(output.status.success(), "{output:?}");

    let output = run_in(path, &here, &["attach"]);
    let said = err(&output);
    assert!(
        said.contains("there is no session in this folder"),
        "{said}"
    );
    assert!(
        said.contains("shell in ~/elsewhere: \"echo from elsewhere\""),
        "{said}"
    );
    assert_eq!(output.status.code(), Some(1));

    let mut attach = command(path, &["attach"]);
    attach.cwd(&here);
    let mut terminal = Pty::start(attach, 24, 100);
    terminal.wait("attach to it? (y, n)");
    terminal.line("n");
    terminal.wait("`agenthost attach --new` creates a session in this folder");
    assert_eq!(terminal.exit_code(), 0);

    // A later session elsewhere does not matter.
    let output = run_in(path, &here, &["run", "--yes", "echo from here"]);
    assert!(output.status.success(), "{output:?}");
    let output = run_in(path, &elsewhere, &["run", "--yes", "echo later"]);
    assert!(output.status.success(), "{output:?}");
    let output = run_in(path, &here, &["attach"]);
    let said = err(&output);
    assert!(said.contains("shell in "), "{said}");
    assert!(said.contains("/here: \"echo from here\""), "{said}");
    assert!(
        out(&output).contains("> echo from here\nfrom here\n"),
        "{output:?}"
    );
}

#[test]
fn the_last_turns_are_printed_unless_all_are_wanted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let _host = Host::start(path, &[]);
    for number in 1..=5 {
        let message = format!("echo turn {number}");
        let continued = ["run", "--yes", "--continue", &message];
        let first = ["run", "--yes", &message];
        let arguments: &[&str] = if number == 1 { &first } else { &continued };
        let output = run(path, arguments, "");
        assert_eq!(out(&output), format!("turn {number}\n"), "{output:?}");
    }
    let recent = run(path, &["attach"], "");
    let shown = format!("{}{}", err(&recent), out(&recent));
    assert!(shown.contains("2 earlier turns"), "{shown}");
    assert!(
        !shown.contains("turn 2\n") && shown.contains("turn 3\n"),
        "{shown}"
    );
    let all = run(path, &["attach", "--all"], "");
    let shown = out(&all);
    assert!(shown.starts_with("> echo turn 1\nturn 1\n"), "{shown}");
    let output = run(path, &["run", "--yes", "--continue", "seq 1 11000"], "");
    assert!(output.status.success());
    let recent = out(&run(path, &["attach"], ""));
    assert!(
        recent.lines().count() <= 110,
        "{} lines",
        recent.lines().count()
    );
    assert!(recent.ends_with("\n11000\n"), "{recent}");
}

/// A turn goes on when the user leaves, also with a temporary host.
#[test]
fn leaving_does_not_end_a_turn() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    for leave in ["/quit\r", "\u{4}"] {
        let script = "while [ ! -e go ]; do sleep 0.05; done; touch done";
        let mut terminal = Pty::run(path, &["attach", "--new"]);
        let is_ready = |screen: &str| screen.ends_with("\n>");
        terminal.wait_until("prompt", is_ready);
        terminal.line(script);
        terminal.wait("1) Allow once");
        terminal.line("y");
        let is_answered = |screen: &str| screen.contains("> y\n") && screen.ends_with("\n>");
        terminal.wait_until("prompt", is_answered);
        let other = Terminal::attach(path, &[]);
        other.wait("> while");
        terminal.keys(leave);
        assert_eq!(terminal.exit_code(), 0);
        std::fs::write(path.join("go"), "").unwrap();
        other.wait("-- done");
        other.quit();
        assert!(path.join("done").exists());
        std::fs::remove_file(path.join("go")).unwrap();
        std::fs::remove_file(path.join("done")).unwrap();
    }
}

/// The messages to the running turn are listed and dropped like queued ones.
#[test]
fn waiting_messages_are_listed_and_dropped_by_number() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let _host = Host::start(path, &[]);
    let mut terminal = Terminal::attach(path, &["--new"]);
    terminal.type_line("sleep 1000");
    terminal.wait("1) Allow once");
    terminal.type_line("y");
    terminal.type_line("/queue first");
    terminal.type_line("/queue second");
    terminal.type_line("/waiting");
    terminal.wait("1) queued:\nfirst\n2) queued:\nsecond\n");
    terminal.type_line("/drop 3");
    terminal.wait("`3` is not the number of a message");
    terminal.type_line("/drop 1");
    terminal.wait("dropped 1");
    terminal.type_line("/waiting");
    terminal.wait("1) queued:\nsecond\n");
    terminal.type_line("/drop");
    terminal.type_line("/waiting");
    terminal.wait("no messages wait");
    terminal.type_line("/cancel");
    terminal.wait("cancelled");
    terminal.quit();
}

#[test]
fn the_user_switches_to_another_session() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let _host = Host::start(path, &[]);
    let first = run(
        path,
        &["run", "--yes", "--output-format", "json", "echo first"],
        "",
    );
    let first: serde_json::Value = serde_json::from_str(&out(&first)).unwrap();
    let id = first["session"]
        .as_str()
        .unwrap()
        .rsplit('/')
        .next()
        .unwrap()[..8]
        .to_owned();
    run(path, &["run", "--yes", "echo second"], "");
    let mut terminal = Pty::run(path, &["attach"]);
    terminal.wait_until("prompt", |screen| screen.ends_with("\n>"));
    terminal.keys(&format!("/switch {}\t", &id[..4]));
    terminal.wait(&format!("/switch {id}"));
    terminal.keys("\r");
    terminal.wait(": \"echo first\"");
    terminal.wait_until("prompt", |screen| screen.ends_with("\n>"));
    terminal.line("/quit");
    assert_eq!(terminal.exit_code(), 0);
}
