//! The folder with the cluster's files, and the tools that it is made of.

use std::path::{Path, PathBuf};

const PREFIX: &str = "mirror-cluster-";

/// Characters of a log's line that are shown.
const WIDTH: usize = 240;

/// The cluster's folder. It outlives the process, since nothing runs at a process's end that could remove it, and so that
/// logs can be read after a failure; the next run removes it.
#[derive(Clone, Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// A new one.
    pub fn new() -> Self {
        remove_left_over();
        let path = std::env::temp_dir().join(format!("{PREFIX}{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A folder in it.
    pub fn folder(&self, name: &str) -> PathBuf {
        let path = self.file(name);
        std::fs::create_dir_all(&path).expect("a folder");
        path
    }
}

/// Removes the folders of processes that are gone.
fn remove_left_over() {
    let entries = std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(PREFIX)).and_then(|id| id.parse::<u32>().ok());
        if owner.is_some_and(|id| !Path::new("/proc").join(id.to_string()).exists()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// A file that `make setup-cluster` brings.
///
/// # Panics
/// When it is not there.
pub fn tool(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.tools/rig").join(name);
    path.canonicalize().unwrap_or_else(|_| panic!("{} is not there: run `make setup-cluster`", path.display()))
}

/// The last lines of a log, cut to what fits a screen.
pub fn tail(log: &Path, lines: usize) -> String {
    let text = String::from_utf8_lossy(&std::fs::read(log).unwrap_or_default()).into_owned();
    // Envoy's remark on each route that Istio writes would drown all else.
    let all: Vec<String> = text
        .lines()
        .filter(|line| !line.contains("Using deprecated option"))
        .map(|line| line.chars().take(WIDTH).collect())
        .collect();
    all.get(all.len().saturating_sub(lines)..).unwrap_or_default().join("\n")
}
