//! The entries of the lists at the right.

use agenthost_view::changes::{ChangesStatus, ChangesView, OperationStatus};
use agenthost_view::chat_list::{ChatRow, ChatRowOrigin};
use agenthost_view::customizations::{
    CodeState, CustomizationKind, CustomizationRow, CustomizationTree, ServerStateKind,
};
use agenthost_view::inbox::{InboxItem, InboxRow};
use agenthost_view::request::RequestCard;
use agenthost_view::terminals::{TerminalOwner, TerminalRow};
use agenthost_view::usage_report::UsageReport;
use ratatui_core::text::{Line, Span};

use super::inspector::{InspectorKind, ListEntry};
use super::row_text::{count_text, edit_head};
use super::session_pane::activity_mark;
use crate::model::ScreenModel;
use crate::paint::canvas::{cut_line, two_sided};
use crate::paint::text::{clean, short_path};
use crate::paint::theme::ScreenTheme;

/// The surroundings of the entries.
#[derive(Clone, Copy)]
pub(crate) struct ListPainter<'a> {
    pub(crate) theme: &'a ScreenTheme,
    pub(crate) width: usize,
    pub(crate) home: Option<&'a str>,
}

impl ListPainter<'_> {
    /// Returns the entries of a list.
    pub(crate) fn entries(self, kind: InspectorKind, model: &ScreenModel) -> Vec<ListEntry> {
        let entries: Vec<_> = match kind {
            InspectorKind::Inbox => {
                let rows = model.inbox.rows.iter();
                rows.map(|row| self.inbox_row(row)).collect()
            }
            InspectorKind::Changes => self.changes(model),
            InspectorKind::Chats => {
                let chats = model.chat.iter().flat_map(|chat| &chat.chats);
                let open = model.chat.as_ref().map(|chat| &chat.chat);
                chats
                    .map(|row| self.chat_row(row, open == Some(&row.key)))
                    .collect()
            }
            InspectorKind::Terminals => model
                .terminals
                .iter()
                .map(|row| self.terminal_row(row))
                .collect(),
            InspectorKind::Usage => model
                .usage
                .as_ref()
                .map_or_else(Vec::new, |usage| self.usage(usage)),
            InspectorKind::Customizations => {
                let tree = model.customizations.as_ref();
                tree.map_or_else(Vec::new, |tree| self.customizations(tree))
            }
        };
        if entries.is_empty() {
            let text = match kind {
                InspectorKind::Inbox => "nothing waits for you",
                InspectorKind::Changes => "no changes",
                InspectorKind::Chats => "no session is open",
                InspectorKind::Terminals => "no terminals: o starts one",
                InspectorKind::Usage => "no usage is known",
                InspectorKind::Customizations => "this session has no customizations",
            };
            return vec![ListEntry::heading(Line::styled(text, self.theme.dim))];
        }
        entries
    }

    fn text(self, text: &str, style: ratatui_core::style::Style) -> Line<'static> {
        cut_line(vec![Span::styled(clean(text), style)], self.width)
    }

    fn inbox_row(self, row: &InboxRow) -> ListEntry {
        let theme = self.theme;
        let (mark, style, text) = match &row.item {
            InboxItem::Request { card } => match card {
                RequestCard::Approval(card) => (
                    "? ",
                    theme.warning,
                    card.command.clone().unwrap_or(card.title.clone()),
                ),
                RequestCard::Form(card) => {
                    let message = card.message.clone();
                    (
                        "? ",
                        theme.warning,
                        message.unwrap_or_else(|| "questions".to_owned()),
                    )
                }
                RequestCard::SignIn(card) => ("⚿ ", theme.warning, card.title.clone()),
            },
            InboxItem::Code { card } => ("! ", theme.warning, format!("code of {}", card.name)),
            InboxItem::Token { token } => {
                ("⚿ ", theme.warning, format!("token for {}", token.name))
            }
            InboxItem::Finished { text, failed, .. } => {
                let text = text.clone().unwrap_or_else(|| "has ended".to_owned());
                let (mark, style) = if *failed {
                    ("✗ ", theme.error)
                } else {
                    ("✓ ", theme.ok)
                };
                (mark, style, text)
            }
        };
        let folder = row
            .folder
            .as_deref()
            .map(|folder| short_path(folder, self.home));
        let title = vec![
            Span::styled(mark, style),
            Span::styled(clean(&row.session_title), theme.strong),
            Span::styled(format!(" · {}", clean(&row.agent)), theme.dim),
            Span::styled(
                folder.map_or_else(String::new, |f| format!(" · {f}")),
                theme.dim,
            ),
        ];
        let text = vec![Span::raw("  "), Span::styled(clean(&text), theme.text)];
        ListEntry {
            lines: vec![cut_line(title, self.width), cut_line(text, self.width)],
            is_heading: false,
        }
    }

    fn changes(self, model: &ScreenModel) -> Vec<ListEntry> {
        let Some(changes) = &model.changes else {
            return Vec::new();
        };
        let mut entries = vec![ListEntry::heading(self.changes_head(changes))];
        if let Some(error) = &changes.error {
            entries.push(ListEntry::heading(self.text(error, self.theme.error)));
        }
        for file in &changes.files {
            let mark = if file.reviewed { "✓" } else { " " };
            let mut spans = vec![Span::styled(mark, self.theme.ok)];
            spans.extend(edit_head(&file.edit, model.paths(), self.theme));
            let comments = model.comments.iter();
            let comments = comments
                .filter(|thread| thread.file.as_ref() == Some(&file.key) && !thread.resolved);
            let comments = comments.count();
            if comments > 0 {
                spans.push(Span::styled(format!(" ✎{comments}"), self.theme.warning));
            }
            entries.push(ListEntry::row(cut_line(spans, self.width)));
        }
        let running = changes.operations.iter();
        let running = running.filter(|operation| operation.status == OperationStatus::Running);
        for operation in running {
            let text = format!("{} …", operation.label);
            entries.push(ListEntry::heading(self.text(&text, self.theme.accent)));
        }
        let failed = changes.operations.iter();
        let failed = failed.filter_map(|operation| operation.error.as_ref());
        entries.extend(failed.map(|error| ListEntry::heading(self.text(error, self.theme.error))));
        entries
    }

    fn changes_head(self, changes: &ChangesView) -> Line<'static> {
        let theme = self.theme;
        let files = match changes.files.len() {
            1 => "1 file".to_owned(),
            count => format!("{count} files"),
        };
        let status = match changes.status {
            ChangesStatus::Computing => " · comparing …",
            ChangesStatus::Ready | ChangesStatus::Error => "",
        };
        let left = vec![
            Span::styled(clean(&changes.label), theme.strong),
            Span::styled(format!(" · {files} "), theme.text),
            Span::styled(format!("+{} ", changes.added), theme.added),
            Span::styled(format!("−{}", changes.removed), theme.removed),
            Span::styled(status, theme.dim),
        ];
        let reviewed = format!("✓{}", changes.reviewed);
        two_sided(left, vec![Span::styled(reviewed, theme.dim)], self.width)
    }

    fn chat_row(self, row: &ChatRow, is_open: bool) -> ListEntry {
        let theme = self.theme;
        let (mark, style) = activity_mark(row.status, theme);
        let origin = match row.origin {
            ChatRowOrigin::User if row.is_default => "",
            ChatRowOrigin::User => "chat",
            ChatRowOrigin::Fork => "fork",
            ChatRowOrigin::SideChat => "side chat",
            ChatRowOrigin::Worker => "worker",
        };
        let title = if row.title.is_empty() {
            "chat"
        } else {
            &row.title
        };
        let title_style = if is_open { theme.accent } else { theme.text };
        let mut left = vec![
            Span::raw("  ".repeat(row.depth)),
            Span::styled(format!("{mark} "), style),
            Span::styled(clean(title), title_style),
        ];
        if let Some(activity) = &row.activity {
            left.push(Span::styled(format!(" · {}", clean(activity)), theme.dim));
        }
        let mut right = Vec::new();
        if row.waiting > 0 {
            right.push(Span::styled(format!("{}? ", row.waiting), theme.warning));
        }
        right.push(Span::styled(origin, theme.dim));
        ListEntry::row(two_sided(left, right, self.width))
    }

    fn terminal_row(self, row: &TerminalRow) -> ListEntry {
        let theme = self.theme;
        let (mark, style) = match (row.running, row.exit_code) {
            (true, _) => ("▶ ", theme.accent),
            (false, Some(0) | None) => ("· ", theme.dim),
            (false, Some(_)) => ("✗ ", theme.error),
        };
        let owner = match row.owner {
            TerminalOwner::Own => "yours",
            TerminalOwner::OtherClient => "another client",
            TerminalOwner::Session if row.of_session => "session",
            TerminalOwner::Session => "other session",
            TerminalOwner::ToolCall => "tool call",
        };
        let left = vec![
            Span::styled(mark, style),
            Span::styled(clean(&row.title), theme.text),
        ];
        let right = vec![Span::styled(owner, theme.dim)];
        ListEntry::row(two_sided(left, right, self.width))
    }

    fn usage(self, report: &UsageReport) -> Vec<ListEntry> {
        let theme = self.theme;
        let mut entries = Vec::new();
        let row = |label: &str, tokens: u64, cost: Option<&String>| {
            let left = vec![Span::styled(clean(label), theme.text)];
            let cost = cost.map_or_else(String::new, |cost| format!("  {}", clean(cost)));
            let right = vec![
                Span::styled(count_text(tokens), theme.dim),
                Span::styled(cost, theme.text),
            ];
            ListEntry::row(two_sided(left, right, self.width))
        };
        let heading = |text: &str| ListEntry::heading(Line::styled(text.to_owned(), theme.strong));
        let tokens_of = |usage: &agenthost_view::usage::UsageRow| {
            usage.input_tokens.unwrap_or(0) + usage.output_tokens.unwrap_or(0)
        };
        if let Some(session) = &report.session {
            entries.push(heading("This session"));
            let usage = &session.usage;
            entries.push(row("all chats", tokens_of(usage), usage.cost.as_ref()));
            for chat in session.chats.iter().filter(|_| session.chats.len() > 1) {
                let title = if chat.title.is_empty() {
                    "chat"
                } else {
                    &chat.title
                };
                entries.push(row(title, tokens_of(&chat.usage), chat.usage.cost.as_ref()));
            }
        }
        for (title, groups) in [("Models", &report.models), ("Days", &report.days)] {
            if !groups.is_empty() {
                entries.push(heading(title));
            }
            for group in groups {
                let key = if group.key.is_empty() {
                    "unknown"
                } else {
                    &group.key
                };
                entries.push(row(key, group.tokens, group.usage.cost.as_ref()));
            }
        }
        if !report.turns.is_empty() {
            entries.push(heading("Turns of this chat"));
        }
        for turn in report.turns.iter().rev() {
            entries.push(row(&turn.label, turn.tokens, turn.usage.cost.as_ref()));
        }
        entries
    }

    fn customizations(self, tree: &CustomizationTree) -> Vec<ListEntry> {
        let mut entries = Vec::new();
        for (row, depth) in flat_customizations(tree) {
            entries.push(self.customization(row, depth));
        }
        if tree.hidden > 0 {
            let text = format!("{} more are not shown", tree.hidden);
            entries.push(ListEntry::heading(self.text(&text, self.theme.dim)));
        }
        entries
    }

    fn customization(self, row: &CustomizationRow, depth: usize) -> ListEntry {
        let theme = self.theme;
        let kind = match row.kind {
            CustomizationKind::Plugin => "plugin",
            CustomizationKind::Directory => "folder",
            CustomizationKind::Rule => "rule",
            CustomizationKind::Skill => "skill",
            CustomizationKind::Prompt => "prompt",
            CustomizationKind::Agent => "agent",
            CustomizationKind::Hook => "hook",
            CustomizationKind::McpServer => "server",
        };
        let (mark, style) = if row.enabled {
            ("● ", theme.ok)
        } else {
            ("○ ", theme.dim)
        };
        let mut left = vec![
            Span::raw("  ".repeat(depth)),
            Span::styled(mark, style),
            Span::styled(clean(&row.name), theme.text),
        ];
        if let Some(server) = &row.server {
            let (text, style) = match server.state {
                ServerStateKind::Starting => ("starting", theme.accent),
                ServerStateKind::Ready => ("ready", theme.ok),
                ServerStateKind::AuthRequired => ("needs a token", theme.warning),
                ServerStateKind::Error => ("failed", theme.error),
                ServerStateKind::Stopped => ("stopped", theme.dim),
                ServerStateKind::Unknown => ("unknown", theme.dim),
            };
            left.push(Span::styled(format!(" · {text}"), style));
        }
        if row
            .code
            .as_ref()
            .is_some_and(|code| code.state == CodeState::Waiting)
        {
            left.push(Span::styled(" · code waits", theme.warning));
        }
        let right = vec![Span::styled(kind, theme.dim)];
        ListEntry::row(two_sided(left, right, self.width))
    }
}

/// Returns the rows of a tree with their depth, in the order of the screen.
pub(crate) fn flat_customizations(tree: &CustomizationTree) -> Vec<(&CustomizationRow, usize)> {
    let mut flat = Vec::new();
    for row in &tree.rows {
        flat.push((row, 0));
        flat.extend(row.children.iter().map(|child| (child, 1)));
    }
    flat
}
