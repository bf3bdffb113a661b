//! Everything that is printed, and nothing else.

use std::io::{self, ErrorKind, Write};

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

/// Tells a person something. What peers wrote may be in it, so nothing that
/// would move the cursor gets through.
pub(crate) fn note(text: &str) {
    let mut plain = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_control() {
            plain.extend(letter.escape_default());
        } else {
            plain.push(letter);
        }
    }
    write_stderr(&plain);
}

/// Starts the log of what happens, on stderr.
pub(crate) fn start_log(verbose: bool) {
    let level = if verbose {
        tracing::Level::DEBUG
    } else {
        tracing::Level::WARN
    };
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(io::stderr)
        .init();
}

/// Tells a person why the command failed, with all causes.
pub(crate) fn failure(error: &anyhow::Error) {
    let causes: Vec<_> = error.chain().map(ToString::to_string).collect();
    write_stderr(&format!("error: {}", causes.join(": ")));
}

fn write_stderr(line: &str) {
    // If stderr itself is gone, there is nobody left to tell.
    drop(writeln!(io::stderr().lock(), "{line}"));
}
