//! Counters with names that are made once, at first use, and kept: Envoy never frees a metric, so what must be bounded
//! is how many names there ever were.

use std::borrow::{Borrow, ToOwned};

use super::names::{Metric, Named};
use crate::sorted::Sorted;

/// One counter and its name.
#[derive(Debug)]
struct Counter {
    name: String,
    count: u64,
}

/// The counters of one family: one for each key and detail that came up, for at most so many keys; what comes after
/// that is counted by detail under [`Named::Other`]. Details are few by nature. In the steady state counting allocates
/// nothing.
#[derive(Debug)]
pub(super) struct Family<K, D> {
    keys: Sorted<K, Sorted<D, Counter>>,
    other: Sorted<D, Counter>,
}

impl<K: Ord, D: Ord + Clone> Family<K, D> {
    pub(super) const fn new() -> Self {
        Self { keys: Sorted::new(), other: Sorted::new() }
    }

    /// Counts one. `cap` bounds the keys; those that are known stay, also where the cap was higher once. `metric` tells
    /// which metric this is, when it comes up first.
    pub(super) fn count<Q>(&mut self, key: &Q, detail: D, cap: usize, metric: impl FnOnce(Named<&Q>) -> Metric)
    where
        K: Borrow<Q>,
        Q: Ord + ToOwned<Owned = K> + ?Sized,
    {
        let (counters, named) = match self.keys.entry(key, cap, Sorted::new) {
            Some(counters) => (counters, Named::One(key)),
            None => (&mut self.other, Named::Other),
        };
        let counter = counters.entry(&detail, usize::MAX, || Counter { name: metric(named).encode(), count: 0 });
        if let Some(counter) = counter {
            counter.count = counter.count.saturating_add(1);
        }
    }

    /// Hands over what was counted since the last time.
    pub(super) fn flush(&mut self, count: &mut dyn FnMut(&str, u64)) {
        for counter in self.keys.values_mut().flat_map(Sorted::values_mut).chain(self.other.values_mut()) {
            if counter.count > 0 {
                count(&counter.name, counter.count);
                counter.count = 0;
            }
        }
    }
}
