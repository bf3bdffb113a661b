//! `agenthost completions`: prints the completion script of a shell.

use std::process::ExitCode;

use anyhow::Context;
use clap_complete::Shell;
use clap_complete::env::Shells;

use crate::output;

/// The variable with which the script of a shell asks this program for completions.
const COMPLETION_VARIABLE: &str = "COMPLETE";

/// The name under which shells find this program, also for a script of a release.
const PROGRAM: &str = "agenthost";

/// Print the completion script of a shell
///
/// The script asks this program, so that it also completes the ids of sessions and the names of
/// agents of the running host.
#[derive(clap::Args)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub(crate) struct CompletionsArgs {
    shell: Shell,
}

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  agenthost completions bash > ~/.local/share/bash-completion/completions/agenthost
  agenthost completions zsh > ~/.zfunc/_agenthost       with `fpath+=~/.zfunc` before `compinit`
  agenthost completions fish > ~/.config/fish/completions/agenthost.fish";

pub(crate) fn run(arguments: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    let shells = Shells::builtins();
    let name = arguments.shell.to_string();
    let shell = shells.completer(&name);
    let shell = shell.with_context(|| format!("there is no completion script for `{name}`"))?;
    let mut script = Vec::new();
    shell
        .write_registration(COMPLETION_VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)
        .context("write the completion script")?;
    output::print_bytes(&script)?;
    Ok(ExitCode::SUCCESS)
}
