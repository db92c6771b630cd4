//! Which crates the module is made of, for its bill of materials: as cargo resolves them for the module's own build, with
//! the checksums that Cargo.lock holds them to.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Between what cargo is asked to say of a crate.
const SEPARATOR: char = '\t';

/// Name and version.
type Id = (String, String);

/// What is said of a crate.
#[derive(Default)]
struct Crate {
    licence: String,
    needs: BTreeSet<Id>,
}

/// The crates as an expression of Rust, for `include!`: a slice of `Crate`, the module's own first.
///
/// # Errors
/// Where cargo cannot tell, and where Cargo.lock cannot be read.
pub fn list(mut cargo: Command, package: &str, target: &str, lock: &Path) -> Result<String, String> {
    cargo
        // What runs while the module is built, macros and build scripts, is not in it.
        .args(["tree", "--locked", "--package", package, "--target", target, "--edges", "normal,no-proc-macro"])
        .args(["--prefix", "depth", "--no-dedupe", "--format", &format!("{SEPARATOR}{{p}}{SEPARATOR}{{l}}")]);
    let output = cargo.output().map_err(|error| format!("cannot run cargo: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo does not list the module's crates:\n{}", String::from_utf8_lossy(&output.stderr)));
    }
    let (root, crates) = read_tree(&String::from_utf8_lossy(&output.stdout))?;
    let lock = fs::read_to_string(lock).map_err(|error| format!("cannot read {}: {error}", lock.display()))?;
    Ok(write(&root, &crates, &checksums(&lock)))
}

/// Reads `cargo tree`: a line for each crate, its depth first, below the crate that needs it.
fn read_tree(tree: &str) -> Result<(Id, BTreeMap<Id, Crate>), String> {
    let mut crates = BTreeMap::<Id, Crate>::new();
    let mut above = Vec::<Id>::new();
    for line in tree.lines() {
        let not_read = || format!("cargo lists a crate in an unknown form: {line}");
        let mut parts = line.split(SEPARATOR);
        let depth: usize = parts.next().and_then(|depth| depth.parse().ok()).ok_or_else(not_read)?;
        // Its version, with a `v` before it, may be followed by where it is.
        let mut package = parts.next().ok_or_else(not_read)?.split(' ');
        let name = package.next().ok_or_else(not_read)?;
        let version = package.next().and_then(|version| version.strip_prefix('v')).ok_or_else(not_read)?;
        let id = (name.to_owned(), version.to_owned());
        crates.entry(id.clone()).or_default().licence = parts.next().ok_or_else(not_read)?.to_owned();
        above.truncate(depth);
        if let Some(parent) = above.last() {
            crates.entry(parent.clone()).or_default().needs.insert(id.clone());
        }
        above.push(id);
    }
    let root = above.first().cloned().ok_or("cargo lists no crate for the module")?;
    Ok((root, crates))
}

/// The checksums in Cargo.lock, which cargo writes in one form only: a key a line, `name` and `version` first. The
/// workspace's own crates have none.
fn checksums(lock: &str) -> HashMap<Id, String> {
    let value =
        |line: &str, key: &str| Some(line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"')?.to_owned());
    let packages = lock.split("[[package]]").skip(1).filter_map(|package| {
        let find = |key: &str| package.lines().find_map(|line| value(line, key));
        Some(((find("name")?, find("version")?), find("checksum")?))
    });
    packages.collect()
}

fn write(root: &Id, crates: &BTreeMap<Id, Crate>, checksums: &HashMap<Id, String>) -> String {
    let first = crates.iter().filter(|(id, _)| *id == root);
    let others = crates.iter().filter(|(id, _)| *id != root);
    let mut text = "&[\n".to_owned();
    for (id, Crate { licence, needs }) in first.chain(others) {
        let (name, version) = id;
        let checksum = checksums.get(id);
        let needs: Vec<_> = needs.iter().map(|(name, version)| (name.as_str(), version.as_str())).collect();
        // Strings and tuples are shown for debugging as Rust reads them. Writing to a string does not fail.
        let _ = writeln!(
            text,
            "    Crate {{ name: {name:?}, version: {version:?}, licence: {licence:?}, checksum: {checksum:?}, needs: &{needs:?} }},"
        );
    }
    text.push_str("]\n");
    text
}
