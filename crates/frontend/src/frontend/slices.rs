//! The slices of the page, computed once per frame and sent as patches.

use std::collections::HashMap;

use agenthost_protocol::sorted::SortedMap;
use agenthost_protocol::uri::Uri;
use agenthost_view::timeline::Timeline;
use serde::{Serialize, Serializer};
use serde_json::value::to_raw_value;

use super::Frontend;
use crate::effect::{FrontendEffect, SlicePatch};

/// The groups of slices that have to be computed again.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct DirtySlices {
    pub(super) link: bool,
    pub(super) sessions: bool,
    pub(super) chat: bool,
    pub(super) changes: bool,
    /// Terminals, customizations, usage and settings.
    pub(super) panels: bool,
}

impl DirtySlices {
    pub(super) const ALL: Self = DirtySlices {
        link: true,
        sessions: true,
        chat: true,
        changes: true,
        panels: true,
    };

    pub(super) fn any(self) -> bool {
        self.link || self.sessions || self.chat || self.changes || self.panels
    }
}

/// A message of the frontend to the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NoteRow {
    pub id: String,
    tone: &'static str,
    pub text: String,
    /// Text of the user that the host did not accept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restored: Option<String>,
}

impl NoteRow {
    pub(super) fn info(id: String, text: String) -> Self {
        NoteRow {
            id,
            tone: "info",
            text,
            restored: None,
        }
    }

    pub(super) fn error(id: String, text: String, restored: Option<String>) -> Self {
        NoteRow {
            id,
            tone: "error",
            text,
            restored,
        }
    }
}

/// The slices that the page has.
#[derive(Debug, Default)]
pub(super) struct SliceCache {
    values: SortedMap<&'static str, String>,
    rows: SortedMap<&'static str, KeyedRows>,
    pub(super) timeline: Option<ShownTimeline>,
}

#[derive(Debug, Default)]
struct KeyedRows {
    order: Vec<String>,
    rows: HashMap<String, String>,
}

/// Changed rows with their keys, encoded as an object.
pub(super) struct KeyedPatch<K, R>(pub(super) Vec<(K, R)>);

impl<K: AsRef<str>, R: Serialize> Serialize for KeyedPatch<K, R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, row)| (key.as_ref(), row)))
    }
}

/// The timeline of the chat that the page shows.
#[derive(Debug)]
pub(super) struct ShownTimeline {
    pub(super) chat: Uri,
    pub(super) timeline: Timeline,
}

impl SliceCache {
    pub(super) fn reset_timeline(&mut self) {
        self.timeline = None;
    }

    /// Adds the patch of a slice with one value, if it changed.
    pub(super) fn set_value(
        &mut self,
        patches: &mut Vec<SlicePatch>,
        slice: &'static str,
        value: &impl Serialize,
    ) {
        let Ok(raw) = to_raw_value(value) else {
            return;
        };
        if self
            .values
            .get(slice)
            .is_some_and(|before| before == raw.get())
        {
            return;
        }
        self.values.insert(slice, raw.get().to_owned());
        patch_of(patches, slice).value = Some(raw);
    }

    /// Adds the patch of a slice with rows: the changed rows, and the order if it changed.
    pub(super) fn set_rows<'a, R: Serialize + 'a>(
        &mut self,
        patches: &mut Vec<SlicePatch>,
        slice: &'static str,
        rows: impl Iterator<Item = (String, &'a R)>,
    ) {
        let shown = self.rows.or_default(slice);
        let mut order = Vec::new();
        let mut changed = Vec::new();
        let mut kept = HashMap::new();
        for (key, row) in rows {
            let Ok(raw) = to_raw_value(row) else {
                continue;
            };
            let text = raw.get().to_owned();
            if shown.rows.get(&key) != Some(&text) {
                changed.push((key.clone(), raw));
            }
            kept.insert(key.clone(), text);
            order.push(key);
        }
        shown.rows = kept;
        let has_order = shown.order != order;
        if !has_order && changed.is_empty() {
            return;
        }
        let patch = patch_of(patches, slice);
        if has_order {
            shown.order.clone_from(&order);
            patch.order = Some(order);
        }
        if !changed.is_empty() {
            patch.set = to_raw_value(&KeyedPatch(changed)).ok();
        }
    }
}

/// Returns the patch of a slice, which is added if there is none.
pub(super) fn patch_of<'a>(
    patches: &'a mut Vec<SlicePatch>,
    slice: &'static str,
) -> &'a mut SlicePatch {
    let position = patches.iter().position(|patch| patch.slice == slice);
    let position = position.unwrap_or_else(|| {
        patches.push(SlicePatch {
            slice,
            value: None,
            order: None,
            splice: None,
            set: None,
        });
        patches.len() - 1
    });
    #[expect(
        clippy::indexing_slicing,
        reason = "the position was found or added above"
    )]
    &mut patches[position]
}

impl Frontend {
    /// Computes the slices that have changed, and sends their patches.
    pub(super) fn draw(&mut self) {
        self.wants_frame = false;
        let dirty = std::mem::take(&mut self.dirty);
        let mut slices = std::mem::take(&mut self.slices);
        let mut patches = Vec::new();
        if dirty.link {
            // Drafts and read marks have no command of the user.
            let pending = self.results.iter().filter(|result| result.command != 0);
            let pending = pending.count();
            slices.set_value(&mut patches, "link", &self.link.view(pending));
            slices.set_value(&mut patches, "notes", &self.notes);
        }
        if dirty.sessions {
            self.draw_sessions(&mut slices, &mut patches);
        }
        if dirty.chat {
            self.draw_chat(&mut slices, &mut patches);
        }
        if dirty.changes {
            self.draw_changes(&mut slices, &mut patches);
            self.draw_annotations(&mut slices, &mut patches);
        }
        if dirty.panels || dirty.chat || dirty.sessions {
            self.draw_chats(&mut slices, &mut patches);
        }
        if dirty.panels {
            self.draw_output();
            self.draw_terminals(&mut slices, &mut patches);
            self.draw_files(&mut slices, &mut patches);
            self.draw_panels(&mut slices, &mut patches);
        }
        self.slices = slices;
        if !patches.is_empty() {
            self.effects.push(FrontendEffect::Patch { patches });
        }
        self.save_if_due();
    }
}
