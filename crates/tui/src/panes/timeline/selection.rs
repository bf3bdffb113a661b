//! The selected row of the timeline, which can be expanded and copied.

use std::sync::Arc;

use agenthost_view::timeline::{RowBody, RowKey, TimelineRow};

use super::{TimelineContents, TimelinePane};

impl TimelinePane {
    /// Selects the next row below (1) or above (-1) that can be selected.
    pub(crate) fn select(&mut self, step: isize, context: &mut TimelineContents<'_>) {
        let current = self.selected.as_ref();
        let current = current.and_then(|key| self.rows.iter().position(|row| row.key == *key));
        let mut place = match (current, step) {
            (Some(place), _) => place.checked_add_signed(step),
            (None, ..0) => self.rows.len().checked_sub(1),
            (None, 0..) => Some(self.top.0),
        };
        while let Some(row) = place.and_then(|place| self.rows.get(place)) {
            if !matches!(row.body, RowBody::TurnEnd { .. }) {
                self.selected = Some(row.key.clone());
                break;
            }
            place = place.and_then(|place| place.checked_add_signed(step));
        }
        self.show_selected(context);
    }

    /// Selects a row.
    pub(crate) fn select_key(&mut self, key: RowKey, context: &mut TimelineContents<'_>) {
        self.selected = Some(key);
        self.show_selected(context);
    }

    /// Scrolls so that the selected row is on the screen.
    fn show_selected(&mut self, context: &mut TimelineContents<'_>) {
        let Some(key) = self.selected.clone() else {
            return;
        };
        let Some(place) = self.rows.iter().position(|row| row.key == key) else {
            return;
        };
        let (top, top_line) = self.top;
        if place < top || (place == top && top_line > 0) {
            self.anchor(place, 0);
            return;
        }
        let height = self.size.1;
        let mut used = 0;
        for index in top..=place {
            used += self.line_count(index, context);
        }
        let below = (used.saturating_sub(top_line)).saturating_sub(height);
        let own = self.line_count(place, context);
        if below > 0 {
            self.scroll(
                isize::try_from(below.min(used - own.min(used))).unwrap_or(0),
                context,
            );
        }
    }

    /// Expands or folds the selected row, or the last row that can be folded.
    pub(crate) fn toggle_selected(&mut self) {
        let is_foldable = |row: &&Arc<TimelineRow>| {
            matches!(row.body, RowBody::ToolCall(_) | RowBody::Reasoning { .. })
        };
        let row = match self.selected() {
            Some(row) => Some(row),
            None => self.rows.iter().rev().find(is_foldable),
        };
        let Some(row) = row.cloned() else {
            return;
        };
        if !self.expanded.remove(&row.key) {
            self.expanded.insert(row.key.clone());
        }
        // A long reasoning has several rows, which fold together.
        if let RowBody::Reasoning { .. } = row.body {
            let is_expanded = self.expanded.contains(&row.key);
            let prefix = format!("{}.", row.key.as_str());
            for other in self
                .rows
                .iter()
                .filter(|other| other.key.as_str().starts_with(&prefix))
            {
                if is_expanded {
                    self.expanded.insert(other.key.clone());
                } else {
                    self.expanded.remove(&other.key);
                }
            }
        }
    }

    pub(crate) fn clear_selection(&mut self) {
        self.selected = None;
    }

    /// Returns the row that the user has selected.
    pub(crate) fn selected(&self) -> Option<&Arc<TimelineRow>> {
        let key = self.selected.as_ref()?;
        self.rows.iter().rev().find(|row| row.key == *key)
    }
}
