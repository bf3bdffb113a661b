//! Copy-on-write lists for states that snapshots share.

use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::wire;
use crate::wire::{DecodeError, Node, Shape, Wire};

/// A copy-on-write list. A clone copies one pointer, independent of the length.
///
/// A snapshot holds a clone while the host changes the original. The first change after that
/// copies the pointers to the items, and the changed item itself; all other items stay shared.
#[derive(Debug, PartialEq)]
pub struct List<T>(Arc<Vec<Arc<T>>>);

impl<T> List<T> {
    /// Creates an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the item at a position.
    pub fn item(&self, index: usize) -> Option<&T> {
        self.0.get(index).map(|item| &**item)
    }

    /// Iterates over the items in order.
    pub fn items(&self) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator {
        self.0.iter().map(|item| &**item)
    }

    /// Returns the last item.
    pub fn last_item(&self) -> Option<&T> {
        self.0.last().map(|item| &**item)
    }

    /// Returns the position of the first item for which `fits` returns `true`.
    pub fn find(&self, mut fits: impl FnMut(&T) -> bool) -> Option<usize> {
        self.0.iter().position(|item| fits(item))
    }

    /// Appends an item to the list.
    pub fn push(&mut self, item: impl Into<Arc<T>>) {
        Arc::make_mut(&mut self.0).push(item.into());
    }

    /// Removes and returns the last item.
    pub fn pop(&mut self) -> Option<Arc<T>> {
        if self.0.is_empty() {
            return None;
        }
        Arc::make_mut(&mut self.0).pop()
    }

    /// Replaces the item at a position; does nothing if the position does not exist.
    pub fn replace(&mut self, index: usize, item: impl Into<Arc<T>>) {
        if let Some(slot) = Arc::make_mut(&mut self.0).get_mut(index) {
            *slot = item.into();
        }
    }

    /// Removes the item at a position and shifts the following ones; does nothing if the
    /// position does not exist.
    pub fn remove(&mut self, index: usize) {
        if index < self.0.len() {
            Arc::make_mut(&mut self.0).remove(index);
        }
    }

    /// Retains only the first `length` items.
    pub fn truncate(&mut self, length: usize) {
        if length < self.0.len() {
            Arc::make_mut(&mut self.0).truncate(length);
        }
    }

    /// Replaces the first item for which `fits` returns `true`, or appends the new one.
    pub fn upsert(&mut self, item: impl Into<Arc<T>>, fits: impl FnMut(&T) -> bool) {
        match self.find(fits) {
            Some(index) => self.replace(index, item),
            None => self.push(item),
        }
    }
}

impl<T: Clone> List<T> {
    /// Returns the item at a position for modification. Copies it first if it is shared.
    pub fn item_mut(&mut self, index: usize) -> Option<&mut T> {
        Arc::make_mut(&mut self.0).get_mut(index).map(Arc::make_mut)
    }
}

impl<T> Default for List<T> {
    fn default() -> Self {
        List(Arc::new(Vec::new()))
    }
}

// Implemented by hand, because the derive would require `T: Clone`.
impl<T> Clone for List<T> {
    fn clone(&self) -> Self {
        List(Arc::clone(&self.0))
    }
}

impl<T> Deref for List<T> {
    type Target = [Arc<T>];

    fn deref(&self) -> &[Arc<T>] {
        &self.0
    }
}

impl<T> FromIterator<Arc<T>> for List<T> {
    fn from_iter<I: IntoIterator<Item = Arc<T>>>(items: I) -> Self {
        List(Arc::new(items.into_iter().collect()))
    }
}

impl<T> FromIterator<T> for List<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        items.into_iter().map(Arc::new).collect()
    }
}

impl<T: Wire> Wire for List<T> {
    fn decode(node: Node<'_>) -> Result<Self, DecodeError> {
        Vec::decode(node).map(|items| List(Arc::new(items)))
    }

    fn shape() -> Shape {
        Shape::List(T::shape)
    }
}

impl<T: Serialize> Serialize for List<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|item| &**item))
    }
}

impl<'de, T: Wire> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        wire::deserialize(deserializer)
    }
}
