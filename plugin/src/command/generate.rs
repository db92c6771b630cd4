//! `kubectl mirror generate`: prints a mirror's objects, for GitOps. It changes nothing, and with files it asks nobody.

use std::io::{Read, stdin};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap_complete::ArgValueCandidates;
use k8s_openapi::api::core::v1::ConfigMap;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::common::{self, ObjectFormat, Wish};
use super::origin::Fetching;
use crate::cli::ExitStatus;
use crate::cluster::Connection;
use crate::completion;
use crate::intent::{Intent, MirrorName, Strategy};
use crate::istio::wasm_plugin::{Origin, wasm_plugin, with_mirror};
use crate::istio::{InstalledBy, Workload};
use crate::kinds::{Gateway, Ingress, Revision, Route, VirtualService};
use crate::knative::config::{CONFIG_ISTIO, KnativeGateway, gateway_namespace, gateway_namespaces};
use crate::knative::source::{INGRESS_LABEL, is_of_gateways};
use crate::knative::target::{self, Known};
use crate::knative::{Gateways, Plan, Refusal, Source};
use crate::steps::sharing::Held;
use crate::steps::{GatewayPods, gateways, mirroring, survey};

/// Print the VirtualService of a mirror, for GitOps.
///
/// It routes as Knative does, and copies a share of the safe requests. Apply it with kubectl or commit it; after a change of
/// the service's split it has to be generated anew (`kubectl mirror status` says when). With --strategy overlay the
/// EnvoyFilters are printed instead, and with --strategy wasmplugin the WasmPlugins, which follow changes by themselves.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    # what enable --strategy virtualservice would apply\n  \
    kubectl mirror generate hello --to v2 --percent 5 > hello-mirror.yaml\n\n  \
    # without a cluster\n  \
    kubectl get route.serving.knative.dev hello -o yaml > route.yaml\n  \
    kubectl mirror generate hello --to v2 --percent 5 -f route.yaml")]
pub struct Args {
    /// The Knative Service or Route whose requests are copied.
    #[arg(value_name = "SERVICE", value_parser = common::parse_service, add = ArgValueCandidates::new(completion::services))]
    service: String,

    #[command(flatten)]
    wish: Wish,

    #[command(flatten)]
    module: Fetching,

    /// Read the Route from this file (- for stdin) instead of a cluster. It may also hold what else matters: Knative's
    /// VirtualService, Ingress and Revisions of the Route, Istio's Gateways, and ConfigMap config-istio.
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    files: Vec<PathBuf>,

    /// How to print.
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value = "yaml")]
    output: ObjectFormat,

    #[command(flatten)]
    connection: Connection,
}

/// Runs the command.
///
/// # Errors
/// Files that cannot be read or lack the Route, what cannot work, and what the API server refuses.
pub async fn run(args: Args) -> Result<ExitStatus> {
    let intent = args.wish.intent(Strategy::VirtualService)?;
    let origin = args.module.origin(intent.strategy)?;
    let objects = if args.files.is_empty() {
        let cluster = args.connection.connect().await?;
        let name = MirrorName::new(&cluster.namespace, &args.service);
        let survey = survey(&cluster, &name).await?;
        let plan = survey.plan(&cluster, intent).await?;
        match plan.intent.strategy {
            Strategy::Overlay => mirroring::overlays(&plan, &gateways::of_plan(&cluster, &survey, &plan).await?),
            Strategy::VirtualService => {
                mirroring::virtual_services(&plan, &survey.gateway_namespaces(plan.intent.through))?
            }
            Strategy::WasmPlugin => {
                plugins(&plan, &gateways::of_plan(&cluster, &survey, &plan).await?, origin.as_ref())?
            }
        }
    } else {
        let documents = read_all(&args.files)?;
        let namespace = args.connection.namespace.as_deref();
        from_files(&documents, namespace, &args.service, intent, origin.as_ref())?
    };
    common::print(&objects, args.output)?;
    Ok(ExitStatus::Success)
}

/// The objects of a mirror, from what files hold.
fn from_files(
    documents: &[Value],
    namespace: Option<&str>,
    name: &str,
    intent: Intent,
    origin: Option<&Origin>,
) -> Result<mirroring::Objects> {
    let routes: Vec<Route> = all(documents, "Route", "serving.knative.dev")?;
    let is_meant = |route: &&Route| {
        route.metadata.name.as_deref() == Some(name)
            && namespace.is_none_or(|namespace| route.metadata.namespace.as_deref() == Some(namespace))
    };
    let Some(route) = routes.iter().find(is_meant) else {
        let there: Vec<&str> = routes.iter().filter_map(|route| route.metadata.name.as_deref()).collect();
        bail!(
            "the files hold no Route {name}; there are: {}. Save it with `kubectl get route.serving.knative.dev {name} -o yaml`",
            if there.is_empty() { "none".to_owned() } else { there.join(", ") }
        );
    };
    let configured = gateways_of(documents)?;
    let of_route = |object: &kube::core::ObjectMeta, wanted: &str| {
        object.name.as_deref() == Some(wanted) && object.namespace == route.metadata.namespace
    };
    let own: Vec<VirtualService> = all(documents, "VirtualService", "networking.istio.io")?;
    let is_own = |own: &&VirtualService| {
        let label = own.metadata.labels.as_ref().and_then(|labels| labels.get(INGRESS_LABEL));
        own.metadata.namespace == route.metadata.namespace
            && (own.metadata.name.as_deref() == Some(&format!("{name}-ingress"))
                || label.is_some_and(|label| label == name) && is_of_gateways(own))
    };
    let own = own.iter().find(is_own);
    let ingresses: Vec<Ingress> = all(documents, "Ingress", "networking.internal.knative.dev")?;
    let ingress = ingresses.iter().find(|ingress| of_route(&ingress.metadata, name));
    let source = match own {
        Some(own) => Source::live(route, own)?,
        None => Source::offline(route, &configured)?,
    };
    let revisions: Vec<Revision> = all(documents, "Revision", "serving.knative.dev")?;
    let revisions = (!revisions.is_empty()).then_some(revisions);
    let known = Known { revisions: revisions.as_deref(), ..Known::default() };
    let candidate = target::candidate(&source, &intent.to, known)?;
    let plan = Plan::new(intent, source, candidate)?;
    let used = used(&configured, &plan);
    match plan.intent.strategy {
        Strategy::Overlay => {
            let gateways: Vec<Gateway> = all(documents, "Gateway", "networking.istio.io")?;
            Ok(mirroring::overlays(&plan, &workloads(&used, &gateways)))
        }
        Strategy::WasmPlugin => {
            let gateways: Vec<Gateway> = all(documents, "Gateway", "networking.istio.io")?;
            let workloads = match plan.waypoint() {
                Some(workload) => vec![GatewayPods { workload, pods: Vec::new() }],
                None => workloads(&used, &gateways),
            };
            plugins(&plan, &workloads, origin)
        }
        Strategy::VirtualService => {
            let through = plan.intent.through;
            let said = ingress.map(|ingress| gateway_namespaces(ingress, through)).filter(|said| !said.is_empty());
            let namespaces = said.unwrap_or_else(|| configured.namespaces(through));
            mirroring::virtual_services(&plan, &namespaces)
        }
    }
}

/// WasmPlugins with this mirror and no other. They are not what `enable` made, so they stay when the mirror goes.
fn plugins(plan: &Plan, gateways: &[GatewayPods], origin: Option<&Origin>) -> Result<mirroring::Objects> {
    let plugin = |GatewayPods { workload, .. }: &GatewayPods| {
        let origin = origin.ok_or_else(|| Refusal::NoModule { workload: workload.to_string() })?;
        let plugin = with_mirror(&wasm_plugin(workload, origin, InstalledBy::Install), plan, None);
        Ok(Held { name: plan.name.clone(), plugin })
    };
    let held = gateways.iter().map(plugin).collect::<Result<_>>()?;
    Ok(mirroring::Objects { held, ..mirroring::Objects::default() })
}

/// The configured gateways that a mirror concerns.
fn used<'a>(configured: &'a Gateways, plan: &Plan) -> Vec<&'a KnativeGateway> {
    let references = plan.source.gateways(plan.intent.through);
    let all = configured.external.iter().chain(&configured.local);
    all.filter(|gateway| references.contains(&gateway.reference())).collect()
}

/// The labels of the gateways' pods: those that a Gateway in the files says, else Istio's usual ones.
fn workloads(used: &[&KnativeGateway], gateways: &[Gateway]) -> Vec<GatewayPods> {
    let mut workloads: Vec<Workload> = used
        .iter()
        .map(|gateway| {
            let known = gateways.iter().find(|known| {
                known.metadata.name.as_ref() == Some(&gateway.name)
                    && known.metadata.namespace.as_ref() == Some(&gateway.namespace)
            });
            let usual = || [("istio".to_owned(), "ingressgateway".to_owned())].into();
            Workload {
                namespace: gateway_namespace(&gateway.service).unwrap_or_else(|| gateway.namespace.clone()),
                labels: known.map_or_else(usual, |known| known.spec.selector.clone()),
            }
        })
        .collect();
    workloads.sort();
    workloads.dedup();
    workloads.into_iter().map(|workload| GatewayPods { workload, pods: Vec::new() }).collect()
}

fn gateways_of(documents: &[Value]) -> Result<Gateways> {
    let configs: Vec<ConfigMap> = all(documents, "ConfigMap", "")?;
    match configs.iter().find(|config| config.metadata.name.as_deref() == Some(CONFIG_ISTIO)) {
        Some(config) => Ok(Gateways::read(config)?),
        None => Ok(Gateways::default()),
    }
}

/// The documents of one kind.
fn all<K: DeserializeOwned>(documents: &[Value], kind: &str, group: &str) -> Result<Vec<K>> {
    let is_meant = |document: &&Value| {
        let version = document["apiVersion"].as_str().unwrap_or_default();
        document["kind"] == kind && version.split_once('/').map_or("", |(group, _)| group) == group
    };
    let read = |document: &Value| {
        let name = document.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        serde_json::from_value(document.clone()).with_context(|| format!("cannot understand {kind} {name}"))
    };
    documents.iter().filter(is_meant).map(read).collect()
}

/// All documents of these files; lists are taken apart.
fn read_all(files: &[PathBuf]) -> Result<Vec<Value>> {
    let mut all = Vec::new();
    for file in files {
        let text = read(file)?;
        let documents: Vec<Value> =
            serde_saphyr::from_multiple(&text).with_context(|| format!("{} is not YAML or JSON", file.display()))?;
        for mut document in documents {
            match document["items"].take() {
                Value::Array(items) => all.extend(items),
                _ => all.push(document),
            }
        }
    }
    Ok(all)
}

fn read(file: &Path) -> Result<String> {
    if file == Path::new("-") {
        let mut text = String::new();
        stdin().read_to_string(&mut text).context("cannot read stdin")?;
        return Ok(text);
    }
    std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}
