//! The diffs of edits in the timeline and in approvals, computed from contents that are read by
//! their URIs.

use std::collections::{HashMap, HashSet};

use agenthost_protocol::uri::Uri;
use agenthost_view::diff::{DEFAULT_CONTEXT, DiffRefusal, FileDiff};
use agenthost_view::file_edit::EditSummary;

/// Diffs that are kept. More than these are never on the screen.
const MAX_DIFFS: usize = 64;

/// The diffs of edits.
#[derive(Debug, Default)]
pub(crate) struct EditContents {
    diffs: HashMap<EditKey, EditDiff>,
    contents: HashMap<Uri, EditContent>,
    requested: HashSet<Uri>,
    /// URIs that have to be read.
    wanted: Vec<Uri>,
    /// Number that changes with every content.
    revision: u64,
}

/// A content that was read.
#[derive(Debug, Clone)]
pub(crate) enum EditContent {
    Text(String),
    /// The reason for which it could not be read.
    Unreadable(String),
}

/// The contents before and after an edit.
type EditKey = (Option<Uri>, Option<Uri>);

/// The diff of an edit.
#[derive(Debug)]
pub(crate) enum EditDiff {
    Loading,
    Ready(Box<FileDiff>),
    /// The reason for which there is no diff.
    Failed(String),
}

impl EditContents {
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// Returns the diff of an edit, and requests its contents if needed.
    pub(crate) fn diff(&mut self, edit: &EditSummary) -> &EditDiff {
        let key = (edit.before.clone(), edit.after.clone());
        if self.diffs.len() >= MAX_DIFFS && !self.diffs.contains_key(&key) {
            self.diffs.clear();
            self.contents.clear();
            self.requested.clear();
        }
        for uri in [&key.0, &key.1].into_iter().flatten() {
            if self.requested.insert(uri.clone()) {
                self.wanted.push(uri.clone());
            }
        }
        let computed = match self.diffs.get(&key) {
            None | Some(EditDiff::Loading) => self.compute(&key),
            Some(EditDiff::Ready(_) | EditDiff::Failed(_)) => None,
        };
        let entry = self.diffs.entry(key).or_insert(EditDiff::Loading);
        if let Some(computed) = computed {
            *entry = computed;
        }
        entry
    }

    /// Returns the URIs that have to be read now.
    pub(crate) fn take_wanted(&mut self) -> Vec<Uri> {
        std::mem::take(&mut self.wanted)
    }

    pub(crate) fn add(&mut self, uri: Uri, content: EditContent) {
        self.contents.insert(uri, content);
        self.revision += 1;
    }

    fn compute(&self, key: &EditKey) -> Option<EditDiff> {
        let text = |uri: &Option<Uri>| match uri {
            None => Some(EditContent::Text(String::new())),
            Some(uri) => self.contents.get(uri).cloned(),
        };
        let (before, after) = (text(&key.0)?, text(&key.1)?);
        let (before, after) = match (before, after) {
            (EditContent::Text(before), EditContent::Text(after)) => (before, after),
            (EditContent::Unreadable(reason), _) | (_, EditContent::Unreadable(reason)) => {
                return Some(EditDiff::Failed(reason));
            }
        };
        Some(match FileDiff::compute(before, after, DEFAULT_CONTEXT) {
            Ok(diff) => EditDiff::Ready(Box::new(diff)),
            Err(DiffRefusal::Binary) => EditDiff::Failed("the file is not text".to_owned()),
            Err(DiffRefusal::TooLarge { .. }) => {
                EditDiff::Failed("the file is too large to compare".to_owned())
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use agenthost_view::file_edit::EditStatus;

    use super::*;

    #[test]
    fn contents_are_requested_once_and_compared() {
        let edit = EditSummary {
            path: "/a".to_owned(),
            status: EditStatus::Changed,
            before: Some(Uri::from("x:/1")),
            after: Some(Uri::from("x:/2")),
            renamed_from: None,
            added: None,
            removed: None,
        };
        let mut contents = EditContents::default();
        assert!(matches!(contents.diff(&edit), EditDiff::Loading));
        assert!(matches!(contents.diff(&edit), EditDiff::Loading));
        let wanted = contents.take_wanted();
        assert_eq!(wanted, [Uri::from("x:/1"), Uri::from("x:/2")]);
        contents.add(wanted[0].clone(), EditContent::Text("a\n".to_owned()));
        assert!(matches!(contents.diff(&edit), EditDiff::Loading));
        contents.add(wanted[1].clone(), EditContent::Text("b\n".to_owned()));
        assert!(matches!(contents.diff(&edit), EditDiff::Ready(_)));
        assert!(contents.take_wanted().is_empty());
    }
}
