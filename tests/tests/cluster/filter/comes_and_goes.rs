//! Who puts the filter into the gateways, and who takes it away; nothing is left behind.

use std::time::Duration;

use mirror_tests::cluster::{ISTIO_SYSTEM, alone_on_cluster};
use mirror_tests::{module, wait};

use super::{delete_filter, objects, run_module};
use crate::hello::{Hello, SAFE, assert_ok};

#[test]
fn what_enable_installed_goes_with_the_last_mirror() {
    alone_on_cluster(async |cluster| {
        let (mut first, mut last) = (Hello::start(cluster).await, Hello::start(cluster).await);
        let said = first.enable(&[]);
        assert_eq!(said.stdout, "filter.kubectl-mirror/ingressgateway created\nmirror.kubectl-mirror/hello created\n");
        first.assert_copied("/a", &SAFE).await;
        assert_eq!(last.enable(&["--strategy", "virtualservice"]).stdout, "mirror.kubectl-mirror/hello created\n");
        last.assert_copied("/a", &SAFE).await;

        assert_eq!(first.mirror_ok(&["disable", "hello"]).stdout, "mirror.kubectl-mirror/hello deleted\n");
        first.assert_copied("/b", &[]).await;
        last.assert_copied("/b", &SAFE).await;
        let said = last.mirror_ok(&["disable", "hello"]);
        assert_eq!(said.stdout, "mirror.kubectl-mirror/hello deleted\nfilter.kubectl-mirror/ingressgateway deleted\n");
        last.assert_copied("/c", &[]).await;
        assert_eq!(objects(cluster), "");
        first.finish().await;
        last.finish().await;
    });
}

#[test]
fn what_install_installed_stays_until_uninstall() {
    alone_on_cluster(async |cluster| {
        let mut hello = Hello::start(cluster).await;
        let said = hello.mirror_ok(&["install"]);
        assert_eq!(said.stdout, "filter.kubectl-mirror/ingressgateway created\n");
        assert!(said.stderr.starts_with("The filter compares on 2 of 2 pods of "), "{}", said.stderr);
        hello.enable(&[]);
        let refused = hello.mirror(&["uninstall"]);
        assert_eq!(refused.status, Some(2), "{refused:#?}");
        assert!(refused.stderr.contains("/hello; disable them first"), "{}", refused.stderr);
        hello.mirror_ok(&["disable", "hello"]);
        assert_eq!(objects(cluster), "envoyfilter.networking.istio.io/kubectl-mirror-ingressgateway\n");
        hello.assert_copied("/after", &[]).await;
        let said = hello.mirror_ok(&["uninstall"]);
        assert_eq!(said.stdout, "filter.kubectl-mirror/ingressgateway deleted\n");
        assert_eq!(objects(cluster), "");
        hello.finish().await;
    });
}

#[test]
fn another_module_takes_the_place_of_the_one_that_runs() {
    alone_on_cluster(async |cluster| {
        let mut hello = Hello::start(cluster).await;
        run_module(cluster, &std::fs::read(module::trapping()).expect("the module")).await;
        hello.enable(&[]);
        hello.assert_copied("/old", &SAFE).await;
        let said = hello.mirror_ok(&["install"]);
        assert_eq!(said.stdout, "filter.kubectl-mirror/ingressgateway configured\n");
        hello.assert_copied("/new", &SAFE).await;
        let counted = || hello.report()["pairs"].as_u64().unwrap_or_default();
        let before = counted();
        wait::until("pairs to be counted", async || (counted() > before).then_some(())).await;
        hello.finish().await;
    });
}

#[test]
fn disable_removes_what_is_left_of_a_mirror() {
    alone_on_cluster(async |cluster| {
        let hello = Hello::start(cluster).await;
        // The filter without its mirror.
        hello.enable(&[]);
        let name = format!("mirror.{}.hello.ingressgateway", hello.service.namespace());
        cluster.admin().kubectl_ok(&["delete", "envoyfilter", "-n", ISTIO_SYSTEM, &name]);
        let said = hello.mirror_ok(&["disable", "hello"]);
        assert_eq!(said.stdout, "filter.kubectl-mirror/ingressgateway deleted\n");
        assert_eq!(objects(cluster), "");
        // The mirror without the filter.
        hello.enable(&[]);
        delete_filter(cluster);
        let said = hello.mirror_ok(&["disable", "hello"]);
        assert_eq!(said.stdout, "mirror.kubectl-mirror/hello deleted\n");
        assert_eq!(objects(cluster), "");
        hello.finish().await;
    });
}

#[test]
fn nothing_is_left_of_an_enable_that_was_killed() {
    alone_on_cluster(async |cluster| {
        let mut hello = Hello::start(cluster).await;
        for (round, after) in [100, 300, 900, 2700].into_iter().enumerate() {
            let mut enable = cluster.admin().command("kubectl-mirror");
            enable.args(["enable", "hello", "--to", "v2", "-n", hello.service.namespace()]);
            let mut enable = enable.spawn().expect("the plugin starts");
            // Whichever moment this is.
            tokio::time::sleep(Duration::from_millis(after)).await;
            let _ = enable.kill();
            enable.wait().expect("a child of ours");
            // A write that was under way may still come.
            wait::until("nothing to be left", async || {
                let said = hello.mirror(&["disable", "hello"]);
                if said.status != Some(0) {
                    assert!(said.stderr.contains("not found"), "{said:#?}");
                }
                objects(cluster).is_empty().then_some(())
            })
            .await;
            hello.assert_copied(&format!("/{round}"), &[]).await;
        }
        assert_ok(&hello.mirror(&["enable", "hello", "--to", "v2"]));
        hello.assert_copied("/enabled", &SAFE).await;
        hello.finish().await;
    });
}
