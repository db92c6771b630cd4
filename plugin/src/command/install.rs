//! `kubectl mirror install`: puts the filter into the gateways, once for all mirrors.

use anyhow::{Result, bail};

use super::common::{self, Applying, DryRun, Waiting};
use crate::cli::ExitStatus;
use crate::cluster::{Change, Cluster, Connection};
use crate::gateway::{Gateways, Wanted};
use crate::istio::InstalledBy;
use crate::knative::refusal::check_istio;
use crate::output::message;
use crate::steps::installing::{self, Installation};
use crate::steps::{GatewayPods, gateways, rights};

/// Put the filter into Knative's gateways, and wait until every pod compares with it.
///
/// Traffic is not affected: without a mirror no request enters the filter. A gateway that rejects it gets back what it had.
/// `enable` installs it too, where it is missing; what this command installs stays until uninstall.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    applying: Applying,

    #[command(flatten)]
    waiting: Waiting,

    #[command(flatten)]
    connection: Connection,
}

/// Start the filter anew on the gateways, where it has stopped comparing.
///
/// Envoy bypasses a filter that has failed, and nothing but a change of its configuration starts it again. What this filter
/// has counted so far stays.
#[derive(Debug, clap::Args)]
pub struct RepairArgs {
    #[command(flatten)]
    applying: Applying,

    #[command(flatten)]
    waiting: Waiting,

    #[command(flatten)]
    connection: Connection,
}

/// Runs `install`.
///
/// # Errors
/// What cannot work, what the API server refuses, and gateways that do not take it.
pub async fn run(args: Args) -> Result<ExitStatus> {
    let cluster = args.connection.connect().await?;
    put(&cluster, &args.applying, &args.waiting, false).await
}

/// Runs `repair`.
///
/// # Errors
/// As `install`, and gateways that have no filter.
pub async fn repair(args: RepairArgs) -> Result<ExitStatus> {
    let cluster = args.connection.connect().await?;
    put(&cluster, &args.applying, &args.waiting, true).await
}

async fn put(cluster: &Cluster, applying: &Applying, waiting: &Waiting, repair: bool) -> Result<ExitStatus> {
    let gateways = with_pods(cluster).await?;
    let mut wanted = Vec::new();
    for gateway in &gateways {
        wanted.extend(rights::to_write(rights::ENVOY_FILTERS, &gateway.workload.namespace));
        wanted.extend(rights::to_look(&gateway.workload.namespace));
    }
    rights::need(cluster, &wanted).await?;
    check_versions(cluster, &gateways, waiting.wait).await?;
    for gateway in &gateways {
        let there = installing::installed(cluster, gateway).await?;
        if repair && there.is_none() {
            bail!("there is no filter on {}; install it: kubectl mirror install", gateway.workload);
        }
        let how = Installation {
            by: InstalledBy::Install,
            options: applying.options(),
            wait: waiting.limit(),
            restart: repair,
        };
        let (object, change) = match applying.dry_run {
            DryRun::Client => {
                let change = if there.is_some() { Change::Configured } else { Change::Created };
                (installing::object(gateway, there.as_ref(), how), change)
            }
            DryRun::Server | DryRun::None => {
                let done = installing::put(cluster, gateway, how).await?;
                (done.object, done.change)
            }
        };
        match applying.output {
            Some(format) => common::print_values(&[common::value(&object)?], format)?,
            None => common::said("filter", &gateway.workload.suffix(), change, applying.dry_run)?,
        }
        if applying.dry_run == DryRun::None && waiting.wait {
            let pods = gateway.pods.len();
            message(format_args!("The filter compares on {pods} of {pods} pods of {}.", gateway.workload));
        }
    }
    Ok(ExitStatus::Success)
}

/// Knative's gateways, all of which have pods.
async fn with_pods(cluster: &Cluster) -> Result<Vec<GatewayPods>> {
    let found = gateways::all(cluster).await?;
    if found.is_empty() {
        bail!(
            "Knative is configured without gateways; is this a cluster with Knative on Istio? See `kubectl mirror doctor`"
        );
    }
    if let Some(empty) = found.iter().find(|gateway| gateway.pods.is_empty()) {
        bail!(
            "no gateway pods run in namespace {} with labels {}; see `kubectl get pods -n {} -l {}`",
            empty.workload.namespace,
            empty.workload.label_selector(),
            empty.workload.namespace,
            empty.workload.label_selector()
        );
    }
    Ok(found)
}

async fn check_versions(cluster: &Cluster, gateways: &[GatewayPods], look: bool) -> Result<()> {
    for gateway in gateways {
        for pod in &gateway.pods {
            check_istio(&pod.version, &format!("pod {}/{}", pod.namespace, pod.name))?;
        }
        if look {
            for state in Gateways::of(cluster, &gateway.pods).states(&Wanted::module()).await {
                match state.found {
                    Ok(found) => {
                        check_istio(found.istio.as_deref().unwrap_or_default(), &format!("pod {}", state.pod))?
                    }
                    Err(reason) => bail!("cannot look into gateway pod {}: {reason}\nNothing was applied", state.pod),
                }
            }
        }
    }
    Ok(())
}
