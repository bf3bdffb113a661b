//! A shell in a terminal of its own.

mod sequences;

use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use agenthost_core::TerminalEvent;
use agenthost_protocol::uri::Uri;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use crate::address::path_of;
use sequences::Sequences;

/// Pieces of input that wait for a program that does not read.
const TYPED: usize = 1_000;

/// How long a shell has to end by itself.
const GRACE: Duration = Duration::from_millis(300);

/// A shell that runs until it is dropped, with all that it started.
pub struct Terminal {
    master: Box<dyn MasterPty + Send>,
    typed: SyncSender<String>,
    group: Option<Pid>,
    /// Whether the shell has ended: then its number may be somebody else's.
    ended: Arc<AtomicBool>,
}

/// How a terminal starts.
#[derive(Debug, Clone)]
pub struct TerminalStart {
    /// Where; the user's home if nobody says.
    pub directory: Option<Uri>,
    /// How wide.
    pub cols: u64,
    /// How high.
    pub rows: u64,
}

/// Why a terminal could not do something.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TerminalError(String);

impl std::fmt::Debug for Terminal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Terminal")
            .field("group", &self.group)
            .finish_non_exhaustive()
    }
}

impl Terminal {
    /// Starts a shell. What happens goes to `tell`; while that waits, so does
    /// whatever writes to the terminal.
    ///
    /// # Errors
    ///
    /// If there is no such folder, or no shell, or no more terminals.
    pub fn open(
        start: &TerminalStart,
        tell: impl FnMut(TerminalEvent) + Send + 'static,
    ) -> Result<Self, TerminalError> {
        let failed = |error: &dyn std::fmt::Display| TerminalError(error.to_string());
        let directory = directory(start)?;
        let pair = native_pty_system().openpty(size(start.cols, start.rows));
        let pair = pair.map_err(|error| failed(&error))?;
        let mut command = CommandBuilder::new_default_prog();
        command.cwd(directory);
        command.env("TERM", "xterm-256color");
        command.env("COLORTERM", "truecolor");
        let child = pair.slave.spawn_command(command);
        let child = child.map_err(|error| failed(&error))?;
        // Without this the end of the shell would not be the end of the output.
        drop(pair.slave);
        let reader = pair
            .master
            .try_clone_reader()
            .map_err(|error| failed(&error))?;
        let writer = pair.master.take_writer().map_err(|error| failed(&error))?;
        let group = child.process_id().and_then(|id| i32::try_from(id).ok());
        let (typed, to_write) = sync_channel(TYPED);
        spawn("terminal input", move || write(writer, &to_write))?;
        let ended = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&ended);
        spawn("terminal output", move || read(reader, child, &over, tell))?;
        Ok(Terminal {
            master: pair.master,
            typed,
            group: group.map(Pid::from_raw),
            ended,
        })
    }

    /// Passes on what was typed.
    ///
    /// # Errors
    ///
    /// If nobody reads it and too much waits already, or the shell has ended.
    pub fn write(&self, text: String) -> Result<(), TerminalError> {
        let sent = self.typed.try_send(text);
        sent.map_err(|_| TerminalError("nothing more can be typed".to_owned()))
    }

    /// It has another size.
    ///
    /// # Errors
    ///
    /// If the system does not let us.
    pub fn resize(&self, cols: u64, rows: u64) -> Result<(), TerminalError> {
        let resized = self.master.resize(size(cols, rows));
        resized.map_err(|error| TerminalError(error.to_string()))
    }
}

/// All that runs in it ends: politely, then not.
impl Drop for Terminal {
    fn drop(&mut self) {
        let runs = |_: &Pid| !self.ended.load(Ordering::Acquire);
        let Some(group) = self.group.filter(runs) else {
            return;
        };
        // It may have ended by itself.
        killpg(group, Signal::SIGHUP).unwrap_or_default();
        let deadline = Instant::now() + GRACE;
        while runs(&group) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        if runs(&group) {
            killpg(group, Signal::SIGKILL).unwrap_or_default();
        }
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), TerminalError> {
    let thread = std::thread::Builder::new().name(name.to_owned());
    let thread = thread.spawn(work);
    thread
        .map(drop)
        .map_err(|error| TerminalError(error.to_string()))
}

fn directory(start: &TerminalStart) -> Result<PathBuf, TerminalError> {
    let directory = match &start.directory {
        Some(uri) => path_of(uri),
        None => std::env::home_dir(),
    };
    let directory = directory.unwrap_or_else(|| PathBuf::from("/"));
    if !directory.is_dir() {
        return Err(TerminalError("the folder is not there".to_owned()));
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
        // Nobody reads: the shell has ended.
        if written.is_err() {
            return;
        }
    }
}

/// Tells what is written until there is no more, and how it ended.
fn read(
    mut reader: Box<dyn Read + Send>,
    mut child: Box<dyn Child + Send + Sync>,
    ended: &AtomicBool,
    mut tell: impl FnMut(TerminalEvent),
) {
    let mut sequences = Sequences::default();
    let mut buffer = vec![0; 16 * 1024];
    loop {
        match reader.read(&mut buffer) {
            // The system's word for the end of a terminal is an error.
            Ok(0) | Err(_) => break,
            Ok(count) => {
                let bytes = buffer.get(..count).unwrap_or_default();
                for event in sequences.read(bytes) {
                    tell(event);
                }
            }
        }
    }
    for event in sequences.finish() {
        tell(event);
    }
    let exit_code = child
        .wait()
        .ok()
        .map(|status| i64::from(status.exit_code()));
    ended.store(true, Ordering::Release);
    tell(TerminalEvent::Exited(exit_code));
}
