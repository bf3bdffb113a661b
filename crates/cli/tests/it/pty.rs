//! Commands in a real pseudoterminal, and the screen that a user sees.

use std::io::{Read, Write};
use std::num::NonZero;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

/// Timeout for a screen that a test waits for.
const SCREEN_TIMEOUT: Duration = Duration::from_secs(30);

/// Lines of the scrollback that are kept.
const SCROLLBACK: usize = 2_000;

/// A command in a pseudoterminal.
pub(crate) struct Pty {
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    writer: Box<dyn Write + Send>,
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    parser: vt100::Parser,
    /// Everything that was written, with its escape sequences.
    raw: String,
    ended: bool,
}

/// Returns a command that runs `agenthost` with the files of a directory.
pub(crate) fn command(directory: &Path, arguments: &[&str]) -> CommandBuilder {
    program(directory, env!("CARGO_BIN_EXE_agenthost"), arguments)
}

/// Returns a command that runs a program with the files of a directory.
pub(crate) fn program(directory: &Path, program: &str, arguments: &[&str]) -> CommandBuilder {
    crate::commands::configuration(directory);
    let mut command = CommandBuilder::new(program);
    command.args(arguments);
    for (name, folder) in [
        ("XDG_DATA_HOME", "data"),
        ("XDG_CONFIG_HOME", "config"),
        ("XDG_STATE_HOME", "state"),
        ("HOME", "home"),
    ] {
        command.env(name, directory.join(folder));
    }
    command.env("AGENTHOST_TEMPORARY", "true");
    command.env("TERM", "xterm-256color");
    command.env_remove("NO_COLOR");
    command.cwd(directory);
    command
}

fn cells(count: u16) -> NonZero<u16> {
    NonZero::new(count).unwrap()
}

fn pty_size(rows: u16, cols: u16) -> PtySize {
    PtySize {
        rows,
        cols,
        pixel_width: 0,
        pixel_height: 0,
    }
}

impl Pty {
    /// Runs `agenthost` in a terminal of 24 rows and 100 columns.
    pub(crate) fn run(directory: &Path, arguments: &[&str]) -> Self {
        Self::start(command(directory, arguments), 24, 100)
    }

    pub(crate) fn start(command: CommandBuilder, rows: u16, cols: u16) -> Self {
        let pty = native_pty_system().openpty(pty_size(rows, cols)).unwrap();
        let child = pty.slave.spawn_command(command).unwrap();
        drop(pty.slave);
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                parser: vt100::Parser::new(cells(rows), cells(cols), SCROLLBACK),
                raw: String::new(),
                ended: false,
            }),
            changed: Condvar::new(),
        });
        let mut reader = pty.master.try_clone_reader().unwrap();
        let writer = pty.master.take_writer().unwrap();
        let seen = Arc::clone(&shared);
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut piece) {
                let mut state = seen.state.lock().unwrap();
                state.parser.process(&piece[..count]);
                let text = String::from_utf8_lossy(&piece[..count]).into_owned();
                state.raw.push_str(&text);
                seen.changed.notify_all();
            }
            seen.state.lock().unwrap().ended = true;
            seen.changed.notify_all();
        });
        Pty {
            child,
            master: pty.master,
            writer,
            shared,
        }
    }

    /// Types keys.
    pub(crate) fn keys(&mut self, keys: &str) {
        self.writer.write_all(keys.as_bytes()).unwrap();
        self.writer.flush().unwrap();
    }

    /// Types a line and Enter.
    pub(crate) fn line(&mut self, line: &str) {
        self.keys(&format!("{line}\r"));
    }

    /// Pastes a text as terminals do if the program asks for it.
    pub(crate) fn paste(&mut self, text: &str) {
        let text = text.replace('\n', "\r");
        self.keys(&format!("\u{1b}[200~{text}\u{1b}[201~"));
    }

    pub(crate) fn resize(&self, rows: u16, cols: u16) {
        let mut state = self.shared.state.lock().unwrap();
        state.parser.screen_mut().set_size(cells(rows), cells(cols));
        self.master.resize(pty_size(rows, cols)).unwrap();
    }

    /// Returns the rows of the screen, without spaces at their ends and empty rows at its end.
    pub(crate) fn screen(&self) -> String {
        screen_of(&self.shared.state.lock().unwrap())
    }

    /// Returns everything that was written, with its escape sequences.
    pub(crate) fn raw(&self) -> String {
        self.shared.state.lock().unwrap().raw.clone()
    }

    /// Waits until the screen satisfies a condition, and returns it.
    pub(crate) fn wait_until(&self, what: &str, condition: impl Fn(&str) -> bool) -> String {
        let state = self.shared.state.lock().unwrap();
        let waits = |state: &mut State| !condition(&screen_of(state)) && !state.ended;
        let waited = self
            .shared
            .changed
            .wait_timeout_while(state, SCREEN_TIMEOUT, waits);
        let (state, _) = waited.unwrap();
        let screen = screen_of(&state);
        assert!(
            condition(&screen),
            "no {what} on the screen:\n{screen}\n\n{:?}",
            state.raw
        );
        screen
    }

    /// Waits until a text is on the screen.
    pub(crate) fn wait(&self, text: &str) -> String {
        self.wait_until(&format!("{text:?}"), |screen| screen.contains(text))
    }

    /// Waits until the command has ended, and returns its exit code.
    pub(crate) fn exit_code(&mut self) -> u32 {
        let code = self.child.wait().unwrap().exit_code();
        let state = self.shared.state.lock().unwrap();
        let reads = |state: &mut State| !state.ended;
        drop(
            self.shared
                .changed
                .wait_timeout_while(state, SCREEN_TIMEOUT, reads),
        );
        code
    }
}

fn screen_of(state: &State) -> String {
    let screen = state.parser.screen();
    let (_, cols) = screen.size();
    let rows = screen
        .rows(0, cols.get())
        .map(|row| row.trim_end().to_owned());
    let rows: Vec<_> = rows.collect();
    rows.join("\n").trim_end().to_owned()
}

impl Drop for Pty {
    fn drop(&mut self) {
        // The command has ended already, unless the test fails.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
