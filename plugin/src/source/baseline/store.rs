//! The files in which baselines are kept: `$XDG_STATE_HOME/kubectl-mirror/baselines/SOURCE/SCOPE.json`, or under
//! `~/.local/state` where the variable is not set. A source is an API server or an admin address; a scope is a mirror
//! (`shop/hello`), those of a namespace (`shop/*`), or all (`*`).

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;
use thiserror::Error;

use super::Baseline;

/// The version of the files.
const VERSION: u32 = 1;

/// The baselines of one source.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

/// Why a baseline cannot be kept, or read.
#[derive(Debug, Error)]
pub enum StoreError {
    /// There is no place for it.
    #[error("there is no place to keep a baseline: neither $XDG_STATE_HOME nor a home directory is set")]
    NoHome,
    /// The system refuses.
    #[error("cannot {what} the baseline {}: {error}", file.display())]
    File {
        /// `read` or `store`.
        what: &'static str,
        /// Which.
        file: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// What is in the file is no baseline.
    #[error("{} is no baseline of this version ({reason}); --reset stores another in its place", file.display())]
    Damaged {
        /// Which.
        file: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

#[derive(Serialize, Deserialize)]
struct File {
    version: u32,
    #[serde(flatten)]
    baseline: Baseline,
}

impl Store {
    /// The baselines of a source.
    ///
    /// # Errors
    /// [`StoreError::NoHome`].
    pub fn of(source: &str) -> Result<Self, StoreError> {
        let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
        let state = state.or_else(|| Some(std::env::home_dir()?.join(".local/state"))).ok_or(StoreError::NoHome)?;
        Ok(Self::within(&state, source))
    }

    /// The baselines of a source, in a folder for all state.
    pub fn within(state: &Path, source: &str) -> Self {
        Self { folder: state.join("kubectl-mirror/baselines").join(file_name(source)) }
    }

    /// Keeps a baseline of a scope, in the place of the one before.
    ///
    /// # Errors
    /// [`StoreError::File`].
    pub fn keep(&self, scope: &str, baseline: &Baseline) -> Result<(), StoreError> {
        let file = self.file(scope);
        let write = || -> std::io::Result<()> {
            fs::create_dir_all(&self.folder)?;
            // Whole or not at all.
            let mut new = NamedTempFile::new_in(&self.folder)?;
            serde_json::to_writer(&mut new, &File { version: VERSION, baseline: baseline.clone() })?;
            new.flush()?;
            new.persist(&file)?;
            Ok(())
        };
        write().map_err(|error| StoreError::File { what: "store", file: file.clone(), error })
    }

    /// The latest of the baselines of these scopes; `None` where there is none.
    ///
    /// # Errors
    /// A file that cannot be read, or is damaged.
    pub fn latest(&self, scopes: &[String]) -> Result<Option<Baseline>, StoreError> {
        let mut latest: Option<Baseline> = None;
        for scope in scopes {
            let Some(found) = self.read(scope)? else { continue };
            if latest.as_ref().is_none_or(|latest| latest.taken < found.taken) {
                latest = Some(found);
            }
        }
        Ok(latest)
    }

    fn read(&self, scope: &str) -> Result<Option<Baseline>, StoreError> {
        let file = self.file(scope);
        let text = match fs::read(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StoreError::File { what: "read", file, error }),
        };
        match serde_json::from_slice(&text) {
            Ok(File { version: VERSION, baseline }) => Ok(Some(baseline)),
            Ok(File { version, .. }) => Err(StoreError::Damaged { file, reason: format!("its version is {version}") }),
            Err(error) => Err(StoreError::Damaged { file, reason: error.to_string() }),
        }
    }

    fn file(&self, scope: &str) -> PathBuf {
        self.folder.join(format!("{}.json", file_name(scope)))
    }
}

/// A name that no file system minds, a different one for each text.
fn file_name(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02x}") }).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn baseline(taken: u64) -> Baseline {
        Baseline { taken, envoys: BTreeMap::new() }
    }

    #[test]
    fn the_latest_baseline_that_covers_a_mirror_is_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::within(folder.path(), "https://127.0.0.1:6443");
        let scopes = ["shop/hello", "shop/*", "*"].map(str::to_owned);
        assert_eq!(store.latest(&scopes).expect("no files"), None);
        for (scope, taken) in [("shop/hello", 20), ("*", 30), ("shop/other", 99), ("shop/*", 10)] {
            store.keep(scope, &baseline(taken)).expect("kept");
        }
        assert_eq!(store.latest(&scopes).expect("files"), Some(baseline(30)));
        store.keep("shop/hello", &baseline(40)).expect("kept in its place");
        assert_eq!(store.latest(&scopes).expect("files"), Some(baseline(40)));
        let other = Store::within(folder.path(), "https://127.0.0.1:7443");
        assert_eq!(other.latest(&scopes).expect("no files"), None);
        let file =
            folder.path().join("kubectl-mirror/baselines/https%3a%2f%2f127%2e0%2e0%2e1%3a6443/shop%2fhello.json");
        assert!(file.exists());
        assert_eq!(fs::read_dir(file.parent().expect("a folder")).expect("a folder").count(), 4, "and no left-overs");
    }

    #[test]
    fn what_is_no_baseline_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::within(folder.path(), "a");
        store.keep("*", &baseline(1)).expect("kept");
        for (text, said) in [("{", "EOF"), (r#"{"version":2,"taken":1,"envoys":{}}"#, "its version is 2")] {
            fs::write(store.file("*"), text).expect("a file");
            let error = store.latest(&["*".to_owned()]).expect_err(said).to_string();
            assert!(error.contains(said) && error.contains("--reset"), "{error}");
        }
    }
}
