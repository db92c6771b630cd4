//! Several users at once: nobody's mirror is lost, and of two wishes for one service the last one holds.

use std::process::Output;

use mirror_tests::cluster::{Cluster, ISTIO_SYSTEM, Kind, alone_on_cluster};

use super::hello::{Hello, SAFE, assert_ok, with_filter};

/// Runs `kubectl mirror enable` for each of these, all at once; all succeed.
fn enable_at_once(cluster: &Cluster, enables: &[(&Hello, &str)]) {
    let start = |(hello, percent): &(&Hello, &str)| {
        let mut command = cluster.admin().command("kubectl-mirror");
        command.args(["enable", "hello", "--to", "v2", "--percent", percent, "-n", hello.service.namespace()]);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        command.spawn().expect("the plugin starts")
    };
    let running: Vec<_> = enables.iter().map(start).collect();
    for child in running {
        let Output { status, stderr, .. } = child.wait_with_output().expect("a child of ours");
        assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    }
}

/// How often two commands get the chance to be in each other's way.
const ROUNDS: usize = 4;

#[test]
fn mirrors_of_different_services_do_not_touch_each_other() {
    // None of them finds the filter; all of them install it.
    alone_on_cluster(async |cluster| {
        let mut hellos = [Hello::start(cluster).await, Hello::start(cluster).await, Hello::start(cluster).await];
        let enables: Vec<_> = hellos.iter().map(|hello| (hello, "100")).collect();
        enable_at_once(cluster, &enables);
        for hello in &mut hellos {
            assert_eq!(hello.status()["state"], "Live");
            hello.assert_copied("/enabled", &SAFE).await;
        }
        for hello in hellos {
            hello.finish().await;
        }
    });
}

#[test]
fn a_mirror_keeps_its_filter_although_the_last_one_before_it_ends() {
    alone_on_cluster(async |cluster| {
        let (mut first, mut next) = (Hello::start(cluster).await, Hello::start(cluster).await);
        first.enable(&[]);
        for _ in 0..ROUNDS {
            std::thread::scope(|scope| {
                let disabled = scope.spawn(|| first.mirror(&["disable", "hello"]));
                let enabled = scope.spawn(|| next.mirror(&["enable", "hello", "--to", "v2"]));
                assert_ok(&disabled.join().expect("no panic"));
                assert_ok(&enabled.join().expect("no panic"));
            });
            next.until_state("Live").await;
            (first, next) = (next, first);
        }
        first.assert_copied("/live", &SAFE).await;
        next.stop_steady().await;
        first.finish().await;
    });
}

#[test]
fn the_last_wish_for_a_service_holds() {
    with_filter(async |cluster| {
        let mut hello = Hello::start(cluster).await;
        hello.enable(&["--percent", "1"]);
        let percents = [("20", 200_000), ("40", 400_000)];
        enable_at_once(cluster, &percents.map(|(percent, _)| (&hello, percent)));
        let status = hello.until_state("Live").await;
        assert!(percents.iter().any(|(_, millionths)| status["intent"]["millionths"] == *millionths), "{status:#}");
        hello.enable(&["--percent", "100"]);
        hello.assert_copied("/last", &SAFE).await;
        let labels = format!("kubectl-mirror/namespace={}", hello.service.namespace());
        assert_eq!(cluster.objects().names(Kind::ENVOY_FILTER, ISTIO_SYSTEM, &labels).await.len(), 1);
        hello.finish().await;
    });
}
