//! `agenthost logs`: prints the log of the host in the background.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::signal::unix::{SignalKind, signal};

use crate::background::log_files::{LogFiles, old_log_path};
use crate::connect::{HostOptions, check_owner};
use crate::output;

/// Print the log of the host in the background
///
/// The log has no messages, file contents or secrets. To log more, run `agenthost stop`, then
/// `agenthost start --verbose`.
#[derive(clap::Args)]
pub(crate) struct LogsArgs {
    /// Print new lines as they are written
    #[arg(long, short)]
    follow: bool,
    /// Number of lines to begin with
    #[arg(long, short = 'n', value_name = "COUNT", default_value_t = 100)]
    lines: usize,
    #[command(flatten)]
    host: HostOptions,
}

/// Interval at which a followed log is read.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(200);

/// Maximum number of bytes that are read at once.
const MAX_READ_BYTES: u64 = 1 << 20;

pub(crate) async fn run(arguments: LogsArgs) -> anyhow::Result<ExitCode> {
    let directory = arguments.host.resolve_data_directory()?;
    check_owner(&directory)?;
    let files = LogFiles::of(&directory);
    let path = files.log_path();
    let mut log = match FollowedLog::open(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => bail!(
            "there is no log at `{}`\nhint: `agenthost start` writes it; a host in a terminal \
             writes its log there, a service to the journal",
            path.display()
        ),
        opened => opened.with_context(|| format!("open `{}`", path.display()))?,
    };
    let mut text = log.read_rest()?;
    if text.lines().count() < arguments.lines
        && let Ok(before) = std::fs::read(old_log_path(&path, 1))
    {
        text.insert_str(0, &String::from_utf8_lossy(&before));
    }
    print_lines(last_lines(&text, arguments.lines))?;
    print_errors(&files)?;
    if !arguments.follow {
        return Ok(ExitCode::SUCCESS);
    }
    let mut interrupt = signal(SignalKind::interrupt()).context("listen for Ctrl-C")?;
    let mut ticks = tokio::time::interval(FOLLOW_INTERVAL);
    loop {
        tokio::select! {
            _ = ticks.tick() => print_lines(&log.read_new()?)?,
            _ = interrupt.recv() => return Ok(ExitCode::SUCCESS),
        }
    }
}

/// Prints the error output of the last start, such as that of a panic.
fn print_errors(files: &LogFiles) -> anyhow::Result<()> {
    let path = files.errors_path();
    match std::fs::read_to_string(&path) {
        Ok(text) if !text.is_empty() => {
            output::print_note(&format!("error output (`{}`):", path.display()));
            print_lines(&text)
        }
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("read `{}`", path.display()))
        }
        _ => Ok(()),
    }
}

fn print_lines(text: &str) -> anyhow::Result<()> {
    text.lines()
        .try_for_each(|line| output::print_data(&output::escape_invisible(line)))
}

fn last_lines(text: &str, count: usize) -> &str {
    let newlines = text.rmatch_indices('\n');
    let start = newlines.skip(1).nth(count.saturating_sub(1));
    match (count, start) {
        (0, _) => "",
        (_, Some((position, _))) => text.get(position + 1..).unwrap_or_default(),
        (_, None) => text,
    }
}

/// A log file that may be rotated while it is read.
struct FollowedLog<'a> {
    path: &'a Path,
    file: File,
    position: u64,
    /// The beginning of a line whose end is not written yet.
    partial: Vec<u8>,
}

impl<'a> FollowedLog<'a> {
    fn open(path: &'a Path) -> std::io::Result<Self> {
        Ok(FollowedLog {
            path,
            file: File::open(path)?,
            position: 0,
            partial: Vec::new(),
        })
    }

    /// Returns the lines that were written since the last call, also those in a new file.
    fn read_new(&mut self) -> anyhow::Result<String> {
        let mut text = self.read_rest()?;
        let is_rotated = match self.path.metadata() {
            Ok(found) => found.len() < self.position || is_other_file(&self.file, &found),
            Err(_) => false,
        };
        if is_rotated {
            self.file = File::open(self.path)?;
            self.position = 0;
            text.push_str(&self.read_rest()?);
        }
        Ok(text)
    }

    /// Returns the whole lines from the position to the end of the open file.
    fn read_rest(&mut self) -> anyhow::Result<String> {
        let mut bytes = std::mem::take(&mut self.partial);
        loop {
            self.file.seek(SeekFrom::Start(self.position))?;
            let read = (&self.file).take(MAX_READ_BYTES).read_to_end(&mut bytes)?;
            self.position += read as u64;
            if (read as u64) < MAX_READ_BYTES {
                break;
            }
        }
        let end = bytes.iter().rposition(|byte| *byte == b'\n');
        self.partial = bytes.split_off(end.map_or(0, |end| end + 1));
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

fn is_other_file(open: &File, found: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    open.metadata()
        .is_ok_and(|open| (open.dev(), open.ino()) != (found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_found() {
        assert_eq!(last_lines("a\nb\nc\n", 2), "b\nc\n");
        assert_eq!(last_lines("a\nb\nc\n", 9), "a\nb\nc\n");
        assert_eq!(last_lines("a\n", 0), "");
        assert_eq!(last_lines("", 3), "");
    }

    #[test]
    fn a_followed_log_may_be_rotated() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("host.log");
        std::fs::write(&path, "one\ntw").unwrap();
        let mut log = FollowedLog::open(&path).unwrap();
        assert_eq!(log.read_rest().unwrap(), "one\n");
        assert_eq!(log.read_new().unwrap(), "");
        std::fs::write(&path, "one\ntwo\nthree\n").unwrap();
        assert_eq!(log.read_new().unwrap(), "two\nthree\n");
        std::fs::rename(&path, old_log_path(&path, 1)).unwrap();
        assert_eq!(log.read_new().unwrap(), "");
        std::fs::write(&path, "four\n").unwrap();
        assert_eq!(log.read_new().unwrap(), "four\n");
    }
}
