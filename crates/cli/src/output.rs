//! Everything that is printed, and nothing else.
#![expect(clippy::print_stderr, reason = "this is the one place that prints")]

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

/// Tells a person something.
pub(crate) fn note(text: &str) {
    eprintln!("{text}");
}

/// Tells a person why the command failed, with all causes.
pub(crate) fn failure(error: &anyhow::Error) {
    let causes: Vec<_> = error.chain().map(ToString::to_string).collect();
    eprintln!("error: {}", causes.join(": "));
}
