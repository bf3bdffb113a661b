//! The code of a customization, for the decision whether it may run.

use agenthost_view::customizations::{CodeContent, CodeReview, CodeState, ReviewStatus};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::{Line, Span};

use crate::paint::canvas::draw_lines;
use crate::paint::code::{CodeStyle, highlight};
use crate::paint::text::clean;
use crate::paint::theme::ScreenTheme;
use crate::paint::wrap::{WrapMode, wrap, wrap_with_prefix};

/// The review, scrolled by lines.
#[derive(Debug, Default)]
pub(crate) struct CodePane {
    offset: usize,
    height: usize,
    lines: usize,
}

impl CodePane {
    pub(crate) fn page(&self) -> isize {
        isize::try_from(self.height.saturating_sub(2).max(1)).unwrap_or(1)
    }

    pub(crate) fn scroll(&mut self, step: isize) {
        let last = self.lines.saturating_sub(self.height);
        self.offset = self.offset.saturating_add_signed(step).min(last);
    }

    pub(crate) fn draw(
        &mut self,
        buffer: &mut Buffer,
        area: Rect,
        review: Option<&(CodeReview, bool)>,
        theme: &ScreenTheme,
    ) {
        let lines = review_lines(review, usize::from(area.width), theme);
        self.height = usize::from(area.height);
        self.lines = lines.len();
        self.scroll(0);
        draw_lines(buffer, area, lines.iter().skip(self.offset));
    }
}

fn review_lines(
    review: Option<&(CodeReview, bool)>,
    width: usize,
    theme: &ScreenTheme,
) -> Vec<Line<'static>> {
    let Some((review, is_changed)) = review else {
        return vec![Line::styled(
            "the session does not have this code any more",
            theme.dim,
        )];
    };
    let mut lines = Vec::new();
    let mut text = |text: String, style| {
        lines.extend(wrap(
            &[Span::styled(clean(&text), style)],
            width,
            WrapMode::Words,
        ));
    };
    text(format!("Code of {}", review.name), theme.strong);
    if let Some(path) = &review.path {
        text(path.clone(), theme.dim);
    }
    if let Some(client) = &review.client {
        text(format!("offered by the client {client}"), theme.dim);
    }
    if *is_changed {
        text(
            "The code has changed since you opened it.".to_owned(),
            theme.warning,
        );
    }
    for (title, names) in [("hooks", &review.hooks), ("servers", &review.servers)] {
        if !names.is_empty() {
            text(format!("{title}: {}", names.join(", ")), theme.text);
        }
    }
    let status = match (review.state, review.status) {
        (CodeState::Approved, _) => "This code is approved and may run.",
        (CodeState::Waiting, ReviewStatus::Loading) => "Reading the files …",
        (CodeState::Waiting, ReviewStatus::Complete) => {
            "a lets this code run as your user, exactly as shown. d turns it off here."
        }
        (CodeState::Waiting, ReviewStatus::Incomplete) => {
            "Some code cannot be shown, so it cannot be approved here. d turns it off."
        }
    };
    text(status.to_owned(), theme.accent);
    for file in &review.files {
        lines.push(Line::default());
        let head = [Span::styled(clean(&file.path), theme.strong)];
        lines.extend(wrap(&head, width, WrapMode::Anywhere));
        let extension = file.path.rsplit_once('.').map(|(_, extension)| extension);
        let style = CodeStyle::of_language(extension);
        let bar = [Span::styled("▏ ", theme.dim)];
        match &file.content {
            CodeContent::Loading {} => lines.push(Line::styled("reading …", theme.dim)),
            CodeContent::Error(error) => lines.push(Line::styled(clean(error), theme.error)),
            CodeContent::Text(code) => {
                for line in code.split('\n') {
                    let spans = highlight(line, style, theme.text, theme);
                    lines.extend(wrap_with_prefix(
                        &spans,
                        width,
                        WrapMode::Anywhere,
                        &bar,
                        &bar,
                    ));
                }
            }
        }
    }
    lines
}
