//! Metric names to the host's ids. The names themselves, and how many there may be, are mirror-core's business.

use mirror_core::sorted::Sorted;

use crate::host::{self, MetricType};

/// The counters that this VM has defined.
#[derive(Default)]
pub struct Metrics {
    counters: Sorted<String, u32>,
}

impl Metrics {
    /// Adds `n` to the counter `name`.
    pub fn add(&mut self, name: &str, n: u64) {
        let id = match self.counters.get(name) {
            Some(id) => *id,
            None => {
                let Some(id) = host::define_metric(MetricType::Counter, name) else { return };
                self.counters.insert(name.to_owned(), id);
                id
            }
        };
        host::increment_metric(id, n);
    }
}
