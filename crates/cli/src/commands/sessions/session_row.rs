//! Rows of the session list, cut to the width of the terminal.

use std::time::{SystemTime, UNIX_EPOCH};

use agenthost_client::Client;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::common::SessionStatus;
use agenthost_protocol::session::SessionSummary;
use agenthost_protocol::timestamp::Timestamp;
use agenthost_view::request::RequestCard;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::output::escape_invisible;
use crate::session_lookup::{session_folder, short_id};
use crate::terminal::palette::{Palette, Role};

/// Width of the status, the longest of which is `waiting`.
const STATUS_WIDTH: usize = 7;

/// Width of the age, such as `12 min`.
const AGE_WIDTH: usize = 6;

/// Maximum width of the folder in a terminal.
const MAX_FOLDER_WIDTH: usize = 30;

/// Minimum width of the title, at the cost of the folder.
const MIN_TITLE_WIDTH: usize = 16;

/// Minimum width of a terminal for one line per session. In a narrower one, folder and title
/// are on a second line.
const MIN_SINGLE_LINE_COLUMNS: usize = 60;

/// Maximum width of the folder on a second line.
const MAX_NARROW_FOLDER_WIDTH: usize = 16;

/// Spaces between two columns.
const GAP: &str = "  ";

/// The widths of the columns.
pub(super) struct RowWidths {
    id: usize,
    agent: usize,
    folder: usize,
    /// Width of the terminal; `None` if rows are not cut.
    columns: Option<usize>,
}

impl RowWidths {
    /// Computes the widths for the sessions of a list.
    pub(super) fn of_sessions(sessions: &[SessionSummary], columns: Option<usize>) -> Self {
        let widest = |width: &dyn Fn(&SessionSummary) -> usize| {
            sessions.iter().map(width).max().unwrap_or_default()
        };
        let id = widest(&|summary| short_id(&summary.resource).width());
        let agent = widest(&|summary| summary.metadata.provider.as_str().width());
        let folder = widest(&|summary| {
            session_folder(&summary.metadata)
                .unwrap_or_default()
                .width()
        });
        let fixed = id + STATUS_WIDTH + agent + AGE_WIDTH + 5 * GAP.len();
        let folder = match columns {
            Some(columns) if columns < MIN_SINGLE_LINE_COLUMNS => {
                folder.min(MAX_NARROW_FOLDER_WIDTH)
            }
            Some(columns) => {
                let free = columns.saturating_sub(fixed + MIN_TITLE_WIDTH);
                folder.min(MAX_FOLDER_WIDTH).min(free)
            }
            None => folder,
        };
        RowWidths {
            id,
            agent,
            folder,
            columns,
        }
    }

    /// Returns `true` if folder and title are on a second line.
    fn is_narrow(&self) -> bool {
        let columns = self.columns;
        columns.is_some_and(|columns| columns < MIN_SINGLE_LINE_COLUMNS)
    }

    /// Returns the space before the request that a session waits for.
    pub(super) fn request_indent(&self) -> String {
        match self.is_narrow() {
            true => GAP.to_owned(),
            false => " ".repeat(self.id + GAP.len()),
        }
    }

    /// Cuts a line at the width of the terminal.
    pub(super) fn cut(&self, line: &str) -> String {
        match self.columns {
            Some(columns) => cut_end(line, columns),
            None => line.to_owned(),
        }
    }
}

/// Returns the row of a session: its id, status, agent, age, folder, title and changed lines. In
/// a narrow terminal it has two lines.
pub(super) fn session_row(
    summary: &SessionSummary,
    widths: &RowWidths,
    palette: Palette,
) -> String {
    let metadata = &summary.metadata;
    let (status, role) = match metadata.status.activity() {
        SessionStatus::IDLE => ("idle", None),
        SessionStatus::ERROR => ("failed", Some(Role::Removed)),
        SessionStatus::IN_PROGRESS => ("running", Some(Role::Added)),
        SessionStatus::INPUT_NEEDED => ("waiting", Some(Role::Warning)),
        _ => ("?", None),
    };
    let folder = escape_invisible(&session_folder(metadata).unwrap_or_default());
    let title = match metadata.title.as_str() {
        "" => "(no title)".to_owned(),
        title => escape_invisible(title),
    };
    let changes = summary.changes.as_ref();
    let changes = changes.filter(|changes| changes.files.is_some_and(|files| files > 0));
    let changes = changes.map_or(String::new(), |changes| {
        let (added, removed) = (changes.additions, changes.deletions);
        format!("{GAP}+{} -{}", added.unwrap_or(0), removed.unwrap_or(0))
    });
    let id = escape_invisible(short_id(&summary.resource));
    let agent = escape_invisible(metadata.provider.as_str());
    let head = [
        pad_end(&id, widths.id),
        pad_end(status, STATUS_WIDTH),
        pad_end(&agent, widths.agent),
        pad_end(&age_text(&summary.modified_at), AGE_WIDTH),
        pad_end(&cut_start(&folder, widths.folder), widths.folder),
    ];
    let [id, status, agent, age, folder] = head;
    let on_line = match widths.is_narrow() {
        true => vec!["", folder.as_str()],
        false => vec![&*id, &*status, &*agent, &*age, &*folder],
    };
    let used: usize = on_line
        .iter()
        .map(|column| column.width() + GAP.len())
        .sum();
    let title = match widths.columns {
        Some(columns) => cut_end(&title, columns.saturating_sub(used + changes.width())),
        None => title,
    };
    let status = match role {
        Some(role) => palette.paint(role, &status),
        None => status,
    };
    let age = palette.paint(Role::Faint, &age);
    let break_or_gap = match widths.is_narrow() {
        true => "\n  ",
        false => GAP,
    };
    format!("{id}{GAP}{status}{GAP}{agent}{GAP}{age}{break_or_gap}{folder}{GAP}{title}{changes}")
}

/// Returns what a session waits for, if it waits.
pub(super) async fn waiting_requests(
    client: &mut Client,
    summary: &SessionSummary,
) -> anyhow::Result<Vec<String>> {
    if !summary
        .metadata
        .status
        .contains(SessionStatus::INPUT_NEEDED)
    {
        return Ok(Vec::new());
    }
    client.subscribe(&summary.resource).await?;
    let cards = match client.state(&summary.resource) {
        Some(ChannelState::Session(state)) => RequestCard::of_session(&summary.resource, state),
        _ => Vec::new(),
    };
    client.unsubscribe(&summary.resource).await?;
    let texts = cards.iter().map(|card| match card {
        RequestCard::Approval(card) => {
            let about = card.command.as_ref().or(card.input.as_ref());
            let first = about.and_then(|about| about.lines().next());
            match first.filter(|first| !first.starts_with('{')) {
                Some(first) => format!("{}: {first}", card.title),
                None => card.title.clone(),
            }
        }
        RequestCard::Form(_) => "an answer".to_owned(),
        RequestCard::SignIn(card) => format!("a sign-in for {}", card.title),
    });
    Ok(texts.map(|text| escape_invisible(&text)).collect())
}

/// Returns the time since a timestamp, in its largest unit.
fn age_text(modified: &Timestamp) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |since| {
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
    });
    match modified.to_millis() {
        Ok(millis) => age_of_seconds(now.saturating_sub(millis.0 / 1_000).max(0)),
        Err(_) => "?".to_owned(),
    }
}

fn age_of_seconds(seconds: i64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

fn pad_end(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(text.width());
    format!("{text}{}", " ".repeat(missing))
}

/// Cuts the end of a text that is wider than `width`.
fn cut_end(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut cut = take_width(text.chars(), width.saturating_sub(1));
    cut.push('…');
    cut
}

/// Cuts the start of a text that is wider than `width`: the end of a path names the folder.
fn cut_start(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let end = take_width(text.chars().rev(), width.saturating_sub(1));
    format!("…{}", end.chars().rev().collect::<String>())
}

fn take_width(letters: impl Iterator<Item = char>, width: usize) -> String {
    let mut used = 0;
    let fits = |letter: &char| {
        used += letter.width().unwrap_or(0);
        used <= width
    };
    letters.take_while(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_by_their_width() {
        assert_eq!(cut_end("title", 5), "title");
        assert_eq!(cut_end("a title", 5), "a ti…");
        assert_eq!(cut_end("日本語", 5), "日本…");
        assert_eq!(cut_start("~/work/project", 8), "…project");
        assert_eq!(pad_end("日", 3), "日 ");
    }

    #[test]
    fn ages_have_one_unit() {
        let texts = [5, 125, 7_300, 200_000].map(age_of_seconds);
        assert_eq!(texts, ["5 s", "2 min", "2 h", "2 d"]);
    }
}
