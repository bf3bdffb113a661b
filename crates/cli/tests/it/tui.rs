//! The terminal interface, in a real pseudoterminal with an emulator that shows what a person sees.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use portable_pty::{CommandBuilder, MasterPty, PtySize, native_pty_system};

use crate::commands::{Host, agenthost, configuration};

/// A text that is later than this does not come. Long, because tests share the machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// Time for which a new question takes no answer.
const ANSWER_DELAY: Duration = Duration::from_millis(450);

const ESCAPE: &str = "\u{1b}";

/// The interface in a pseudoterminal.
struct Interface {
    master: Box<dyn MasterPty + Send>,
    writer: Box<dyn Write + Send>,
    child: Box<dyn portable_pty::Child + Send + Sync>,
    shown: Arc<(Mutex<Shown>, Condvar)>,
}

/// The output of the interface.
struct Shown {
    parser: vt100::Parser,
    /// All bytes that the interface has written.
    raw: Vec<u8>,
    has_ended: bool,
}

fn size(columns: u16, rows: u16) -> PtySize {
    PtySize {
        rows,
        cols: columns,
        pixel_width: 0,
        pixel_height: 0,
    }
}

impl Interface {
    fn start(directory: &Path, columns: u16, variables: &[(&str, &str)]) -> Self {
        let pty = native_pty_system().openpty(size(columns, 30)).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_agenthost"));
        command.arg("tui");
        command.cwd(directory);
        // The same variables as those of the other commands.
        for (name, value) in agenthost(directory).get_envs() {
            command.env(name, value.unwrap());
        }
        command.env("TERM", "xterm-256color");
        command.env_remove("NO_COLOR");
        for (name, value) in variables {
            command.env(name, value);
        }
        let child = pty.slave.spawn_command(command).unwrap();
        drop(pty.slave);
        let rows = std::num::NonZero::new(30).unwrap();
        let columns = std::num::NonZero::new(columns).unwrap();
        let shown = Arc::new((
            Mutex::new(Shown {
                parser: vt100::Parser::new(rows, columns, 0),
                raw: Vec::new(),
                has_ended: false,
            }),
            Condvar::new(),
        ));
        let mut reader = pty.master.try_clone_reader().unwrap();
        std::thread::spawn({
            let shown = Arc::clone(&shown);
            move || {
                let mut piece = [0; 65536];
                while let Ok(count @ 1..) = reader.read(&mut piece) {
                    let mut state = shown.0.lock().unwrap();
                    state.parser.process(&piece[..count]);
                    state.raw.extend_from_slice(&piece[..count]);
                    shown.1.notify_all();
                }
                shown.0.lock().unwrap().has_ended = true;
                shown.1.notify_all();
            }
        });
        Interface {
            writer: pty.master.take_writer().unwrap(),
            master: pty.master,
            child,
            shown,
        }
    }

    /// Waits until a condition on the screen holds.
    fn wait(&self, name: &str, condition: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + DEADLINE;
        let mut state = self.shown.0.lock().unwrap();
        loop {
            let screen = state.parser.screen().contents();
            if condition(&screen) {
                return screen;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || state.has_ended {
                drop(state);
                panic!("no {name}:\n{screen}");
            }
            state = self.shown.1.wait_timeout(state, left).unwrap().0;
        }
    }

    fn wait_for(&self, text: &str) -> String {
        self.wait(text, |screen| screen.contains(text))
    }

    fn press(&mut self, keys: &str) {
        self.writer.write_all(keys.as_bytes()).unwrap();
        self.writer.flush().unwrap();
    }

    /// Creates a session whose first message is a command, and allows it.
    fn run_first(&mut self, command: &str) {
        self.wait_for("new session in");
        self.press("n");
        self.wait_for("Isolation");
        self.press(&format!("\u{1b}[200~{command}\u{1b}[201~"));
        self.press("\r");
        self.allow();
    }

    /// Sends a message in the composer.
    fn send(&mut self, text: &str) {
        self.press("i");
        self.wait_for("alt+enter line");
        self.press(&format!("\u{1b}[200~{text}\u{1b}[201~\r"));
    }

    fn allow(&mut self) {
        self.wait_for("1 Allow once (a)");
        std::thread::sleep(ANSWER_DELAY);
        self.press(ESCAPE);
        self.wait_for("a allow");
        self.press("a");
        self.wait("end of the question", |screen| {
            !screen.contains("1 Allow once (a)")
        });
    }

    /// Waits for the end of the program, and returns everything that it has written.
    fn end(&mut self) -> Vec<u8> {
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status:?}");
        let deadline = Instant::now() + DEADLINE;
        let mut state = self.shown.0.lock().unwrap();
        while !state.has_ended && Instant::now() < deadline {
            state = self.shown.1.wait_timeout(state, DEADLINE).unwrap().0;
        }
        assert!(!state.parser.screen().alternate_screen());
        assert!(!state.parser.screen().hide_cursor());
        assert!(!state.parser.screen().bracketed_paste());
        state.raw.clone()
    }

    fn written(&self) -> usize {
        self.shown.0.lock().unwrap().raw.len()
    }
}

impl Drop for Interface {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn send(interface: &Interface, signal: Signal) {
    let pid = i32::try_from(interface.child.process_id().unwrap()).unwrap();
    kill(Pid::from_raw(pid), signal).unwrap();
}

/// Creates a folder, and starts a host for it.
fn project() -> (tempfile::TempDir, Host) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    configuration(path);
    std::fs::create_dir_all(path.join("home")).unwrap();
    let host = Host::start(path, &["--listen", "127.0.0.1:0"]);
    (directory, host)
}

#[test]
fn a_command_is_allowed_and_its_diff_is_shown() {
    let (directory, _host) = project();
    let mut interface = Interface::start(directory.path(), 120, &[]);
    interface.run_first("echo 'hi there' > new.txt");
    interface.wait_for("── done");
    interface.wait_for("+ hi there");
    interface.press("c");
    interface.wait_for("1 file +1");
    interface.press("\r");
    interface.wait("diff", |screen| {
        screen.contains("file 1 of 1") && screen.contains("+ hi there")
    });
    interface.press("v");
    interface.wait_for("✓ ");
    interface.press("q");
    interface.wait_for("✓1");
    interface.press("q");
    let raw = String::from_utf8_lossy(&interface.end()).into_owned();
    assert!(raw.contains("\u{1b}[?2026h"), "no synchronized output");
}

#[test]
fn messages_wait_in_the_queue_and_a_turn_is_cancelled() {
    let (directory, _host) = project();
    let mut interface = Interface::start(directory.path(), 100, &[]);
    interface.run_first("printf started; sleep 1000");
    interface.wait_for("│ started");
    interface.send("echo later");
    interface.wait_for("queued: echo later");
    interface.press(ESCAPE);
    interface.wait_for("x cancel the turn");
    interface.press("Q");
    interface.wait_for("Waiting messages");
    interface.press("e");
    interface.wait_for("Edit the waiting message");
    interface.press("!\r");
    interface.wait_for("queued: echo later!");
    interface.press("Q");
    interface.wait_for("Waiting messages");
    interface.press("D");
    interface.wait_for("no message waits");
    interface.press(ESCAPE);
    interface.wait_for("x cancel the turn");
    interface.press("x");
    interface.wait_for("── cancelled");
}

#[test]
fn a_killed_host_is_found_again_and_nothing_is_lost() {
    let (directory, host) = project();
    let mut interface = Interface::start(directory.path(), 120, &[]);
    interface.run_first("echo before");
    interface.wait_for("── done");
    interface.send("");
    interface.press("half a sentence");
    interface.wait_for("half a sentence");
    // Dropping the host kills it.
    drop(host);
    interface.wait_for("no connection, retrying");
    let _again = Host::start(directory.path(), &["--listen", "127.0.0.1:0"]);
    interface.wait("connection", |screen| screen.starts_with("● "));
    let screen = interface.wait_for("half a sentence");
    assert!(screen.contains("│ before"), "{screen}");
    // The draft is the host's, so it is there again, also what was typed at last.
    interface.press(" and more");
    interface.wait_for("half a sentence and more");
    send(&interface, Signal::SIGTERM);
    interface.end();
    let again = Interface::start(directory.path(), 120, &[]);
    again.wait_for("half a sentence and more");
}

/// The note about the started host is in the interface, and not between its cells.
#[test]
fn a_host_is_started_again_inside_of_the_interface() {
    let (directory, host) = project();
    let path = directory.path();
    let mut interface = Interface::start(path, 100, &[]);
    interface.wait_for("new session in");
    drop(host);
    interface.wait_for("no connection, retrying");
    interface.press("H");
    interface.wait_for("started a host in the background");
    interface.wait("connection", |screen| screen.starts_with("● "));
    let screen = interface.wait("the end of the note", |screen| {
        !screen.contains("started a host")
    });
    assert!(screen.contains("new session in"), "{screen}");
    assert!(!screen.contains("agenthost stop"), "{screen}");
    interface.press("q");
    interface.end();
    let stopped = crate::commands::run(path, &["stop", "--yes"], "");
    assert!(stopped.status.success(), "{stopped:?}");
}

#[test]
fn a_new_session_has_the_environment_of_the_terminal() {
    let (directory, _host) = project();
    let variables = [("EDITOR", "unmistakable-editor"), ("MY_SECRET", "hidden")];
    let mut interface = Interface::start(directory.path(), 100, &variables);
    interface.run_first("echo \"<$EDITOR> <$MY_SECRET>\"");
    interface.wait_for("<unmistakable-editor> <>");
}

#[test]
fn a_resize_storm_leaves_a_whole_screen() {
    let (directory, _host) = project();
    let mut interface = Interface::start(directory.path(), 120, &[]);
    interface.run_first("seq 1 200");
    interface.wait_for("── done");
    for step in 0..200 {
        let columns = 20 + (step * 37) % 160;
        let rows = 5 + (step * 13) % 50;
        interface.master.resize(size(columns, rows)).unwrap();
    }
    {
        let mut state = interface.shown.0.lock().unwrap();
        let (rows, columns) = (30.try_into().unwrap(), 80.try_into().unwrap());
        state.parser.screen_mut().set_size(rows, columns);
    }
    interface.master.resize(size(80, 30)).unwrap();
    interface.press("\u{c}");
    let screen = interface.wait("a screen of 80 columns", |screen| {
        screen.lines().count() == 30 && screen.contains("── done") && screen.contains("i write")
    });
    assert!(screen.contains("│ 200"), "{screen}");
}

#[test]
fn ten_megabytes_of_output_are_shown_at_their_end() {
    let (directory, _host) = project();
    let mut interface = Interface::start(directory.path(), 100, &[]);
    interface.run_first("yes 0123456789 | head -c 10000000; echo; echo the-end");
    interface.wait_for("│ the-end");
    interface.wait_for("── done");
    let pid = interface.child.process_id().unwrap();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak: u64 = peak
        .unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap();
    assert!(peak < 200_000, "{peak} kB");
    interface.press("q");
    interface.end();
}

/// Rows with wide, joined and right-to-left characters are as wide as others: the line between the
/// panes stays where it is.
#[test]
fn wide_text_does_not_break_the_layout() {
    let (directory, _host) = project();
    let mut interface = Interface::start(directory.path(), 100, &[]);
    let text = "你好世界 👩\u{200d}💻👍🏽 שלום עולם e\u{301} ❤\u{fe0f} ｗｉｄｅ";
    interface.run_first(&format!("echo '{text}'"));
    interface.wait_for("── done");
    let state = interface.shown.0.lock().unwrap();
    let screen = state.parser.screen();
    let line = screen.contents();
    for row in 1..28 {
        let cell = screen.cell(row, 24).unwrap();
        assert_eq!(cell.contents(), "│", "row {row}:\n{line}");
    }
    assert!(line.contains("你好世界"), "{line}");
}

/// Output, titles and prompts can contain anything. None of it controls the terminal.
#[test]
fn no_escape_sequence_of_a_program_reaches_the_terminal() {
    let (directory, _host) = project();
    let path = directory.path();
    // A script, so that the sequences are in its output and in a file.
    let sequences = "\\033]0;PWNED\\007\\033]52;c;UFdORUQ=\\007\\033[5;5HMOVED\\033[?1049l\\033[31mRED\\033[0m\\n";
    let script = format!("printf '{sequences}' | tee hostile.txt; echo over");
    let mut interface = Interface::start(path, 120, &[]);
    interface.run_first(&script);
    interface.wait_for("── done");
    interface.wait_for("over");
    interface.press("c");
    interface.wait_for("1 file +1");
    interface.press("\r");
    interface.wait_for("file 1 of 1");
    interface.wait_for("PWNED");
    interface.press("q");
    interface.wait_for("A hostile.txt");
    interface.press("q");
    let raw = String::from_utf8_lossy(&interface.end()).into_owned();
    for sequence in ["\u{1b}]0;", "\u{1b}]52;", "\u{1b}[5;5HMOVED"] {
        assert!(!raw.contains(sequence), "{sequence:?}");
    }
    let leaves = raw.matches("\u{1b}[?1049l").count();
    assert_eq!(
        leaves, 1,
        "only the interface itself leaves the alternate screen"
    );
}

#[test]
fn nothing_is_written_while_nothing_changes() {
    let (directory, _host) = project();
    let mut interface = Interface::start(directory.path(), 100, &[]);
    interface.run_first("echo done");
    interface.wait_for("── done");
    // Messages in the footer end by time.
    interface.wait("keys of the chat", |screen| screen.contains("i write"));
    let before = interface.written();
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(interface.written(), before);
}

#[test]
fn signals_restore_the_terminal() {
    let (directory, _host) = project();
    for signal in [Signal::SIGTERM, Signal::SIGHUP] {
        let mut interface = Interface::start(directory.path(), 100, &[]);
        interface.wait_for("new session in");
        send(&interface, signal);
        interface.end();
    }
}

#[test]
fn colours_are_left_out_and_a_dumb_terminal_is_refused() {
    let (directory, _host) = project();
    let mut interface = Interface::start(directory.path(), 100, &[("NO_COLOR", "1")]);
    interface.run_first("printf '\\033[31mred\\033[0m\\n'");
    interface.wait_for("── done");
    interface.press("q");
    let raw = String::from_utf8_lossy(&interface.end()).into_owned();
    for color in ["\u{1b}[38;5;", "\u{1b}[31m", "\u{1b}[36m"] {
        assert!(!raw.contains(color), "{color:?}");
    }
    let interface = Interface::start(directory.path(), 100, &[("TERM", "dumb")]);
    let screen = interface.wait_for("hint:");
    assert!(screen.contains("agenthost attach"), "{screen}");
}
