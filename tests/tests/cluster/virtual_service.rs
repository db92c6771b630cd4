//! The strategy `virtualservice`: a route of its own ahead of Knative's, which keeps all that may not be copied.

use mirror_tests::backend::Reply;
use mirror_tests::cluster::{ISTIO_SYSTEM, Kind};
use serde_json::json;

use super::hello::{Hello, SAFE, SECONDARY, SHADOW, with_filter};
use super::stories;

const STRATEGY: [&str; 2] = ["--strategy", "virtualservice"];

fn with<'a>(options: &[&'a str]) -> Vec<&'a str> {
    [&STRATEGY, options].concat()
}

#[test]
fn safe_requests_are_copied_and_all_else_takes_knatives_own_routes() {
    with_filter(async |cluster| stories::safe_requests(Hello::start(cluster).await.by("virtualservice")).await);
}

#[test]
fn calls_from_inside_the_cluster_are_copied_where_asked_for() {
    with_filter(async |cluster| stories::calls_from_inside(Hello::start(cluster).await.by("virtualservice")).await);
}

#[test]
fn a_share_of_the_requests_is_copied_and_the_others_are_no_pairs() {
    with_filter(async |cluster| {
        let mut hello = Hello::start(cluster).await;
        hello.enable(&with(&["--percent", "30"]));
        hello.stop_steady().await;
        let before = hello.seen_as(SHADOW).len();
        hello.send_many("/share", |_| None).await;
        let counted = hello.counted().await;
        let copies = hello.seen_as(SHADOW).len();
        assert_eq!(counted, [("match".to_owned(), copies as u64)]);
        hello.assert_share(copies - before);
        hello.mirror_ok(&["disable", "hello"]);
    });
}

#[test]
fn a_secondary_is_one_more_copy_to_the_primarys_version() {
    with_filter(async |cluster| {
        let mut hello = Hello::start(cluster).await;
        hello.enable(&with(&["--secondary", "--methods", "GET,POST"]));
        hello.assert_copied("/both", &["GET /get", "POST /post"]).await;
        hello.stop_steady().await;
        let copies = hello.seen_as(SHADOW).len();
        assert_eq!(hello.seen_as(SECONDARY).len(), copies);
        assert_eq!(hello.counted().await, [("match".to_owned(), copies as u64)]);
        assert_eq!(hello.report()["triples"], copies);
        hello.finish().await;
    });
}

#[test]
fn rules_travel_with_the_requests() {
    with_filter(async |cluster| {
        let reply = |price: u32| Reply::json(&json!({"name": "tea", "price": price}));
        let mut hello = Hello::answering(cluster, reply(3), reply(4)).await;
        hello.enable(&STRATEGY);
        hello.until_copied().await;
        hello.stop_steady().await;
        let differing = hello.seen_as(SHADOW).len() as u64;
        assert_eq!(hello.counted().await, [("diverged".to_owned(), differing)]);
        assert_eq!(hello.report()["places"][0]["place"], "/price");

        let rules = cluster.folder().join(format!("rules-{}.yaml", hello.service.namespace()));
        std::fs::write(&rules, "ignore:\n- /price\n").expect("the rules are written");
        hello.enable(&with(&["--rules", rules.to_str().expect("UTF-8")]));
        hello.assert_copied("/ignored", &SAFE).await;
        let equal = hello.seen_as(SHADOW).len() as u64 - differing;
        assert_eq!(hello.counted().await, [("match".to_owned(), equal), ("diverged".to_owned(), differing)]);
        hello.finish().await;
    });
}

#[test]
fn a_mirror_changes_its_strategy_in_place() {
    with_filter(async |cluster| {
        let mut hello = Hello::start(cluster).await;
        let namespace = hello.service.namespace().to_owned();
        let objects = async || {
            let labels = format!("kubectl-mirror/namespace={namespace}");
            let filters = cluster.objects().names(Kind::ENVOY_FILTER, ISTIO_SYSTEM, &labels).await;
            let services = cluster.objects().names(Kind::VIRTUAL_SERVICE, &namespace, &labels).await;
            (filters.len(), services.len())
        };
        hello.enable(&[]);
        assert_eq!(objects().await, (1, 0));
        hello.assert_copied("/overlay", &SAFE).await;
        let said = hello.enable(&STRATEGY);
        assert_eq!(said.stdout, "mirror.kubectl-mirror/hello configured\n");
        assert_eq!(objects().await, (0, 1));
        hello.assert_copied("/virtual-service", &SAFE).await;
        hello.enable(&["--strategy", "overlay"]);
        assert_eq!(objects().await, (1, 0));
        hello.assert_copied("/overlay-again", &SAFE).await;
        hello.stop_steady().await;
        hello.finish().await;
    });
}
