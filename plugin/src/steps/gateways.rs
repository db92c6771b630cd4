//! Finds the gateways' pods: from Knative's configuration and Istio's Gateways to labels, and by labels to pods.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail};
use k8s_openapi::api::core::v1::ConfigMap;

use super::inventory::{Found, wasm_plugins};
use super::survey::Survey;
use crate::cluster::{Cluster, Pod};
use crate::intent::Through;
use crate::istio::Workload;
use crate::kinds::{Gateway, Ingress, KubernetesGateway};
use crate::knative::config::{CONFIG_ISTIO, KnativeGateway, NAMESPACE, gateway_namespace, gateway_namespaces};
use crate::knative::{Gateways, Plan, Refusal, Source};
use crate::waypoint::{self, Waypoint};

/// The pods that one EnvoyFilter reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayPods {
    /// How it reaches them.
    pub workload: Workload,
    /// Those of them that run.
    pub pods: Vec<Pod>,
}

/// The gateways that Knative is configured for. Its defaults where the configuration does not say.
///
/// # Errors
/// A configuration that cannot be read, or makes no sense.
pub async fn configured(cluster: &Cluster) -> Result<Gateways> {
    match cluster.get_opt::<ConfigMap>(NAMESPACE, CONFIG_ISTIO).await? {
        Some(config) => Ok(Gateways::read(&config)?),
        None => Ok(Gateways::default()),
    }
}

/// The pods behind all gateways of Knative's.
///
/// # Errors
/// What the API server refuses.
pub async fn all(cluster: &Cluster) -> Result<Vec<GatewayPods>> {
    let configured = configured(cluster).await?;
    let gateways: Vec<_> = configured.external.iter().chain(&configured.local).collect();
    let mut wanted = Vec::new();
    for gateway in gateways {
        wanted.push((gateway.reference(), namespace_of(gateway)));
    }
    pods_of(cluster, wanted).await
}

/// The same, and those of waypoints that a WasmPlugin of this program names.
///
/// # Errors
/// As [`all`].
pub async fn everywhere(cluster: &Cluster) -> Result<Vec<GatewayPods>> {
    let mut found = all(cluster).await?;
    found.extend(waypoints(cluster).await?);
    Ok(found)
}

/// The pods of waypoints that a WasmPlugin of this program names.
///
/// # Errors
/// What the API server refuses, but for rights that one may lack.
pub async fn waypoints(cluster: &Cluster) -> Result<Vec<GatewayPods>> {
    let plugins = wasm_plugins(cluster, &mut Vec::new()).await?;
    of_waypoints(cluster, plugins.iter().map(Workload::of_plugin)).await
}

/// The pods behind the gateways and waypoints that these mirrors may be put into: Knative's gateways are left out where none
/// of them is, since who may put mirrors into a waypoint need not be allowed to look there.
///
/// # Errors
/// As [`all`].
pub async fn of_mirrors(cluster: &Cluster, mirrors: &[Found]) -> Result<Vec<GatewayPods>> {
    let in_waypoint = |found: &Found| {
        let workloads = found.workloads();
        !workloads.is_empty() && workloads.iter().all(Workload::is_of_gateway)
    };
    let mut found = match !mirrors.is_empty() && mirrors.iter().all(in_waypoint) {
        true => Vec::new(),
        false => all(cluster).await?,
    };
    found.extend(of_waypoints(cluster, mirrors.iter().flat_map(Found::workloads)).await?);
    Ok(found)
}

/// Those of these pods that are of Kubernetes Gateways.
async fn of_waypoints(cluster: &Cluster, workloads: impl Iterator<Item = Workload>) -> Result<Vec<GatewayPods>> {
    let workloads: BTreeSet<_> = workloads.filter(Workload::is_of_gateway).collect();
    let mut found = Vec::new();
    for workload in workloads {
        found.push(running(cluster, workload).await?);
    }
    Ok(found)
}

/// The pods that a mirror concerns: its waypoint's, or those of the gateways that serve its Route.
///
/// # Errors
/// A waypoint that is none, no pods, and what the API server refuses.
pub async fn of_plan(cluster: &Cluster, survey: &Survey, plan: &Plan) -> Result<Vec<GatewayPods>> {
    match &plan.intent.waypoint {
        Some(waypoint) => Ok(vec![of_waypoint(cluster, waypoint, &plan.name.namespace).await?]),
        None => of_source(cluster, &survey.source, plan.intent.through, survey.ingress.as_ref()).await,
    }
}

async fn of_waypoint(cluster: &Cluster, asked: &Waypoint, namespace: &str) -> Result<GatewayPods> {
    let workload = asked.workload(namespace);
    let (namespace, name) = (workload.namespace.clone(), asked.name.clone());
    let Some(gateway) = cluster.get_opt::<KubernetesGateway>(&namespace, &name).await? else {
        return Err(Refusal::NoWaypoint { namespace, name }.into());
    };
    let class = gateway.spec.gateway_class_name;
    if class != waypoint::CLASS {
        return Err(Refusal::NotWaypoint { namespace, name, class }.into());
    }
    let found = running(cluster, workload).await?;
    if found.pods.is_empty() {
        return Err(Refusal::NoWaypointPods { namespace, name }.into());
    }
    Ok(found)
}

/// The pods of a workload that run.
async fn running(cluster: &Cluster, workload: Workload) -> Result<GatewayPods> {
    let mut pods = cluster.pods(&workload.namespace, &workload.labels).await?;
    pods.retain(Pod::is_running);
    Ok(GatewayPods { workload, pods })
}

/// The pods of the gateways that serve `source`.
///
/// # Errors
/// No pods, and what the API server refuses.
async fn of_source(
    cluster: &Cluster,
    source: &Source,
    through: Through,
    ingress: Option<&Ingress>,
) -> Result<Vec<GatewayPods>> {
    let configured = configured(cluster).await?;
    let known: BTreeMap<String, Option<String>> = configured
        .external
        .iter()
        .chain(&configured.local)
        .map(|gateway| (gateway.reference(), namespace_of(gateway)))
        .collect();
    // A gateway of this Route alone is not in the configuration; Knative says where its pods are.
    let elsewhere = ingress.and_then(|ingress| gateway_namespaces(ingress, through).into_iter().next());
    let wanted = source.gateways(through).into_iter().map(|reference| {
        let namespace = known.get(&reference).cloned().flatten().or_else(|| elsewhere.clone());
        (reference, namespace)
    });
    let found = pods_of(cluster, wanted.collect()).await?;
    if let Some(empty) = found.iter().find(|found| found.pods.is_empty()) {
        return Err(Refusal::NoGatewayPods {
            route: source.mirror_name(),
            namespace: empty.workload.namespace.clone(),
            labels: empty.workload.label_selector(),
        }
        .into());
    }
    Ok(found)
}

fn namespace_of(gateway: &KnativeGateway) -> Option<String> {
    gateway_namespace(&gateway.service)
}

/// The pods of Istio Gateways, each given as `<namespace>/<name>` with the namespace that its pods are in, where known.
async fn pods_of(cluster: &Cluster, gateways: Vec<(String, Option<String>)>) -> Result<Vec<GatewayPods>> {
    let mut found: Vec<GatewayPods> = Vec::new();
    for (reference, namespace) in gateways {
        let Some((of, name)) = reference.split_once('/') else {
            bail!("`{reference}` is not <namespace>/<name> of an Istio Gateway");
        };
        let Some(gateway) = cluster.get_opt::<Gateway>(of, name).await? else {
            bail!(
                "there is no Istio Gateway {reference}, which Knative is configured to use (ConfigMap {NAMESPACE}/{CONFIG_ISTIO})"
            );
        };
        let namespace = namespace.unwrap_or_else(|| of.to_owned());
        let workload = Workload { namespace, labels: gateway.spec.selector };
        if found.iter().any(|known| known.workload == workload) {
            continue;
        }
        add(&mut found, running(cluster, workload).await?)?;
    }
    Ok(found)
}

/// Adds pods that no other workload has. Two workloads with the same pods are one: a second EnvoyFilter would put the
/// filter into them twice.
fn add(found: &mut Vec<GatewayPods>, new: GatewayPods) -> Result<()> {
    for known in found.iter() {
        if known.workload.namespace != new.workload.namespace || new.pods.is_empty() {
            continue;
        }
        let shared = new.pods.iter().filter(|pod| known.pods.iter().any(|other| other.name == pod.name)).count();
        if shared == new.pods.len() && shared == known.pods.len() {
            return Ok(());
        }
        if shared > 0 {
            bail!(
                "the gateway pods with labels {} and those with labels {} in namespace {} are partly the same; \
                 the filter would be in some of them twice. Give the Gateways selectors that do not overlap",
                known.workload.label_selector(),
                new.workload.label_selector(),
                new.workload.namespace
            );
        }
    }
    found.push(new);
    Ok(())
}
