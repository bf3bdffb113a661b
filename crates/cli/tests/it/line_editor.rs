//! The line editor of `attach` in a real terminal.

use std::os::unix::fs::PermissionsExt;

use crate::attach::Terminal;
use crate::commands::Host;
use crate::pty::{Pty, command};

/// Waits until an empty line is edited below the greeting.
fn wait_for_prompt(terminal: &Pty) {
    let is_ready =
        |screen: &str| screen.contains("(/help lists the commands)\n") && screen.ends_with("\n>");
    terminal.wait_until("prompt", is_ready);
}

/// Returns the number of times that a text is on a screen.
fn count(screen: &str, text: &str) -> usize {
    screen.matches(text).count()
}

#[test]
fn a_paste_of_several_long_lines_is_one_message() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let _host = Host::start(path, &[]);
    let mut terminal = Pty::run(path, &["attach", "--new"]);
    wait_for_prompt(&terminal);
    let long = "x".repeat(9_000);
    terminal.paste(&format!("printf '%s' {long} | wc -c\necho second"));
    terminal.keys("\r");
    terminal.wait("1) Allow once");
    terminal.line("y");
    let screen = terminal.wait("\nsecond\n");
    assert!(screen.contains("\n9000\nsecond"), "{screen}");
    assert_eq!(count(&screen, "1) Allow once"), 1, "{screen}");
    terminal.line("/quit");
    assert_eq!(terminal.exit_code(), 0);
}

#[test]
fn keys_edit_the_line_and_alt_enter_begins_another() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let _host = Host::start(path, &[]);
    let mut terminal = Pty::run(path, &["attach", "--new"]);
    wait_for_prompt(&terminal);
    // Left twice, and a letter between the others.
    terminal.keys("echo acd\u{1b}[D\u{1b}[Db");
    terminal.wait("> echo abcd");
    terminal.keys("\u{1b}[F\u{1b}\recho second\r");
    terminal.wait("1) Allow once");
    terminal.line("1");
    let screen = terminal.wait("\nabcd\nsecond\n");
    // The terminal shows the message once, as it was typed.
    assert_eq!(
        count(&screen, "echo abcd\n"),
        2,
        "message and question: {screen}"
    );
    // The last message can be edited and sent again.
    terminal.wait_until("prompt", |screen| screen.ends_with("\n>"));
    terminal.keys("\u{1b}[A");
    terminal.wait_until("the message again", |screen| {
        screen.ends_with("> echo abcd\necho second")
    });
    // Ctrl-C clears the line and does not leave.
    terminal.keys("\u{3}");
    terminal.wait_until("an empty line", |screen| screen.ends_with("\n>"));
    terminal.keys("\u{4}");
    assert_eq!(terminal.exit_code(), 0);

    let history = path.join("state/agenthost/attach-history");
    let mode = std::fs::metadata(&history).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut again = Pty::run(path, &["attach"]);
    wait_for_prompt(&again);
    again.keys("\u{1b}[A\u{1b}[A");
    again.wait_until("the history", |screen| {
        screen.ends_with("> echo abcd\necho second")
    });
    again.keys("\u{3}/quit\r");
    assert_eq!(again.exit_code(), 0);
}

#[test]
fn output_appears_above_the_line_that_is_typed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let _host = Host::start(path, &[]);
    let mut terminal = Pty::run(path, &["attach", "--new"]);
    wait_for_prompt(&terminal);
    terminal.keys("echo half");
    terminal.wait("> echo half");
    let mut other = Terminal::attach(path, &[]);
    other.type_line("seq 3; printf end");
    other.wait("1) Allow once");
    other.type_line("2");
    other.wait("\nend\n");
    let screen = terminal.wait_until("the output", |screen| {
        screen.contains("\n1\n2\n3\nend\n") && screen.ends_with("\n> echo half")
    });
    // The message of the other terminal is not in the middle of a line either.
    assert!(screen.contains("\n> seq 3; printf end\n"), "{screen}");
    terminal.keys(" done\r");
    let screen = terminal.wait("\nhalf done\n");
    assert_eq!(count(&screen, "echo half done"), 1, "{screen}");
    terminal.line("/quit");
    assert_eq!(terminal.exit_code(), 0);
    other.quit();
}

#[test]
fn a_message_is_edited_in_the_editor_of_the_user() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let _host = Host::start(path, &[]);
    let mut attach = command(path, &["attach", "--new"]);
    attach.env(
        "VISUAL",
        "sh -c 'echo \" world; echo more\" >> \"$1\"' editor",
    );
    let mut terminal = Pty::start(attach, 24, 100);
    wait_for_prompt(&terminal);
    terminal.keys("echo hello\u{7}");
    terminal.wait("> echo hello world; echo more");
    terminal.keys("\u{3}\u{4}");
    assert_eq!(terminal.exit_code(), 0);
}

#[test]
fn names_are_completed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    std::fs::write(path.join("unmistakable.txt"), "").unwrap();
    let _host = Host::start(path, &[]);
    let mut terminal = Pty::run(path, &["attach", "--new"]);
    wait_for_prompt(&terminal);
    terminal.keys("/wai\t");
    terminal.wait("> /waiting");
    terminal.keys("\u{3}cat @unm\t");
    terminal.wait("> cat @unmistakable.txt");
    terminal.keys("\u{3}/quit\r");
    assert_eq!(terminal.exit_code(), 0);
}

/// Ends the editor by a signal while a line is edited: the terminal is as before.
#[test]
fn the_terminal_is_restored_after_a_signal() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let _host = Host::start(path, &[]);
    let binary = env!("CARGO_BIN_EXE_agenthost");
    let script =
        format!("sh -c 'echo $$ > pid; exec {binary} attach --new'; echo code $?; stty -a");
    let mut terminal = Pty::start(crate::pty::program(path, "sh", &["-c", &script]), 24, 100);
    wait_for_prompt(&terminal);
    terminal.keys("half");
    terminal.wait("> half");
    let pid: i32 = std::fs::read_to_string(path.join("pid"))
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(pid),
        nix::sys::signal::Signal::SIGTERM,
    )
    .unwrap();
    let screen = terminal.wait("-extproc");
    assert!(screen.contains("\ncode 143\n"), "{screen}");
    let modes: Vec<_> = screen.split_whitespace().collect();
    for mode in ["icanon", "echo", "isig", "icrnl"] {
        assert!(modes.contains(&mode), "{mode}: {screen}");
    }
    terminal.exit_code();
}

/// Without a terminal that interprets escape sequences, lines are read as from a pipe.
#[test]
fn a_simple_terminal_gets_no_escape_sequences() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let _host = Host::start(path, &[]);
    let mut attach = command(path, &["attach", "--new"]);
    attach.env("TERM", "dumb");
    let mut terminal = Pty::start(attach, 24, 100);
    terminal.wait("(/help lists the commands)");
    terminal.line("echo plain");
    terminal.wait("1) Allow once");
    terminal.line("y");
    terminal.wait("\nplain\n");
    terminal.line("/quit");
    assert_eq!(terminal.exit_code(), 0);
    assert!(!terminal.raw().contains('\u{1b}'), "{:?}", terminal.raw());
}

/// Lines that a terminal sends faster than they are read are messages of their own.
#[test]
fn lines_that_are_written_at_once_all_arrive() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let _host = Host::start(path, &[]);
    let mut terminal = Pty::run(path, &["attach", "--new"]);
    wait_for_prompt(&terminal);
    terminal.keys("echo first\recho second\recho third\rhalf");
    terminal.wait("2) Allow everything");
    // What was typed ahead is in the line.
    terminal.wait_until("the rest", |screen| screen.ends_with("> half"));
    terminal.keys("\u{3}");
    terminal.wait_until("an empty line", |screen| screen.ends_with("\n>"));
    terminal.line("2");
    terminal.wait("\nfirst\n");
    terminal.wait("\nsecond\n");
    terminal.wait("\nthird\n");
    terminal.line("/quit");
    assert_eq!(terminal.exit_code(), 0);
}

/// The kernel cuts lines at 4,095 bytes, so the program edits them without escape sequences.
#[test]
fn a_simple_terminal_has_lines_of_any_length() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let _host = Host::start(path, &[]);
    let mut attach = command(path, &["attach", "--new"]);
    attach.env("TERM", "dumb");
    let mut terminal = Pty::start(attach, 24, 100);
    terminal.wait("(/help lists the commands)");
    let long = "x".repeat(9_000);
    terminal.keys(&format!("printf '%s' {long} | wc -d\u{7f}c\r"));
    terminal.wait("1) Allow once");
    terminal.line("y");
    terminal.wait("\n9000\n");
    terminal.line("/quit");
    assert_eq!(terminal.exit_code(), 0);
    assert!(!terminal.raw().contains('\u{1b}'));
}

/// A message for a running turn is called what it is: sent, queued or dropped.
#[test]
fn the_fate_of_a_message_for_a_running_turn_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let _host = Host::start(path, &[]);
    let mut plain = Terminal::attach(path, &["--new"]);
    plain.type_line("sleep 1000");
    plain.wait("1) Allow once");
    plain.type_line("y");
    plain.type_line("/steer hurry");
    plain.wait("this turn takes no messages, so it is queued first; cancelling drops it");
    plain.type_line("/cancel");
    plain.wait("a message for the cancelled turn was dropped");
    plain.type_line("/waiting");
    plain.wait("no messages wait");
    // Without a turn, a queued message begins one at once.
    plain.type_line("/queue echo at once");
    plain.wait("Run in terminal: echo at once");
    let shown = plain.quit();
    assert!(!shown.contains("sent to the running turn"), "{shown}");
    assert!(!shown.contains("queued until"), "{shown}");
}

/// A message that the host rejects is given back, and only a confirmed one is called queued.
#[test]
fn a_rejected_message_is_given_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let _host = Host::start(path, &[]);
    let mut plain = Terminal::attach(path, &["--new"]);
    plain.type_line("sleep 1000");
    plain.wait("1) Allow once");
    plain.type_line("y");
    for number in 0..100 {
        plain.type_line(&format!("/queue message {number}"));
    }
    plain.type_line("/queue one too many");
    plain.wait("this message was not sent:\n/queue one too many\n");
    assert_eq!(count(&plain.shown(), "queued until the turn ends"), 100);
    plain.wait("refused: ");

    let mut terminal = Pty::run(path, &["attach"]);
    wait_for_prompt(&terminal);
    terminal.line("another one");
    terminal.wait("refused: ");
    terminal.wait_until("the message", |screen| screen.ends_with("\n> another one"));
    terminal.keys("\u{3}/quit\r");
    assert_eq!(terminal.exit_code(), 0);
    plain.quit();
}
