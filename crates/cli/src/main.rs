//! The `agenthost` command.
//!
//! **What it does.** Reads the command line, runs one command, and turns its
//! end into words and an exit code. So far there is one command: [`reduce`].
//!
//! **What it never does.** Only [`output`] prints: stdout is data, stderr is
//! for people.
//!
//! **Where to start.** `main`, then the module of a command.

mod output;
mod reduce;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

#[derive(Parser)]
#[command(name = "agenthost", version, about = ABOUT, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    Reduce(reduce::Arguments),
}

const ABOUT: &str = "A host for coding agents, speaking the Agent Host Protocol";

const EXAMPLES: &str = "\
Examples:
  agenthost reduce crates/cli/examples/session.jsonl
  agenthost reduce wire.jsonl --channel ahp-chat:/1 --until 120 --trace
  some-recorder | agenthost reduce -";

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Some(Command::Reduce(arguments)) => reduce::run(&arguments),
        None => output::data(&Arguments::command().render_help().to_string())
            .map(|()| ExitCode::SUCCESS),
    };
    result.unwrap_or_else(|error| {
        output::failure(&error);
        ExitCode::FAILURE
    })
}
