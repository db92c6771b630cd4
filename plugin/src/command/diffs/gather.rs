//! Where examples come from: a file, or the gateways of a cluster.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::Args;
use crate::cluster::{Cluster, LogRange, Pod};
use crate::command::common::not_found;
use crate::diffs::Example;
use crate::diffs::filter::{Filter, Mirrors};
use crate::diffs::json::Missing;
use crate::intent::MirrorName;
use crate::output::message;
use crate::report::text::{plural, thousands};
use crate::source::logs::{self, Event};
use crate::steps::{Which, gateways, mirrors};

/// How many of a log's last lines are looked at where nothing else is said: gateways' logs are long.
const TAIL: u64 = 10_000;
/// The most examples that are kept; older ones are forgotten.
const MOST: usize = 100_000;
/// How long to wait for more after something has come, so that the pods' examples can be put in order.
const PAUSE: Duration = Duration::from_millis(300);
/// Standard input, among the names of files.
const STDIN: &str = "-";

/// Where examples come from.
pub enum Source {
    /// A log.
    File(PathBuf),
    /// The logs of gateway pods.
    Gateways {
        /// Where they run.
        cluster: Box<Cluster>,
        /// The pods.
        pods: Vec<Pod>,
        /// Which part of their logs.
        range: LogRange,
    },
}

impl Source {
    /// What the arguments name. Completes the filter by the mirrors that are meant.
    ///
    /// # Errors
    /// No such mirror, no gateways, and what the API server refuses.
    pub async fn of(args: &Args, filter: &mut Filter) -> Result<Self> {
        let full = args.name.as_deref().and_then(|name| name.parse::<MirrorName>().ok());
        if let Some(file) = &args.file {
            filter.mirrors = match (&full, &args.name) {
                (Some(name), _) => Some(Mirrors::One(name.to_string())),
                (None, Some(route)) => Some(Mirrors::Route(route.clone())),
                (None, None) => None,
            };
            return Ok(Self::File(file.clone()));
        }
        Self::of_cluster(args.connection.connect().await?, args, full, filter).await
    }

    async fn of_cluster(cluster: Cluster, args: &Args, full: Option<MirrorName>, filter: &mut Filter) -> Result<Self> {
        let name = full.or_else(|| Some(MirrorName::new(&cluster.namespace, args.name.as_deref()?)));
        filter.mirrors = match &name {
            Some(name) => {
                check(&cluster, name).await?;
                Some(Mirrors::One(name.to_string()))
            }
            None if args.all_namespaces => None,
            None => Some(Mirrors::Namespace(cluster.namespace.clone())),
        };
        let pods: Vec<Pod> =
            gateways::everywhere(&cluster).await?.into_iter().flat_map(|gateway| gateway.pods).collect();
        if pods.is_empty() {
            bail!("no gateway pods run; see `kubectl mirror doctor`");
        }
        let range = LogRange {
            since: filter.since.map(ago),
            tail: args.tail.or(filter.since.is_none().then_some(TAIL)),
            follow: args.follow,
        };
        Ok(Self::Gateways { cluster: Box::new(cluster), pods, range })
    }

    /// All examples that are wanted and can be read, and the pods whose logs cannot.
    ///
    /// # Errors
    /// A file that cannot be read, or not a single pod's log.
    pub async fn read(&self, filter: &Filter) -> Result<(Vec<Example>, Vec<Missing>)> {
        match self {
            Self::File(file) => Ok((read_file(file, filter)?, Vec::new())),
            Self::Gateways { cluster, pods, range } => {
                let mut events = logs::of_pods(cluster, pods, *range);
                let (mut examples, mut missing) = (Vec::new(), Vec::new());
                while let Some(event) = events.recv().await {
                    match event {
                        Event::Found(example) => keep(&mut examples, *example, filter),
                        Event::Ended { failed: None, .. } => {}
                        Event::Ended { pod, failed: Some(reason) } => {
                            message(format_args!("warning: not all is shown, pod {pod} is missing: {reason}"));
                            missing.push(Missing { gateway: pod, reason });
                        }
                    }
                }
                if missing.len() == pods.len() {
                    bail!("the log of none of {} could be read", plural(pods.len() as u64, "gateway pod"));
                }
                missing.sort_by(|a, b| a.gateway.cmp(&b.gateway));
                Ok((examples, missing))
            }
        }
    }

    /// Reads on and on.
    ///
    /// # Errors
    /// A file, which ends.
    pub fn follow(&self) -> Result<Followed> {
        match self {
            Self::File(_) => bail!("a file cannot be followed"),
            Self::Gateways { cluster, pods, range } => Ok(Followed { events: logs::of_pods(cluster, pods, *range) }),
        }
    }
}

/// Logs that are followed.
pub struct Followed {
    events: mpsc::Receiver<Event>,
}

impl Followed {
    /// What has come next, perhaps nothing that is wanted; `None` once all logs have ended. Pods whose logs end are named.
    pub async fn next(&mut self, filter: &Filter) -> Option<Vec<Example>> {
        let mut examples = Vec::new();
        take(self.events.recv().await?, filter, &mut examples);
        sleep(PAUSE).await;
        while let Ok(event) = self.events.try_recv() {
            take(event, filter, &mut examples);
        }
        Some(examples)
    }
}

/// Takes what a log that is followed has brought.
fn take(event: Event, filter: &Filter, examples: &mut Vec<Example>) {
    match event {
        Event::Found(example) => keep(examples, *example, filter),
        Event::Ended { pod, failed } => {
            let reason = failed.unwrap_or_else(|| "its container has ended".to_owned());
            message(format_args!("warning: pod {pod} is not followed any more: {reason}"));
        }
    }
}

/// Keeps an example that is wanted, at the cost of the older half where there are too many.
fn keep(examples: &mut Vec<Example>, example: Example, filter: &Filter) {
    if filter.wants(&example.line) {
        if examples.len() >= MOST {
            crate::diffs::sort(examples);
            examples.drain(..MOST / 2);
        }
        examples.push(example);
    }
}

fn read_file(file: &Path, filter: &Filter) -> Result<Vec<Example>> {
    let mut examples = Vec::new();
    let found = |line| keep(&mut examples, Example { gateway: None, line }, filter);
    let read = if file == Path::new(STDIN) {
        logs::read(io::stdin().lock(), found)
    } else {
        File::open(file).and_then(|log| logs::read(BufReader::new(log), found))
    };
    read.with_context(|| format!("cannot read the log {}", file.display()))?;
    Ok(examples)
}

/// How long ago a moment is; no time at all where it is yet to come.
fn ago(moment: SystemTime) -> Duration {
    let ago = SystemTime::now().duration_since(moment).unwrap_or_default();
    // Whole seconds are asked for; what is too old is left out afterwards.
    Duration::from_secs(ago.as_secs() + 1)
}

/// Refuses a mirror that does not exist. One that has been disabled may still have left examples, but nobody could tell it from
/// a name that was never right.
async fn check(cluster: &Cluster, name: &MirrorName) -> Result<()> {
    let inventory = mirrors(cluster, Which::One(name)).await?;
    if inventory.mirrors.is_empty() && inventory.unseen.is_empty() {
        return Err(not_found(name));
    }
    Ok(())
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(file) if file == Path::new(STDIN) => f.write_str("standard input"),
            Self::File(file) => write!(f, "{}", file.display()),
            Self::Gateways { pods, range, .. } => {
                let pods = plural(pods.len() as u64, "gateway pod");
                match range.tail {
                    Some(lines) => {
                        write!(f, "the last {} lines of {pods} (--tail looks further back)", thousands(lines))
                    }
                    None => write!(f, "the logs of {pods}"),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::admin::testing::FakeEnvoy;
    use crate::cluster::testing::FakeServer;
    use crate::command::testing::{GATEWAYS, mirrored};
    use crate::diffs::testing::line;
    use crate::intent::Strategy;
    use crate::knative::testing::intent;

    fn args(arguments: &[&str]) -> Result<Args, String> {
        #[derive(clap::Parser)]
        struct Program {
            #[command(flatten)]
            args: Args,
        }
        let program = Program::try_parse_from([&["diffs"], arguments].concat());
        program.map(|program| program.args).map_err(|error| error.to_string())
    }

    /// Two gateways that have logged examples of two mirrors.
    async fn server() -> FakeServer {
        let envoy = FakeEnvoy::start().await;
        let log = |place: &str| {
            let of = |mirror: &str| mirror_core::example::Line { mirror: mirror.into(), ..line(place, "1", "2") };
            format!("access log\n{}\n{}\n", of("store/cart").to_log(), of("other/cart").to_log())
        };
        mirrored(intent("next", Strategy::Overlay))
            .pod(GATEWAYS, "gw-0", &envoy)
            .pod(GATEWAYS, "gw-1", &envoy)
            .log(GATEWAYS, "gw-0", &log("/a"))
            .log(GATEWAYS, "gw-1", &log("/b"))
    }

    /// Where the examples are, and which pods are missing.
    async fn read(server: &FakeServer, arguments: &[&str]) -> Result<(Vec<String>, Vec<String>)> {
        let args = args(arguments).expect("good arguments");
        let mut filter = Filter::default();
        let name = args.name.as_deref().map(|name| MirrorName::new("store", name));
        let source = Source::of_cluster(server.cluster("store"), &args, name, &mut filter).await?;
        let (mut examples, missing) = source.read(&filter).await?;
        crate::diffs::sort(&mut examples);
        let shown = |example: &Example| {
            format!("{} {} {}", example.gateway.as_deref().unwrap_or_default(), example.line.mirror, example.line.place)
        };
        let mut shown: Vec<_> = examples.iter().map(shown).collect();
        shown.sort();
        Ok((shown, missing.into_iter().map(|missing| missing.gateway).collect()))
    }

    #[tokio::test]
    async fn examples_of_a_mirror_come_from_all_gateways() {
        let server = server().await;
        let (examples, missing) = read(&server, &["cart"]).await.expect("examples");
        assert_eq!(examples, ["istio-system/gw-0 store/cart /a", "istio-system/gw-1 store/cart /b"]);
        assert!(missing.is_empty());
        assert_eq!(server.logs_asked()[0], "istio-system/gw-0 container=istio-proxy&tailLines=10000");
        assert_eq!(read(&server, &[]).await.expect("examples").0.len(), 2);
        assert_eq!(read(&server, &["-A"]).await.expect("examples").0.len(), 4);
        assert!(read(&server, &["cart", "--tail", "1"]).await.expect("none of it").0.is_empty());
        let error = read(&server, &["basket"]).await.expect_err("no such mirror").to_string();
        assert!(error.starts_with("mirror.kubectl-mirror \"basket\" not found in namespace store"), "{error}");
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_named() {
        let server = server().await.with(
            "{apiVersion: v1, kind: Pod, metadata: {name: gw-2, namespace: istio-system, labels: {istio: ingressgateway}},\
             status: {phase: Running}}",
        );
        let partial = server.clone().without_log(GATEWAYS, "gw-2");
        let (examples, missing) = read(&partial, &["cart"]).await.expect("examples");
        assert_eq!((examples.len(), missing), (2, vec!["istio-system/gw-2".to_owned()]));
        let error = read(&server.forbid("get", "pods/log"), &["cart"]).await.expect_err("no right").to_string();
        assert_eq!(error, "the log of none of 3 gateway pods could be read");
    }

    #[tokio::test]
    async fn followed_logs_end_when_all_have_ended() {
        let (server, args) = (server().await, args(&["cart", "-f"]).expect("good arguments"));
        let mut filter = Filter::default();
        let name = Some(MirrorName::new("store", "cart"));
        let source = Source::of_cluster(server.cluster("store"), &args, name, &mut filter).await.expect("a source");
        let mut followed = source.follow().expect("logs");
        let mut found = 0;
        while let Some(batch) = followed.next(&filter).await {
            found += batch.len();
        }
        assert_eq!(found, 2);
        assert!(server.logs_asked()[0].contains("follow=true"));
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        for arguments in [
            &["--file", "x", "-f"][..],
            &["--file", "x", "--tail", "1"],
            &["--suggest-rules", "-o", "json"],
            &["cart", "-A"],
            &["--kind", "new"],
            &["--place", "price"],
            &["--last", "0"],
        ] {
            assert!(args(arguments).is_err(), "{arguments:?}");
        }
    }
}
