//! The plugin's program, as a user runs it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::TempDir;

use crate::build::{self, Artifact};
use crate::envoy::Binary;
use crate::wait;

/// The program, built from this workspace.
pub fn path() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| build::cargo(&["--package", "kubectl-mirror", "--bin", "kubectl-mirror"], Artifact::Program))
}

/// A run of `kubectl mirror local`, with a folder for its files. Dropping it ends it.
#[derive(Debug)]
pub struct Local {
    child: Option<Child>,
    folder: TempDir,
}

impl Local {
    /// Starts it with these arguments, among which `FOLDER` stands for the run's folder. Envoy's files are kept there.
    pub fn start(binary: &Binary, arguments: &[&str]) -> Self {
        let folder = tempfile::Builder::new().prefix("mirror-local-").tempdir().expect("a folder");
        let shown = folder.path().to_string_lossy().into_owned();
        let mut command = Command::new(path());
        command.args(["local", "--log-dir", &shown, "--workers", "2", "--envoy"]).arg(&binary.path);
        command.args(arguments.iter().map(|argument| argument.replace("FOLDER", &shown)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Envoy ends with the thread of the plugin that started it, not with this one.
        let child = command.spawn().expect("the program starts");
        Self { child: Some(child), folder }
    }

    /// A file in its folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.as_ref().expect("it was not waited for").id()
    }

    /// Sends it a signal, for example `INT`.
    pub fn signal(&self, signal: &str) {
        let status = Command::new("kill").args(["-s", signal, &self.id().to_string()]).status().expect("kill runs");
        assert!(status.success());
    }

    /// Waits for its end.
    pub async fn output(&mut self) -> Ended {
        let child = self.child.take().expect("it was not waited for");
        let waiting = tokio::task::spawn_blocking(move || child.wait_with_output().expect("a child of ours"));
        let patience = wait::PATIENCE * 3;
        let output = tokio::time::timeout(patience, waiting).await.expect("it ends").expect("waiting does not panic");
        Ended::new(&output)
    }

    /// The command line of the Envoy that works with this run's folder, where there is one.
    pub fn envoy(&self) -> Option<String> {
        let folder = self.folder.path().to_string_lossy().into_owned();
        let processes = std::fs::read_dir("/proc").expect("the processes").flatten();
        let lines = processes.filter_map(|entry| {
            let line = std::fs::read(entry.path().join("cmdline")).ok()?;
            Some(String::from_utf8_lossy(&line).replace('\0', " "))
        });
        lines.filter(|line| line.contains(&folder) && !line.contains(" local ")).find(|line| line.contains("envoy"))
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// How a run ended.
#[derive(Debug)]
pub struct Ended {
    /// The exit status.
    pub status: Option<i32>,
    /// What it wrote to stdout.
    pub stdout: String,
    /// What it wrote to stderr.
    pub stderr: String,
}

impl Ended {
    /// Runs a program to its end.
    pub fn of(command: &mut Command) -> Self {
        Self::new(&command.output().expect("the program runs"))
    }

    pub(crate) fn new(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { status: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }

    /// Its stdout as JSON.
    ///
    /// # Panics
    /// When it is none.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

/// Runs the program with these arguments, which should end by themselves.
pub fn run(arguments: &[&str]) -> Ended {
    Ended::of(Command::new(path()).args(arguments).stdin(Stdio::null()))
}
