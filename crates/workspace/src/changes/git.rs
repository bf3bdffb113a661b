//! Git, as a child process.
//!
//! It is asked in a way that leaves no traces: no locks that it can do
//! without, no hooks, no monitors, nothing fetched, nothing asked of a person,
//! and no variable of the environment that would point it elsewhere.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::ChangesError;

/// Most bytes of one answer.
const ANSWER: u64 = 64 * 1024 * 1024;

/// Settings for questions: what a repository says to run is not run.
const QUIET: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.splitIndex=false",
    "core.quotePath=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
];

/// Git in a folder, until a moment.
#[derive(Debug, Clone)]
pub(super) struct Git {
    directory: PathBuf,
    variables: Vec<(&'static str, OsString)>,
    deadline: Instant,
}

/// What git answered.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) success: bool,
    /// Whether it said no, rather than that something is wrong.
    pub(super) said_no: bool,
    pub(super) output: Vec<u8>,
    /// What it said was wrong.
    problem: String,
}

impl Git {
    pub(super) fn new(directory: &Path, patience: Duration) -> Self {
        Git {
            directory: directory.to_owned(),
            variables: Vec::new(),
            deadline: Instant::now() + patience,
        }
    }

    /// The same in another folder.
    pub(super) fn at(&self, directory: &Path) -> Self {
        Git {
            directory: directory.to_owned(),
            ..self.clone()
        }
    }

    /// The same with a variable of the environment.
    pub(super) fn with(mut self, name: &'static str, value: impl AsRef<OsStr>) -> Self {
        self.variables.push((name, value.as_ref().to_owned()));
        self
    }

    /// Asks something that has to succeed.
    pub(super) fn ask<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<Vec<u8>, ChangesError> {
        self.run(arguments, &[])?.succeeded()
    }

    /// Asks for one line.
    pub(super) fn line<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<String, ChangesError> {
        let output = self.ask(arguments)?;
        Ok(String::from_utf8_lossy(&output).trim().to_owned())
    }

    /// Asks for one line that may not be there.
    pub(super) fn maybe<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<Option<String>, ChangesError> {
        let answer = self.run(arguments, &[])?;
        let line = String::from_utf8_lossy(&answer.output).trim().to_owned();
        Ok(Some(line).filter(|line| answer.success && !line.is_empty()))
    }

    /// Runs it, with something to read.
    pub(super) fn run<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
        input: &[u8],
    ) -> Result<Answered, ChangesError> {
        let mut command = self.command();
        for setting in QUIET {
            command.args(["-c", setting]);
        }
        command.args(arguments);
        self.carry_out(command, input)
    }

    /// Runs it as the user would, with hooks and all.
    pub(super) fn run_as_user<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<Answered, ChangesError> {
        let mut command = self.command();
        command.args(arguments);
        self.carry_out(command, &[])
    }

    fn command(&self) -> Command {
        let mut command = Command::new("git");
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("GIT_") {
                command.env_remove(name);
            }
        }
        command
            .current_dir(&self.directory)
            .env("LC_ALL", "C")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_PAGER", "cat")
            .env("GIT_EDITOR", "true")
            .env("GIT_LITERAL_PATHSPECS", "1")
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    fn carry_out(&self, mut command: Command, input: &[u8]) -> Result<Answered, ChangesError> {
        let spawned = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn();
        let mut child = spawned.map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound if self.directory.is_dir() => ChangesError::NoGit,
            std::io::ErrorKind::NotFound => ChangesError::NoFolder,
            _ => ChangesError::Io(error.to_string()),
        })?;
        let answer = converse(&mut child, input, self.deadline);
        // Whatever is left of it has nobody to talk to.
        let ended = child.wait().map_err(ChangesError::from)?;
        let (output, problem) = answer?;
        Ok(Answered {
            success: ended.success(),
            said_no: ended.code() == Some(1),
            output,
            problem,
        })
    }
}

impl Answered {
    /// The output, if all went well.
    pub(super) fn succeeded(self) -> Result<Vec<u8>, ChangesError> {
        if self.success {
            return Ok(self.output);
        }
        Err(self.failure())
    }

    /// What git said was wrong: its last words, without its name.
    pub(super) fn failure(self) -> ChangesError {
        let said = String::from_utf8_lossy(&self.output);
        let lines = self.problem.lines().chain(said.lines());
        let mut lines = lines.filter(|line| !line.starts_with("hint:") && !line.trim().is_empty());
        let words = lines.next().unwrap_or("it failed without a word");
        let words = words.trim_start_matches("fatal: ");
        let words = words.trim_start_matches("error: ");
        ChangesError::Git(words.chars().take(300).collect())
    }
}

/// Writes to a child, reads what it says, and kills it when it is too late.
fn converse(
    child: &mut Child,
    input: &[u8],
    deadline: Instant,
) -> Result<(Vec<u8>, String), ChangesError> {
    let group = i32::try_from(child.id()).ok().map(Pid::from_raw);
    let stdin = child.stdin.take();
    let stdout = child.stdout.take();
    let stderr = child.stderr.take();
    let (done, over) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if let Some(mut stdin) = stdin {
                // Who does not read all of it says why.
                stdin.write_all(input).unwrap_or_default();
            }
        });
        let problem = scope.spawn(move || {
            let mut problem = Vec::new();
            if let Some(mut stderr) = stderr {
                let mut first = stderr.by_ref().take(64 * 1024);
                // What can't be read is not said.
                first.read_to_end(&mut problem).unwrap_or_default();
                std::io::copy(&mut stderr, &mut std::io::sink()).unwrap_or_default();
            }
            String::from_utf8_lossy(&problem).into_owned()
        });
        let late = scope.spawn(move || {
            let left = deadline.saturating_duration_since(Instant::now());
            let late = over.recv_timeout(left) == Err(RecvTimeoutError::Timeout);
            if let (true, Some(group)) = (late, group) {
                // It may have ended just now.
                killpg(group, Signal::SIGKILL).unwrap_or_default();
            }
            late
        });
        let mut output = Vec::new();
        let read = match stdout {
            Some(stdout) => stdout.take(ANSWER).read_to_end(&mut output),
            None => Ok(0),
        };
        let problem = problem.join().unwrap_or_default();
        drop(done);
        if late.join().unwrap_or(false) {
            return Err(ChangesError::TooSlow);
        }
        read?;
        if output.len() as u64 >= ANSWER {
            return Err(ChangesError::TooMuch("output of git".to_owned()));
        }
        Ok((output, problem))
    })
}
