//! How one mirror stands in one gateway pod: a word for tables, and a sentence that says what to do.

use std::collections::BTreeSet;
use std::fmt;

use mirror_core::config::Mirror;

use super::{Carrier, Drawn, Endpoints, Flaw, LiveMirror, PodView, View};
use crate::envoy::MirrorSpec;
use crate::source::{Module, Way};
use crate::waypoint;

/// What is looked for in the gateways.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wanted {
    /// How the module is to stand there; as the mirror's does where `None`.
    way: Option<Way>,
    /// The mirror's name; none where only the module matters.
    name: Option<String>,
    /// Just as it should be; any state of it where `None`.
    mirror: Option<Mirror>,
    /// Which requests are to be copied; any where `None`.
    drawn: Option<Drawn>,
}

/// How a mirror stands in one pod.
#[derive(Clone, Debug, PartialEq)]
pub struct PodState {
    /// The pod's name.
    pub pod: String,
    /// What was found there, or why it could not be asked.
    pub found: Result<Found, String>,
}

/// What was found in one pod.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// How the module is to stand there.
    pub way: Way,
    /// Envoy's version.
    pub envoy: String,
    /// The version of Istio's proxy, where it is one.
    pub istio: Option<String>,
    /// What became of the module.
    pub module: Module,
    /// Whether the routes have the mirror.
    pub route: Route,
    /// How they carry it, where they do.
    pub carrier: Option<Carrier>,
    /// Whether it is put into a waypoint, whose clusters are others than a gateway's.
    pub in_waypoint: bool,
    /// The cluster that copies go to.
    pub candidate: Endpoints,
    /// The cluster that second copies go to, where there are any.
    pub secondary: Option<Endpoints>,
    /// Hosts of the mirror that none of this Envoy's mirrored routes serves.
    pub missing_hosts: Vec<String>,
}

/// Whether an Envoy's routes have a mirror.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// No route has it.
    Absent,
    /// Routes have it, but lack what it needs.
    Incomplete(BTreeSet<Flaw>),
    /// Routes have it as it was before, or in a way that this build does not know.
    Outdated,
    /// So many routes have it just as it should be.
    Live(usize),
}

/// All in one word, the most important fault first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Summary {
    /// It copies and compares.
    Live,
    /// The routes do not have it.
    Absent,
    /// The routes have an earlier state of it.
    Outdated,
    /// The routes lack what it needs.
    Incomplete,
    /// There is no cluster to copy to.
    NoTarget,
    /// Nobody is there to answer copies.
    NoEndpoints,
    /// The module does not compare.
    Module(Module),
    /// The pod could not be asked.
    Unreachable,
}

impl Wanted {
    /// This mirror, just as it is here.
    pub fn mirror(mirror: &Mirror, way: Way) -> Self {
        Self { way: Some(way), name: Some(mirror.name.clone()), mirror: Some(mirror.clone()), drawn: None }
    }

    /// The same, and the requests that it copies.
    pub fn spec(spec: &MirrorSpec, way: Way) -> Self {
        Self { drawn: Some(Drawn::of(spec, way)), ..Self::mirror(&spec.mirror, way) }
    }

    /// Any state of the mirror of this name.
    pub fn any_state_of(name: &str) -> Self {
        Self { name: Some(name.to_owned()), ..Self::default() }
    }

    /// Only the module.
    pub fn module(way: Way) -> Self {
        Self { way: Some(way), ..Self::default() }
    }

    /// The clusters whose endpoints matter.
    pub fn clusters(&self) -> Vec<String> {
        let targets = self.mirror.iter().flat_map(|mirror| [Some(&mirror.candidate), mirror.secondary.as_ref()]);
        targets.flatten().map(|target| target.cluster.clone()).collect()
    }
}

/// Hosts of a mirror whose requests no pod copies. One pod may lack a host for good reason, for it may be a gateway for
/// other calls; all of them may not.
pub fn unserved_hosts(states: &[PodState]) -> Vec<String> {
    let mut seen =
        states.iter().filter_map(|state| state.found.as_ref().ok()).filter(|found| found.route != Route::Absent);
    let Some(first) = seen.next() else { return Vec::new() };
    let mut hosts = first.missing_hosts.clone();
    for found in seen {
        hosts.retain(|host| found.missing_hosts.contains(host));
    }
    hosts
}

impl PodState {
    /// Judges how `wanted` stands by what the pod's Envoy says.
    pub fn judge(pod: &PodView, wanted: &Wanted) -> Self {
        let found = match &pod.view {
            Ok(view) => Ok(Found::judge(view, wanted)),
            Err(error) => Err(error.to_string()),
        };
        Self { pod: pod.pod.clone(), found }
    }

    /// Whether the mirror copies and compares there.
    pub fn is_live(&self) -> bool {
        self.summary() == Summary::Live
    }

    /// Whether no trace of the mirror is left there. `false` for a pod that could not be asked.
    pub fn is_gone(&self) -> bool {
        self.found.as_ref().is_ok_and(|found| found.route == Route::Absent)
    }

    /// Whether the module compares there, whatever is mirrored.
    pub fn module_runs(&self) -> bool {
        self.found.as_ref().is_ok_and(|found| found.module == Module::Running)
    }

    /// Whether Envoy refused the module, or Istio's agent could not fetch it.
    pub fn module_is_rejected(&self) -> bool {
        self.found.as_ref().is_ok_and(|found| matches!(found.module, Module::Rejected | Module::Unfetched))
    }

    /// What is wrong with the module and what to do, in one sentence; that it runs where it does.
    pub fn module_advice(&self) -> String {
        match &self.found {
            Ok(found) => why(found.module).to_owned(),
            Err(reason) => reason.clone(),
        }
    }

    /// All in one word.
    pub fn summary(&self) -> Summary {
        self.found.as_ref().map_or(Summary::Unreachable, Found::summary)
    }

    /// What is wrong and what to do, in one sentence; that all is well where it is.
    pub fn advice(&self) -> String {
        match &self.found {
            Ok(found) => found.advice(),
            Err(reason) => reason.clone(),
        }
    }
}

impl Found {
    fn judge(view: &View, wanted: &Wanted) -> Self {
        let live: Vec<_> = view.mirrors.iter().filter(|live| wanted.name.as_ref() == Some(&live.name)).collect();
        let way = wanted.way.or_else(|| live.first().map(|live| live.carrier.way())).unwrap_or_default();
        let mirror = wanted.mirror.as_ref().or_else(|| live.iter().find_map(|live| live.mirror.as_ref()));
        let flaws: BTreeSet<_> = live.iter().flat_map(|live| live.flaws.iter().copied()).collect();
        let is_other = |live: &LiveMirror| {
            let drawn = wanted.drawn.as_ref().zip(live.drawn.as_ref());
            live.mirror.is_none()
                || live.carrier.way() != way
                || live.mirror.as_ref() != mirror
                || drawn.is_some_and(|(wanted, live)| !wanted.is(live))
        };
        let route = if live.is_empty() {
            Route::Absent
        } else if live.iter().any(|live| is_other(live)) {
            Route::Outdated
        } else if !flaws.is_empty() {
            Route::Incomplete(flaws)
        } else {
            Route::Live(live.iter().map(|live| live.routes).sum())
        };
        let endpoints = |cluster: &String| view.endpoints.get(cluster).copied().unwrap_or_default();
        let hosts = mirror.map(|mirror| mirror.hosts.as_slice()).unwrap_or_default();
        // A waypoint's routes are those of one Service each, whatever the host.
        let in_waypoint = mirror.is_some_and(|mirror| waypoint::is_cluster(&mirror.candidate.cluster));
        let is_missing = |host: &&String| !in_waypoint && *host != "*" && !live.iter().any(|live| live.serves(host));
        Self {
            way,
            envoy: view.envoy().to_owned(),
            istio: view.istio().map(str::to_owned),
            module: view.modules.by(way),
            candidate: mirror.map(|mirror| endpoints(&mirror.candidate.cluster)).unwrap_or_default(),
            secondary: mirror.and_then(|mirror| mirror.secondary.as_ref()).map(|target| endpoints(&target.cluster)),
            carrier: live.first().map(|live| live.carrier),
            in_waypoint,
            missing_hosts: hosts.iter().filter(is_missing).cloned().collect(),
            route,
        }
    }

    fn summary(&self) -> Summary {
        let targets = [Some(self.candidate), self.secondary];
        match &self.route {
            Route::Absent => Summary::Absent,
            Route::Outdated => Summary::Outdated,
            Route::Incomplete(_) => Summary::Incomplete,
            Route::Live(_) if targets.contains(&Some(Endpoints::Absent)) => Summary::NoTarget,
            Route::Live(_) if targets.contains(&Some(Endpoints::NoEndpoints)) => Summary::NoEndpoints,
            Route::Live(_) if self.module != Module::Running => Summary::Module(self.module),
            Route::Live(_) => Summary::Live,
        }
    }

    fn advice(&self) -> String {
        let gone =
            [Some(self.candidate), self.secondary].into_iter().position(|target| target == Some(Endpoints::Absent));
        let which = if gone == Some(1) { "the secondary's" } else { "the candidate's" };
        match self.summary() {
            Summary::Live => "it copies and compares".to_owned(),
            Summary::Absent if self.way == Way::Sending => match self.module {
                Module::Running => {
                    "its module has not been told of the mirror: the control plane is not done yet, or does \
                                    not reach this pod"
                        .to_owned()
                }
                module => format!("nothing is copied: {}", why(module)),
            },
            Summary::Absent => "no route of this gateway has the mirror: does the gateway serve its hosts?".to_owned(),
            Summary::Outdated => {
                "its routes have another state of the mirror: the control plane is not done yet, or was \
                                  changed by another version of this program; run `kubectl mirror enable` again"
                    .to_owned()
            }
            Summary::Incomplete => self.lacking(),
            Summary::NoTarget => {
                let advice = no_target(self.in_waypoint);
                format!("it has no cluster for {which} service, so nothing is copied: {advice}")
            }
            Summary::NoEndpoints => "nobody healthy is there to answer copies: is the candidate ready?".to_owned(),
            Summary::Module(module) => format!("{}: {}", self.without(module), why(module)),
            Summary::Unreachable => String::new(),
        }
    }

    /// What becomes of requests where the module is not as it should be. The selector is installed with it; where there is
    /// none, it is the module that tags the copies.
    fn without(&self, module: Module) -> &'static str {
        match (self.carrier, module) {
            (Some(Carrier::Plugin), _) => "nothing is copied",
            (Some(Carrier::Header), _) => "requests are copied without tags, and not compared",
            (_, Module::Missing) => "nothing is copied",
            (_, _) => "requests are copied but not compared",
        }
    }

    /// What the routes lack, and why that may be.
    fn lacking(&self) -> String {
        let Route::Incomplete(flaws) = &self.route else { return String::new() };
        let lacks: Vec<_> = flaws
            .iter()
            .map(|flaw| match flaw {
                Flaw::Policy => "the mirror policy",
                Flaw::Mutations => "the changes of the copies' headers",
                Flaw::Selector => "the selector",
            })
            .collect();
        let cause = if flaws.contains(&Flaw::Mutations) {
            let istio = self.istio.as_deref().map_or(String::new(), |version| format!(" (this proxy is {version})"));
            format!("Istio drops what it does not know; version 1.28 or later is needed{istio}")
        } else {
            "another configuration replaces it; look for a second mirror or EnvoyFilter on these hosts".to_owned()
        };
        format!("its routes lack {}: {cause}", lacks.join(" and "))
    }
}

/// Why there may be no cluster for a service in a gateway, or in a waypoint, and what to do.
pub const fn no_target(in_waypoint: bool) -> &'static str {
    if in_waypoint {
        return "a waypoint has only clusters of the Services that it serves: label the revision's Service, or its namespace, \
                istio.io/use-waypoint=NAME";
    }
    "is the service exported to the gateway? Where Istio's option PILOT_FILTER_GATEWAY_CLUSTER_CONFIG is \
     on, a gateway has only clusters that a VirtualService names: give the revision a tag (kubectl mirror enable --tag)"
}

/// Why the module does not compare, and what to do.
fn why(module: Module) -> &'static str {
    match module {
        Module::Running => "the module runs",
        Module::Stopped => "the module has stopped; run `kubectl mirror repair`",
        Module::Rejected => "Envoy refused the module; see the log of the pod",
        Module::Unfetched => {
            "Istio's agent could not fetch the module and put a filter that does nothing in its place; the log of the pod says \
             why (look for `wasm`): is the URL right, the checksum that of what is there, and does the registry ask for \
             --image-pull-secret?"
        }
        Module::Waiting => "Envoy has not got the module yet, or refused how it is wrapped; see the log of the pod",
        Module::Missing => "the module is not installed on this gateway; run `kubectl mirror install`",
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Live => "live",
            Self::Absent => "absent",
            Self::Outdated => "outdated",
            Self::Incomplete => "incomplete",
            Self::NoTarget => "no-target",
            Self::NoEndpoints => "no-endpoints",
            Self::Module(Module::Running) => "live",
            Self::Module(Module::Stopped) => "module-stopped",
            Self::Module(Module::Rejected) => "module-rejected",
            Self::Module(Module::Unfetched) => "module-unfetched",
            Self::Module(Module::Waiting) => "module-waiting",
            Self::Module(Module::Missing) => "module-missing",
            Self::Unreachable => "unreachable",
        })
    }
}

#[cfg(test)]
mod tests;
