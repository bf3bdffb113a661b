//! `sessions rm`, `rename` and `archive`, `du`, `audit` and `forget`: the data of a host.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::commands::{Host, err, out, run};
use crate::pty::{Pty, command};

/// Runs a command of the shell agent in a new session, and returns the id of the session.
fn create_session(path: &Path, line: &str) -> String {
    let output = run(path, &["run", "--yes", line], "");
    assert!(output.status.success(), "{output:?}");
    let listed = run(path, &["sessions", "--json"], "");
    let first = out(&listed);
    let first: Value = serde_json::from_str(first.lines().next().unwrap()).unwrap();
    let uri = first["resource"].as_str().unwrap();
    uri.rsplit('/').next().unwrap().to_owned()
}

/// Returns the lines of a command with `--json`.
fn json_lines(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{output:?}");
    let text = out(output);
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Returns the audit entries of a kind.
fn entries(path: &Path, kind: &str) -> Vec<Value> {
    let mut entries = json_lines(&run(path, &["audit", "--json"], ""));
    entries.retain(|entry| entry["kind"] == kind);
    entries
}

fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@t"])
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?} {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_session_is_renamed_archived_and_removed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let _host = Host::start(path, &[]);
    let id = create_session(path, "echo one");
    let output = run(path, &["sessions", "rename", &id, "A better title"], "");
    assert!(output.status.success(), "{output:?}");
    let listed = out(&run(path, &["sessions"], ""));
    assert!(listed.contains("A better title"), "{listed}");
    for (action, note) in [
        ("archive", "archived shell"),
        ("archive", "no session changes"),
        ("unarchive", "unarchived shell"),
    ] {
        let output = run(path, &["sessions", action, &id], "");
        assert!(err(&output).starts_with(note), "{action}: {output:?}");
    }
    let output = run(path, &["sessions", "archive", "--older-than", "1h"], "");
    assert!(err(&output).contains("no session changes"), "{output:?}");
    let output = run(path, &["sessions", "rm", "--older-than", "1h", "--yes"], "");
    assert!(
        err(&output).contains("no session is that old"),
        "{output:?}"
    );
    let output = run(path, &["sessions", "rm", &id], "");
    assert!(
        err(&output).contains("`--yes` deletes without asking"),
        "{output:?}"
    );
    let output = run(path, &["sessions", "rm", "--older-than", "0h", "--yes"], "");
    assert!(err(&output).contains("deleted shell"), "{output:?}");
    assert_eq!(out(&run(path, &["sessions", "--json"], "")), "");
    let removed = entries(path, "session.removed");
    assert_eq!(removed.len(), 1);
    assert!(removed[0]["session"].as_str().unwrap().ends_with(&id));
    assert_eq!(removed[0]["actor"]["principal"], "owner");
}

/// A running session is removed only with `--force`, and nothing is removed before that is clear.
#[test]
fn a_running_session_is_not_removed_by_accident() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let _host = Host::start(path, &[]);
    let idle = create_session(path, "echo idle");
    let mut terminal = Pty::run(path, &["attach", "--new"]);
    terminal.wait_until("prompt", |screen: &str| screen.ends_with("\n>"));
    terminal.line("!sleep 1000");
    terminal.wait("sleep 1000");
    let listed = json_lines(&run(path, &["sessions", "--json"], ""));
    let running = listed[0]["resource"].as_str().unwrap().to_owned();
    let output = run(path, &["sessions", "rm", "--yes", &idle, &running], "");
    assert!(
        err(&output).contains("has a running turn, so nothing was deleted"),
        "{output:?}"
    );
    assert!(
        err(&output).contains("hint: `--force` cancels the turn"),
        "{output:?}"
    );
    assert_eq!(json_lines(&run(path, &["sessions", "--json"], "")).len(), 2);
    let output = run(path, &["remove", "--yes", "--force", &idle, &running], "");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(json_lines(&run(path, &["sessions", "--json"], "")).len(), 0);
    terminal.wait("the session was removed");
    assert_eq!(terminal.exit_code(), 1);
}

/// The rows, the content, the checkpoints and the worktree of a session are gone after its removal.
#[test]
fn a_removed_session_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let project = path.join("project");
    std::fs::create_dir(&project).unwrap();
    git(&project, &["init", "-q", "-b", "main"]);
    std::fs::write(project.join("a"), "a").unwrap();
    git(&project, &["add", "."]);
    git(&project, &["commit", "-q", "-m", "one"]);
    let cwd = project.to_str().unwrap();
    let line = "seq 1 200000; echo changed > a";
    let output = run(
        path,
        &["run", "--yes", "--worktree", "--cwd", cwd, line],
        "",
    );
    assert!(output.status.success(), "{output:?}");
    let before = json_lines(&run(path, &["du", "--json"], ""));
    let session = before
        .iter()
        .find(|line| line["session"].is_string())
        .unwrap();
    for kind in ["log", "chats", "content", "checkpoints", "worktree"] {
        assert!(session[kind].as_u64().unwrap() > 0, "{kind}: {session}");
    }
    let shown = out(&run(path, &["du"], ""));
    assert!(
        shown.contains("checkpoints ") && shown.contains('█'),
        "{shown}"
    );

    let uri = session["session"].as_str().unwrap();
    let output = run(path, &["sessions", "rm", "--yes", uri], "");
    assert!(
        err(&output).contains("has changes that are not committed"),
        "{output:?}"
    );
    let worktrees = path.join("data/agenthost/changes/worktrees");
    assert_eq!(
        std::fs::read_dir(&worktrees).unwrap().count(),
        1,
        "it was kept"
    );
    let branches = git(&project, &["branch", "--list", "agenthost/*"]);
    assert!(!branches.is_empty());

    let output = run(
        path,
        &["run", "--yes", "--worktree", "--cwd", cwd, line],
        "",
    );
    assert!(output.status.success(), "{output:?}");
    let output = run(
        path,
        &[
            "sessions",
            "rm",
            "--yes",
            "--discard-worktrees",
            "--older-than",
            "0h",
        ],
        "",
    );
    assert!(output.status.success(), "{output:?}");
    assert_eq!(
        std::fs::read_dir(&worktrees).unwrap().count(),
        1,
        "{output:?}"
    );
    assert_eq!(
        git(&project, &["branch", "--list", "agenthost/*"]),
        branches
    );
    let after = json_lines(&run(path, &["du", "--json"], ""));
    let bytes = |lines: &[Value], kind: &str| {
        let line = lines.iter().find(|line| line["kind"] == kind).unwrap();
        line["bytes"].as_u64().unwrap()
    };
    assert!(
        after.iter().all(|line| line["session"].is_null()),
        "{after:?}"
    );
    for kind in ["chats", "content", "checkpoints"] {
        assert_eq!(bytes(&after, kind), 0, "{kind}");
    }
    assert!(bytes(&after, "log") < 10_000, "{after:?}");
}

/// Sign-ins, refusals and decisions are recorded, without contents, and an altered entry is found.
#[test]
fn the_audit_log_is_printed_and_verified() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let host = Host::start(path, &[]);
    let id = create_session(path, "echo the-content");
    let notes = path.join("notes");
    std::fs::create_dir(&notes).unwrap();
    let output = run(path, &["allow", "notes"], "");
    assert!(output.status.success(), "{output:?}");
    let file = std::fs::read_to_string(path.join("data/agenthost/host.json")).unwrap();
    let file: Value = serde_json::from_str(&file).unwrap();
    let url = file["url"].as_str().unwrap();
    let address = url.trim_start_matches("ws://").trim_end_matches('/');
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /?tkn=wrong HTTP/1.1\r\nHost: {address}\r\nConnection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");

    // A command that changes something ends after the refusal was stored.
    let output = run(path, &["allow", "--remove", "notes"], "");
    assert!(output.status.success(), "{output:?}");
    let refused = entries(path, "connection.refused");
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert_eq!(refused[0]["actor"]["address"], "127.0.0.1");
    assert_eq!(entries(path, "host.started").len(), 1);
    assert!(!entries(path, "connection.accepted").is_empty());
    let decided = entries(path, "toolCall.decided");
    assert_eq!(decided[0]["details"]["decision"], "approved");
    assert_eq!(entries(path, "folder.granted").len(), 1);
    assert_eq!(entries(path, "folder.revoked").len(), 1);
    let all = out(&run(path, &["audit"], ""));
    assert!(!all.contains("the-content"), "{all}");
    let of_session = out(&run(path, &["audit", "--session", &id], ""));
    assert!(
        of_session.lines().all(|line| line.contains("session=")),
        "{of_session}"
    );
    assert!(!of_session.is_empty());
    let none = run(path, &["audit", "--since", "2999-01-01"], "");
    assert!(err(&none).contains("no entry fits"), "{none:?}");

    let intact = run(path, &["audit", "--verify"], "");
    assert!(out(&intact).starts_with("intact: "), "{intact:?}");
    assert_eq!(intact.status.code(), Some(0));
    drop(host);
    let database = path.join("data/agenthost/agenthost.db");
    let connection = rusqlite::Connection::open(database).unwrap();
    let update = "UPDATE audit SET details = replace(details, 'approved', 'denied')
        WHERE kind = 'toolCall.decided'";
    assert_eq!(connection.execute(update, []).unwrap(), 1);
    drop(connection);
    let number = decided[0]["number"].as_i64().unwrap();
    let altered = run(path, &["audit", "--verify"], "");
    assert!(
        out(&altered).starts_with(&format!("problem entry {number} was altered\naltered: ")),
        "{altered:?}"
    );
    assert_eq!(altered.status.code(), Some(1));
}

#[test]
fn forget_removes_all_data_after_a_confirmation() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let output = run(path, &["forget", "--yes"], "");
    assert!(err(&output).contains("there is no host data"), "{output:?}");
    let data = path.join("data/agenthost");
    create_session(path, "echo one");
    let foreign = data.join("mine.txt");
    std::fs::write(&foreign, "mine").unwrap();
    let output = run(path, &["forget"], "forget\n");
    assert!(
        err(&output).contains("`--yes` removes without asking"),
        "{output:?}"
    );
    assert!(data.join("agenthost.db").exists());

    let mut terminal = Pty::start(command(path, &["forget"]), 24, 100);
    terminal.wait("type `forget` to remove all of it");
    terminal.line("yes");
    terminal.wait("nothing was removed");
    assert_eq!(terminal.exit_code(), 1);
    assert!(data.join("agenthost.db").exists());

    let output = run(path, &["start"], "");
    assert!(output.status.success(), "{output:?}");
    let mut terminal = Pty::start(command(path, &["forget"]), 24, 100);
    terminal.wait("type `forget` to remove all of it");
    terminal.line("forget");
    terminal.wait("removed all data of the host");
    assert_eq!(terminal.exit_code(), 0);
    let left: Vec<_> = std::fs::read_dir(&data)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["mine.txt"]);
    std::fs::remove_file(foreign).unwrap();
    create_session(path, "echo again");
    let output = run(path, &["forget", "--yes"], "");
    assert!(output.status.success(), "{output:?}");
    assert!(!data.exists(), "{output:?}");
}
