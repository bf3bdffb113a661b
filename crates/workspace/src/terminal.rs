//! A shell, or one command, in a terminal of its own.

mod ending;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod leftovers;
mod marks;
mod output;
mod program;
mod run_mark;
mod sequences;
mod whole;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use agenthost_core::{TerminalCommand, TerminalEvent};
use agenthost_protocol::uri::Uri;
use filedescriptor::{FileDescriptor, Pipe};
use nix::unistd::Pid;
use portable_pty::{MasterPty, PtySize, native_pty_system};

use crate::address::path_of;
use ending::{Life, Session};
use output::Output;
use program::Prepared;

pub use leftovers::{RunningNote, sweep};
pub use program::{Program, Run, Shell, Startup};
pub use run_mark::{RUN_VARIABLE, RunMark};
pub use whole::KeepOutput;

/// Pieces of input that wait for a program that does not read. When there are
/// more, the next is refused.
const TYPED: usize = 1_000;

/// The longest command line. The system takes no longer arguments.
const LINE: usize = 120 * 1024;

/// How long what runs in a terminal has to end by itself.
pub const GRACE: Duration = Duration::from_millis(300);

/// A terminal with what runs in it. Dropped, all of that is killed; only what
/// a shell left running when it ended by itself is left alone.
pub struct Terminal {
    // Can be used by one thread at a time only.
    master: Mutex<Box<dyn MasterPty + Send>>,
    typed: SyncSender<String>,
    session: Option<Session>,
    life: Arc<Life>,
    /// Kept for as long as the program may run.
    _record: Option<RunningNote>,
}

/// How a terminal starts.
#[derive(Debug, Clone)]
pub struct TerminalStart {
    /// What runs in it.
    pub program: Program,
    /// Where; the user's home if nobody says.
    pub directory: Option<Uri>,
    /// How wide.
    pub cols: u64,
    /// How high.
    pub rows: u64,
    /// Where it is noted that it runs, so that `sweep` can end it if this
    /// process is killed.
    pub notes: Option<Arc<Path>>,
    /// Where the output of a command is kept when it is too long to be shown.
    pub keep: Option<KeepOutput>,
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
        start: &TerminalStart,
        tell: impl FnMut(TerminalEvent) + Send + 'static,
    ) -> Result<Self, TerminalError> {
        let directory = directory(start)?;
        if let Program::Command(line) = &start.program
            && line.0.len() > LINE
        {
            return Err(TerminalError::of("the command is too long"));
        }
        let pair = native_pty_system().openpty(size(start.cols, start.rows));
        let pair = pair.map_err(TerminalError::of)?;
        let descriptor = pair.master.as_raw_fd();
        let descriptor = descriptor.ok_or_else(|| TerminalError::of("the terminal has no file"))?;
        let bytes = FileDescriptor::dup(&descriptor).map_err(TerminalError::of)?;
        let writer = pair.master.take_writer().map_err(TerminalError::of)?;
        let over = Pipe::new().map_err(TerminalError::of)?;
        let Prepared {
            mut command,
            integration,
        } = Prepared::new(&start.program);
        command.cwd(directory);
        let child = pair.slave.spawn_command(command);
        let mut child = child.map_err(TerminalError::of)?;
        // Without this the end of the program would not be the end of the output.
        drop(pair.slave);
        let process = child.process_id();
        let leader = process.and_then(|id| i32::try_from(id).ok());
        let leader = leader.map(Pid::from_raw);
        let (typed, to_write) = sync_channel(TYPED);
        let mut terminal = Terminal {
            master: Mutex::new(pair.master),
            typed,
            session: leader.map(|leader| Session::new(leader, &start.program)),
            life: Arc::default(),
            _record: None,
        };
        // From here on whatever fails ends what has begun.
        if let (Some(notes), Some(process)) = (&start.notes, process) {
            let note = RunningNote::write(notes, process, None);
            terminal._record = Some(note.map_err(TerminalError::of)?);
        }
        spawn("terminal input", move || write(writer, &to_write))?;
        let output = Output {
            bytes,
            over: over.read,
            life: Arc::clone(&terminal.life),
            integration,
            program: start.program.clone(),
            keep: start.keep.clone(),
        };
        spawn("terminal output", move || output.read(tell))?;
        let (life, ends) = (Arc::clone(&terminal.life), over.write);
        spawn("terminal end", move || {
            life.end(child.wait().ok());
            drop(ends);
        })?;
        Ok(terminal)
    }

    /// Does what somebody wants of it. To begin and to end it is not theirs.
    pub fn apply(&self, command: TerminalCommand) {
        let done = match command {
            TerminalCommand::Type(typed) => self.write(typed.data),
            TerminalCommand::Resize { cols, rows } => self.resize(cols, rows),
            TerminalCommand::Open { .. } | TerminalCommand::Close => Ok(()),
        };
        // It ended meanwhile, or never reads: what was typed is lost, as it is
        // at any terminal.
        done.unwrap_or_default();
    }

    /// Passes on what was typed.
    ///
    /// # Errors
    ///
    /// If nobody reads it and too much waits already, or the program has ended.
    pub fn write(&self, text: String) -> Result<(), TerminalError> {
        let sent = self.typed.try_send(text);
        sent.map_err(|_| TerminalError::of("nothing more can be typed"))
    }

    /// It has another size.
    ///
    /// # Errors
    ///
    /// If the system does not let us.
    pub fn resize(&self, cols: u64, rows: u64) -> Result<(), TerminalError> {
        let master = self.master.lock().unwrap_or_else(PoisonError::into_inner);
        master.resize(size(cols, rows)).map_err(TerminalError::of)
    }

    /// Asks all that runs in it to end, and does not wait for it.
    pub fn hang_up(&self) {
        if let Some(session) = &self.session
            && !self.life.is_over()
        {
            session.hang_up();
        }
    }

    /// Waits until the program has ended, but not for longer than this.
    pub fn wait(&self, deadline: Instant) {
        self.life.wait(deadline);
    }

    /// Ends all that runs in some terminals: politely, then not. However many
    /// they are, it takes no longer than one.
    pub fn close_all(terminals: Vec<Terminal>) {
        for terminal in &terminals {
            terminal.hang_up();
        }
        let deadline = Instant::now() + GRACE;
        for terminal in &terminals {
            terminal.wait(deadline);
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if let Some(session) = &self.session {
            session.kill(&self.life);
        }
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), TerminalError> {
    let thread = std::thread::Builder::new().name(name.to_owned());
    thread.spawn(work).map(drop).map_err(TerminalError::of)
}

fn directory(start: &TerminalStart) -> Result<PathBuf, TerminalError> {
    let directory = match &start.directory {
        Some(uri) => path_of(uri),
        None => std::env::home_dir(),
    };
    let directory = directory.unwrap_or_else(|| PathBuf::from("/"));
    if !directory.is_dir() {
        return Err(TerminalError::of("the folder is not there"));
    }
    Ok(directory)
}

fn size(cols: u64, rows: u64) -> PtySize {
    PtySize {
        rows: u16::try_from(rows).unwrap_or(u16::MAX),
        cols: u16::try_from(cols).unwrap_or(u16::MAX),
        pixel_width: 0,
        pixel_height: 0,
    }
}

/// Writes what was typed until nobody types any more.
fn write(mut writer: Box<dyn Write + Send>, typed: &Receiver<String>) {
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
