//! Rows of a timeline as lines.

use agenthost_protocol::sorted::SortedMap;
use agenthost_protocol::timestamp::Timestamp;
use agenthost_protocol::uri::Uri;
use agenthost_view::composer::AttachmentRow;
use agenthost_view::request::RequestCard;
use agenthost_view::timeline::{
    FormOutcome, MessageDelivery, MessageSource, PlanEntry, PlanStatus, RowBody, TimelineRow,
    TurnOutcome,
};
use agenthost_view::usage::UsageRow;
use ratatui_core::text::{Line, Span};

use super::call_rows::resource_name;
use super::edit_contents::EditContents;
use super::row_text::{count_text, duration_text, plain, with_prefix};
use crate::paint::markdown::MarkdownPainter;
use crate::paint::text::{PathNames, clean, clean_lines};
use crate::paint::theme::ScreenTheme;
use crate::paint::wrap::{WrapMode, wrap, wrap_with_prefix};

/// The surroundings of a row.
pub(crate) struct RowPainter<'a> {
    pub(crate) theme: &'a ScreenTheme,
    pub(crate) width: usize,
    pub(crate) paths: PathNames<'a>,
    pub(crate) is_expanded: bool,
    /// The end of the output of running commands.
    pub(crate) tails: &'a SortedMap<Uri, String>,
    pub(crate) contents: &'a mut EditContents,
}

impl RowPainter<'_> {
    /// Returns the lines of a row. Most rows begin with an empty line.
    pub(crate) fn lines(&mut self, row: &TimelineRow) -> Vec<Line<'static>> {
        let theme = self.theme;
        let mut lines = Vec::new();
        match &row.body {
            RowBody::Message {
                from,
                blocks,
                text,
                attachments,
                at,
                state,
            } => {
                lines.push(Line::default());
                lines.push(self.message_head(*from, at.as_ref(), *state));
                let body = match from {
                    MessageSource::User => self.user_text(text),
                    MessageSource::Agent
                    | MessageSource::Tool
                    | MessageSource::Automation
                    | MessageSource::System => self.markdown(2).lines(blocks),
                };
                let bar = Span::styled("▌ ", theme.user);
                lines.extend(body.into_iter().map(|line| with_prefix(bar.clone(), line)));
                let attached = attachments.iter().map(|row| attachment_line(row, theme));
                lines.extend(attached.map(|line| with_prefix(bar.clone(), line)));
            }
            RowBody::Text { blocks, open, .. } => {
                lines.push(Line::default());
                lines.extend(self.markdown(0).lines(blocks));
                if *open && blocks.is_empty() {
                    lines.push(Line::styled("…", theme.dim));
                }
            }
            RowBody::Reasoning {
                blocks,
                open,
                summary,
            } => self.reasoning(blocks, *open, summary, &mut lines),
            RowBody::ToolCall(call) => {
                lines.push(Line::default());
                self.tool_call(call, &mut lines);
            }
            RowBody::Plan { entries } => {
                lines.push(Line::default());
                lines.extend(entries.iter().flat_map(|entry| self.plan_entry(entry)));
            }
            RowBody::Form {
                card,
                response,
                answered_by,
            } => {
                lines.push(Line::default());
                self.form(card, *response, answered_by.as_deref(), &mut lines);
            }
            RowBody::Notice { blocks } => {
                lines.push(Line::default());
                let bar = Span::styled("ⓘ ", theme.dim);
                let text = self.markdown(2).lines(blocks).into_iter();
                lines.extend(text.map(|line| with_prefix(bar.clone(), line)));
            }
            RowBody::Error { message, resumable } => {
                lines.push(Line::default());
                let mark = [Span::styled("✗ ", theme.error)];
                let indent = [Span::raw("  ")];
                for line in clean_lines(message) {
                    let spans = [Span::styled(line, theme.error)];
                    let width = self.width;
                    lines.extend(wrap_with_prefix(
                        &spans,
                        width,
                        WrapMode::Words,
                        &mark,
                        &indent,
                    ));
                }
                if *resumable {
                    lines.push(Line::styled("  P goes on with this turn", theme.dim));
                }
            }
            RowBody::Resource { uri, .. } => {
                let text = format!("↗ {}", resource_name(uri, self.paths));
                lines.extend(wrap(
                    &[Span::styled(text, theme.link)],
                    self.width,
                    WrapMode::Anywhere,
                ));
            }
            RowBody::TurnEnd {
                state,
                duration_ms,
                usage,
            } => {
                let duration = duration_ms.map(|duration| duration.0);
                lines.push(self.turn_end(*state, duration, usage.as_deref()));
            }
        }
        lines
    }

    fn markdown(&self, used: usize) -> MarkdownPainter<'_> {
        MarkdownPainter {
            theme: self.theme,
            width: self.width.saturating_sub(used).max(1),
        }
    }

    fn message_head(
        &self,
        from: MessageSource,
        at: Option<&Timestamp>,
        state: Option<MessageDelivery>,
    ) -> Line<'static> {
        let theme = self.theme;
        let name = match from {
            MessageSource::User => "you",
            MessageSource::Agent => "agent",
            MessageSource::Tool => "task",
            MessageSource::Automation => "automation",
            MessageSource::System => "host",
        };
        let mut spans = vec![Span::styled(format!("▌ {name}"), theme.user)];
        if let Some(time) = at.and_then(|at| at.as_str().get(11..16).map(str::to_owned)) {
            spans.push(Span::styled(format!("  {}Z", clean(&time)), theme.dim));
        }
        if state == Some(MessageDelivery::Sent) {
            spans.push(Span::styled("  ◌ sending", theme.dim));
        }
        Line::from(spans)
    }

    fn user_text(&self, text: &str) -> Vec<Line<'static>> {
        let width = self.width.saturating_sub(2).max(1);
        let lines = text.trim_end().split('\n').flat_map(|line| {
            wrap(
                &[Span::styled(clean(line), self.theme.strong)],
                width,
                WrapMode::Words,
            )
        });
        lines.collect()
    }

    fn reasoning(
        &self,
        blocks: &[std::sync::Arc<agenthost_view::markdown::MarkdownBlock>],
        open: bool,
        summary: &str,
        lines: &mut Vec<Line<'static>>,
    ) {
        let theme = self.theme;
        let is_first = !summary.is_empty();
        if is_first {
            lines.push(Line::default());
            let mark = if self.is_expanded { "▾" } else { "▸" };
            let suffix = if open { " …" } else { "" };
            let text = format!("{mark} thinking: {}{suffix}", clean(summary));
            let spans = [Span::styled(text, theme.comment)];
            lines.extend(wrap(&spans, self.width, WrapMode::Words));
        }
        if self.is_expanded {
            let bar = Span::styled("┊ ", theme.dim);
            let text = self.markdown(2).lines(blocks).into_iter();
            lines.extend(text.map(|line| with_prefix(bar.clone(), line.patch_style(theme.dim))));
        }
    }

    fn plan_entry(&self, entry: &PlanEntry) -> Vec<Line<'static>> {
        let theme = self.theme;
        let (mark, style) = match entry.status {
            PlanStatus::Pending => ("□ ", theme.text),
            PlanStatus::Running => ("▶ ", theme.strong),
            PlanStatus::Done => ("■ ", theme.dim),
        };
        let first = [Span::styled(mark, theme.accent)];
        let spans = [Span::styled(clean(&entry.text), style)];
        wrap_with_prefix(
            &spans,
            self.width,
            WrapMode::Words,
            &first,
            &[Span::raw("  ")],
        )
    }

    fn form(
        &self,
        card: &RequestCard,
        response: Option<FormOutcome>,
        answered_by: Option<&str>,
        lines: &mut Vec<Line<'static>>,
    ) {
        let theme = self.theme;
        let RequestCard::Form(form) = card else {
            return;
        };
        let outcome = match response {
            None => ("waits for your answer", theme.warning),
            Some(FormOutcome::Accept) => ("answered", theme.ok),
            Some(FormOutcome::Decline) => ("declined", theme.dim),
            Some(FormOutcome::Cancel) => ("closed", theme.dim),
        };
        let by = answered_by.map_or_else(String::new, |name| format!(" by {}", clean(name)));
        let message = form.message.as_deref().unwrap_or("questions");
        let first = [Span::styled("? ", theme.warning)];
        let spans = [
            Span::styled(clean(message), theme.text),
            Span::styled(format!(" ({}{by})", outcome.0), outcome.1),
        ];
        let indent = [Span::raw("  ")];
        lines.extend(wrap_with_prefix(
            &spans,
            self.width,
            WrapMode::Words,
            &first,
            &indent,
        ));
        for question in &form.questions {
            let answer = question.answer.as_ref().filter(|_| !question.secret);
            let answer = answer.map_or_else(String::new, |answer| format!(": {}", plain(answer)));
            let spans = [Span::styled(
                format!("{}{answer}", clean(&question.label)),
                theme.dim,
            )];
            lines.extend(wrap_with_prefix(
                &spans,
                self.width,
                WrapMode::Words,
                &indent,
                &indent,
            ));
        }
    }

    fn turn_end(
        &self,
        state: TurnOutcome,
        duration: Option<i64>,
        usage: Option<&UsageRow>,
    ) -> Line<'static> {
        let theme = self.theme;
        let (mark, style) = match state {
            TurnOutcome::Complete => ("done", theme.dim),
            TurnOutcome::Cancelled => ("cancelled", theme.warning),
            TurnOutcome::Error => ("failed", theme.error),
        };
        let mut parts = Vec::new();
        parts.extend(duration.map(duration_text));
        if let Some(usage) = usage {
            let tokens = usage.input_tokens.unwrap_or(0) + usage.output_tokens.unwrap_or(0);
            if tokens > 0 {
                parts.push(format!("{} tokens", count_text(tokens)));
            }
            parts.extend(usage.cost.as_deref().map(clean));
        }
        let details = match parts.len() {
            0 => String::new(),
            _ => format!(" · {}", parts.join(" · ")),
        };
        Line::from(vec![
            Span::styled("── ", theme.dim),
            Span::styled(mark, style),
            Span::styled(details, theme.dim),
        ])
    }
}

fn attachment_line(row: &AttachmentRow, theme: &ScreenTheme) -> Line<'static> {
    let text = format!("⎘ {} ({})", clean(&row.name), clean(&row.kind));
    Line::styled(text, theme.dim)
}
