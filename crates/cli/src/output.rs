//! Everything that is printed, and nothing else.

use std::io::{self, ErrorKind, IsTerminal, Write};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Writes data to stdout. A reader that has seen enough, such as `head`, is
/// no error.
pub(crate) fn data(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    let written = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.write_all(b"\n"))
        .and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

/// Writes bytes to stdout as they are.
pub(crate) fn bytes(bytes: &[u8]) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

/// Text of an agent, without what would move the cursor or worse.
pub(crate) fn visible(text: &str) -> String {
    let keep = |letter: &char| !letter.is_control() || ['\n', '\t'].contains(letter);
    text.chars().filter(keep).collect()
}

/// What peers wrote, on one line.
pub(crate) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_control() {
            plain.extend(letter.escape_default());
        } else {
            plain.push(letter);
        }
    }
    plain
}

/// Tells a person something. What peers wrote may be in it, so nothing that
/// would move the cursor gets through.
pub(crate) fn note(text: &str) {
    write_stderr(&plain(text));
}

/// Starts the log of what happens, on stderr.
pub(crate) fn start_log(verbose: bool, json: bool) -> anyhow::Result<()> {
    let level = if verbose {
        tracing::Level::DEBUG
    } else {
        tracing::Level::WARN
    };
    // What others log of messages that pass through them is not theirs to tell.
    let ours = Targets::new()
        .with_target("agenthost", level)
        .with_target("agent_client_protocol", LevelFilter::OFF)
        .with_target("rmcp", LevelFilter::OFF)
        .with_default(LevelFilter::WARN);
    let log = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(io::stderr);
    let started = if json {
        log.json().finish().with(ours).try_init()
    } else {
        let log = log.with_ansi(io::stderr().is_terminal());
        log.finish().with(ours).try_init()
    };
    started.map_err(|error| anyhow::anyhow!("start the log: {error}"))
}

/// Tells a person why the command failed, with all causes.
pub(crate) fn failure(error: &anyhow::Error) {
    let mut causes: Vec<String> = Vec::new();
    for cause in error.chain().map(ToString::to_string) {
        // Some say what caused them, too.
        if !causes.last().is_some_and(|last| last.contains(&cause)) {
            causes.push(cause);
        }
    }
    write_stderr(&format!("error: {}", causes.join(": ")));
}

fn write_stderr(line: &str) {
    // If stderr itself is gone, there is nobody left to tell.
    drop(writeln!(io::stderr().lock(), "{line}"));
}
