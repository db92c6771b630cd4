//! One run of a local Envoy, from its start until it is dropped.

use std::fmt::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::time::sleep;

use super::admin::Admin;
use super::files::Files;
use super::find::Envoy;
use super::process::Process;
use crate::envoy::static_config::LISTENER;

/// A running Envoy. It ends when this is dropped.
#[derive(Debug)]
pub struct Session {
    admin: Admin,
    listen: SocketAddr,
    process: Process,
}

/// How long Envoy may take to start: it compiles the module first.
const START: Duration = Duration::from_secs(30);
/// How often to look in between.
const LOOK: Duration = Duration::from_millis(50);
/// How many lines of Envoy's log are shown when it does not start.
const COMPLAINTS: usize = 5;

impl Session {
    /// Starts Envoy on the files that are written already, and waits until it serves.
    ///
    /// # Errors
    /// An Envoy that does not start, with the last complaints of its log.
    pub async fn start(envoy: &Envoy, files: &Files, workers: usize) -> Result<Self> {
        let (stdout, stderr) = files.open_log().context("cannot write Envoy's log")?;
        let mut command = Command::new(&envoy.path);
        command
            .arg("--config-path")
            .arg(files.bootstrap())
            .arg("--admin-address-path")
            .arg(files.admin())
            .args(["--concurrency", &workers.to_string()])
            // Several Envoys run side by side, and leave nothing in shared memory.
            .arg("--disable-hot-restart")
            // The module's examples are log lines.
            .args(["--log-level", "warning", "--component-log-level", "wasm:info"])
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(stderr);
        let process = Process::start(command).with_context(|| format!("cannot run {}", envoy.path.display()))?;
        let started = async {
            let admin = wait_for_admin(&files.admin()).await;
            while !admin.is_ready().await {
                sleep(LOOK).await;
            }
            let listen = admin.listener(LISTENER).await?;
            anyhow::Ok((admin, listen))
        };
        let (admin, listen) = tokio::select! {
            started = started => started?,
            status = process.ended() => {
                let how = status.map_or("it ended".to_owned(), |status| status.to_string());
                bail!("Envoy did not start ({how}){}", quote(&files.complaints(COMPLAINTS)));
            }
            () = sleep(START) => {
                bail!("Envoy did not start within {} s{}", START.as_secs(), quote(&files.complaints(COMPLAINTS)));
            }
        };
        Ok(Self { admin, listen, process })
    }

    /// Its admin page.
    pub fn admin(&self) -> &Admin {
        &self.admin
    }

    /// Where clients connect.
    pub fn listen(&self) -> SocketAddr {
        self.listen
    }

    /// Waits until Envoy ends by itself, which it should not, and says how it did.
    pub async fn ended(&self) -> String {
        self.process.ended().await.map_or("unknown".to_owned(), |status| status.to_string())
    }
}

async fn wait_for_admin(file: &Path) -> Admin {
    loop {
        // The file may be seen before its content is.
        let address = std::fs::read_to_string(file).ok().and_then(|text| text.trim().parse().ok());
        if let Some(address) = address {
            return Admin::new(address);
        }
        sleep(LOOK).await;
    }
}

/// Lines of Envoy's log, below a message.
fn quote(lines: &[String]) -> String {
    let mut text = String::new();
    if !lines.is_empty() {
        text.push_str("; its log says:");
    }
    for line in lines {
        let _ = write!(text, "\n  {line}");
    }
    text
}
