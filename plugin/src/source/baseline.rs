//! Baselines: Envoy's counters only grow, so what was counted since some moment is what they say now without what they said
//! then. A baseline is what they said; `store` keeps it in a file of the user's.
//!
//! An Envoy that started later, or whose module was replaced, began at zero: all that it says is new, and what it had counted
//! between the baseline and its end is lost. Both are noticed for each Envoy: by its uptime, and by any counter that is lower
//! than it was.

mod store;

use std::collections::BTreeMap;

use mirror_core::stats::names::Metric;
use serde::{Deserialize, Serialize};

pub use store::{Store, StoreError};

use super::{Gathered, Instance, Snapshot};

/// What the Envoys of a source had counted at some moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    /// When it was taken, in seconds since the Unix epoch, by this machine's clock.
    pub taken: u64,
    /// Each Envoy that answered, by name.
    envoys: BTreeMap<String, Counts>,
}

/// What one Envoy had counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Counts {
    /// Its own clock then, in seconds since the Unix epoch.
    clock: u64,
    /// How long it had been running, in seconds.
    uptime: u64,
    /// Its counters, by the names that they have in Envoy.
    #[serde(with = "counters")]
    counters: BTreeMap<Metric, u64>,
}

/// By how much the moment of an Envoy's start may seem to move: both clock and uptime are whole seconds, of two requests.
const SLACK: u64 = 2;

impl Baseline {
    /// What was gathered becomes what is left out later.
    pub fn take(gathered: &Gathered, taken: u64) -> Self {
        let envoys = gathered.envoys.iter().filter_map(|envoy| {
            let instance = envoy.instances.first()?;
            let counts = Counts { clock: instance.clock, uptime: instance.uptime, counters: envoy.counters.clone() };
            Some((instance.name.clone(), counts))
        });
        Self { taken, envoys: envoys.collect() }
    }

    /// Leaves out what had been counted when the baseline was taken. An Envoy of which that is not known is missing from
    /// then on.
    pub fn since(&self, gathered: Gathered) -> Gathered {
        let mut since = Gathered { missing: gathered.missing, since: Some(self.taken), ..Gathered::default() };
        for envoy in gathered.envoys {
            let Some(instance) = envoy.instances.first() else { continue };
            let name = instance.name.clone();
            match self.envoys.get(&name) {
                Some(before) if before.goes_on(&envoy, instance) => since.envoys.push(before.left_out_of(envoy)),
                Some(_) => {
                    since.began_anew.push(name);
                    since.envoys.push(envoy);
                }
                None if instance.started() + SLACK >= self.taken => since.envoys.push(envoy),
                None => {
                    let reason =
                        "it ran before the baseline was stored and could not be asked then; --reset stores another";
                    since.missing.push((name, reason.to_owned()));
                }
            }
        }
        let is_there = |name: &String| {
            let here = since.envoys.iter().flat_map(|envoy| &envoy.instances).any(|instance| instance.name == *name);
            here || since.missing.iter().any(|(missing, _)| missing == name)
        };
        let gone: Vec<_> = self.envoys.keys().filter(|name| !is_there(name)).cloned().collect();
        let reason = "it is gone, and with it what it had counted since the baseline";
        since.missing.extend(gone.into_iter().map(|name| (name, reason.to_owned())));
        since
    }
}

impl Counts {
    /// Whether an Envoy is still the one that had counted this.
    fn goes_on(&self, envoy: &Snapshot, instance: &Instance) -> bool {
        let started_later = instance.started() >= self.clock
            && instance.started() > self.clock.saturating_sub(self.uptime).saturating_add(SLACK);
        let has_lost = |(metric, before): (&Metric, &u64)| envoy.counters.get(metric).unwrap_or(&0) < before;
        !started_later && instance.uptime >= self.uptime && !self.counters.iter().any(has_lost)
    }

    fn left_out_of(&self, mut envoy: Snapshot) -> Snapshot {
        for (metric, n) in &mut envoy.counters {
            *n = n.saturating_sub(self.counters.get(metric).copied().unwrap_or(0));
        }
        envoy.counters.retain(|_, n| *n > 0);
        envoy
    }
}

/// Metrics as their names. One that this version does not know is not there for it.
mod counters {
    use std::collections::BTreeMap;

    use mirror_core::stats::names::Metric;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(counters: &BTreeMap<Metric, u64>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(counters.iter().map(|(metric, n)| (metric.encode(), n)))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<Metric, u64>, D::Error> {
        let named = BTreeMap::<String, u64>::deserialize(deserializer)?;
        Ok(named.into_iter().filter_map(|(name, n)| Some((Metric::decode(&name)?, n))).collect())
    }
}

#[cfg(test)]
mod tests;
