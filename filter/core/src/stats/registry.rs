//! Counters with names that are made once, at first use, and kept: Envoy never frees a metric, so what must be bounded
//! is how many names there ever were.

use std::borrow::{Borrow, ToOwned};
use std::collections::BTreeMap;

use super::names::{Metric, Named};

/// One counter and its name.
#[derive(Debug)]
struct Counter {
    name: String,
    count: u64,
}

/// The counters of one family: one for each key and detail that came up, for at most so many keys; what comes after
/// that is counted by detail under [`Named::Other`]. Details are few by nature. In the steady state counting allocates
/// nothing. Ordered maps, since clients choose some of the keys.
#[derive(Debug)]
pub(super) struct Family<K, D> {
    keys: BTreeMap<K, BTreeMap<D, Counter>>,
    other: BTreeMap<D, Counter>,
}

impl<K: Ord, D: Ord + Copy> Family<K, D> {
    pub(super) const fn new() -> Self {
        Self { keys: BTreeMap::new(), other: BTreeMap::new() }
    }

    /// Counts one. `cap` bounds the keys; those that are known stay, also where the cap was higher once. `metric` tells
    /// which metric this is, when it comes up first.
    pub(super) fn count<Q>(&mut self, key: &Q, detail: D, cap: usize, metric: impl FnOnce(Named<&Q>) -> Metric)
    where
        K: Borrow<Q>,
        Q: Ord + ToOwned<Owned = K> + ?Sized,
    {
        if let Some(counters) = self.keys.get_mut(key) {
            add(counters, detail, || metric(Named::One(key)));
        } else if self.keys.len() < cap {
            let counters = self.keys.entry(key.to_owned()).or_default();
            add(counters, detail, || metric(Named::One(key)));
        } else {
            add(&mut self.other, detail, || metric(Named::Other));
        }
    }

    /// Hands over what was counted since the last time.
    pub(super) fn flush(&mut self, count: &mut dyn FnMut(&str, u64)) {
        for counter in self.keys.values_mut().chain([&mut self.other]).flat_map(BTreeMap::values_mut) {
            if counter.count > 0 {
                count(&counter.name, counter.count);
                counter.count = 0;
            }
        }
    }
}

fn add<D: Ord>(counters: &mut BTreeMap<D, Counter>, detail: D, metric: impl FnOnce() -> Metric) {
    let counter = counters.entry(detail).or_insert_with(|| Counter { name: metric().encode(), count: 0 });
    counter.count = counter.count.saturating_add(1);
}
