//! How mirrors are: as they were asked for, as they would be made today, and as each gateway pod has them.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;

use super::gateways::GatewayPods;
use super::inventory::Found;
use super::survey;
use crate::cluster::{Cluster, Error, Pod};
use crate::gateway::{Gateways, PodState, PodView, unserved_hosts};
use crate::intent::Strategy;
use crate::istio::{overlay, stale, virtual_service};
use crate::knative::Plan;

/// How one mirror is.
#[derive(Debug)]
pub struct Standing {
    /// The mirror.
    pub found: Found,
    /// What it would come to today.
    pub plan: Option<Plan>,
    /// Why its objects are not what would be written today; empty where they are.
    pub stale: Vec<String>,
    /// Why it could not be made today.
    pub impossible: Option<String>,
    /// Why it is not known what it would come to today: rights are missing.
    pub unchecked: Option<String>,
    /// Whether its time has run out.
    pub expired: bool,
    /// How it stands in each gateway pod.
    pub pods: Vec<PodState>,
}

/// What the gateways' pods say, read once for all mirrors.
#[derive(Debug, Default)]
pub struct Look {
    /// The pods.
    pub pods: Vec<(Pod, PodView)>,
    /// Why there are none to be seen.
    pub unseen: Option<String>,
}

/// Looks into all pods of these gateways.
pub async fn look(cluster: &Cluster, gateways: Result<Vec<GatewayPods>>, mirrors: &[Found]) -> Look {
    let gateways = match gateways {
        Ok(gateways) => gateways,
        Err(error) => return Look { pods: Vec::new(), unseen: Some(format!("{error:#}")) },
    };
    let clusters: Vec<String> = mirrors.iter().flat_map(|found| found.wanted().clusters()).collect();
    let pods: Vec<Pod> = gateways.into_iter().flat_map(|gateway| gateway.pods).collect();
    let views = Gateways::of(cluster, &pods).view(&clusters).await;
    Look { pods: pods.into_iter().zip(views).collect(), unseen: None }
}

/// How a mirror is.
///
/// # Errors
/// What the API server refuses, but for a service that cannot be mirrored any more.
pub async fn standing(cluster: &Cluster, found: Found, look: &Look) -> Standing {
    let (mut plan, mut stale, mut impossible, mut unchecked) = (None, Vec::new(), None, None);
    match today(cluster, &found).await {
        Ok((today, reasons)) => (plan, stale) = (Some(today), reasons),
        Err(error) if error.downcast_ref().is_some_and(Error::is_forbidden) => unchecked = Some(format!("{error:#}")),
        Err(error) => impossible = Some(format!("{error:#}")),
    }
    let expires = found.intent.as_ref().ok().and_then(|intent| intent.expires);
    let (wanted, workloads) = (found.wanted(), found.workloads());
    let concerned = |pod: &Pod| workloads.is_empty() || workloads.iter().any(|workload| workload.has(pod));
    let pods = look.pods.iter().filter(|(pod, _)| concerned(pod)).map(|(_, view)| PodState::judge(view, &wanted));
    Standing {
        expired: expires.is_some_and(|expires| expires <= now()),
        pods: pods.collect(),
        plan,
        stale,
        impossible,
        unchecked,
        found,
    }
}

/// Seconds since the Unix epoch.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// What a mirror would come to today, and why its objects are not that.
async fn today(cluster: &Cluster, found: &Found) -> Result<(Plan, Vec<String>)> {
    let survey = survey(cluster, &found.name).await?;
    let plan = survey.plan(cluster, found.intent.clone()?).await?;
    let reasons = match found.strategy() {
        Strategy::Overlay => found
            .overlays
            .iter()
            .flat_map(|live| stale::overlay(live, &overlay(&plan, &crate::istio::Workload::of(live)), &plan))
            .collect(),
        Strategy::VirtualService => {
            let namespaces = survey.gateway_namespaces(plan.intent.through);
            let fresh = virtual_service(&plan, &namespaces)?;
            found.virtual_services.iter().flat_map(|live| stale::virtual_service(live, &fresh, &plan)).collect()
        }
        Strategy::WasmPlugin => found.wasm_plugins.iter().flat_map(|live| stale::wasm_plugin(live, &plan)).collect(),
    };
    let mut reasons: Vec<String> = reasons;
    reasons.dedup();
    Ok((plan, reasons))
}

impl Standing {
    /// All in one word: the worst that is to be said.
    pub fn state(&self) -> State {
        if self.found.intent.is_err() {
            State::Unreadable
        } else if self.expired {
            State::Expired
        } else if self.impossible.is_some() {
            State::Broken
        } else if !self.stale.is_empty() {
            State::Stale
        } else if self.pods.is_empty() {
            State::Unknown
        } else if self.pods.iter().all(PodState::is_live) && self.unserved_hosts().is_empty() {
            State::Live
        } else {
            State::Degraded
        }
    }

    /// Hosts of the mirror whose requests no pod copies.
    pub fn unserved_hosts(&self) -> Vec<String> {
        unserved_hosts(&self.pods)
    }

    /// How many pods copy and compare.
    pub fn live(&self) -> usize {
        self.pods.iter().filter(|pod| pod.is_live()).count()
    }
}

/// How a mirror is, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Every gateway pod copies and compares.
    Live,
    /// Some pod does not.
    Degraded,
    /// Its objects are not what would be written today; `sync` rebuilds them.
    Stale,
    /// Its time has run out: nothing is copied any more.
    Expired,
    /// It could not be made today.
    Broken,
    /// Its objects do not say what was asked for.
    Unreadable,
    /// The gateways cannot be looked into.
    Unknown,
}

impl State {
    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Live => "Live",
            Self::Degraded => "Degraded",
            Self::Stale => "Stale",
            Self::Expired => "Expired",
            Self::Broken => "Broken",
            Self::Unreadable => "Unreadable",
            Self::Unknown => "Unknown",
        }
    }
}
