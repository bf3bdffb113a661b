//! `agenthost start`: starts the host in the background.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::background::log_files::LogFiles;
use crate::background::running_host::RunningHost;
use crate::background::{HostLifetime, StartPermit, start_host};
use crate::commands::serve::ServeOptions;
use crate::connect::check_owner;
use crate::output;

/// Start the host in the background
///
/// The host goes on when the terminal is closed; `agenthost stop` ends it. Does nothing if a host
/// is running already. `run` and `attach` start a host by themselves.
#[derive(clap::Args)]
#[command(after_help = START_EXAMPLES)]
pub(crate) struct StartArgs {
    #[command(flatten)]
    options: ServeOptions,
}

const START_EXAMPLES: &str = "\
Examples:
  agenthost start
  agenthost start --listen 127.0.0.1:8123
  agenthost logs -f                            follow its log
  agenthost service install                    start it at every login";

pub(crate) async fn run(arguments: StartArgs) -> anyhow::Result<ExitCode> {
    let options = arguments.options;
    let settings = options.host.resolve_settings()?;
    let arguments = options.to_arguments()?;
    let directory = &settings.data_directory;
    check_owner(directory)?;
    let permit = StartPermit::acquire(directory).await?;
    if let Some(host) = RunningHost::find_settled(directory).await? {
        let pid = host.file.pid;
        let ignored = match arguments != options.host.to_arguments()? {
            true => " and keeps its options; `agenthost stop` ends it",
            false => "",
        };
        output::print_note(&format!(
            "the host is already running (process {pid}){ignored}"
        ));
        return Ok(ExitCode::SUCCESS);
    }
    let log = options.log_file.as_ref();
    let log = log.map_or_else(|| LogFiles::of(directory).log_path(), PathBuf::clone);
    start_host(&permit, directory, arguments, HostLifetime::Unlimited).await?;
    if let Some(host) = RunningHost::find(directory).await? {
        let pid = host.file.pid;
        output::print_note(&format!(
            "the host runs in the background (process {pid}) at {}",
            host.address()
        ));
    }
    output::print_note(&format!("log: {}", log.display()));
    Ok(ExitCode::SUCCESS)
}
