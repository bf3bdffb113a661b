//! The `agenthost` command.
//!
//! **What it does.** Reads the command line, runs one command, and turns its
//! end into words and an exit code. [`serve`] is what runs without one.
//!
//! **What it never does.** Only [`output`] prints: stdout is data, stderr is
//! for people.
//!
//! **Where to start.** `main`, then the module of a command.

mod output;
mod reduce;
mod serve;

use std::process::ExitCode;

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
    Reduce(reduce::Arguments),
}

const ABOUT: &str = "A host for coding agents, speaking the Agent Host Protocol";

const EXAMPLES: &str = "\
Without a command, agenthost serves.

Examples:
  agenthost serve --listen 127.0.0.1:8123 --data-dir ~/.agenthost
  agenthost reduce crates/cli/examples/session.jsonl
  agenthost reduce wire.jsonl --channel ahp-chat:/1 --until 120 --trace
  some-recorder | agenthost reduce -";

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Some(Command::Serve(arguments)) => serve::run(&arguments),
        Some(Command::Reduce(arguments)) => reduce::run(&arguments),
        None => serve::run(&serve::Arguments::default()),
    };
    result.unwrap_or_else(|error| {
        output::failure(&error);
        ExitCode::FAILURE
    })
}
