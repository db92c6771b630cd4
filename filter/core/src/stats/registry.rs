//! Counters with names that are made once, at first use, and kept: Envoy never frees a metric, so what must be bounded
//! is how many names there ever were.

use std::borrow::{Borrow, ToOwned};

use super::names::{Metric, Named};

/// One counter and its name.
#[derive(Debug)]
struct Counter {
    name: String,
    count: u64,
}

/// A map in a sorted vector: for some hundred keys as quick as a tree, and 37 KB less of WebAssembly. No hashes, since clients
/// choose some of the keys.
type Sorted<K, V> = Vec<(K, V)>;

/// The counters of one family: one for each key and detail that came up, for at most so many keys; what comes after
/// that is counted by detail under [`Named::Other`]. Details are few by nature. In the steady state counting allocates
/// nothing.
#[derive(Debug)]
pub(super) struct Family<K, D> {
    keys: Sorted<K, Sorted<D, Counter>>,
    other: Sorted<D, Counter>,
}

impl<K: Ord, D: Ord> Family<K, D> {
    pub(super) const fn new() -> Self {
        Self { keys: Vec::new(), other: Vec::new() }
    }

    /// Counts one. `cap` bounds the keys; those that are known stay, also where the cap was higher once. `metric` tells
    /// which metric this is, when it comes up first.
    pub(super) fn count<Q>(&mut self, key: &Q, detail: D, cap: usize, metric: impl FnOnce(Named<&Q>) -> Metric)
    where
        K: Borrow<Q>,
        Q: Ord + ToOwned<Owned = K> + ?Sized,
    {
        let at = match self.keys.binary_search_by(|(known, _)| known.borrow().cmp(key)) {
            Ok(at) => Some(at),
            Err(at) if self.keys.len() < cap => {
                self.keys.insert(at, (key.to_owned(), Vec::new()));
                Some(at)
            }
            Err(_) => None,
        };
        match at.and_then(|at| self.keys.get_mut(at)) {
            Some((_, counters)) => add(counters, detail, || metric(Named::One(key))),
            None => add(&mut self.other, detail, || metric(Named::Other)),
        }
    }

    /// Hands over what was counted since the last time.
    pub(super) fn flush(&mut self, count: &mut dyn FnMut(&str, u64)) {
        for (_, counter) in self.keys.iter_mut().flat_map(|(_, counters)| counters).chain(&mut self.other) {
            if counter.count > 0 {
                count(&counter.name, counter.count);
                counter.count = 0;
            }
        }
    }
}

fn add<D: Ord>(counters: &mut Sorted<D, Counter>, detail: D, metric: impl FnOnce() -> Metric) {
    match counters.binary_search_by(|(known, _)| known.cmp(&detail)) {
        Ok(at) => {
            if let Some((_, counter)) = counters.get_mut(at) {
                counter.count = counter.count.saturating_add(1);
            }
        }
        Err(at) => counters.insert(at, (detail, Counter { name: metric().encode(), count: 1 })),
    }
}
