//! `kubectl mirror list` and `kubectl mirror status`: which mirrors there are, and how each is on every gateway pod.

mod json;
mod table;

use std::io::IsTerminal;
use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum;
use clap_complete::ArgValueCandidates;
use futures_util::{StreamExt, stream};
use tokio::time::sleep;

use super::common;
use crate::cli::ExitStatus;
use crate::cluster::{Cluster, Connection};
use crate::completion;
use crate::intent::MirrorName;
use crate::output;
use crate::steps::standing::{Look, look, standing};
use crate::steps::{Standing, Which, gateways, mirrors};

/// How many mirrors are looked at side by side.
const AT_ONCE: usize = 8;
/// How often `--watch` looks.
const WATCH: Duration = Duration::from_secs(2);

/// List the mirrors of a namespace.
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// All namespaces.
    #[arg(short = 'A', long)]
    all_namespaces: bool,

    #[command(flatten)]
    showing: Showing,

    #[command(flatten)]
    connection: Connection,
}

/// Show how mirrors are on each gateway pod, and what to do where something is wrong.
///
/// Each pod's Envoy is asked itself: whether the filter compares there, whether its live routes have the mirror, and whether
/// there is anyone to answer copies.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The service whose mirror is shown; all of the namespace where it is left out.
    #[arg(value_name = "SERVICE", value_parser = common::parse_service, add = ArgValueCandidates::new(completion::mirrored))]
    service: Option<String>,

    /// All namespaces.
    #[arg(short = 'A', long, conflicts_with = "service")]
    all_namespaces: bool,

    #[command(flatten)]
    showing: Showing,

    #[command(flatten)]
    connection: Connection,
}

/// How mirrors are shown.
#[derive(Clone, Debug, clap::Args)]
struct Showing {
    /// How to show them.
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,

    /// Show them again whenever something changes, until Ctrl-C.
    #[arg(short, long)]
    watch: bool,
}

/// How mirrors are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Table,
    /// The same with more columns.
    Wide,
    /// For programs.
    Json,
    /// For programs and people.
    Yaml,
    /// The names alone.
    Name,
}

/// What is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Detail {
    /// A row for each mirror.
    List,
    /// And one for each gateway pod.
    Pods,
}

/// Runs `list`.
///
/// # Errors
/// What the API server refuses.
pub async fn list(args: ListArgs) -> Result<ExitStatus> {
    let cluster = args.connection.connect().await?;
    let which = if args.all_namespaces { Which::All } else { Which::Namespace(&cluster.namespace) };
    show(&cluster, which, &args.showing, Detail::List).await
}

/// Runs `status`.
///
/// # Errors
/// No such mirror, and what the API server refuses.
pub async fn run(args: Args) -> Result<ExitStatus> {
    let cluster = args.connection.connect().await?;
    let name = args.service.as_ref().map(|service| MirrorName::new(&cluster.namespace, service));
    let which = Which::of(name.as_ref(), args.all_namespaces, &cluster);
    show(&cluster, which, &args.showing, Detail::Pods).await
}

async fn show(cluster: &Cluster, which: Which<'_>, showing: &Showing, detail: Detail) -> Result<ExitStatus> {
    let mut shown = String::new();
    loop {
        let (standings, look) = read(cluster, which).await?;
        if standings.is_empty() && !showing.watch {
            return nothing(which, showing.output);
        }
        let text = match showing.output {
            Format::Table => table::render(&standings, &look, detail, false, matches!(which, Which::All)),
            Format::Wide => table::render(&standings, &look, detail, true, matches!(which, Which::All)),
            Format::Json => json::render(&standings, &look)?,
            Format::Yaml => json::render_yaml(&standings, &look)?,
            Format::Name => standings
                .iter()
                .map(|standing| format!("mirror.kubectl-mirror/{}\n", standing.found.name.route))
                .collect(),
        };
        if text != shown {
            if !shown.is_empty() && std::io::stdout().is_terminal() {
                // From the top of an empty screen.
                output::data("\u{1b}[H\u{1b}[2J")?;
            }
            output::data(&text)?;
            shown = text;
        }
        if !showing.watch {
            return Ok(ExitStatus::Success);
        }
        tokio::select! {
            () = sleep(WATCH) => {}
            _ = tokio::signal::ctrl_c() => return Ok(ExitStatus::Success),
        }
    }
}

/// Reads mirrors and gateways.
async fn read(cluster: &Cluster, which: Which<'_>) -> Result<(Vec<Standing>, Look)> {
    let inventory = mirrors(cluster, which).await?;
    common::unseen(&inventory.unseen);
    if inventory.mirrors.is_empty() {
        return Ok((Vec::new(), Look::default()));
    }
    let look = look(cluster, gateways::of_mirrors(cluster, &inventory.mirrors).await, &inventory.mirrors).await;
    let standings = stream::iter(inventory.mirrors).map(|found| standing(cluster, found, &look));
    let standings = standings.buffered(AT_ONCE).collect().await;
    Ok((standings, look))
}

/// As kubectl does: an empty list is no error, a name that is not there is one.
fn nothing(which: Which<'_>, format: Format) -> Result<ExitStatus> {
    match which {
        _ if matches!(which, Which::One(_)) => common::none_found(which)?,
        _ if format == Format::Json => output::data(&json::render(&[], &Look::default())?)?,
        _ if format == Format::Yaml => output::data(&json::render_yaml(&[], &Look::default())?)?,
        _ => common::none_found(which)?,
    }
    Ok(ExitStatus::Success)
}
