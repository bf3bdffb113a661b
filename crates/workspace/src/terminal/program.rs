//! Prepares the program of a terminal, and the integration scripts with which a shell reports
//! its commands.
//!
//! No file of the user is changed: the shell reads scripts of the host in a private directory,
//! which first read the user's own files.

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

/// The program that runs in a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PtyProgram {
    /// An interactive shell for input from clients.
    Shell(ShellSpec),
    /// One command line for `sh -c`, without a pager.
    Command(CommandLine),
    /// One program that an agent started.
    Exec(ExecSpec),
}

impl PtyProgram {
    /// Returns the process session that the program leads.
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

/// A program with its arguments and its complete environment. It inherits nothing from the
/// environment of the host, which agents must not see.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ExecSpec {
    /// The program, as a path or a name in `PATH`.
    pub program: OsString,
    /// The arguments after the program.
    pub arguments: Vec<OsString>,
    /// Environment variables, to which those of the terminal are added.
    pub environment: Vec<(OsString, OsString)>,
}

/// Shows only the numbers, because both may contain secrets.
impl std::fmt::Debug for ExecSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExecSpec")
            .field("arguments", &self.arguments.len())
            .field("environment", &self.environment.len())
            .finish_non_exhaustive()
    }
}

/// The shell of a terminal, and its start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShellSpec {
    /// Path of the shell; the user's own by default.
    pub path: Option<PathBuf>,
    /// The startup files that the shell reads.
    pub startup: ShellStartup,
    /// Changes to the inherited environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Scratch space for the integration scripts.
    pub scratch: ScratchSpace,
}

/// The startup files that a shell reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ShellStartup {
    /// Those of a login shell, because the host may not have been started from one.
    #[default]
    Login,
    /// Those of an interactive shell that is no login shell.
    NonLogin,
}

/// A command that is ready to be spawned.
pub(super) struct PreparedProgram {
    pub(super) command: CommandBuilder,
    pub(super) integration: Option<ShellIntegration>,
}

/// The integration scripts of a shell. On drop their files are removed.
#[derive(Debug)]
pub(super) struct ShellIntegration {
    /// Secret that each mark must contain, so that other programs can't forge marks.
    pub(super) nonce: String,
    folder: ScratchDirectory,
}

impl PreparedProgram {
    pub(super) fn new(program: &PtyProgram, environment: &[(OsString, OsString)]) -> Self {
        let mut prepared = match program {
            PtyProgram::Shell(shell) => Self::for_shell(shell, environment),
            PtyProgram::Command(line) => Self::for_command(&line.0, environment),
            PtyProgram::Exec(run) => Self::for_exec(run),
        };
        prepared.command.env("TERM", "xterm-256color");
        prepared.command.env("COLORTERM", "truecolor");
        prepared
    }

    fn for_command(line: &str, environment: &[(OsString, OsString)]) -> Self {
        let mut command = CommandBuilder::new("sh");
        command.args(["-c", line]);
        for (name, value) in environment {
            command.env(name, value);
        }
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

    /// Disables pagers, which would wait for input.
    fn without_pager(mut command: CommandBuilder) -> Self {
        command.env("PAGER", "cat");
        command.env("GIT_PAGER", "cat");
        PreparedProgram {
            command,
            integration: None,
        }
    }

    fn for_shell(shell: &ShellSpec, environment: &[(OsString, OsString)]) -> Self {
        let path = match &shell.path {
            Some(path) => path.clone(),
            None => CommandBuilder::new_default_prog().get_shell().into(),
        };
        let name = path.file_name().and_then(|name| name.to_str());
        let known = name.and_then(KnownShell::from_name);
        // Without a scratch directory the shell runs without integration.
        let integration = known.and_then(|known| ShellIntegration::write(known, shell).ok());
        let mut command = match (&integration, shell.startup) {
            // A dash before the program name makes any shell a login shell.
            (None, ShellStartup::Login) => CommandBuilder::new_default_prog(),
            (None, ShellStartup::NonLogin) | (Some(_), _) => CommandBuilder::new(&path),
        };
        for (name, value) in shell.environment.iter().chain(environment) {
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

/// Shells with an integration script.
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

    /// Makes the shell read the integration scripts.
    fn inject_scripts(self, folder: &Path, startup: ShellStartup, command: &mut CommandBuilder) {
        match self {
            // A login shell ignores `--init-file`, so the script reads the login files itself.
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
    /// Writes the integration scripts into a directory that only this user can access.
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

/// Returns 16 random bytes in hex digits.
fn random_nonce() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(encode_hex(&bytes))
}
