//! A module that is missing, refused or dead: clients notice nothing, the candidate gets what was selected and no more,
//! and a report sees that nothing is compared.

use std::path::Path;

use http::Method;
use kubectl_mirror::source::{Module, admin};
use mirror_tests::backend::{Backend, Reply};
use mirror_tests::client::{Answer, Protocol, Request, crowd, once};
use mirror_tests::mirror::{Running, Setup};
use mirror_tests::{module, on_each_envoy, wait};

async fn echo() -> Backend {
    Backend::start(|seen| Reply::ok(seen.path.clone())).await
}

/// What a report says became of the module.
async fn state(mirror: &Running) -> Module {
    let address = mirror.envoy().admin().to_string().parse().expect("an address");
    admin::read(&address).await.expect("a snapshot").instances[0].module()
}

async fn wait_for(mirror: &Running, module: Module) {
    wait::until(&format!("the report to say {module:?}"), async || (state(mirror).await == module).then_some(())).await;
}

/// 300 GETs and as many POSTs, of which the GETs are selected.
fn mixed(prefix: &str) -> Vec<Request> {
    let both = |i| [Method::GET, Method::POST].map(|method| Request::new(method, format!("{prefix}/{i}")));
    (0..300).flat_map(both).collect()
}

async fn all_right(mirror: &Running, prefix: &str) {
    let right = |request: &Request| Answer::of(&Reply::ok(request.path.clone()));
    crowd(mirror.address, Protocol::Http1, 32, mixed(prefix), right).await.assert_all_right();
}

/// Asserts that the candidate got the GETs under `prefix`, each once, and nothing else under it.
async fn only_selected(candidate: &Backend, prefix: &str) {
    let mut expected: Vec<_> = (0..300).map(|i| format!("GET {prefix}/{i}")).collect();
    expected.sort();
    let under = |seen: Vec<String>| seen.into_iter().filter(|line| line.contains(prefix)).collect::<Vec<_>>();
    wait::until("all copies", async || (under(candidate.seen_lines()).len() >= 300).then_some(())).await;
    assert_eq!(under(candidate.seen_lines()), expected);
}

#[test]
fn a_module_that_is_missing_or_refused_changes_nothing_for_clients() {
    let garbage = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(garbage.path(), b"\0asm but nothing that follows is").expect("written");
    let missing = Path::new("/nowhere/module.wasm");
    on_each_envoy(async |binary| {
        for module in [garbage.path(), missing] {
            let (primary, candidate) = (echo().await, echo().await);
            let mirror = Setup::new(primary.address(), candidate.address()).module(module).start(binary).await;
            all_right(&mirror, "/a").await;
            only_selected(&candidate, "/a").await;
            assert_ne!(state(&mirror).await, Module::Running);
            assert_eq!(mirror.counts().await.pairs(), 0);

            // A good one that comes later is taken.
            mirror.load_module(module::built());
            wait_for(&mirror, Module::Running).await;
            all_right(&mirror, "/b").await;
            mirror.settled(300).await.assert_outcomes(&[("match", 300)]);
        }
    });
}

#[test]
fn after_a_trap_all_goes_on_but_the_comparison() {
    const CONNECTIONS: usize = 16;
    on_each_envoy(async |binary| {
        let (primary, candidate) = (echo().await, echo().await);
        let mirror = Setup::new(primary.address(), candidate.address())
            .workers(2)
            .module(module::trapping())
            .start(binary)
            .await;
        all_right(&mirror, "/before").await;
        mirror.settled(300).await.assert_outcomes(&[("match", 300)]);
        wait_for(&mirror, Module::Running).await;

        // One trap in the middle of traffic: at most what was under way fails.
        let mut requests: Vec<_> = (0..600).map(|i| Request::get(format!("/during/{i}"))).collect();
        requests[300] = requests[300].clone().header(module::TRAP_HEADER, "1");
        let right = |request: &Request| Answer::of(&Reply::ok(request.path.clone()));
        let during = crowd(mirror.address, Protocol::Http1, CONNECTIONS, requests, right).await;
        assert!((1..=CONNECTIONS).contains(&during.wrong.len()), "{during:?}");

        // Then nothing fails any more, and selection holds although one of two workers has no module.
        all_right(&mirror, "/after").await;
        only_selected(&candidate, "/after").await;
        wait_for(&mirror, Module::Stopped).await;

        // The same when no worker has one.
        wait::until("the other worker's module to trap", async || {
            let trap = Request::get("/trap").header(module::TRAP_HEADER, "1");
            let failed = once(mirror.address, Protocol::Http1, &trap).await.is_ok_and(|answer| answer.status == 503);
            failed.then_some(())
        })
        .await;
        let compared = mirror.counts().await.pairs();
        all_right(&mirror, "/bypassed").await;
        only_selected(&candidate, "/bypassed").await;
        wait_for(&mirror, Module::Stopped).await;
        assert!(mirror.counts().await.pairs() <= compared + u64::try_from(CONNECTIONS).expect("few"));
        assert!(mirror.envoy().is_running());

        // Another generation of its configuration brings it back, on all workers.
        mirror.restart_module(1);
        wait_for(&mirror, Module::Running).await;
        let compared = mirror.counts().await.pairs();
        all_right(&mirror, "/again").await;
        only_selected(&candidate, "/again").await;
        mirror.settled(compared + 300).await;
    });
}

#[test]
fn a_module_without_its_wrapper_counts_what_is_selected_and_nothing_else() {
    on_each_envoy(async |binary| {
        let (primary, candidate) = (echo().await, echo().await);
        let mirror = Setup::new(primary.address(), candidate.address()).bare().start(binary).await;
        let posts = (0..100).map(|i| Request::new(Method::POST, format!("/post/{i}"))).collect();
        let right = |request: &Request| Answer::of(&Reply::ok(request.path.clone()));
        crowd(mirror.address, Protocol::Http1, 8, posts, right).await.assert_all_right();
        all_right(&mirror, "/mixed").await;
        only_selected(&candidate, "/mixed").await;
        let counts = mirror.settled(300).await;
        counts.assert_outcomes(&[("match", 300)]);
        assert_eq!(candidate.seen().len(), 300);
        // Requests that no one marked are no strays either.
        assert!(counts.diagnostics.is_empty(), "{counts:?}");
    });
}
