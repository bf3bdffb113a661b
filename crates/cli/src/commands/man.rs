//! `agenthost man`: writes the manual pages.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::CommandFactory;

use crate::CliArgs;

/// Write the manual pages to a directory
///
/// One page for `agenthost` and one for each command, in section 1. The directory is created if
/// it does not exist.
#[derive(clap::Args)]
#[command(after_help = MAN_EXAMPLES)]
pub(crate) struct ManArgs {
    /// Directory for the pages, such as ~/.local/share/man/man1
    directory: PathBuf,
}

const MAN_EXAMPLES: &str = "\
Example:
  agenthost man ~/.local/share/man/man1     then `man agenthost-run`";

pub(crate) fn run(arguments: &ManArgs) -> anyhow::Result<ExitCode> {
    let directory = &arguments.directory;
    std::fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(CliArgs::command(), directory))
        .with_context(|| format!("write the manual pages to `{}`", directory.display()))?;
    Ok(ExitCode::SUCCESS)
}
