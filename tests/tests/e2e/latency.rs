//! Latency: what a report says of several Envoys together is what their answers really took.

use kubectl_mirror::admin::Admin;
use kubectl_mirror::report::build;
use kubectl_mirror::report::examples::Examples;
use kubectl_mirror::source::cluster;
use mirror_core::example::Line;
use mirror_core::stats::histogram::{bounds, bucket_of};
use mirror_tests::backend::{Backend, Reply};
use mirror_tests::mirror::{Running, Setup};
use mirror_tests::on_each_envoy;
use serde_json::json;

/// Few enough for each to leave an example with its exact latencies.
const PAIRS: u64 = 20;

/// Answers that differ at a place of their own for each path, since a place is not shown again at once.
async fn server(side: &'static str) -> Backend {
    Backend::start(move |seen| Reply::json(&json!({ (seen.path.trim_start_matches('/')): side }))).await
}

/// How long both sides of each pair took, in microseconds, as the Envoy's log has it.
fn exact(mirror: &Running) -> Vec<(u64, u64)> {
    let log = mirror.envoy().log();
    log.lines().filter_map(Line::parse).filter_map(|line| line.latencies_us).collect()
}

#[test]
fn quantiles_over_several_envoys_are_those_of_all_answers() {
    on_each_envoy(async |binary| {
        let (primary, candidate) = (server("p").await, server("c").await);
        let mut mirrors = Vec::new();
        for _ in 0..2 {
            let setup = Setup::new(primary.address(), candidate.address()).workers(1);
            mirrors.push(setup.mirror(|mirror| mirror.caps.examples_per_minute = 600).start(binary).await);
        }
        let mut took = Vec::new();
        for (of, mirror) in ["a", "b"].iter().zip(&mirrors) {
            for i in 0..PAIRS {
                mirror.get(&format!("/{of}{i}")).await;
            }
            mirror.settled(PAIRS).await;
            took.extend(exact(mirror));
        }
        assert_eq!(took.len() as u64, 2 * PAIRS, "an example for each pair");

        let admins: Vec<Admin> = mirrors.iter().map(|mirror| Admin::at(mirror.envoy().admin().into())).collect();
        let report = build::report(&cluster::read(&admins, || {}).await.sum(), &Examples::default());
        let latency = report.mirrors[0].latency.as_ref().expect("latencies");
        let (mut of_primary, mut of_candidate): (Vec<u64>, Vec<u64>) = took.into_iter().unzip();
        for (side, exact) in [("primary", &mut of_primary), ("candidate", &mut of_candidate)] {
            exact.sort_unstable();
            for q in [0.5, 0.9, 0.99] {
                let (primary, candidate) = latency.quantile(q).expect("answers of both");
                let said = if side == "primary" { primary } else { candidate };
                let rank = (q * exact.len() as f64).ceil() as usize;
                let us = exact[rank - 1];
                // The log has whole microseconds, and the bucket may begin within one.
                let buckets = [us * 1000, us * 1000 + 999].map(|ns| bounds(bucket_of(ns)));
                let is_near = buckets.iter().any(|(low, high)| (*low..=*high).contains(&said));
                assert!(is_near, "{side}, {q}: {said} ns, and exactly {us} µs: {exact:?}");
            }
        }
    });
}
