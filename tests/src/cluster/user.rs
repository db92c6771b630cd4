//! Somebody who talks to the API server, with a kubeconfig and the programs of a user's machine.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;

use super::folder::{self, Folder};
use crate::program::{self, Ended};

/// A user. The context's namespace is `default`.
#[derive(Clone, Debug)]
pub struct User {
    kubeconfig: PathBuf,
    home: PathBuf,
    path: OsString,
}

impl User {
    /// A user who shows `token` to the API server at `server`, whose authority is in the file `authority`.
    pub(super) fn new(folder: &Folder, name: &str, server: &str, authority: &Path, token: &str) -> Self {
        let kubeconfig = folder.folder("kubeconfigs").join(name);
        let content = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "rig", "cluster": {"server": server, "certificate-authority": authority}}],
            "users": [{"name": name, "user": {"token": token}}],
            "contexts": [{"name": "rig", "context": {"cluster": "rig", "user": name, "namespace": "default"}}],
            "current-context": "rig",
        });
        std::fs::write(&kubeconfig, content.to_string()).expect("the kubeconfig is written");
        Self { kubeconfig, home: folder.folder("home"), path: path_variable(folder) }
    }

    /// His kubeconfig.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// `kubectl` with these arguments; `kubectl mirror` is the plugin.
    pub fn kubectl(&self, arguments: &[&str]) -> Ended {
        Ended::of(self.command("kubectl").args(arguments))
    }

    /// `kubectl` with these arguments, which must succeed; its stdout.
    ///
    /// # Panics
    /// When it fails.
    pub fn kubectl_ok(&self, arguments: &[&str]) -> String {
        let ended = self.kubectl(arguments);
        assert_eq!(ended.status, Some(0), "kubectl {arguments:?}: {ended:#?}");
        ended.stdout
    }

    /// `kubectl` with these arguments and `input` as its stdin.
    pub fn kubectl_with(&self, arguments: &[&str], input: &str) -> Ended {
        self.with_input(self.command("kubectl").args(arguments), input)
    }

    /// `kubectl mirror` with these arguments, without the way through kubectl.
    pub fn mirror(&self, arguments: &[&str]) -> Ended {
        Ended::of(self.command("kubectl-mirror").args(arguments))
    }

    /// One of `kubectl` and `kubectl-mirror`, to be run in this user's environment.
    pub fn command(&self, program: &str) -> Command {
        // A program's name is looked up in our own PATH, not in the child's.
        let program = self.home.with_file_name("bin").join(program);
        let mut command = Command::new(program);
        command.env("KUBECONFIG", &self.kubeconfig).env("HOME", &self.home).env("PATH", &self.path);
        command.current_dir(&self.home).stdin(Stdio::null());
        command
    }

    fn with_input(&self, command: &mut Command, input: &str) -> Ended {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        // Small enough for a pipe, or read before anything is written: kubectl does the latter.
        child.stdin.take().expect("it is piped").write_all(input.as_bytes()).expect("the program reads its input");
        Ended::new(&child.wait_with_output().expect("a child of ours"))
    }
}

/// A PATH that begins with a folder that holds `kubectl`, the plugin, and what kubectl completes its command lines by.
fn path_variable(folder: &Folder) -> OsString {
    let bin = folder.folder("bin");
    let complete = Path::new(env!("CARGO_MANIFEST_DIR")).join("../completion/kubectl_complete-mirror");
    for (name, target) in [
        ("kubectl", folder::tool("kube")),
        ("kubectl-mirror", program::path().to_owned()),
        ("kubectl_complete-mirror", complete),
    ] {
        let link = bin.join(name);
        if !link.exists() {
            std::os::unix::fs::symlink(target, link).expect("a link");
        }
    }
    let rest = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(std::iter::once(bin).chain(std::env::split_paths(&rest))).expect("a PATH")
}
