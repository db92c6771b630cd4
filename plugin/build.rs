//! Builds the module (`mirror-filter` as WebAssembly) that `src/module.rs` puts into the plugin's binary.
//!
//! Beside it comes a list of the crates that it is made of, for `src/image/sbom.rs`.
//!
//! `KUBECTL_MIRROR_MODULE=FILE` takes a module that is built already, for example one that was built for tests. Nothing is
//! known of its crates.

#[path = "build/crates.rs"]
mod crates;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const GIVEN: &str = "KUBECTL_MIRROR_MODULE";
const PACKAGE: &str = "mirror-filter";
const TARGET: &str = "wasm32-wasip1";

/// In place of the folder that cargo unpacks crates in.
const CRATES: &str = "/crates";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            // `cargo::error` is shown without the noise of a panic's trace.
            for line in message.lines() {
                println!("cargo::error={line}");
            }
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    println!("cargo::rerun-if-env-changed={GIVEN}");
    let out = PathBuf::from(var("OUT_DIR")?);
    let (module, crates) = match env::var_os(GIVEN) {
        Some(file) => {
            let file = PathBuf::from(file);
            println!("cargo::rerun-if-changed={}", file.display());
            (file, "&[]\n".to_owned())
        }
        None => build(&out)?,
    };
    let copy = out.join("module.wasm");
    fs::copy(&module, &copy).map_err(|error| format!("cannot copy the module {}: {error}", module.display()))?;
    let list = out.join("crates.rs");
    fs::write(&list, crates).map_err(|error| format!("cannot write {}: {error}", list.display()))
}

/// Runs a cargo inside this one, in a target folder of its own, and gives the module's path and the list of its crates.
fn build(out: &Path) -> Result<(PathBuf, String), String> {
    let manifest = PathBuf::from(var("CARGO_MANIFEST_DIR")?);
    let root = manifest.parent().ok_or("the plugin has no workspace above it")?;
    for input in ["filter", "Cargo.toml", "Cargo.lock", ".cargo/config.toml"] {
        println!("cargo::rerun-if-changed={}", root.join(input).display());
    }
    check_target()?;

    // OUT_DIR is <target>/<profile>/build/<package>/out.
    let target = out.ancestors().nth(4).ok_or("OUT_DIR is not where cargo puts it")?.join("module");
    let mut build = cargo(root)?;
    build
        .args(["build", "--locked", "--package", PACKAGE, "--profile", "module", "--target", TARGET])
        // These come after the flags in .cargo/config.toml, where RUSTFLAGS would take their place.
        .args(["--config", &format!("target.{TARGET}.rustflags={:?}", remapped())])
        .arg("--target-dir")
        .arg(&target);
    let output = build.output().map_err(|error| format!("cannot run cargo: {error}"))?;
    if !output.status.success() {
        return Err(format!("the module does not build:\n{}", String::from_utf8_lossy(&output.stderr)));
    }
    let crates = crates::list(cargo(root)?, PACKAGE, TARGET, &root.join("Cargo.lock"))?;
    Ok((target.join(TARGET).join("module").join("mirror_filter.wasm"), crates))
}

/// The cargo that runs this, without what holds for the plugin and must not hold for the module: flags for another
/// machine, and clippy as a compiler.
fn cargo(root: &Path) -> Result<Command, String> {
    let mut cargo = Command::new(var("CARGO")?);
    cargo.current_dir(root);
    for name in [
        "CARGO_BUILD_TARGET",
        "CARGO_BUILD_RUSTFLAGS",
        "CARGO_ENCODED_RUSTFLAGS",
        "RUSTFLAGS",
        "RUSTC",
        "RUSTC_WORKSPACE_WRAPPER",
    ] {
        cargo.env_remove(name);
    }
    Ok(cargo)
}

/// The compiler's flags that keep this machine's folders out of the module. A panic's place is a path in it: those of the
/// workspace are relative, those of other crates begin with the folder of the registry that they come from.
fn remapped() -> Vec<String> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| Some(env::home_dir()?.join(".cargo")));
    let registries = home.and_then(|home| fs::read_dir(home.join("registry/src")).ok());
    let mut folders: Vec<PathBuf> = registries.into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    folders.sort();
    folders.iter().map(|folder| format!("--remap-path-prefix={}={CRATES}", folder.display())).collect()
}

fn check_target() -> Result<(), String> {
    let output = Command::new(var("RUSTC")?)
        .args(["--print", "target-libdir", "--target", TARGET])
        .output()
        .map_err(|error| format!("cannot run rustc: {error}"))?;
    let folder = String::from_utf8_lossy(&output.stdout);
    if output.status.success() && Path::new(folder.trim()).exists() {
        return Ok(());
    }
    Err(format!("the module needs the compiler's target {TARGET}: run `rustup target add {TARGET}`"))
}

fn var(name: &str) -> Result<String, String> {
    env::var(name).map_err(|error| format!("{name}: {error}"))
}
