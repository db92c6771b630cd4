//! Puts the module into gateways by a WasmPlugin, and takes it out again. As with [`installing`](super::installing), it counts only
//! once it runs in every pod; one that does not is taken back.

use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use kube::ResourceExt;

use super::GatewayPods;
use super::installing::{Old, not_everywhere, undone_in_words, wait};
use super::sharing::{self, Changed, change};
use crate::cluster::{ApplyOptions, Change, Cluster};
use crate::gateway::{Gateways, PodState, Wanted};
use crate::istio::install::installed_by;
use crate::istio::wasm_plugin::{Origin, mirrors, restarted, wasm_plugin, with_module};
use crate::istio::{InstalledBy, Workload, names};
use crate::kinds::WasmPlugin;
use crate::knative::Refusal;
use crate::source::Way;

/// How it is put there.
#[derive(Clone, Copy, Debug)]
pub struct Sending<'a> {
    /// Where gateways get the module; from where they have it where `None`.
    pub origin: Option<&'a Origin>,
    /// Which command asks for it.
    pub by: InstalledBy,
    /// How it is applied.
    pub options: ApplyOptions,
    /// How long to wait until it runs in every pod; not at all where `None`.
    pub wait: Option<Duration>,
    /// Whether a module that runs already, or has trapped, starts anew.
    pub restart: bool,
}

/// The WasmPlugin of these pods, where it is there.
///
/// # Errors
/// One of that name that is somebody else's, and what the API server refuses.
pub async fn installed(cluster: &Cluster, workload: &Workload) -> Result<Option<WasmPlugin>> {
    sharing::read(cluster, &workload.namespace, &names::install(workload)).await
}

/// What the WasmPlugin of these pods becomes; the mirrors in it stay.
///
/// # Errors
/// None is there, and nobody says where the module is.
pub fn object(workload: &Workload, there: Option<&WasmPlugin>, how: Sending<'_>) -> Result<WasmPlugin> {
    let object = match (there, how.origin) {
        (None, None) => return Err(Refusal::NoModule { workload: workload.to_string() }.into()),
        (None, Some(origin)) => wasm_plugin(workload, origin, how.by),
        // What `install` put there stays until `uninstall`.
        (Some(there), origin) => {
            let by =
                installed_by(&there.metadata).filter(|by| *by == InstalledBy::Install || how.restart).unwrap_or(how.by);
            let has = |origin: &&Origin| {
                let spec = &there.spec;
                let is_same = spec.url == origin.module.url && spec.sha256 == origin.module.sha256;
                is_same && spec.image_pull_secret == origin.pull_secret && installed_by(&there.metadata) == Some(by)
            };
            match origin.filter(|origin| !has(origin)) {
                Some(origin) => with_module(there, origin, by),
                None => there.clone(),
            }
        }
    };
    Ok(if how.restart { restarted(&object) } else { object })
}

/// Makes sure that the module runs in these pods. One that runs stays as it is, unless another is asked for; one that does not
/// is started anew. Tells what was changed, if anything.
///
/// # Errors
/// As [`put`].
pub async fn ensure(cluster: &Cluster, gateway: &GatewayPods, how: Sending<'_>) -> Result<Option<Changed>> {
    let Some(there) = installed(cluster, &gateway.workload).await? else {
        return put(cluster, gateway, how).await.map(Some);
    };
    let is_as_asked = object(&gateway.workload, Some(&there), how)? == there;
    if is_as_asked && (how.wait.is_none() || runs_everywhere(cluster, gateway).await) {
        return Ok(None);
    }
    let done = put(cluster, gateway, Sending { restart: is_as_asked, ..how }).await?;
    Ok(Some(done).filter(|done| done.change != Change::Unchanged))
}

/// The longest to wait for a sign of life. One that was just told of another mirror may have to start anew.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whether the module runs in each of these pods that can be asked, or does after a moment.
pub async fn runs_everywhere(cluster: &Cluster, gateway: &GatewayPods) -> bool {
    let pods = Gateways::of(cluster, &gateway.pods);
    let is_well = |state: &PodState| state.found.is_err() || state.module_runs();
    let wanted = Wanted::module(Way::Sending);
    pods.wait_until(&wanted, PATIENCE, "looking for the filter", is_well).await.states.iter().all(is_well)
}

/// Puts the module into these pods, and waits until it runs in each of them.
///
/// # Errors
/// A pod in which it does not, in which case what was there before is restored, and what the API server refuses.
pub async fn put(cluster: &Cluster, gateway: &GatewayPods, how: Sending<'_>) -> Result<Changed> {
    let (workload, pods) = (&gateway.workload, Gateways::of(cluster, &gateway.pods));
    let before = installed(cluster, workload).await?;
    let is_new = before
        .as_ref()
        .is_some_and(|before| how.origin.is_some_and(|origin| before.spec.sha256 != origin.module.sha256));
    let old = if is_new && how.wait.is_some() { Old::of(&pods, Way::Sending).await } else { Old::default() };
    let name = names::install(workload);
    let done = change(cluster, &workload.namespace, &name, how.options, |there| object(workload, there, how).map(Some))
        .await?;
    let Some(timeout) = how.wait.filter(|_| !how.options.dry_run && done.change != Change::Unchanged) else {
        return Ok(done);
    };
    let late = wait(&pods, Way::Sending, &old, timeout).await;
    if late.is_empty() {
        return Ok(done);
    }
    let (restored, was) = match &done.before {
        Some(before) => {
            (restore(cluster, before).await, "What was there before is restored; traffic was not affected.")
        }
        None => (remove_new(cluster, workload).await, REMOVED),
    };
    Err(anyhow!(
        "{}\n{}",
        not_everywhere(workload, &late),
        undone_in_words(restored.map_err(|error| format!("{error:#}")), was)
    ))
}

/// Removes a WasmPlugin, unless somebody's mirror is in it by now.
///
/// # Errors
/// Such a mirror, a pod that does not let go, and what the API server refuses.
pub async fn remove(cluster: &Cluster, plugin: &WasmPlugin, wait: Option<Duration>, dry_run: bool) -> Result<()> {
    let (workload, options) = (Workload::of_plugin(plugin), ApplyOptions { dry_run, ..ApplyOptions::FORCED });
    change(cluster, &workload.namespace, &plugin.name_any(), options, |there| {
        match there.map(mirrors).unwrap_or_default().first() {
            Some(mirror) => Err(Refusal::InUse { mirror: mirror.clone() }.into()),
            None => Ok(None),
        }
    })
    .await?;
    if let Some(timeout) = wait.filter(|_| !dry_run) {
        let pods = cluster.pods(&workload.namespace, &workload.labels).await?;
        let pods = Gateways::of(cluster, &pods);
        let late = pods.wait_until_hooked(Way::Sending, false, timeout, "removing the filter").await;
        if !late.is_empty() {
            bail!(
                "{} has been removed, but not all gateway pods have let go of it:\n  {}",
                plugin.name_any(),
                late.join("\n  ")
            );
        }
    }
    Ok(())
}

/// What is said of a module that was new. Istio gives what a WasmPlugin brings no default to fall back on.
const REMOVED: &str = "It was removed again. A gateway whose Envoy refuses a module answers 500 until then; elsewhere traffic was \
     not affected.";

/// Gives a WasmPlugin the module that it had before, beside the mirrors that it has by now.
async fn restore(cluster: &Cluster, before: &WasmPlugin) -> Result<()> {
    let make = |there: Option<&WasmPlugin>| {
        let mut after = there.unwrap_or(before).clone();
        let config = after.spec.plugin_config.clone();
        after.spec = before.spec.clone();
        after.spec.plugin_config = config;
        if let (Some(after), Some(before)) = (&mut after.metadata.annotations, &before.metadata.annotations) {
            for name in [names::VERSION, names::INSTALLED_BY] {
                after.extend(before.get(name).map(|value| (name.to_owned(), value.clone())));
            }
        }
        Ok(there.is_some().then_some(after))
    };
    change(cluster, &before.namespace().unwrap_or_default(), &before.name_any(), ApplyOptions::FORCED, make)
        .await
        .map(|_| ())
}

/// Removes what was just made, unless somebody's mirror is in it by now.
async fn remove_new(cluster: &Cluster, workload: &Workload) -> Result<()> {
    let make = |there: Option<&WasmPlugin>| Ok(there.filter(|there| !mirrors(there).is_empty()).cloned());
    change(cluster, &workload.namespace, &names::install(workload), ApplyOptions::FORCED, make).await.map(|_| ())
}
