//! Buffers output for a stdout that is slower than the host.
//!
//! The host does not wait for slow clients. So `run` and `attach` read at the speed of the host,
//! and the output that stdout does not accept yet is buffered here: a limited part in memory,
//! the rest in an unnamed temporary file that other users cannot read.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::Notify;

/// Maximum number of buffered bytes in memory. Further output is spilled to the file.
const MAX_MEMORY_BYTES: usize = 4 * 1024 * 1024;

/// Maximum number of bytes that are written at a time.
const MAX_CHUNK_BYTES: usize = 256 * 1024;

/// Maximum time that a note waits until the output before it has been written.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// Buffered output and the thread that writes it to stdout.
pub(crate) struct OutputSpool {
    shared: Arc<SpoolShared>,
    thread: Option<JoinHandle<()>>,
}

struct SpoolShared {
    state: Mutex<SpoolState>,
    changed: Condvar,
    /// Notified when writing to stdout has failed, for example because its reader has
    /// exited.
    reader_gone: Notify,
}

#[derive(Default)]
struct SpoolState {
    /// Chunks that are written first.
    memory: VecDeque<Vec<u8>>,
    bytes: usize,
    /// Spilled bytes that are written after `memory`: from offset `read` to `written`.
    file: Option<File>,
    read: u64,
    written: u64,
    /// `true` while a chunk is being written.
    writing: bool,
    /// `true` if no more output will follow.
    finished: bool,
    /// The error that ended the writer thread.
    write_error: Option<io::Error>,
}

impl OutputSpool {
    /// Starts to write to stdout.
    pub(crate) fn start() -> Self {
        Self::start_with(Box::new(io::stdout()))
    }

    /// Starts to write to a target.
    pub(crate) fn start_with(target: Box<dyn Write + Send>) -> Self {
        let shared = Arc::new(SpoolShared {
            state: Mutex::default(),
            changed: Condvar::new(),
            reader_gone: Notify::new(),
        });
        let writer = Arc::clone(&shared);
        let thread = std::thread::spawn(move || writer.run_writer(target));
        OutputSpool {
            shared,
            thread: Some(thread),
        }
    }

    /// Appends text to the buffer. Never waits for stdout.
    pub(crate) fn write(&self, text: &str) -> io::Result<()> {
        let mut state = self.shared.lock();
        if state.write_error.is_some() {
            return Ok(());
        }
        let spilled = state.read < state.written;
        if !spilled && state.bytes < MAX_MEMORY_BYTES {
            state.bytes += text.len();
            state.memory.push_back(text.as_bytes().to_vec());
        } else {
            state.spill(text.as_bytes())?;
        }
        self.shared.changed.notify_all();
        Ok(())
    }

    /// Waits up to [`FLUSH_TIMEOUT`] until all buffered output has been written, so that a
    /// note on stderr appears after it.
    pub(crate) fn wait_flushed(&self) {
        let state = self.shared.lock();
        let open = |state: &mut SpoolState| {
            let waits = !state.memory.is_empty() || state.read < state.written;
            (waits || state.writing) && state.write_error.is_none()
        };
        // A longer wait means that the user has paused the terminal.
        let settled = self
            .shared
            .changed
            .wait_timeout_while(state, FLUSH_TIMEOUT, open);
        drop(settled);
    }

    /// Waits until writing to stdout has failed.
    pub(crate) async fn wait_closed(&self) {
        self.shared.reader_gone.notified().await;
    }

    /// Waits until all output has been written. A closed pipe is not an error, because
    /// readers such as `head` stop early.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.drain();
        match self.shared.lock().write_error.take() {
            Some(error) if error.kind() != ErrorKind::BrokenPipe => Err(error),
            _ => Ok(()),
        }
    }
}

impl OutputSpool {
    fn drain(&mut self) {
        self.shared.lock().finished = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // A panic of the writer thread means that stdout is unusable.
            drop(thread.join());
        }
    }
}

/// Writes the buffered output even if the command fails.
impl Drop for OutputSpool {
    fn drop(&mut self) {
        self.drain();
    }
}

impl SpoolShared {
    fn lock(&self) -> MutexGuard<'_, SpoolState> {
        self.state
            .lock()
            .unwrap_or_else(|broken| broken.into_inner())
    }

    fn run_writer(&self, mut target: Box<dyn Write + Send>) {
        loop {
            let mut state = self.lock();
            let piece = loop {
                match state.next_chunk() {
                    Ok(Some(piece)) => break Ok(piece),
                    Err(error) => break Err(error),
                    Ok(None) if state.finished => return,
                    Ok(None) => {
                        let waited = self.changed.wait(state);
                        state = waited.unwrap_or_else(|broken| broken.into_inner());
                    }
                }
            };
            state.writing = true;
            drop(state);
            let written = piece.and_then(|piece| target.write_all(&piece));
            if let Err(error) = written.and_then(|()| target.flush()) {
                self.lock().write_error = Some(error);
                self.reader_gone.notify_one();
                self.changed.notify_all();
                return;
            }
            self.lock().writing = false;
            self.changed.notify_all();
        }
    }
}

impl SpoolState {
    fn spill(&mut self, bytes: &[u8]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        file.seek(SeekFrom::Start(self.written))?;
        file.write_all(bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    fn next_chunk(&mut self) -> io::Result<Option<Vec<u8>>> {
        if let Some(mut piece) = self.memory.pop_front() {
            // Many small pieces are one write.
            while let Some(next) = self.memory.front()
                && piece.len() + next.len() <= MAX_CHUNK_BYTES
            {
                piece.extend_from_slice(next);
                self.memory.pop_front();
            }
            // `bytes` counts what is in memory.
            self.bytes = self.bytes.saturating_sub(piece.len());
            return Ok(Some(piece));
        }
        let Some(file) = self.file.as_mut().filter(|_| self.read < self.written) else {
            return Ok(None);
        };
        file.seek(SeekFrom::Start(self.read))?;
        let mut piece = Vec::new();
        file.take(MAX_CHUNK_BYTES as u64).read_to_end(&mut piece)?;
        self.read += piece.len() as u64;
        if self.read == self.written {
            // The file is drained, so its space can be reused from the start.
            (self.read, self.written) = (0, 0);
        }
        Ok(Some(piece))
    }
}
