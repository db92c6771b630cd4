//! The module under test, as files that Envoy can load.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::build::{self, Artifact};

/// The request header that makes [`trapping`] trap.
pub const TRAP_HEADER: &str = "x-mirror-test-trap";

/// The module as users get it: the one inside the plugin.
pub fn built() -> &'static Path {
    static MODULE: OnceLock<PathBuf> = OnceLock::new();
    MODULE.get_or_init(|| {
        let path = build::target().join("module-of-the-plugin.wasm");
        std::fs::write(&path, kubectl_mirror::module::MODULE).expect("the module is written");
        path
    })
}

/// The module with a way to make it trap.
pub fn trapping() -> &'static Path {
    static MODULE: OnceLock<PathBuf> = OnceLock::new();
    MODULE.get_or_init(|| {
        let package = ["--package", "mirror-filter", "--features", "trap"];
        let kind = ["--profile", "module", "--target", "wasm32-wasip1"];
        build::cargo(&[package, kind].concat(), Artifact::Module)
    })
}

/// The SHA-256 checksum of a file, in hex.
pub fn sha256(path: &Path) -> String {
    let output = Command::new("sha256sum").arg(path).output().expect("sha256sum runs");
    let line = String::from_utf8(output.stdout).expect("text");
    line.split(' ').next().expect("a checksum").to_owned()
}
