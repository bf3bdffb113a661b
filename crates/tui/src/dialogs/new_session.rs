//! A new session: message, agent, folder, model and settings such as mode and worktree.

use agenthost_frontend::{FrontendCommand, SessionCommand};
use agenthost_protocol::wire::{Json, Object};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};
use ratatui_core::text::{Line, Span};
use serde::Deserialize;

use super::prompt::draw_input;
use crate::model::AgentOption;
use crate::paint::canvas::{centered, cut_line, draw_box, draw_line};
use crate::paint::text::{clean, cut_start};
use crate::paint::theme::ScreenTheme;
use crate::panes::text_input::TextInput;

/// Rows of the message.
const MESSAGE_ROWS: u16 = 5;

/// A session that the user creates.
#[derive(Debug)]
pub(crate) struct NewSessionDialog {
    agents: Vec<AgentOption>,
    agent: usize,
    folder: TextInput,
    folders: Vec<String>,
    /// 0 is the default of the agent.
    model: usize,
    settings: Vec<SettingChoice>,
    message: TextInput,
    focus: NewSessionField,
    /// The last request for settings; results of earlier ones are ignored.
    pub(crate) config_request: Option<u64>,
}

/// A field of the dialog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NewSessionField {
    Message,
    Agent,
    Folder,
    Model,
    Setting(usize),
}

/// A setting of the new session that is a choice.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct SettingChoice {
    key: String,
    label: String,
    value: Option<String>,
    options: Vec<SettingValue>,
    /// The user has chosen the value.
    #[serde(skip)]
    is_chosen: bool,
}

#[derive(Debug, Clone, Deserialize)]
struct SettingValue {
    id: String,
    label: String,
}

/// The result of a key.
#[derive(Debug)]
pub(crate) enum NewSessionEvent {
    Open,
    Closed,
    /// The settings have to be read again.
    Resolve,
    Create(FrontendCommand),
}

impl NewSessionDialog {
    pub(crate) fn new(
        agents: Vec<AgentOption>,
        agent: Option<&str>,
        folder: String,
        folders: Vec<String>,
    ) -> Self {
        let known = agents
            .iter()
            .position(|option| Some(option.provider.as_str()) == agent);
        NewSessionDialog {
            agent: known.unwrap_or(0),
            agents,
            folder: TextInput::new(folder),
            folders,
            model: 0,
            settings: Vec::new(),
            message: TextInput::default(),
            focus: NewSessionField::Message,
            config_request: None,
        }
    }

    /// Shows the agents of the host, if they were not known when the dialog was opened.
    pub(crate) fn add_agents(&mut self, agents: &[AgentOption]) -> bool {
        let is_news = self.agents.is_empty() && !agents.is_empty();
        if is_news {
            self.agents = agents.to_vec();
        }
        is_news
    }

    pub(crate) fn paste(&mut self, text: &str) {
        match self.focus {
            NewSessionField::Message => self.message.insert(text),
            NewSessionField::Folder => self.folder.insert(&text.replace(['\n', '\r'], "")),
            NewSessionField::Agent | NewSessionField::Model | NewSessionField::Setting(_) => {}
        }
    }

    /// Returns the command that reads the settings of the chosen agent and folder.
    pub(crate) fn resolve_command(&self) -> Option<FrontendCommand> {
        let agent = self.agents.get(self.agent)?;
        Some(FrontendCommand::Session(SessionCommand::ResolveConfig {
            provider: agent.provider.clone(),
            folder: self.chosen_folder(),
            config: self.chosen_settings(),
        }))
    }

    /// Shows the settings; values that the user has chosen stay.
    pub(crate) fn set_settings(&mut self, mut settings: Vec<SettingChoice>) {
        for setting in &mut settings {
            let before = self.settings.iter().find(|other| other.key == setting.key);
            if let Some(before) = before.filter(|before| before.is_chosen) {
                setting.value.clone_from(&before.value);
                setting.is_chosen = true;
            }
        }
        self.settings = settings;
        if let NewSessionField::Setting(place) = self.focus
            && place >= self.settings.len()
        {
            self.focus = NewSessionField::Message;
        }
    }

    fn chosen_folder(&self) -> Option<String> {
        let folder = self.folder.text().trim();
        (!folder.is_empty()).then(|| folder.to_owned())
    }

    fn chosen_settings(&self) -> Object {
        let chosen = self.settings.iter().filter(|setting| setting.is_chosen);
        let values = chosen.filter_map(|setting| {
            let value = setting.value.as_deref()?;
            Some((setting.key.clone(), Json::from(value)))
        });
        values.collect()
    }

    fn fields(&self) -> Vec<NewSessionField> {
        let mut fields = vec![
            NewSessionField::Message,
            NewSessionField::Agent,
            NewSessionField::Folder,
        ];
        let models = self
            .agents
            .get(self.agent)
            .map_or(0, |agent| agent.models.len());
        if models > 0 {
            fields.push(NewSessionField::Model);
        }
        fields.extend((0..self.settings.len()).map(NewSessionField::Setting));
        fields
    }

    fn move_focus(&mut self, step: isize) -> NewSessionEvent {
        let fields = self.fields();
        let place = fields
            .iter()
            .position(|field| *field == self.focus)
            .unwrap_or(0);
        let count = isize::try_from(fields.len()).unwrap_or(1);
        let next = (isize::try_from(place).unwrap_or(0) + step).rem_euclid(count);
        let leaves_folder = self.focus == NewSessionField::Folder;
        let next = fields.get(usize::try_from(next).unwrap_or(0));
        self.focus = next.copied().unwrap_or(NewSessionField::Message);
        if leaves_folder {
            NewSessionEvent::Resolve
        } else {
            NewSessionEvent::Open
        }
    }

    pub(crate) fn handle_key(&mut self, key: &KeyEvent) -> NewSessionEvent {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let wants_break = key
            .modifiers
            .intersects(KeyModifiers::ALT | KeyModifiers::SHIFT);
        match key.code {
            KeyCode::Esc => return NewSessionEvent::Closed,
            KeyCode::Char('c') if control => return NewSessionEvent::Closed,
            KeyCode::Tab => return self.move_focus(1),
            KeyCode::BackTab => return self.move_focus(-1),
            KeyCode::Enter if wants_break && self.focus == NewSessionField::Message => {
                self.message.insert("\n");
                return NewSessionEvent::Open;
            }
            KeyCode::Enter => return self.create(),
            _ => {}
        }
        match self.focus {
            NewSessionField::Message => {
                let effect = self.message.handle_key(key, 60);
                let is_edge = effect == crate::panes::text_input::InputEffect::Ignored;
                match key.code {
                    KeyCode::Down if is_edge => return self.move_focus(1),
                    KeyCode::Up if is_edge => return self.move_focus(-1),
                    _ => {}
                }
            }
            NewSessionField::Folder => match key.code {
                KeyCode::Up => return self.move_focus(-1),
                KeyCode::Down => return self.move_focus(1),
                KeyCode::Char('n') if control => self.recent_folder(1),
                KeyCode::Char('p') if control => self.recent_folder(-1),
                _ => {
                    self.folder.handle_key(key, usize::MAX);
                }
            },
            NewSessionField::Agent | NewSessionField::Model | NewSessionField::Setting(_) => {
                match key.code {
                    KeyCode::Up => return self.move_focus(-1),
                    KeyCode::Down => return self.move_focus(1),
                    KeyCode::Left => return self.choose(-1),
                    KeyCode::Right | KeyCode::Char(' ') => return self.choose(1),
                    _ => {}
                }
            }
        }
        NewSessionEvent::Open
    }

    fn recent_folder(&mut self, step: isize) {
        let place = self
            .folders
            .iter()
            .position(|folder| *folder == self.folder.text());
        let count = isize::try_from(self.folders.len()).unwrap_or(0);
        if count > 0 {
            let place = place.map_or(if step > 0 { -1 } else { 0 }, |place| {
                isize::try_from(place).unwrap_or(0)
            });
            let next = usize::try_from((place + step).rem_euclid(count)).unwrap_or(0);
            if let Some(folder) = self.folders.get(next) {
                self.folder.set_text(folder.clone());
            }
        }
    }

    fn choose(&mut self, step: isize) -> NewSessionEvent {
        let cycle = |place: usize, count: usize| {
            let count = isize::try_from(count.max(1)).unwrap_or(1);
            let next = isize::try_from(place).unwrap_or(0) + step;
            usize::try_from(next.rem_euclid(count)).unwrap_or(0)
        };
        match self.focus {
            NewSessionField::Agent => {
                self.agent = cycle(self.agent, self.agents.len());
                self.model = 0;
                self.settings.clear();
                NewSessionEvent::Resolve
            }
            NewSessionField::Model => {
                let models = self
                    .agents
                    .get(self.agent)
                    .map_or(0, |agent| agent.models.len());
                self.model = cycle(self.model, models + 1);
                NewSessionEvent::Open
            }
            NewSessionField::Setting(place) => {
                let Some(setting) = self.settings.get_mut(place) else {
                    return NewSessionEvent::Open;
                };
                let current = setting.value.as_deref();
                let current = setting
                    .options
                    .iter()
                    .position(|value| Some(value.id.as_str()) == current);
                let next = cycle(current.unwrap_or(0), setting.options.len());
                setting.value = setting.options.get(next).map(|value| value.id.clone());
                setting.is_chosen = true;
                NewSessionEvent::Resolve
            }
            NewSessionField::Message | NewSessionField::Folder => NewSessionEvent::Open,
        }
    }

    fn create(&mut self) -> NewSessionEvent {
        let Some(agent) = self.agents.get(self.agent) else {
            return NewSessionEvent::Open;
        };
        let model = self
            .model
            .checked_sub(1)
            .and_then(|place| agent.models.get(place));
        let command = SessionCommand::Create {
            provider: agent.provider.clone(),
            folder: self.chosen_folder(),
            model: model.map(|model| model.id.clone()),
            config: self.chosen_settings(),
            text: self.message.text().to_owned(),
            attachments: Vec::new(),
        };
        NewSessionEvent::Create(FrontendCommand::Session(command))
    }

    pub(crate) fn draw(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        theme: &ScreenTheme,
    ) -> Option<Position> {
        let rows = u16::try_from(self.fields().len()).unwrap_or(u16::MAX);
        let height = MESSAGE_ROWS.saturating_add(rows).saturating_add(5);
        let area = centered(area, 76, height);
        let inner = draw_box(buffer, area, "New session", theme);
        let width = usize::from(inner.width);
        let mut cursor = None;
        let mut row = 0;
        for field in self.fields() {
            let is_focused = field == self.focus;
            let style = if is_focused { theme.accent } else { theme.dim };
            if field == NewSessionField::Message {
                let label = Line::styled("Message (may be empty)", style);
                draw_line(buffer, inner, row, &label);
                let height = MESSAGE_ROWS.min(inner.height.saturating_sub(row + 1));
                let place = Rect::new(
                    inner.x + 2.min(inner.width),
                    inner.y + row + 1,
                    inner.width.saturating_sub(2),
                    height,
                );
                let found = draw_input(buffer, place, &self.message, false, theme);
                cursor = cursor.or(found.filter(|_| is_focused));
                row += height + 2;
                continue;
            }
            let (label, value) = self.field_text(field, width);
            let mut spans = vec![Span::styled(format!("{label:<14}"), style)];
            let is_choice = field != NewSessionField::Folder;
            if is_choice && is_focused {
                spans.push(Span::styled("◂ ", theme.accent));
            }
            spans.push(Span::styled(value.clone(), theme.text));
            if is_choice && is_focused {
                spans.push(Span::styled(" ▸", theme.accent));
            }
            draw_line(buffer, inner, row, &cut_line(spans, width));
            if field == NewSessionField::Folder && is_focused && row < inner.height {
                let column = 14 + crate::paint::text::width_of(&value);
                let column = u16::try_from(column.min(width.saturating_sub(1))).unwrap_or(0);
                cursor = Some(Position::new(inner.x + column, inner.y + row));
            }
            row += 1;
        }
        let hint = "enter: create  tab: next  ◂ ▸: choose  ctrl+n: recent folder  esc: close";
        let last = inner.height.saturating_sub(1);
        draw_line(
            buffer,
            inner,
            last,
            &cut_line(vec![Span::styled(hint, theme.dim)], width),
        );
        cursor
    }

    fn field_text(&self, field: NewSessionField, width: usize) -> (String, String) {
        let agent = self.agents.get(self.agent);
        match field {
            NewSessionField::Message => (String::new(), String::new()),
            NewSessionField::Agent => {
                let text = agent.map_or_else(
                    || "the host offers no agent".to_owned(),
                    |agent| match agent.description.as_str() {
                        "" => clean(&agent.label),
                        description => format!("{} · {}", clean(&agent.label), clean(description)),
                    },
                );
                ("Agent".to_owned(), text)
            }
            NewSessionField::Folder => {
                let folder = clean(self.folder.text());
                (
                    "Folder".to_owned(),
                    cut_start(&folder, width.saturating_sub(15)),
                )
            }
            NewSessionField::Model => {
                let model = self.model.checked_sub(1);
                let model = model.and_then(|place| agent?.models.get(place));
                let text = model.map_or_else(|| "default".to_owned(), |model| clean(&model.label));
                ("Model".to_owned(), text)
            }
            NewSessionField::Setting(place) => {
                let Some(setting) = self.settings.get(place) else {
                    return (String::new(), String::new());
                };
                let value = setting.value.as_deref();
                let option = setting
                    .options
                    .iter()
                    .find(|option| Some(option.id.as_str()) == value);
                let text =
                    option.map_or_else(|| "default".to_owned(), |option| clean(&option.label));
                (clean(&setting.label), text)
            }
        }
    }
}
