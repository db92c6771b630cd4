//! Puts the filter into gateways, and takes it out again. An installation counts only once every pod compares with it;
//! one that a gateway rejects is taken back.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use tokio::time::sleep;

use super::GatewayPods;
use super::mirroring::restore;
use crate::admin::AdminError;
use crate::cluster::{ApplyOptions, Change, Cluster, Precondition};
use crate::envoy::observer::Wrapping;
use crate::gateway::{Gateways, PodState, Wanted};
use crate::istio::conflict::check_owner;
use crate::istio::install::{Install, Installed};
use crate::istio::{InstalledBy, Workload, install, names};
use crate::kinds::EnvoyFilter;
use crate::module::MODULE;
use crate::output::message;
use crate::source::Way;

/// What an installation did on one workload's pods.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The object.
    pub object: EnvoyFilter,
    /// What became of it.
    pub change: Change,
}

/// How an installation is done.
#[derive(Clone, Copy, Debug)]
pub struct Installation {
    /// Which command asks for it.
    pub by: InstalledBy,
    /// How it is applied.
    pub options: ApplyOptions,
    /// How long to wait until every pod compares; not at all where `None`.
    pub wait: Option<Duration>,
    /// Whether a module that runs already, or has trapped, starts anew.
    pub restart: bool,
}

/// The object that puts the filter into these pods, where it is there.
///
/// # Errors
/// An object of that name that is somebody else's, and what the API server refuses.
pub async fn installed(cluster: &Cluster, gateway: &GatewayPods) -> Result<Option<EnvoyFilter>> {
    let (namespace, name) = (&gateway.workload.namespace, names::install(&gateway.workload));
    let found = cluster.get_opt::<EnvoyFilter>(namespace, &name).await?;
    if let Some(object) = &found {
        check_owner("EnvoyFilter", &object.metadata)?;
    }
    Ok(found)
}

/// Makes sure that the filter is in these pods. One that compares already stays as it is, whichever version it is; one that
/// does not is put there anew.
///
/// # Errors
/// As [`put`].
pub async fn ensure(cluster: &Cluster, gateway: &GatewayPods, how: Installation) -> Result<Option<Outcome>> {
    match installed(cluster, gateway).await? {
        None => put(cluster, gateway, how).await.map(Some),
        Some(object) => {
            let there = Installed::of(&object);
            if there.version.as_deref() != Some(names::PLUGIN_VERSION) {
                message(format_args!(
                    "warning: the filter on {} is of version {}, this is {}; `kubectl mirror install` replaces it",
                    gateway.workload,
                    there.version.as_deref().unwrap_or("unknown"),
                    names::PLUGIN_VERSION
                ));
            }
            let pods = Gateways::of(cluster, &gateway.pods);
            let is_out = |state: &PodState| state.found.is_ok() && !state.module_runs();
            if how.wait.is_none() || !pods.states(&Wanted::module(WAY)).await.iter().any(is_out) {
                return Ok(None);
            }
            put(cluster, gateway, Installation { restart: true, ..how }).await.map(Some)
        }
    }
}

/// Puts the filter of this version into these pods, and waits until each of them compares with it.
///
/// # Errors
/// A pod that does not compare with it, in which case what was there before is restored, and what the API server refuses.
pub async fn put(cluster: &Cluster, gateway: &GatewayPods, how: Installation) -> Result<Outcome> {
    let before = installed(cluster, gateway).await?;
    let first = object(gateway, before.as_ref(), how);
    let pods = Gateways::of(cluster, &gateway.pods);
    let is_new = before.as_ref().is_some_and(|before| Installed::of(before).module != Installed::of(&first).module);
    let old = if is_new && how.wait.is_some() { Old::of(&pods, WAY).await } else { Old::default() };
    let outcome = apply(cluster, &first, how.options).await?;
    let Some(timeout) = how.wait.filter(|_| !how.options.dry_run && outcome.change != Change::Unchanged) else {
        return Ok(outcome);
    };
    let mut late = wait(&pods, WAY, &old, timeout / 2).await;
    if late.is_empty() {
        return Ok(outcome);
    }
    if Installed::of(&first).wrapping == Wrapping::Matched {
        // A proxy that was built without the match wrapper takes the bare module.
        match apply(cluster, &make(gateway, before.as_ref(), how, Wrapping::Bare), how.options).await {
            Ok(bare) => {
                late = wait(&pods, WAY, &old, timeout / 2).await;
                if late.is_empty() {
                    return Ok(bare);
                }
            }
            Err(error) => late.push(format!("the filter without its wrapper could not be tried: {error}")),
        }
    }
    Err(take_back(cluster, gateway, before, &late).await)
}

/// What is known of a module that is to be replaced.
#[derive(Default)]
pub(super) struct Old {
    /// Its VMs in each pod.
    vms: Vec<(String, Result<BTreeSet<u32>, AdminError>)>,
    /// Whether a pod refused it.
    is_rejected: bool,
}

impl Old {
    /// The module that stands in this way now.
    pub(super) async fn of(pods: &Gateways, way: Way) -> Self {
        let states = pods.states(&Wanted::module(way)).await;
        Self { vms: pods.vms(way).await, is_rejected: states.iter().any(PodState::module_is_rejected) }
    }
}

/// How the module stands that an EnvoyFilter installs.
const WAY: Way = Way::Observing;

/// Waits until every pod compares, by other VMs than the `old` ones, or one refuses the module. Returns the pods that do not,
/// each with what is known of it.
pub(super) async fn wait(pods: &Gateways, way: Way, old: &Old, timeout: Duration) -> Vec<String> {
    const WHAT: &str = "installing the filter";
    // A module that is just being removed may run on while connections are drained: that it runs is not enough.
    let late = pods.wait_until_hooked(way, true, timeout, WHAT).await;
    if !late.is_empty() {
        return late;
    }
    // Whether the old or the new module was refused cannot be told apart.
    let is_settled = |state: &PodState| state.module_runs() || state.module_is_rejected() && !old.is_rejected;
    let waited = pods.wait_until(&Wanted::module(way), timeout, WHAT, is_settled).await;
    let late = waited.states.iter().filter(|state| !state.module_runs());
    let late: Vec<String> = late.map(|state| format!("{}: {}", state.pod, state.module_advice())).collect();
    if !late.is_empty() {
        return late;
    }
    pods.wait_until_replaced(way, &old.vms, timeout, WHAT).await
}

/// The object that [`put`] applies first.
pub fn object(gateway: &GatewayPods, before: Option<&EnvoyFilter>, how: Installation) -> EnvoyFilter {
    // Proxies that lacked the wrapper lack it still.
    let wrapping = before.map_or(Wrapping::Matched, |object| Installed::of(object).wrapping);
    make(gateway, before, how, wrapping)
}

fn make(gateway: &GatewayPods, before: Option<&EnvoyFilter>, how: Installation, wrapping: Wrapping) -> EnvoyFilter {
    let before = before.map(Installed::of);
    let (by, generation) = before.map_or((None, 0), |before| (before.by, before.generation));
    // What `install` put there stays until `uninstall`; what starts anew belongs to whom it belonged.
    let by = by.filter(|by| *by == InstalledBy::Install || how.restart).unwrap_or(how.by);
    let generation = generation + u64::from(how.restart);
    install(&gateway.workload, Install { module: MODULE, wrapping, generation, by })
}

async fn apply(cluster: &Cluster, object: &EnvoyFilter, options: ApplyOptions) -> Result<Outcome> {
    let applied = cluster.apply(object, options).await?;
    Ok(Outcome { object: applied.object, change: applied.change })
}

/// Restores what was there before, and says why.
async fn take_back(
    cluster: &Cluster,
    gateway: &GatewayPods,
    before: Option<EnvoyFilter>,
    pods: &[String],
) -> anyhow::Error {
    let (undone, was) = match before {
        Some(object) => {
            (restore(cluster, object).await, "What was there before is restored; traffic was not affected.")
        }
        None => {
            let name = names::install(&gateway.workload);
            let removed =
                cluster.delete::<EnvoyFilter>(&gateway.workload.namespace, &name, Precondition::default(), false).await;
            (removed.map(|_| ()), "It was removed again; traffic was not affected.")
        }
    };
    anyhow!("{}\n{}", not_everywhere(&gateway.workload, pods), undone_in_words(undone, was))
}

/// That the module does not run in these pods, each with what is known of it.
pub(super) fn not_everywhere(workload: &Workload, pods: &[String]) -> String {
    format!("the filter does not run on every gateway pod of {workload}:\n  {}", pods.join("\n  "))
}

/// Whether what was tried could be taken back; `was` says to what.
pub(super) fn undone_in_words<E: std::fmt::Display>(undone: Result<(), E>, was: &str) -> String {
    match undone {
        Ok(()) => was.to_owned(),
        Err(error) => format!("It could not be taken back: {error}"),
    }
}

/// Takes the filter out of these pods. Tells whether it was there.
///
/// # Errors
/// An object of that name that is somebody else's, a pod that does not let go (unless the filter was put back), and what the API server refuses.
pub async fn remove(
    cluster: &Cluster,
    gateway: &GatewayPods,
    wait: Option<Duration>,
    dry_run: bool,
) -> Result<Option<EnvoyFilter>> {
    let Some(object) = installed(cluster, gateway).await? else { return Ok(None) };
    let name = names::install(&gateway.workload);
    let precondition = Precondition { uid: object.metadata.uid.clone(), ..Precondition::default() };
    cluster.delete::<EnvoyFilter>(&gateway.workload.namespace, &name, precondition, dry_run).await?;
    if let Some(timeout) = wait.filter(|_| !dry_run) {
        let pods = Gateways::of(cluster, &gateway.pods);
        let late = tokio::select! {
            late = pods.wait_until_hooked(WAY, false, timeout, "removing the filter") => late,
            // They need not let go then.
            () = put_back(cluster, gateway) => Vec::new(),
        };
        if !late.is_empty() {
            bail!("{name} has been removed, but not all gateway pods have let go of it:\n  {}", late.join("\n  "));
        }
    }
    Ok(Some(object))
}

/// Ends when somebody else has put the filter into these pods again.
async fn put_back(cluster: &Cluster, gateway: &GatewayPods) {
    const LOOK: Duration = Duration::from_secs(1);
    loop {
        sleep(LOOK).await;
        if let Ok(Some(_)) = installed(cluster, gateway).await {
            return;
        }
    }
}
