//! Git, as a child process.
//!
//! It is asked in a way that leaves no traces: no locks that it can do
//! without, no hooks, no monitors, nothing fetched, nothing asked of a person,
//! and no variable of the environment that would point it elsewhere.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
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

/// Settings for questions: hooks and monitors of a repository are not run. Its
/// filters are, as they are whenever the user's own git looks at files.
const QUIET: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.splitIndex=false",
    "core.quotePath=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
];

/// How long it may take to end when it is asked to.
const POLITE: Duration = Duration::from_secs(1);

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

    /// The same with all the time that something may take from now on.
    pub(super) fn again(&self, patience: Duration) -> Self {
        Git {
            deadline: Instant::now() + patience,
            ..self.clone()
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
        command
            .args(arguments)
            .env("LC_ALL", "C")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_LITERAL_PATHSPECS", self.literal());
        self.carry_out(command, input)
    }

    /// Runs it as the user would, with hooks and all.
    pub(super) fn run_as_user<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<Answered, ChangesError> {
        let mut command = self.command();
        command.args(arguments);
        self.carry_out_for_user(command)
    }

    /// Whether names are names, and not patterns: yes, unless somebody said
    /// otherwise.
    fn literal(&self) -> &OsStr {
        let mut variables = self.variables.iter().rev();
        let said = variables.find(|(name, _)| *name == "GIT_LITERAL_PATHSPECS");
        said.map_or("1".as_ref(), |(_, value)| value.as_os_str())
    }

    fn command(&self) -> Command {
        let mut command = Command::new("git");
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            let who = text.starts_with("GIT_AUTHOR_") || text.starts_with("GIT_COMMITTER_");
            if text.starts_with("GIT_") && !who {
                command.env_remove(name);
            }
        }
        command
            .current_dir(&self.directory)
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_PAGER", "cat")
            .env("GIT_EDITOR", "true")
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs something that may leave others behind that do not end: what it
    /// says goes to files, so nobody waits for them.
    fn carry_out_for_user(&self, mut command: Command) -> Result<Answered, ChangesError> {
        let (mut output, mut problem) = (tempfile::tempfile()?, tempfile::tempfile()?);
        command
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(problem.try_clone()?);
        let mut child = self.spawn(command)?;
        let (ended, late) = guarded(child.id(), self.deadline, || child.wait());
        let ended = ended?;
        if late {
            return Err(ChangesError::TooSlow);
        }
        let read = |file: &mut File| -> std::io::Result<Vec<u8>> {
            let mut bytes = Vec::new();
            file.seek(SeekFrom::Start(0))?;
            file.take(64 * 1024).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        Ok(Answered {
            success: ended.success(),
            said_no: ended.code() == Some(1),
            output: read(&mut output)?,
            problem: String::from_utf8_lossy(&read(&mut problem)?).into_owned(),
        })
    }

    fn carry_out(&self, mut command: Command, input: &[u8]) -> Result<Answered, ChangesError> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = self.spawn(command)?;
        let (said, late) = guarded(child.id(), self.deadline, || converse(&mut child, input));
        // Whatever is left of it has nobody to talk to.
        let ended = child.wait()?;
        if late {
            return Err(ChangesError::TooSlow);
        }
        let (output, problem) = said?;
        if output.len() as u64 >= ANSWER {
            return Err(ChangesError::TooMuch("output of git".to_owned()));
        }
        Ok(Answered {
            success: ended.success(),
            said_no: ended.code() == Some(1),
            output,
            problem,
        })
    }

    fn spawn(&self, mut command: Command) -> Result<Child, ChangesError> {
        let spawned = command.process_group(0).spawn();
        spawned.map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound if self.directory.is_dir() => ChangesError::NoGit,
            std::io::ErrorKind::NotFound => ChangesError::NoFolder,
            _ => ChangesError::Io(error.to_string()),
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

    /// What git said was wrong, without its name.
    pub(super) fn failure(self) -> ChangesError {
        let said = String::from_utf8_lossy(&self.output);
        let lines: Vec<_> = self.problem.lines().chain(said.lines()).collect();
        let weighty = ["fatal: ", "error: ", "CONFLICT "];
        let is_weighty = |line: &&str| weighty.iter().any(|start| line.starts_with(start));
        let is_said = |line: &&str| !line.starts_with("hint:") && !line.trim().is_empty();
        let first = lines
            .iter()
            .position(is_weighty)
            .or(lines.iter().position(is_said));
        let Some(first) = first else {
            return ChangesError::Git("it failed without a word".to_owned());
        };
        let mut lines = lines.iter().skip(first);
        let words = lines.next().copied().unwrap_or_default();
        let words = words
            .trim_start_matches("fatal: ")
            .trim_start_matches("error: ");
        // Names of files follow, if there are any.
        let names = lines
            .take_while(|line| line.starts_with('\t'))
            .map(|line| line.trim());
        let words: Vec<_> = std::iter::once(words).chain(names).collect();
        ChangesError::Git(words.join(" ").chars().take(300).collect())
    }
}

/// Waits for something that a child does, and ends the child and all it started
/// when it is too late. Says whether it was.
fn guarded<R>(child: u32, deadline: Instant, wait: impl FnOnce() -> R) -> (R, bool) {
    let group = i32::try_from(child).ok().map(Pid::from_raw);
    let (done, over) = channel::<()>();
    std::thread::scope(|scope| {
        let late = scope.spawn(move || {
            let left = deadline.saturating_duration_since(Instant::now());
            let late = over.recv_timeout(left) == Err(RecvTimeoutError::Timeout);
            if let (true, Some(group)) = (late, group) {
                // Asked to, it takes its locks away. It may have ended just now.
                killpg(group, Signal::SIGTERM).unwrap_or_default();
                if over.recv_timeout(POLITE) == Err(RecvTimeoutError::Timeout) {
                    killpg(group, Signal::SIGKILL).unwrap_or_default();
                }
            }
            late
        });
        let waited = wait();
        drop(done);
        (waited, late.join().unwrap_or(false))
    })
}

/// Writes to a child, and reads all that it says.
fn converse(child: &mut Child, input: &[u8]) -> std::io::Result<(Vec<u8>, String)> {
    let stdin = child.stdin.take();
    let stdout = child.stdout.take();
    let stderr = child.stderr.take();
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
        let mut output = Vec::new();
        if let Some(stdout) = stdout {
            stdout.take(ANSWER).read_to_end(&mut output)?;
        }
        Ok((output, problem.join().unwrap_or_default()))
    })
}
