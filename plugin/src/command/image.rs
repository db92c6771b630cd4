//! `kubectl mirror image`: the filter as an OCI image, for a registry of one's own.

mod folder;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::ValueHint;

use crate::cli::ExitStatus;
use crate::envoy::NAME;
use crate::grid::{Column, Grid, Paint};
use crate::image::{self, Layout, Reference};
use crate::output::{self, message};

/// Write the filter as an OCI image, which Istio's WasmPlugin takes.
///
/// The folder is an OCI image layout, from which other tools push to a registry. It holds the image in both forms that Istio
/// knows, and the bill of materials (SBOM, CycloneDX) of each. The same plugin always writes the same bytes.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    # write it, and push it with its bill of materials\n  \
    kubectl mirror image --output image\n  \
    oras cp -r --from-oci-layout image:VERSION REGISTRY/kubectl-mirror:VERSION")]
pub struct Args {
    /// The folder to write to: a new or an empty one, or what this command has written there before, which is replaced.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    output: PathBuf,
}

/// Runs the command.
///
/// # Errors
/// A folder that holds something else, and what the system refuses.
pub async fn run(args: Args) -> Result<ExitStatus> {
    let layout = Layout::of(image::THIS);
    folder::write(&args.output, &layout)?;
    output::data(&table(&layout.references).render(output::look().colour))?;
    if let Some(first) = layout.references.first() {
        message(next(&args.output, first));
    }
    if layout.references.iter().any(|reference| reference.bill.is_none()) {
        message("note: there is no bill of materials, since this plugin was built with a module that was given to it");
    }
    Ok(ExitStatus::Success)
}

fn table(references: &[Reference]) -> Grid {
    let mut grid = Grid::new([("REFERENCE", Column::Left), ("HOLDS", Column::Left), ("DIGEST", Column::Left)]);
    for Reference { tag, digest, bill } in references {
        grid.row(Paint::Plain, [tag.clone(), "filter".to_owned(), digest.clone()]);
        if let Some(bill) = bill {
            grid.row(Paint::Plain, [String::new(), "bill of materials".to_owned(), bill.clone()]);
        }
    }
    grid
}

/// What to do with an image in a folder.
fn next(folder: &Path, Reference { tag, digest, .. }: &Reference) -> String {
    let folder = folder.display();
    format!(
        "Push it with one of\n  \
         oras cp -r --from-oci-layout {folder}:{tag} REGISTRY/{NAME}:{tag}\n  \
         skopeo copy oci:{folder}:{tag} docker://REGISTRY/{NAME}:{tag}\n\
         (oras takes the bill of materials along), and name it in a WasmPlugin as\n  \
         oci://REGISTRY/{NAME}@{digest}"
    )
}
