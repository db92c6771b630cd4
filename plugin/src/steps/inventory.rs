//! Which mirrors there are. The objects in the cluster are the only state.

use std::collections::BTreeMap;

use anyhow::Result;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::core::ObjectMeta;
use mirror_core::config::Mirror;

use super::gateways;
use crate::cluster::{Cluster, Error, Scope};
use crate::intent::{Intent, IntentError, MirrorName, Strategy, Through};
use crate::istio::{live, names};
use crate::kinds::{EnvoyFilter, VirtualService};

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
}

/// All mirrors that can be seen.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    /// The mirrors, by name.
    pub mirrors: Vec<Found>,
    /// What could not be looked at, in words.
    pub unseen: Vec<String>,
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
}

/// Looks for mirrors. A user without rights to the gateways' namespaces sees those of the strategy `virtualservice`.
///
/// # Errors
/// What the API server refuses, but for rights that one may lack.
pub async fn mirrors(cluster: &Cluster, which: Which<'_>) -> Result<Inventory> {
    let mut inventory = Inventory::default();
    let mut found: BTreeMap<MirrorName, Found> = BTreeMap::new();
    let selector = which.selector();
    for overlay in overlays(cluster, &selector, &mut inventory.unseen).await? {
        if let Some(entry) = entry(&mut found, &overlay.metadata) {
            entry.overlays.push(overlay);
        }
    }
    for virtual_service in virtual_services(cluster, which, &mut inventory.unseen).await? {
        if let Some(entry) = entry(&mut found, &virtual_service.metadata) {
            entry.virtual_services.push(virtual_service);
        }
    }
    inventory.mirrors = found.into_values().collect();
    Ok(inventory)
}

/// The mirror that an object belongs to, as its labels say.
fn entry<'a>(found: &'a mut BTreeMap<MirrorName, Found>, metadata: &ObjectMeta) -> Option<&'a mut Found> {
    let name = names::mirror_of(metadata)?;
    Some(found.entry(name.clone()).or_insert_with(|| Found {
        name,
        intent: Intent::of(metadata),
        overlays: Vec::new(),
        virtual_services: Vec::new(),
    }))
}

/// Everywhere where the user may look everywhere, else in the namespaces of the gateways.
async fn overlays(cluster: &Cluster, selector: &str, unseen: &mut Vec<String>) -> Result<Vec<EnvoyFilter>> {
    match cluster.list(Scope::All, Some(selector)).await {
        Err(Error::Forbidden(_)) => {}
        answer => return Ok(answer?),
    }
    let mut all = Vec::new();
    for namespace in gateway_namespaces(cluster).await {
        match cluster.list(Scope::Namespace(&namespace), Some(selector)).await {
            Ok(some) => all.extend(some),
            Err(Error::Forbidden(forbidden)) => {
                unseen.push(format!("mirrors of the strategy overlay: {}", forbidden.right));
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
    unseen: &mut Vec<String>,
) -> Result<Vec<VirtualService>> {
    let scopes = match which {
        Which::All => vec![Scope::All, Scope::Namespace(&cluster.namespace)],
        Which::Namespace(namespace) => vec![Scope::Namespace(namespace)],
        Which::One(name) => vec![Scope::Namespace(&name.namespace)],
    };
    for scope in scopes {
        match cluster.list(scope, Some(&which.selector())).await {
            Err(Error::Forbidden(forbidden)) => {
                unseen.push(format!("mirrors of the strategy virtualservice: {}", forbidden.right));
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

impl Found {
    /// How it is put into the gateways.
    pub fn strategy(&self) -> Strategy {
        if self.overlays.is_empty() { Strategy::VirtualService } else { Strategy::Overlay }
    }

    /// When its first object was made.
    pub fn created(&self) -> Option<&Time> {
        self.metadata().filter_map(|metadata| metadata.creation_timestamp.as_ref()).min()
    }

    /// Its configuration, as its objects carry it; `None` where this build cannot read it.
    pub fn mirror(&self) -> Option<Mirror> {
        let overlays = self.overlays.iter().filter_map(live::of_overlay);
        overlays.chain(self.virtual_services.iter().filter_map(live::of_virtual_service)).next()
    }

    /// The hosts whose requests it copies.
    pub fn hosts(&self) -> Vec<String> {
        self.mirror().map(|mirror| mirror.hosts).unwrap_or_default()
    }

    /// What its objects say of themselves.
    pub fn metadata(&self) -> impl Iterator<Item = &ObjectMeta> {
        let overlays = self.overlays.iter().map(|overlay| &overlay.metadata);
        overlays.chain(self.virtual_services.iter().map(|virtual_service| &virtual_service.metadata))
    }
}
