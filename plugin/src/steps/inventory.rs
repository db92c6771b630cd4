//! Which mirrors there are. The objects in the cluster are the only state.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::Result;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::core::ObjectMeta;
use mirror_core::config::Mirror;
use serde::de::DeserializeOwned;

use super::gateways;
use crate::cluster::read::Object;
use crate::cluster::{Cluster, Error, Right, Scope};
use crate::envoy::MirrorSpec;
use crate::gateway::Wanted;
use crate::intent::{Intent, IntentError, MirrorName, Strategy, Through};
use crate::istio::wasm_plugin::kept;
use crate::istio::{Workload, live, names};
use crate::kinds::{EnvoyFilter, VirtualService, WasmPlugin};
use crate::source::Way;

/// A mirror as its objects say it.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its name.
    pub name: MirrorName,
    /// What was asked for.
    pub intent: Result<Intent, IntentError>,
    /// Its objects of the strategy `overlay`, one for each workload of gateways.
    pub overlays: Vec<EnvoyFilter>,
    /// Its object of the strategy `virtualservice`.
    pub virtual_services: Vec<VirtualService>,
    /// The objects of the strategy `wasmplugin` that hold it, perhaps beside others; one for each workload of gateways.
    pub wasm_plugins: Vec<WasmPlugin>,
}

/// Mirrors that could not be looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unseen {
    /// Their strategy.
    pub strategy: Strategy,
    /// The right that is missing.
    pub right: Right,
}

impl fmt::Display for Unseen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mirrors of the strategy {}: {}", self.strategy, self.right)
    }
}

/// All mirrors that can be seen.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    /// The mirrors, by name.
    pub mirrors: Vec<Found>,
    /// What could not be looked at.
    pub unseen: Vec<Unseen>,
}

/// Which mirrors are meant.
#[derive(Clone, Copy, Debug)]
pub enum Which<'a> {
    /// All of all namespaces.
    All,
    /// Those of a namespace's services.
    Namespace(&'a str),
    /// This one.
    One(&'a MirrorName),
}

impl<'a> Which<'a> {
    /// The one that is named; else those of all namespaces, or of the namespace that is meant where none is said.
    pub fn of(name: Option<&'a MirrorName>, everywhere: bool, cluster: &'a Cluster) -> Self {
        match name {
            Some(name) => Self::One(name),
            None if everywhere => Self::All,
            None => Self::Namespace(&cluster.namespace),
        }
    }

    fn selector(self) -> String {
        match self {
            Self::All => names::all_mirrors(),
            Self::Namespace(namespace) => names::mirrors_of(namespace),
            Self::One(name) => names::objects_of(name),
        }
    }

    fn has(self, name: &MirrorName) -> bool {
        match self {
            Self::All => true,
            Self::Namespace(namespace) => name.namespace == namespace,
            Self::One(one) => name == one,
        }
    }
}

/// Looks for mirrors. A user without rights to the gateways' namespaces sees those of the strategy `virtualservice`.
///
/// # Errors
/// What the API server refuses, but for rights that one may lack.
pub async fn mirrors(cluster: &Cluster, which: Which<'_>) -> Result<Inventory> {
    let mut inventory = Inventory::default();
    let mut found: BTreeMap<MirrorName, Found> = BTreeMap::new();
    let selector = which.selector();
    let overlays: Vec<EnvoyFilter> = in_gateways(cluster, &selector, Strategy::Overlay, &mut inventory.unseen).await?;
    for overlay in overlays {
        if let Some(entry) = entry(&mut found, &overlay.metadata) {
            entry.overlays.push(overlay);
        }
    }
    for virtual_service in virtual_services(cluster, which, &mut inventory.unseen).await? {
        if let Some(entry) = entry(&mut found, &virtual_service.metadata) {
            entry.virtual_services.push(virtual_service);
        }
    }
    for plugin in wasm_plugins(cluster, &mut inventory.unseen).await? {
        for (name, kept) in kept(&plugin).into_iter().filter(|(name, _)| which.has(name)) {
            let entry = found.entry(name.clone()).or_insert_with(|| Found::new(name, kept.intent));
            entry.wasm_plugins.push(plugin.clone());
        }
    }
    inventory.mirrors = found.into_values().collect();
    Ok(inventory)
}

/// The mirror that an object belongs to, as its labels say.
fn entry<'a>(found: &'a mut BTreeMap<MirrorName, Found>, metadata: &ObjectMeta) -> Option<&'a mut Found> {
    let name = names::mirror_of(metadata)?;
    Some(found.entry(name.clone()).or_insert_with(|| Found::new(name, Intent::of(metadata))))
}

/// All WasmPlugins of this program. A cluster need not know the kind.
///
/// # Errors
/// What the API server refuses, but for rights that one may lack.
pub async fn wasm_plugins(cluster: &Cluster, unseen: &mut Vec<Unseen>) -> Result<Vec<WasmPlugin>> {
    match in_gateways(cluster, &names::all_installs(), Strategy::WasmPlugin, unseen).await {
        Err(error) if error.downcast_ref().is_some_and(Error::is_no_kind) => Ok(Vec::new()),
        answer => answer,
    }
}

/// Everywhere where the user may look everywhere, else in the namespaces of the gateways; for WasmPlugins also in the user's own,
/// where a waypoint may be.
async fn in_gateways<K: Object + DeserializeOwned>(
    cluster: &Cluster,
    selector: &str,
    strategy: Strategy,
    unseen: &mut Vec<Unseen>,
) -> Result<Vec<K>> {
    match cluster.list(Scope::All, Some(selector)).await {
        Err(Error::Forbidden(_)) => {}
        answer => return Ok(answer?),
    }
    let mut all = Vec::new();
    let mut namespaces = gateway_namespaces(cluster).await;
    let own = strategy == Strategy::WasmPlugin && !namespaces.contains(&cluster.namespace);
    namespaces.extend(own.then(|| cluster.namespace.clone()));
    for namespace in namespaces {
        match cluster.list(Scope::Namespace(&namespace), Some(selector)).await {
            Ok(some) => all.extend(some),
            // Only who has WasmPlugins of his own is meant to look there.
            Err(Error::Forbidden(_)) if own && namespace == cluster.namespace => {}
            Err(Error::Forbidden(forbidden)) => {
                unseen.push(Unseen { strategy, right: forbidden.right });
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(all)
}

/// Where all are wanted and the user may not look everywhere, those of his own namespace.
async fn virtual_services(
    cluster: &Cluster,
    which: Which<'_>,
    unseen: &mut Vec<Unseen>,
) -> Result<Vec<VirtualService>> {
    let scopes = match which {
        Which::All => vec![Scope::All, Scope::Namespace(&cluster.namespace)],
        Which::Namespace(namespace) => vec![Scope::Namespace(namespace)],
        Which::One(name) => vec![Scope::Namespace(&name.namespace)],
    };
    for scope in scopes {
        match cluster.list(scope, Some(&which.selector())).await {
            Err(Error::Forbidden(forbidden)) => {
                unseen.push(Unseen { strategy: Strategy::VirtualService, right: forbidden.right });
            }
            answer => return Ok(answer?),
        }
    }
    Ok(Vec::new())
}

/// The namespaces that gateways' pods are in; where the configuration cannot be read, Knative's defaults.
async fn gateway_namespaces(cluster: &Cluster) -> Vec<String> {
    gateways::configured(cluster).await.unwrap_or_default().namespaces(Through::Both)
}

impl Inventory {
    /// Whether no mirror is there, nor any that could not be seen, for which the module stands in this way.
    pub fn has_none(&self, way: Way) -> bool {
        let is_such = |strategy: Strategy| strategy.way() == way;
        !self.mirrors.iter().any(|found| found.strategies().any(is_such))
            && !self.unseen.iter().any(|unseen| is_such(unseen.strategy))
    }
}

impl Found {
    /// A mirror without objects yet.
    pub fn new(name: MirrorName, intent: Result<Intent, IntentError>) -> Self {
        Self { name, intent, overlays: Vec::new(), virtual_services: Vec::new(), wasm_plugins: Vec::new() }
    }

    /// How it is put into the gateways.
    pub fn strategy(&self) -> Strategy {
        self.strategies().next().unwrap_or_default()
    }

    /// The strategies of its objects: two while it changes.
    fn strategies(&self) -> impl Iterator<Item = Strategy> {
        let all = [
            (Strategy::Overlay, self.overlays.is_empty()),
            (Strategy::WasmPlugin, self.wasm_plugins.is_empty()),
            (Strategy::VirtualService, self.virtual_services.is_empty()),
        ];
        all.into_iter().filter(|(_, is_empty)| !is_empty).map(|(strategy, _)| strategy)
    }

    /// When it was made: with its first object, or into one that was there.
    pub fn created(&self) -> Option<Time> {
        let overlays = self.overlays.iter().map(|overlay| &overlay.metadata);
        let objects = overlays.chain(self.virtual_services.iter().map(|virtual_service| &virtual_service.metadata));
        let made = objects.filter_map(|metadata| metadata.creation_timestamp.clone());
        let held = self.wasm_plugins.iter().filter_map(|plugin| {
            let said = kept(plugin).get(&self.name).and_then(|kept| kept.created);
            let said = said.and_then(|second| Timestamp::from_second(second).ok().map(Time));
            said.or_else(|| plugin.metadata.creation_timestamp.clone())
        });
        made.chain(held).min()
    }

    /// Its configuration, as its objects carry it; `None` where this build cannot read it.
    pub fn mirror(&self) -> Option<Mirror> {
        let overlays = self.overlays.iter().filter_map(live::of_overlay);
        let told = self.told().map(|spec| spec.mirror);
        overlays.chain(told).chain(self.virtual_services.iter().filter_map(live::of_virtual_service)).next()
    }

    /// The configuration that a module which sends copies is told; `None` where there is none, or this build cannot read it.
    fn told(&self) -> Option<MirrorSpec> {
        self.wasm_plugins.iter().find_map(|plugin| live::of_wasm_plugin(plugin, &self.name))
    }

    /// What gateways are to have of it.
    pub fn wanted(&self) -> Wanted {
        let way = self.strategy().way();
        match (self.told().filter(|_| way == Way::Sending), self.mirror()) {
            (Some(spec), _) => Wanted::spec(&spec, way),
            (None, Some(mirror)) => Wanted::mirror(&mirror, way),
            (None, None) => Wanted::any_state_of(&self.name.to_string()),
        }
    }

    /// The hosts whose requests it copies.
    pub fn hosts(&self) -> Vec<String> {
        self.mirror().map(|mirror| mirror.hosts).unwrap_or_default()
    }

    /// The gateways that it is put into; empty where its objects do not say.
    pub fn workloads(&self) -> Vec<Workload> {
        let overlays = self.overlays.iter().map(Workload::of);
        overlays.chain(self.wasm_plugins.iter().map(Workload::of_plugin)).collect()
    }
}
