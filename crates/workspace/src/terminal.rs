//! Runs a shell or a command in a pseudoterminal.

pub(crate) mod exit;
pub(crate) mod full_output;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzz;
pub(crate) mod osc;
mod output;
mod program;
pub(crate) mod shell_marks;

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use agenthost_core::{PtyCommand, TerminalEvent};
use agenthost_process::{PidFile, ProcessSession};
use agenthost_protocol::uri::Uri;
use agenthost_stdx::result::IgnoreResult;
use agenthost_stdx::sync::lock;
use filedescriptor::{FileDescriptor, Pipe};
use portable_pty::{MasterPty, PtySize, native_pty_system};

use crate::file_uri::path_of;
use exit::ExitState;
use output::OutputReader;
use program::PreparedProgram;

pub use full_output::OutputSink;
pub use program::{ExecSpec, PtyProgram, ShellSpec, ShellStartup};

/// Capacity of the input queue, for a program that does not read. When the queue is full,
/// further input is rejected.
const INPUT_QUEUE_LEN: usize = 1_000;

/// Maximum length of a command line. The limit of the system for one argument is 128 KiB.
const MAX_COMMAND_BYTES: usize = 120 * 1024;

/// Time that the program of a terminal has to exit after the terminate signal.
pub const EXIT_GRACE: Duration = Duration::from_millis(300);

/// A terminal and its processes. On drop all of them are killed, except for those that a shell
/// left running when it exited by itself.
pub struct Terminal {
    // `MasterPty` is not `Sync`.
    master: Mutex<Box<dyn MasterPty + Send>>,
    input: SyncSender<String>,
    session: Option<ProcessSession>,
    exit_state: Arc<ExitState>,
    /// Removed with the terminal.
    _pid_file: Option<PidFile>,
}

/// The settings of a new terminal.
#[derive(Clone)]
pub struct TerminalOptions {
    /// The program that runs in the terminal.
    pub program: PtyProgram,
    /// Variables that are added to those of the host. A program with its complete environment
    /// does not get them.
    pub environment: Vec<(OsString, OsString)>,
    /// Working directory; the user's home directory by default.
    pub directory: Option<Uri>,
    /// The width in columns.
    pub cols: u64,
    /// The height in rows.
    pub rows: u64,
    /// Directory for the pid file. With it, the next host kills the program if this host is
    /// killed.
    pub pid_dir: Option<Arc<Path>>,
    /// Store for the output of a command that is too long for its preview.
    pub output_sink: Option<OutputSink>,
}

/// Leaves out the values of the environment, which may be secret.
impl std::fmt::Debug for TerminalOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TerminalOptions")
            .field("program", &self.program)
            .field("directory", &self.directory)
            .finish_non_exhaustive()
    }
}

/// The error of a terminal operation, as text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TerminalError(String);

impl TerminalError {
    fn of(error: impl std::fmt::Display) -> Self {
        TerminalError(error.to_string())
    }
}

impl std::fmt::Debug for Terminal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Terminal")
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

impl Terminal {
    /// Starts a program in a new terminal and sends its events to `on_event`. The program's
    /// writes block while `on_event` does.
    ///
    /// # Errors
    ///
    /// Returns an error if the directory or the program does not exist, or if the system has no
    /// free terminal.
    pub fn open(
        options: &TerminalOptions,
        on_event: impl FnMut(TerminalEvent) + Send + 'static,
    ) -> Result<Self, TerminalError> {
        let directory = start_directory(options)?;
        if let PtyProgram::Command(line) = &options.program
            && line.0.len() > MAX_COMMAND_BYTES
        {
            return Err(TerminalError::of("the command is too long"));
        }
        let pair = native_pty_system().openpty(pty_size(options.cols, options.rows));
        let pair = pair.map_err(TerminalError::of)?;
        let descriptor = pair.master.as_raw_fd();
        let descriptor = descriptor
            .ok_or_else(|| TerminalError::of("the pseudoterminal has no file descriptor"))?;
        let bytes = FileDescriptor::dup(&descriptor).map_err(TerminalError::of)?;
        let writer = pair.master.take_writer().map_err(TerminalError::of)?;
        let over = Pipe::new().map_err(TerminalError::of)?;
        let PreparedProgram {
            mut command,
            integration,
        } = PreparedProgram::new(&options.program, &options.environment);
        command.cwd(directory);
        let child = pair.slave.spawn_command(command);
        let mut child = child.map_err(TerminalError::of)?;
        // While the host has the slave open, the output never ends.
        drop(pair.slave);
        let process = child.process_id();
        let (input, to_write) = sync_channel(INPUT_QUEUE_LEN);
        let mut terminal = Terminal {
            master: Mutex::new(pair.master),
            input,
            session: process.map(|leader| options.program.session(leader)),
            exit_state: Arc::default(),
            _pid_file: None,
        };
        // An error from here on drops the terminal, which kills the program.
        if let (Some(notes), Some(process)) = (&options.pid_dir, process) {
            let note = PidFile::create(notes, process, None);
            terminal._pid_file = Some(note.map_err(TerminalError::of)?);
        }
        spawn_thread("terminal input", move || write_input(writer, &to_write))?;
        let output = OutputReader {
            bytes,
            exit_pipe: over.read,
            exit_state: Arc::clone(&terminal.exit_state),
            integration,
            program: options.program.clone(),
            output_sink: options.output_sink.clone(),
        };
        spawn_thread("terminal output", move || output.read(on_event))?;
        let (life, ends) = (Arc::clone(&terminal.exit_state), over.write);
        spawn_thread("terminal end", move || {
            life.set_exited(child.wait().ok());
            drop(ends);
        })?;
        Ok(terminal)
    }

    /// Executes a write or a resize. The owner of the terminal handles opening and closing.
    pub fn execute(&self, command: PtyCommand) {
        let done = match command {
            PtyCommand::Write(typed) => self.write(typed.data),
            PtyCommand::Resize { cols, rows } => self.resize(cols, rows),
            PtyCommand::Open { .. } | PtyCommand::Close => Ok(()),
        };
        // The program has exited or does not read. The input is lost, as in any terminal.
        done.ignore_closed();
    }

    /// Queues input for the program.
    ///
    /// # Errors
    ///
    /// Returns an error if the input queue is full or the program has exited.
    pub fn write(&self, text: String) -> Result<(), TerminalError> {
        let sent = self.input.try_send(text);
        sent.map_err(|_| TerminalError::of("the input queue of the terminal is full or closed"))
    }

    /// Changes the size of the terminal.
    ///
    /// # Errors
    ///
    /// Returns an error if the system refuses the size.
    pub fn resize(&self, cols: u64, rows: u64) -> Result<(), TerminalError> {
        let master = lock(&self.master);
        master
            .resize(pty_size(cols, rows))
            .map_err(TerminalError::of)
    }

    /// Sends the terminate signal to all processes of the terminal, and does not wait.
    pub fn terminate(&self) {
        if let Some(session) = &self.session
            && !self.exit_state.has_exited()
        {
            session.terminate();
        }
    }

    /// Waits until the program has exited, or the deadline has passed.
    pub fn wait_until(&self, deadline: Instant) {
        self.exit_state.wait_until(deadline);
    }

    /// Closes terminals: sends the terminate signal to all of them, waits once for
    /// [`EXIT_GRACE`], and kills the rest.
    pub fn close_all(terminals: Vec<Terminal>) {
        for terminal in &terminals {
            terminal.terminate();
        }
        let deadline = Instant::now() + EXIT_GRACE;
        for terminal in &terminals {
            terminal.wait_until(deadline);
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if let Some(session) = &self.session {
            session.kill(self.exit_state.leader_state());
        }
    }
}

fn spawn_thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), TerminalError> {
    let thread = std::thread::Builder::new().name(name.to_owned());
    thread.spawn(work).map(drop).map_err(TerminalError::of)
}

fn start_directory(options: &TerminalOptions) -> Result<PathBuf, TerminalError> {
    let directory = match &options.directory {
        Some(uri) => path_of(uri),
        None => std::env::home_dir(),
    };
    let directory = directory.unwrap_or_else(|| PathBuf::from("/"));
    if !directory.is_dir() {
        return Err(TerminalError::of("the folder does not exist"));
    }
    Ok(directory)
}

fn pty_size(cols: u64, rows: u64) -> PtySize {
    PtySize {
        rows: u16::try_from(rows).unwrap_or(u16::MAX),
        cols: u16::try_from(cols).unwrap_or(u16::MAX),
        pixel_width: 0,
        pixel_height: 0,
    }
}

/// Writes queued input until the terminal is dropped.
fn write_input(mut writer: Box<dyn Write + Send>, typed: &Receiver<String>) {
    while let Ok(text) = typed.recv() {
        let written = writer
            .write_all(text.as_bytes())
            .and_then(|()| writer.flush());
        // The write failed, because the program has exited.
        if written.is_err() {
            return;
        }
    }
}
