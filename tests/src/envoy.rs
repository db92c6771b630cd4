//! Real Envoys: which ones to test, a running one, and its admin interface.

use std::collections::BTreeMap;
use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use kubectl_mirror::local::die_with_this_thread;
use serde_json::Value;
use tempfile::TempDir;

use crate::client::{self, Protocol, Request};
use crate::wait;

/// A colon-separated list of Envoy programs to test with.
const VARIABLE: &str = "MIRROR_TEST_ENVOYS";

/// Lines of Envoy's log that a failed test shows.
const TAIL: usize = 60;

/// An Envoy program.
#[derive(Debug)]
pub struct Binary {
    /// Where it lies.
    pub path: PathBuf,
    /// For example `1.40.0`.
    pub version: String,
}

/// The Envoys to test with: those that `MIRROR_TEST_ENVOYS` lists, otherwise all that `make` put into `.tools/envoy`.
///
/// # Panics
/// When there is none.
pub fn binaries() -> &'static [Binary] {
    static BINARIES: OnceLock<Vec<Binary>> = OnceLock::new();
    BINARIES.get_or_init(|| {
        let paths = match std::env::var(VARIABLE) {
            Ok(list) => list.split(':').filter(|path| !path.is_empty()).map(PathBuf::from).collect(),
            Err(_) => in_tools(),
        };
        assert!(!paths.is_empty(), "no Envoy to test with: run `make test`, or set {VARIABLE} to a list of programs");
        paths.into_iter().map(Binary::new).collect()
    })
}

fn in_tools() -> Vec<PathBuf> {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.tools/envoy");
    let mut found: Vec<_> = std::fs::read_dir(tools)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path().join("envoy")))
        .filter(|path| path.exists())
        .collect();
    found.sort();
    found
}

impl Binary {
    fn new(path: PathBuf) -> Self {
        let output = Command::new(&path).arg("--version").output();
        let output = output.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        // <path>  version: <commit>/1.40.0/Clean/RELEASE/BoringSSL
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let version = text.split_once("version:").and_then(|(_, version)| version.split('/').nth(1));
        let version = version.unwrap_or("of an unknown version").to_owned();
        Self { path, version }
    }
}

/// A running Envoy. Dropping it stops it; if the test is failing, its log is kept and the end of it shown.
#[derive(Debug)]
pub struct Envoy {
    version: &'static str,
    admin: SocketAddr,
    directory: Option<TempDir>,
    stop: Option<Sender<()>>,
    warden: Option<JoinHandle<()>>,
    process: Arc<Mutex<Process>>,
}

/// What is known of the process.
#[derive(Debug, Default)]
struct Process {
    id: Option<u32>,
    ended: Option<ExitStatus>,
}

impl Envoy {
    /// Starts an Envoy with `workers` worker threads and waits until it is ready. The bootstrap's admin port should be 0.
    ///
    /// # Panics
    /// When it does not get ready; its log is shown.
    pub async fn start(binary: &'static Binary, bootstrap: &Value, workers: usize) -> Self {
        Self::start_in(&std::env::temp_dir(), binary, bootstrap, workers, &[]).await
    }

    /// The same with its own directory made in `folder`, and more command line.
    ///
    /// # Panics
    /// When it does not get ready; its log is shown.
    pub async fn start_in(
        folder: &Path,
        binary: &'static Binary,
        bootstrap: &Value,
        workers: usize,
        arguments: &[&str],
    ) -> Self {
        let directory = tempfile::Builder::new().prefix("mirror-test-").tempdir_in(folder).expect("a directory");
        let path = |name: &str| directory.path().join(name);
        std::fs::write(path("envoy.json"), bootstrap.to_string()).expect("the bootstrap is written");
        let log = File::create(path("envoy.log")).expect("a file for the log");
        let mut command = Command::new(&binary.path);
        command.arg("--config-path").arg(path("envoy.json"));
        command.arg("--admin-address-path").arg(path("admin"));
        command.args(["--log-level", "info", "--disable-hot-restart", "--concurrency", &workers.to_string()]);
        command.args(arguments).stdin(std::process::Stdio::null());
        command.stdout(log.try_clone().expect("a second handle")).stderr(log);

        let (stop, stopped) = channel();
        let process = Arc::<Mutex<Process>>::default();
        let note = Arc::clone(&process);
        // Envoy is ended by the system when the thread that started it ends, also where nothing is dropped (a cluster's
        // gateways): it gets a thread of its own.
        die_with_this_thread(&mut command);
        let warden = std::thread::spawn(move || {
            let child = command.spawn().expect("Envoy starts");
            note.lock().expect("no poison").id = Some(child.id());
            let status = watch_over(child, &stopped);
            note.lock().expect("no poison").ended = Some(status);
        });
        let unknown = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut envoy = Self {
            version: &binary.version,
            admin: unknown,
            directory: Some(directory),
            stop: Some(stop),
            warden: Some(warden),
            process,
        };
        let admin_file = envoy.file("admin");
        envoy.admin = wait::until("Envoy's admin interface", async || {
            envoy.assert_running();
            std::fs::read_to_string(&admin_file).ok()?.trim().parse().ok()
        })
        .await;
        wait::until("Envoy to be ready", async || {
            envoy.assert_running();
            (envoy.try_get("/ready").await?.0 == 200).then_some(())
        })
        .await;
        envoy
    }

    /// Whether the process is still there.
    pub fn is_running(&self) -> bool {
        self.process.lock().expect("no poison").ended.is_none()
    }

    fn assert_running(&self) {
        let ended = self.process.lock().expect("no poison").ended;
        assert!(ended.is_none(), "Envoy {} ended: {ended:?}", self.version);
    }

    /// How long its threads have been on a CPU so far, all together.
    pub fn cpu_time(&self) -> Duration {
        let id = self.process.lock().expect("no poison").id.expect("it was started");
        let threads = std::fs::read_dir(format!("/proc/{id}/task")).expect("a running process");
        // The first number of a thread's `schedstat` is its time on a CPU, in nanoseconds.
        let times = threads.flatten().filter_map(|thread| {
            let line = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        });
        Duration::from_nanos(times.sum())
    }

    /// Its version, for example `1.40.0`.
    pub fn version(&self) -> &str {
        self.version
    }

    /// Where its admin interface listens.
    pub fn admin(&self) -> SocketAddr {
        self.admin
    }

    /// A file in this Envoy's own directory, where its `envoy.log` lies.
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.as_ref().expect("it is kept until the drop").path().join(name)
    }

    /// All that Envoy has logged or otherwise printed so far.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(self.file("envoy.log")).unwrap_or_default()).into_owned()
    }

    async fn try_get(&self, path: &str) -> Option<(u16, String)> {
        let answer = client::once(self.admin, Protocol::Http1, &Request::get(path)).await.ok()?;
        Some((answer.status, String::from_utf8_lossy(&answer.body).into_owned()))
    }

    /// The admin interface's answer to `GET path`.
    ///
    /// # Panics
    /// When it does not answer 200.
    pub async fn get(&self, path: &str) -> String {
        let (status, body) = self.try_get(path).await.unwrap_or_else(|| panic!("the admin interface: {path}"));
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    /// Counters and gauges whose name holds `part` (a regular expression).
    pub async fn stats(&self, part: &str) -> BTreeMap<String, u64> {
        let json = self.get(&format!("/stats?format=json&filter={part}")).await;
        let json: Value = serde_json::from_str(&json).expect("JSON from the admin interface");
        let stats = json["stats"].as_array().expect("a list of stats");
        stats.iter().filter_map(|stat| Some((stat["name"].as_str()?.to_owned(), stat["value"].as_u64()?))).collect()
    }

    /// One counter or gauge; 0 where Envoy does not know it.
    pub async fn stat(&self, name: &str) -> u64 {
        let quoted = name.replace('.', "\\.");
        self.stats(&format!("^{quoted}$")).await.get(name).copied().unwrap_or(0)
    }

    /// The address that the listener `name` got.
    pub async fn listener(&self, name: &str) -> SocketAddr {
        wait::until("the listener's address", async || {
            let json: Value = serde_json::from_str(&self.get("/listeners?format=json").await).ok()?;
            let all = json["listener_statuses"].as_array()?;
            let address = &all.iter().find(|listener| listener["name"] == name)?["local_address"]["socket_address"];
            let port = u16::try_from(address["port_value"].as_u64()?).ok().filter(|port| *port != 0)?;
            Some(SocketAddr::new(address["address"].as_str()?.parse().ok()?, port))
        })
        .await
    }
}

/// Waits until Envoy ends by itself or the test is done with it.
fn watch_over(mut child: Child, stopped: &Receiver<()>) -> ExitStatus {
    loop {
        match stopped.recv_timeout(Duration::from_millis(50)) {
            Err(RecvTimeoutError::Timeout) => {
                if let Some(status) = child.try_wait().expect("a child of ours") {
                    return status;
                }
            }
            // Nothing of Envoy's own end is under test, so there is no need to wait for its slow farewell.
            Ok(()) | Err(RecvTimeoutError::Disconnected) => {
                let _ = child.kill();
                return child.wait().expect("a child of ours");
            }
        }
    }
}

impl Drop for Envoy {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(warden) = self.warden.take() {
            let _ = warden.join();
        }
        if std::thread::panicking() {
            let log = self.log();
            // The long lists of what this build of Envoy knows would drown what happened.
            let lines: Vec<_> = log.lines().filter(|line| !line.contains("[info][main]")).collect();
            let tail = lines.get(lines.len().saturating_sub(TAIL)..).unwrap_or_default().join("\n");
            let kept = self.directory.take().map(TempDir::keep).unwrap_or_default();
            eprintln!("--- Envoy {}; all of its files are in {}\n{tail}\n---", self.version, kept.display());
        }
    }
}
