//! `agenthost du`: shows what uses the space of the data directory.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use agenthost_core::SessionKey;
use agenthost_protocol::uri::Uri;
use agenthost_server::{DirectoryUsage, measure_directory};
use agenthost_stdx::disk_space::tree_bytes;
use agenthost_store::{DATABASE_FILE, SessionUsage, StoreUsage, measure_database};
use anyhow::{Context, bail};
use serde_json::json;
use unicode_width::UnicodeWidthStr;

use crate::background::log_files::LogFiles;
use crate::commands::backup::describe_bytes;
use crate::connect::{HostOptions, check_owner};
use crate::output;
use crate::session_lookup::short_id;
use crate::terminal::palette::{Palette, Role};

/// Number of sessions that are printed without `--all`.
const LISTED_SESSIONS: usize = 20;

/// Width of the longest bar in columns.
const BAR_COLUMNS: u64 = 24;

/// Files of the database, by the ends of their names.
const DATABASE_SUFFIXES: [&str; 3] = ["", "-wal", "-shm"];

/// Show what uses the space of the data directory, by kind and by session
///
/// A host may run meanwhile. `agenthost sessions rm` deletes sessions, and the keys `retention` of
/// the configuration limit them.
#[derive(clap::Args)]
pub(crate) struct UsageArgs {
    /// Print one JSON object per line, with all sessions
    #[arg(long)]
    json: bool,
    /// Print all sessions, not only the largest
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    host: HostOptions,
}

/// The space of one kind of data.
struct UsageKind {
    name: &'static str,
    bytes: u64,
    explanation: &'static str,
}

/// The space of one session.
struct SessionRow {
    session: Uri,
    rows: SessionUsage,
    content: u64,
    checkpoints: u64,
    worktree: u64,
}

impl SessionRow {
    fn total(&self) -> u64 {
        let rows = self.rows.log_bytes + self.rows.chat_bytes;
        rows + self.content + self.checkpoints + self.worktree
    }
}

pub(crate) fn run(arguments: &UsageArgs) -> anyhow::Result<ExitCode> {
    let settings = arguments.host.resolve_settings()?;
    let directory = &settings.data_directory;
    check_owner(directory)?;
    if !directory.join(DATABASE_FILE).exists() {
        bail!("there is no host data in `{}`", directory.display());
    }
    let rows = measure_database(directory)?;
    let files = measure_directory(directory);
    let files = files.with_context(|| format!("measure `{}`", directory.display()))?;
    let kinds = list_kinds(directory, &rows, &files)?;
    let sessions = list_sessions(rows, &files);
    if arguments.json {
        print_json(&kinds, &sessions)?;
    } else {
        print_kinds(&kinds)?;
        print_sessions(&sessions, arguments.all)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn list_kinds(
    directory: &Path,
    rows: &StoreUsage,
    files: &DirectoryUsage,
) -> anyhow::Result<Vec<UsageKind>> {
    let sum = |sizes: &BTreeMap<SessionKey, u64>| sizes.values().sum();
    let log = rows.sessions.values().map(|usage| usage.log_bytes);
    let log = log.sum::<u64>() + rows.other_log_bytes;
    let chats = rows.sessions.values().map(|usage| usage.chat_bytes).sum();
    let mut database = 0;
    for suffix in DATABASE_SUFFIXES {
        database += tree_bytes(&directory.join(format!("{DATABASE_FILE}{suffix}")))?;
    }
    let counted = log + chats + rows.audit_bytes + rows.free_bytes;
    let reserve = tree_bytes(&directory.join("reserve"))?;
    let logs = LogFiles::of(directory).log_path();
    let logs = logs.parent().map_or(Ok(0), tree_bytes)?;
    let kind = |name, bytes, explanation| UsageKind {
        name,
        bytes,
        explanation,
    };
    Ok(vec![
        kind("log", log, "actions, for clients that reconnect"),
        kind("chats", chats, "messages, outputs and states"),
        kind("audit", rows.audit_bytes, "who did what"),
        kind(
            "content",
            sum(&files.content),
            "large outputs, edited files",
        ),
        kind(
            "checkpoints",
            sum(&files.checkpoints),
            "files before and after turns",
        ),
        kind(
            "worktrees",
            sum(&files.worktrees),
            "working copies of sessions",
        ),
        kind("packages", files.packages, "downloaded plugins"),
        kind("logs", logs, "log files of the host"),
        kind("temporary", files.temporary, "files of running programs"),
        kind(
            "indexes",
            database.saturating_sub(counted),
            "indexes and write-ahead log of the database",
        ),
        kind(
            "unused",
            rows.free_bytes + reserve,
            "pages of the database and the reserve for a full disk",
        ),
    ])
}

/// Returns the space of each session, the largest first.
fn list_sessions(rows: StoreUsage, files: &DirectoryUsage) -> Vec<SessionRow> {
    let sessions = rows.sessions.into_iter();
    let mut sessions: Vec<_> = sessions
        .map(|(session, rows)| {
            let key = SessionKey::of(&session);
            let size = |sizes: &BTreeMap<SessionKey, u64>| sizes.get(&key).copied().unwrap_or(0);
            SessionRow {
                content: size(&files.content),
                checkpoints: size(&files.checkpoints),
                worktree: size(&files.worktrees),
                session,
                rows,
            }
        })
        .collect();
    sessions.sort_by_key(|row| std::cmp::Reverse(row.total()));
    sessions
}

fn print_json(kinds: &[UsageKind], sessions: &[SessionRow]) -> anyhow::Result<()> {
    for kind in kinds {
        let line = json!({"kind": kind.name, "bytes": kind.bytes});
        output::print_data(&line.to_string())?;
    }
    for row in sessions {
        let line = json!({
            "session": row.session.as_str(),
            "title": row.rows.title,
            "bytes": row.total(),
            "log": row.rows.log_bytes,
            "chats": row.rows.chat_bytes,
            "content": row.content,
            "checkpoints": row.checkpoints,
            "worktree": row.worktree,
        });
        output::print_data(&line.to_string())?;
    }
    Ok(())
}

fn print_kinds(kinds: &[UsageKind]) -> anyhow::Result<()> {
    let palette = Palette::of_stdout();
    let largest = kinds.iter().map(|kind| kind.bytes).max().unwrap_or(0);
    for kind in kinds {
        let explanation = palette.paint(Role::Faint, kind.explanation);
        output::print_data(&format!(
            "{:<12}{:>9}  {}  {explanation}",
            kind.name,
            describe_bytes(kind.bytes),
            bar(kind.bytes, largest),
        ))?;
    }
    let total = kinds.iter().map(|kind| kind.bytes).sum();
    output::print_data(&format!("{:<12}{:>9}", "total", describe_bytes(total)))
}

fn print_sessions(sessions: &[SessionRow], all: bool) -> anyhow::Result<()> {
    if sessions.is_empty() {
        return Ok(());
    }
    output::print_data("")?;
    let largest = sessions.first().map_or(0, SessionRow::total);
    let listed = match all {
        true => sessions.len(),
        false => LISTED_SESSIONS,
    };
    for row in sessions.iter().take(listed) {
        let id = output::escape_invisible(short_id(&row.session));
        let title = match row.rows.title.as_str() {
            "" => "(no title)".to_owned(),
            title => output::escape_invisible(title),
        };
        output::print_data(&format!(
            "{id:<12}{:>9}  {}  {title}",
            describe_bytes(row.total()),
            bar(row.total(), largest),
        ))?;
    }
    if let Some(hidden) = sessions
        .len()
        .checked_sub(listed)
        .filter(|hidden| *hidden > 0)
    {
        output::print_note(&format!("{hidden} smaller sessions; `--all` lists them"));
    }
    Ok(())
}

/// Returns a bar of fixed width. The largest value fills it, and any value is visible.
fn bar(bytes: u64, largest: u64) -> String {
    let filled = match bytes {
        0 => 0,
        _ => (bytes * BAR_COLUMNS / largest.max(1)).max(1),
    };
    let filled = usize::try_from(filled).unwrap_or(0);
    let bar = "█".repeat(filled);
    let columns = usize::try_from(BAR_COLUMNS).unwrap_or(0);
    let space = columns.saturating_sub(bar.width());
    format!("{bar}{}", " ".repeat(space))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_value_fills_the_bar() {
        let filled = |bytes, largest| bar(bytes, largest).matches('█').count();
        assert_eq!(filled(0, 0), 0);
        assert_eq!(filled(0, 100), 0);
        assert_eq!(filled(1, 1_000_000), 1);
        assert_eq!(filled(50, 100), 12);
        assert_eq!(filled(100, 100), 24);
        assert_eq!(bar(50, 100).width(), 24);
    }
}
