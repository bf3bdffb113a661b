//! A shell, or one command, in a terminal of its own.

pub(crate) mod exit;
pub(crate) mod full_output;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzz;
pub(crate) mod osc;
mod output;
mod program;
pub(crate) mod shell_marks;

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

/// Pieces of input that wait for a program that does not read. When there are
/// more, the next is refused.
const INPUT_QUEUE_LEN: usize = 1_000;

/// The longest command line. The system takes no longer arguments.
const MAX_COMMAND_BYTES: usize = 120 * 1024;

/// How long what runs in a terminal has to end by itself.
pub const EXIT_GRACE: Duration = Duration::from_millis(300);

/// A terminal with what runs in it. Dropped, all of that is killed; only what
/// a shell left running when it ended by itself is left alone.
pub struct Terminal {
    // Can be used by one thread at a time only.
    master: Mutex<Box<dyn MasterPty + Send>>,
    input: SyncSender<String>,
    session: Option<ProcessSession>,
    exit_state: Arc<ExitState>,
    /// Kept for as long as the program may run.
    _pid_file: Option<PidFile>,
}

/// How a terminal starts.
#[derive(Debug, Clone)]
pub struct TerminalOptions {
    /// The program that runs in the terminal.
    pub program: PtyProgram,
    /// Where; the user's home if nobody says.
    pub directory: Option<Uri>,
    /// The width in columns.
    pub cols: u64,
    /// The height in rows.
    pub rows: u64,
    /// The directory for the pid file, by which the next host ends it if this
    /// process is killed.
    pub pid_dir: Option<Arc<Path>>,
    /// Where the output of a command is kept when it is too long to be shown.
    pub output_sink: Option<OutputSink>,
}

/// Why a terminal could not do something.
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
    /// Starts a program in a new terminal. What happens goes to `tell`; while
    /// that waits, so does whatever writes to the terminal.
    ///
    /// # Errors
    ///
    /// If there is no such folder, or no such program, or no more terminals.
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
        let descriptor = descriptor.ok_or_else(|| TerminalError::of("the terminal has no file"))?;
        let bytes = FileDescriptor::dup(&descriptor).map_err(TerminalError::of)?;
        let writer = pair.master.take_writer().map_err(TerminalError::of)?;
        let over = Pipe::new().map_err(TerminalError::of)?;
        let PreparedProgram {
            mut command,
            integration,
        } = PreparedProgram::new(&options.program);
        command.cwd(directory);
        let child = pair.slave.spawn_command(command);
        let mut child = child.map_err(TerminalError::of)?;
        // Without this the end of the program would not be the end of the output.
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
        // From here on whatever fails ends what has begun.
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

    /// Does what somebody wants of it. To begin and to end it is not theirs.
    pub fn execute(&self, command: PtyCommand) {
        let done = match command {
            PtyCommand::Write(typed) => self.write(typed.data),
            PtyCommand::Resize { cols, rows } => self.resize(cols, rows),
            PtyCommand::Open { .. } | PtyCommand::Close => Ok(()),
        };
        // It ended meanwhile, or never reads: what was typed is lost, as it is
        // at any terminal.
        done.ignore_closed();
    }

    /// Passes on what was typed.
    ///
    /// # Errors
    ///
    /// If nobody reads it and too much waits already, or the program has ended.
    pub fn write(&self, text: String) -> Result<(), TerminalError> {
        let sent = self.input.try_send(text);
        sent.map_err(|_| TerminalError::of("nothing more can be typed"))
    }

    /// It has another size.
    ///
    /// # Errors
    ///
    /// If the system does not let us.
    pub fn resize(&self, cols: u64, rows: u64) -> Result<(), TerminalError> {
        let master = lock(&self.master);
        master
            .resize(pty_size(cols, rows))
            .map_err(TerminalError::of)
    }

    /// Asks all that runs in it to end, and does not wait for it.
    pub fn terminate(&self) {
        if let Some(session) = &self.session
            && !self.exit_state.has_exited()
        {
            session.terminate();
        }
    }

    /// Waits until the program has ended, but not for longer than this.
    pub fn wait_until(&self, deadline: Instant) {
        self.exit_state.wait_until(deadline);
    }

    /// Ends all that runs in some terminals: politely, then not. However many
    /// they are, it takes no longer than one.
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
        return Err(TerminalError::of("the folder is not there"));
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

/// Writes what was typed until nobody types any more.
fn write_input(mut writer: Box<dyn Write + Send>, typed: &Receiver<String>) {
    while let Ok(text) = typed.recv() {
        let written = writer
            .write_all(text.as_bytes())
            .and_then(|()| writer.flush());
        // Nobody reads: the program has ended.
        if written.is_err() {
            return;
        }
    }
}
