//! `kubectl mirror report`: what differs, and how often.

mod progress;
mod reader;
mod select;
mod since;
mod watch;

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::ValueEnum;
use clap_complete::ArgValueCandidates;

use self::reader::{Reader, read_saved};
use self::since::Since;
use crate::cli::ExitStatus;
use crate::cluster::Connection;
use crate::completion;
use crate::output;
use crate::report::compare::{self, Comparison};
use crate::report::examples::Examples;
use crate::report::fail_on::{Conditions, Finding};
use crate::report::model::Report;
use crate::report::{html, json, junit, markdown, table};
use crate::source::{admin, prometheus};

/// Show how the candidate's answers differ from the primary's, and how often.
///
/// The statistics of all gateway pods are read through the API server and summed; with --admin those of one Envoy, with
/// --prometheus what a Prometheus has scraped, with --from those of a report that was saved by -o json.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The service whose mirror is reported; all of the namespace where it is left out. Also NAMESPACE/NAME.
    #[arg(value_name = "SERVICE", add = ArgValueCandidates::new(completion::mirrored))]
    name: Option<String>,

    /// All namespaces.
    #[arg(short = 'A', long, conflicts_with_all = ["name", "admin", "from"])]
    all_namespaces: bool,

    /// Read the admin page of this Envoy instead of the gateways of a cluster, for example http://127.0.0.1:15000.
    #[arg(long, value_name = "URL")]
    admin: Option<admin::Address>,

    /// Read what this Prometheus has scraped from the gateways, as their page has it or as examples/monitoring relabels it, for
    /// example http://127.0.0.1:9090; USER:PASSWORD@ before the host is passed on.
    #[arg(long, value_name = "URL", conflicts_with_all = ["admin", "all_namespaces", "reset"])]
    prometheus: Option<prometheus::Address>,

    /// Show Prometheus the bearer token in this file.
    #[arg(long, value_name = "FILE", requires = "prometheus")]
    prometheus_token_file: Option<PathBuf>,

    /// Show this report again, which -o json (or yaml) has saved; - reads it from stdin.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["admin", "prometheus", "examples"])]
    from: Option<PathBuf>,

    /// Show examples of what differs from this log of Envoy's.
    #[arg(long, value_name = "FILE")]
    examples: Option<PathBuf>,

    /// Say what has become better or worse since this report, which -o json (or yaml) has saved. As a table, markdown, JSON
    /// or YAML; --fail-on tests the later report.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["reset", "watch"])]
    compare: Option<PathBuf>,

    /// Count from here on: so long before the end, for example 10m or 2h (with --prometheus alone; 1h where it is left out),
    /// or `reset`: the baseline that --reset stored.
    #[arg(long, value_name = "TIME", conflicts_with = "from")]
    since: Option<Since>,

    /// Count up to here, for example 2026-11-30T14:00:00Z; up to now where it is left out.
    #[arg(long, value_name = "TIME", requires = "prometheus", value_parser = since::parse_until)]
    until: Option<u64>,

    /// Store what has been counted so far as the baseline of what is named, and show no report.
    #[arg(long, conflicts_with_all = ["from", "since", "watch", "fail_on", "examples", "output"])]
    reset: bool,

    /// Show the report again and again, until Ctrl-C. Where stdout is no terminal, only what has changed is written.
    #[arg(short, long, conflicts_with_all = ["from", "fail_on"])]
    watch: bool,

    /// How long to wait between two reports of --watch.
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = humantime::parse_duration, requires = "watch")]
    interval: Duration,

    /// How to show it.
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    output: Format,

    /// End with status 1 where this holds: diverged>0.1%, pairs<1000, place:/items/*/price>0, p99>+20%, stopped.
    ///
    /// May be given several times, or several expressions separated by commas. What can be tested: pairs, diverged, noise,
    /// incomplete, skipped, status (pairs with different status codes), place:PLACE, endpoint:METHOD PATH, each as a number
    /// of pairs or as a share (1%); p50, p90 and p99 of the candidate's latency against the primary's (+20%, +50ms) or
    /// alone (200ms); stopped. A share is of the pairs compared; of incomplete, skipped and pairs it is of all pairs, of
    /// status it is of the pairs that both sides answered.
    #[arg(long, value_name = "EXPR")]
    fail_on: Vec<Conditions>,

    #[command(flatten)]
    connection: Connection,
}

/// How to show a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Table,
    /// For people with room: all rows, whole texts, and more columns.
    Wide,
    /// For programs.
    Json,
    /// For programs and people.
    Yaml,
    /// For a pull request.
    Markdown,
    /// For a browser: one page that needs nothing else.
    Html,
    /// For continuous integration: JUnit's XML, in which each --fail-on that holds has failed, or, without any, each
    /// difference.
    Junit,
    /// The mirrors' names alone.
    Name,
}

/// Runs the command.
///
/// # Errors
/// There are no statistics to be had, no mirror of that name in them, or no such file.
pub async fn run(args: Args) -> anyhow::Result<ExitStatus> {
    let examples = args.examples.as_deref().map(read_examples).transpose()?.unwrap_or_default();
    let mut reader = Reader::open(&args, examples).await?;
    if args.reset {
        reader.reset().await?;
        return Ok(ExitStatus::Success);
    }
    if args.watch {
        watch::watch(reader, args.output, args.interval).await?;
        return Ok(ExitStatus::Success);
    }
    let report = reader.read().await?;
    match &args.compare {
        Some(file) => {
            let mut earlier = read_saved(file)?;
            earlier.mirrors.retain(|mirror| reader.selection().holds(&mirror.name));
            output::data(&args.output.render_comparison(&compare::compare(&earlier, &report))?)?;
        }
        None => show(&report, args.output, &args.fail_on)?,
    }
    Ok(judge(&report, &args.fail_on))
}

impl Format {
    /// The report as it is to be written.
    fn render(self, report: &Report, conditions: &[Conditions]) -> String {
        match self {
            Self::Table => table::render(report, output::look()),
            Self::Wide => table::render(report, output::look().wide()),
            Self::Json => json::render(report),
            Self::Yaml => json::render_yaml(report),
            Self::Markdown => markdown::render(report),
            Self::Html => html::render(report),
            Self::Junit => junit::render(report, conditions),
            Self::Name => report.mirrors.iter().map(|mirror| format!("{}\n", mirror.name)).collect(),
        }
    }
}

impl Format {
    /// A comparison as it is to be written.
    fn render_comparison(self, comparison: &Comparison) -> anyhow::Result<String> {
        Ok(match self {
            Self::Table => compare::table::render(comparison, output::look()),
            Self::Wide => compare::table::render(comparison, output::look().wide()),
            Self::Json => compare::json::render(comparison),
            Self::Yaml => compare::json::render_yaml(comparison),
            Self::Markdown => compare::markdown::render(comparison),
            Self::Html | Self::Junit | Self::Name => {
                bail!("--compare is shown as table, wide, json, yaml or markdown: pass one of them by -o")
            }
        })
    }
}

/// Writes a report to stdout.
///
/// # Errors
/// Stdout cannot be written.
pub fn show(report: &Report, format: Format, conditions: &[Conditions]) -> anyhow::Result<()> {
    if format == Format::Name {
        // The other formats say it themselves.
        for missing in &report.missing {
            output::message(format_args!("warning: {} is missing: {}", missing.name, missing.reason));
        }
    }
    output::data(&format.render(report, conditions))
}

/// Tests a report against conditions; what holds is explained on stderr.
pub fn judge(report: &Report, conditions: &[Conditions]) -> ExitStatus {
    let mut status = ExitStatus::Success;
    for finding in conditions.iter().flat_map(|conditions| &conditions.0).flat_map(|condition| condition.check(report))
    {
        if let Finding::Holds(_) = finding {
            status = ExitStatus::ConditionHolds;
        }
        output::message(finding);
    }
    status
}

fn read_examples(path: &Path) -> anyhow::Result<Examples> {
    let mut examples = Examples::default();
    File::open(path)
        .and_then(|file| examples.read(BufReader::new(file)))
        .with_context(|| format!("cannot read examples from {}", path.display()))?;
    Ok(examples)
}

#[cfg(test)]
mod tests;
