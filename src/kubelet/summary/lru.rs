//! A map that keeps to a bound: where it is full, the half that was left alone for longest is forgotten. What is of
//! use in a log is at its end.

use std::collections::{BTreeMap, btree_map::Entry};

/// The keys and values put in or asked for last: at most `N`.
#[derive(Clone, Debug)]
pub(super) struct Lru<K, V, const N: usize> {
    /// At most `N / 2`.
    new: BTreeMap<K, V>,
    /// What `new` was when it reached that, without what was asked for since.
    old: BTreeMap<K, V>,
}

impl<K, V, const N: usize> Default for Lru<K, V, N> {
    fn default() -> Self {
        Self {
            new: BTreeMap::new(),
            old: BTreeMap::new(),
        }
    }
}

impl<K: Ord + Clone, V, const N: usize> Lru<K, V, N> {
    pub(super) fn put(&mut self, key: &K, value: V, forget: impl FnMut(V)) {
        if let Some(known) = self.new.get_mut(key) {
            *known = value;
            return;
        }
        self.make_room(forget);
        self.old.remove(key);
        self.new.insert(key.clone(), value);
    }

    pub(super) fn get(&self, key: &K) -> Option<&V> {
        self.new.get(key).or_else(|| self.old.get(key))
    }

    /// A key's place, to be filled; what is in it is kept on.
    pub(super) fn entry(&mut self, key: K, forget: impl FnMut(V)) -> Entry<'_, K, V> {
        self.make_room(forget);
        if !self.old.is_empty()
            && let Some(value) = self.old.remove(&key)
        {
            self.new.insert(key.clone(), value);
        }
        self.new.entry(key)
    }

    fn make_room(&mut self, forget: impl FnMut(V)) {
        if self.new.len() >= N / 2 {
            let old = std::mem::replace(&mut self.old, std::mem::take(&mut self.new));
            old.into_values().for_each(forget);
        }
    }

    /// A key's correlate in the order of keys, and itself if it is there.
    pub(super) fn correlate(&self, key: &K) -> impl Iterator<Item = (&K, &V)> {
        [&self.new, &self.old].into_iter().flat_map(move |map| {
            let after = map.range(key..).next();
            let before = map.range(..=key).next_back();
            after.into_iter().chain(before)
        })
    }

    pub(super) fn into_values(self) -> impl Iterator<Item = V> {
        self.new.into_values().chain(self.old.into_values())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_alone_for_longest_is_forgotten_and_told() {
        let mut map = Lru::<_, _, 8>::default();
        let mut gone = Vec::new();
        for n in 0..20 {
            map.put(&n, n * 10, |value| gone.push(value));
            let first = map.entry(0, |value| gone.push(value));
            assert!(matches!(first, Entry::Occupied(place) if *place.get() == 0));
            assert_eq!(map.get(&n), Some(&(n * 10)));
        }
        let mut kept: Vec<i32> = map.into_values().collect();
        assert!((4..=8).contains(&kept.len()), "{kept:?}");
        assert!(kept.contains(&0) && kept.contains(&190));
        kept.extend(gone);
        kept.sort_unstable();
        assert_eq!(kept, (0..20).map(|n| n * 10).collect::<Vec<_>>());
    }

    #[test]
    fn a_key_has_one_place_and_neighbours_in_both_halves() {
        let mut map = Lru::<_, _, 4>::default();
        for (key, value) in [(1, 'a'), (5, 'b'), (5, 'c'), (9, 'd'), (5, 'e')] {
            map.put(&key, value, |_| {});
        }
        assert_eq!(map.get(&5), Some(&'e'));
        let around: Vec<i32> = map.correlate(&4).map(|(key, _)| *key).collect();
        assert!(around.contains(&5), "{around:?}");
        assert_eq!(map.into_values().filter(|value| *value == 'c').count(), 0);
    }
}
