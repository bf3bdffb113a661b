//! Hash tables for lookups in long lists. They are never iterated, because their order is random.

#![expect(
    clippy::disallowed_types,
    reason = "only lookups, so the order is never visible"
)]

use std::collections::{HashMap, HashSet};

/// A map for lookups alone.
pub(crate) type LookupMap<K, V> = HashMap<K, V>;

/// A set for lookups alone.
pub(crate) type LookupSet<T> = HashSet<T>;
