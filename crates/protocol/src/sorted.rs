//! Small sorted collections, in one vector.
//!
//! They replace `BTreeMap` and `BTreeSet` in clients, where each type of B-tree adds eight
//! kilobytes of code. An insertion moves the entries after it, so they are for collections that a
//! peer can't make large, or whose keys arrive in their order.

#[cfg(test)]
mod tests;

use std::borrow::Borrow;
use std::cmp::Ordering;

use serde::{Serialize, Serializer};

/// A map for few entries, sorted by key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortedMap<K, V>(Vec<(K, V)>);

/// A set of few values, sorted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortedSet<T>(SortedMap<T, ()>);

/// Sorts values by a key that is computed once for each; values with the same key keep their
/// order.
pub fn sort_by_key<T, K: Ord>(values: &mut Vec<T>, key: impl Fn(&T) -> K) {
    let keys: Vec<_> = values.iter().map(key).collect();
    let order = sort_positions(keys.len(), &|one, other| {
        keys.get(one).cmp(&keys.get(other))
    });
    let mut sorted: Vec<_> = std::mem::take(values).into_iter().map(Some).collect();
    values.extend(
        order
            .into_iter()
            .filter_map(|position| sorted.get_mut(position)?.take()),
    );
}

/// Sorts the positions of values. The code of the sort exists once, because it moves nothing else.
fn sort_positions(length: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<_> = (0..length).collect();
    order.sort_unstable_by(|one, other| compare(*one, *other).then(one.cmp(other)));
    order
}

impl<K, V> SortedMap<K, V> {
    /// Creates an empty map.
    pub const fn new() -> Self {
        SortedMap(Vec::new())
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns `true` if the map has no entries.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Iterates over the entries in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.0.iter().map(|(key, value)| (key, value))
    }

    /// Iterates over the entries in the order of their keys.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&K, &mut V)> {
        self.0.iter_mut().map(|(key, value)| (&*key, value))
    }

    /// Iterates over the keys in their order.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.0.iter().map(|(key, _)| key)
    }

    /// Iterates over the values in the order of their keys.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.0.iter().map(|(_, value)| value)
    }

    /// Returns the values in the order of their keys.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.0.iter_mut().map(|(_, value)| value)
    }

    /// Removes the entries for which a function returns `false`.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        self.0.retain_mut(|(key, value)| keep(key, value));
    }

    /// Returns the values in the order of their keys.
    pub fn into_values(self) -> impl Iterator<Item = V> {
        self.0.into_iter().map(|(_, value)| value)
    }
}

impl<K: Ord, V> SortedMap<K, V> {
    /// Returns the position of a key, or the position where it belongs.
    fn position<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        self.0
            .binary_search_by(|(other, _)| other.borrow().cmp(key))
    }

    /// Returns the value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let position = self.position(key).ok()?;
        self.0.get(position).map(|(_, value)| value)
    }

    /// Returns the value of a key.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let position = self.position(key).ok()?;
        self.0.get_mut(position).map(|(_, value)| value)
    }

    /// Returns `true` if the map has the key.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.position(key).is_ok()
    }

    /// Adds an entry, and returns the value that it replaces.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.position(&key) {
            Ok(position) => {
                let (_, before) = self.0.get_mut(position)?;
                Some(std::mem::replace(before, value))
            }
            Err(position) => {
                self.0.insert(position, (key, value));
                None
            }
        }
    }

    /// Removes an entry, and returns its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let position = self.position(key).ok()?;
        Some(self.0.remove(position).1)
    }

    /// Returns the value of a key; adds the default value if there is none.
    pub fn or_default(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        self.or_insert_with(key, V::default)
    }

    /// Returns the value of a key; adds one if there is none.
    pub fn or_insert_with(&mut self, key: K, value: impl FnOnce() -> V) -> &mut V {
        let position = self.position(&key).unwrap_or_else(|position| {
            self.0.insert(position, (key, value()));
            position
        });
        #[expect(
            clippy::indexing_slicing,
            reason = "the position was found or added above"
        )]
        &mut self.0[position].1
    }
}

impl<T: Ord> SortedSet<T> {
    /// Creates an empty set.
    pub const fn new() -> Self {
        SortedSet(SortedMap::new())
    }

    /// Adds a value; returns `true` if the set did not contain it.
    pub fn insert(&mut self, value: T) -> bool {
        self.0.insert(value, ()).is_none()
    }

    /// Removes an item. Returns `true` if the set had it.
    pub fn remove<Q: Ord + ?Sized>(&mut self, value: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.0.remove(value).is_some()
    }

    /// Returns `true` if the set contains the value.
    pub fn contains<Q: Ord + ?Sized>(&self, value: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.0.contains_key(value)
    }

    /// Removes the items for which a function returns `false`.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.0.retain(|value, ()| keep(value));
    }

    /// Returns the number of items.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns `true` if the set has no values.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the values in their order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.keys()
    }
}

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> Self {
        SortedMap::new()
    }
}

impl<T: Ord> Default for SortedSet<T> {
    fn default() -> Self {
        SortedSet::new()
    }
}

impl<K, V> IntoIterator for SortedMap<K, V> {
    type Item = (K, V);
    type IntoIter = std::vec::IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<T> IntoIterator for SortedSet<T> {
    type Item = T;
    type IntoIter = std::iter::Map<std::vec::IntoIter<(T, ())>, fn((T, ())) -> T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter().map(|(value, ())| value)
    }
}

impl<K: Ord, V> Extend<(K, V)> for SortedMap<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl<T: Ord> Extend<T> for SortedSet<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        for value in values {
            self.insert(value);
        }
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for SortedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = SortedMap::new();
        map.extend(entries);
        map
    }
}

impl<T: Ord> FromIterator<T> for SortedSet<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut set = SortedSet::new();
        set.extend(values);
        set
    }
}

impl<T: Ord + Serialize> Serialize for SortedSet<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<K: Serialize, V: Serialize> Serialize for SortedMap<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}
