//! Puts a mirror into the gateways, waits until every pod has it, and takes it out again.

use std::time::Duration;

use anyhow::{Result, anyhow, bail};

use super::inventory::{Found, Inventory};
use super::{GatewayPods, Survey};
use crate::cluster::{ApplyOptions, Change, Cluster, Pod, Precondition};
use crate::gateway::{End, Flaw, Gateways, PodState, Route, Wanted};
use crate::intent::{MirrorName, Strategy};
use crate::istio::conflict::{check_hosts, check_owner};
use crate::istio::{Workload, overlay, virtual_service};
use crate::kinds::{EnvoyFilter, VirtualService};
use crate::knative::{Plan, Refusal};

/// The objects of one mirror.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    /// Of the strategy `overlay`: one for each workload.
    pub overlays: Vec<EnvoyFilter>,
    /// Of the strategy `virtualservice`.
    pub virtual_service: Option<VirtualService>,
}

/// The objects that `plan` comes to with the strategy `overlay`.
pub fn overlays(plan: &Plan, gateways: &[GatewayPods]) -> Objects {
    let overlays = gateways.iter().map(|gateway| overlay(plan, &gateway.workload)).collect();
    Objects { overlays, virtual_service: None }
}

/// The object that `plan` comes to with the strategy `virtualservice`, for gateways in these namespaces.
///
/// # Errors
/// Rules that are too long for a header.
pub fn virtual_services(plan: &Plan, gateway_namespaces: &[String]) -> Result<Objects> {
    let virtual_service = virtual_service(plan, gateway_namespaces)?;
    Ok(Objects { overlays: Vec::new(), virtual_service: Some(virtual_service) })
}

/// The objects of a mirror that is there already as `plan` comes to, on the same gateways.
///
/// # Errors
/// As [`virtual_services`].
pub fn rebuilt(survey: &Survey, plan: &Plan, found: &Found) -> Result<Objects> {
    match found.strategy() {
        Strategy::Overlay => {
            let overlays = found.overlays.iter().map(|live| overlay(plan, &Workload::of(live))).collect();
            Ok(Objects { overlays, virtual_service: None })
        }
        Strategy::VirtualService => virtual_services(plan, &survey.gateway_namespaces(plan.intent.through)),
    }
}

/// Checks that nobody else is where these objects are to be: no other mirror of a host, and no object of those names that
/// somebody else wrote.
///
/// # Errors
/// Who is in the way.
pub async fn check_way(cluster: &Cluster, plan: &Plan, objects: &Objects, inventory: &Inventory) -> Result<()> {
    check_others(plan, inventory.mirrors.iter())?;
    for object in &objects.overlays {
        let (namespace, name) = key(&object.metadata);
        if let Some(there) = cluster.get_opt::<EnvoyFilter>(namespace, name).await? {
            check_owner("EnvoyFilter", &there.metadata)?;
        }
    }
    if let Some(object) = &objects.virtual_service {
        let (namespace, name) = key(&object.metadata);
        if let Some(there) = cluster.get_opt::<VirtualService>(namespace, name).await? {
            check_owner("VirtualService", &there.metadata)?;
        }
    }
    Ok(())
}

/// Checks that no other mirror has a host that this one has too.
fn check_others<'a>(plan: &Plan, mut mirrors: impl Iterator<Item = &'a Found>) -> Result<(), Refusal> {
    mirrors.try_for_each(|found| check_hosts(plan, &found.name, &found.hosts()))
}

/// Applies a mirror's objects and removes those of its other strategy. What was there before is changed in place.
///
/// # Errors
/// What the API server refuses. Objects that were applied before the one that failed are removed again where they were new.
pub async fn apply(
    cluster: &Cluster,
    objects: &Objects,
    before: Option<&Found>,
    options: ApplyOptions,
) -> Result<(Change, Objects)> {
    let mut changes = Vec::new();
    let mut applied = Objects::default();
    for object in &objects.overlays {
        match cluster.apply(object, options).await {
            Ok(done) => {
                changes.push(done.change);
                applied.overlays.push(done.object);
            }
            Err(error) => {
                take_back(cluster, &applied, &changes).await;
                return Err(error.into());
            }
        }
    }
    if let Some(object) = &objects.virtual_service {
        let done = cluster.apply(object, options).await?;
        changes.push(done.change);
        applied.virtual_service = Some(done.object);
    }
    if let Some(before) = before
        && !options.dry_run
    {
        remove_others(cluster, before, objects).await?;
    }
    Ok((sum(&changes, before.is_some()), applied))
}

/// What became of a mirror whose objects changed like this.
fn sum(changes: &[Change], was_there: bool) -> Change {
    if changes.iter().all(|change| *change == Change::Unchanged) {
        Change::Unchanged
    } else if was_there || changes.iter().any(|change| *change != Change::Created) {
        Change::Configured
    } else {
        Change::Created
    }
}

async fn take_back(cluster: &Cluster, applied: &Objects, changes: &[Change]) {
    for (object, change) in applied.overlays.iter().zip(changes) {
        if *change == Change::Created {
            let (namespace, name) = key(&object.metadata);
            // The first error is told; `disable` removes whatever this leaves.
            let _ = cluster.delete::<EnvoyFilter>(namespace, name, Precondition::default(), false).await;
        }
    }
}

/// Removes those of a mirror's objects that are not among these any more.
async fn remove_others(cluster: &Cluster, before: &Found, objects: &Objects) -> Result<()> {
    for object in &before.overlays {
        let is_kept = objects.overlays.iter().any(|kept| key(&kept.metadata) == key(&object.metadata));
        if !is_kept {
            delete::<EnvoyFilter>(cluster, &object.metadata, false).await?;
        }
    }
    for object in &before.virtual_services {
        let is_kept = objects.virtual_service.iter().any(|kept| key(&kept.metadata) == key(&object.metadata));
        if !is_kept {
            delete::<VirtualService>(cluster, &object.metadata, false).await?;
        }
    }
    Ok(())
}

/// Removes all objects of a mirror.
///
/// # Errors
/// What the API server refuses.
pub async fn remove(cluster: &Cluster, found: &Found, dry_run: bool) -> Result<()> {
    for object in &found.overlays {
        delete::<EnvoyFilter>(cluster, &object.metadata, dry_run).await?;
    }
    for object in &found.virtual_services {
        delete::<VirtualService>(cluster, &object.metadata, dry_run).await?;
    }
    Ok(())
}

async fn delete<K: crate::cluster::read::Object>(
    cluster: &Cluster,
    metadata: &kube::core::ObjectMeta,
    dry_run: bool,
) -> Result<()> {
    let (namespace, name) = key(metadata);
    let precondition = Precondition { uid: metadata.uid.clone(), ..Precondition::default() };
    cluster.delete::<K>(namespace, name, precondition, dry_run).await?;
    Ok(())
}

fn key(metadata: &kube::core::ObjectMeta) -> (&str, &str) {
    (metadata.namespace.as_deref().unwrap_or_default(), metadata.name.as_deref().unwrap_or_default())
}

/// Two users may have enabled mirrors of one host at the same moment, each before it could see the other's. The younger
/// one gives way.
///
/// # Errors
/// The other mirror; this one has been removed.
pub async fn give_way(cluster: &Cluster, plan: &Plan, inventory: &Inventory) -> Result<()> {
    let Some(own) = inventory.mirrors.iter().find(|found| found.name == plan.name) else { return Ok(()) };
    let age = |found: &Found| (found.created().cloned(), found.name.clone());
    let older = inventory.mirrors.iter().filter(|found| age(found) < age(own));
    if let Err(refusal) = check_others(plan, older) {
        remove(cluster, own, false).await?;
        return Err(refusal.into());
    }
    Ok(())
}

/// Waits until every pod copies and compares as `plan` says. Returns how many pods do.
///
/// # Errors
/// The pods that do not, with what is wrong there. Where an older Istio dropped what keeps copies apart, the mirror has
/// been removed.
pub async fn wait_until_live(
    cluster: &Cluster,
    plan: &Plan,
    objects: &Objects,
    pods: &[Pod],
    timeout: Duration,
) -> Result<usize> {
    let gateways = Gateways::of(cluster, pods);
    let wanted = Wanted::mirror(&plan.spec().mirror);
    let what = format!("enabling {}", plan.name);
    let is_settled = |state: &PodState| state.is_live() || drops_headers(state);
    let waited = gateways.wait_until(&wanted, timeout, &what, is_settled).await;
    if let Some(state) = waited.states.iter().find(|state| drops_headers(state)) {
        for object in &objects.overlays {
            delete::<EnvoyFilter>(cluster, &object.metadata, false).await?;
        }
        bail!("{}: {}\nThe mirror has been removed again.", state.pod, state.advice());
    }
    let missing: Vec<String> = waited
        .states
        .iter()
        .filter(|state| !state.is_live())
        .map(|state| format!("\n  {}: {}", state.pod, state.advice()))
        .collect();
    match waited.end {
        End::Done => Ok(waited.states.len()),
        End::Interrupted => Err(anyhow!("interrupted; the mirror is applied, `kubectl mirror status` tells how it is")),
        End::TimedOut => Err(anyhow!(
            "the mirror is applied, but not live on every gateway pod after {}:{}\n\
             It may come yet: `kubectl mirror status {} -n {}`. To take it back: `kubectl mirror disable {} -n {}`",
            humantime::format_duration(timeout),
            missing.concat(),
            plan.name.route,
            plan.name.namespace,
            plan.name.route,
            plan.name.namespace
        )),
    }
}

/// An Istio before 1.28 drops the header changes of a copy without a word: the primary would be called twice, and the
/// candidate never.
fn drops_headers(state: &PodState) -> bool {
    state
        .found
        .as_ref()
        .is_ok_and(|found| matches!(&found.route, Route::Incomplete(flaws) if flaws.contains(&Flaw::Mutations)))
}

/// Waits until no pod has a trace of the mirror.
///
/// # Errors
/// The pods that have.
pub async fn wait_until_gone(cluster: &Cluster, name: &MirrorName, pods: &[Pod], timeout: Duration) -> Result<usize> {
    let wanted = Wanted::any_state_of(&name.to_string());
    let what = format!("disabling {name}");
    let waited = Gateways::of(cluster, pods).wait_until(&wanted, timeout, &what, PodState::is_gone).await;
    let left: Vec<String> = waited
        .states
        .iter()
        .filter(|state| !state.is_gone())
        .map(|state| match &state.found {
            Ok(_) => format!("\n  {}: still has it", state.pod),
            Err(reason) => format!("\n  {}: {reason}", state.pod),
        })
        .collect();
    match waited.end {
        End::Done => Ok(waited.states.len()),
        _ => Err(anyhow!(
            "the objects of {name} are removed, but not every gateway pod has let go of it:{}",
            left.concat()
        )),
    }
}
