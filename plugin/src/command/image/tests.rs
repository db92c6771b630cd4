//! What is written where, and what is left alone.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::*;
use crate::output::kept;

/// All files below a folder, by their paths.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).expect("it is below").display().to_string();
                found.insert(name, fs::read(path).expect("a file"));
            }
        }
    }
    found
}

fn entries(folder: &Path) -> usize {
    fs::read_dir(folder).expect("a folder").count()
}

#[tokio::test]
async fn what_is_written_is_told_with_the_next_step() {
    let parent = tempfile::tempdir().expect("a folder");
    let output = parent.path().join("not/yet/there");
    kept::begin();
    run(Args { output: output.clone() }).await.expect("it is written");
    let said = kept::end();
    let layout = Layout::of(image::THIS);
    assert_eq!(files(&output), layout.files);
    let mut text = format!("{}\n{}", said.data, said.messages).replace(&output.display().to_string(), "DIR");
    for (number, Reference { digest, bill, .. }) in layout.references.iter().enumerate() {
        text = text.replace(digest, &format!("sha256:(image {number})"));
        text = text.replace(bill.as_ref().expect("a bill"), &format!("sha256:(bill {number})"));
    }
    insta::assert_snapshot!(text.replace(crate::istio::names::PLUGIN_VERSION, "1.2.3"), @"
    REFERENCE       HOLDS              DIGEST
    1.2.3           filter             sha256:(image 0)
                    bill of materials  sha256:(bill 0)
    1.2.3-artifact  filter             sha256:(image 1)
                    bill of materials  sha256:(bill 1)

    Push it with one of
      oras cp -r --from-oci-layout DIR:1.2.3 REGISTRY/kubectl-mirror:1.2.3
      skopeo copy oci:DIR:1.2.3 docker://REGISTRY/kubectl-mirror:1.2.3
    (oras takes the bill of materials along), and name it in a WasmPlugin as
      oci://REGISTRY/kubectl-mirror@sha256:(image 0)
    ");
}

#[test]
fn a_folder_that_is_empty_or_was_written_before_is_replaced() {
    let parent = tempfile::tempdir().expect("a folder");
    let output = parent.path().join("image");
    fs::create_dir(&output).expect("a folder");
    let layout = Layout::of(image::THIS);
    folder::write(&output, &layout).expect("in place of an empty folder");
    let left_over = output.join("blobs/sha256/of-a-version-before");
    fs::write(&left_over, "").expect("a file");
    let link = parent.path().join("link");
    std::os::unix::fs::symlink(&output, &link).expect("a link");
    folder::write(&link, &layout).expect("in place of what was there");
    assert_eq!(files(&output), layout.files);
    assert!(fs::symlink_metadata(&link).expect("a link").is_symlink());
    assert_eq!(entries(parent.path()), 2, "nothing is left beside");
}

#[test]
fn what_holds_anything_else_is_refused_and_left_as_it_is() {
    let parent = tempfile::tempdir().expect("a folder");
    let output = parent.path().join("image");
    fs::create_dir(&output).expect("a folder");
    fs::write(output.join("index.json"), r#"{"manifests": [{"digest": "sha256:00"}]}"#).expect("a file");
    let before = files(&output);
    let layout = Layout::of(image::THIS);
    let refused = |path: &Path| {
        let error = folder::write(path, &layout).expect_err("it is refused");
        format!("{error:#}").replace(&parent.path().display().to_string(), "")
    };
    insta::assert_snapshot!(
        refused(&output),
        @"/image is neither empty nor an image layout of this command's alone, so it is left as it is; name a new folder"
    );
    insta::assert_snapshot!(
        refused(&output.join("index.json")),
        @"cannot read the folder /image/index.json: Not a directory (os error 20)"
    );
    assert_eq!(files(&output), before);
    assert_eq!(entries(parent.path()), 1, "nothing is left beside");
}

#[test]
fn a_failed_run_leaves_nothing() {
    let parent = tempfile::tempdir().expect("a folder");
    let output = parent.path().join("image");
    // No name of a file may be that long, so the last file cannot be written.
    let mut layout = Layout::of(image::THIS);
    layout.files.insert("z".repeat(300), Vec::new());
    let error = folder::write(&output, &layout).expect_err("it fails");
    assert!(format!("{error:#}").starts_with(&format!("cannot write to {}: ", output.display())), "{error:#}");
    assert_eq!(entries(parent.path()), 0);
}

#[test]
fn others_may_read_it_as_any_file() {
    let parent = tempfile::tempdir().expect("a folder");
    let plain = parent.path().join("plain");
    fs::create_dir(&plain).expect("a folder");
    let output = parent.path().join("image");
    folder::write(&output, &Layout::of(image::THIS)).expect("it is written");
    let mode = |path: &Path| fs::metadata(path).expect("a folder").permissions().mode();
    assert_eq!(mode(&output), mode(&plain));
}
