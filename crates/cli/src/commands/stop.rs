//! `agenthost stop` and `agenthost restart`.

use std::path::Path;
use std::process::ExitCode;

use anyhow::bail;

use crate::background::running_host::RunningHost;
use crate::background::start_record::StartRecord;
use crate::background::{HostLifetime, StartPermit, start_host};
use crate::connect::{HostOptions, check_owner};
use crate::dialog::question::confirm;
use crate::output;

/// Stop the host
///
/// Ends running turns with their agents and terminals, and asks first if there are any. Sessions,
/// queued messages and drafts stay, and the next host continues with them.
#[derive(clap::Args)]
pub(crate) struct StopArgs {
    /// Stop without asking, also if turns are running
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    host: HostOptions,
}

/// Restart the host that runs in the background
///
/// Ends running turns, like `agenthost stop`, and starts the host with the same options.
#[derive(clap::Args)]
pub(crate) struct RestartArgs {
    /// Restart without asking, also if turns are running
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    host: HostOptions,
}

pub(crate) async fn stop(arguments: StopArgs) -> anyhow::Result<ExitCode> {
    let directory = &arguments.host.resolve_data_directory()?;
    check_owner(directory)?;
    let Some(host) = RunningHost::find_settled(directory).await? else {
        output::print_note("no host is running");
        return Ok(ExitCode::SUCCESS);
    };
    if !stop_host(host, directory, arguments.yes).await? {
        return Ok(ExitCode::FAILURE);
    }
    output::print_note("stopped the host");
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn restart(arguments: RestartArgs) -> anyhow::Result<ExitCode> {
    let settings = arguments.host.resolve_settings()?;
    let directory = &settings.data_directory;
    check_owner(directory)?;
    let permit = StartPermit::acquire(directory).await?;
    let record = StartRecord::read(directory)?;
    let serve_arguments = match RunningHost::find_settled(directory).await? {
        Some(host) => {
            let own = record.filter(|record| record.pid == host.file.pid);
            let Some(own) = own else {
                bail!(
                    "the host (process {}) was not started by `agenthost start`\n\
                     hint: restart it where it was started: in its terminal, or with its service",
                    host.file.pid
                );
            };
            if !stop_host(host, directory, arguments.yes).await? {
                return Ok(ExitCode::FAILURE);
            }
            own.into_arguments()
        }
        None => match record {
            Some(record) => record.into_arguments(),
            None => arguments.host.to_arguments()?,
        },
    };
    let started = start_host(&permit, directory, serve_arguments, HostLifetime::Unlimited).await?;
    let pid = started.pid;
    output::print_note(&format!("restarted the host (process {pid})"));
    Ok(ExitCode::SUCCESS)
}

/// Stops the host, after a question if turns are running. Returns `false` if the user refuses.
async fn stop_host(
    mut host: RunningHost,
    data_directory: &Path,
    agreed: bool,
) -> anyhow::Result<bool> {
    let counts = host.count_sessions().await?;
    if counts.running > 0 && !agreed {
        let turns = match counts.running {
            1 => "a turn is running and ends with the host".to_owned(),
            count => format!("{count} turns are running and end with the host"),
        };
        if !confirm(
            &format!("{turns}. Stop it?"),
            "`--yes` stops the host without asking",
        )? {
            output::print_note("the host was not stopped");
            return Ok(false);
        }
    }
    host.stop(data_directory).await?;
    Ok(true)
}
