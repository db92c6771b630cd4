//! Finds an Envoy on this machine.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// An Envoy that can be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envoy {
    /// The program.
    pub path: PathBuf,
    /// Its version, for example `1.40.0`.
    pub version: String,
}

/// The oldest Envoy that can tag copies on their way (`request_headers_mutations` of a mirror policy): major, minor.
const OLDEST: (u32, u32) = (1, 36);

/// Where `make` puts an Envoy, below the project's folder.
const FROM_MAKE: &str = ".tools/envoy/envoy";

/// Finds an Envoy: the one that is `given`, else on the `PATH`, else the one that `make` put into this project.
///
/// # Errors
/// No Envoy, one that does not run, and one that is too old; each with what to do.
pub fn find(given: Option<&Path>) -> Result<Envoy> {
    let path = match given {
        Some(path) => path.to_owned(),
        None => search().with_context(|| {
            format!(
                "no Envoy found: give one with --envoy or ENVOY_BIN, or put one on the PATH\n\
                 It must be {}.{} or newer: https://www.envoyproxy.io/docs/envoy/latest/start/install",
                OLDEST.0, OLDEST.1
            )
        })?,
    };
    let output = Command::new(&path)
        .arg("--version")
        .output()
        .with_context(|| format!("cannot run Envoy at {}", path.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let Some(version) = version(&text) else {
        bail!("{} does not say which version of Envoy it is; is it Envoy?", path.display());
    };
    if !is_new_enough(version) {
        let (major, minor) = OLDEST;
        bail!("the Envoy at {} is version {version}; {major}.{minor} or newer is needed", path.display());
    }
    Ok(Envoy { version: version.to_owned(), path })
}

fn search() -> Option<PathBuf> {
    let on_path: Option<Vec<_>> =
        env::var_os("PATH").map(|path| env::split_paths(&path).map(|folder| folder.join("envoy")).collect());
    let executable = env::current_exe().ok();
    let here = env::current_dir().ok();
    let above = executable.iter().chain(&here).flat_map(|place| place.ancestors()).map(|folder| folder.join(FROM_MAKE));
    on_path.unwrap_or_default().into_iter().chain(above).find(|candidate| candidate.is_file())
}

/// The version in what `envoy --version` prints: `envoy  version: COMMIT/1.40.0/Clean/RELEASE/BoringSSL`.
fn version(text: &str) -> Option<&str> {
    let (_, build) = text.split_once("version: ")?;
    build.split('/').nth(1)
}

fn is_new_enough(version: &str) -> bool {
    let mut numbers = version.split(['.', '-']).map(|number| number.parse::<u32>().ok());
    match (numbers.next().flatten(), numbers.next().flatten()) {
        (Some(major), Some(minor)) => (major, minor) >= OLDEST,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_and_compared() {
        let text = "\n/usr/bin/envoy  version: 9e55809337/1.40.0/Clean/RELEASE/BoringSSL\n\n";
        assert_eq!(version(text), Some("1.40.0"));
        assert_eq!(version("GNU bash, version 5.2\n"), None);
        for (version, good) in
            [("1.36.0", true), ("1.37.0-dev", true), ("2.0.0", true), ("1.35.9", false), ("1.9.0", false), ("x", false)]
        {
            assert_eq!(is_new_enough(version), good, "{version}");
        }
    }

    #[test]
    fn what_is_given_must_be_an_envoy() {
        for (path, said) in [("/nowhere/envoy", "cannot run Envoy at"), ("/bin/true", "is it Envoy?")] {
            let error = find(Some(Path::new(path))).expect_err(path).to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
