//! `kubectl mirror install`: puts the filter into the gateways, once for all mirrors.

use anyhow::{Result, bail};
use serde_json::Value;

use super::common::{self, Applying, DryRun, Waiting};
use super::origin::Fetching;
use crate::cli::ExitStatus;
use crate::cluster::{Change, Cluster, Connection, Error};
use crate::gateway::{Gateways, Wanted};
use crate::intent::Strategy;
use crate::istio::InstalledBy;
use crate::istio::wasm_plugin::Origin;
use crate::knative::refusal::check_istio;
use crate::output::message;
use crate::source::Way;
use crate::steps::installing::{self, Installation};
use crate::steps::sending::{self, Sending};
use crate::steps::{GatewayPods, gateways, rights};

/// Put the filter into Knative's gateways, and wait until every pod compares with it.
///
/// Traffic is not affected: without a mirror no request enters the filter. A gateway that rejects it gets back what it had.
/// `enable` installs it too, where it is missing; what this command installs stays until uninstall.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// For mirrors of which strategy: one filter serves `overlay` and `virtualservice`, another one `wasmplugin`.
    #[arg(long, value_name = "STRATEGY", value_enum, default_value_t)]
    strategy: Strategy,

    #[command(flatten)]
    module: Fetching,

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
    let origin = args.module.origin(args.strategy)?;
    let cluster = args.connection.connect().await?;
    let gateways = with_pods(&cluster).await?;
    let putting = Putting { cluster: &cluster, applying: &args.applying, waiting: &args.waiting, restart: false };
    let way = args.strategy.way();
    putting.check(&gateways, &[way]).await?;
    for gateway in &gateways {
        match way {
            Way::Observing => putting.observing(gateway).await?,
            Way::Sending => putting.sending(gateway, origin.as_ref()).await?,
        }
    }
    Ok(ExitStatus::Success)
}

/// Runs `repair`.
///
/// # Errors
/// As `install`, and gateways that have no filter.
pub async fn repair(args: RepairArgs) -> Result<ExitStatus> {
    let cluster = args.connection.connect().await?;
    let gateways = with_pods(&cluster).await?;
    let waypoints = gateways::waypoints(&cluster).await?;
    let putting = Putting { cluster: &cluster, applying: &args.applying, waiting: &args.waiting, restart: true };
    let mut there = Vec::new();
    for gateway in &gateways {
        let observing = installing::installed(&cluster, gateway).await;
        let sending = common::seen(sending::installed(&cluster, &gateway.workload).await)?.is_some();
        // Who may not even look at the one may well start the other anew.
        let observing = match observing {
            Err(error) if sending && error.downcast_ref().is_some_and(Error::is_forbidden) => false,
            found => found?.is_some(),
        };
        // Where all mirrors are on waypoints, gateways need none.
        if !observing && !sending && waypoints.is_empty() {
            bail!("there is no filter on {}; install it: kubectl mirror install", gateway.workload);
        }
        there.extend(observing.then_some((gateway, Way::Observing)));
        there.extend(sending.then_some((gateway, Way::Sending)));
    }
    putting.check(&waypoints, &[Way::Sending]).await?;
    let mut ways: Vec<Way> = there.iter().map(|(_, way)| *way).collect();
    ways.sort_unstable();
    ways.dedup();
    putting.check(&gateways, &ways).await?;
    there.extend(waypoints.iter().map(|waypoint| (waypoint, Way::Sending)));
    for (gateway, way) in there {
        match way {
            Way::Observing => putting.observing(gateway).await?,
            Way::Sending => putting.sending(gateway, None).await?,
        }
    }
    Ok(ExitStatus::Success)
}

/// The filter, as it is put into gateways.
struct Putting<'a> {
    cluster: &'a Cluster,
    applying: &'a Applying,
    waiting: &'a Waiting,
    restart: bool,
}

impl Putting<'_> {
    /// Checks rights and versions, before anything is applied.
    async fn check(&self, gateways: &[GatewayPods], ways: &[Way]) -> Result<()> {
        let mut wanted = Vec::new();
        for gateway in gateways {
            for way in ways {
                wanted.extend(rights::to_write(rights::installed_by(*way), &gateway.workload.namespace));
            }
            wanted.extend(rights::to_look(&gateway.workload.namespace));
        }
        rights::need(self.cluster, &wanted).await?;
        check_versions(self.cluster, gateways, self.waiting.wait).await
    }

    async fn observing(&self, gateway: &GatewayPods) -> Result<()> {
        let there = installing::installed(self.cluster, gateway).await?;
        let how = Installation {
            by: InstalledBy::Install,
            options: self.applying.options(),
            wait: self.waiting.limit(),
            restart: self.restart,
        };
        let (object, change) = match self.applying.dry_run {
            DryRun::Client => (installing::object(gateway, there.as_ref(), how), planned(there.is_some())),
            DryRun::Server | DryRun::None => {
                let done = installing::put(self.cluster, gateway, how).await?;
                (done.object, done.change)
            }
        };
        self.said(gateway, &common::value(&object)?, change)
    }

    async fn sending(&self, gateway: &GatewayPods, origin: Option<&Origin>) -> Result<()> {
        let how = Sending {
            origin,
            by: InstalledBy::Install,
            options: self.applying.options(),
            wait: self.waiting.limit(),
            restart: self.restart,
        };
        let there = sending::installed(self.cluster, &gateway.workload).await?;
        let object = sending::object(&gateway.workload, there.as_ref(), how)?;
        let (object, change) = match self.applying.dry_run {
            DryRun::Client => (object, planned(there.is_some())),
            DryRun::Server | DryRun::None => {
                let done = sending::put(self.cluster, gateway, how).await?;
                (done.after.unwrap_or(object), done.change)
            }
        };
        self.said(gateway, &common::value(&object)?, change)
    }

    fn said(&self, gateway: &GatewayPods, object: &Value, change: Change) -> Result<()> {
        match self.applying.output {
            Some(format) => common::print_values(std::slice::from_ref(object), format)?,
            None => common::said("filter", &gateway.workload.suffix(), change, self.applying.dry_run)?,
        }
        if self.applying.dry_run == DryRun::None && self.waiting.wait {
            let pods = gateway.pods.len();
            message(format_args!("The filter compares on {pods} of {pods} pods of {}.", gateway.workload));
        }
        Ok(())
    }
}

/// What becomes of an object, where nothing is applied.
const fn planned(is_there: bool) -> Change {
    if is_there { Change::Configured } else { Change::Created }
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
            for state in Gateways::of(cluster, &gateway.pods).states(&Wanted::default()).await {
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
