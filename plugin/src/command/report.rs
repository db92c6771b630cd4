//! `kubectl mirror report`: what differs, and how often.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::ValueEnum;
use clap_complete::ArgValueCandidates;

use crate::cli::ExitStatus;
use crate::cluster::{Connection, Pod};
use crate::completion;
use crate::gateway::Gateways;
use crate::intent::MirrorName;
use crate::output;
use crate::report::examples::Examples;
use crate::report::fail_on::{Conditions, Finding};
use crate::report::model::Report;
use crate::report::{build, html, json, junit, markdown, table};
use crate::source::admin;
use crate::steps::{Which, gateways, mirrors};

/// Show how the candidate's answers differ from the primary's, and how often.
///
/// The statistics of all gateway pods are read through the API server and summed; with --admin those of one Envoy.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The service whose mirror is reported; all of the namespace where it is left out. Also NAMESPACE/NAME.
    #[arg(value_name = "SERVICE", add = ArgValueCandidates::new(completion::mirrored))]
    name: Option<String>,

    /// All namespaces.
    #[arg(short = 'A', long, conflicts_with_all = ["name", "namespace", "admin"])]
    all_namespaces: bool,

    /// Read the admin page of this Envoy instead of the gateways of a cluster, for example http://127.0.0.1:15000.
    #[arg(long, value_name = "URL")]
    admin: Option<admin::Address>,

    /// Show examples of what differs from this log of Envoy's.
    #[arg(long, value_name = "FILE")]
    examples: Option<PathBuf>,

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
    let report = match &args.admin {
        Some(admin) => {
            let mut report = build::report(&admin::read(admin).await?, &examples);
            if let Some(name) = &args.name {
                select(&mut report, name)?;
            }
            report
        }
        None => on_cluster(&args, &examples).await?,
    };
    show(&report, args.output, &args.fail_on)?;
    Ok(judge(&report, &args.fail_on))
}

/// The report on a cluster's mirrors, from all of its gateway pods.
async fn on_cluster(args: &Args, examples: &Examples) -> anyhow::Result<Report> {
    let cluster = args.connection.connect().await?;
    let name = args.name.as_deref().map(|name| match name.parse::<MirrorName>() {
        Ok(name) => name,
        Err(_) => MirrorName::new(&cluster.namespace, name),
    });
    let pods: Vec<Pod> = gateways::all(&cluster).await?.into_iter().flat_map(|gateway| gateway.pods).collect();
    if pods.is_empty() {
        bail!("no gateway pods run; see `kubectl mirror doctor`");
    }
    let gathered = Gateways::of(&cluster, &pods).gather().await;
    for (pod, error) in &gathered.missing {
        output::message(format_args!("warning: the report is partial, {pod} is missing: {error}"));
    }
    if gathered.missing.len() == pods.len() {
        bail!("none of {} gateway pods could be asked", pods.len());
    }
    let mut report = build::report(&gathered.snapshot, examples);
    let which = match &name {
        Some(name) => Which::One(name),
        None if args.all_namespaces => Which::All,
        None => Which::Namespace(&cluster.namespace),
    };
    report.mirrors.retain(|mirror| match which {
        Which::All => true,
        Which::Namespace(namespace) => mirror.name.split_once('/').is_some_and(|(of, _)| of == namespace),
        Which::One(name) => mirror.name == name.to_string(),
    });
    let inventory = mirrors(&cluster, which).await?;
    if let (Some(name), true, true) = (&name, report.mirrors.is_empty(), inventory.mirrors.is_empty()) {
        bail!(
            "mirror.kubectl-mirror \"{}\" not found in namespace {}; see `kubectl mirror list -A`",
            name.route,
            name.namespace
        );
    }
    for mirror in &mut report.mirrors {
        let found = inventory.mirrors.iter().find(|found| found.name.to_string() == mirror.name);
        mirror.candidate = found.and_then(|found| Some(found.mirror()?.candidate.knative?.revision));
    }
    Ok(report)
}

/// Writes a report to stdout.
///
/// # Errors
/// Stdout cannot be written.
pub fn show(report: &Report, format: Format, conditions: &[Conditions]) -> anyhow::Result<()> {
    let text = match format {
        Format::Table => table::render(report, output::look()),
        Format::Json => json::render(report),
        Format::Yaml => json::render_yaml(report),
        Format::Markdown => markdown::render(report),
        Format::Html => html::render(report),
        Format::Junit => junit::render(report, conditions),
        Format::Name => report.mirrors.iter().map(|mirror| format!("{}\n", mirror.name)).collect(),
    };
    output::data(&text)
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

/// Leaves only the mirror that `name` means; a route alone means that route in every namespace. Where no mirror has
/// counted anything there is nothing to choose from, and the report says so itself.
fn select(report: &mut Report, name: &str) -> anyhow::Result<()> {
    let is_meant = |mirror: &str| mirror == name || mirror.split_once('/').is_some_and(|(_, route)| route == name);
    if report.mirrors.is_empty() {
        return Ok(());
    }
    if !report.mirrors.iter().any(|mirror| is_meant(&mirror.name)) {
        bail!("no mirror `{name}` has counted anything here; {}", nearest(report, name));
    }
    report.mirrors.retain(|mirror| is_meant(&mirror.name));
    Ok(())
}

/// The mirrors whose names are most like `name`.
fn nearest(report: &Report, name: &str) -> String {
    let likeness = |mirror: &str| {
        let route = mirror.split_once('/').map_or(mirror, |(_, route)| route);
        strsim::jaro_winkler(mirror, name).max(strsim::jaro_winkler(route, name))
    };
    let mut names: Vec<&str> = report.mirrors.iter().map(|mirror| mirror.name.as_str()).collect();
    names.sort_by(|a, b| likeness(b).total_cmp(&likeness(a)));
    let more = if names.len() > 5 { ", …" } else { "" };
    format!("there is {}{more}", names.get(..5).unwrap_or(&names).join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::model::Mirror;

    fn report(names: &[&str]) -> Report {
        let mirror = |name: &&str| Mirror { name: (*name).to_owned(), ..Mirror::default() };
        Report { mirrors: names.iter().map(mirror).collect(), ..Report::default() }
    }

    #[test]
    fn a_name_selects_a_mirror_or_a_route_in_every_namespace() {
        let all = report(&["a/hello", "b/hello", "b/world"]);
        for (name, left) in [("a/hello", &["a/hello"][..]), ("hello", &["a/hello", "b/hello"]), ("world", &["b/world"])]
        {
            let mut some = all.clone();
            select(&mut some, name).expect(name);
            assert_eq!(some.mirrors, report(left).mirrors);
        }
        select(&mut report(&[]), "hello").expect("nothing to choose from");
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_ones_most_like_it() {
        let error = select(&mut report(&["a/zebra", "b/hello", "b/jello"]), "helo").expect_err("unknown").to_string();
        assert!(error.ends_with("there is b/hello, b/jello, a/zebra"), "{error}");
    }
}
