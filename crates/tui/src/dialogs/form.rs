//! A form of the agent: questions of every kind, with answers that all clients share.

mod field;

use agenthost_frontend::{FormResponse, FrontendCommand};
use agenthost_protocol::wire::{Json, Object};
use agenthost_view::request::{FormCard, QuestionKind, QuestionRow};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};
use ratatui_core::text::{Line, Span};

use super::prompt::draw_input;
use crate::paint::canvas::{centered, draw_box, draw_line, draw_lines};
use crate::paint::text::{clean, clean_lines};
use crate::paint::theme::ScreenTheme;
use crate::paint::wrap::{WrapMode, wrap};
use crate::panes::text_input::InputEffect;
use field::{FormField, question_head};

/// A form that the user fills in.
#[derive(Debug)]
pub(crate) struct FormDialog {
    card: FormCard,
    fields: Vec<FormField>,
    /// The question with the keyboard.
    focus: usize,
    /// The choice with the keyboard; the last place is the text beside the choices.
    choice: usize,
    problem: Option<String>,
}

/// The result of a key.
#[derive(Debug)]
pub(crate) enum FormEvent {
    Open(Vec<FrontendCommand>),
    /// The dialog closes; the request stays open unless a command answers it.
    Closed(Vec<FrontendCommand>),
}

impl FormDialog {
    pub(crate) fn new(card: FormCard) -> Self {
        let mut dialog = FormDialog {
            fields: card.questions.iter().map(FormField::of_question).collect(),
            card,
            focus: 0,
            choice: 0,
            problem: None,
        };
        dialog.choice = dialog.first_choice();
        dialog
    }

    /// Returns the place of the chosen option of the focused question, or the first one.
    fn first_choice(&self) -> usize {
        let question = self.card.questions.get(self.focus);
        let chosen = self.fields.get(self.focus).map(|field| &field.chosen);
        let place = question.zip(chosen).and_then(|(question, chosen)| {
            let mut options = question.options.iter();
            options.position(|option| chosen.contains(&option.value))
        });
        place.unwrap_or(0)
    }

    pub(crate) fn key(&self) -> &str {
        &self.card.key
    }

    pub(crate) fn paste(&mut self, text: &str) {
        let Some((question, field)) = self.focused() else {
            return;
        };
        let text = if question.multiline {
            text.to_owned()
        } else {
            text.replace(['\n', '\r'], " ")
        };
        field.input.insert(&text);
        field.is_changed = true;
    }

    fn focused(&mut self) -> Option<(&QuestionRow, &mut FormField)> {
        let question = self.card.questions.get(self.focus)?;
        Some((question, self.fields.get_mut(self.focus)?))
    }

    pub(crate) fn handle_key(&mut self, key: &KeyEvent) -> FormEvent {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        self.problem = None;
        match key.code {
            KeyCode::Esc => return FormEvent::Closed(self.drafts()),
            KeyCode::Char('c') if control => return FormEvent::Closed(self.drafts()),
            KeyCode::Char('d') if control => {
                return FormEvent::Closed(vec![self.answer(FormResponse::Decline, Object::new())]);
            }
            KeyCode::Char('x') if control => {
                return FormEvent::Closed(vec![self.answer(FormResponse::Cancel, Object::new())]);
            }
            KeyCode::Char('s') if control => return self.submit(),
            KeyCode::Tab => return self.move_focus(1),
            KeyCode::BackTab => return self.move_focus(-1),
            _ => {}
        }
        let choice = self.choice;
        let is_last = self.focus + 1 >= self.fields.len();
        let Some((question, field)) = self.focused() else {
            return match key.code {
                KeyCode::Enter => self.submit(),
                _ => FormEvent::Open(Vec::new()),
            };
        };
        let options = question.options.len() + usize::from(question.allow_other);
        let is_choice = matches!(question.kind, QuestionKind::Choice | QuestionKind::Choices);
        let is_other = is_choice && choice >= question.options.len();
        match key.code {
            KeyCode::Up if is_choice && choice > 0 => self.choice -= 1,
            KeyCode::Down if is_choice && choice + 1 < options => self.choice += 1,
            KeyCode::Char(' ' | 'y' | 'n') | KeyCode::Left | KeyCode::Right
                if question.kind == QuestionKind::Boolean =>
            {
                field.boolean = Some(match key.code {
                    KeyCode::Char('y') => true,
                    KeyCode::Char('n') => false,
                    _ => !field.boolean.unwrap_or(false),
                });
                field.is_changed = true;
            }
            KeyCode::Char(' ') if is_choice && !is_other => {
                field.choose(question, choice);
            }
            KeyCode::Enter if key.modifiers.contains(KeyModifiers::ALT) && question.multiline => {
                field.input.insert("\n");
                field.is_changed = true;
            }
            KeyCode::Enter => {
                if question.kind == QuestionKind::Choice && !is_other {
                    field.choose(question, choice);
                }
                return if is_last {
                    self.submit()
                } else {
                    self.move_focus(1)
                };
            }
            KeyCode::Up if !question.multiline => return self.move_focus(-1),
            KeyCode::Down if !question.multiline => return self.move_focus(1),
            _ if question.kind != QuestionKind::Boolean && (!is_choice || is_other) => {
                let effect = field.input.handle_key(key, 60);
                field.is_changed |= effect == InputEffect::Changed;
            }
            _ => {}
        }
        FormEvent::Open(Vec::new())
    }

    /// Moves to another question, and shares the answer of this one.
    fn move_focus(&mut self, step: isize) -> FormEvent {
        let drafts = self.drafts();
        let count = self.fields.len();
        if count > 0 {
            let last = isize::try_from(count).unwrap_or(isize::MAX);
            let place = isize::try_from(self.focus).unwrap_or(0) + step;
            self.focus = usize::try_from(place.rem_euclid(last)).unwrap_or(0);
        }
        self.choice = self.first_choice();
        FormEvent::Open(drafts)
    }

    /// Returns commands that share the answers which have changed. Secrets are not shared before
    /// they are sent.
    fn drafts(&mut self) -> Vec<FrontendCommand> {
        let mut drafts = Vec::new();
        for (question, field) in self.card.questions.iter().zip(&mut self.fields) {
            if !std::mem::take(&mut field.is_changed) || question.secret {
                continue;
            }
            if let Ok(answer) = field.value(question) {
                drafts.push(FrontendCommand::DraftForm {
                    key: self.card.key.clone(),
                    question_id: question.id.to_string(),
                    answer: answer.unwrap_or(Json::Null),
                });
            }
        }
        drafts
    }

    fn submit(&mut self) -> FormEvent {
        let mut answers = Object::new();
        for (place, (question, field)) in self.card.questions.iter().zip(&self.fields).enumerate() {
            match field.value(question) {
                Ok(Some(value)) => {
                    answers.insert(question.id.to_string(), value);
                }
                Ok(None) if question.required => {
                    self.problem = Some(format!("`{}` needs an answer", question.label));
                    self.focus = place;
                    return FormEvent::Open(Vec::new());
                }
                Ok(None) => {}
                Err(problem) => {
                    self.problem = Some(format!("`{}` {problem}", question.label));
                    self.focus = place;
                    return FormEvent::Open(Vec::new());
                }
            }
        }
        FormEvent::Closed(vec![self.answer(FormResponse::Accept, answers)])
    }

    fn answer(&self, response: FormResponse, answers: Object) -> FrontendCommand {
        FrontendCommand::AnswerForm {
            key: self.card.key.clone(),
            response,
            answers,
        }
    }

    pub(crate) fn draw(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        theme: &ScreenTheme,
    ) -> Option<Position> {
        let area = centered(area, 76, area.height.saturating_sub(2));
        let inner = draw_box(buffer, area, "Questions of the agent", theme);
        let body_height = inner.height.saturating_sub(2);
        let body = Rect::new(inner.x, inner.y, inner.width, body_height);
        let width = usize::from(inner.width);
        let mut lines = Vec::new();
        for line in clean_lines(self.card.message.as_deref().unwrap_or_default()) {
            lines.extend(wrap(
                &[Span::styled(line, theme.text)],
                width,
                WrapMode::Words,
            ));
        }
        if let Some(url) = &self.card.url {
            let spans = [Span::styled(clean(url.as_str()), theme.link)];
            lines.extend(wrap(&spans, width, WrapMode::Anywhere));
        }
        // The place of the text field with the keyboard, which is drawn over its empty lines.
        let mut field_place = None;
        let mut focus_line = 0;
        for (place, (question, field)) in self.card.questions.iter().zip(&self.fields).enumerate() {
            lines.push(Line::default());
            let is_focused = place == self.focus;
            if is_focused {
                focus_line = lines.len();
            }
            lines.extend(question_head(question, is_focused, width, theme));
            let cursor = field.draw(
                question,
                is_focused.then_some(self.choice),
                width,
                theme,
                &mut lines,
            );
            field_place = field_place.or(cursor.filter(|_| is_focused));
        }
        let visible = usize::from(body_height);
        let offset = (focus_line + visible / 2).saturating_sub(visible);
        let offset = offset.min(lines.len().saturating_sub(visible));
        draw_lines(buffer, body, lines.iter().skip(offset));
        if let Some(problem) = &self.problem {
            let line = Line::styled(clean(problem), theme.error);
            draw_line(buffer, inner, body_height, &line);
        }
        let hint = "ctrl+s send   tab next   ctrl+d decline   esc close, keep answers";
        draw_line(
            buffer,
            inner,
            inner.height.saturating_sub(1),
            &Line::styled(hint, theme.dim),
        );
        let (row, rows) = field_place?;
        let row = u16::try_from(row.checked_sub(offset)?).ok()?;
        let field = self.fields.get(self.focus)?;
        let question = self.card.questions.get(self.focus)?;
        if row >= body.height {
            return None;
        }
        let height = rows.min(body.height - row);
        let place = Rect::new(
            body.x + 4,
            body.y + row,
            body.width.saturating_sub(4),
            height,
        );
        draw_input(buffer, place, &field.input, question.secret, theme)
    }
}
