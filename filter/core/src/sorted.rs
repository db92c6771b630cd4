//! A small map in a sorted vector. For some hundred keys it is as quick as a tree, while each kind of tree costs 5 to 10 KB
//! of WebAssembly. No hashes, since clients choose some of the keys. Adding and removing moves what lies behind: no map for
//! many keys that come in any order.

use std::borrow::{Borrow, ToOwned};

/// Keys in their order, with a value each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sorted<K, V> {
    entries: Vec<(K, V)>,
}

impl<K: Ord, V> Sorted<K, V> {
    /// Nothing yet.
    pub const fn new() -> Self {
        Self { entries: Vec::new() }
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The value of `key`.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let (_, value) = self.entries.get(self.place(key).ok()?)?;
        Some(value)
    }

    /// The value of `key`, to be changed.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let place = self.place(key).ok()?;
        self.entries.get_mut(place).map(|(_, value)| value)
    }

    /// The value of `key`; the one that `make` gives where there is none yet, as long as there are fewer than `most` keys.
    pub fn entry<Q>(&mut self, key: &Q, most: usize, make: impl FnOnce() -> V) -> Option<&mut V>
    where
        K: Borrow<Q>,
        Q: Ord + ToOwned<Owned = K> + ?Sized,
    {
        let place = match self.place(key) {
            Ok(place) => place,
            Err(place) if self.entries.len() < most => {
                self.entries.insert(place, (key.to_owned(), make()));
                place
            }
            Err(_) => return None,
        };
        self.entries.get_mut(place).map(|(_, value)| value)
    }

    /// Gives `key` this value, whatever it had.
    pub fn insert(&mut self, key: K, value: V) {
        match self.place(&key) {
            Ok(place) => {
                if let Some(entry) = self.entries.get_mut(place) {
                    entry.1 = value;
                }
            }
            Err(place) => self.entries.insert(place, (key, value)),
        }
    }

    /// Takes `key` out.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.place(key).ok().map(|place| self.entries.remove(place).1)
    }

    /// Leaves only what `keep` wants.
    pub fn retain(&mut self, mut keep: impl FnMut(&mut V) -> bool) {
        self.entries.retain_mut(|(_, value)| keep(value));
    }

    /// All keys with their values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.entries.iter().map(|(key, value)| (key, value))
    }

    /// All values.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.entries.iter().map(|(_, value)| value)
    }

    /// All values, to be changed.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.entries.iter_mut().map(|(_, value)| value)
    }

    fn place<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        self.entries.binary_search_by(|(known, _)| known.borrow().cmp(key))
    }
}

impl<K, V> Default for Sorted<K, V> {
    fn default() -> Self {
        Self { entries: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn it_does_what_a_tree_does() {
        let (mut sorted, mut tree) = (Sorted::new(), BTreeMap::new());
        // Every number below 97 comes up, in an order without pattern.
        for key in (0..300_u32).map(|n| n * 61 % 97) {
            match key % 3 {
                0 => assert_eq!(sorted.remove(&(key / 2)), tree.remove(&(key / 2)), "{key}"),
                1 => {
                    sorted.insert(key, key);
                    tree.insert(key, key);
                }
                _ => {
                    *sorted.entry(&key, usize::MAX, || 7).expect("room") += 1;
                    *tree.entry(key).or_insert(7) += 1;
                }
            }
            assert_eq!(sorted.entries, tree.clone().into_iter().collect::<Vec<_>>());
            assert_eq!((sorted.get(&key), sorted.len()), (tree.get(&key), tree.len()));
        }
        sorted.retain(|value| *value % 2 == 0);
        assert!(!sorted.is_empty() && sorted.values_mut().all(|value| *value % 2 == 0));
    }

    #[test]
    fn keys_are_bounded() {
        let mut sorted: Sorted<String, u32> = Sorted::new();
        assert_eq!(sorted.entry("a", 1, || 1), Some(&mut 1));
        assert_eq!(sorted.entry("b", 1, || 2), None);
        assert_eq!(sorted.entry("a", 1, || 3), Some(&mut 1));
    }
}
