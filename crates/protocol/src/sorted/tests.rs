use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn a_sorted_map_equals_a_btree_map(steps in prop::collection::vec((any::<bool>(), 0_u8..20, any::<u8>()), 0..60)) {
        let mut map = SortedMap::new();
        let mut tree = BTreeMap::new();
        for (adds, key, value) in steps {
            if adds {
                prop_assert_eq!(map.insert(key, value), tree.insert(key, value));
            } else {
                prop_assert_eq!(map.remove(&key), tree.remove(&key));
            }
            prop_assert_eq!(map.get(&key), tree.get(&key));
            prop_assert_eq!(map.contains_key(&key), tree.contains_key(&key));
            prop_assert_eq!(map.get_mut(&key), tree.get_mut(&key));
        }
        prop_assert_eq!(*map.or_default(7), *tree.entry(7).or_default());
        prop_assert!(map.iter().eq(tree.iter()));
        prop_assert_eq!(map.len(), tree.len());
        prop_assert_eq!(
            serde_json::to_string(&map).unwrap(),
            serde_json::to_string(&tree).unwrap()
        );
        prop_assert!(map.into_iter().eq(tree));
    }

    #[test]
    fn sorting_is_stable(numbers in prop::collection::vec(0_u64..5, 0..40)) {
        let mut values: Vec<_> = numbers.iter().copied().zip(0..).collect();
        let mut expected = values.clone();
        expected.sort_by_key(|(number, _): &(u64, u32)| *number);
        sort_by_key(&mut values, |(number, _)| i128::from(*number));
        prop_assert_eq!(values, expected);
    }

    #[test]
    fn a_sorted_set_equals_a_btree_set(values in prop::collection::vec(0_u8..20, 0..60)) {
        let set: SortedSet<_> = values.iter().copied().collect();
        let tree: BTreeSet<_> = values.iter().copied().collect();
        prop_assert!((0..20).all(|value| set.contains(&value) == tree.contains(&value)));
        prop_assert_eq!(set.is_empty(), tree.is_empty());
        prop_assert!(set.iter().eq(tree.iter()));
        prop_assert!(set.into_iter().eq(tree));
    }
}
