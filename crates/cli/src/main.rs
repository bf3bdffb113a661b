//! The `agenthost` command.
//!
//! **What it does.** Parses the command line, runs one command, and converts its result to
//! an error message and an exit code. Without a command it runs [`commands::tui`] at a
//! terminal, and [`commands::serve`] otherwise.
//!
//! **What it must never do.** It never prints outside of [`output`]: stdout is for data,
//! stderr is for notes to the user.
//!
//! **Where to start.** `main`, then the module of a command.

mod background;
mod backup_archive;
mod commands;
mod completion_values;
mod config;
mod connect;
mod dialog;
mod host_settings;
mod output;
mod page_assets;
mod page_link;
mod remote_host;
mod session_lookup;
mod spool;
mod terminal;
mod terminal_environment;
mod turn_lookup;

use std::process::ExitCode;

use anyhow::Context;
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::CompleteEnv;

use remote_host::RemoteHost;

#[derive(Parser)]
#[command(name = "agenthost", version = env!("AGENTHOST_VERSION"), about = ABOUT, after_help = CLI_EXAMPLES, args_conflicts_with_subcommands = true)]
struct CliArgs {
    /// Open the terminal interface with the host of another machine, over ssh
    #[arg(long, value_name = "ssh:NAME")]
    host: Option<RemoteHost>,
    #[command(subcommand)]
    command: Option<CliCommand>,
}

#[derive(Subcommand)]
enum CliCommand {
    Serve(commands::serve::ServeArgs),
    Start(commands::start::StartArgs),
    Stop(commands::stop::StopArgs),
    Restart(commands::stop::RestartArgs),
    Upgrade(commands::stop::UpgradeArgs),
    Status(commands::status::StatusArgs),
    Logs(commands::logs::LogsArgs),
    Service(commands::service::ServiceArgs),
    Open(commands::open::OpenArgs),
    Pair(commands::pair::PairArgs),
    Devices(commands::devices::DevicesArgs),
    Run(commands::run::RunArgs),
    Attach(commands::attach::AttachArgs),
    Tui(commands::tui::TuiArgs),
    Sessions(commands::sessions::SessionsArgs),
    Diff(commands::diff::DiffArgs),
    Undo(commands::changes::UndoArgs),
    Restore(commands::changes::RestoreArgs),
    Commit(commands::changes::CommitArgs),
    Merge(commands::changes::MergeArgs),
    Apply(commands::changes::ApplyArgs),
    Fork(commands::fork::ForkArgs),
    Remove(commands::sessions::removal::RemoveSessionsArgs),
    Model(commands::settings::ModelArgs),
    Mode(commands::settings::ModeArgs),
    Allow(commands::allow::AllowArgs),
    Agents(commands::agents::AgentsArgs),
    Customizations(commands::customizations::CustomizationsArgs),
    Doctor(commands::doctor::DoctorArgs),
    Audit(commands::audit::AuditArgs),
    Du(commands::du::UsageArgs),
    Backup(commands::backup::BackupArgs),
    RestoreBackup(commands::restore_backup::RestoreBackupArgs),
    Forget(commands::forget::ForgetArgs),
    Reduce(commands::reduce::ReduceArgs),
    Relay(commands::relay::RelayArgs),
    Completions(commands::completions::CompletionsArgs),
    Man(commands::man::ManArgs),
    #[command(hide = true)]
    Runner(commands::runner::RunnerArgs),
    #[command(hide = true)]
    ToolsRelay(commands::tools_relay::ToolsRelayArgs),
}

const ABOUT: &str = "A host for coding agents, speaking the Agent Host Protocol";

const CLI_EXAMPLES: &str = "\
Without a command, agenthost opens the terminal interface (`tui`). If standard input or output is
not a terminal, it runs the host (`serve`).

Examples:
  agenthost serve --listen 127.0.0.1:8123     run the host on a fixed port
  agenthost start                             run the host in the background
  agenthost open                              open the page of the host in the browser
  agenthost pair --name phone                 sign in a phone to the page
  agenthost                                   open the terminal interface
  agenthost --host ssh:box                    open it with the host of another machine
  agenthost run \"what does this project do\"   run one turn in this terminal
  agenthost run '!ls -la'                     run a command without the agent
  agenthost attach                            join the latest session in this folder, line by line
  agenthost sessions                          list sessions
  agenthost diff                              show the changes of the last turn
  agenthost undo                              undo them
  agenthost allow ~/notes                     let clients read a folder
  agenthost agents                            list agents and whether they work
  agenthost customizations                    list rules, skills, plugins and MCP servers
  agenthost doctor                            check the installation
  agenthost du                                show what uses the space on the disk
  agenthost audit --since 7d                  show who approved and changed what
  agenthost backup agenthost.backup           write all data to one file
  agenthost reduce wire.jsonl                 compute the state of a wire log";

fn main() -> ExitCode {
    // A shell that completes a command line sets a variable, and wants nothing else.
    CompleteEnv::with_factory(CliArgs::command).complete();
    let arguments = CliArgs::parse();
    let command = match (arguments.command, arguments.host) {
        (Some(command), _) => command,
        (None, Some(remote)) => CliCommand::Tui(commands::tui::TuiArgs::of_remote_host(remote)),
        (None, None) => default_command(),
    };
    run_command(command).unwrap_or_else(|error| {
        output::print_error(&error);
        ExitCode::FAILURE
    })
}

/// Returns the command of a call without one: the interface for a person, the host for a program.
fn default_command() -> CliCommand {
    if commands::tui::is_at_terminal() {
        CliCommand::Tui(commands::tui::TuiArgs::default())
    } else {
        CliCommand::Serve(commands::serve::ServeArgs::default())
    }
}

fn run_command(command: CliCommand) -> anyhow::Result<ExitCode> {
    match command {
        CliCommand::Serve(arguments) => block_on(commands::serve::run(arguments)),
        CliCommand::Start(arguments) => block_on(commands::start::run(arguments)),
        CliCommand::Stop(arguments) => block_on(commands::stop::stop(arguments)),
        CliCommand::Restart(arguments) => block_on(commands::stop::restart(arguments)),
        CliCommand::Upgrade(arguments) => block_on(commands::stop::upgrade(arguments)),
        CliCommand::Status(arguments) => block_on(commands::status::run(arguments)),
        CliCommand::Logs(arguments) => block_on(commands::logs::run(arguments)),
        CliCommand::Service(arguments) => commands::service::run(&arguments),
        CliCommand::Open(arguments) => block_on(commands::open::run(arguments)),
        CliCommand::Pair(arguments) => block_on(commands::pair::run(arguments)),
        CliCommand::Devices(arguments) => block_on(commands::devices::run(arguments)),
        CliCommand::Run(arguments) => block_on(commands::run::run(arguments)),
        CliCommand::Attach(arguments) => block_on(commands::attach::run(arguments)),
        CliCommand::Tui(arguments) => block_on(commands::tui::run(arguments)),
        CliCommand::Sessions(arguments) => block_on(commands::sessions::run(arguments)),
        CliCommand::Diff(arguments) => block_on(commands::diff::run(arguments)),
        CliCommand::Undo(arguments) => block_on(commands::changes::undo(arguments)),
        CliCommand::Restore(arguments) => block_on(commands::changes::restore(arguments)),
        CliCommand::Commit(arguments) => block_on(commands::changes::commit(arguments)),
        CliCommand::Merge(arguments) => block_on(commands::changes::merge(arguments)),
        CliCommand::Apply(arguments) => block_on(commands::changes::apply(arguments)),
        CliCommand::Fork(arguments) => block_on(commands::fork::fork(arguments)),
        CliCommand::Remove(arguments) => block_on(commands::sessions::removal::run(arguments)),
        CliCommand::Model(arguments) => block_on(commands::settings::model(arguments)),
        CliCommand::Mode(arguments) => block_on(commands::settings::mode(arguments)),
        CliCommand::Allow(arguments) => block_on(commands::allow::run(arguments)),
        CliCommand::Agents(arguments) => block_on(commands::agents::run(arguments)),
        CliCommand::Customizations(arguments) => block_on(commands::customizations::run(arguments)),
        CliCommand::Doctor(arguments) => block_on(commands::doctor::run(arguments)),
        CliCommand::Audit(arguments) => commands::audit::run(&arguments),
        CliCommand::Du(arguments) => commands::du::run(&arguments),
        CliCommand::Backup(arguments) => commands::backup::run(&arguments),
        CliCommand::RestoreBackup(arguments) => commands::restore_backup::run(&arguments),
        CliCommand::Forget(arguments) => block_on(commands::forget::run(arguments)),
        CliCommand::Reduce(arguments) => commands::reduce::run(&arguments),
        CliCommand::Relay(arguments) => block_on(commands::relay::run(arguments)),
        CliCommand::Completions(arguments) => commands::completions::run(&arguments),
        CliCommand::Man(arguments) => commands::man::run(&arguments),
        CliCommand::Runner(arguments) => block_on(commands::runner::run(arguments)),
        CliCommand::ToolsRelay(arguments) => block_on(commands::tools_relay::run(arguments)),
    }
}

fn block_on(command: impl Future<Output = anyhow::Result<ExitCode>>) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Runtime::new().context("start the runtime")?;
    let result = runtime.block_on(command);
    // A task may still block on a read of standard input that never completes.
    runtime.shutdown_background();
    result
}
