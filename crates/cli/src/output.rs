//! Writes all output of the program: data to stdout, notes and the log to stderr.

use std::io::{self, ErrorKind, Write};
use std::sync::Mutex;

use agenthost_protocol::label::is_invisible;
use agenthost_stdx::redaction::SecretRedactor;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::background::log_files::RotatingLog;

/// Writes data and a newline to stdout. A closed pipe is not an error, because readers such
/// as `head` stop early.
pub(crate) fn print_data(text: &str) -> anyhow::Result<()> {
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

/// Writes bytes to stdout without changes. A closed pipe is not an error.
pub(crate) fn print_bytes(bytes: &[u8]) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

/// Removes control and other invisible characters except newlines and tabs, so that text of
/// an agent cannot control the terminal.
pub(crate) fn strip_invisible(text: &str) -> String {
    let keep = |letter: &char| !is_invisible(*letter) || ['\n', '\t'].contains(letter);
    text.chars().filter(keep).collect()
}

/// Escapes all invisible characters, including newlines, so that text of a peer stays on
/// one line.
pub(crate) fn escape_invisible(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_invisible(letter) {
            plain.extend(letter.escape_default());
        } else {
            plain.push(letter);
        }
    }
    plain
}

/// Escapes invisible characters in each line of a text, and keeps the line breaks.
pub(crate) fn escape_lines(text: &str) -> String {
    text.lines()
        .map(escape_invisible)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Returns a path with `~` in place of the home directory of the user.
pub(crate) fn shorten_home(path: &str) -> String {
    let home = std::env::var("HOME").ok().filter(|home| home.len() > 1);
    let inside = home.and_then(|home| path.strip_prefix(home.trim_end_matches('/')));
    match inside {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("~{rest}"),
        Some(_) | None => path.to_owned(),
    }
}

/// Writes a note for the user to stderr. The text may come from a peer, so invisible
/// characters are escaped.
pub(crate) fn print_note(text: &str) {
    write_stderr(&escape_invisible(text));
}

/// Writes a note whose text is safe for the terminal, because it was rendered with colors.
pub(crate) fn print_rendered_note(text: &str) {
    write_stderr(text);
}

/// The least severe events that are logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogDetail {
    Warnings,
    /// Also starts and stops of the host.
    Events,
    Everything,
}

/// Masks secrets in the lines of a log. Each line is written at once.
struct RedactingWriter<W> {
    writer: W,
    redactor: SecretRedactor,
}

impl<W: Write> RedactingWriter<W> {
    fn new(writer: W, redactor: SecretRedactor) -> Self {
        RedactingWriter { writer, redactor }
    }
}

impl<W: Write> Write for RedactingWriter<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        let redacted = self.redactor.redact(&text);
        self.writer.write_all(redacted.as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// Starts logging to stderr or to a file, as text or JSON.
pub(crate) fn start_log(
    detail: LogDetail,
    json: bool,
    file: Option<RotatingLog>,
    redactor: SecretRedactor,
) -> anyhow::Result<()> {
    let level = match detail {
        LogDetail::Warnings => tracing::Level::WARN,
        LogDetail::Events => tracing::Level::INFO,
        LogDetail::Everything => tracing::Level::DEBUG,
    };
    let writer = match file {
        Some(file) => BoxMakeWriter::new(Mutex::new(RedactingWriter::new(file, redactor))),
        None => BoxMakeWriter::new(Mutex::new(RedactingWriter::new(io::stderr(), redactor))),
    };
    // These crates log the messages that they pass on, which may contain prompts and
    // secrets.
    let ours = Targets::new()
        .with_target("agenthost", level)
        .with_target("agent_client_protocol", LevelFilter::OFF)
        .with_target("rmcp", LevelFilter::OFF)
        .with_default(LevelFilter::WARN);
    // Levels are written as words, so no colors are needed.
    let log = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_ansi(false)
        .with_writer(writer);
    let started = if json {
        log.json().finish().with(ours).try_init()
    } else {
        log.finish().with(ours).try_init()
    };
    started.map_err(|error| anyhow::anyhow!("start the log: {error}"))
}

/// Writes an error with all its causes to stderr.
pub(crate) fn print_error(error: &anyhow::Error) {
    let mut causes: Vec<String> = Vec::new();
    for cause in error.chain().map(ToString::to_string) {
        // Some errors already contain the text of their cause.
        if !causes.last().is_some_and(|last| last.contains(&cause)) {
            causes.push(cause);
        }
    }
    write_stderr(&format!("error: {}", escape_lines(&causes.join(": "))));
}

fn write_stderr(line: &str) {
    // If stderr is closed, the error cannot be reported anywhere.
    drop(writeln!(io::stderr().lock(), "{line}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_do_not_reach_the_log() {
        let mut log = Vec::new();
        let mut writer = RedactingWriter::new(&mut log, SecretRedactor::default());
        writer
            .write_all(b"failed: https://me:hunter2@host/x\n")
            .unwrap();
        assert_eq!(
            String::from_utf8(log).unwrap(),
            "failed: https://me:[redacted]@host/x\n"
        );
    }

    #[test]
    fn bidi_and_invisible_characters_are_escaped() {
        assert_eq!(
            escape_invisible("a\u{202e}b\u{2066}c\u{1b}[2Jd\u{e0041}e\u{2028}"),
            r"a\u{202e}b\u{2066}c\u{1b}[2Jd\u{e0041}e\u{2028}"
        );
        assert_eq!(strip_invisible("a\u{202e}b\n\tc\u{9b}d"), "ab\n\tcd");
        let letters = "grün שלום 日本 👩\u{200d}💻";
        assert_eq!(escape_invisible(letters), letters);
    }
}
