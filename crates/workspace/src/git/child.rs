//! Runs one git process with pipes and a deadline.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use agenthost_process::{DeadlineStatus, KillStep, ProcessGroup};
use agenthost_stdx::result::IgnoreResult;
use agenthost_stdx::text::truncate_chars;

use super::GitError;

/// Maximum size of standard output that the host buffers.
const MAX_OUTPUT_BYTES: u64 = 64 * 1024 * 1024;

/// Maximum size of standard error that the host keeps.
const MAX_ERROR_BYTES: u64 = 64 * 1024;

/// Time that git has after SIGTERM to remove its lock files.
const TERMINATE_GRACE: Duration = Duration::from_secs(1);

/// Signals that end git at its deadline.
const KILL_STEPS: [KillStep; 2] = [
    KillStep::terminate(TERMINATE_GRACE, "failed to terminate git"),
    KillStep::kill("failed to kill git"),
];

/// The result of a git process that has exited.
#[derive(Debug)]
pub(crate) struct GitOutput {
    pub(crate) success: bool,
    /// `true` for exit status 1, which means "no" rather than "failed" for many commands.
    pub(crate) exited_with_one: bool,
    pub(crate) stdout: Vec<u8>,
    stderr: String,
}

impl GitOutput {
    fn new(status: ExitStatus, output: Vec<u8>, errors: String) -> Self {
        GitOutput {
            success: status.success(),
            exited_with_one: status.code() == Some(1),
            stdout: output,
            stderr: errors,
        }
    }

    /// Returns standard output if git succeeded.
    pub(crate) fn into_stdout(self) -> Result<Vec<u8>, GitError> {
        if self.success {
            return Ok(self.stdout);
        }
        Err(self.into_error())
    }

    /// Returns the most important line of the error output, without its prefix, and the file
    /// names after it.
    pub(crate) fn into_error(self) -> GitError {
        let said = String::from_utf8_lossy(&self.stdout);
        let lines: Vec<_> = self.stderr.lines().chain(said.lines()).collect();
        let weighty = ["fatal: ", "error: ", "CONFLICT "];
        let is_weighty = |line: &&str| weighty.iter().any(|start| line.starts_with(start));
        let is_said = |line: &&str| !line.starts_with("hint:") && !line.trim().is_empty();
        let first = lines
            .iter()
            .position(is_weighty)
            .or(lines.iter().position(is_said));
        let Some(first) = first else {
            return GitError::Failed("it failed without a message".to_owned());
        };
        let mut lines = lines.iter().skip(first);
        let words = lines.next().copied().unwrap_or_default();
        let words = words
            .trim_start_matches("fatal: ")
            .trim_start_matches("error: ");
        let names = lines
            .take_while(|line| line.starts_with('\t'))
            .map(|line| line.trim());
        let words: Vec<_> = std::iter::once(words).chain(names).collect();
        GitError::Failed(truncate_chars(&words.join(" "), 300))
    }
}

/// Runs git with `input` as its standard input, and reads all of its output.
pub(super) fn exchange(
    mut command: Command,
    directory: &Path,
    input: &[u8],
    deadline: Instant,
) -> Result<GitOutput, GitError> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = spawn(command, directory)?;
    let group = ProcessGroup::of_leader(child.id());
    let pump = || pump_pipes(&mut child, input);
    let (said, deadline_status) = group.kill_at_deadline(deadline, &KILL_STEPS, pump);
    let status = child.wait()?;
    if deadline_status == DeadlineStatus::Exceeded {
        return Err(GitError::TimedOut);
    }
    let (output, errors) = said?;
    if output.len() as u64 >= MAX_OUTPUT_BYTES {
        return Err(GitError::TooMuchOutput);
    }
    Ok(GitOutput::new(status, output, errors))
}

/// Runs git with hooks. They may leave background processes that never close their output, so
/// the output goes to files instead of pipes.
pub(super) fn run_with_hooks(
    mut command: Command,
    directory: &Path,
    deadline: Instant,
) -> Result<GitOutput, GitError> {
    let (mut output, mut errors) = (tempfile::tempfile()?, tempfile::tempfile()?);
    command
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(errors.try_clone()?);
    let mut child = spawn(command, directory)?;
    let group = ProcessGroup::of_leader(child.id());
    let wait = || child.wait();
    let (status, deadline_status) = group.kill_at_deadline(deadline, &KILL_STEPS, wait);
    let status = status?;
    if deadline_status == DeadlineStatus::Exceeded {
        return Err(GitError::TimedOut);
    }
    let read = |file: &mut File| -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(0))?;
        file.take(MAX_ERROR_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let errors = String::from_utf8_lossy(&read(&mut errors)?).into_owned();
    Ok(GitOutput::new(status, read(&mut output)?, errors))
}

fn spawn(mut command: Command, directory: &Path) -> Result<Child, GitError> {
    let spawned = command.process_group(0).spawn();
    spawned.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound if directory.is_dir() => GitError::NotInstalled,
        std::io::ErrorKind::NotFound => GitError::NoDirectory,
        _ => GitError::Io(error.to_string()),
    })
}

/// Writes to the standard input of a child while reading all of its output.
fn pump_pipes(child: &mut Child, input: &[u8]) -> std::io::Result<(Vec<u8>, String)> {
    let stdin = child.stdin.take();
    let stdout = child.stdout.take();
    let stderr = child.stderr.take();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if let Some(mut stdin) = stdin {
                // git may exit before it has read all of its input; its exit status says why.
                stdin.write_all(input).ignore_closed();
            }
        });
        let errors = scope.spawn(move || {
            let mut errors = Vec::new();
            if let Some(mut stderr) = stderr {
                let mut first = stderr.by_ref().take(MAX_ERROR_BYTES);
                // The exit status decides; the text only explains it.
                let read = first.read_to_end(&mut errors);
                read.log_err("failed to read the messages of git");
                let drained = std::io::copy(&mut stderr, &mut std::io::sink());
                drained.log_err("failed to read the messages of git");
            }
            String::from_utf8_lossy(&errors).into_owned()
        });
        let mut output = Vec::new();
        if let Some(stdout) = stdout {
            stdout.take(MAX_OUTPUT_BYTES).read_to_end(&mut output)?;
        }
        Ok((output, errors.join().unwrap_or_default()))
    })
}
