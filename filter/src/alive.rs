//! The sign of life of a VM. Envoy tells nobody when a VM has died and its filter is bypassed, so each VM writes the
//! time of its last tick into a gauge of its own; a report sees how many of Envoy's workers have a fresh one.
//!
//! VMs share nothing but Envoy's shared data, from which each claims the number of its gauge when it starts.

use mirror_core::stats::names::{ALIVE_SLOTS, Metric};

use crate::host::{self, MetricType};

const KEY: &str = "kubectl-mirror.slots";
/// Two workers that start at the same moment may take turns; more tries than workers are enough.
const TRIES: usize = 256;

/// This VM's gauge, where it could get one.
pub struct Alive {
    gauge: Option<u32>,
}

impl Alive {
    /// Takes the next free number. The gauge stays at 0 until the first tick: Envoy also starts a VM that never ticks, of
    /// which it makes the workers' ones.
    pub fn claim(is_before_router: bool) -> Self {
        let first = if is_before_router { ALIVE_SLOTS } else { 0 };
        let gauge = claim_slot().and_then(|slot| {
            let slot = slot.saturating_add(first);
            host::define_metric(MetricType::Gauge, &Metric::Alive { slot }.encode())
        });
        Self { gauge }
    }

    /// Says that this VM lives at `now` (nanoseconds since the epoch).
    pub fn beat(&self, now: u64) {
        self.set(now / 1_000_000_000);
    }

    /// Says that this VM ends in good order.
    pub fn retire(&self) {
        self.set(0);
    }

    fn set(&self, seconds: u64) {
        if let Some(gauge) = self.gauge {
            host::record_metric(gauge, seconds);
        }
    }
}

fn claim_slot() -> Option<u32> {
    for _ in 0..TRIES {
        let (value, cas) = host::shared(KEY);
        let next = value.and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes);
        if host::set_shared(KEY, &next.wrapping_add(1).to_le_bytes(), cas).is_ok() {
            return next.checked_rem(ALIVE_SLOTS);
        }
    }
    None
}
