//! The response parts of the active turn, with indexes for fast lookups.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::response::ResponsePart;
use super::tool_call::ToolCall;
use crate::list::List;
use crate::sorted::SortedSet;
use crate::wire::{DecodeError, Node, Shape, Wire};

/// The response parts of the active turn.
///
/// Finds a part by its key and knows if any part waits for the user, without scanning all
/// parts. If several parts have the same key, lookups return the first one.
#[derive(Debug, Clone, Default)]
pub struct ResponseParts {
    parts: List<ResponsePart>,
    /// Position of the first part of each key.
    by_key: NameIndex,
    /// Position of the first tool call of each key.
    calls: NameIndex,
    /// Positions of the parts that wait for the user.
    waiting: SortedSet<usize>,
    /// Positions of the open input requests, by request id.
    open_inputs: BTreeMap<Arc<str>, SortedSet<usize>>,
    /// `true` if the last part has a key that no earlier part has. Text is streamed to the last
    /// part, so this flag avoids most lookups.
    last_is_named: bool,
}

/// Maximum number of entries in `recent`, which are copied with every clone of the index.
/// Small, so that a clone stays cheap.
const MAX_RECENT_NAMES: usize = 32;

/// Positions by key. The reducer clones the index if a snapshot shares the state, so most
/// entries are behind an `Arc`.
#[derive(Debug, Clone, Default)]
struct NameIndex {
    settled: Arc<BTreeMap<Arc<str>, usize>>,
    recent: BTreeMap<Arc<str>, usize>,
}

impl NameIndex {
    fn get(&self, name: &str) -> Option<usize> {
        let recent = self.recent.get(name);
        recent.or_else(|| self.settled.get(name)).copied()
    }

    fn insert(&mut self, name: Arc<str>, index: usize) {
        if self.recent.len() >= MAX_RECENT_NAMES {
            let settled = Arc::make_mut(&mut self.settled);
            settled.extend(std::mem::take(&mut self.recent));
        }
        self.recent.insert(name, index);
    }
}

impl ResponseParts {
    /// Appends a part to the response.
    pub(crate) fn push(&mut self, part: impl Into<Arc<ResponsePart>>) {
        let part = part.into();
        let index = self.parts.len();
        self.last_is_named = false;
        if let Some(key) = part.key()
            && self.by_key.get(key).is_none()
        {
            self.by_key.insert(key.into(), index);
            self.last_is_named = true;
        }
        if let ResponsePart::ToolCall(_) = &*part
            && let Some(key) = part.key()
            && self.calls.get(key).is_none()
        {
            self.calls.insert(key.into(), index);
        }
        if part.awaits_user() {
            self.wait(index, input_request_name(&part));
        }
        self.parts.push(part);
    }

    /// Returns the position of the part with the given key.
    pub fn position(&self, key: &str) -> Option<usize> {
        if self.last_is_named && self.parts.last_item().and_then(ResponsePart::key) == Some(key) {
            return Some(self.parts.len() - 1);
        }
        self.by_key.get(key)
    }

    /// Returns the position of the tool call with the given id.
    pub fn position_of_call(&self, key: &str) -> Option<usize> {
        self.calls.get(key)
    }

    /// Returns the tool call with the given id.
    pub fn call(&self, key: &str) -> Option<&ToolCall> {
        self.item(self.position_of_call(key)?)?.as_tool_call()
    }

    /// Returns the position of the first open input request with the given id.
    pub fn position_of_open_input(&self, key: &str) -> Option<usize> {
        self.open_inputs.get(key)?.iter().next().copied()
    }

    /// Returns `true` if any part waits for the user.
    pub fn awaits_user(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Changes a part and updates the indexes. `change` must not change the key of the part.
    pub(crate) fn change<R>(
        &mut self,
        index: usize,
        change: impl FnOnce(&mut ResponsePart) -> R,
    ) -> Option<R> {
        let part = self.parts.item_mut(index)?;
        let waited = part.awaits_user();
        let result = change(part);
        let waits = part.awaits_user();
        if waits == waited {
            return Some(result);
        }
        let input = input_request_name(part);
        if waits {
            self.wait(index, input);
        } else {
            self.waiting.remove(&index);
            if let Some(name) = input
                && let Some(open) = self.open_inputs.get_mut(&name)
            {
                open.remove(&index);
                if open.is_empty() {
                    self.open_inputs.remove(&name);
                }
            }
        }
        Some(result)
    }

    fn wait(&mut self, index: usize, input: Option<Arc<str>>) {
        self.waiting.insert(index);
        if let Some(name) = input {
            self.open_inputs.entry(name).or_default().insert(index);
        }
    }

    /// Returns the parts without the indexes, for a turn that has ended.
    pub(crate) fn into_list(self) -> List<ResponsePart> {
        self.parts
    }
}

/// Returns the id of an input request, open or resolved.
fn input_request_name(part: &ResponsePart) -> Option<Arc<str>> {
    let ResponsePart::InputRequest(part) = part else {
        return None;
    };
    Some(part.request.id.as_str().into())
}

impl PartialEq for ResponseParts {
    /// Compares only the parts, because the indexes are derived from them.
    fn eq(&self, other: &Self) -> bool {
        self.parts == other.parts
    }
}

impl Deref for ResponseParts {
    type Target = List<ResponsePart>;

    fn deref(&self) -> &List<ResponsePart> {
        &self.parts
    }
}

impl From<List<ResponsePart>> for ResponseParts {
    fn from(list: List<ResponsePart>) -> Self {
        let mut parts = ResponseParts::default();
        for part in list.iter() {
            parts.push(Arc::clone(part));
        }
        parts
    }
}

impl Wire for ResponseParts {
    fn decode(node: Node<'_>) -> Result<Self, DecodeError> {
        List::decode(node).map(Self::from)
    }

    fn shape() -> Shape {
        List::<ResponsePart>::shape()
    }
}

impl Serialize for ResponseParts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.parts.serialize(serializer)
    }
}
