//! The checks, one function each, from what everything rests on to what is particular.

use std::collections::BTreeMap;

use anyhow::Result;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;

use super::{Check, Health};
use crate::cluster::{Cluster, Error, Right, Scope};
use crate::gateway::{Gateways, PodView};
use crate::istio::install::Installed;
use crate::istio::names::{self, ISTIO_NAMESPACE};
use crate::kinds::{Route, VirtualService};
use crate::knative::config::{CONFIG_NETWORK, NAMESPACE};
use crate::knative::refusal::check_istio;
use crate::knative::{self, ingress_class};
use crate::source::{Module, Way};
use crate::steps::{GatewayPods, Which, gateways, installing, mirrors, rights, sending};

/// Runs all checks.
///
/// # Errors
/// The API server does not answer.
pub(super) async fn all(cluster: &Cluster) -> Result<Vec<Check>> {
    let mut checks = vec![server(cluster).await?];
    checks.push(kind::<Route>(cluster, "Knative Serving").await);
    checks.push(kind::<VirtualService>(cluster, "Istio").await);
    checks.push(class(cluster).await);
    checks.push(istiod(cluster).await);
    checks.extend(mesh(cluster).await);
    let gateways = gateways::all(cluster).await;
    checks.push(pods(&gateways));
    if let Ok(gateways) = &gateways {
        for gateway in gateways.iter().filter(|gateway| !gateway.pods.is_empty()) {
            checks.extend(filter(cluster, gateway).await);
            checks.extend(plugin(cluster, gateway).await);
        }
        checks.push(platform_rights(cluster, gateways).await);
    }
    checks.push(team_rights(cluster).await);
    checks.push(all_mirrors(cluster).await);
    Ok(checks)
}

impl Check {
    fn ok(what: &'static str, found: impl Into<String>) -> Self {
        Self { what, health: Health::Ok, found: found.into(), mend: None }
    }

    fn not(what: &'static str, health: Health, found: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { what, health, found: found.into(), mend: Some(mend.into()) }
    }

    /// What could not be looked at.
    fn unknown(what: &'static str, error: &Error) -> Self {
        let mend = match error {
            Error::Forbidden(forbidden) => format!("a right is missing: {}", forbidden.right),
            _ => "see above".to_owned(),
        };
        Self::not(what, Health::Unknown, error.to_string().lines().next().unwrap_or_default(), mend)
    }
}

async fn server(cluster: &Cluster) -> Result<Check> {
    const WHAT: &str = "API server";
    let version = cluster.version().await?;
    Ok(Check::ok(WHAT, format!("{} is of version {version}", cluster.server)))
}

/// Whether the server knows a product's kinds.
async fn kind<K: crate::cluster::read::Object>(cluster: &Cluster, what: &'static str) -> Check {
    match cluster.list::<K>(Scope::Namespace(&cluster.namespace), None).await {
        Ok(_) => Check::ok(what, "is installed"),
        Err(error @ Error::NoKind { .. }) => {
            let mend = format!("install {what}; without a cluster, `kubectl mirror local` compares two servers");
            Check::not(what, Health::Failed, error.to_string(), mend)
        }
        Err(error) => Check::unknown(what, &error),
    }
}

async fn class(cluster: &Cluster) -> Check {
    const WHAT: &str = "ingress class";
    match cluster.get_opt::<ConfigMap>(NAMESPACE, CONFIG_NETWORK).await {
        Ok(config) => {
            let class = ingress_class(None, config.as_ref());
            if class == knative::ISTIO {
                return Check::ok(WHAT, format!("Knative uses Istio ({class})"));
            }
            Check::not(
                WHAT,
                Health::Failed,
                format!("Knative uses {class} where a service does not say otherwise"),
                format!(
                    "only services with the annotation networking.knative.dev/ingress.class: {} can be mirrored; \
                     the default is in ConfigMap {NAMESPACE}/{CONFIG_NETWORK}",
                    knative::ISTIO
                ),
            )
        }
        Err(error) => Check::unknown(WHAT, &error),
    }
}

async fn istiod(cluster: &Cluster) -> Check {
    const WHAT: &str = "Istio's control plane";
    match cluster.istiod_versions(ISTIO_NAMESPACE).await {
        Ok(versions) if versions.is_empty() => Check::not(
            WHAT,
            Health::Unknown,
            format!("no pods with label app=istiod in namespace {ISTIO_NAMESPACE}"),
            "where it runs elsewhere, make sure that it is Istio 1.28 or newer",
        ),
        Ok(versions) => match versions.iter().try_for_each(|version| check_istio(version, "istiod")) {
            Ok(()) => Check::ok(WHAT, format!("is of version {}", versions.join(" and "))),
            Err(refusal) => Check::not(WHAT, Health::Failed, refusal.to_string(), "update Istio"),
        },
        Err(error) => Check::unknown(WHAT, &error),
    }
}

/// Options of the mesh that keep mirrors from working.
async fn mesh(cluster: &Cluster) -> Vec<Check> {
    const WHAT: &str = "Istio's options";
    let deployments: Vec<Deployment> = match cluster.list(Scope::Namespace(ISTIO_NAMESPACE), Some("app=istiod")).await {
        Ok(deployments) if deployments.is_empty() => {
            let found = format!("no Deployment with label app=istiod in namespace {ISTIO_NAMESPACE}");
            let mend = "where it runs elsewhere, make sure that EnvoyFilters are not switched off there";
            return vec![Check::not(WHAT, Health::Unknown, found, mend)];
        }
        Ok(deployments) => deployments,
        Err(error) => return vec![Check::unknown(WHAT, &error)],
    };
    let mut checks = Vec::new();
    for (name, value) in deployments.iter().flat_map(environment) {
        let is_on = value.eq_ignore_ascii_case("true") || value == "1";
        match name.as_str() {
            "PILOT_FILTER_GATEWAY_CLUSTER_CONFIG" if is_on => checks.push(Check::not(
                WHAT,
                Health::Warning,
                "PILOT_FILTER_GATEWAY_CLUSTER_CONFIG is on: gateways know only clusters that VirtualServices name",
                "mirrors name their targets so that Istio keeps them, where it is new enough, and those of the strategy wasmplugin \
                 need a tag; watch the column CANDIDATE of `kubectl mirror status`, and switch the option off where it says \
                 absent",
            )),
            "PILOT_ENABLE_ENVOY_FILTER" | "ENABLE_ENVOY_FILTER" if !is_on => checks.push(Check::not(
                WHAT,
                Health::Failed,
                format!("{name} is off: EnvoyFilters have no effect"),
                "switch it on in istiod's environment, or use --strategy wasmplugin",
            )),
            _ => {}
        }
    }
    if checks.is_empty() {
        checks.push(Check::ok(WHAT, "none is known to keep mirrors from working"));
    }
    checks
}

/// The environment of a Deployment's containers.
fn environment(deployment: &Deployment) -> Vec<(String, String)> {
    let pod = deployment.spec.as_ref().and_then(|spec| spec.template.spec.as_ref());
    let containers = pod.map(|pod| pod.containers.as_slice()).unwrap_or_default();
    let variables = containers.iter().flat_map(|container| container.env.iter().flatten());
    variables.filter_map(|variable| Some((variable.name.clone(), variable.value.clone()?))).collect()
}

fn pods(gateways: &Result<Vec<GatewayPods>>) -> Check {
    const WHAT: &str = "gateways";
    let gateways = match gateways {
        Ok(gateways) => gateways,
        Err(error) => {
            let is_forbidden = error.downcast_ref().is_some_and(Error::is_forbidden);
            let (health, mend) = if is_forbidden {
                (Health::Unknown, "the platform team's rights are needed, see examples/rbac/platform-team.yaml")
            } else {
                (Health::Failed, "mend ConfigMap knative-serving/config-istio, or the Istio Gateways that it names")
            };
            return Check::not(WHAT, health, format!("{error:#}").lines().next().unwrap_or_default(), mend);
        }
    };
    if let Some(empty) = gateways.iter().find(|gateway| gateway.pods.is_empty()) {
        let found = format!("no pods of {} run", empty.workload);
        return Check::not(WHAT, Health::Failed, found, "start them, or mend ConfigMap knative-serving/config-istio");
    }
    for pod in gateways.iter().flat_map(|gateway| &gateway.pods) {
        if let Err(refusal) = check_istio(&pod.version, &format!("pod {}/{}", pod.namespace, pod.name)) {
            return Check::not(WHAT, Health::Failed, refusal.to_string(), "restart the gateways with a newer proxy");
        }
    }
    let names: Vec<String> =
        gateways.iter().map(|gateway| format!("{} ({} pods)", gateway.workload, gateway.pods.len())).collect();
    Check::ok(WHAT, names.join(", "))
}

/// The filter on the pods of one workload.
async fn filter(cluster: &Cluster, gateway: &GatewayPods) -> Vec<Check> {
    const WHAT: &str = "filter";
    let installed = match installing::installed(cluster, gateway).await {
        Ok(installed) => installed,
        Err(error) => {
            let mend = "see examples/rbac/platform-team.yaml, or what the message says";
            return vec![Check::not(WHAT, Health::Unknown, format!("{error:#}"), mend)];
        }
    };
    let mut checks = Vec::new();
    match &installed {
        None => checks.push(Check::ok(WHAT, format!("not installed on {} yet; `enable` does", gateway.workload))),
        Some(object) => {
            let version = Installed::of(object).version;
            if version.as_deref() == Some(names::PLUGIN_VERSION) {
                checks.push(Check::ok(WHAT, format!("installed on {}, of this version", gateway.workload)));
            } else {
                let found = format!(
                    "installed on {} by version {}, this is {}",
                    gateway.workload,
                    version.unwrap_or_else(|| "?".to_owned()),
                    names::PLUGIN_VERSION
                );
                checks.push(Check::not(WHAT, Health::Warning, found, "kubectl mirror install"));
            }
        }
    }
    for view in Gateways::of(cluster, &gateway.pods).view(&[]).await {
        checks.extend(on_pod(&view, Way::Observing, installed.is_some()));
    }
    checks
}

/// The same filter as a WasmPlugin brings it, where there is one.
async fn plugin(cluster: &Cluster, gateway: &GatewayPods) -> Vec<Check> {
    const WHAT: &str = "filter by WasmPlugin";
    let plugin = match sending::installed(cluster, &gateway.workload).await {
        Ok(Some(plugin)) => plugin,
        Ok(None) => return Vec::new(),
        Err(error) => match error.downcast_ref::<Error>() {
            // That rights are missing is said below.
            Some(Error::NoKind { .. } | Error::Forbidden(_)) => return Vec::new(),
            _ => return vec![Check::not(WHAT, Health::Unknown, format!("{error:#}"), "see what the message says")],
        },
    };
    let mut checks = vec![Check::ok(WHAT, format!("installed on {}, from {}", gateway.workload, plugin.spec.url))];
    if sending::runs_everywhere(cluster, gateway).await {
        return checks;
    }
    for view in Gateways::of(cluster, &gateway.pods).view(&[]).await {
        checks.extend(on_pod(&view, Way::Sending, true).filter(|check| check.health == Health::Failed));
    }
    checks
}

fn on_pod(pod: &PodView, way: Way, installed: bool) -> Option<Check> {
    const WHAT: &str = "gateway pod";
    let view = match &pod.view {
        Ok(view) => view,
        Err(error) => {
            let mend = "is pods/portforward allowed, and is the admin port 15000 open in the pod?";
            return Some(Check::not(WHAT, Health::Unknown, format!("{}: {error}", pod.pod), mend));
        }
    };
    if let Err(refusal) = check_istio(view.istio().unwrap_or_default(), &format!("pod {}", pod.pod)) {
        return Some(Check::not(WHAT, Health::Failed, refusal.to_string(), "restart it with a newer proxy"));
    }
    let (found, mend) = match view.modules.by(way) {
        _ if !installed => return None,
        Module::Running => return None,
        Module::Stopped => ("the filter has stopped comparing", "kubectl mirror repair"),
        // Not uninstall: while its listeners drain, Envoy would refuse the next installation together with them.
        Module::Rejected => ("Envoy refused the filter; its log says why (look for `wasm`)", "kubectl mirror install"),
        Module::Unfetched => (
            "Istio's agent could not fetch the filter; the pod's log says why",
            "kubectl mirror install --strategy wasmplugin --module-url … with the right URL, checksum and Secret",
        ),
        Module::Waiting => ("the filter has not arrived", "see istiod's log; is the pod connected?"),
        Module::Missing => ("the filter is not there", "do the pod's labels match the Gateway's selector?"),
    };
    Some(Check::not(WHAT, Health::Failed, format!("{}: {found}", pod.pod), mend))
}

async fn platform_rights(cluster: &Cluster, gateways: &[GatewayPods]) -> Check {
    const WHAT: &str = "rights of a platform team";
    let mut wanted: Vec<Right> = Vec::new();
    for gateway in gateways {
        let namespace = &gateway.workload.namespace;
        wanted.extend(rights::to_write(rights::ENVOY_FILTERS, namespace));
        wanted.extend(rights::to_remove(rights::ENVOY_FILTERS, namespace));
        wanted.extend(rights::to_write(rights::WASM_PLUGINS, namespace));
        wanted.extend(rights::to_remove(rights::WASM_PLUGINS, namespace));
        wanted.extend(rights::to_look(namespace));
    }
    rights_check(cluster, WHAT, wanted, "ask for examples/rbac/platform-team.yaml, or use --strategy virtualservice")
        .await
}

async fn team_rights(cluster: &Cluster) -> Check {
    const WHAT: &str = "rights in this namespace";
    let namespace = &cluster.namespace;
    let mut wanted = rights::to_write(rights::VIRTUAL_SERVICES, namespace);
    wanted.extend(rights::to_remove(rights::VIRTUAL_SERVICES, namespace));
    wanted.extend(
        ["routes.serving.knative.dev", "revisions.serving.knative.dev"].map(|of| Right::new("list", of, namespace)),
    );
    rights_check(cluster, WHAT, wanted, "ask for examples/rbac/application-team.yaml").await
}

async fn rights_check(cluster: &Cluster, what: &'static str, mut wanted: Vec<Right>, mend: &str) -> Check {
    wanted.sort();
    wanted.dedup();
    match cluster.missing_rights(&wanted).await {
        Ok(missing) if missing.is_empty() => Check::ok(what, "all are there"),
        Ok(missing) => {
            let missing: Vec<String> = missing.iter().map(ToString::to_string).collect();
            Check::not(what, Health::Warning, format!("missing: {}", missing.join("; ")), mend)
        }
        Err(error) => Check::unknown(what, &error),
    }
}

async fn all_mirrors(cluster: &Cluster) -> Check {
    const WHAT: &str = "mirrors";
    let inventory = match mirrors(cluster, Which::All).await {
        Ok(inventory) => inventory,
        Err(error) => return Check::not(WHAT, Health::Unknown, format!("{error:#}"), "see above"),
    };
    let mut by_host: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for found in &inventory.mirrors {
        for host in found.hosts() {
            by_host.entry(host).or_default().push(found.name.to_string());
        }
    }
    if let Some((host, names)) = by_host.iter().find(|(_, names)| names.len() > 1) {
        let found = format!("{} all mirror {host}", names.join(" and "));
        return Check::not(WHAT, Health::Failed, found, "disable all but one of them");
    }
    let unreadable: Vec<String> = inventory
        .mirrors
        .iter()
        .filter_map(|found| Some(format!("{}: {}", found.name, found.intent.as_ref().err()?)))
        .collect();
    if !unreadable.is_empty() {
        return Check::not(WHAT, Health::Warning, unreadable.join("; "), "enable or disable them again");
    }
    let names: Vec<String> = inventory.mirrors.iter().map(|found| found.name.to_string()).collect();
    if !inventory.unseen.is_empty() {
        let unseen: Vec<String> = inventory.unseen.iter().map(ToString::to_string).collect();
        let seen = if names.is_empty() { "none that can be seen".to_owned() } else { names.join(", ") };
        return Check::not(WHAT, Health::Unknown, seen, format!("rights are missing: {}", unseen.join("; ")));
    }
    Check::ok(WHAT, if names.is_empty() { "none yet".to_owned() } else { names.join(", ") })
}
