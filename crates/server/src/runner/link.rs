//! The connection of the host to its runner.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use agenthost_core::Input;
use agenthost_process::ProcessIdentity;
use agenthost_stdx::result::IgnoreResult;
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::runner::RunnerError;
use crate::runner::frame::{FrameKind, encode_frame, read_frame};
use crate::workers::drivers::DriverInput;

/// Capacity of the queue of inputs. While it is full, they stay in the runner.
const INPUT_QUEUE: usize = 256;

/// Capacity of the queue of frames to the runner. A runner that has not read so many commands is
/// taken for stuck, and is ended.
const OUTGOING_QUEUE: usize = 8_192;

/// Bytes of frames that are written to the socket together.
const WRITE_BATCH_BYTES: usize = 64 * 1024;

/// Time for a runner to end its agents and terminals.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// The reason for the loss of a runner whose connection has ended.
const RUNNER_ENDED: &str = "the runner has ended";

/// The connection to a running runner.
#[derive(Debug)]
pub(crate) struct RunnerLink {
    process: ProcessIdentity,
    outgoing: mpsc::Sender<Vec<u8>>,
    events: mpsc::Receiver<RunnerEvent>,
    /// The number of the last command.
    last_command: u64,
    received: Arc<AtomicU64>,
    /// Reads and writes the socket. Dropping it closes the connection.
    tasks: JoinSet<()>,
}

/// An event of the runner.
#[derive(Debug)]
pub(crate) enum RunnerEvent {
    /// An input of a driver, with its number.
    Input(u64, Box<Input>),
    /// The runner has ended, or can't be used any more, for this reason.
    Lost(String),
}

impl RunnerLink {
    /// Starts the exchange over a socket whose other end was checked. Commands are numbered
    /// after `last_command`.
    pub(crate) fn start(process: ProcessIdentity, stream: UnixStream, last_command: u64) -> Self {
        let (reader, writer) = stream.into_split();
        let (outgoing, frames) = mpsc::channel(OUTGOING_QUEUE);
        let (sender, events) = mpsc::channel(INPUT_QUEUE);
        let received = Arc::new(AtomicU64::new(0));
        let mut tasks = JoinSet::new();
        tasks.spawn(write_frames(writer, frames));
        tasks.spawn(read_events(reader, sender, Arc::clone(&received)));
        RunnerLink {
            process,
            outgoing,
            events,
            last_command,
            received,
            tasks,
        }
    }

    /// Waits for the next event. Cancel-safe.
    pub(crate) async fn next_event(&mut self) -> RunnerEvent {
        let lost = || RunnerEvent::Lost(RUNNER_ENDED.to_owned());
        self.events.recv().await.unwrap_or_else(lost)
    }

    /// Returns an event that has arrived already.
    pub(crate) fn try_next_event(&mut self) -> Option<RunnerEvent> {
        self.events.try_recv().ok()
    }

    /// Returns the number for the next command.
    pub(crate) fn next_number(&mut self) -> u64 {
        self.last_command += 1;
        self.last_command
    }

    /// Returns the number of the last command that the runner has received.
    pub(crate) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Sends a frame. Never waits.
    pub(crate) fn send(&self, frame: Vec<u8>) {
        match self.outgoing.try_send(frame) {
            // The reader reports the end of the runner.
            Ok(()) | Err(mpsc::error::TrySendError::Closed(_)) => {}
            Err(mpsc::error::TrySendError::Full(_)) => {
                tracing::error!(
                    pid = self.process.pid,
                    "the runner does not read its commands"
                );
                self.process.kill();
            }
        }
    }

    /// Reports that the actions of all inputs up to a number are in the log.
    pub(crate) fn confirm(&self, handled: u64) {
        self.send(encode_frame(FrameKind::Handled, handled, ""));
    }

    /// Ends the runner with all of its work, and waits until it has ended.
    pub(crate) async fn stop(mut self) {
        self.send(encode_frame(FrameKind::Stop, 0, ""));
        let wait = self.process.wait(STOP_TIMEOUT);
        let events = &mut self.events;
        // The runner may be waiting for the host to take an input.
        let discard = async {
            while events.recv().await.is_some() {}
            std::future::pending::<()>().await;
        };
        let has_ended = tokio::select! {
            has_ended = wait => has_ended,
            () = discard => false,
        };
        if !has_ended {
            tracing::error!(pid = self.process.pid, "the runner does not end");
            let ended = self.process.end(Duration::from_secs(1)).await;
            ended.log_err("failed to end the runner");
        }
    }

    /// Ends the process of a runner that was lost, in case it still runs.
    pub(crate) async fn end(&self) {
        let ended = self.process.end(STOP_TIMEOUT).await;
        ended.log_err("failed to end the runner");
    }

    /// Closes the connection once all frames are written. The runner goes on.
    pub(crate) async fn detach(self) {
        let RunnerLink {
            outgoing,
            events,
            mut tasks,
            ..
        } = self;
        drop((outgoing, events));
        let written = async { while tasks.join_next().await.is_some() {} };
        tokio::time::timeout(Duration::from_millis(500), written)
            .await
            .ignore_elapsed();
    }
}

async fn write_frames(mut writer: OwnedWriteHalf, mut frames: mpsc::Receiver<Vec<u8>>) {
    while let Some(mut batch) = frames.recv().await {
        while batch.len() < WRITE_BATCH_BYTES
            && let Ok(frame) = frames.try_recv()
        {
            batch.extend_from_slice(&frame);
        }
        if writer.write_all(&batch).await.is_err() {
            // The reader reports the end of the runner.
            return;
        }
    }
}

async fn read_events(
    reader: OwnedReadHalf,
    events: mpsc::Sender<RunnerEvent>,
    received: Arc<AtomicU64>,
) {
    let ended = pass_events(reader, &events, &received).await;
    let reason = match ended {
        Ok(reason) => reason,
        // The socket of a process that was killed with unread messages is reset.
        Err(RunnerError::Io(_)) => RUNNER_ENDED.to_owned(),
        Err(error) => error.to_string(),
    };
    events.send(RunnerEvent::Lost(reason)).await.ignore_closed();
}

/// Passes inputs to the host until the runner ends. Returns the reason.
async fn pass_events(
    reader: OwnedReadHalf,
    events: &mpsc::Sender<RunnerEvent>,
    received: &AtomicU64,
) -> Result<String, RunnerError> {
    let mut reader = tokio::io::BufReader::with_capacity(WRITE_BATCH_BYTES, reader);
    let mut last = None;
    while let Some(frame) = read_frame(&mut reader).await? {
        match frame.kind {
            FrameKind::Input => {
                if last.is_some_and(|last| frame.number != last + 1) {
                    return Err(RunnerError::UnexpectedFrame);
                }
                last = Some(frame.number);
                let input: DriverInput = frame.decode()?;
                let event = RunnerEvent::Input(frame.number, Box::new(input.into()));
                if events.send(event).await.is_err() {
                    return Ok("the host has stopped".to_owned());
                }
            }
            FrameKind::Received => received.store(frame.number, Ordering::Relaxed),
            FrameKind::Failed => return Ok(frame.text),
            FrameKind::Hello
            | FrameKind::Welcome
            | FrameKind::Begin
            | FrameKind::Command
            | FrameKind::UnstoredCommand
            | FrameKind::Handled
            | FrameKind::Reload
            | FrameKind::Stop => return Err(RunnerError::UnexpectedFrame),
        }
    }
    Ok(RUNNER_ENDED.to_owned())
}
