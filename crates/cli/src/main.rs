//! The `agenthost` command.
//!
//! **What it does.** Reads the command line, runs one command, and turns its
//! end into words and an exit code. [`serve`] is what runs without one.
//!
//! **What it never does.** Only [`output`] prints: stdout is data, stderr is
//! for people.
//!
//! **Where to start.** `main`, then the module of a command.

mod agents;
mod allow;
mod attach;
mod config;
mod customizations;
mod diff;
mod doctor;
mod host_settings;
mod output;
mod place;
mod reduce;
mod run;
mod serve;
mod sessions;
mod spool;
mod talk;
mod tools_relay;

use std::process::ExitCode;

use anyhow::Context;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "agenthost", version, about = ABOUT, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    Serve(serve::Arguments),
    Run(run::Arguments),
    Attach(attach::Arguments),
    Sessions(sessions::Arguments),
    Diff(diff::Arguments),
    Allow(allow::Arguments),
    Agents(agents::Arguments),
    Customizations(customizations::Arguments),
    Doctor(doctor::Arguments),
    Reduce(reduce::Arguments),
    #[command(hide = true)]
    ToolsRelay(tools_relay::Arguments),
}

const ABOUT: &str = "A host for coding agents, speaking the Agent Host Protocol";

const EXAMPLES: &str = "\
Without a command, agenthost serves: clients attach, and see the same sessions live.

Examples:
  agenthost serve --listen 127.0.0.1:8123     the host, where you want it
  agenthost run \"ls -la\"                      one turn, in this terminal
  agenthost attach                            take part in a session, line by line
  agenthost sessions                          what there is
  agenthost diff                              what the last turn changed
  agenthost allow ~/notes                     let clients look into a folder
  agenthost agents                            which agents are here, and whether they work
  agenthost customizations                    rules, skills, plugins and servers of this folder
  agenthost doctor                            what works, and what to do about the rest
  agenthost reduce wire.jsonl                 the state that a log of actions makes";

fn main() -> ExitCode {
    let command = Arguments::parse().command;
    let command = command.unwrap_or_else(|| Command::Serve(serve::Arguments::default()));
    carry_out(command).unwrap_or_else(|error| {
        output::failure(&error);
        ExitCode::FAILURE
    })
}

fn carry_out(command: Command) -> anyhow::Result<ExitCode> {
    if let Command::Reduce(arguments) = command {
        return reduce::run(&arguments);
    }
    let runtime = tokio::runtime::Runtime::new().context("start the runtime")?;
    let result = runtime.block_on(async {
        match command {
            Command::Serve(arguments) => serve::run(arguments).await,
            Command::Run(arguments) => run::run(arguments).await,
            Command::Attach(arguments) => attach::run(arguments).await,
            Command::Sessions(arguments) => sessions::run(arguments).await,
            Command::Diff(arguments) => diff::run(arguments).await,
            Command::Allow(arguments) => allow::run(arguments).await,
            Command::Agents(arguments) => agents::run(arguments).await,
            Command::Customizations(arguments) => customizations::run(arguments).await,
            Command::Doctor(arguments) => doctor::run(arguments).await,
            Command::Reduce(arguments) => reduce::run(&arguments),
            Command::ToolsRelay(arguments) => tools_relay::run(arguments).await,
        }
    });
    // Somebody may still be waiting for a line of standard input that never
    // comes.
    runtime.shutdown_background();
    result
}
