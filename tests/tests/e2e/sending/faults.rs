//! Primaries that are none, configurations that are of no use or change, and a module in the wrong place or dead.

use mirror_core::stats::names::Diagnostic;
use mirror_tests::backend::{Backend, Reply};
use mirror_tests::client::{Answer, Protocol, Request, crowd, once};
use mirror_tests::gate::Gate;
use mirror_tests::mirror::{Running, Setup, Way};
use mirror_tests::{module, on_each_envoy, wait};

use super::{echo, sending};

#[test]
fn a_primary_that_envoy_answers_for_is_none() {
    on_each_envoy(async |binary| {
        let candidate = echo().await;
        let mirror = sending(mirror_tests::backend::closed_port().await, candidate.address()).start(binary).await;
        assert_eq!(mirror.get("/").await.status, 503);
        mirror.settled(1).await.assert_outcomes(&[("incomplete (primary_failed)", 1)]);
    });
}

#[test]
fn a_mirror_that_is_of_no_use_does_not_keep_others_from_working() {
    on_each_envoy(async |binary| {
        let (primary, candidate) = (echo().await, echo().await);
        let good = sending(primary.address(), candidate.address());
        let mut bad = good.spec().clone();
        (bad.mirror.name, bad.mirror.hosts) = ("test/bad".into(), Vec::new());
        let mut other = good.spec().clone();
        (other.mirror.name, other.mirror.hosts) = ("test/other".into(), vec!["other.test".into()]);
        let specs = vec![bad, good.spec().clone(), other];
        let mirror = good.specs(specs).start(binary).await;
        mirror.get("/hello").await;
        mirror.send(&Request::get("/other").host("OTHER.test:80")).await;
        mirror.send(&Request::get("/none").host("none.test")).await;
        let counts = mirror.settled(2).await;
        counts.assert_outcomes(&[("match", 2)]);
        assert_eq!(candidate.seen_lines(), ["GET /hello", "GET /other"]);
        assert!(counts.diagnostics[&Diagnostic::ConfigRejected] >= 1, "{counts:?}");
        let log = mirror.envoy().log();
        assert!(log.contains("mirror test/bad: configuration refused: hosts: at least one host is needed"), "{log}");
    });
}

#[test]
fn a_changed_configuration_waits_for_the_copies_under_way() {
    on_each_envoy(async |binary| {
        let gate = Gate::default();
        let (primary, candidate) = (echo().await, Backend::constant(Reply::ok("/held").after(&gate)).await);
        let mut mirror = sending(primary.address(), candidate.address()).workers(1).start(binary).await;
        assert_eq!(mirror.get("/held").await.text(), "/held");
        wait::until("the copy", async || (candidate.seen().len() == 1).then_some(())).await;
        for percent in [1, 2] {
            mirror.change(|spec| spec.selection.millionths = percent).await;
        }
        gate.open();
        mirror.settled(1).await.assert_outcomes(&[("match", 1)]);
    });
}

#[test]
fn behind_the_router_it_sends_nothing() {
    on_each_envoy(async |binary| {
        let (primary, candidate) = (echo().await, echo().await);
        let mirror = Setup::new(primary.address(), candidate.address()).start(binary).await;
        let before = mirror.envoy().stat(&Way::Upstream.updates()).await;
        mirror.misplace_module();
        wait::until("the module", async || {
            (mirror.envoy().stat(&Way::Upstream.updates()).await > before).then_some(())
        })
        .await;
        let requests = (0..100).map(|i| Request::get(format!("/{i}"))).collect();
        let right = |request: &Request| Answer::of(&Reply::ok(request.path.clone()));
        crowd(mirror.address, Protocol::Http1, 8, requests, right).await.assert_all_right();
        // Envoy's own mirroring goes on, and the module compares what it copies.
        mirror.settled(100).await.assert_outcomes(&[("match", 100)]);
        assert_eq!(candidate.seen().len(), 100);
        assert!(mirror.envoy().log().contains("this configuration is for a filter before the router"));
    });
}

/// Asserts that a GET under `path` is answered, many times.
async fn all_right(mirror: &Running, path: &str) {
    let requests = (0..100).map(|i| Request::get(format!("{path}/{i}"))).collect();
    let right = |request: &Request| Answer::of(&Reply::ok(request.path.clone()));
    crowd(mirror.address, Protocol::Http1, 8, requests, right).await.assert_all_right();
}

#[test]
fn after_a_trap_requests_pass_uncopied_until_it_is_started_again() {
    on_each_envoy(async |binary| {
        let (primary, candidate) = (echo().await, echo().await);
        let mirror =
            sending(primary.address(), candidate.address()).workers(1).module(module::trapping()).start(binary).await;
        all_right(&mirror, "/before").await;
        mirror.settled(100).await.assert_outcomes(&[("match", 100)]);
        let trap = Request::get("/trap").header(module::TRAP_HEADER, "1");
        assert_eq!(once(mirror.address, Protocol::Http1, &trap).await.expect("an answer").status, 503);
        all_right(&mirror, "/after").await;
        assert_eq!(candidate.seen().len(), 100);

        let before = mirror.envoy().stat(&Way::Downstream.updates()).await;
        mirror.restart_module(1);
        wait::until("the module", async || {
            (mirror.envoy().stat(&Way::Downstream.updates()).await > before).then_some(())
        })
        .await;
        all_right(&mirror, "/again").await;
        wait::until("copies again", async || (candidate.seen().len() == 200).then_some(())).await;
    });
}
