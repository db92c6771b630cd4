//! The files that a local Envoy is run on, in a folder that only this user can read.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;
use tempfile::TempDir;

use super::Plan;
use crate::envoy::observer::{Code, Module, Wrapping, extension};
use crate::envoy::static_config::{EXTENSION, StaticEnvoy, discovery_response};

/// Only for this user: the log holds examples of answers.
const PRIVATE: u32 = 0o700;

/// The folder of a run.
#[derive(Debug)]
pub struct Files {
    folder: PathBuf,
    /// Removes the folder when dropped; `None` where the user named it, or once it is to stay.
    temporary: Option<TempDir>,
}

impl Files {
    /// A new temporary folder, or the one that the user named, which is made where it does not exist.
    ///
    /// # Errors
    /// What the system says.
    pub fn new(named: Option<&Path>) -> Result<Self> {
        if let Some(folder) = named {
            DirBuilder::new()
                .recursive(true)
                .mode(PRIVATE)
                .create(folder)
                .with_context(|| format!("cannot make the folder {}", folder.display()))?;
            // Envoy is given the folder's files by their full names.
            return Ok(Self { folder: fs::canonicalize(folder)?, temporary: None });
        }
        let temporary = tempfile::Builder::new()
            .prefix("kubectl-mirror-")
            .permissions(Permissions::from_mode(PRIVATE))
            .tempdir()
            .context("cannot make a temporary folder")?;
        Ok(Self { folder: temporary.path().to_owned(), temporary: Some(temporary) })
    }

    /// Writes all that Envoy reads.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(&self, plan: &Plan, module: &[u8], listen: SocketAddr) -> Result<()> {
        let module_file = self.path("module.wasm");
        let observer = self.path("observer.json");
        // A named folder may hold the address of a run before this one.
        if let Err(error) = fs::remove_file(self.admin())
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error).with_context(|| format!("cannot remove {}", self.admin().display()));
        }
        fs::write(&module_file, module).with_context(|| format!("cannot write {}", module_file.display()))?;
        let envoy = StaticEnvoy {
            spec: &plan.spec,
            primary: &plan.primary,
            primary_host: Some(&plan.primary_host),
            candidate: &plan.candidate,
            secondary: plan.secondary.as_ref(),
            listen,
            admin: SocketAddr::from(([127, 0, 0, 1], 0)),
            observer: &observer,
            routes: None,
            trust: plan.trust.as_deref(),
        };
        let module = Module { code: Code::File(&module_file), wrapping: Wrapping::Matched, generation: 0 };
        write_json(&observer, &discovery_response(EXTENSION, extension(module)))?;
        write_json(&self.bootstrap(), &envoy.bootstrap())
    }

    /// Envoy's configuration.
    pub fn bootstrap(&self) -> PathBuf {
        self.path("envoy.json")
    }

    /// Where Envoy writes the address of its admin page.
    pub fn admin(&self) -> PathBuf {
        self.path("admin.txt")
    }

    /// Envoy's log.
    pub fn log(&self) -> PathBuf {
        self.path("envoy.log")
    }

    /// Opens the log for writing, twice: for standard output and for standard error.
    ///
    /// # Errors
    /// What the system says.
    pub fn open_log(&self) -> io::Result<(File, File)> {
        let log = File::create(self.log())?;
        Ok((log.try_clone()?, log))
    }

    /// The last lines of the log that tell of trouble, at most `most` of them.
    pub fn complaints(&self, most: usize) -> Vec<String> {
        let log = fs::read(self.log()).unwrap_or_default();
        let text = String::from_utf8_lossy(&log);
        let lines: Vec<_> = text
            .lines()
            .filter(|line| line.contains("[error]") || line.contains("[critical]"))
            .map(str::to_owned)
            .collect();
        let skipped = lines.len().saturating_sub(most);
        lines.into_iter().skip(skipped).collect()
    }

    /// Lets the folder stay, and says where it is.
    pub fn keep(&mut self) -> &Path {
        if let Some(temporary) = self.temporary.take() {
            self.folder = temporary.keep();
        }
        &self.folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

fn write_json(file: &Path, value: &Value) -> Result<()> {
    fs::write(file, format!("{value:#}\n")).with_context(|| format!("cannot write {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temporary_folder_is_private_and_goes() {
        let files = Files::new(None).expect("a folder");
        let folder = files.folder.clone();
        let mode = fs::metadata(&folder).expect("a folder").permissions().mode();
        assert_eq!(mode & 0o777, PRIVATE);
        drop(files);
        assert!(!folder.exists());
    }

    #[test]
    fn a_folder_that_is_kept_stays() {
        let mut files = Files::new(None).expect("a folder");
        fs::write(files.log(), "[info] a\n[error] b\n[critical] c\n[error] d\n").expect("a log");
        assert_eq!(files.complaints(2), ["[critical] c", "[error] d"]);
        let folder = files.keep().to_owned();
        drop(files);
        assert!(folder.exists());
        let named = Files::new(Some(&folder.join("a/b"))).expect("a named folder");
        drop(named);
        assert!(folder.join("a/b").is_dir());
        fs::remove_dir_all(folder).expect("removable");
    }
}
