//! The pane at the right: inbox, changes, chats, terminals, usage or customizations, as a list
//! with a selected entry.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::Line;

use crate::paint::canvas::{draw_line, fill_row, scroll_to};
use crate::paint::theme::ScreenTheme;

/// The content of the pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InspectorKind {
    Inbox,
    Changes,
    Chats,
    Terminals,
    Usage,
    Customizations,
}

impl InspectorKind {
    pub(crate) const ALL: [Self; 6] = [
        InspectorKind::Inbox,
        InspectorKind::Changes,
        InspectorKind::Chats,
        InspectorKind::Terminals,
        InspectorKind::Usage,
        InspectorKind::Customizations,
    ];

    pub(crate) fn title(self) -> &'static str {
        match self {
            InspectorKind::Inbox => "Inbox",
            InspectorKind::Changes => "Changes",
            InspectorKind::Chats => "Chats",
            InspectorKind::Terminals => "Terminals",
            InspectorKind::Usage => "Usage",
            InspectorKind::Customizations => "Customizations",
        }
    }

    fn place(self) -> usize {
        Self::ALL.iter().position(|kind| *kind == self).unwrap_or(0)
    }
}

/// The selection in the lists of all kinds.
#[derive(Debug, Default)]
pub(crate) struct InspectorLists {
    selected: [usize; 6],
    offset: usize,
    height: usize,
}

/// An entry of a list.
pub(crate) struct ListEntry {
    pub(crate) lines: Vec<Line<'static>>,
    /// Headings cannot be selected.
    pub(crate) is_heading: bool,
}

impl ListEntry {
    pub(crate) fn heading(line: Line<'static>) -> Self {
        ListEntry {
            lines: vec![line],
            is_heading: true,
        }
    }

    pub(crate) fn row(line: Line<'static>) -> Self {
        ListEntry {
            lines: vec![line],
            is_heading: false,
        }
    }
}

impl InspectorLists {
    pub(crate) fn selected(&self, kind: InspectorKind) -> usize {
        self.selected.get(kind.place()).copied().unwrap_or(0)
    }

    /// Moves the selection of a list with `count` entries.
    pub(crate) fn select(&mut self, kind: InspectorKind, step: isize, count: usize) {
        if let Some(selected) = self.selected.get_mut(kind.place()) {
            *selected = selected
                .saturating_add_signed(step)
                .min(count.saturating_sub(1));
        }
    }

    pub(crate) fn page(&self) -> isize {
        isize::try_from(self.height.saturating_sub(2).max(1)).unwrap_or(1)
    }

    pub(crate) fn draw(
        &mut self,
        buffer: &mut Buffer,
        area: Rect,
        kind: InspectorKind,
        entries: &[ListEntry],
        is_focused: bool,
        theme: &ScreenTheme,
    ) {
        self.height = usize::from(area.height);
        let count = entries.iter().filter(|entry| !entry.is_heading).count();
        self.select(kind, 0, count.max(1));
        let selected = self.selected(kind);
        let mut lines = Vec::new();
        let mut index = 0;
        let mut selected_line = 0;
        for entry in entries {
            let is_selected = !entry.is_heading && index == selected;
            index += usize::from(!entry.is_heading);
            if is_selected {
                selected_line = lines.len();
            }
            lines.extend(entry.lines.iter().map(|line| (line, is_selected)));
        }
        self.offset = self.offset.min(lines.len().saturating_sub(1));
        // The headings above the first entry are shown with it.
        let wanted = if selected == 0 { 0 } else { selected_line };
        self.offset = scroll_to(wanted, self.offset, self.height);
        self.offset = scroll_to(selected_line, self.offset, self.height);
        for (row, (line, is_selected)) in (0..area.height).zip(lines.iter().skip(self.offset)) {
            draw_line(buffer, area, row, line);
            if *is_selected && is_focused {
                fill_row(buffer, area, row, theme.selected);
            }
        }
    }
}
