//! A filter that does not work: users notice nothing, `status` tells what it is, and what it advises mends it.

use mirror_tests::client::{Protocol, Request, once};
use mirror_tests::cluster::alone_on_cluster;
use mirror_tests::{module, wait};
use serde_json::Value;

use super::{delete_filter, install_module, run_module};
use crate::hello::{Hello, SAFE};

fn advice(status: &Value) -> &str {
    status["pods"][0]["advice"].as_str().expect("a sentence")
}

#[test]
fn a_filter_that_was_deleted_is_missing_and_nothing_is_copied() {
    alone_on_cluster(async |cluster| {
        let mut hello = Hello::start(cluster).await;
        hello.enable(&[]);
        delete_filter(cluster);
        let status = hello.until_pods(&["module-missing missing"; 2]).await;
        assert_eq!(status["state"], "Degraded");
        let said = "nothing is copied: the module is not installed on this gateway; run `kubectl mirror install`";
        assert_eq!(advice(&status), said);
        hello.assert_copied("/missing", &[]).await;
        hello.mirror_ok(&["install"]);
        hello.until_state("Live").await;
        hello.assert_copied("/installed", &SAFE).await;
        hello.finish().await;
    });
}

#[test]
fn without_the_filter_a_virtual_service_copies_untagged() {
    alone_on_cluster(async |cluster| {
        let mut hello = Hello::start(cluster).await;
        hello.enable(&["--strategy", "virtualservice"]);
        delete_filter(cluster);
        let status = hello.until_pods(&["module-missing missing"; 2]).await;
        assert!(advice(&status).starts_with("requests are copied without tags, and not compared: "), "{status:#}");
        hello.stop_steady().await;
        hello.send_all("/untagged").await;
        let copies = || hello.v2.seen().into_iter().filter(|seen| seen.path == "/untagged/get");
        wait::until("all copies", async || (copies().count() == cluster.gateways().len()).then_some(())).await;
        for copy in copies() {
            assert_eq!((copy.header("x-mirror-role"), copy.header("knative-serving-revision")), ("", "hello-v1"));
        }
        hello.mirror_ok(&["install"]);
        hello.until_state("Live").await;
        hello.start_steady();
        hello.until_copied().await;
        hello.stop_steady().await;
        hello.mirror_ok(&["disable", "hello"]);
    });
}

#[test]
fn a_rejected_module_compares_nothing_and_a_good_one_takes_its_place() {
    alone_on_cluster(async |cluster| {
        let mut hello = Hello::start(cluster).await;
        hello.enable(&[]);
        // In place of a good one it would leave that one running.
        delete_filter(cluster);
        hello.until_pods(&["module-missing missing"; 2]).await;
        install_module(cluster, b"no module at all");
        let status = hello.until_pods(&["module-rejected rejected"; 2]).await;
        assert_eq!(status["state"], "Degraded");
        assert!(advice(&status).contains("Envoy refused the module"), "{}", advice(&status));
        hello.assert_copied("/rejected", &SAFE).await;
        hello.mirror_ok(&["install"]);
        hello.until_state("Live").await;
        hello.stop_steady().await;
        hello.assert_copied("/installed", &SAFE).await;
        hello.finish().await;
    });
}

#[test]
fn a_module_that_has_trapped_has_stopped_until_it_is_repaired() {
    alone_on_cluster(async |cluster| {
        let mut hello = Hello::start(cluster).await;
        run_module(cluster, &std::fs::read(module::trapping()).expect("the module")).await;
        hello.enable(&[]);
        // What is under way when it traps fails.
        hello.stop_steady().await;
        let trap = Request::get("/trap").host(&hello.service.host()).header(module::TRAP_HEADER, "1");
        let answer = once(cluster.gateway().external(), Protocol::Http1, &trap).await.expect("an answer");
        assert_eq!(answer.status, 503);
        hello.start_steady();
        let status = hello.until_pods(&["module-stopped stopped", "live running"]).await;
        assert_eq!(status["state"], "Degraded");
        assert!(advice(&status).contains("kubectl mirror repair"), "{}", advice(&status));
        hello.assert_copied("/stopped", &SAFE).await;
        let said = hello.mirror_ok(&["repair"]);
        assert_eq!(said.stdout, "filter.kubectl-mirror/ingressgateway configured\n");
        hello.until_state("Live").await;
        hello.assert_copied("/repaired", &SAFE).await;
        hello.finish().await;
    });
}
