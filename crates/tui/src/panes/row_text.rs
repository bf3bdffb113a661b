//! Texts that several panes show: edits, durations, numbers, answers.

use agenthost_protocol::wire::Json;
use agenthost_view::file_edit::{EditStatus, EditSummary};
use ratatui_core::text::{Line, Span};

use crate::paint::text::{PathNames, clean};
use crate::paint::theme::ScreenTheme;

/// Returns the path of an edit with its numbers of lines.
pub(crate) fn edit_head(
    edit: &EditSummary,
    paths: PathNames<'_>,
    theme: &ScreenTheme,
) -> Vec<Span<'static>> {
    let (mark, style) = match edit.status {
        EditStatus::Added => ("A ", theme.added),
        EditStatus::Removed => ("D ", theme.removed),
        EditStatus::Changed => ("M ", theme.accent),
        EditStatus::Renamed => ("R ", theme.accent),
    };
    let mut spans = vec![
        Span::styled(format!("  {mark}"), style),
        Span::styled(paths.shorten(&edit.path), theme.strong),
    ];
    if let Some(from) = &edit.renamed_from {
        spans.push(Span::styled(
            format!(" ← {}", paths.shorten(from)),
            theme.dim,
        ));
    }
    if let Some(added) = edit.added {
        spans.push(Span::styled(format!(" +{added}"), theme.added));
    }
    if let Some(removed) = edit.removed {
        spans.push(Span::styled(format!(" −{removed}"), theme.removed));
    }
    spans
}

pub(crate) fn with_prefix(prefix: Span<'static>, mut line: Line<'static>) -> Line<'static> {
    line.spans.insert(0, prefix);
    line
}

/// Returns a JSON value as a person reads it.
pub(crate) fn plain(value: &Json) -> String {
    match value.as_str() {
        Some(text) => clean(text),
        None => {
            let values = value.get("values").and_then(|values| values.as_array());
            let Some(values) = values else {
                return clean(&value.to_string());
            };
            let other = value.get("other").and_then(|other| other.as_str());
            let texts = values
                .iter()
                .filter_map(|value| value.as_str())
                .chain(other);
            clean(&texts.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Returns a duration with one or two units.
pub(crate) fn duration_text(millis: i64) -> String {
    let seconds = millis.max(0) / 1_000;
    match seconds {
        0 => format!("{} ms", millis.max(0)),
        1..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// Returns a number with a unit of thousands.
pub(crate) fn count_text(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}.{}k", count / 1_000, count % 1_000 / 100),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}
