//! Where statistics come from: one file a source, all of which give the same [`Snapshot`]s; and examples of differences, which
//! come from logs. `baseline` holds what was counted up to a moment, to be left out later.

pub mod admin;
pub mod baseline;
pub mod cluster;
mod gathered;
pub mod logs;
pub mod prometheus;

use std::collections::{BTreeMap, BTreeSet};

use mirror_core::stats::names::{ALIVE_SLOTS, Metric};

pub use gathered::Gathered;

/// What one or several Envoys have counted, until one moment or (without a baseline) between two.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Counters of the module, summed over all instances.
    pub counters: BTreeMap<Metric, u64>,
    /// The Envoys that they come from.
    pub instances: Vec<Instance>,
}

/// What is known of one Envoy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instance {
    /// What to call it: the pod's name, or the address of its admin page.
    pub name: String,
    /// Envoy's version, for example `1.40.0`; empty where the source does not say.
    pub envoy: String,
    /// How many worker threads it has.
    pub workers: u32,
    /// How long it has been running, in seconds.
    pub uptime: u64,
    /// Its own clock when the snapshot was taken, in seconds since the Unix epoch.
    pub clock: u64,
    /// For each VM of the module that did not end in good order, by its number: when it last ticked, by the same clock.
    /// There is one for each worker, and one more on Envoy's main thread, which sees no traffic. A new one gets a new number.
    pub ticks: BTreeMap<u32, u64>,
    /// The versions of the module that report themselves; two while one replaces another.
    pub builds: Vec<String>,
    /// The version of Istio's proxy, for example `1.28.3`; `None` where this is none.
    pub istio: Option<String>,
    /// The ways in which Envoy has made VMs of the module at some time.
    pub loaded: BTreeSet<Way>,
    /// What became of the module's delivery; `None` where this Envoy was never told to fetch one.
    pub delivery: Option<Delivery>,
}

/// How often the module's configuration reached an Envoy (its extension config discovery), and with what success.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivery {
    /// Accepted.
    pub accepted: u64,
    /// Refused by Envoy.
    pub rejected: u64,
    /// Could not be used for another reason.
    pub failed: u64,
}

/// How the module stands in an Envoy. Both ways may be there at once, each with VMs of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// Among the router's upstream filters, by an EnvoyFilter: it compares what the routes copy.
    #[default]
    Observing,
    /// Among the listeners' filters, by a WasmPlugin: it sends the copies itself.
    Sending,
}

impl Way {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Observing, Self::Sending];

    /// That of the VM of this number.
    const fn of(vm: u32) -> Self {
        if vm < ALIVE_SLOTS { Self::Observing } else { Self::Sending }
    }
}

/// What became of the module in one Envoy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Module {
    /// Every worker compares.
    Running,
    /// It was loaded, but some or all workers no longer compare.
    Stopped,
    /// Envoy refused it.
    Rejected,
    /// Istio's agent could not fetch it, and put something in its place that does nothing.
    Unfetched,
    /// Envoy was told to fetch it and has not got it.
    Waiting,
    /// Nothing is known of it here.
    #[default]
    Missing,
}

impl Module {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Running, Self::Stopped, Self::Rejected, Self::Unfetched, Self::Waiting, Self::Missing];

    /// The word that JSON uses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Stopped => "stopped",
            Self::Rejected => "rejected",
            Self::Unfetched => "unfetched",
            Self::Waiting => "waiting",
            Self::Missing => "missing",
        }
    }
}

impl Instance {
    /// The longest that a worker's last tick may be ago, in seconds: the module ticks each second, and both clocks are
    /// whole seconds.
    pub const ALIVE_WITHIN: u64 = 5;

    /// How many VMs run beside those of the workers, for the same time as the module does.
    const BESIDE_WORKERS: u32 = 1;

    /// When it started, by its own clock.
    pub fn started(&self) -> u64 {
        self.clock.saturating_sub(self.uptime)
    }

    /// The ways in which the module is known to be here, or to have been.
    fn ways(&self) -> impl Iterator<Item = Way> {
        Way::ALL.into_iter().filter(|way| {
            let is_told_to_fetch = *way == Way::Observing && self.delivery.is_some();
            is_told_to_fetch || self.vms(*way).next().is_some()
        })
    }

    /// The VMs of one way, each with its last tick.
    pub fn vms(&self, way: Way) -> impl Iterator<Item = (u32, u64)> {
        self.ticks.iter().map(|(vm, tick)| (*vm, *tick)).filter(move |(vm, _)| Way::of(*vm) == way)
    }

    /// How many workers compare, in each way in which the module is here.
    pub fn alive(&self) -> u32 {
        self.ways().map(|way| self.alive_by(way)).min().unwrap_or(0)
    }

    /// How many workers compare in this way.
    pub(crate) fn alive_by(&self, way: Way) -> u32 {
        let vms = self.vms_since(way, self.clock.saturating_sub(Self::ALIVE_WITHIN));
        // While one module replaces another there may be VMs of both.
        vms.saturating_sub(Self::BESIDE_WORKERS).min(self.workers)
    }

    /// Whether every VM has ticked later than `second` of Envoy's clock, and so has handed over all that it knew then.
    pub fn has_ticked_after(&self, second: u64) -> bool {
        let all = self.workers.saturating_add(Self::BESIDE_WORKERS);
        let mut ways = self.ways().peekable();
        ways.peek().is_some() && ways.all(|way| self.vms_since(way, second.saturating_add(1)) >= all)
    }

    /// How many VMs have ticked at `second` or later.
    fn vms_since(&self, way: Way, second: u64) -> u32 {
        let vms = self.vms(way).filter(|(_, tick)| *tick >= second).count();
        u32::try_from(vms).unwrap_or(u32::MAX)
    }

    /// What became of the module here, whichever way it is here; the worst where it is here in both.
    pub fn module(&self) -> Module {
        self.ways().map(|way| self.module_by(way)).max().unwrap_or_default()
    }

    /// What became of the module that is to stand here in this way.
    pub fn module_by(&self, way: Way) -> Module {
        let delivery = self.delivery.filter(|_| way == Way::Observing);
        let alive = self.alive_by(way);
        match delivery {
            _ if alive > 0 && alive == self.workers => Module::Running,
            _ if self.vms(way).next().is_some() => Module::Stopped,
            Some(delivery) if delivery.accepted > 0 => Module::Stopped,
            Some(delivery) if delivery.rejected > 0 || delivery.failed > 0 => Module::Rejected,
            Some(_) => Module::Waiting,
            None => Module::Missing,
        }
    }
}

impl Snapshot {
    /// Adds what another source has counted. The two must not be of the same Envoy.
    pub fn merge(&mut self, other: Self) {
        for (metric, n) in other.counters {
            let sum = self.counters.entry(metric).or_default();
            *sum = sum.saturating_add(n);
        }
        self.instances.extend(other.instances);
    }

    /// Takes one metric of `instance` as its source shows it: counters are summed, gauges become facts of the instance.
    pub(crate) fn take(&mut self, instance: &mut Instance, metric: Metric, value: u64) {
        match metric {
            // A VM that ends in good order says so by a zero.
            Metric::Alive { slot } if value > 0 => {
                instance.ticks.insert(slot, value);
            }
            Metric::Alive { .. } => {}
            Metric::Build { version } if value > 0 => instance.builds.push(version.as_str().to_owned()),
            Metric::Build { .. } => {}
            counter => {
                let sum = self.counters.entry(counter).or_default();
                *sum = sum.saturating_add(value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use mirror_core::outcome::Outcome;
    use mirror_core::stats::names::Text;

    use super::*;

    fn pairs(outcome: Outcome) -> Metric {
        Metric::Pairs { mirror: Text::new("default/hello"), outcome }
    }

    fn counted(counts: &[(Outcome, u64)]) -> Snapshot {
        let counters = counts.iter().map(|(outcome, n)| (pairs(*outcome), *n)).collect();
        Snapshot { counters, instances: vec![Instance::default()] }
    }

    #[test]
    fn merging_sums_counters_and_keeps_instances_apart() {
        let mut sum = counted(&[(Outcome::Match, 2)]);
        sum.merge(counted(&[(Outcome::Match, 3), (Outcome::Noise, 1)]));
        assert_eq!(sum.counters, counted(&[(Outcome::Match, 5), (Outcome::Noise, 1)]).counters);
        assert_eq!(sum.instances.len(), 2);
    }

    #[test]
    fn the_modules_state_is_told_from_its_ticks_and_its_delivery() {
        let accepted = Some(Delivery { accepted: 1, ..Delivery::default() });
        let rejected = Some(Delivery { rejected: 1, ..Delivery::default() });
        for (ticks, delivery, module) in [
            (&[1000, 1000, 995][..], None, Module::Running),
            (&[1000, 1001, 1000], accepted, Module::Running),
            (&[1000, 1000, 1000, 1000, 7], accepted, Module::Running),
            (&[1000, 1000, 994], accepted, Module::Stopped),
            (&[1000, 1000], accepted, Module::Stopped),
            (&[1000], accepted, Module::Stopped),
            (&[], accepted, Module::Stopped),
            (&[], rejected, Module::Rejected),
            (&[1000, 1000, 1000], rejected, Module::Running),
            (&[], Some(Delivery::default()), Module::Waiting),
            (&[], None, Module::Missing),
        ] {
            let ticks: BTreeMap<_, _> = (0..).zip(ticks.iter().copied()).collect();
            let instance = Instance { workers: 2, clock: 1000, ticks: ticks.clone(), delivery, ..Instance::default() };
            assert_eq!(instance.module(), module, "{ticks:?} {delivery:?}");
        }
    }

    #[test]
    fn each_way_is_judged_by_its_own_vms() {
        let (running, stopped) = ([1000, 1000, 1000], [1000, 994, 990]);
        let both = |observing: &[u64], sending: &[u64]| {
            let ticks =
                (0..).zip(observing.iter().copied()).chain((ALIVE_SLOTS..).zip(sending.iter().copied())).collect();
            let instance = Instance { workers: 2, clock: 1000, ticks, ..Instance::default() };
            let ways = Way::ALL.map(|way| instance.module_by(way));
            (ways, instance.module(), instance.alive(), instance.has_ticked_after(999))
        };
        let (run, stop, none) = (Module::Running, Module::Stopped, Module::Missing);
        assert_eq!(both(&running, &[]), ([run, none], run, 2, true));
        assert_eq!(both(&[], &running), ([none, run], run, 2, true));
        assert_eq!(both(&running, &running), ([run, run], run, 2, true));
        // Those of one way do not make up for those of the other.
        assert_eq!(both(&running, &stopped), ([run, stop], stop, 0, false));
        assert_eq!(both(&stopped, &running), ([stop, run], stop, 0, false));
        assert_eq!(both(&[], &[]), ([none, none], none, 0, false));
    }
}
