//! Builds of this workspace that the tests need beside themselves.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};

use serde_json::Value;

/// Which of the things that a build makes is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Artifact {
    /// A program.
    Program,
    /// A WebAssembly module.
    Module,
}

/// Runs `cargo build` with these arguments and gives the path of what it made last.
///
/// # Panics
/// When the build fails.
pub fn cargo(arguments: &[&str], wanted: Artifact) -> PathBuf {
    // They would only wait for each other inside cargo, without a word.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--locked", "--quiet", "--message-format", "json-render-diagnostics"]);
    command.args(arguments).arg("--target-dir").arg(target()).current_dir(env!("CARGO_MANIFEST_DIR"));
    let output = command.output().expect("cargo runs");
    assert!(output.status.success(), "{arguments:?}:\n{}", String::from_utf8_lossy(&output.stderr));
    let messages = String::from_utf8_lossy(&output.stdout);
    let mut made = messages.lines().filter_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        match wanted {
            Artifact::Program => Some(message["executable"].as_str()?.into()),
            Artifact::Module => {
                let files = message["filenames"].as_array()?;
                files.iter().filter_map(Value::as_str).find(|file| file.ends_with(".wasm")).map(PathBuf::from)
            }
        }
    });
    made.next_back().expect("cargo names what it made")
}

/// Where cargo builds these very tests.
pub fn target() -> &'static Path {
    static TARGET: OnceLock<PathBuf> = OnceLock::new();
    TARGET.get_or_init(|| {
        let program = std::env::current_exe().expect("a program");
        // <target>/<profile>/deps/<program>
        program.ancestors().nth(3).expect("the folder that cargo builds in").to_owned()
    })
}
