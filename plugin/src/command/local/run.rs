//! One run of `kubectl mirror local`, from Envoy's start to the report.

use std::fs::File;
use std::future::pending;
use std::io::{self, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};

use super::Args;
use super::interrupts::Interrupts;
use super::progress::{count, progress};
use crate::cli::ExitStatus;
use crate::command::report::{judge, show};
use crate::local::{self, Files, Plan, Session};
use crate::output::message;
use crate::report::build;
use crate::report::examples::Examples;
use crate::source::{Instance, Module, Snapshot, admin};

/// The variable in which a command finds the address for clients.
const URL: &str = "MIRROR_URL";
/// How many lines of Envoy's log are shown where something is wrong.
const COMPLAINTS: usize = 5;
/// How long Envoy may take to load the module.
const LOADING: Duration = Duration::from_secs(10);
/// How long the module may take to tick, which it does each second. Where it does not, the report is to say so too.
const TICKS: Duration = Duration::from_secs(Instance::ALIVE_WITHIN + 2);
/// How often to look in between.
const LOOK: Duration = Duration::from_millis(100);
/// How long a command may take to end by itself after a Ctrl-C, which it was sent too.
const FAREWELL: Duration = Duration::from_secs(2);

/// One run, with all that it needs.
pub struct Run<'a> {
    /// What the user asked for.
    pub args: &'a Args,
    /// What comes of it.
    pub plan: &'a Plan,
    /// The Envoy to run.
    pub envoy: &'a local::Envoy,
    /// The files to run it on, written already.
    pub files: &'a Files,
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
    /// Runs it.
    ///
    /// # Errors
    /// An Envoy that fails, a module that does not compare, and a command that fails.
    pub async fn run(&self) -> anyhow::Result<ExitStatus> {
        let mut interrupts = Interrupts::new()?;
        let session = tokio::select! {
            session = Session::start(self.envoy, self.files, self.workers()) => session?,
            () = interrupts.next() => bail!("interrupted before Envoy was ready"),
        };
        let statistics: admin::Address = session.admin().address().to_string().parse()?;
        let loaded = self.load_module(&statistics).await?;

        let end = self.traffic(&session, &statistics, &mut interrupts).await?;
        let last_tick = envoy(&admin::read(&statistics).await?).ticks.into_values().max().unwrap_or(0);
        let _ = session.admin().stop_listening().await;
        let counted = async || Ok(count(&admin::read(&statistics).await?).0);
        if loaded {
            tokio::select! {
                settled = local::settle(session.admin(), counted) => settled?,
                // Whoever asks twice does not want to wait.
                () = interrupts.next() => {}
            }
        }
        let (snapshot, compared) = self.final_count(&statistics, last_tick).await?;

        let mut examples = Examples::default();
        examples.read(BufReader::new(File::open(self.files.log())?)).context("cannot read Envoy's log")?;
        let mut report = build::report(&snapshot, &examples);
        for mirror in &mut report.mirrors {
            mirror.candidate = Some(self.plan.candidate.to_string());
        }
        show(&report, self.args.output, &self.args.fail_on)?;
        let status = judge(&report, &self.args.fail_on);
        if !compared {
            bail!("not everything was compared: the module has stopped, or never ran, in Envoy {}", self.envoy.version);
        }
        match end {
            End::Command(status) if !status.success() => bail!("the command failed: {status}"),
            End::Command(_) | End::Time | End::Interrupt => Ok(status),
        }
    }

    /// Waits until Envoy has the module, and says whether it has; warns at once where it refuses it, as the traffic to come
    /// will not be compared.
    async fn load_module(&self, statistics: &admin::Address) -> anyhow::Result<bool> {
        let deadline = Instant::now() + LOADING;
        while Instant::now() < deadline {
            let delivery = envoy(&admin::read(statistics).await?).delivery.unwrap_or_default();
            if delivery.accepted > 0 {
                return Ok(true);
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
        Ok(false)
    }

    /// Reads the statistics once every VM of the module has ticked later than `last_tick`, the last one before the end of
    /// the traffic: then none of them died until then. `false` where one does not tick any more.
    async fn final_count(&self, statistics: &admin::Address, last_tick: u64) -> anyhow::Result<(Snapshot, bool)> {
        let deadline = Instant::now() + TICKS;
        loop {
            let snapshot = admin::read(statistics).await?;
            let instance = envoy(&snapshot);
            let all = instance.has_ticked_after(last_tick);
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
                None => pending().await,
            }
        };
        let time = async {
            match self.args.time {
                Some(time) => sleep(time).await,
                None => pending().await,
            }
        };
        let end = tokio::select! {
            status = command => End::Command(status?),
            () = time => End::Time,
            () = interrupts.next() => End::Interrupt,
            how = session.ended() => return Err(anyhow!("Envoy ended by itself ({how}){}", self.complaints())),
            never = progress(statistics) => match never {},
        };
        if let (End::Interrupt, Some(child)) = (&end, &mut child) {
            let _ = timeout(FAREWELL, child.wait()).await;
        }
        Ok(end)
    }

    fn command(&self, url: &str) -> anyhow::Result<Option<Child>> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_given_an_address_that_it_can_use() {
        for (listen, reached) in
            [("0.0.0.0:80", "127.0.0.1:80"), ("[::]:80", "[::1]:80"), ("192.0.2.1:80", "192.0.2.1:80")]
        {
            assert_eq!(reachable(listen.parse().expect("an address")).to_string(), reached);
        }
    }
}
