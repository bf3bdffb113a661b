//! A terminal to try things in, with all that happens in it.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use agenthost_core::{TerminalEnd, TerminalEvent};
use agenthost_workspace::{PtyProgram, ShellSpec, ShellStartup, Terminal, TerminalOptions, uri_of};

pub(crate) const TERMINAL_TIMEOUT: Duration = Duration::from_secs(30);

/// A terminal, and what it told.
pub(crate) struct Bench {
    pub(crate) terminal: Terminal,
    pub(crate) told: Receiver<TerminalEvent>,
}

/// A command as it was told.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ReportedCommand {
    pub(crate) line: String,
    pub(crate) output: String,
    pub(crate) exit_code: Option<i64>,
}

pub(crate) fn start(program: PtyProgram, directory: &Path) -> TerminalOptions {
    TerminalOptions {
        program,
        environment: Vec::new(),
        directory: uri_of(directory),
        cols: 100,
        rows: 40,
        pid_dir: None,
        output_sink: None,
    }
}

impl Bench {
    pub(crate) fn open(program: PtyProgram, directory: &Path) -> Self {
        let (tell, told) = channel();
        let start = start(program, directory);
        let terminal = Terminal::open(&start, move |event| drop(tell.send(event))).unwrap();
        Bench { terminal, told }
    }

    /// One of the shells, at home in a folder. None, and a word about it, if
    /// this machine has no such shell.
    pub(crate) fn shell(name: &str, startup: ShellStartup, home: &Path) -> Option<Self> {
        let path = find(name)?;
        let environment = [("HOME", home.as_os_str()), ("PS1", "$ ".as_ref())];
        let mut shell = ShellSpec {
            path: Some(path),
            startup,
            environment: Vec::new(),
            ..ShellSpec::default()
        };
        for (name, value) in environment {
            shell.environment.push((name.into(), value.into()));
        }
        Some(Self::open(PtyProgram::Shell(shell), home))
    }

    pub(crate) fn next(&self) -> TerminalEvent {
        self.told.recv_timeout(TERMINAL_TIMEOUT).unwrap()
    }

    pub(crate) fn type_line(&self, line: &str) {
        self.terminal.write(format!("{line}\r")).unwrap();
    }

    /// All output until a text is in it.
    pub(crate) fn until(&self, text: &str) -> String {
        let mut output = String::new();
        let deadline = Instant::now() + TERMINAL_TIMEOUT;
        while !output.contains(text) {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.told.recv_timeout(left) {
                Ok(TerminalEvent::Output(more)) => output.push_str(&more.data),
                Ok(_) => {}
                Err(_) => panic!("`{text}` is not in {output:?}"),
            }
        }
        output
    }

    /// Presses Ctrl-C until the shell says that it has seen it. Some do not see
    /// it while they are busy with what was typed before.
    pub(crate) fn interrupt(&self, seen: &str) {
        let mut output = String::new();
        let deadline = Instant::now() + TERMINAL_TIMEOUT;
        while Instant::now() < deadline {
            self.terminal.write("\u{3}".to_owned()).unwrap();
            let again = Instant::now() + Duration::from_secs(1);
            let left = || again.saturating_duration_since(Instant::now());
            while let Ok(event) = self.told.recv_timeout(left()) {
                if let TerminalEvent::Output(more) = event {
                    output.push_str(&more.data);
                }
                if output.contains(seen) {
                    return;
                }
            }
        }
        panic!("`{seen}` is not in {output:?}");
    }

    /// The end, and what was written before it.
    pub(crate) fn end(&self) -> (String, TerminalEnd) {
        let mut output = String::new();
        loop {
            match self.next() {
                TerminalEvent::Exited(end) => return (output, end),
                TerminalEvent::Output(more) => output.push_str(&more.data),
                _ => {}
            }
        }
    }

    /// Waits until the shell says that it tells of its commands.
    pub(crate) fn detected(&self) {
        while self.next() != TerminalEvent::CommandDetectionEnabled {}
    }

    /// The next command that begins and ends.
    pub(crate) fn command(&self) -> ReportedCommand {
        let mut told: Option<ReportedCommand> = None;
        loop {
            let event = self.next();
            match (event, &mut told) {
                (TerminalEvent::CommandExecuted(line), open) => {
                    assert_eq!(*open, None, "a second command before the end of the first");
                    *open = Some(ReportedCommand {
                        line: line.0,
                        output: String::new(),
                        exit_code: None,
                    });
                }
                (TerminalEvent::Output(more), Some(told)) => told.output.push_str(&more.data),
                (TerminalEvent::CommandFinished(exit_code), open) => {
                    if let Some(mut told) = open.take() {
                        told.exit_code = exit_code;
                        return told;
                    }
                }
                _ => {}
            }
        }
    }

    /// Types a line, and returns the command that comes of it.
    pub(crate) fn run(&self, line: &str) -> ReportedCommand {
        self.type_line(line);
        self.command()
    }
}

#[expect(clippy::print_stdout, reason = "for who wonders what was tested")]
fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(name));
    let found = found.into_iter().find(|path| path.is_file());
    if found.is_none() {
        println!("skipped: there is no {name} on this machine");
    }
    found
}
