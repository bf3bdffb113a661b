//! `agenthost stop` and `agenthost restart`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use agenthost_server::{end_runner, find_runner};
use anyhow::{Context, bail};

use crate::background::running_host::{RunnerFate, RunningHost};
use crate::background::start_record::StartRecord;
use crate::background::{HostLifetime, HostStart, START_TIMEOUT, StartPermit, StartedHost};
use crate::connect::{HostOptions, check_owner};
use crate::dialog::question::confirm;
use crate::output;

/// Stop the host
///
/// Ends running turns with their agents and terminals, and asks first if there are any. Sessions,
/// queued messages and drafts stay, and the next host continues with them. With `--keep`, agents
/// and terminals go on without a host, and the next host continues the running turns.
#[derive(clap::Args)]
pub(crate) struct StopArgs {
    /// Stop without asking, also if turns are running
    #[arg(long, short)]
    yes: bool,
    /// Leave agents and terminals running for the next host
    #[arg(long)]
    keep: bool,
    #[command(flatten)]
    host: HostOptions,
}

/// Restart the host that runs in the background
///
/// Starts it with the same options and at the same address. Agents and terminals go on meanwhile,
/// and the new host continues the running turns.
#[derive(clap::Args)]
pub(crate) struct RestartArgs {
    /// Restart without asking, also if turns would end
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    host: HostOptions,
}

/// Replace the host that runs in the background by another version
///
/// Starts the host from another program file, with the same options and at the same address. Agents
/// and terminals go on meanwhile, and the new host continues the running turns. If it is not ready
/// within 10 seconds, the previous version starts again.
#[derive(clap::Args)]
pub(crate) struct UpgradeArgs {
    /// The program of the new version
    file: PathBuf,
    /// Upgrade without asking, also if turns would end
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    host: HostOptions,
}

/// Timeout for a new version to listen.
const UPGRADE_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) async fn stop(arguments: StopArgs) -> anyhow::Result<ExitCode> {
    let directory = &arguments.host.resolve_data_directory()?;
    check_owner(directory)?;
    let Some(host) = RunningHost::find_settled(directory).await? else {
        return stop_runner(directory, &arguments).await;
    };
    if arguments.keep {
        host.stop(directory, RunnerFate::GoesOn).await?;
        output::print_note(match find_runner(directory) {
            Some(_) => "stopped the host; its agents and terminals go on",
            None => "stopped the host",
        });
        return Ok(ExitCode::SUCCESS);
    }
    if !stop_host(host, directory, arguments.yes).await? {
        return Ok(ExitCode::FAILURE);
    }
    output::print_note("stopped the host");
    Ok(ExitCode::SUCCESS)
}

/// Ends the agents and terminals that a host has left.
async fn stop_runner(directory: &Path, arguments: &StopArgs) -> anyhow::Result<ExitCode> {
    let is_left = find_runner(directory).is_some();
    if !is_left || arguments.keep {
        output::print_note("no host is running");
        return Ok(ExitCode::SUCCESS);
    }
    let question = "no host is running, but its agents or terminals are. End them?";
    if !arguments.yes && !confirm(question, "`--yes` ends them without asking")? {
        output::print_note("the agents and terminals go on");
        return Ok(ExitCode::FAILURE);
    }
    // A host that is starting would use the runner.
    let _permit = StartPermit::acquire(directory).await?;
    end_runner(directory).await.context("end the runner")?;
    output::print_note("ended the agents and terminals");
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn restart(arguments: RestartArgs) -> anyhow::Result<ExitCode> {
    let settings = arguments.host.resolve_settings()?;
    let directory = &settings.data_directory;
    let permit = StartPermit::acquire(directory).await?;
    let next = HostStart {
        program: own_program()?,
        arguments: Vec::new(),
        lifetime: HostLifetime::Unlimited,
        listen_again: None,
        timeout: START_TIMEOUT,
    };
    let Some(next) = stop_for(next, directory, &arguments.host, arguments.yes).await? else {
        return Ok(ExitCode::FAILURE);
    };
    let pid = next.run(&permit, directory).await?.pid;
    output::print_note(&format!("restarted the host (process {pid})"));
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn upgrade(arguments: UpgradeArgs) -> anyhow::Result<ExitCode> {
    let settings = arguments.host.resolve_settings()?;
    let directory = &settings.data_directory;
    let version = program_version(&arguments.file).await?;
    let program = std::path::absolute(&arguments.file)?;
    let permit = StartPermit::acquire(directory).await?;
    let next = HostStart {
        program,
        arguments: Vec::new(),
        lifetime: HostLifetime::Unlimited,
        listen_again: None,
        timeout: UPGRADE_TIMEOUT,
    };
    let Some(next) = stop_for(next, directory, &arguments.host, arguments.yes).await? else {
        return Ok(ExitCode::FAILURE);
    };
    let previous = HostStart {
        program: own_program()?,
        timeout: START_TIMEOUT,
        ..next.clone()
    };
    match next.run(&permit, directory).await {
        Ok(StartedHost { pid, .. }) => {
            output::print_note(&format!("the host is {version} now (process {pid})"));
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            let started = previous.run(&permit, directory).await;
            let started = started.context("start the previous version again")?;
            Err(error.context(format!(
                "the host was not upgraded, and the previous version runs again (process {})",
                started.pid
            )))
        }
    }
}

/// Stops the host for the next one, if one is running, and returns the complete start of the next.
/// Returns `None` if the user refuses.
async fn stop_for(
    next: HostStart,
    directory: &Path,
    options: &HostOptions,
    agreed: bool,
) -> anyhow::Result<Option<HostStart>> {
    check_owner(directory)?;
    let record = StartRecord::read(directory)?;
    let Some(host) = RunningHost::find_settled(directory).await? else {
        let arguments = match record {
            Some(record) => record.into_arguments(),
            None => options.to_arguments()?,
        };
        return Ok(Some(HostStart { arguments, ..next }));
    };
    let own = record.filter(|record| record.pid == host.file.pid);
    let Some(own) = own else {
        bail!(
            "the host (process {}) was not started by `agenthost start`\n\
             hint: restart it where it was started: in its terminal, or with its service",
            host.file.pid
        );
    };
    let listen_again = host.socket_address();
    if find_runner(directory).is_some() {
        host.stop(directory, RunnerFate::GoesOn).await?;
    } else if !stop_host(host, directory, agreed).await? {
        return Ok(None);
    }
    Ok(Some(HostStart {
        arguments: own.into_arguments(),
        listen_again,
        ..next
    }))
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
            "`--yes` stops the host without asking, and `--keep` lets the turns go on",
        )? {
            output::print_note("the host was not stopped");
            return Ok(false);
        }
    }
    host.stop(data_directory, RunnerFate::Ends).await?;
    Ok(true)
}

fn own_program() -> anyhow::Result<PathBuf> {
    std::env::current_exe().context("find the program of the host")
}

/// Returns the name and version of a program, and an error if it is not agenthost.
async fn program_version(program: &Path) -> anyhow::Result<String> {
    let printed = tokio::process::Command::new(program)
        .arg("--version")
        .output()
        .await;
    let printed = printed.with_context(|| format!("run `{}`", program.display()))?;
    let version = String::from_utf8_lossy(&printed.stdout).trim().to_owned();
    if !version.starts_with("agenthost ") {
        bail!("`{}` is not agenthost", program.display());
    }
    Ok(version)
}
