//! The command `agenthost`, as a user runs it.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod acp;
mod agents;
mod attach;
mod attach_sessions;
mod background;
mod backup;
mod cli_reference;
mod commands;
mod customization_listings;
mod customizations;
mod devices;
mod documented_commands;
mod hooks;
mod killed;
mod line_editor;
mod pty;
mod reconnect;
mod reloading;
mod remote_host;
mod resources;
mod run_options;
mod run_terminal;
mod runner;
mod serve_in_terminal;
mod stored_data;
mod surviving;
mod tui;

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};

use expect_test::{Expect, expect};

/// Runs `agenthost`. Returns its output, its errors and its exit code.
fn run(arguments: &[&str], input: &[u8]) -> String {
    let mut child = Command::new(env!("CARGO_BIN_EXE_agenthost"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    format!(
        "{}{}exit code {}\n",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
        output.status.code().unwrap()
    )
}

fn check(arguments: &[&str], input: &str, expected: Expect) {
    expected.assert_eq(&run(arguments, input.as_bytes()));
}

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/session.jsonl");

const CHAT: &str = r#"{"resource":"c","fromSeq":5,"state":{"resource":"c","title":"","status":1,"modifiedAt":"2026-01-01T00:00:00Z","turns":[]}}"#;

#[test]
fn the_example_log_is_reduced_to_its_final_state() {
    check(
        &[
            "reduce",
            EXAMPLE,
            "--channel",
            "ahp-session:/demo",
            "--compact",
        ],
        "",
        expect![[r#"
            {"provider":"shell","title":"ls","status":8,"workingDirectories":["file:///home/me/project"],"lifecycle":"ready","activeClients":[],"chats":[{"resource":"ahp-chat:/demo","title":"","status":1,"modifiedAt":"2026-01-05T09:00:00.000Z"}],"defaultChat":"ahp-chat:/demo"}
            lines: 16, snapshots: 2, applied: 13, without effect: 0, skipped: 1, problems: 0
            exit code 0
        "#]],
    );
}

#[test]
fn reduce_can_stop_early_and_trace_actions() {
    check(
        &[
            "reduce",
            EXAMPLE,
            "--channel",
            "ahp-chat:/demo",
            "--until",
            "6",
            "--trace",
            "--compact",
        ],
        "",
        expect![[r#"
            {"resource":"ahp-chat:/demo","title":"","status":24,"modifiedAt":"2026-01-05T09:00:01.000Z","turns":[],"activeTurn":{"id":"t1","startedAt":"2026-01-05T09:00:01.000Z","message":{"text":"ls","origin":{"kind":"user"}},"responseParts":[{"kind":"toolCall","toolCall":{"status":"pending-confirmation","toolCallId":"c1","toolName":"shell","displayName":"Shell","invocationMessage":"Run `ls`","toolInput":"ls","confirmationTitle":"Run in terminal"}}]}}
            line 1: 1 snapshot of ahp-session:/demo
            line 2: 1 snapshot of ahp-chat:/demo
            line 3: 2 session/ready: applied
            line 4: 3 chat/turnStarted: applied
            line 5: 4 session/titleChanged: applied
            line 6: 5 chat/toolCallStart: applied
            line 7: 6 chat/toolCallReady: applied
            line 8: 7 is after the last requested action
            lines: 8, snapshots: 2, applied: 5, without effect: 0, skipped: 0, problems: 0
            exit code 0
        "#]],
    );
}

/// Each invalid line is reported, and does not affect the others.
#[test]
fn invalid_lines_are_reported_and_skipped() {
    let log = [
        "{",
        "",
        "42",
        "{}",
        r#"{"jsonrpc":"2.0","id":1}"#,
        r#"{"channel":"c","serverSeq":6,"action":{"type":"chat/activityChanged","activity":"too early"}}"#,
        r#"{"channel":"c","serverSeq":7,"action":{"type":"chat/activityChanged","activity":"still too early"}}"#,
        CHAT,
        r#"{"channel":"c","serverSeq":5,"action":{"type":"chat/activityChanged","activity":"in the snapshot"}}"#,
        r#"{"channel":"c","serverSeq":6,"action":{"type":"chat/activityChanged","activity":42}}"#,
        r#"{"channel":"c","serverSeq":7,"action":{"type":"chat/fromTheFuture"}}"#,
        r#"{"channel":"c","serverSeq":8,"action":{"type":"session/ready"}}"#,
        r#"{"channel":"c","serverSeq":-1,"action":{"type":"session/ready"}}"#,
        r#"{"channel":"c","serverSeq":9,"action":{"type":"chat/turnComplete","turnId":"t","duration":1}}"#,
        r#"{"channel":"c","serverSeq":10,"action":{"type":"chat/activityChanged","activity":"works"}}"#,
    ];
    check(
        &["reduce", "-", "--compact"],
        &log.join("\n"),
        expect![[r#"
            {"c":{"resource":"c","title":"","status":1,"activity":"works","modifiedAt":"2026-01-01T00:00:00Z","turns":[]}}
            line 1: syntax error at byte 1: expected a key in quotes
            line 3: expected an object, found 42
            line 4: neither a snapshot, nor an action envelope, nor a message
            line 5: expected `method`, `result` or `error`, found none
            line 6: c has no snapshot before this action: its actions are skipped
            line 10: 6 action.activity: expected a string, found 42
            line 11: 7 unknown action type "chat/fromTheFuture"
            line 12: 8 session/ready: belongs to another kind of channel
            line 13: serverSeq: expected a whole number of at least 0, found -1
            lines: 15, snapshots: 1, applied: 1, without effect: 2, skipped: 3, problems: 9
            exit code 1
        "#]],
    );
    check(
        &["reduce", "-", "--compact"],
        concat!(
            "\u{feff}\n",
            r#"{"jsonrpc":"2.0","method":"action","params":{"channel":"x","serverSeq":2}}"#,
            "\n",
            r#"{"jsonrpc":"2.0","id":1,"result":{"snapshot":{"resource":"x","fromSeq":1}}}"#,
            "\n",
            r#"{"jsonrpc":"2.0","id":1,"result":{"snapshots":{"resource":"x"}}}"#,
            "\n",
            r#"{"jsonrpc":"2.0","id":1,"result":{"actions":[{"channel":"x","serverSeq":2}]}}"#,
        ),
        expect![[r#"
            {}
            line 2: params.action: missing
            line 3: result.snapshot.state: missing
            line 4: result.snapshots: expected an array, found an object
            line 5: result.actions[0].action: missing
            lines: 5, snapshots: 0, applied: 0, without effect: 0, skipped: 0, problems: 4
            exit code 1
        "#]],
    );
    let output = run(&["reduce", "-"], b"\xff\xfe\n");
    assert!(
        output.contains("line 1: not UTF-8, from byte 0"),
        "{output}"
    );
}

/// A wire log can be reduced: responses and notifications with states or actions are used, and all
/// other messages are skipped.
#[test]
fn a_wire_log_can_be_reduced() {
    let snapshot = CHAT;
    let log = [
        r#"{"jsonrpc":"2.0","id":1,"method":"subscribe","params":{"channel":"c"}}"#.to_owned(),
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"snapshot":{snapshot}}}}}"#),
        r#"{"jsonrpc":"2.0","id":2,"result":null}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32001,"message":"gone"}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":4,"result":{"items":[]}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":5,"result":{"type":"replay","missing":[],"actions":[{"channel":"c","serverSeq":6,"action":{"type":"chat/activityChanged","activity":"a"}}]}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":5,"result":{"channels":[{"kind":"missing","channel":"d"},{"kind":"replay","channel":"c","actions":[{"channel":"c","serverSeq":7,"action":{"type":"chat/activityChanged","activity":"b"}}]}]}}"#.to_owned(),
        format!(r#"{{"jsonrpc":"2.0","id":5,"result":{{"channels":[{{"kind":"snapshot","channel":"c","snapshot":{snapshot}}},{{"kind":"snapshot","snapshot":{{}}}}]}}}}"#),
        r#"{"jsonrpc":"2.0","method":"action","params":{"channel":"c","serverSeq":8,"action":{"type":"chat/isReadChanged","isRead":true}}}"#.to_owned(),
        format!(r#"{{"jsonrpc":"2.0","id":6,"result":{{"snapshots":[{snapshot},{{"resource":"x","state":{{}}}}]}}}}"#),
    ];
    check(
        &["reduce", "-", "--compact", "--trace"],
        &log.join("\n"),
        expect![[r#"
            {"c":{"resource":"c","title":"","status":33,"activity":"b","modifiedAt":"2026-01-01T00:00:00Z","turns":[]}}
            line 2: 5 snapshot of c
            line 6: 6 chat/activityChanged: applied
            line 7: 7 chat/activityChanged: applied
            line 8: result.channels[1].snapshot.resource: missing
            line 9: 8 chat/isReadChanged: applied
            line 10: result.snapshots[1].state: expected the state of a channel, found an object without any of `activeClients` `turns` `content` `files` `recursive` `canvasId` `sessions` `agents` `annotations` `entries`
            lines: 10, snapshots: 1, applied: 3, without effect: 0, skipped: 0, problems: 2
            exit code 1
        "#]],
    );
}

#[test]
fn reduce_reports_a_missing_snapshot() {
    check(
        &["reduce", "-", "--channel", "x"],
        CHAT,
        expect![[r#"
        error: the log has no snapshot of `x`
        hint: snapshots in the log: c
        exit code 1
    "#]],
    );
    check(
        &["reduce", "-", "--channel", "x"],
        "",
        expect![[r#"
        error: the log has no snapshot of `x`
        hint: snapshots in the log: none
        exit code 1
    "#]],
    );
    let output = run(&["reduce", "/nowhere/log.jsonl"], b"");
    assert!(
        output.starts_with("error: open `/nowhere/log.jsonl`: No such file"),
        "{output}"
    );
    let output = run(&["reduce", env!("CARGO_MANIFEST_DIR")], b"");
    assert!(output.contains("it is a folder, not a log"), "{output}");
}

/// Sequence numbers only increase: an action whose number is not later was already applied.
#[test]
fn an_action_is_applied_once() {
    let change = |seq: u64, activity: &str| {
        format!(
            r#"{{"channel":"c","serverSeq":{seq},"action":{{"type":"chat/activityChanged","activity":"{activity}"}}}}"#
        )
    };
    let log = [
        CHAT.to_owned(),
        change(7, "a"),
        change(6, "b"),
        change(7, "c"),
        change(8, "d"),
    ];
    check(
        &["reduce", "-", "--compact", "--trace"],
        &log.join("\n"),
        expect![[r#"
            {"c":{"resource":"c","title":"","status":1,"activity":"d","modifiedAt":"2026-01-01T00:00:00Z","turns":[]}}
            line 1: 5 snapshot of c
            line 2: 7 chat/activityChanged: applied
            line 3: 6 is not later than 7: already applied
            line 4: 7 is not later than 7: already applied
            line 5: 8 chat/activityChanged: applied
            lines: 5, snapshots: 1, applied: 2, without effect: 0, skipped: 2, problems: 0
            exit code 0
        "#]],
    );
}

/// Text from peers cannot control the terminal.
#[test]
fn control_characters_do_not_reach_the_terminal() {
    let log = format!(
        r#"{CHAT}
{{"channel":"c","serverSeq":6,"rejectionReason":"\u001b[2J\nline 9: all is well","origin":{{"clientId":"x","clientSeq":1}},"action":{{"type":"chat/draftChanged"}}}}"#
    );
    let output = run(&["reduce", "-", "--trace"], log.as_bytes());
    assert!(
        output.contains(r"was rejected: \u{1b}[2J\nline 9"),
        "{output}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_stderr_causes_no_panic() {
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let status = Command::new(env!("CARGO_BIN_EXE_agenthost"))
        .args(["reduce", EXAMPLE, "--trace"])
        .stdout(Stdio::null())
        .stderr(full)
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(0));
}

#[test]
fn help_describes_the_commands() {
    let output = run(&["--help"], b"");
    assert!(output.starts_with("A host for coding agents"), "{output}");
    assert!(
        output.contains("Without a command, agenthost opens the terminal interface"),
        "{output}"
    );
    assert!(output.contains("agenthost run '!ls -la'"), "{output}");
    let output = run(&["serve", "--help"], b"");
    assert!(output.contains("Stops on Ctrl-C"), "{output}");
}

/// A host is started, found by its ready file, asked for its health and stopped, twice.
#[test]
fn serve_writes_a_ready_file_and_stops_on_a_signal() {
    let directory = tempfile::tempdir().unwrap();
    let ready_file = directory.path().join("ready.json");
    for _ in 0..2 {
        let mut child = Command::new(env!("CARGO_BIN_EXE_agenthost"))
            .arg("serve")
            .arg("--data-dir")
            .arg(directory.path().join("data"))
            .arg("--config")
            .arg(commands::configuration(directory.path()))
            .arg("--ready-file")
            .arg(&ready_file)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        assert!(first.contains(" listens on ws://127.0.0.1:"), "{first}");
        let ready: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(&ready_file).unwrap()).unwrap();
        assert_eq!(ready["pid"], child.id());
        let address = ready["url"].as_str().unwrap();
        let address = address.strip_prefix("ws://").unwrap().trim_end_matches('/');
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        let request =
            format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
        let token = std::fs::read_to_string(directory.path().join("data/token")).unwrap();
        assert_eq!(ready["token"], token);
        let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
        assert!(child.wait().unwrap().success());
        let rest: Vec<_> = lines.map_while(Result::ok).collect();
        assert!(!rest.iter().any(|line| line.contains(&token)), "{rest:?}");
    }
}

/// A host that other machines can reach without TLS prints a warning, and no other host does.
#[test]
fn a_public_host_without_tls_prints_a_warning() {
    let directory = tempfile::tempdir().unwrap();
    for (listen, warns) in [("0.0.0.0:0", true), ("127.0.0.1:0", false)] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_agenthost"))
            .args(["serve", "--allow-plain", "--listen", listen, "--data-dir"])
            .arg(directory.path().join("data"))
            .arg("--config")
            .arg(commands::configuration(directory.path()))
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        // The host handles signals before it prints anything.
        let first = lines.next().unwrap().unwrap();
        assert!(first.contains(" listens on ws://"), "{first}");
        let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
        assert!(child.wait().unwrap().success());
        let rest: Vec<_> = lines.map_while(Result::ok).collect();
        let warned = rest
            .iter()
            .any(|line| line.starts_with("warning: ") && line.contains("in the clear"));
        let hinted = rest.iter().any(|line| line.starts_with("hint: use TLS"));
        assert_eq!((warned, hinted), (warns, warns), "{rest:?}");
    }
}

#[test]
fn a_host_that_cannot_start_prints_the_reason() {
    let output = run(
        &["serve", "--listen", "0.0.0.0:0", "--data-dir", "/tmp/none"],
        b"",
    );
    assert!(
        output.contains("can be reached from other machines"),
        "{output}"
    );
    assert!(output.ends_with("exit code 1\n"), "{output}");
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let output = run(&["serve", "--data-dir", file], b"");
    assert!(output.contains("error: create"), "{output}");
}
