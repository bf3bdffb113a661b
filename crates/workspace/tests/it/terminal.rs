//! Tests with real shells and commands, in real terminals.

use std::sync::Arc;
use std::time::{Duration, Instant};

use agenthost_core::{CommandLine, SessionKey, TerminalEnd, TerminalEvent};
use agenthost_protocol::uri::Uri;
use agenthost_workspace::{
    ContentStore, EXIT_GRACE, OutputSink, PtyProgram, ShellSpec, Terminal, TerminalOptions,
};
use nix::sys::signal::kill;
use nix::unistd::Pid;
use tempfile::TempDir;

use crate::bench::{Bench, TERMINAL_TIMEOUT, start};

/// Returns a shell whose user has no startup files.
fn shell() -> PtyProgram {
    PtyProgram::Shell(ShellSpec {
        environment: vec![("HOME".into(), "/nonexistent".into())],
        ..ShellSpec::default()
    })
}

fn command(line: &str) -> PtyProgram {
    PtyProgram::Command(CommandLine(line.to_owned()))
}

#[test]
fn a_shell_reads_input_and_is_resized() {
    let directory = TempDir::new().unwrap();
    let bench = Bench::open(shell(), directory.path());
    bench.type_line("echo $((40 + 2))th; pwd; stty size");
    let output = bench.until("40 100");
    let name = directory.path().file_name().unwrap().to_str().unwrap();
    assert!(
        output.contains("42th") && output.contains(name),
        "{output:?}"
    );
    bench.terminal.resize(90, 30).unwrap();
    bench.type_line("stty size");
    bench.until("30 90");
    bench.type_line("exit 3");
    assert_eq!(bench.end().1.exit_code, Some(3));
    assert_eq!(bench.end_of_nothing(), None);
}

#[test]
fn a_missing_working_directory_is_an_error() {
    let directory = TempDir::new().unwrap();
    let nowhere = start(shell(), &directory.path().join("none"));
    let refused = Terminal::open(&nowhere, drop).unwrap_err();
    assert_eq!(refused.to_string(), "the folder does not exist");
}

impl Bench {
    /// Returns the next event; after the exit there must be none.
    fn end_of_nothing(self) -> Option<TerminalEvent> {
        self.told.recv_timeout(TERMINAL_TIMEOUT).ok()
    }
}

#[test]
fn a_command_runs_and_reads_input() {
    let directory = TempDir::new().unwrap();
    let line = "echo $PAGER $GIT_PAGER; stty size; read answer; echo got:$answer >&2; exit 7";
    let bench = Bench::open(command(line), directory.path());
    bench.until("40 100");
    bench.type_line("yes");
    let (output, end) = bench.end();
    assert!(output.contains("got:yes\r\n"), "{output:?}");
    assert_eq!(end.exit_code, Some(7));
    let preview = "cat cat\n40 100\nyes\ngot:yes\n";
    assert_eq!(end.preview.as_deref(), Some(preview));
    assert!(!end.truncated);
    let bench = Bench::open(command("kill -9 $$"), directory.path());
    assert_eq!(bench.end().1.exit_code, None);
}

/// Waits until a process is gone, which takes the system a moment.
fn wait_until_gone(process: i32) {
    let deadline = Instant::now() + TERMINAL_TIMEOUT;
    while kill(Pid::from_raw(process), None).is_ok() {
        assert!(Instant::now() < deadline, "{process} is still there");
        std::thread::yield_now();
    }
}

fn number_in(text: &str) -> i32 {
    let digits = text.split("pid ").nth(1).unwrap();
    let digits: String = digits.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

/// Closing a terminal ends its processes, even if they ignore signals or are in a process group of
/// their own.
#[test]
fn closing_a_terminal_kills_its_processes() {
    let directory = TempDir::new().unwrap();
    let stubborn = "trap '' HUP TERM; while :; do sleep 0.1; done";
    let bench = Bench::open(shell(), directory.path());
    bench.type_line(&format!("sh -c \"{stubborn}\" & echo p''id $! re''ady"));
    let behind = number_in(&bench.until(" ready"));
    bench.type_line(&format!("echo fore''ground; {stubborn}"));
    bench.until("foreground");
    let begun = Instant::now();
    Terminal::close_all(vec![bench.terminal]);
    assert!(begun.elapsed() < Duration::from_secs(20));
    wait_until_gone(behind);
    while !matches!(
        bench.told.recv_timeout(TERMINAL_TIMEOUT).unwrap(),
        TerminalEvent::Exited(_)
    ) {}

    let line = format!("({stubborn}) & echo p''id $!. ; wait");
    let bench = Bench::open(command(&line), directory.path());
    let behind = number_in(&bench.until(".\r"));
    drop(bench);
    wait_until_gone(behind);
}

/// A terminal ends when its shell exits, even if another process still has the terminal open.
#[test]
fn a_job_in_the_background_does_not_keep_a_terminal_alive() {
    let directory = TempDir::new().unwrap();
    let bench = Bench::open(shell(), directory.path());
    bench.type_line("(trap '' HUP; sleep 1000) & echo p''id $!. ; exit 4");
    let begun = Instant::now();
    let (output, end) = bench.end();
    assert_eq!(end.exit_code, Some(4));
    assert!(begun.elapsed() < TERMINAL_TIMEOUT, "{:?}", begun.elapsed());
    // The user left the job in the background, so it keeps running.
    let behind = Pid::from_raw(number_in(&output));
    assert!(kill(behind, None).is_ok());
    drop(bench);
    assert!(kill(behind, None).is_ok());
    kill(behind, nix::sys::signal::Signal::SIGKILL).unwrap();

    // The processes of a command end with it.
    let line = "(trap '' HUP; sleep 1000) & echo p''id $!. ; exit 4";
    let bench = Bench::open(command(line), directory.path());
    let (output, end) = bench.end();
    assert_eq!(end.exit_code, Some(4));
    drop(bench);
    wait_until_gone(number_in(&output));
}

/// Many terminals are closed at the same time, not one after the other.
#[test]
fn terminals_are_closed_in_parallel() {
    let directory = TempDir::new().unwrap();
    let line = "trap '' HUP TERM; echo ready; while :; do sleep 0.1; done";
    let open = |_| Bench::open(command(line), directory.path());
    let benches: Vec<_> = (0..20).map(open).collect();
    for bench in &benches {
        bench.until("ready");
    }
    let begun = Instant::now();
    let (terminals, told): (Vec<_>, Vec<_>) = benches
        .into_iter()
        .map(|bench| (bench.terminal, bench.told))
        .unzip();
    Terminal::close_all(terminals);
    assert!(begun.elapsed() < EXIT_GRACE * 10, "{:?}", begun.elapsed());
    drop(told);
}

/// A large output arrives complete and in order, and waits for a slow reader.
#[test]
fn a_flood_of_output_waits_for_the_reader() {
    let directory = TempDir::new().unwrap();
    let (tell, told) = std::sync::mpsc::sync_channel(1);
    let line = "yes 0123456789abcdef | head -n 300000; printf '\\360\\237\\246\\200'";
    let start = start(command(line), directory.path());
    let terminal = Terminal::open(&start, move |event| drop(tell.send(event))).unwrap();
    let (mut bytes, mut last) = (0, String::new());
    let end = loop {
        match told.recv_timeout(TERMINAL_TIMEOUT).unwrap() {
            TerminalEvent::Output(output) => {
                bytes += output.data.len();
                last.push_str(&output.data);
                last.drain(..last.floor_char_boundary(last.len().saturating_sub(100)));
            }
            TerminalEvent::Exited(end) => break end,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(bytes, 300_000 * 18 + 4);
    assert!(last.ends_with("abcdef\r\n🦀"));
    assert_eq!((end.exit_code, end.truncated), (Some(0), true));
    assert!(end.preview.unwrap().ends_with("9abcdef\n🦀"));
    drop(terminal);
}

/// PRT-4: of a long output, the end is shown, and all of it can be read.
#[test]
fn the_complete_output_of_a_command_is_readable() {
    let directory = TempDir::new().unwrap();
    let contents = Arc::new(ContentStore::open(&directory.path().join("content")).unwrap());
    let run = |line: &str| {
        let (tell, told) = std::sync::mpsc::channel();
        let start = TerminalOptions {
            output_sink: Some(OutputSink {
                content_store: Arc::clone(&contents),
                session: SessionKey::of(&Uri::from("ahp-session:/s1")),
            }),
            ..start(command(line), directory.path())
        };
        let _terminal = Terminal::open(&start, move |event| drop(tell.send(event))).unwrap();
        loop {
            if let TerminalEvent::Exited(end) = told.recv_timeout(TERMINAL_TIMEOUT).unwrap() {
                return end;
            }
        }
    };
    let read = |end: &TerminalEnd| {
        let whole = end.full_output.as_ref().unwrap();
        contents.read(&whole.uri, None).unwrap().data
    };
    let end = run("for i in $(seq 20000); do printf '\\033[1mline %s\\033[0m\\n' $i; done");
    let expected: String = (1..=20_000).map(|i| format!("line {i}\n")).collect();
    assert!(end.truncated && read(&end) == expected);
    assert!(end.preview.unwrap().ends_with("line 20000\n"));
    let end = run("head -c 20000000 /dev/zero | tr '\\0' x; exit 2");
    let text = read(&end);
    assert_eq!(end.exit_code, Some(2));
    assert!(text.len() <= 16 * 1024 * 1024 && text.ends_with("more bytes were not stored)\n"));
    assert_eq!(run("echo short").full_output, None);
    let long = "x".repeat(200_000);
    let refused = Terminal::open(&start(command(&long), directory.path()), drop);
    assert_eq!(refused.unwrap_err().to_string(), "the command is too long");
}
