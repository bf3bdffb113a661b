//! The fields of a form, one for each kind of question.

use agenthost_protocol::wire::{Json, Object};
use agenthost_view::request::{QuestionKind, QuestionRow};
use ratatui_core::text::{Line, Span};

use crate::paint::text::{clean, clean_lines};
use crate::paint::theme::ScreenTheme;
use crate::paint::wrap::{WrapMode, wrap_with_prefix};
use crate::panes::text_input::TextInput;

/// Rows of a text field with several lines.
const TEXT_ROWS: u16 = 4;

/// The answer to a question while it is edited.
#[derive(Debug, Default)]
pub(super) struct FormField {
    pub(super) input: TextInput,
    pub(super) boolean: Option<bool>,
    pub(super) chosen: Vec<String>,
    pub(super) is_changed: bool,
}

/// The reason for which an answer is not valid.
#[derive(Debug, thiserror::Error)]
pub(super) enum AnswerProblem {
    #[error("is not a number")]
    NotNumber,
    #[error("is not a whole number")]
    NotWhole,
    #[error("needs at least {min}{unit}")]
    TooSmall { min: f64, unit: &'static str },
    #[error("has at most {max}{unit}")]
    TooLarge { max: f64, unit: &'static str },
}

impl FormField {
    pub(super) fn of_question(question: &QuestionRow) -> Self {
        let value = question.answer.as_ref().or(question.initial.as_ref());
        let mut field = FormField::default();
        let Some(value) = value else {
            let recommended = question.options.iter().filter(|option| option.recommended);
            if question.kind == QuestionKind::Choice {
                field
                    .chosen
                    .extend(recommended.take(1).map(|option| option.value.clone()));
            }
            return field;
        };
        match question.kind {
            QuestionKind::Text => {
                field.input = TextInput::new(value.as_str().unwrap_or_default().to_owned());
            }
            QuestionKind::Number | QuestionKind::Integer => {
                field.input = TextInput::new(value.to_string());
            }
            QuestionKind::Boolean => field.boolean = value.as_bool(),
            QuestionKind::Choice | QuestionKind::Choices => {
                let values = value.get("values").and_then(Json::as_array);
                let values = values.into_iter().flatten().filter_map(Json::as_str);
                field.chosen = values.map(str::to_owned).collect();
                let other = value.get("other").and_then(Json::as_str);
                field.input = TextInput::new(other.unwrap_or_default().to_owned());
            }
        }
        field
    }

    /// Selects a choice, or toggles it if several can be selected.
    pub(super) fn choose(&mut self, question: &QuestionRow, choice: usize) {
        let Some(option) = question.options.get(choice) else {
            return;
        };
        self.is_changed = true;
        let place = self.chosen.iter().position(|value| *value == option.value);
        match (question.kind, place) {
            (QuestionKind::Choices, Some(place)) => {
                self.chosen.remove(place);
            }
            (QuestionKind::Choices, None) => self.chosen.push(option.value.clone()),
            _ => self.chosen = vec![option.value.clone()],
        }
    }

    /// Returns the answer, `None` if there is none, or the reason why it is not valid.
    pub(super) fn value(&self, question: &QuestionRow) -> Result<Option<Json>, AnswerProblem> {
        let text = self.input.text();
        match question.kind {
            QuestionKind::Text => {
                check_range(
                    question,
                    text.chars().count() as f64,
                    " characters",
                    !text.is_empty(),
                )?;
                Ok((!text.is_empty()).then(|| Json::from(text)))
            }
            QuestionKind::Number | QuestionKind::Integer if text.trim().is_empty() => Ok(None),
            QuestionKind::Integer => {
                let number: i64 = text.trim().parse().map_err(|_| AnswerProblem::NotWhole)?;
                check_range(question, number as f64, "", true)?;
                Ok(Some(Json::from(number)))
            }
            QuestionKind::Number => {
                let number: f64 = text.trim().parse().map_err(|_| AnswerProblem::NotNumber)?;
                if !number.is_finite() {
                    return Err(AnswerProblem::NotNumber);
                }
                check_range(question, number, "", true)?;
                Ok(Some(Json::from(number)))
            }
            QuestionKind::Boolean => Ok(self.boolean.map(Json::from)),
            QuestionKind::Choice | QuestionKind::Choices => {
                let other = text.trim();
                if self.chosen.is_empty() && other.is_empty() {
                    return Ok(None);
                }
                if question.kind == QuestionKind::Choices {
                    let count = self.chosen.len() + usize::from(!other.is_empty());
                    check_range(question, count as f64, " choices", true)?;
                }
                let is_text = question.kind == QuestionKind::Choice && !other.is_empty();
                let values = if is_text {
                    Vec::new()
                } else {
                    self.chosen.clone()
                };
                let mut answer = Object::new();
                answer.insert("values".to_owned(), Json::from(values));
                if !other.is_empty() {
                    answer.insert("other".to_owned(), Json::from(other));
                }
                Ok(Some(Json::Object(answer)))
            }
        }
    }

    /// Adds the lines of a field. Returns the place and height of its text field.
    pub(super) fn draw(
        &self,
        question: &QuestionRow,
        choice: Option<usize>,
        width: usize,
        theme: &ScreenTheme,
        lines: &mut Vec<Line<'static>>,
    ) -> Option<(usize, u16)> {
        match question.kind {
            QuestionKind::Text | QuestionKind::Number | QuestionKind::Integer => {
                let rows = if question.multiline { TEXT_ROWS } else { 1 };
                let place = lines.len();
                let text = if question.secret {
                    "•".repeat(self.input.text().chars().count())
                } else {
                    self.input.text().to_owned()
                };
                let mut shown = text.split('\n').map(clean);
                for _ in 0..rows {
                    // The text of the focused field is drawn with its cursor later.
                    let text = shown
                        .next()
                        .filter(|_| choice.is_none())
                        .unwrap_or_default();
                    lines.push(Line::from(vec![
                        Span::styled("  > ", theme.accent),
                        Span::styled(text, theme.text),
                    ]));
                }
                Some((place, rows))
            }
            QuestionKind::Boolean => {
                let text = match self.boolean {
                    Some(true) => "(•) yes  ( ) no",
                    Some(false) => "( ) yes  (•) no",
                    None => "( ) yes  ( ) no",
                };
                let hint = if choice.is_some() { "   y, n" } else { "" };
                lines.push(Line::from(vec![
                    Span::styled(format!("    {text}"), theme.text),
                    Span::styled(hint, theme.dim),
                ]));
                None
            }
            QuestionKind::Choice | QuestionKind::Choices => {
                self.draw_choices(question, choice, width, theme, lines)
            }
        }
    }

    fn draw_choices(
        &self,
        question: &QuestionRow,
        choice: Option<usize>,
        width: usize,
        theme: &ScreenTheme,
        lines: &mut Vec<Line<'static>>,
    ) -> Option<(usize, u16)> {
        for (place, option) in question.options.iter().enumerate() {
            let is_chosen = self.chosen.contains(&option.value);
            let mark = match (question.kind, is_chosen) {
                (QuestionKind::Choices, true) => "[x] ",
                (QuestionKind::Choices, false) => "[ ] ",
                (_, true) => "(•) ",
                (_, false) => "( ) ",
            };
            let cursor = if choice == Some(place) {
                "  ▸ "
            } else {
                "    "
            };
            let first = [
                Span::styled(cursor, theme.accent),
                Span::styled(mark, theme.text),
            ];
            let recommended = if option.recommended {
                " (recommended)"
            } else {
                ""
            };
            let mut spans = vec![
                Span::styled(clean(&option.label), theme.text),
                Span::styled(recommended, theme.ok),
            ];
            if let Some(description) = &option.description {
                spans.push(Span::styled(
                    format!(" · {}", clean(description)),
                    theme.dim,
                ));
            }
            let indent = [Span::raw("        ")];
            lines.extend(wrap_with_prefix(
                &spans,
                width,
                WrapMode::Words,
                &first,
                &indent,
            ));
        }
        if !question.allow_other {
            return None;
        }
        let is_focused = choice == Some(question.options.len());
        let cursor = if is_focused { "  ▸ " } else { "    " };
        let text = if is_focused { "" } else { self.input.text() };
        lines.push(Line::from(vec![
            Span::styled(format!("{cursor}other: "), theme.dim),
            Span::styled(clean(text), theme.text),
        ]));
        lines.push(Line::default());
        is_focused.then(|| (lines.len() - 1, 1))
    }
}

pub(super) fn question_head(
    question: &QuestionRow,
    is_focused: bool,
    width: usize,
    theme: &ScreenTheme,
) -> Vec<Line<'static>> {
    let mark = if is_focused { "▸ " } else { "  " };
    let style = if is_focused {
        theme.accent
    } else {
        theme.strong
    };
    let required = if question.required { " *" } else { "" };
    let spans = [
        Span::styled(clean(&question.label), style),
        Span::styled(required, theme.warning),
    ];
    let first = [Span::styled(mark, theme.accent)];
    let indent = [Span::raw("  ")];
    let mut lines = wrap_with_prefix(&spans, width, WrapMode::Words, &first, &indent);
    let description = question.description.as_deref();
    let description = description.filter(|text| *text != question.label);
    for line in clean_lines(description.unwrap_or_default()) {
        let spans = [Span::styled(line, theme.dim)];
        lines.extend(wrap_with_prefix(
            &spans,
            width,
            WrapMode::Words,
            &indent,
            &indent,
        ));
    }
    lines
}

fn check_range(
    question: &QuestionRow,
    value: f64,
    unit: &'static str,
    is_given: bool,
) -> Result<(), AnswerProblem> {
    let limit = |limit: &Option<Json>| limit.as_ref().and_then(Json::as_f64);
    match (limit(&question.min), limit(&question.max)) {
        (Some(min), _) if is_given && value < min => Err(AnswerProblem::TooSmall { min, unit }),
        (_, Some(max)) if value > max => Err(AnswerProblem::TooLarge { max, unit }),
        _ => Ok(()),
    }
}
