//! Puts a mirror into the gateways, and takes it out again.

use anyhow::{Result, bail};
use serde::Serialize;

use super::inventory::{Found, Inventory};
use super::sharing::{self, Held};
use super::tagging;
use super::{GatewayPods, Survey};
use crate::cluster::read::Object;
use crate::cluster::{ApplyOptions, Change, Cluster, Error, Precondition};
use crate::intent::{MirrorName, Strategy};
use crate::istio::conflict::{check_hosts, check_owner};
use crate::istio::{Workload, overlay, virtual_service, wasm_plugin};
use crate::kinds::{EnvoyFilter, VirtualService, WasmPlugin};
use crate::knative::{Plan, Refusal};

/// The objects of one mirror.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    /// Of the strategy `overlay`: one for each workload.
    pub overlays: Vec<EnvoyFilter>,
    /// Of the strategy `virtualservice`.
    pub virtual_service: Option<VirtualService>,
    /// Of the strategy `wasmplugin`: what holds it, one for each workload.
    pub held: Vec<Held>,
}

impl Objects {
    /// The mirror that they are.
    pub(super) fn found(&self, plan: &Plan) -> Found {
        Found {
            overlays: self.overlays.clone(),
            virtual_services: self.virtual_service.iter().cloned().collect(),
            wasm_plugins: self.held.iter().map(|held| held.plugin.clone()).collect(),
            ..Found::new(plan.name.clone(), Ok(plan.intent.clone()))
        }
    }
}

/// The objects that `plan` comes to with the strategy `overlay`.
pub fn overlays(plan: &Plan, gateways: &[GatewayPods]) -> Objects {
    let overlays = gateways.iter().map(|gateway| overlay(plan, &gateway.workload)).collect();
    Objects { overlays, ..Objects::default() }
}

/// What holds the mirror that `plan` comes to with the strategy `wasmplugin`, in WasmPlugins as they are now.
pub fn held(plan: &Plan, plugins: &[WasmPlugin]) -> Objects {
    Objects { held: plugins.iter().map(|plugin| sharing::held(plugin, plan)).collect(), ..Objects::default() }
}

/// The object that `plan` comes to with the strategy `virtualservice`, for gateways in these namespaces.
///
/// # Errors
/// Rules that are too long for a header.
pub fn virtual_services(plan: &Plan, gateway_namespaces: &[String]) -> Result<Objects> {
    let virtual_service = virtual_service(plan, gateway_namespaces)?;
    Ok(Objects { virtual_service: Some(virtual_service), ..Objects::default() })
}

/// The objects of a mirror that is there already as `plan` comes to, on the same gateways.
///
/// # Errors
/// As [`virtual_services`].
pub fn rebuilt(survey: &Survey, plan: &Plan, found: &Found) -> Result<Objects> {
    match found.strategy() {
        Strategy::Overlay => {
            let overlays = found.overlays.iter().map(|live| overlay(plan, &Workload::of(live))).collect();
            Ok(Objects { overlays, ..Objects::default() })
        }
        Strategy::VirtualService => virtual_services(plan, &survey.gateway_namespaces(plan.intent.through)),
        Strategy::WasmPlugin => Ok(held(plan, &found.wasm_plugins)),
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
    for held in &objects.held {
        let (namespace, name) = key(&held.plugin.metadata);
        sharing::read(cluster, namespace, name).await?;
    }
    Ok(())
}

/// Checks that no other mirror has a host that this one has too.
fn check_others<'a>(plan: &Plan, mut mirrors: impl Iterator<Item = &'a Found>) -> Result<(), Refusal> {
    mirrors.try_for_each(|found| check_hosts(plan, &found.name, &found.hosts()))
}

/// Removes a mirror's objects of the strategy that it leaves, as soon as the API server says that it will take the new
/// ones. With both at once each request would be copied twice, once without tags: an overlay is merged into all routes of
/// its hosts. Tells whether there were any.
///
/// # Errors
/// What the API server refuses; nothing has been removed then.
pub async fn leave_strategy(
    cluster: &Cluster,
    objects: &Objects,
    before: &Found,
    options: ApplyOptions,
) -> Result<bool> {
    let mut left = before.clone();
    if !objects.overlays.is_empty() {
        left.overlays.clear();
    }
    if objects.virtual_service.is_some() {
        left.virtual_services.clear();
    }
    if !objects.held.is_empty() {
        left.wasm_plugins.clear();
    }
    if left.overlays.is_empty() && left.virtual_services.is_empty() && left.wasm_plugins.is_empty() {
        return Ok(false);
    }
    apply(cluster, objects, None, ApplyOptions { dry_run: true, ..options }).await?;
    // The tag stays: the mirror comes back, and knows of it.
    remove_objects(cluster, &left, false).await?;
    Ok(true)
}

/// Applies a mirror's objects and removes those that do not belong to it any more. What was there before is changed in
/// place.
///
/// # Errors
/// What the API server refuses. Objects that were applied before the one that failed are as they were before.
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
                if !options.dry_run {
                    take_back(cluster, &applied, &changes, before).await;
                }
                return Err(error.into());
            }
        }
    }
    for held in &objects.held {
        match sharing::hold(cluster, held, options).await {
            Ok(done) => {
                changes.push(change_of(held, &done));
                let plugin = done.after.unwrap_or_else(|| held.plugin.clone());
                applied.held.push(Held { name: held.name.clone(), plugin });
            }
            Err(error) => {
                if !options.dry_run {
                    take_out(cluster, &applied.held, before).await;
                }
                return Err(error);
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

/// What became of a mirror in what holds it.
fn change_of(held: &Held, done: &sharing::Changed) -> Change {
    let was_there = done.before.as_ref().is_some_and(|before| wasm_plugin::mirrors(before).contains(&held.name));
    if was_there { done.change } else { Change::Created }
}

/// Lets these hold the mirror as they did before, see [`take_back`].
async fn take_out(cluster: &Cluster, applied: &[Held], before: Option<&Found>) {
    for held in applied {
        let was = before
            .and_then(|found| found.wasm_plugins.iter().find(|was| key(&was.metadata) == key(&held.plugin.metadata)));
        let _ = match was {
            Some(was) => sharing::hold(cluster, &holding(&held.name, was), ApplyOptions::FORCED).await,
            None => sharing::release(cluster, &held.plugin, &held.name, false).await,
        };
    }
}

fn holding(name: &MirrorName, plugin: &WasmPlugin) -> Held {
    Held { name: name.clone(), plugin: plugin.clone() }
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

/// Removes what is new, and restores what was changed. An error of its own is not told, the first one is: `disable` removes
/// whatever this leaves.
async fn take_back(cluster: &Cluster, applied: &Objects, changes: &[Change], before: Option<&Found>) {
    for (object, change) in applied.overlays.iter().zip(changes) {
        let (namespace, name) = key(&object.metadata);
        let was = before.and_then(|found| found.overlays.iter().find(|was| key(&was.metadata) == (namespace, name)));
        match (change, was) {
            (Change::Created, _) => {
                let _ = cluster.delete::<EnvoyFilter>(namespace, name, Precondition::default(), false).await;
            }
            (Change::Configured, Some(was)) => {
                let _ = restore(cluster, was.clone()).await;
            }
            _ => {}
        }
    }
}

/// Applies an object as it was, whatever it is by now, and also where it is gone.
///
/// # Errors
/// What the API server refuses.
pub(super) async fn restore<K: Object + Serialize>(cluster: &Cluster, mut object: K) -> Result<(), Error> {
    let metadata = object.meta_mut();
    metadata.uid = None;
    metadata.resource_version = None;
    metadata.creation_timestamp = None;
    metadata.managed_fields = None;
    cluster.apply(&object, ApplyOptions::FORCED).await.map(|_| ())
}

/// Removes those of a mirror's objects of the same strategy that are not among these any more. Those of the other one are
/// left before, see [`leave_strategy`].
async fn remove_others(cluster: &Cluster, before: &Found, objects: &Objects) -> Result<()> {
    let overlays = before.overlays.iter().filter(|_| !objects.overlays.is_empty());
    for object in overlays {
        let is_kept = objects.overlays.iter().any(|kept| key(&kept.metadata) == key(&object.metadata));
        if !is_kept {
            delete::<EnvoyFilter>(cluster, &object.metadata, false).await?;
        }
    }
    if let Some(kept) = &objects.virtual_service {
        for object in before.virtual_services.iter().filter(|object| key(&kept.metadata) != key(&object.metadata)) {
            delete::<VirtualService>(cluster, &object.metadata, false).await?;
        }
    }
    for plugin in before.wasm_plugins.iter().filter(|_| !objects.held.is_empty()) {
        let is_kept = objects.held.iter().any(|held| key(&held.plugin.metadata) == key(&plugin.metadata));
        if !is_kept {
            sharing::release(cluster, plugin, &before.name, false).await?;
        }
    }
    Ok(())
}

/// Undoes what [`apply`] did, where a step after it failed: the mirror is as it was before, or gone where it is new. A tag
/// that was added in between goes first, since from now on nothing knows of it any more.
///
/// # Errors
/// What the API server refuses.
pub async fn undo(cluster: &Cluster, plan: &Plan, applied: &Objects, before: Option<&Found>) -> Result<()> {
    let Some(before) = before else { return remove(cluster, &applied.found(plan), false).await };
    let old = before.intent.as_ref().ok().and_then(|intent| intent.tag_added.as_ref());
    if let Some(tag) = plan.intent.tag_added.as_ref().filter(|tag| old != Some(tag)) {
        tagging::remove(cluster, &plan.name, tag, false).await?;
    }
    for object in &before.overlays {
        restore(cluster, object.clone()).await?;
    }
    for object in &before.virtual_services {
        restore(cluster, object.clone()).await?;
    }
    let as_before = Objects {
        overlays: before.overlays.clone(),
        virtual_service: before.virtual_services.first().cloned(),
        held: before.wasm_plugins.iter().map(|plugin| holding(&before.name, plugin)).collect(),
    };
    for held in &as_before.held {
        sharing::hold(cluster, held, ApplyOptions::FORCED).await?;
    }
    remove_others(cluster, &applied.found(plan), &as_before).await
}

/// Removes all objects of a mirror, and before them the tag that was added for it: they are what knows of it.
///
/// # Errors
/// What the API server refuses.
pub async fn remove(cluster: &Cluster, found: &Found, dry_run: bool) -> Result<()> {
    if let Some(tag) = found.intent.as_ref().ok().and_then(|intent| intent.tag_added.as_deref()) {
        tagging::remove(cluster, &found.name, tag, dry_run).await?;
    }
    remove_objects(cluster, found, dry_run).await
}

async fn remove_objects(cluster: &Cluster, found: &Found, dry_run: bool) -> Result<()> {
    for object in &found.overlays {
        delete::<EnvoyFilter>(cluster, &object.metadata, dry_run).await?;
    }
    for object in &found.virtual_services {
        delete::<VirtualService>(cluster, &object.metadata, dry_run).await?;
    }
    for plugin in &found.wasm_plugins {
        sharing::release(cluster, plugin, &found.name, dry_run).await?;
    }
    Ok(())
}

async fn delete<K: Object>(cluster: &Cluster, metadata: &kube::core::ObjectMeta, dry_run: bool) -> Result<()> {
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
    let age = |found: &Found| (found.created(), found.name.clone());
    let older = inventory.mirrors.iter().filter(|found| age(found) < age(own));
    if let Err(refusal) = check_others(plan, older) {
        remove(cluster, own, false).await?;
        bail!("{refusal}\nIt was enabled at the same moment; mirror {} has been removed again.", own.name);
    }
    Ok(())
}
