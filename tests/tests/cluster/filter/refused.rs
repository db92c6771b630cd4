//! A module that no gateway takes: `install` says so, and takes it back.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Output;

use kubectl_mirror::module::MODULE;
use mirror_tests::cluster::{Cluster, alone_on_cluster};
use mirror_tests::program;

use super::objects;
use crate::hello::{Hello, SAFE};

/// The plugin with a module that Envoy refuses: one that says to be of a version of WebAssembly that there is not.
fn broken_plugin(cluster: &Cluster) -> PathBuf {
    let mut bytes = std::fs::read(program::path()).expect("the plugin");
    let (start, version) = (&MODULE[..64], 4..8);
    let places = bytes.windows(start.len()).enumerate().filter(|(_, window)| *window == start);
    let places: Vec<_> = places.map(|(at, _)| at).collect();
    assert_eq!(places.len(), 1, "the module is in the plugin once");
    bytes[places[0]..][version].fill(0xff);
    let path = cluster.folder().join("broken-plugin");
    std::fs::write(&path, bytes).expect("it is written");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("it may be run");
    path
}

/// Runs `install` of the broken plugin, which fails; what it says.
fn install_broken(cluster: &Cluster) -> String {
    let path = broken_plugin(cluster);
    let mut command = cluster.admin().command(path.to_str().expect("UTF-8"));
    let Output { status, stdout, stderr } = command.args(["install", "--timeout", "20s"]).output().expect("it runs");
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert_eq!((status.code(), &*stdout), (Some(2), ""), "{stderr}");
    stderr.into_owned()
}

#[test]
fn what_no_gateway_takes_is_removed_again() {
    alone_on_cluster(async |cluster| {
        let hello = Hello::start(cluster).await;
        let said = install_broken(cluster);
        for gateway in cluster.gateways() {
            assert!(said.contains(gateway.pod()), "{said}");
        }
        assert!(said.contains("It was removed again; traffic was not affected."), "{said}");
        assert_eq!(objects(cluster), "");
        hello.finish().await;
    });
}

#[test]
fn what_no_gateway_takes_gives_way_to_what_was_there() {
    alone_on_cluster(async |cluster| {
        let mut hello = Hello::start(cluster).await;
        hello.mirror_ok(&["install"]);
        hello.enable(&[]);
        let said = install_broken(cluster);
        assert!(said.contains("What was there before is restored; traffic was not affected."), "{said}");
        hello.until_state("Live").await;
        hello.assert_copied("/restored", &SAFE).await;
        hello.finish().await;
    });
}
