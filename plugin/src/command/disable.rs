//! `kubectl mirror disable`: ends mirrors and leaves nothing of them behind.

use anyhow::Result;
use clap_complete::ArgValueCandidates;

use super::common::{self, DryRun, Waiting};
use crate::cli::ExitStatus;
use crate::cluster::{ApplyOptions, Cluster, Connection, Pod};
use crate::completion;
use crate::intent::MirrorName;
use crate::istio::install::Installed;
use crate::istio::{InstalledBy, Workload};
use crate::output::message;
use crate::source::Way;
use crate::steps::installing::Installation;
use crate::steps::inventory::wasm_plugins;
use crate::steps::waiting::wait_until_gone;
use crate::steps::{Found, GatewayPods, Which, gateways, installing, mirroring, mirrors, sharing};

/// End mirrors: remove every object that enable made, and wait until the gateways have let go.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The service whose mirror ends.
    #[arg(value_name = "SERVICE", value_parser = common::parse_service, required_unless_present = "all",
        add = ArgValueCandidates::new(completion::mirrored))]
    service: Option<String>,

    /// All mirrors of the namespace, or with -A of all namespaces.
    #[arg(long, conflicts_with = "service")]
    all: bool,

    /// All namespaces.
    #[arg(short = 'A', long, requires = "all")]
    all_namespaces: bool,

    /// Change nothing: show what would be done (client), or let the server check it without doing it (server).
    #[arg(long, value_name = "MODE", value_enum, default_value_t)]
    dry_run: DryRun,

    #[command(flatten)]
    waiting: Waiting,

    #[command(flatten)]
    connection: Connection,
}

/// Runs the command.
///
/// # Errors
/// No such mirror, what the API server refuses, and gateways that do not let go.
pub async fn run(args: Args) -> Result<ExitStatus> {
    let cluster = args.connection.connect().await?;
    let name = args.service.as_ref().map(|service| MirrorName::new(&cluster.namespace, service));
    let which = Which::of(name.as_ref(), args.all_namespaces, &cluster);
    let inventory = mirrors(&cluster, which).await?;
    common::unseen(&inventory.unseen);
    for found in &inventory.mirrors {
        if args.dry_run != DryRun::Client {
            mirroring::remove(&cluster, found, args.dry_run == DryRun::Server).await?;
        }
        common::said("mirror", &found.name.route, "deleted", args.dry_run)?;
    }
    let gone = args.let_go(&cluster, &inventory.mirrors).await?;
    // A mirror that was made half-way may have left the filter alone.
    if inventory.mirrors.is_empty() && !(gone && name.is_some()) {
        common::none_found(which)?;
    }
    Ok(ExitStatus::Success)
}

impl Args {
    /// Waits until the gateways have let go, and takes the filter out where `enable` had put it in for mirrors that are all
    /// gone. Tells whether a filter was taken out.
    async fn let_go(&self, cluster: &Cluster, removed: &[Found]) -> Result<bool> {
        if self.dry_run != DryRun::None {
            return Ok(false);
        }
        let mut gateways = match gateways::of_mirrors(cluster, removed).await {
            Ok(gateways) => gateways,
            Err(error) => {
                message(format_args!("note: the gateways were not looked into: {error:#}"));
                return Ok(false);
            }
        };
        if let Some(timeout) = self.waiting.limit() {
            let pods: Vec<Pod> = gateways.iter().flat_map(|gateway| gateway.pods.clone()).collect();
            for found in removed {
                wait_until_gone(cluster, &found.name, &pods, timeout).await?;
            }
        }
        // No EnvoyFilter is ever in a waypoint.
        gateways.retain(|gateway| !gateway.workload.is_of_gateway());
        self.uninstall_unused(cluster, &gateways).await
    }

    async fn uninstall_unused(&self, cluster: &Cluster, gateways: &[GatewayPods]) -> Result<bool> {
        let mut gone = false;
        // Those without mirrors; others stay whatever is left elsewhere.
        for plugin in wasm_plugins(cluster, &mut Vec::new()).await? {
            if sharing::remove_unused(cluster, &plugin, false).await? {
                common::said("filter", &Workload::of_plugin(&plugin).suffix(), "deleted", self.dry_run)?;
                gone = true;
            }
        }
        if !mirrors(cluster, Which::All).await?.has_none(Way::Observing) {
            return Ok(gone);
        }
        let mut given_up = false;
        for gateway in gateways {
            let Some(object) = installing::installed(cluster, gateway).await? else { continue };
            if Installed::of(&object).by == Some(InstalledBy::Enable) {
                installing::remove(cluster, gateway, self.waiting.limit(), false).await?;
                common::said("filter", &gateway.workload.suffix(), "deleted", self.dry_run)?;
                given_up = true;
            }
        }
        if given_up {
            self.give_back(cluster, gateways).await?;
        }
        Ok(gone || given_up)
    }

    /// Somebody may have enabled a mirror in the same moment, who found the filter still there.
    async fn give_back(&self, cluster: &Cluster, gateways: &[GatewayPods]) -> Result<()> {
        if mirrors(cluster, Which::All).await?.has_none(Way::Observing) {
            return Ok(());
        }
        let how = Installation {
            by: InstalledBy::Enable,
            options: ApplyOptions::default(),
            wait: self.waiting.limit(),
            restart: false,
        };
        for gateway in gateways {
            if let Some(done) = installing::ensure(cluster, gateway, how).await? {
                common::said("filter", &gateway.workload.suffix(), done.change, self.dry_run)?;
            }
        }
        Ok(())
    }
}
