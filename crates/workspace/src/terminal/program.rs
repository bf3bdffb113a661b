//! What runs in a terminal, and how a shell is made to tell of its commands.
//!
//! No file of the user is touched: the shell is pointed to files of ours in a
//! private folder, which read the user's own first.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use agenthost_core::CommandLine;
use agenthost_stdx::scratch::{Scratch, ScratchDirectory};
use portable_pty::CommandBuilder;

const BASH: &str = include_str!("integration/bash.sh");
const ZSH_ENVIRONMENT: &str = include_str!("integration/zshenv.zsh");
const ZSH_HOOKS: &str = include_str!("integration/hooks.zsh");
const FISH: &str = include_str!("integration/fish.fish");

/// What runs in a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// A shell to type into.
    Shell(Shell),
    /// One command line, by `sh -c`, with nothing that waits for a reader
    /// between it and its output.
    Command(CommandLine),
    /// One program, that an agent chose.
    Run(Run),
}

/// A program with its arguments and all of its environment. It gets nothing
/// of what the host has in its own: agents are not to see that.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Run {
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// What it finds in its environment, besides what says which terminal it is in.
    pub environment: Vec<(OsString, OsString)>,
}

/// Shows how much, not what: both may have secrets in them.
impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run")
            .field("arguments", &self.arguments.len())
            .field("environment", &self.environment.len())
            .finish_non_exhaustive()
    }
}

/// Which shell, and how it starts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shell {
    /// The program; the user's own if nobody says.
    pub path: Option<PathBuf>,
    /// Which of the user's files it reads.
    pub startup: Startup,
    /// What to change in its environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Where the files are made that it is pointed to.
    pub scratch: Scratch,
}

/// Which files of the user a shell reads when it starts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Startup {
    /// As the first of a person who logs in: the host may not have been
    /// started by one.
    #[default]
    Login,
    /// As one more.
    Plain,
}

/// A program that can be started.
pub(super) struct Prepared {
    pub(super) command: CommandBuilder,
    pub(super) integration: Option<Integration>,
}

/// What a shell was given to tell of its commands. Its files are gone when
/// dropped.
#[derive(Debug)]
pub(super) struct Integration {
    /// What marks have to carry, so that nobody else can make them.
    pub(super) nonce: String,
    folder: ScratchDirectory,
}

impl Prepared {
    pub(super) fn new(program: &Program) -> Self {
        let mut prepared = match program {
            Program::Shell(shell) => Self::shell(shell),
            Program::Command(line) => Self::command(&line.0),
            Program::Run(run) => Self::run(run),
        };
        prepared.command.env("TERM", "xterm-256color");
        prepared.command.env("COLORTERM", "truecolor");
        prepared
    }

    fn command(line: &str) -> Self {
        let mut command = CommandBuilder::new("sh");
        command.args(["-c", line]);
        Self::without_reader(command)
    }

    fn run(run: &Run) -> Self {
        let mut command = CommandBuilder::new(&run.program);
        command.args(&run.arguments);
        command.env_clear();
        for (name, value) in &run.environment {
            command.env(name, value);
        }
        Self::without_reader(command)
    }

    /// Nothing is to wait for somebody who reads page by page.
    fn without_reader(mut command: CommandBuilder) -> Self {
        command.env("PAGER", "cat");
        command.env("GIT_PAGER", "cat");
        Prepared {
            command,
            integration: None,
        }
    }

    fn shell(shell: &Shell) -> Self {
        let path = match &shell.path {
            Some(path) => path.clone(),
            None => CommandBuilder::new_default_prog().get_shell().into(),
        };
        let name = path.file_name().and_then(|name| name.to_str());
        let known = name.and_then(Known::named);
        // Without a place for our files it is a shell like any other.
        let integration = known.and_then(|known| Integration::write(known, shell).ok());
        let mut command = match (&integration, shell.startup) {
            // By a dash before its name, which any shell understands.
            (None, Startup::Login) => CommandBuilder::new_default_prog(),
            (None, Startup::Plain) | (Some(_), _) => CommandBuilder::new(&path),
        };
        for (name, value) in &shell.environment {
            command.env(name, value);
        }
        command.env("SHELL", &path);
        if let (Some(known), Some(integration)) = (known, &integration) {
            known.point_to(integration.folder.path(), shell.startup, &mut command);
        }
        Prepared {
            command,
            integration,
        }
    }
}

/// Shells that can be made to tell of their commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    Bash,
    Zsh,
    Fish,
}

impl Known {
    fn named(name: &str) -> Option<Self> {
        match name {
            "bash" => Some(Known::Bash),
            "zsh" => Some(Known::Zsh),
            "fish" => Some(Known::Fish),
            _ => None,
        }
    }

    /// Makes it read our files.
    fn point_to(self, folder: &Path, startup: Startup, command: &mut CommandBuilder) {
        match self {
            // One that logs in would not read this, so ours reads what such a
            // one would have read.
            Known::Bash => {
                command.arg("--init-file");
                command.arg(folder.join("bash.sh"));
            }
            Known::Zsh => {
                if let Some(own) = command.get_env("ZDOTDIR").map(ToOwned::to_owned) {
                    command.env("AGENTHOST_ZDOTDIR", own);
                }
                command.env("ZDOTDIR", folder);
                login(startup, command);
            }
            Known::Fish => {
                login(startup, command);
                command.arg("--init-command");
                let file = folder.join("fish.fish").to_string_lossy().into_owned();
                let file = file.replace('\\', "\\\\").replace('\'', "\\'");
                command.arg(format!("source '{file}'"));
            }
        }
    }
}

fn login(startup: Startup, command: &mut CommandBuilder) {
    match startup {
        Startup::Login => command.arg("-l"),
        Startup::Plain => {}
    }
}

impl Integration {
    /// Writes what a shell has to read, into a folder that nobody else can.
    fn write(known: Known, shell: &Shell) -> io::Result<Self> {
        let nonce = nonce()?;
        let folder = shell.scratch.directory()?;
        let startup = match shell.startup {
            Startup::Login => "login",
            Startup::Plain => "plain",
        };
        let files: &[(&str, &str)] = match known {
            Known::Bash => &[("bash.sh", BASH)],
            Known::Zsh => &[(".zshenv", ZSH_ENVIRONMENT), ("hooks.zsh", ZSH_HOOKS)],
            Known::Fish => &[("fish.fish", FISH)],
        };
        for (name, text) in files {
            let text = text.replace("@NONCE@", &nonce);
            let text = text.replace("@STARTUP@", startup);
            std::fs::write(folder.path().join(name), text)?;
        }
        Ok(Integration { nonce, folder })
    }
}

/// Something that cannot be guessed.
fn nonce() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
