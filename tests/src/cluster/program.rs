//! A program of the cluster: a process that ends with this one, and its log.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use kubectl_mirror::local::Process;

use super::folder::{self, Folder};
use crate::wait;

/// Lines of its log that are shown when it does not start.
const TAIL: usize = 40;

/// How long a program may take to get ready: an API server on a busy machine takes a while.
const PATIENCE: Duration = Duration::from_secs(90);

/// A running program; dropping it ends it.
#[derive(Debug)]
pub struct Program {
    name: &'static str,
    log: PathBuf,
    process: Process,
}

impl Program {
    /// Starts it.
    pub fn start(folder: &Folder, name: &'static str, mut command: Command) -> Self {
        let log = folder.file(&format!("{name}.log"));
        let file = File::create(&log).expect("a file for the log");
        command.stdin(Stdio::null()).stdout(file.try_clone().expect("a second handle")).stderr(file);
        command.current_dir(folder.path());
        let process = Process::start(command).unwrap_or_else(|error| panic!("{name}: {error}"));
        Self { name, log, process }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.name
    }

    /// The file with all that it printed.
    pub fn log(&self) -> PathBuf {
        self.log.clone()
    }

    /// Waits until `question` has an answer.
    ///
    /// # Panics
    /// When it has none in time, or the program ends; the end of its log is shown.
    pub async fn ready<T>(&self, question: impl AsyncFnMut() -> Option<T>) -> T {
        let answer = wait::within(PATIENCE, question);
        let answer = tokio::select! {
            answer = answer => answer,
            _ = self.process.ended() => None,
        };
        answer.unwrap_or_else(|| panic!("{} does not get ready:\n{}", self.name, folder::tail(&self.log, TAIL)))
    }
}
