//! The panel of an open request: the whole command or arguments, the folder, the diff, the
//! options of the agent.

use agenthost_view::request::{
    ApprovalCard, ApprovalPhase, FormCard, RequestCard, RequestOption, RequestOptionKind,
    SignInCard,
};
use ratatui_core::text::{Line, Span};

use super::edit_contents::{EditContents, EditDiff};
use super::row_text::plain;
use super::timeline_rows::RowPainter;
use crate::paint::code::{CodeStyle, highlight};
use crate::paint::markdown::MarkdownPainter;
use crate::paint::text::{PathNames, clean, clean_lines, short_path};
use crate::paint::theme::ScreenTheme;
use crate::paint::wrap::{WrapMode, wrap, wrap_with_prefix};

/// Rows of the diff of one file. Longer diffs are in the panel with the changes.
const MAX_DIFF_ROWS: usize = 2_000;

/// Time for which a new request takes no answer: a key that was meant for something else must not
/// approve it.
const ANSWER_DELAY_MS: i64 = 400;

/// The request that the panel shows.
#[derive(Debug, Default)]
pub(crate) struct RequestPanel {
    key: Option<String>,
    /// Time at which the request was shown first.
    shown_at: i64,
    /// Lines that are scrolled out at the top.
    pub(crate) offset: usize,
    /// Lines that were on the screen, from the first one on.
    seen: usize,
    /// The last frame of the request.
    frame: RequestFrame,
}

/// A frame of a request.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RequestFrame {
    /// Lines that are scrolled out at the top.
    pub(crate) offset: usize,
    /// Lines on the screen.
    pub(crate) visible: usize,
    /// All lines.
    pub(crate) total: usize,
    /// `true` while contents of a diff are read.
    pub(crate) is_loading: bool,
}

impl RequestPanel {
    /// Selects the request with the present key, or the first one.
    pub(crate) fn current<'a>(
        &mut self,
        requests: &'a [RequestCard],
        now: i64,
    ) -> Option<&'a RequestCard> {
        let known = self.key.as_ref();
        let known = known.and_then(|key| requests.iter().find(|card| card.key() == key));
        let card = known.or(requests.first());
        let key = card.map(|card| card.key().to_owned());
        if self.key != key {
            self.show(key, now);
        }
        card
    }

    /// Shows the next request.
    pub(crate) fn next(&mut self, requests: &[RequestCard], now: i64) {
        let place = requests
            .iter()
            .position(|card| Some(card.key()) == self.key.as_deref());
        let next = place.map_or(0, |place| (place + 1) % requests.len().max(1));
        self.show(requests.get(next).map(|card| card.key().to_owned()), now);
    }

    fn show(&mut self, key: Option<String>, now: i64) {
        *self = RequestPanel {
            key,
            shown_at: now,
            ..RequestPanel::default()
        };
    }

    /// Records a frame of the request.
    pub(crate) fn note_frame(&mut self, frame: RequestFrame) {
        self.offset = frame.offset;
        // Lines that were skipped are not seen.
        if frame.offset <= self.seen {
            self.seen = self.seen.max(frame.offset + frame.visible);
        }
        self.frame = frame;
    }

    /// Returns `true` if the whole request was on the screen, so that it can be approved.
    pub(crate) fn was_read(&self) -> bool {
        let frame = self.frame;
        frame.total > 0 && self.seen >= frame.total && !frame.is_loading
    }

    /// Returns the lines of a step that leaves no line out.
    pub(crate) fn page(&self) -> usize {
        self.frame.visible.saturating_sub(1).max(1)
    }

    /// Returns `true` if the request was on the screen long enough to be read.
    pub(crate) fn takes_answers(&self, now: i64) -> bool {
        now - self.shown_at >= ANSWER_DELAY_MS
    }
}

/// The surroundings of a request.
pub(crate) struct RequestPainter<'a> {
    pub(crate) theme: &'a ScreenTheme,
    pub(crate) width: usize,
    pub(crate) home: Option<&'a str>,
    pub(crate) contents: &'a mut EditContents,
}

impl RequestPainter<'_> {
    /// Returns the lines of a request without its options.
    pub(crate) fn lines(&mut self, card: &RequestCard) -> Vec<Line<'static>> {
        match card {
            RequestCard::Approval(card) => self.approval(card),
            RequestCard::Form(card) => self.form(card),
            RequestCard::SignIn(card) => self.sign_in(card),
        }
    }

    /// Returns `true` while contents of the diffs of a request are read.
    pub(crate) fn is_loading(&mut self, card: &RequestCard) -> bool {
        let RequestCard::Approval(card) = card else {
            return false;
        };
        let mut edits = card.edits.iter();
        edits.any(|edit| matches!(self.contents.diff(edit), EditDiff::Loading))
    }

    fn text(&self, text: &str, style: ratatui_core::style::Style) -> Vec<Line<'static>> {
        wrap(
            &[Span::styled(clean(text), style)],
            self.width,
            WrapMode::Words,
        )
    }

    fn field(&self, name: &str, text: &str) -> Vec<Line<'static>> {
        let name = [Span::styled(format!("{name}: "), self.theme.dim)];
        let spans = [Span::styled(clean(text), self.theme.text)];
        wrap_with_prefix(
            &spans,
            self.width,
            WrapMode::Anywhere,
            &name,
            &[Span::raw("  ")],
        )
    }

    fn approval(&mut self, card: &ApprovalCard) -> Vec<Line<'static>> {
        let theme = self.theme;
        let mut lines = self.text(&card.title, theme.warning);
        if card.phase == ApprovalPhase::Result {
            lines.extend(self.text(
                "the call has ended; may the agent see its result?",
                theme.dim,
            ));
        }
        if let Some(worker) = &card.worker {
            lines.extend(self.field("worker", worker));
        }
        if let Some(folder) = &card.folder {
            lines.extend(self.field("in", &short_path(folder, self.home)));
        }
        if let Some(intention) = &card.intention {
            lines.extend(self.field("why", intention));
        }
        if let Some(command) = &card.command {
            for (index, line) in command.split('\n').enumerate() {
                let mark = if index == 0 { "$ " } else { "  " };
                let mark = [Span::styled(mark, theme.dim)];
                let spans = highlight(line, CodeStyle::Hash, theme.strong, theme);
                let indent = [Span::raw("  ")];
                let width = self.width;
                lines.extend(wrap_with_prefix(
                    &spans,
                    width,
                    WrapMode::Anywhere,
                    &mark,
                    &indent,
                ));
            }
        }
        if let Some(input) = &card.input {
            for line in input.split('\n') {
                let spans = highlight(line, CodeStyle::Slashes, theme.text, theme);
                lines.extend(wrap(&spans, self.width, WrapMode::Anywhere));
            }
        }
        for line in card.parameters.iter().flat_map(|lines| lines.split('\n')) {
            let spans = [Span::styled(clean(line), theme.text)];
            lines.extend(wrap(&spans, self.width, WrapMode::Anywhere));
        }
        if let Some(uri) = &card.input_uri {
            lines.extend(self.field("arguments", uri.as_str()));
        }
        if !repeats_itself(card, theme) {
            let painter = MarkdownPainter {
                theme,
                width: self.width,
            };
            lines.extend(painter.lines(&card.details));
        }
        for line in card.output.iter().flat_map(|text| text.split('\n')) {
            let spans = [Span::styled(clean(line), theme.text)];
            lines.extend(wrap(&spans, self.width, WrapMode::Anywhere));
        }
        if let Some(risk) = &card.risk {
            let safety = card.safety.map_or_else(String::new, |safety| {
                format!(" (safety {:.0} %)", safety * 100.0)
            });
            lines.extend(self.field("risk", &format!("{risk}{safety}")));
        }
        let tails = Default::default();
        let mut painter = RowPainter {
            theme,
            width: self.width,
            paths: PathNames {
                home: self.home,
                folder: card.folder.as_deref(),
            },
            is_expanded: true,
            tails: &tails,
            contents: self.contents,
        };
        for edit in &card.edits {
            painter.edit(edit, MAX_DIFF_ROWS, &mut lines);
        }
        lines
    }

    fn form(&self, card: &FormCard) -> Vec<Line<'static>> {
        let theme = self.theme;
        let message = card
            .message
            .as_deref()
            .unwrap_or("The agent has questions.");
        let mut lines = Vec::new();
        for line in clean_lines(message) {
            lines.extend(self.text(&line, theme.warning));
        }
        if let Some(worker) = &card.worker {
            lines.extend(self.field("worker", worker));
        }
        if let Some(url) = &card.url {
            lines.extend(self.field("visit", url.as_str()));
        }
        for question in &card.questions {
            let answer = question.answer.as_ref().filter(|_| !question.secret);
            let answer = answer.map_or_else(|| "…".to_owned(), plain);
            lines.extend(self.field(&clean(&question.label), &answer));
        }
        lines.extend(self.text("enter: answer, d: decline", theme.dim));
        lines
    }

    fn sign_in(&self, card: &SignInCard) -> Vec<Line<'static>> {
        let theme = self.theme;
        let mut lines = self.text(&card.title, theme.warning);
        lines.extend(self.text("the call waits for a token of its server", theme.text));
        lines.extend(self.text("enter: enter a token", theme.dim));
        lines
    }
}

/// Returns the answers to a request with their keys, in as many lines as needed.
pub(crate) fn option_lines(
    card: &RequestCard,
    width: usize,
    theme: &ScreenTheme,
) -> Vec<Line<'static>> {
    let RequestCard::Approval(card) = card else {
        return Vec::new();
    };
    let allow = default_option(&card.options, RequestOptionKind::Approve);
    let deny = default_option(&card.options, RequestOptionKind::Deny);
    let lines = card.options.iter().enumerate().flat_map(|(index, option)| {
        let style = match option.kind {
            RequestOptionKind::Approve => theme.ok,
            RequestOptionKind::Deny => theme.error,
        };
        let letter = match Some(index) {
            place if place == allow => " (a)",
            place if place == deny => " (d)",
            _ => "",
        };
        let mark = [Span::styled(format!(" {} ", index + 1), theme.accent)];
        let spans = [
            Span::styled(clean(&option.label), style),
            Span::styled(letter, theme.dim),
        ];
        wrap_with_prefix(&spans, width, WrapMode::Words, &mark, &[Span::raw("   ")])
    });
    lines.collect()
}

/// Returns the option that a letter selects: the first one of a kind.
pub(crate) fn default_option(options: &[RequestOption], kind: RequestOptionKind) -> Option<usize> {
    options.iter().position(|option| option.kind == kind)
}

/// Returns `true` if the description of a request has no word that its title or its command does
/// not have: hosts often describe a call by them.
fn repeats_itself(card: &ApprovalCard, theme: &ScreenTheme) -> bool {
    let painter = MarkdownPainter {
        theme,
        width: usize::from(u16::MAX),
    };
    let described = painter.lines(&card.details);
    let described: Vec<_> = described.iter().map(ToString::to_string).collect();
    let described = normalize_spaces(&described.join("\n"));
    if described == normalize_spaces(&clean(&card.title)) {
        return true;
    }
    let Some(command) = card.command.as_ref().or(card.input.as_ref()) else {
        return false;
    };
    let command = normalize_spaces(&clean(command));
    let started = format!("Run {command}");
    match described.strip_suffix('…') {
        Some(start) if start.len() > "Run ".len() => {
            command.starts_with(start) || started.starts_with(start)
        }
        _ => described == command || described == started,
    }
}

fn normalize_spaces(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
