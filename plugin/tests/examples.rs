//! The files in `examples/` that this program printed are what it prints.

use std::path::{Path, PathBuf};
use std::process::Command;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples")
}

#[test]
fn the_mirror_in_the_repository_is_what_generate_prints_without_a_cluster() {
    let folder = examples().join("gitops");
    let printed = Command::new(env!("CARGO_BIN_EXE_kubectl-mirror"))
        .args(["generate", "hello", "--to", "v2", "--percent", "5", "-f"])
        .arg(folder.join("route.yaml"))
        // Nobody is asked: there is nobody to ask.
        .env("KUBECONFIG", folder.join("no-such-file"))
        .output()
        .expect("the program runs");
    assert!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
    let committed = std::fs::read_to_string(folder.join("mirror/hello-mirror.yaml")).expect("the example");
    assert_eq!(String::from_utf8_lossy(&printed.stdout), committed);
}
