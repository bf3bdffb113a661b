//! Lists that are cheap to share.

use std::ops::Deref;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::wire::{DecodeError, Node, Shape, Wire};

/// A list whose clone is one pointer, whatever its length.
///
/// A snapshot holds a clone while the host goes on changing the original: the
/// first change after that copies the pointers to the items, and of the items
/// only the one that changes.
#[derive(Debug, PartialEq)]
pub struct List<T>(Arc<Vec<Arc<T>>>);

impl<T> List<T> {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// The item at a position.
    pub fn item(&self, index: usize) -> Option<&T> {
        self.0.get(index).map(|item| &**item)
    }

    /// The items in order.
    pub fn items(&self) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator {
        self.0.iter().map(|item| &**item)
    }

    /// The last item.
    pub fn last_item(&self) -> Option<&T> {
        self.0.last().map(|item| &**item)
    }

    /// Where the first item that fits stands.
    pub fn find(&self, mut fits: impl FnMut(&T) -> bool) -> Option<usize> {
        self.0.iter().position(|item| fits(item))
    }

    /// Adds an item at the end.
    pub fn push(&mut self, item: impl Into<Arc<T>>) {
        Arc::make_mut(&mut self.0).push(item.into());
    }

    /// Takes the last item away.
    pub fn pop(&mut self) -> Option<Arc<T>> {
        if self.0.is_empty() {
            return None;
        }
        Arc::make_mut(&mut self.0).pop()
    }

    /// Puts another item at a position that is there.
    pub fn replace(&mut self, index: usize, item: impl Into<Arc<T>>) {
        if let Some(slot) = Arc::make_mut(&mut self.0).get_mut(index) {
            *slot = item.into();
        }
    }

    /// Takes the item at a position away; those behind it move up.
    pub fn remove(&mut self, index: usize) {
        if index < self.0.len() {
            Arc::make_mut(&mut self.0).remove(index);
        }
    }

    /// Keeps the first `length` items.
    pub fn truncate(&mut self, length: usize) {
        if length < self.0.len() {
            Arc::make_mut(&mut self.0).truncate(length);
        }
    }

    /// Replaces the item that fits, or adds the new one at the end.
    pub fn upsert(&mut self, item: impl Into<Arc<T>>, fits: impl FnMut(&T) -> bool) {
        match self.find(fits) {
            Some(index) => self.replace(index, item),
            None => self.push(item),
        }
    }
}

impl<T: Clone> List<T> {
    /// The item at a position, to change it.
    pub fn item_mut(&mut self, index: usize) -> Option<&mut T> {
        Arc::make_mut(&mut self.0).get_mut(index).map(Arc::make_mut)
    }
}

impl<T> Default for List<T> {
    fn default() -> Self {
        List(Arc::new(Vec::new()))
    }
}

// Written out because the derived one would ask for `T: Clone`.
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
