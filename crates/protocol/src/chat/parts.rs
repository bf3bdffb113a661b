//! The response of a running turn, with what it takes to change it without
//! looking through it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::response::ResponsePart;
use super::tool_call::ToolCall;
use crate::list::List;
use crate::wire::{DecodeError, Node, Shape, Wire};

/// The parts of a running turn.
///
/// Finds a part by name, and knows whether any part waits for the user, at a
/// cost that does not grow with the turn. Where a name stands twice, the first
/// part has it.
#[derive(Debug, Clone, Default)]
pub struct ResponseParts {
    parts: List<ResponsePart>,
    /// The first part of each name.
    by_key: NameIndex,
    /// The first tool call of each name.
    calls: NameIndex,
    /// The parts that wait for the user, in order.
    waiting: BTreeSet<usize>,
    /// The open input requests of each name, in order.
    open_inputs: BTreeMap<Arc<str>, BTreeSet<usize>>,
    /// Whether the last part has a name that no part before it has. Text is
    /// streamed to the last part, so this saves most look-ups.
    last_is_named: bool,
}

/// So many names are copied with a state that somebody else holds on to.
const MAX_RECENT_NAMES: usize = 32;

/// Where names stand. Whoever keeps what was before an action makes the reducer
/// copy this, so most of it is shared.
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
    /// Adds a part at the end.
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

    /// Where the part of a name stands.
    pub fn position(&self, key: &str) -> Option<usize> {
        if self.last_is_named && self.parts.last_item().and_then(ResponsePart::key) == Some(key) {
            return Some(self.parts.len() - 1);
        }
        self.by_key.get(key)
    }

    /// Where the tool call of a name stands.
    pub fn position_of_call(&self, key: &str) -> Option<usize> {
        self.calls.get(key)
    }

    /// The tool call of a name.
    pub fn call(&self, key: &str) -> Option<&ToolCall> {
        self.item(self.position_of_call(key)?)?.as_tool_call()
    }

    /// Where the first open input request of a name stands.
    pub fn position_of_open_input(&self, key: &str) -> Option<usize> {
        self.open_inputs.get(key)?.first().copied()
    }

    /// Whether any part waits for the user.
    pub fn awaits_user(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Changes a part. Its name must stay what it is.
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

    /// The parts alone, for a turn that is over.
    pub(crate) fn into_list(self) -> List<ResponsePart> {
        self.parts
    }
}

/// The name of an input request, open or not.
fn input_request_name(part: &ResponsePart) -> Option<Arc<str>> {
    let ResponsePart::InputRequest(part) = part else {
        return None;
    };
    Some(part.request.id.as_str().into())
}

impl PartialEq for ResponseParts {
    /// The rest follows from the parts.
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
