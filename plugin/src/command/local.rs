//! `kubectl mirror local`: a mirror on one machine, without a cluster.

use std::fs::File;
use std::io::{self, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use indicatif::{ProgressBar, ProgressStyle};
use mirror_core::config::{Rules, safe_methods};
use mirror_core::outcome::Outcome;
use mirror_core::stats::names::Metric;
use tokio::process::Command;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, sleep, timeout};

use super::report::{Format, judge, show};
use crate::cli::ExitStatus;
use crate::envoy::{Endpoint, HeaderMatch, PathMatch};
use crate::local::{self, Files, Plan, Session, Wish};
use crate::module::MODULE;
use crate::output::message;
use crate::report::build;
use crate::report::examples::Examples;
use crate::report::fail_on::Conditions;
use crate::report::text::{plural, thousands};
use crate::rules;
use crate::source::{Instance, Module, Snapshot, admin};

/// Compare two servers on this machine's traffic, through a local Envoy and without a cluster.
///
/// Clients that use the printed address are answered by the primary; copies of their requests go to the candidate, whose
/// answers are compared and thrown away. At the end (of COMMAND, of --for, or on Ctrl-C) the report is shown.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The server that clients are answered by: http://, https://, or h2c:// for HTTP/2 in plain text.
    #[arg(long, value_name = "URL")]
    primary: Endpoint,

    /// The server under test.
    #[arg(long, value_name = "URL")]
    candidate: Endpoint,

    /// The primary's version once more, to learn what differs by itself.
    #[arg(long, value_name = "URL")]
    secondary: Option<Endpoint>,

    /// Where clients connect; port 0 for a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: SocketAddr,

    /// The share of requests that is copied, in percent, to four decimals.
    #[arg(long, value_name = "PERCENT", default_value = "100", value_parser = local::parse_percent)]
    percent: u32,

    /// Draw the sample by this request header, so that one user is always in or always out; requests without it are not
    /// copied.
    #[arg(long, value_name = "HEADER")]
    sticky: Option<String>,

    /// Copy only these methods, separated by commas.
    #[arg(long, value_name = "METHODS", value_delimiter = ',', default_values_t = safe_methods(),
        value_parser = local::parse_method)]
    methods: Vec<String>,

    /// Copy only requests with this header: NAME, NAME=VALUE or NAME=PREFIX*. May be given several times; all must hold.
    #[arg(long = "header", value_name = "MATCH")]
    headers: Vec<HeaderMatch>,

    /// Copy only requests to this path: /PATH or /PREFIX*. May be given several times; one must hold.
    #[arg(long = "path", value_name = "MATCH")]
    paths: Vec<PathMatch>,

    /// What to ignore and how closely to compare, in YAML.
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,

    /// Send this Host to all servers; each is sent its own where it is left out.
    #[arg(long, value_name = "HOST")]
    send_host: Option<String>,

    /// Do not verify the certificates of https servers.
    #[arg(long)]
    insecure: bool,

    /// The mirror's name in the report.
    #[arg(long, value_name = "NAME", default_value = "local/mirror")]
    name: String,

    /// The Envoy to run, 1.36 or newer; searched for on the PATH and where `make` puts it.
    #[arg(long, value_name = "PATH", env = "ENVOY_BIN")]
    envoy: Option<PathBuf>,

    /// How many worker threads Envoy gets; as many as there are processors, at most 4, where it is left out.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    workers: Option<u16>,

    /// Keep Envoy's log and configuration in this folder. Else they are kept on failure only.
    #[arg(long, value_name = "FOLDER")]
    log_dir: Option<PathBuf>,

    /// End after this time, for example 30s or 5m.
    #[arg(long = "for", value_name = "TIME", value_parser = humantime::parse_duration)]
    time: Option<Duration>,

    /// End with status 1 where this holds, for example diverged>0.1%; see `kubectl mirror report --help`.
    #[arg(long, value_name = "EXPR")]
    fail_on: Vec<Conditions>,

    /// How to show the report.
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    output: Format,

    /// Run this with the address for clients in MIRROR_URL, and end with it. Its output goes to stderr.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// The variable in which a command finds the address for clients.
const URL: &str = "MIRROR_URL";
/// How many lines of Envoy's log are shown where something is wrong.
const COMPLAINTS: usize = 5;
/// How long Envoy may take to load the module.
const LOADING: Duration = Duration::from_secs(10);
/// How long the module may take to tick, which it does each second.
const TICKS: Duration = Duration::from_secs(4);
/// How often to look in between.
const LOOK: Duration = Duration::from_millis(100);
/// How often the progress is brought up to date.
const PROGRESS: Duration = Duration::from_millis(500);
/// How long a command may take to end by itself after a Ctrl-C, which it was sent too.
const FAREWELL: Duration = Duration::from_secs(2);

/// Runs the command.
///
/// # Errors
/// Wrong arguments, no Envoy, an Envoy that fails, a module that does not compare, and a COMMAND that fails.
pub async fn run(args: Args) -> anyhow::Result<ExitStatus> {
    let plan = Plan::new(wish(&args)?)?;
    let methods = plan.unsafe_methods();
    if !methods.is_empty() {
        let methods = methods.join(", ");
        message(format_args!(
            "warning: {methods} requests are copied too: what they change in the candidate they change twice where both \
             versions share their data"
        ));
    }
    let envoy = local::find(args.envoy.as_deref())?;
    let mut files = Files::new(args.log_dir.as_deref())?;
    files.write(&plan, MODULE, args.listen)?;
    let ended = Run { args: &args, plan: &plan, envoy: &envoy, files: &files }.run().await;
    if ended.is_err() {
        message(format_args!("Envoy's log and configuration are in {}", files.keep().display()));
    }
    ended
}

fn wish(args: &Args) -> anyhow::Result<Wish> {
    let rules = args.rules.as_deref().map(rules::read).transpose()?.unwrap_or_else(Rules::default);
    Ok(Wish {
        primary: args.primary.clone(),
        candidate: args.candidate.clone(),
        secondary: args.secondary.clone(),
        name: args.name.clone(),
        millionths: args.percent,
        methods: args.methods.clone(),
        headers: args.headers.clone(),
        paths: args.paths.clone(),
        sticky: args.sticky.clone(),
        rules,
        host: args.send_host.clone(),
        insecure: args.insecure,
    })
}

/// One run, with all that it needs.
struct Run<'a> {
    args: &'a Args,
    plan: &'a Plan,
    envoy: &'a local::Envoy,
    files: &'a Files,
}

/// Why a run came to its end.
enum End {
    /// The command ended.
    Command(std::process::ExitStatus),
    /// The time is over.
    Time,
    /// A Ctrl-C or SIGTERM.
    Interrupt,
}

impl Run<'_> {
    async fn run(&self) -> anyhow::Result<ExitStatus> {
        let mut interrupts = Interrupts::new()?;
        let session = tokio::select! {
            session = Session::start(self.envoy, self.files, self.workers()) => session?,
            () = interrupts.next() => bail!("interrupted before Envoy was ready"),
        };
        let statistics: admin::Address = session.admin().address().to_string().parse()?;
        self.load_module(&statistics).await?;

        let end = self.traffic(&session, &statistics, &mut interrupts).await?;
        let since = envoy(&admin::read(&statistics).await?).clock;
        let _ = session.admin().stop_listening().await;
        tokio::select! {
            settled = local::settle(session.admin(), async || Ok(count(&admin::read(&statistics).await?).0)) => settled?,
            // Whoever asks twice does not want to wait.
            () = interrupts.next() => {}
        }
        let (snapshot, compared) = self.final_count(&statistics, since).await?;

        let mut examples = Examples::default();
        examples.read(BufReader::new(File::open(self.files.log())?)).context("cannot read Envoy's log")?;
        let mut report = build::report(&snapshot, &examples);
        for mirror in &mut report.mirrors {
            mirror.candidate = Some(self.plan.candidate.to_string());
        }
        show(&report, self.args.output)?;
        let status = judge(&report, &self.args.fail_on);
        if !compared {
            bail!("not everything was compared: the module does not run in Envoy {}", self.envoy.version);
        }
        match end {
            End::Command(status) if !status.success() => bail!("the command failed: {status}"),
            End::Command(_) | End::Time | End::Interrupt => Ok(status),
        }
    }

    /// Waits until Envoy has the module; warns at once where it refuses it, as the traffic to come will not be compared.
    async fn load_module(&self, statistics: &admin::Address) -> anyhow::Result<()> {
        let deadline = Instant::now() + LOADING;
        while Instant::now() < deadline {
            let delivery = envoy(&admin::read(statistics).await?).delivery.unwrap_or_default();
            if delivery.accepted > 0 {
                return Ok(());
            }
            if delivery.rejected > 0 || delivery.failed > 0 {
                break;
            }
            sleep(LOOK).await;
        }
        message(format_args!(
            "warning: Envoy {} refused the module, so nothing will be compared:{}",
            self.envoy.version,
            self.complaints()
        ));
        Ok(())
    }

    /// Reads the statistics once every worker's module has ticked after the second `since` of Envoy's clock: then all that
    /// ended before is counted. `false` where a module does not tick any more.
    async fn final_count(&self, statistics: &admin::Address, since: u64) -> anyhow::Result<(Snapshot, bool)> {
        let deadline = Instant::now() + TICKS;
        loop {
            let snapshot = admin::read(statistics).await?;
            let instance = envoy(&snapshot);
            let ticked = instance.ticks.iter().filter(|tick| **tick > since).count();
            let all = ticked >= usize::try_from(instance.workers).unwrap_or(usize::MAX);
            if all || instance.module() == Module::Rejected || Instant::now() >= deadline {
                return Ok((snapshot, all));
            }
            sleep(LOOK).await;
        }
    }

    fn workers(&self) -> usize {
        let processors = || thread::available_parallelism().map_or(1, |n| n.get().min(4));
        self.args.workers.map_or_else(processors, usize::from)
    }

    /// Lets traffic pass until the command, the time or the user ends it.
    async fn traffic(
        &self,
        session: &Session,
        statistics: &admin::Address,
        interrupts: &mut Interrupts,
    ) -> anyhow::Result<End> {
        let url = format!("http://{}", reachable(session.listen()));
        let mut child = self.command(&url)?;
        let secondary = self.plan.secondary.as_ref().map_or_else(String::new, |server| format!(", secondary {server}"));
        message(format_args!(
            "Listening on {url}  (primary {} → candidate {}{secondary})",
            self.plan.primary, self.plan.candidate
        ));
        let command = async {
            match &mut child {
                Some(child) => child.wait().await.context("cannot wait for the command"),
                None => std::future::pending().await,
            }
        };
        let time = async {
            match self.args.time {
                Some(time) => sleep(time).await,
                None => std::future::pending().await,
            }
        };
        let end = tokio::select! {
            status = command => End::Command(status?),
            () = time => End::Time,
            () = interrupts.next() => End::Interrupt,
            how = session.ended() => return Err(anyhow!("Envoy ended by itself ({how}){}", self.complaints())),
            () = progress(statistics) => unreachable!("progress is shown until something else happens"),
        };
        if let (End::Interrupt, Some(child)) = (&end, &mut child) {
            let _ = timeout(FAREWELL, child.wait()).await;
        }
        Ok(end)
    }

    fn command(&self, url: &str) -> anyhow::Result<Option<tokio::process::Child>> {
        let Some((program, arguments)) = self.args.command.split_first() else { return Ok(None) };
        // Stdout is for the report alone.
        let stderr = io::stderr().as_fd().try_clone_to_owned()?;
        let child = Command::new(program)
            .args(arguments)
            .env(URL, url)
            .stdout(Stdio::from(stderr))
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot run the command `{program}`"))?;
        Ok(Some(child))
    }

    fn complaints(&self) -> String {
        self.files.complaints(COMPLAINTS).iter().map(|line| format!("\n  {line}")).collect()
    }
}

/// The address by which this machine's programs reach `listen`, which may stand for all addresses.
fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        ip if !ip.is_unspecified() => ip,
        IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    };
    SocketAddr::new(ip, listen.port())
}

/// What is known of the one Envoy that was asked.
fn envoy(snapshot: &Snapshot) -> Instance {
    snapshot.instances.first().cloned().unwrap_or_default()
}

/// How many pairs are counted, and how many of them diverged.
fn count(snapshot: &Snapshot) -> (u64, u64) {
    snapshot.counters.iter().fold((0, 0), |(pairs, diverged), (metric, n)| match metric {
        Metric::Pairs { outcome: Outcome::Diverged, .. } => (pairs + n, diverged + n),
        Metric::Pairs { .. } => (pairs + n, diverged),
        _ => (pairs, diverged),
    })
}

/// Shows on a terminal how far the run is; never ends.
async fn progress(statistics: &admin::Address) {
    let style =
        ProgressStyle::with_template("{spinner} {msg}  {elapsed}").unwrap_or_else(|_| ProgressStyle::default_spinner());
    let bar = ProgressBar::new_spinner().with_style(style).with_finish(indicatif::ProgressFinish::AndClear);
    if bar.is_hidden() {
        return std::future::pending().await;
    }
    bar.enable_steady_tick(PROGRESS / 4);
    loop {
        // An Envoy that does not answer is noticed elsewhere.
        if let Ok(snapshot) = admin::read(statistics).await {
            let (pairs, diverged) = count(&snapshot);
            bar.set_message(format!("{}, {} diverged", plural(pairs, "pair"), thousands(diverged)));
        }
        sleep(PROGRESS).await;
    }
}

/// Ctrl-C and SIGTERM.
struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
}

impl Interrupts {
    fn new() -> io::Result<Self> {
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
