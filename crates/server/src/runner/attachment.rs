//! Finds the runner of a data directory, checks that it is the right one, and starts one.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use agenthost_core::{HostMemory, MemoryError};
use agenthost_stdx::result::IgnoreResult;
use agenthost_store::StoredRunner;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::process::Command;
use tokio::time::timeout;

use crate::runner::frame::{
    FrameKind, Hello, MIN_PROTOCOL, PROTOCOL, Welcome, encode_frame, encode_text, read_frame,
};
use crate::runner::link::RunnerLink;
use crate::runner::record::RunnerRecord;
use crate::runner::{RunnerError, RunnerLaunch};

/// Timeout for a runner to answer. One that was stopped with SIGSTOP does not.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Timeout for a new runner to listen.
const START_TIMEOUT: Duration = Duration::from_secs(20);

/// Time for an unusable runner to end its work.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum length of the error output of a runner that did not start, in bytes.
const MAX_ERROR_BYTES: u64 = 4_096;

/// A runner that a host is connected to.
#[derive(Debug)]
pub(crate) struct AttachedRunner {
    pub(crate) link: RunnerLink,
    pub(crate) id: String,
    /// The memory of the previous host, if the runner continues its work.
    pub(crate) memory: Option<HostMemory>,
}

/// An error that keeps the work of a runner from being continued.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AttachmentError {
    #[error(transparent)]
    Runner(#[from] RunnerError),
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

/// Connects to the runner of a data directory if there is one that continues the stored work.
/// Any other runner is ended, and a new one is started.
pub(crate) async fn attach(
    data_directory: &Path,
    launch: &RunnerLaunch,
    stored: Option<StoredRunner>,
) -> Result<AttachedRunner, RunnerError> {
    if let Some(record) = RunnerRecord::read(data_directory)
        && record.process.is_running()
    {
        match take_over(&record, stored).await {
            Ok(Some(runner)) => return Ok(runner),
            Ok(None) => {}
            Err(error) => {
                tracing::error!(
                    pid = record.process.pid,
                    %error,
                    "the runner can't be used, so its work ends"
                );
            }
        }
        // Only a process that is the runner has its start time.
        let ended = record.process.end(END_TIMEOUT).await;
        ended.log_err("failed to end the runner");
    }
    RunnerRecord::remove(data_directory);
    start_runner(data_directory, launch).await
}

/// Connects to a running runner. Returns `None` if it has no work.
async fn take_over(
    record: &RunnerRecord,
    stored: Option<StoredRunner>,
) -> Result<Option<AttachedRunner>, AttachmentError> {
    let (stream, welcome) = connect(record).await?;
    let stored = stored.filter(|stored| stored.id == record.id);
    let Some(stored) = stored else {
        return Err(RunnerError::WrongRunner(record.process.pid).into());
    };
    check_numbers(&welcome, &stored)?;
    let memory = HostMemory::decode(stored.memory)?;
    let last = stored.commands.last();
    let is_complete = last.is_none_or(|(number, _)| *number <= welcome.received);
    if welcome.is_idle && is_complete && !memory.has_work() {
        return Ok(None);
    }
    let last_stored = stored.commands.last().map_or(0, |(number, _)| *number);
    let last_command = welcome.received.max(last_stored);
    let link = RunnerLink::start(record.process.clone(), stream, last_command);
    link.send(encode_frame(FrameKind::Begin, stored.handled, ""));
    // Agents may have been configured since the runner has read the configuration.
    link.send(encode_frame(FrameKind::Reload, 0, ""));
    let missed = stored.commands.into_iter();
    for (number, command) in missed.filter(|(number, _)| *number > welcome.received) {
        link.send(encode_frame(FrameKind::Command, number, &command));
    }
    tracing::info!(pid = record.process.pid, "the work of the runner continues");
    Ok(Some(AttachedRunner {
        link,
        id: record.id.clone(),
        memory: Some(memory),
    }))
}

/// Checks that the runner has the inputs and commands that follow the stored ones.
fn check_numbers(welcome: &Welcome, stored: &StoredRunner) -> Result<(), RunnerError> {
    let first = stored.commands.first().map(|(number, _)| *number);
    let has_inputs = (welcome.handled..=welcome.last_input).contains(&stored.handled);
    let has_commands = first.is_none_or(|first| first <= welcome.received + 1);
    if has_inputs && has_commands {
        return Ok(());
    }
    Err(RunnerError::WrongNumbers {
        counted: format!(
            "inputs {} to {} and {} commands",
            welcome.handled, welcome.last_input, welcome.received
        ),
        stored: format!("input {} and commands from {first:?}", stored.handled),
    })
}

/// Connects to the socket of a runner and checks who listens there.
async fn connect(record: &RunnerRecord) -> Result<(UnixStream, Welcome), RunnerError> {
    let pid = record.process.pid;
    let answered = timeout(ANSWER_TIMEOUT, exchange_greetings(record)).await;
    let (stream, welcome) = answered.map_err(|_| RunnerError::NoAnswer(pid))??;
    if !(MIN_PROTOCOL..=PROTOCOL).contains(&welcome.protocol) {
        return Err(RunnerError::NewerProtocol {
            found: welcome.protocol,
            known: PROTOCOL,
        });
    }
    if welcome.id != record.id {
        return Err(RunnerError::WrongRunner(pid));
    }
    Ok((stream, welcome))
}

async fn exchange_greetings(record: &RunnerRecord) -> Result<(UnixStream, Welcome), RunnerError> {
    let mut stream = UnixStream::connect(&record.socket).await?;
    let peer = stream.peer_cred()?;
    let found = peer.pid().unwrap_or_default();
    if u32::try_from(found) != Ok(record.process.pid) || peer.uid() != agenthost_process::own_user()
    {
        return Err(RunnerError::ForeignSocket {
            path: record.socket.clone(),
            found,
            expected: record.process.pid,
        });
    }
    let hello = encode_text(&Hello {
        secret: record.secret.clone(),
        min_protocol: MIN_PROTOCOL,
        protocol: PROTOCOL,
    });
    let hello = encode_frame(FrameKind::Hello, 0, &hello);
    stream.write_all(&hello).await?;
    // A runner closes the connection of a process that does not know its secret.
    let no_answer = || RunnerError::NoAnswer(record.process.pid);
    let answer = read_frame(&mut stream).await.map_err(|_| no_answer())?;
    let answer = answer.ok_or_else(no_answer)?;
    if answer.kind != FrameKind::Welcome {
        return Err(RunnerError::UnexpectedFrame);
    }
    let welcome = answer.decode()?;
    Ok((stream, welcome))
}

/// Starts a runner that the end of this process does not end.
async fn start_runner(
    data_directory: &Path,
    launch: &RunnerLaunch,
) -> Result<AttachedRunner, RunnerError> {
    let mut child = Command::new(&launch.program)
        .args(&launch.arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A process in the background must not keep a folder busy.
        .current_dir("/")
        .spawn()?;
    let stdout = child.stdout.take().ok_or(RunnerError::UnexpectedFrame)?;
    let stderr = child.stderr.take();
    let mut line = String::new();
    let mut stdout = BufReader::new(stdout);
    let ready = timeout(START_TIMEOUT, stdout.read_line(&mut line)).await;
    let is_ready = matches!(ready, Ok(Ok(length)) if length > 0);
    let record = RunnerRecord::read(data_directory).filter(|_| is_ready);
    let Some(record) = record else {
        child.start_kill()?;
        let mut problem = String::new();
        if let Some(stderr) = stderr {
            let mut stderr = stderr.take(MAX_ERROR_BYTES);
            let read = stderr.read_to_string(&mut problem).await;
            read.ignore_secondary();
        }
        return Err(RunnerError::NotStarted(problem.trim().to_owned()));
    };
    // The runner goes on without this process, which would otherwise leave a zombie.
    tokio::spawn(async move { child.wait().await.log_err("failed to wait for the runner") });
    let (stream, welcome) = connect(&record).await?;
    let link = RunnerLink::start(record.process.clone(), stream, welcome.received);
    link.send(encode_frame(FrameKind::Begin, 0, ""));
    Ok(AttachedRunner {
        link,
        id: record.id,
        memory: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(handled: u64, commands: &[u64]) -> Result<(), String> {
        let welcome = Welcome {
            protocol: PROTOCOL,
            id: "id".to_owned(),
            version: String::new(),
            handled: 5,
            last_input: 9,
            received: 3,
            is_idle: false,
        };
        let stored = StoredRunner {
            id: "id".to_owned(),
            handled,
            commands: commands
                .iter()
                .map(|number| (*number, String::new()))
                .collect(),
            memory: Vec::new(),
        };
        check_numbers(&welcome, &stored).map_err(|error| error.to_string())
    }

    #[test]
    fn numbers_that_do_not_follow_the_stored_ones_are_rejected() {
        assert_eq!(check(5, &[]), Ok(()));
        assert_eq!(check(9, &[2, 3, 4]), Ok(()));
        assert_eq!(check(7, &[4]), Ok(()));
        let wrong = "the runner counts inputs 5 to 9 and 3 commands, and the store";
        for (handled, commands) in [(4, vec![]), (10, vec![]), (5, vec![5])] {
            let error = check(handled, &commands).unwrap_err();
            assert!(error.starts_with(wrong), "{error}");
        }
    }
}
