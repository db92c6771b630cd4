//! Statistics from a Prometheus that scrapes the gateways: what was counted in any time of which it has samples.
//!
//! `api` asks it, `series` tells by its name or its labels what a series counts, `increase` adds up what was counted. Both forms
//! are read: the metrics as Envoy's page has them (`mirror_v1__…`), and as examples/monitoring relabels them (`mirror_pairs_total`
//! and others).
//!
//! What it cannot know: whatever an Envoy counted between its last scrape and its end; and how many workers an Envoy has, so
//! that one which has stopped while others compare is not noticed (the alerts of examples/monitoring do). A gateway of which the
//! first sample lies within the time is taken to have started then, and is named. A rare character of a relabelled name stays
//! encoded, as it is in the label.

mod api;
mod increase;
mod series;

use std::collections::BTreeMap;

use api::Series;
pub use api::{Address, Prometheus, PrometheusError};
use increase::{Counted, increases};
use mirror_core::stats::names::Metric;
use series::Origin;

use super::{Gathered, Instance, Snapshot, Way};

/// All that the module counts, in both forms.
const ALL: &str = "{__name__=~\"mirror_v1__.+|mirror_(pairs|triples|endpoint_pairs|place_pairs|status_pairs|answers|diagnostics)_total|\
                   mirror_worker_last_tick_timestamp_seconds|mirror_build_info\"}";
/// When workers last ticked, in both forms.
const TICKS: &str = "{__name__=~\"mirror_v1__alive__.+|mirror_worker_last_tick_timestamp_seconds\"}[5m]";
/// About as many samples of each series are asked for. Prometheus itself refuses more than 11,000.
const SAMPLES: u64 = 240;

/// A time, in seconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Its beginning.
    pub since: u64,
    /// Its end.
    pub until: u64,
}

impl Range {
    /// How far apart the samples are that are asked for, in seconds.
    fn step(self) -> u64 {
        self.until.saturating_sub(self.since).div_ceil(SAMPLES).max(1)
    }
}

/// Reads what all gateways counted in a time.
///
/// # Errors
/// See [`PrometheusError`].
pub async fn read(prometheus: &Prometheus, range: Range) -> Result<Gathered, PrometheusError> {
    let series = prometheus.range(ALL, range, range.step()).await?;
    let ticks = prometheus.at_instant(TICKS, range.until).await?;
    let gathered = gather(series, ticks, range);
    if gathered.envoys.is_empty() {
        return Err(PrometheusError::Nothing { address: prometheus.address().clone(), range });
    }
    Ok(gathered)
}

/// The series of one gateway, by what scraped it. A gateway that is scraped twice must not be counted twice.
#[derive(Default)]
struct Gateway {
    targets: BTreeMap<BTreeMap<String, String>, Target>,
}

#[derive(Default)]
struct Target {
    /// Whether some names are as Envoy has them, and so exact.
    is_raw: bool,
    series: Vec<(Metric, Vec<(f64, f64)>)>,
    ticks: BTreeMap<u32, (f64, f64)>,
}

fn gather(series: Vec<Series>, ticks: Vec<Series>, range: Range) -> Gathered {
    let mut gateways: BTreeMap<String, Gateway> = BTreeMap::new();
    for Series { metric: labels, values } in series {
        let Some(Origin { gateway, target, is_raw, metric }) = series::origin(labels) else { continue };
        let target = gateways.entry(gateway).or_default().targets.entry(target).or_default();
        target.is_raw |= is_raw;
        target.series.push((metric, values));
    }
    for Series { metric: labels, values } in ticks {
        let Some(Origin { gateway, target, metric, .. }) = series::origin(labels) else { continue };
        let target = gateways.get_mut(&gateway).and_then(|gateway| gateway.targets.get_mut(&target));
        if let (Some(target), Metric::Alive { slot }, Some(last)) = (target, metric, values.last()) {
            target.ticks.insert(slot, *last);
        }
    }
    let mut gathered = Gathered { since: Some(range.since), until: Some(range.until), ..Gathered::default() };
    for (name, gateway) in gateways {
        let targets = gateway.targets.into_values();
        let Some(target) = targets.max_by_key(|target| (target.is_raw, target.series.len())) else { continue };
        let mut instance = instance(name.clone(), &target.ticks);
        let Counted { increases, began_anew } = increases(&target.series, range.since);
        let mut snapshot = Snapshot::default();
        for (metric, n) in increases {
            snapshot.take(&mut instance, metric, n);
        }
        if began_anew {
            gathered.began_anew.push(name);
        }
        snapshot.counters.retain(|_, n| *n > 0);
        snapshot.instances.push(instance);
        gathered.envoys.push(snapshot);
    }
    gathered
}

/// What the ticks of an Envoy's VMs say of it: each with the time of the scrape.
fn instance(name: String, ticks: &BTreeMap<u32, (f64, f64)>) -> Instance {
    let clock = ticks.values().map(|(at, _)| *at as u64).max().unwrap_or(0);
    // A VM that ended in good order has said so by a zero.
    let ticks = ticks.iter().map(|(vm, (_, tick))| (*vm, *tick as u64)).filter(|(_, tick)| *tick > 0).collect();
    let mut instance = Instance { name, clock, ticks, workers: u32::MAX, ..Instance::default() };
    // One VM is the main thread's. Those that tick are all that are known; where none does, all have stopped.
    let alive = Way::ALL.into_iter().map(|way| instance.alive_by(way)).max().unwrap_or(0);
    let vms = Way::ALL.into_iter().map(|way| instance.vms(way).count()).max().unwrap_or(0);
    instance.workers = match alive {
        0 => u32::try_from(vms).unwrap_or(u32::MAX).saturating_sub(1),
        alive => alive,
    };
    instance
}

#[cfg(test)]
mod tests;
