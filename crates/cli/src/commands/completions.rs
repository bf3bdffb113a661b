//! `agenthost completions`: prints the completion script of a shell.

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::CliArgs;
use crate::output;

/// Print the completion script of a shell
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
    let mut script = Vec::new();
    let mut command = CliArgs::command();
    clap_complete::generate(arguments.shell, &mut command, "agenthost", &mut script);
    output::print_bytes(&script)?;
    Ok(ExitCode::SUCCESS)
}
