//! Tool calls as lines: command, output, edits, workers.

use agenthost_protocol::uri::Uri;
use agenthost_view::file_edit::EditSummary;
use agenthost_view::location::path_of;
use agenthost_view::timeline::{CallContent, CallDecision, CallOutcome, CallStatus, ToolCallRow};
use ratatui_core::text::{Line, Span};

use super::edit_contents::EditDiff;
use super::row_text::{edit_head, with_prefix};
use super::timeline_rows::RowPainter;
use crate::paint::ansi::output_lines;
use crate::paint::code::{CodeStyle, highlight};
use crate::paint::edit_diff::DiffPainter;
use crate::paint::text::{PathNames, clean, clean_lines};
use crate::paint::wrap::{WrapMode, wrap, wrap_with_prefix};

/// Lines of a result that are shown before the user expands it.
const FOLDED_LINES: usize = 6;

/// Lines of a result that are shown at most in the timeline.
const MAX_SHOWN_LINES: usize = 400;

/// Rows of a diff that are shown before the user expands it.
const FOLDED_DIFF_ROWS: usize = 12;

impl RowPainter<'_> {
    pub(super) fn tool_call(&mut self, call: &ToolCallRow, lines: &mut Vec<Line<'static>>) {
        let theme = self.theme;
        let (mark, style) = match call.status {
            CallStatus::Streaming => ("◌ ", theme.dim),
            CallStatus::Waiting => ("? ", theme.warning),
            CallStatus::Running => ("▶ ", theme.accent),
            CallStatus::AuthRequired => ("⚿ ", theme.warning),
            CallStatus::Completed => ("✓ ", theme.ok),
            CallStatus::Failed => ("✗ ", theme.error),
            CallStatus::Cancelled => ("⊘ ", theme.dim),
        };
        let indent = [Span::raw("  ")];
        let mut head = vec![Span::styled(clean(&call.title), theme.strong)];
        if let Some(contributor) = &call.contributor {
            head.push(Span::styled(
                format!(" · {}", clean(contributor)),
                theme.dim,
            ));
        }
        if let Some(decision) = decision_text(call) {
            head.push(Span::styled(format!(" · {decision}"), theme.dim));
        }
        let first = [Span::styled(mark, style)];
        lines.extend(wrap_with_prefix(
            &head,
            self.width,
            WrapMode::Words,
            &first,
            &indent,
        ));
        if let Some(command) = &call.command {
            self.command(command, lines);
        } else if let Some(input) = &call.input {
            let input: Vec<_> = clean_lines(input).collect();
            self.folded(&input, lines);
        }
        let width = self.width;
        if let Some(reason) = &call.reason {
            for line in clean_lines(reason) {
                let spans = [Span::styled(line, theme.error)];
                lines.extend(wrap_with_prefix(
                    &spans,
                    width,
                    WrapMode::Words,
                    &indent,
                    &indent,
                ));
            }
        }
        for content in &call.content {
            self.content(content, lines);
        }
    }

    fn command(&self, command: &str, lines: &mut Vec<Line<'static>>) {
        let theme = self.theme;
        let indent = [Span::raw("    ")];
        for (index, line) in command.lines().enumerate() {
            let mark = if index == 0 { "  $ " } else { "    " };
            let spans = highlight(line, CodeStyle::Hash, theme.text, theme);
            let first = [Span::styled(mark, theme.dim)];
            let width = self.width;
            lines.extend(wrap_with_prefix(
                &spans,
                width,
                WrapMode::Anywhere,
                &first,
                &indent,
            ));
        }
    }

    /// Adds the first lines of a text, or all of them if the row is expanded.
    fn folded(&self, text: &[String], lines: &mut Vec<Line<'static>>) {
        let limit = if self.is_expanded {
            MAX_SHOWN_LINES
        } else {
            FOLDED_LINES
        };
        let bar = [Span::styled("  │ ", self.theme.dim)];
        for line in text.iter().take(limit) {
            let spans = [Span::styled(line.clone(), self.theme.dim)];
            lines.extend(wrap_with_prefix(
                &spans,
                self.width,
                WrapMode::Anywhere,
                &bar,
                &bar,
            ));
        }
        self.more(text.len().saturating_sub(limit), "more", lines);
    }

    fn more(&self, hidden: usize, what: &str, lines: &mut Vec<Line<'static>>) {
        if hidden > 0 {
            let plural = if hidden == 1 { "line" } else { "lines" };
            let text = format!("  └ {hidden} {what} {plural}");
            lines.push(Line::styled(text, self.theme.dim));
        }
    }

    /// Adds the last lines of an output, or all of them if the row is expanded.
    fn output(&self, output: &str, lines: &mut Vec<Line<'static>>) {
        let shown = output_lines(output, self.width.saturating_sub(4), self.theme);
        let limit = if self.is_expanded {
            MAX_SHOWN_LINES
        } else {
            FOLDED_LINES
        };
        let hidden = shown.len().saturating_sub(limit);
        if hidden > 0 {
            let text = format!("  ┌ {hidden} earlier lines");
            lines.push(Line::styled(text, self.theme.dim));
        }
        let bar = [Span::styled("  │ ", self.theme.dim)];
        for line in shown.iter().skip(hidden) {
            let width = self.width;
            lines.extend(wrap_with_prefix(
                &line.spans,
                width,
                WrapMode::Anywhere,
                &bar,
                &bar,
            ));
        }
    }

    fn content(&mut self, content: &CallContent, lines: &mut Vec<Line<'static>>) {
        let theme = self.theme;
        match content {
            CallContent::Text { text } => self.output(text, lines),
            CallContent::Edit { edit } => {
                let rows = if self.is_expanded {
                    MAX_SHOWN_LINES
                } else {
                    FOLDED_DIFF_ROWS
                };
                self.edit(edit, rows, lines);
            }
            CallContent::Terminal {
                uri,
                exit_code,
                preview,
                ended,
                ..
            } => {
                let live = self.tails.get(uri).filter(|_| !ended || self.is_expanded);
                if let Some(output) = live.or(preview.as_ref()) {
                    self.output(output, lines);
                }
                if let Some(code) = exit_code.filter(|code| *code != 0) {
                    lines.push(Line::styled(format!("  exit code {code}"), theme.error));
                }
            }
            CallContent::Worker {
                title, description, ..
            } => {
                let mut spans = vec![
                    Span::styled("  ↳ ", theme.accent),
                    Span::styled(clean(title), theme.strong),
                ];
                if let Some(description) = description {
                    spans.push(Span::styled(
                        format!(" · {}", clean(description)),
                        theme.dim,
                    ));
                }
                lines.extend(wrap(&spans, self.width, WrapMode::Words));
            }
            CallContent::Resource { uri, .. } => {
                let spans = [Span::styled(
                    format!("  ↗ {}", resource_name(uri, self.paths)),
                    theme.link,
                )];
                lines.extend(wrap(&spans, self.width, WrapMode::Anywhere));
            }
            CallContent::Embedded { content_type, data } => {
                let kilobytes = data.len() / 1_366 + 1;
                let text = format!("  ▣ {} of {kilobytes} KB", clean(content_type));
                lines.push(Line::styled(text, theme.dim));
            }
        }
    }

    /// Adds an edit with the first rows of its diff.
    pub(crate) fn edit(
        &mut self,
        edit: &EditSummary,
        max_rows: usize,
        lines: &mut Vec<Line<'static>>,
    ) {
        let (theme, width) = (self.theme, self.width);
        lines.extend(wrap(
            &edit_head(edit, self.paths, theme),
            width,
            WrapMode::Anywhere,
        ));
        let extension = edit.path.rsplit_once('.').map(|(_, extension)| extension);
        match self.contents.diff(edit) {
            EditDiff::Loading => lines.push(Line::styled("  reading …", theme.dim)),
            EditDiff::Failed(reason) => {
                let text = format!("  no diff: {}", clean(reason));
                lines.push(Line::styled(text, theme.dim));
            }
            EditDiff::Ready(diff) => {
                let painter = DiffPainter {
                    theme,
                    width: width.saturating_sub(2),
                    language: CodeStyle::of_language(extension),
                    shift: 0,
                };
                let rows = painter.wrapped(diff, 0..max_rows).into_iter();
                lines.extend(rows.map(|line| with_prefix(Span::raw("  "), line)));
                let hidden = diff.stats().unified_rows.saturating_sub(max_rows);
                self.more(hidden, "more", lines);
            }
        }
    }
}

fn decision_text(call: &ToolCallRow) -> Option<String> {
    let outcome = match (call.outcome, call.decision) {
        (Some(CallOutcome::Denied), _) => "denied",
        (Some(CallOutcome::Skipped), _) => "skipped",
        (Some(CallOutcome::ResultDenied), _) => "result denied",
        (None, Some(CallDecision::User)) => "allowed",
        (None, Some(CallDecision::Setting)) => "allowed by a setting",
        (None, Some(CallDecision::NotNeeded) | None) => return None,
    };
    let by = call.answered_by.as_deref();
    let by = by.map_or_else(String::new, |name| format!(" by {}", clean(name)));
    let option = call.selected_option.as_deref();
    let option = option.map_or_else(String::new, |label| format!(": {}", clean(label)));
    Some(format!("{outcome}{by}{option}"))
}

/// Returns the path of a content of the host or of a file, or else the address.
pub(super) fn resource_name(uri: &Uri, paths: PathNames<'_>) -> String {
    let scheme = uri.as_str().split(':').next().unwrap_or_default();
    match scheme {
        "file" | "agenthost-content" | "agenthost-git" => paths.shorten(&path_of(uri)),
        _ => clean(uri.as_str()),
    }
}
