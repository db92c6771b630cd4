//! Writes an image layout to a folder, whole or not at all.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::image::{INDEX, Layout, is_ours};

/// Writes a layout to a folder. A layout of this plugin's that is there is replaced.
///
/// # Errors
/// A folder with anything else in it, and what the system refuses.
pub fn write(folder: &Path, layout: &Layout) -> Result<()> {
    // A link stays one: the folder behind it is written.
    let folder = match fs::canonicalize(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => std::path::absolute(folder)?,
        found => found.with_context(|| format!("cannot open {}", folder.display()))?,
    };
    let replaced = is_replaced(&folder)?;
    put(&folder, layout, replaced).with_context(|| format!("cannot write to {}", folder.display()))
}

/// Whether there is a folder already, one that may be replaced.
fn is_replaced(folder: &Path) -> Result<bool> {
    let mut entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        found => found.with_context(|| format!("cannot read the folder {}", folder.display()))?,
    };
    if entries.next().is_some() && !fs::read(folder.join(INDEX)).is_ok_and(|index| is_ours(&index)) {
        bail!(
            "{} is neither empty nor an image layout of this command's alone, so it is left as it is; name a new folder",
            folder.display()
        );
    }
    Ok(true)
}

/// Writes to a folder beside, which then takes the place of the one that is meant.
fn put(folder: &Path, layout: &Layout, replaced: bool) -> io::Result<()> {
    let parent = folder.parent().ok_or(ErrorKind::InvalidInput)?;
    fs::create_dir_all(parent)?;
    let beside = tempfile::Builder::new().prefix(".kubectl-mirror-image-").tempdir_in(parent)?;
    // The temporary folder itself can be read by this user only.
    let new = beside.path().join("new");
    for (path, bytes) in &layout.files {
        let file = new.join(path);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(file, bytes)?;
    }
    let old = beside.path().join("old");
    if replaced {
        fs::rename(folder, &old)?;
    }
    fs::rename(&new, folder).inspect_err(|_| {
        // It is the first error that counts, and what goes with the temporary folder can be written again.
        let _ = fs::rename(&old, folder);
    })
}
