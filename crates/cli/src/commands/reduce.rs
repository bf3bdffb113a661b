//! `agenthost reduce`: computes the states that a log of actions results in.
//!
//! The log has one JSON value on each line: a snapshot, an action envelope, or a complete
//! message as it was sent. Clients receive the same, so the states that a client had can be
//! computed again and inspected step by step.

mod line;
mod replay;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::ExitCode;

use agenthost_protocol::ids::ServerSeq;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Limits;
use anyhow::Context;
use serde::Serialize;

use crate::output;
use replay::LogReplay;

/// Compute the state that results from a log of actions
///
/// Reads one JSON value per line: snapshots ({"resource", "state", "fromSeq"}), action envelopes
/// ({"channel", "action", "serverSeq"}), or whole messages of a wire log. Prints the resulting
/// state of every channel. Reports invalid lines on stderr and skips them; the exit code is then 1.
#[derive(clap::Args)]
pub(crate) struct ReduceArgs {
    /// The log; `-` reads standard input
    log: PathBuf,
    /// Print the state of this channel alone
    #[arg(long, value_name = "URI")]
    channel: Option<String>,
    /// Stop after the action with this serverSeq
    #[arg(long, value_name = "SEQ")]
    until: Option<u64>,
    /// Print the outcome of each action
    #[arg(long)]
    trace: bool,
    /// Print on one line
    #[arg(long)]
    compact: bool,
}

pub(crate) fn run(arguments: &ReduceArgs) -> anyhow::Result<ExitCode> {
    let mut replay = LogReplay::new(arguments.until.map(ServerSeq));
    let mut log = open_log(arguments)?;
    let mut number = 0;
    while !replay.is_past_end()
        && let Some(line) = read_line(&mut log)?
    {
        number += 1;
        for note in replay.apply_line(&line) {
            if note.is_problem() || arguments.trace {
                output::print_note(&format!("line {number}: {note}"));
            }
        }
    }
    output::print_data(&render_states(arguments, &replay)?)?;
    output::print_note(&replay.stats().to_string());
    Ok(if replay.stats().problems > 0 {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

fn open_log(arguments: &ReduceArgs) -> anyhow::Result<Box<dyn BufRead>> {
    let path = &arguments.log;
    if path.as_os_str() == "-" {
        return Ok(Box::new(io::stdin().lock()));
    }
    let file = File::open(path).with_context(|| format!("open `{}`", path.display()))?;
    if file.metadata()?.is_dir() {
        anyhow::bail!("open `{}`: it is a folder, not a log", path.display());
    }
    Ok(Box::new(BufReader::new(file)))
}

/// Returns the next line without its newline, or `None` at the end of the log. The length
/// of a line is limited, so that a file without newlines cannot exhaust the memory.
fn read_line(log: &mut dyn BufRead) -> anyhow::Result<Option<Vec<u8>>> {
    let max_bytes = Limits::STATE.bytes as u64;
    let mut line = Vec::new();
    let read = log.take(max_bytes + 1).read_until(b'\n', &mut line);
    if read.context("read the log")? == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if line.len() as u64 > max_bytes {
        anyhow::bail!("read the log: a line is longer than {max_bytes} bytes");
    }
    Ok(Some(line))
}

fn render_states(arguments: &ReduceArgs, replay: &LogReplay) -> anyhow::Result<String> {
    let Some(channel) = &arguments.channel else {
        return to_json(replay.channels(), arguments.compact);
    };
    let state = replay.channels().get(&Uri::from(channel.as_str()));
    let state = state.with_context(|| {
        let known: Vec<_> = replay.channels().keys().map(Uri::as_str).collect();
        format!(
            "the log has no snapshot of `{channel}`\nhint: snapshots in the log: {}",
            if known.is_empty() {
                "none".to_owned()
            } else {
                known.join(", ")
            }
        )
    })?;
    to_json(state, arguments.compact)
}

fn to_json(value: &impl Serialize, compact: bool) -> anyhow::Result<String> {
    Ok(if compact {
        serde_json::to_string(value)?
    } else {
        serde_json::to_string_pretty(value)?
    })
}
