//! Reads the output of a terminal until the program exits.

use std::io::{ErrorKind, Read};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agenthost_core::{COMMAND_PREVIEW_BYTES, TerminalEnd, TerminalEvent};
use agenthost_protocol::terminal::OutputTail;
use filedescriptor::{Error, FileDescriptor, POLLERR, POLLHUP, POLLIN, poll, pollfd};

use super::exit::{ExitState, ProcessExit};
use super::full_output::{FullOutput, OutputSink};
use super::osc::OscParser;
use super::program::{PtyProgram, ShellIntegration};

/// Maximum size of a chunk. A single read returns less.
const CHUNK_BYTES: usize = 64 * 1024;

/// Maximum number of bytes that are read after the exit of the program. The buffer of a
/// terminal is smaller.
const DRAIN_BYTES: usize = 1024 * 1024;

/// Timeout for the command line after a shell has started a command.
const COMMAND_LINE_TIMEOUT: Duration = Duration::from_millis(50);

/// Reads the output of a terminal and sends it as events.
pub(super) struct OutputReader {
    pub(super) bytes: FileDescriptor,
    /// Becomes readable when the program has exited.
    pub(super) exit_pipe: FileDescriptor,
    pub(super) exit_state: Arc<ExitState>,
    /// Integration of the shell, kept until the shell has read its files.
    pub(super) integration: Option<ShellIntegration>,
    pub(super) program: PtyProgram,
    /// Store for the full output of a command.
    pub(super) output_sink: Option<OutputSink>,
}

/// Result of waiting for output.
enum ReadOutcome {
    Readable,
    /// The program has exited, and all output was read.
    Exited,
    /// No output arrived before the timeout.
    TimedOut,
}

impl OutputReader {
    /// Sends output and exit events. The exit is sent when the program itself has exited, even
    /// if its descendants keep the terminal open.
    pub(super) fn read(mut self, mut on_event: impl FnMut(TerminalEvent)) {
        let nonce = self.integration.as_ref().map(|it| it.nonce.clone());
        let mut sequences = OscParser::new(nonce);
        let mut flow = OutputFlow::new(&self.program, self.output_sink.take());
        let mut rest = DRAIN_BYTES;
        let mut piece = Vec::with_capacity(CHUNK_BYTES);
        while rest > 0 {
            let timeout = sequences
                .is_command_pending()
                .then_some(COMMAND_LINE_TIMEOUT);
            match self.wait_readable(timeout) {
                ReadOutcome::Readable => {}
                ReadOutcome::TimedOut => {
                    sequences.release_held().into_iter().for_each(&mut on_event);
                    continue;
                }
                ReadOutcome::Exited => break,
            }
            let open = self.read_chunk(&mut piece);
            if self.exit_state.has_exited() {
                rest = rest.saturating_sub(piece.len());
            }
            flow.delay_flood(piece.len());
            for event in sequences.push(&piece) {
                // The shell has read its integration files, so they can be removed.
                if event == TerminalEvent::CommandDetectionEnabled {
                    self.integration = None;
                }
                flow.record(&event);
                on_event(event);
            }
            piece.clear();
            if !open {
                break;
            }
        }
        for event in sequences.finish() {
            flow.record(&event);
            on_event(event);
        }
        // The program may have closed the terminal and keep running.
        let end = self.exit_state.wait_for_exit();
        on_event(TerminalEvent::Exited(flow.finish(end)));
    }

    /// Reads the available output. Returns `false` at the end of the stream.
    fn read_chunk(&mut self, piece: &mut Vec<u8>) -> bool {
        let mut buffer = [0; 8 * 1024];
        while piece.len() < CHUNK_BYTES {
            match self.bytes.read(&mut buffer) {
                // The end of a terminal is an error (`EIO`) on Linux.
                Ok(0) | Err(_) => return false,
                Ok(count) => piece.extend_from_slice(buffer.get(..count).unwrap_or_default()),
            }
            match self.wait_readable(Some(Duration::ZERO)) {
                ReadOutcome::Readable => {}
                ReadOutcome::Exited | ReadOutcome::TimedOut => break,
            }
        }
        true
    }

    /// Waits for output or the exit. Output takes precedence.
    fn wait_readable(&self, timeout: Option<Duration>) -> ReadOutcome {
        let watch = |descriptor: &FileDescriptor| pollfd {
            fd: descriptor.as_raw_fd(),
            events: POLLIN,
            revents: 0,
        };
        let mut watched = [watch(&self.bytes), watch(&self.exit_pipe)];
        loop {
            let found = poll(&mut watched, timeout);
            let [bytes, over] = watched;
            let something = POLLIN | POLLHUP | POLLERR;
            match found {
                // `poll` was interrupted by a signal and is repeated.
                Err(Error::Poll(error)) if error.kind() == ErrorKind::Interrupted => {}
                // The next read returns the error.
                Err(_) => return ReadOutcome::Readable,
                Ok(_) if bytes.revents & something != 0 => return ReadOutcome::Readable,
                Ok(_) if over.revents & something != 0 => return ReadOutcome::Exited,
                Ok(_) if timeout.is_some() => return ReadOutcome::TimedOut,
                Ok(_) => {}
            }
        }
    }
}

/// Handling of the output by program. For a command the tail is kept for its preview, and a
/// flood of output is delayed once, so that clients can subscribe before it.
enum OutputFlow {
    Shell,
    Command {
        announced: Instant,
        sent: usize,
        tail: OutputTail,
        full_output: Option<FullOutput>,
    },
}

impl OutputFlow {
    const FLOOD_BYTES: usize = 256 * 1024;
    const SUBSCRIBE_DELAY: Duration = Duration::from_millis(100);

    fn new(program: &PtyProgram, output_sink: Option<OutputSink>) -> Self {
        match program {
            PtyProgram::Shell(_) => OutputFlow::Shell,
            PtyProgram::Command(_) | PtyProgram::Exec(_) => OutputFlow::Command {
                announced: Instant::now(),
                sent: 0,
                tail: OutputTail::new(COMMAND_PREVIEW_BYTES),
                // A command runs even if its output can't be stored.
                full_output: output_sink
                    .and_then(|output_sink| FullOutput::create(output_sink).ok()),
            },
        }
    }

    fn delay_flood(&mut self, bytes: usize) {
        if let OutputFlow::Command {
            announced, sent, ..
        } = self
        {
            *sent += bytes;
            if *sent > Self::FLOOD_BYTES {
                std::thread::sleep(Self::SUBSCRIBE_DELAY.saturating_sub(announced.elapsed()));
            }
        }
    }

    fn record(&mut self, event: &TerminalEvent) {
        if let (
            OutputFlow::Command {
                tail,
                full_output: whole,
                ..
            },
            TerminalEvent::Output(output),
        ) = (self, event)
        {
            tail.push(&output.data);
            let kept = whole.as_mut().map(|whole| whole.push(&output.data));
            // Incomplete output would look complete.
            if matches!(kept, Some(Err(_))) {
                *whole = None;
            }
        }
    }

    fn finish(self, end: ProcessExit) -> TerminalEnd {
        let ProcessExit { exit_code, signal } = end;
        match self {
            OutputFlow::Shell => TerminalEnd {
                exit_code,
                signal,
                ..TerminalEnd::default()
            },
            OutputFlow::Command {
                tail,
                full_output: whole,
                ..
            } => {
                let (preview, truncated) = tail.finish();
                let whole = whole.filter(|_| truncated);
                TerminalEnd {
                    exit_code,
                    signal,
                    preview: Some(preview),
                    truncated,
                    full_output: whole.and_then(|whole| whole.finish().ok()),
                }
            }
        }
    }
}
