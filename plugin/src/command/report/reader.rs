//! Reads the numbers that a report is made of, from wherever the command line says, once or again and again.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};

use super::Args;
use super::progress::Progress;
use super::select::Selection;
use super::since::{Since, now};
use crate::admin::Admin;
use crate::cluster::{Cluster, Pod};
use crate::command::common::not_found;
use crate::gateway::Gateways;
use crate::output;
use crate::report::examples::Examples;
use crate::report::model::Report;
use crate::report::text::moment;
use crate::report::{build, saved};
use crate::source::baseline::{Baseline, Store};
use crate::source::prometheus::{Prometheus, Range};
use crate::source::{Gathered, admin, prometheus};
use crate::steps::{Which, gateways, mirrors};

/// A source of numbers, with what is wanted of it.
pub struct Reader {
    source: Source,
    selection: Selection,
    examples: Examples,
    /// Where baselines are kept, where one is to be left out.
    baselines: Option<Store>,
}

enum Source {
    /// A report that was saved.
    Saved(Box<Report>),
    /// One Envoy.
    Admin(Box<Admin>),
    /// What was scraped in a time of some length, up to a moment or up to now.
    Prometheus { prometheus: Box<Prometheus>, length: Duration, until: Option<u64> },
    /// All gateway pods of a cluster.
    Cluster(Box<OnCluster>),
}

struct OnCluster {
    cluster: Cluster,
    /// The pods that were asked the last time, by connections that are kept.
    asked: (Vec<Pod>, Gateways),
}

/// How much of a Prometheus is read where nothing is said.
const SINCE: Duration = Duration::from_secs(60 * 60);

impl Reader {
    /// Finds the source, and reads what is read only once.
    ///
    /// # Errors
    /// No such file, no cluster, and times that the source knows nothing of.
    pub async fn open(args: &Args, examples: Examples) -> anyhow::Result<Self> {
        let anywhere = || Selection::anywhere(args.connection.namespace.as_deref(), args.name.as_deref());
        check_times(args)?;
        let (source, selection, address) = if let Some(file) = &args.from {
            let report = read_saved(file)?;
            (Source::Saved(Box::new(report)), anywhere(), String::new())
        } else if let Some(address) = &args.admin {
            (Source::Admin(Box::new(Admin::at(address.clone()))), anywhere(), address.to_string())
        } else if let Some(address) = &args.prometheus {
            let prometheus = Prometheus::at(address.clone(), args.prometheus_token_file.as_deref())?;
            let length = match args.since {
                Some(Since::Before(duration)) => duration,
                _ => SINCE,
            };
            let source = Source::Prometheus { prometheus: Box::new(prometheus), length, until: args.until };
            (source, anywhere(), String::new())
        } else {
            let cluster = args.connection.connect().await?;
            let selection = Selection::on_cluster(&cluster.namespace, args.name.as_deref(), args.all_namespaces);
            let address = cluster.server.clone();
            (Source::Cluster(Box::new(OnCluster { cluster, asked: Default::default() })), selection, address)
        };
        let wants_baselines = args.reset || args.since == Some(Since::Reset);
        let baselines = wants_baselines.then(|| Store::of(&address)).transpose()?;
        Ok(Self { source, selection, examples, baselines })
    }

    /// The same with baselines of another place.
    #[cfg(test)]
    pub fn with_baselines(self, baselines: Store) -> Self {
        Self { baselines: self.baselines.map(|_| baselines), ..self }
    }

    /// Which mirrors are meant.
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// Reads the numbers and makes the report.
    ///
    /// # Errors
    /// There are none to be had, no mirror of that name in them, or no baseline.
    pub async fn read(&mut self) -> anyhow::Result<Report> {
        let mut report = match &self.source {
            Source::Saved(report) => {
                let names: Vec<String> = report.mirrors.iter().map(|mirror| mirror.name.clone()).collect();
                self.selection.check(&names)?;
                (**report).clone()
            }
            Source::Admin(_) | Source::Prometheus { .. } => {
                let gathered = self.gather().await?;
                self.selection.check(&names(&gathered))?;
                build::gathered(&self.without_baseline(gathered)?, &self.examples)
            }
            Source::Cluster(_) => {
                let gathered = self.gather().await?;
                build::gathered(&self.without_baseline(gathered)?, &self.examples)
            }
        };
        let counted = report.mirrors.len();
        report.mirrors.retain(|mirror| self.selection.holds(&mirror.name));
        report.narrowed = report.mirrors.len() < counted;
        if let Source::Cluster(on) = &self.source {
            name_candidates(&on.cluster, &self.selection, &mut report).await?;
        }
        Ok(report)
    }

    /// Stores what has been counted so far as the baseline.
    ///
    /// # Errors
    /// What cannot be read, and a file that cannot be written.
    pub async fn reset(&mut self) -> anyhow::Result<()> {
        let gathered = self.gather().await?;
        let scope = self.selection.scope();
        let Some(store) = &self.baselines else { return Ok(()) };
        store.keep(&scope, &Baseline::take(&gathered, now()))?;
        for (name, reason) in &gathered.missing {
            output::message(format_args!(
                "warning: {name} is missing, so reports --since reset leave it out until it starts anew: {reason}"
            ));
        }
        output::data(&format!("baseline.kubectl-mirror/{scope} stored\n"))?;
        output::message("See what is counted from now on with --since reset");
        Ok(())
    }

    fn without_baseline(&self, gathered: Gathered) -> anyhow::Result<Gathered> {
        let Some(store) = &self.baselines else { return Ok(gathered) };
        match store.latest(&self.selection.covering())? {
            Some(baseline) if baseline.taken > now() => {
                bail!("the baseline is of {}, which is yet to come; store another with --reset", moment(baseline.taken))
            }
            Some(baseline) => Ok(baseline.since(gathered)),
            None => {
                bail!("no baseline of {} is stored for this source; store one with --reset", self.selection.scope())
            }
        }
    }

    /// What the Envoys have counted so far.
    async fn gather(&mut self) -> anyhow::Result<Gathered> {
        match &mut self.source {
            Source::Saved(_) => Ok(Gathered::default()),
            Source::Admin(admin) => Ok(Gathered::one(admin::read_page(admin).await?)),
            Source::Prometheus { prometheus, length, until } => {
                let until = until.unwrap_or_else(now);
                let range = Range { since: until.saturating_sub(length.as_secs()), until };
                Ok(prometheus::read(prometheus, range).await?)
            }
            Source::Cluster(on) => on.gather().await,
        }
    }
}

/// Whether the source can know of the time that is asked for.
fn check_times(args: &Args) -> anyhow::Result<()> {
    match (args.since, &args.prometheus) {
        (Some(Since::Before(duration)), None) => bail!(
            "--since {} needs --prometheus URL: Envoy's counters only grow, so a gateway cannot tell what it counted when. \
             Store a baseline with --reset, and see what is counted from then on with --since reset",
            humantime::format_duration(duration)
        ),
        (Some(Since::Reset), Some(_)) => {
            bail!("--since reset is of gateways themselves; with --prometheus pass a time, for example --since 2h")
        }
        _ => Ok(()),
    }
}

impl OnCluster {
    async fn gather(&mut self) -> anyhow::Result<Gathered> {
        let found = gateways::everywhere(&self.cluster).await?;
        let pods: Vec<Pod> = found.into_iter().flat_map(|gateway| gateway.pods).filter(Pod::is_running).collect();
        if pods.is_empty() {
            bail!("no gateway pods run; see `kubectl mirror doctor`");
        }
        if self.asked.0 != pods {
            self.asked = (pods.clone(), Gateways::of(&self.cluster, &pods));
        }
        let gateways = &self.asked.1;
        let progress = Progress::of(gateways.len());
        let counting = progress.clone();
        let gathered = progress.during(gateways.gather(move || counting.one_more())).await;
        match gathered.missing.first() {
            Some((name, reason)) if gathered.envoys.is_empty() => {
                bail!("none of {} gateway pods could be asked; {name}: {reason}", pods.len())
            }
            _ => Ok(gathered),
        }
    }
}

/// Reads a saved report; `-` is stdin.
///
/// # Errors
/// No such file, and what is no saved report.
pub fn read_saved(file: &Path) -> anyhow::Result<Report> {
    let text =
        if file == Path::new("-") { std::io::read_to_string(std::io::stdin()) } else { fs::read_to_string(file) };
    let text = text.with_context(|| format!("cannot read the report {}", file.display()))?;
    saved::read(&text).with_context(|| format!("cannot read the report {}", file.display()))
}

/// The mirrors that have counted anything.
fn names(gathered: &Gathered) -> Vec<String> {
    let counters = gathered.envoys.iter().flat_map(|envoy| &envoy.counters).filter(|(_, n)| **n > 0);
    let names: BTreeSet<&str> = counters.filter_map(|(metric, _)| Some(metric.mirror()?.as_str())).collect();
    names.into_iter().map(str::to_owned).collect()
}

/// Says what is under test, as the cluster knows it.
async fn name_candidates(cluster: &Cluster, selection: &Selection, report: &mut Report) -> anyhow::Result<()> {
    let one = match selection {
        Selection::One(name) => name.parse().ok(),
        _ => None,
    };
    let which = match (&one, selection) {
        (Some(name), _) => Which::One(name),
        (None, Selection::Namespace(namespace)) => Which::Namespace(namespace),
        (None, _) => Which::All,
    };
    let inventory = mirrors(cluster, which).await?;
    if let (Some(name), true, true) = (&one, report.mirrors.is_empty(), inventory.mirrors.is_empty()) {
        return Err(not_found(name));
    }
    for mirror in &mut report.mirrors {
        let found = inventory.mirrors.iter().find(|found| found.name.to_string() == mirror.name);
        mirror.candidate = found.and_then(|found| Some(found.mirror()?.candidate.knative?.revision));
    }
    Ok(())
}
