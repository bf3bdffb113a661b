//! What is written to a terminal, until there is no more.

use std::io::{ErrorKind, Read};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agenthost_core::{PREVIEW_BYTES, TerminalEnd, TerminalEvent};
use agenthost_protocol::terminal::OutputTail;
use filedescriptor::{Error, FileDescriptor, POLLERR, POLLHUP, POLLIN, poll, pollfd};

use super::ending::{End, Life};
use super::program::{Integration, Program};
use super::sequences::Sequences;
use super::whole::{KeepOutput, Whole};

/// Most bytes that are told at once. The system hands out less at a time.
const PIECE: usize = 64 * 1024;

/// Most bytes that are read after the end of the program: as much as a
/// terminal can hold, and then some.
const REST: usize = 1024 * 1024;

/// How long a shell may take to say which command it has begun.
const MOMENT: Duration = Duration::from_millis(50);

/// Where what is written comes from, and what has to be known about it.
pub(super) struct Output {
    pub(super) bytes: FileDescriptor,
    /// Can be read, to its end, when the program has ended.
    pub(super) over: FileDescriptor,
    pub(super) life: Arc<Life>,
    /// What the shell was given to tell of its commands.
    pub(super) integration: Option<Integration>,
    pub(super) program: Program,
    /// Where the output of a command is kept.
    pub(super) keep: Option<KeepOutput>,
}

/// What there is to do next.
enum Next {
    Read,
    /// The program has ended, and nothing more is there.
    End,
    /// Nothing is there now.
    Nothing,
}

impl Output {
    /// Tells what is written, and how it ended: when the program has, even if
    /// something that it started still has the terminal open.
    pub(super) fn read(mut self, mut tell: impl FnMut(TerminalEvent)) {
        let nonce = self.integration.as_ref().map(|it| it.nonce.clone());
        let mut sequences = Sequences::new(nonce);
        let mut flow = Flow::new(&self.program, self.keep.take());
        let mut rest = REST;
        let mut piece = Vec::with_capacity(PIECE);
        while rest > 0 {
            let patience = sequences.is_waiting().then_some(MOMENT);
            match self.next(patience) {
                Next::Read => {}
                Next::Nothing => {
                    sequences.give_up().into_iter().for_each(&mut tell);
                    continue;
                }
                Next::End => break,
            }
            let open = self.fill(&mut piece);
            if self.life.is_over() {
                rest = rest.saturating_sub(piece.len());
            }
            flow.pace(piece.len());
            for event in sequences.read(&piece) {
                // The shell has read its files: they can go.
                if event == TerminalEvent::CommandDetection {
                    self.integration = None;
                }
                flow.note(&event);
                tell(event);
            }
            piece.clear();
            if !open {
                break;
            }
        }
        for event in sequences.finish() {
            flow.note(&event);
            tell(event);
        }
        // The program may have closed its terminal and run on.
        let end = self.life.wait_for_end();
        tell(TerminalEvent::Exited(flow.finish(end)));
    }

    /// Reads what is there. Says whether there can be more.
    fn fill(&mut self, piece: &mut Vec<u8>) -> bool {
        let mut buffer = [0; 8 * 1024];
        while piece.len() < PIECE {
            match self.bytes.read(&mut buffer) {
                // The system's word for the end of a terminal is an error.
                Ok(0) | Err(_) => return false,
                Ok(count) => piece.extend_from_slice(buffer.get(..count).unwrap_or_default()),
            }
            match self.next(Some(Duration::ZERO)) {
                Next::Read => {}
                Next::End | Next::Nothing => break,
            }
        }
        true
    }

    /// Waits for something to do. What was written comes before the end.
    fn next(&self, patience: Option<Duration>) -> Next {
        let watch = |descriptor: &FileDescriptor| pollfd {
            fd: descriptor.as_raw_fd(),
            events: POLLIN,
            revents: 0,
        };
        let mut watched = [watch(&self.bytes), watch(&self.over)];
        loop {
            let found = poll(&mut watched, patience);
            let [bytes, over] = watched;
            let something = POLLIN | POLLHUP | POLLERR;
            match found {
                // What interrupts it is no reason to do anything else.
                Err(Error::Poll(error)) if error.kind() == ErrorKind::Interrupted => {}
                // Reading says what is wrong.
                Err(_) => return Next::Read,
                Ok(_) if bytes.revents & something != 0 => return Next::Read,
                Ok(_) if over.revents & something != 0 => return Next::End,
                Ok(_) if patience.is_some() => return Next::Nothing,
                Ok(_) => {}
            }
        }
    }
}

/// How the output of a program goes by. Of a command the end is remembered,
/// and a flood waits a moment for those who want to see it from its start:
/// they have to subscribe first.
enum Flow {
    Shell,
    Command {
        announced: Instant,
        sent: usize,
        tail: OutputTail,
        whole: Option<Whole>,
    },
}

impl Flow {
    const FLOOD: usize = 256 * 1024;
    const MOMENT: Duration = Duration::from_millis(100);

    fn new(program: &Program, keep: Option<KeepOutput>) -> Self {
        match program {
            Program::Shell(_) => Flow::Shell,
            Program::Command(_) | Program::Run(_) => Flow::Command {
                announced: Instant::now(),
                sent: 0,
                tail: OutputTail::new(PREVIEW_BYTES),
                // The command is more important than what becomes of its output.
                whole: keep.and_then(|keep| Whole::begin(keep).ok()),
            },
        }
    }

    fn pace(&mut self, bytes: usize) {
        if let Flow::Command {
            announced, sent, ..
        } = self
        {
            *sent += bytes;
            if *sent > Self::FLOOD {
                std::thread::sleep(Self::MOMENT.saturating_sub(announced.elapsed()));
            }
        }
    }

    fn note(&mut self, event: &TerminalEvent) {
        if let (Flow::Command { tail, whole, .. }, TerminalEvent::Output(output)) = (self, event) {
            tail.push(&output.data);
            let kept = whole.as_mut().map(|whole| whole.push(&output.data));
            // Half of it would look like all of it.
            if matches!(kept, Some(Err(_))) {
                *whole = None;
            }
        }
    }

    fn finish(self, end: End) -> TerminalEnd {
        let End { exit_code, signal } = end;
        match self {
            Flow::Shell => TerminalEnd {
                exit_code,
                signal,
                ..TerminalEnd::default()
            },
            Flow::Command { tail, whole, .. } => {
                let (preview, truncated) = tail.finish();
                let whole = whole.filter(|_| truncated);
                TerminalEnd {
                    exit_code,
                    signal,
                    preview: Some(preview),
                    truncated,
                    whole: whole.and_then(|whole| whole.finish().ok()),
                }
            }
        }
    }
}
