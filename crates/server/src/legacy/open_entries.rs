//! Open requests by their id, up to a limit.

use std::collections::BTreeMap;

use agenthost_protocol::rpc::RequestId;

use super::MAX_OPEN_ENTRIES;

/// Entries by request id. When the limit is reached, the oldest entry is dropped: a client
/// chooses its ids, so the smallest id need not be the oldest.
#[derive(Debug)]
pub(super) struct OpenEntries<V> {
    entries: BTreeMap<RequestId, (u64, V)>,
    /// The ids by age.
    ages: BTreeMap<u64, RequestId>,
    next_age: u64,
}

impl<V> Default for OpenEntries<V> {
    fn default() -> Self {
        OpenEntries {
            entries: BTreeMap::new(),
            ages: BTreeMap::new(),
            next_age: 0,
        }
    }
}

impl<V> OpenEntries<V> {
    /// Inserts an entry, in place of one with the same id.
    pub(super) fn insert(&mut self, id: RequestId, value: V) {
        self.remove(&id);
        if self.entries.len() >= MAX_OPEN_ENTRIES
            && let Some((_, oldest)) = self.ages.pop_first()
        {
            self.entries.remove(&oldest);
        }
        self.ages.insert(self.next_age, id.clone());
        self.entries.insert(id, (self.next_age, value));
        self.next_age += 1;
    }

    /// Returns an entry, which is inserted if it is missing.
    pub(super) fn get_or_default(&mut self, id: &RequestId) -> Option<&mut V>
    where
        V: Default,
    {
        if !self.entries.contains_key(id) {
            self.insert(id.clone(), V::default());
        }
        self.get_mut(id)
    }

    pub(super) fn get_mut(&mut self, id: &RequestId) -> Option<&mut V> {
        self.entries.get_mut(id).map(|(_, value)| value)
    }

    pub(super) fn remove(&mut self, id: &RequestId) -> Option<V> {
        let (age, value) = self.entries.remove(id)?;
        self.ages.remove(&age);
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_entry_is_dropped_whatever_its_id() {
        let mut open = OpenEntries::default();
        let id = |number: usize| RequestId::Text(format!("{number:06}").into());
        // The ids fall, so the oldest has the largest one.
        for number in (0..MAX_OPEN_ENTRIES).rev() {
            open.insert(id(number + 1), number);
        }
        open.insert(id(0), 0);
        assert_eq!(open.remove(&id(MAX_OPEN_ENTRIES)), None);
        assert_eq!(open.remove(&id(1)), Some(0));
        assert_eq!(open.get_mut(&id(0)), Some(&mut 0));
        assert_eq!(open.ages.len(), open.entries.len());
    }
}
