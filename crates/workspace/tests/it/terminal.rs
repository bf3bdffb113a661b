//! A real shell in a real terminal.

use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use agenthost_core::TerminalEvent;
use agenthost_workspace::{Terminal, TerminalStart, uri_of};
use tempfile::TempDir;

fn open(directory: &TempDir) -> (Terminal, Receiver<TerminalEvent>) {
    let start = TerminalStart {
        directory: uri_of(directory.path()),
        cols: 100,
        rows: 40,
    };
    let (tell, told) = channel();
    let terminal = Terminal::open(&start, move |event| drop(tell.send(event))).unwrap();
    (terminal, told)
}

/// All output until a text is in it.
fn until(told: &Receiver<TerminalEvent>, text: &str) -> String {
    let mut output = String::new();
    let deadline = Instant::now() + Duration::from_secs(30);
    while !output.contains(text) {
        let left = deadline.saturating_duration_since(Instant::now());
        match told.recv_timeout(left) {
            Ok(TerminalEvent::Output(more)) => output.push_str(&more.data),
            Ok(_) => {}
            Err(_) => panic!("`{text}` is not in {output:?}"),
        }
    }
    output
}

fn end(told: &Receiver<TerminalEvent>) -> Option<i64> {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if let TerminalEvent::Exited(code) = told.recv_timeout(left).unwrap() {
            return code;
        }
    }
}

fn type_line(terminal: &Terminal, line: &str) {
    terminal.write(format!("{line}\n")).unwrap();
}

#[test]
fn a_shell_is_typed_into() {
    let directory = TempDir::new().unwrap();
    let (terminal, told) = open(&directory);
    type_line(&terminal, "echo $((40 + 2))th; pwd; stty size");
    let output = until(&told, "40 100");
    let name = directory.path().file_name().unwrap().to_str().unwrap();
    assert!(
        output.contains("42th") && output.contains(name),
        "{output:?}"
    );
    terminal.resize(90, 30).unwrap();
    type_line(&terminal, "stty size");
    until(&told, "30 90");
    type_line(&terminal, "exit 3");
    assert_eq!(end(&told), Some(3));
    drop(terminal);
}

/// What runs in a terminal ends with it, also if it does not want to.
#[test]
fn nothing_is_left_running() {
    let directory = TempDir::new().unwrap();
    let (terminal, told) = open(&directory);
    type_line(
        &terminal,
        "trap '' HUP TERM; echo re''ady; while :; do sleep 0.1; done",
    );
    until(&told, "ready");
    let begun = Instant::now();
    drop(terminal);
    end(&told);
    assert!(begun.elapsed() < Duration::from_secs(20));
    let nowhere = TerminalStart {
        directory: uri_of(&directory.path().join("none")),
        cols: 80,
        rows: 24,
    };
    let refused = Terminal::open(&nowhere, drop).unwrap_err();
    assert_eq!(refused.to_string(), "the folder is not there");
}
