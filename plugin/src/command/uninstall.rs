//! `kubectl mirror uninstall`: takes the filter out of the gateways.

use anyhow::{Result, bail};

use super::common::{self, DryRun, Waiting};
use crate::cli::ExitStatus;
use crate::cluster::Connection;
use crate::istio::Workload;
use crate::output::message;
use crate::source::Way;
use crate::steps::inventory::wasm_plugins;
use crate::steps::{Which, gateways, installing, mirrors, sending};

/// Take the filter out of the gateways. Mirrors have to be disabled before.
#[derive(Debug, clap::Args)]
pub struct Args {
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
/// Mirrors that are still there, what the API server refuses, and gateways that do not let go.
pub async fn run(args: Args) -> Result<ExitStatus> {
    let cluster = args.connection.connect().await?;
    let inventory = mirrors(&cluster, Which::All).await?;
    // What a WasmPlugin holds is seen by whoever can remove it.
    let unseen = inventory.unseen.iter().filter(|unseen| unseen.strategy.way() == Way::Observing);
    let unseen: Vec<String> = unseen.map(ToString::to_string).collect();
    if !unseen.is_empty() {
        bail!(
            "whether there are mirrors cannot be seen, and without the filter they would go on copying requests, and nothing \
             would be compared; a right is missing: {}",
            unseen.join("; ")
        );
    }
    if !inventory.mirrors.is_empty() {
        let names: Vec<String> = inventory.mirrors.iter().map(|found| found.name.to_string()).collect();
        bail!(
            "there are mirrors: {}; disable them first (kubectl mirror disable --all -A), else requests would go on being \
             copied, and nothing compared",
            names.join(", ")
        );
    }
    let mut any = false;
    for gateway in gateways::all(&cluster).await? {
        let there = installing::installed(&cluster, &gateway).await?.is_some();
        if there && args.dry_run != DryRun::Client {
            installing::remove(&cluster, &gateway, args.waiting.limit(), args.dry_run == DryRun::Server).await?;
        }
        if there {
            common::said("filter", &gateway.workload.suffix(), "deleted", args.dry_run)?;
            any = true;
        }
    }
    for plugin in wasm_plugins(&cluster, &mut Vec::new()).await? {
        if args.dry_run != DryRun::Client {
            sending::remove(&cluster, &plugin, args.waiting.limit(), args.dry_run == DryRun::Server).await?;
        }
        common::said("filter", &Workload::of_plugin(&plugin).suffix(), "deleted", args.dry_run)?;
        any = true;
    }
    if !any {
        message("No filter found.");
    }
    Ok(ExitStatus::Success)
}
