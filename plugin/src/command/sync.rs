//! `kubectl mirror sync`: rebuilds mirrors whose service has changed since.

use anyhow::{Result, bail};
use clap_complete::ArgValueCandidates;

use super::common::{self, Applying, DryRun};
use crate::cli::ExitStatus;
use crate::cluster::{Change, Cluster, Connection};
use crate::completion;
use crate::intent::MirrorName;
use crate::istio::stale;
use crate::output::message;
use crate::steps::mirroring;
use crate::steps::{Found, Which, mirrors, survey};

/// Rebuild mirrors that are stale: a VirtualService after a change of the split, any mirror whose tag has moved on.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The service whose mirror is rebuilt; all of the namespace where it is left out.
    #[arg(value_name = "SERVICE", value_parser = common::parse_service, add = ArgValueCandidates::new(completion::mirrored))]
    service: Option<String>,

    /// All namespaces.
    #[arg(short = 'A', long, conflicts_with = "service")]
    all_namespaces: bool,

    #[command(flatten)]
    applying: Applying,

    #[command(flatten)]
    connection: Connection,
}

/// Runs the command. One mirror that cannot be rebuilt does not keep the others from it.
///
/// # Errors
/// No such mirror, what the API server refuses, and mirrors that could not be rebuilt.
pub async fn run(args: Args) -> Result<ExitStatus> {
    let cluster = args.connection.connect().await?;
    let name = args.service.as_ref().map(|service| MirrorName::new(&cluster.namespace, service));
    let which = Which::of(name.as_ref(), args.all_namespaces, &cluster);
    let inventory = mirrors(&cluster, which).await?;
    common::unseen(&inventory.unseen);
    if inventory.mirrors.is_empty() {
        common::none_found(which)?;
    }
    let mut failed = 0;
    for found in &inventory.mirrors {
        if let Err(error) = sync(&cluster, found, &args.applying).await {
            failed += 1;
            message(format_args!("error: {}: {error:#}", found.name));
        }
    }
    if failed > 0 {
        bail!("{failed} of {} mirrors could not be rebuilt", inventory.mirrors.len());
    }
    Ok(ExitStatus::Success)
}

async fn sync(cluster: &Cluster, found: &Found, applying: &Applying) -> Result<()> {
    let survey = survey(cluster, &found.name).await?;
    let plan = survey.plan(cluster, found.intent.clone()?).await?;
    let objects = mirroring::rebuilt(&survey, &plan, found)?;
    let overlays = found.overlays.iter().zip(&objects.overlays);
    let mut stale: Vec<String> = overlays.flat_map(|(live, fresh)| stale::overlay(live, fresh, &plan)).collect();
    if let Some(fresh) = &objects.virtual_service {
        let live = found.virtual_services.iter();
        stale.extend(live.flat_map(|live| stale::virtual_service(live, fresh, &plan)));
    }
    let held = found.wasm_plugins.iter().filter(|_| !objects.held.is_empty());
    stale.extend(held.flat_map(|live| stale::wasm_plugin(live, &plan)));
    stale.dedup();
    let mut change = if stale.is_empty() { Change::Unchanged } else { Change::Configured };
    if change == Change::Configured && applying.dry_run != DryRun::Client {
        (change, _) = mirroring::apply(cluster, &objects, Some(found), applying.options()).await?;
    }
    match applying.output {
        Some(format) => common::print(&objects, format)?,
        None => common::said("mirror", &found.name.route, change, applying.dry_run)?,
    }
    for reason in stale {
        message(format_args!("{}: {reason}", found.name));
    }
    Ok(())
}
