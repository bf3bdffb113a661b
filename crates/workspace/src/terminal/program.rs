//! What runs in a terminal, and how a shell is made to tell of its commands.
//!
//! No file of the user is touched: the shell is pointed to files of ours in a
//! private folder, which read the user's own first.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use agenthost_core::CommandLine;
use agenthost_process::{OrphanPolicy, ProcessSession, TerminateSignal};
use agenthost_stdx::hex::encode_hex;
use agenthost_stdx::scratch::{ScratchDirectory, ScratchSpace};
use portable_pty::CommandBuilder;

const BASH_SCRIPT: &str = include_str!("integration/bash.sh");
const ZSH_ENV_SCRIPT: &str = include_str!("integration/zshenv.zsh");
const ZSH_HOOKS_SCRIPT: &str = include_str!("integration/hooks.zsh");
const FISH_SCRIPT: &str = include_str!("integration/fish.fish");

/// What runs in a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PtyProgram {
    /// A shell to type into.
    Shell(ShellSpec),
    /// One command line, by `sh -c`, with nothing that waits for a reader
    /// between it and its output.
    Command(CommandLine),
    /// One program, that an agent chose.
    Exec(ExecSpec),
}

impl PtyProgram {
    /// Returns the session that the program leads.
    pub(super) fn session(&self, leader: u32) -> ProcessSession {
        let (signal, orphans) = match self {
            PtyProgram::Shell(_) => (TerminateSignal::HangUp, OrphanPolicy::Keep),
            PtyProgram::Command(_) | PtyProgram::Exec(_) => {
                (TerminateSignal::Terminate, OrphanPolicy::Kill)
            }
        };
        ProcessSession::new(leader, signal, orphans)
    }
}

/// A program with its arguments and all of its environment. It gets nothing
/// of what the host has in its own: agents are not to see that.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ExecSpec {
    /// The program, as a path or a name in `PATH`.
    pub program: OsString,
    /// The arguments after the program.
    pub arguments: Vec<OsString>,
    /// What it finds in its environment, besides what says which terminal it is in.
    pub environment: Vec<(OsString, OsString)>,
}

/// Shows how much, not what: both may have secrets in them.
impl std::fmt::Debug for ExecSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExecSpec")
            .field("arguments", &self.arguments.len())
            .field("environment", &self.environment.len())
            .finish_non_exhaustive()
    }
}

/// Which shell, and how it starts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShellSpec {
    /// The program; the user's own if nobody says.
    pub path: Option<PathBuf>,
    /// Which of the user's files it reads.
    pub startup: ShellStartup,
    /// What to change in its environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Where the files are made that it is pointed to.
    pub scratch: ScratchSpace,
}

/// Which files of the user a shell reads when it starts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ShellStartup {
    /// As the first of a person who logs in: the host may not have been
    /// started by one.
    #[default]
    Login,
    /// As one more.
    NonLogin,
}

/// A program that can be started.
pub(super) struct PreparedProgram {
    pub(super) command: CommandBuilder,
    pub(super) integration: Option<ShellIntegration>,
}

/// What a shell was given to tell of its commands. Its files are gone when
/// dropped.
#[derive(Debug)]
pub(super) struct ShellIntegration {
    /// What marks have to carry, so that nobody else can make them.
    pub(super) nonce: String,
    folder: ScratchDirectory,
}

impl PreparedProgram {
    pub(super) fn new(program: &PtyProgram) -> Self {
        let mut prepared = match program {
            PtyProgram::Shell(shell) => Self::for_shell(shell),
            PtyProgram::Command(line) => Self::for_command(&line.0),
            PtyProgram::Exec(run) => Self::for_exec(run),
        };
        prepared.command.env("TERM", "xterm-256color");
        prepared.command.env("COLORTERM", "truecolor");
        prepared
    }

    fn for_command(line: &str) -> Self {
        let mut command = CommandBuilder::new("sh");
        command.args(["-c", line]);
        Self::without_pager(command)
    }

    fn for_exec(run: &ExecSpec) -> Self {
        let mut command = CommandBuilder::new(&run.program);
        command.args(&run.arguments);
        command.env_clear();
        for (name, value) in &run.environment {
            command.env(name, value);
        }
        Self::without_pager(command)
    }

    /// Nothing is to wait for somebody who reads page by page.
    fn without_pager(mut command: CommandBuilder) -> Self {
        command.env("PAGER", "cat");
        command.env("GIT_PAGER", "cat");
        PreparedProgram {
            command,
            integration: None,
        }
    }

    fn for_shell(shell: &ShellSpec) -> Self {
        let path = match &shell.path {
            Some(path) => path.clone(),
            None => CommandBuilder::new_default_prog().get_shell().into(),
        };
        let name = path.file_name().and_then(|name| name.to_str());
        let known = name.and_then(KnownShell::from_name);
        // Without a place for our files it is a shell like any other.
        let integration = known.and_then(|known| ShellIntegration::write(known, shell).ok());
        let mut command = match (&integration, shell.startup) {
            // By a dash before its name, which any shell understands.
            (None, ShellStartup::Login) => CommandBuilder::new_default_prog(),
            (None, ShellStartup::NonLogin) | (Some(_), _) => CommandBuilder::new(&path),
        };
        for (name, value) in &shell.environment {
            command.env(name, value);
        }
        command.env("SHELL", &path);
        if let (Some(known), Some(integration)) = (known, &integration) {
            known.inject_scripts(integration.folder.path(), shell.startup, &mut command);
        }
        PreparedProgram {
            command,
            integration,
        }
    }
}

/// Shells that can be made to tell of their commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KnownShell {
    Bash,
    Zsh,
    Fish,
}

impl KnownShell {
    fn from_name(name: &str) -> Option<Self> {
        match name {
            "bash" => Some(KnownShell::Bash),
            "zsh" => Some(KnownShell::Zsh),
            "fish" => Some(KnownShell::Fish),
            _ => None,
        }
    }

    /// Makes it read our files.
    fn inject_scripts(self, folder: &Path, startup: ShellStartup, command: &mut CommandBuilder) {
        match self {
            // One that logs in would not read this, so ours reads what such a
            // one would have read.
            KnownShell::Bash => {
                command.arg("--init-file");
                command.arg(folder.join("bash.sh"));
            }
            KnownShell::Zsh => {
                if let Some(own) = command.get_env("ZDOTDIR").map(ToOwned::to_owned) {
                    command.env("AGENTHOST_ZDOTDIR", own);
                }
                command.env("ZDOTDIR", folder);
                add_login_flag(startup, command);
            }
            KnownShell::Fish => {
                add_login_flag(startup, command);
                command.arg("--init-command");
                let file = folder.join("fish.fish").to_string_lossy().into_owned();
                let file = file.replace('\\', "\\\\").replace('\'', "\\'");
                command.arg(format!("source '{file}'"));
            }
        }
    }
}

fn add_login_flag(startup: ShellStartup, command: &mut CommandBuilder) {
    match startup {
        ShellStartup::Login => command.arg("-l"),
        ShellStartup::NonLogin => {}
    }
}

impl ShellIntegration {
    /// Writes what a shell has to read, into a folder that nobody else can.
    fn write(known: KnownShell, shell: &ShellSpec) -> io::Result<Self> {
        let nonce = random_nonce()?;
        let folder = shell.scratch.create_directory()?;
        let startup = match shell.startup {
            ShellStartup::Login => "login",
            ShellStartup::NonLogin => "plain",
        };
        let files: &[(&str, &str)] = match known {
            KnownShell::Bash => &[("bash.sh", BASH_SCRIPT)],
            KnownShell::Zsh => &[(".zshenv", ZSH_ENV_SCRIPT), ("hooks.zsh", ZSH_HOOKS_SCRIPT)],
            KnownShell::Fish => &[("fish.fish", FISH_SCRIPT)],
        };
        for (name, text) in files {
            let text = text.replace("@NONCE@", &nonce);
            let text = text.replace("@STARTUP@", startup);
            std::fs::write(folder.path().join(name), text)?;
        }
        Ok(ShellIntegration { nonce, folder })
    }
}

/// Something that cannot be guessed.
fn random_nonce() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(encode_hex(&bytes))
}
