//! `kubectl mirror rules`: shows the rules of a running mirror, and changes them in place.

mod edit;

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use clap_complete::ArgValueCandidates;
use mirror_core::config::Rules;

use super::common::{self, DryRun, Waiting};
use crate::cli::ExitStatus;
use crate::cluster::{ApplyOptions, Change, Cluster, Connection, Error, Pod};
use crate::completion;
use crate::intent::{Intent, MirrorName, Strategy};
use crate::knative::Plan;
use crate::output::{self, message};
use crate::rules;
use crate::steps::mirroring::{self, Objects};
use crate::steps::{Found, Survey, Which, gateways, mirrors, rights, survey, waiting};
use edit::Edited;

/// Show the rules of a running mirror, or change them in place.
///
/// Nothing is interrupted: the gateways take new rules as they take a changed route, and compare by them from the next request
/// on. The command ends when every gateway pod does.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    # what is ignored, and how closely is compared\n  \
    kubectl mirror rules hello\n\n  \
    # other rules\n  \
    kubectl mirror rules hello -f rules.yaml\n\n  \
    # in an editor\n  \
    KUBE_EDITOR=nano kubectl mirror rules hello --edit")]
pub struct Args {
    /// The service whose mirror it is.
    #[arg(value_name = "SERVICE", value_parser = common::parse_service, add = ArgValueCandidates::new(completion::mirrored))]
    service: String,

    /// Replace the rules by those of this file; - for standard input.
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    file: Option<PathBuf>,

    /// Change them in the editor that KUBE_EDITOR or EDITOR names, else in vi.
    #[arg(long, conflicts_with = "file")]
    edit: bool,

    /// How to show them.
    #[arg(short, long, value_enum, default_value_t, conflicts_with_all = ["file", "edit"])]
    output: Format,

    /// Change nothing: say what would be done (client), or let the server check it without keeping it (server).
    #[arg(long, value_name = "MODE", value_enum, default_value_t)]
    dry_run: DryRun,

    /// Take over fields of the objects that others manage.
    #[arg(long)]
    force_conflicts: bool,

    #[command(flatten)]
    waiting: Waiting,

    #[command(flatten)]
    connection: Connection,
}

/// How to show rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// As a rules file.
    #[default]
    Yaml,
    /// For programs: the same as JSON.
    Json,
}

/// Where standard input stands among names of files.
const STDIN: &str = "-";

/// Runs the command.
///
/// # Errors
/// No such mirror, mistakes in rules, what the API server refuses, and gateways that do not take them.
pub async fn run(args: Args) -> Result<ExitStatus> {
    let new = args.file.as_deref().map(read).transpose()?;
    let cluster = args.connection.connect().await?;
    let name = MirrorName::new(&cluster.namespace, &args.service);
    let found = find(&cluster, &name).await?;
    let intent = found.intent.clone()?;
    let changing = Changing { cluster: &cluster, found: &found, args: &args };
    match (new, args.edit) {
        (Some(rules), _) => changing.replace(intent, rules).await?,
        (None, true) => changing.edit(intent).await?,
        (None, false) => output::data(&render(&intent.rules, args.output)?)?,
    }
    Ok(ExitStatus::Success)
}

fn read(file: &Path) -> Result<Rules> {
    if file != Path::new(STDIN) {
        return Ok(rules::read(file)?);
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).context("cannot read standard input")?;
    rules::parse("stdin", &text).map_err(anyhow::Error::from)
}

fn render(rules: &Rules, format: Format) -> Result<String> {
    Ok(match format {
        Format::Yaml => yaml(rules)?,
        Format::Json => serde_json::to_string_pretty(rules)? + "\n",
    })
}

/// Rules as a rules file; `{}` is none.
fn yaml(rules: &Rules) -> Result<String> {
    Ok(serde_saphyr::to_string(rules)?.trim_end().to_owned() + "\n")
}

async fn find(cluster: &Cluster, name: &MirrorName) -> Result<Found> {
    let inventory = mirrors(cluster, Which::One(name)).await?;
    common::unseen(&inventory.unseen);
    match inventory.mirrors.into_iter().next() {
        Some(found) => Ok(found),
        None => Err(common::not_found(name)),
    }
}

/// A mirror whose rules are being changed.
struct Changing<'a> {
    cluster: &'a Cluster,
    found: &'a Found,
    args: &'a Args,
}

impl Changing<'_> {
    /// Lets the user change the rules, and applies what comes of it. What could not be applied is not lost.
    async fn edit(&self, intent: Intent) -> Result<()> {
        let (rules, file) = match edit::edit(&self.found.name.to_string(), &intent.rules, edit::in_editor)? {
            Edited::Rules(rules, file) => (rules, file),
            Edited::Cancelled(why) => {
                message(format_args!("Edit cancelled, {why}."));
                return Ok(());
            }
            Edited::Mistaken(file) => {
                edit::keep(file);
                bail!("Edit cancelled, no valid changes were saved.");
            }
        };
        let done = self.replace(intent, rules).await;
        if done.is_err() {
            edit::keep(file);
        }
        done
    }

    /// Gives the mirror these rules, and waits until the gateways compare by them.
    async fn replace(&self, intent: Intent, rules: Rules) -> Result<()> {
        if intent.rules == rules {
            return self.said(Change::Unchanged);
        }
        let survey = survey(self.cluster, &self.found.name).await?;
        let plan = survey.plan(self.cluster, Intent { rules, ..intent }).await?;
        let objects = mirroring::rebuilt(&survey, &plan, self.found)?;
        if self.args.dry_run == DryRun::Client {
            return self.said(Change::Configured);
        }
        self.check_rights(&objects).await?;
        let pods = self.pods(&survey, &plan).await?;
        let options =
            ApplyOptions { force_conflicts: self.args.force_conflicts, dry_run: self.args.dry_run == DryRun::Server };
        let (change, applied) = mirroring::apply(self.cluster, &objects, Some(self.found), options).await?;
        self.said(change)?;
        if let (Some(timeout), Some(pods), false) = (self.args.waiting.limit(), pods, options.dry_run) {
            let live = waiting::wait_until_live(self.cluster, &plan, &applied, &pods, timeout).await?;
            message(format_args!("Live on {live} of {live} gateway pods."));
        }
        Ok(())
    }

    async fn check_rights(&self, objects: &Objects) -> Result<()> {
        let mut wanted = Vec::new();
        for overlay in &objects.overlays {
            let namespace = overlay.metadata.namespace.as_deref().unwrap_or_default();
            wanted.extend(rights::to_write(rights::ENVOY_FILTERS, namespace));
        }
        if objects.virtual_service.is_some() {
            wanted.extend(rights::to_write(rights::VIRTUAL_SERVICES, &self.found.name.namespace));
        }
        for held in &objects.held {
            let namespace = held.plugin.metadata.namespace.as_deref().unwrap_or_default();
            wanted.extend(rights::to_write(rights::WASM_PLUGINS, namespace));
        }
        rights::need(self.cluster, &wanted).await
    }

    /// The gateway pods to wait for; with the strategy `virtualservice` a user may have no right to see them.
    async fn pods(&self, survey: &Survey, plan: &Plan) -> Result<Option<Vec<Pod>>> {
        if self.args.waiting.limit().is_none() {
            return Ok(None);
        }
        match gateways::of_plan(self.cluster, survey, plan).await {
            Ok(gateways) => Ok(Some(gateways.into_iter().flat_map(|gateway| gateway.pods).collect())),
            Err(error) => match error.downcast_ref::<Error>() {
                Some(Error::Forbidden(forbidden)) if plan.intent.strategy == Strategy::VirtualService => {
                    message(format_args!("note: whether the gateways take it cannot be seen ({})", forbidden.right));
                    Ok(None)
                }
                _ => Err(error),
            },
        }
    }

    fn said(&self, change: Change) -> Result<()> {
        common::said("mirror", &self.found.name.route, change, self.args.dry_run)
    }
}

#[cfg(test)]
mod tests;
