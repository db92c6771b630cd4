//! Differences in the gateways' logs, and rules that make them vanish, by what a user types.

use mirror_tests::backend::{Backend, Reply};
use mirror_tests::client::{Protocol, Request, once};
use mirror_tests::cluster::{Cluster, ISTIO_SYSTEM, Service, Traffic, alone_on_cluster};
use mirror_tests::program::Ended;
use mirror_tests::wait;
use serde_json::{Value, json};

/// A version that says its price and its name.
async fn version(price: u32, name: &'static str) -> Backend {
    Backend::constant(Reply::json(&json!({"price": price, "served_by": name, "id": 7}))).await
}

/// Sends requests through each gateway.
async fn send(cluster: &Cluster, hello: &Service, path: &str) {
    for gateway in cluster.gateways() {
        for _ in 0..3 {
            let request = Request::get(path).host(&hello.host());
            let answer = once(gateway.external(), Protocol::Http1, &request).await.expect("an answer");
            assert_eq!(answer.status, 200);
        }
    }
}

fn examples(ended: &Ended) -> Vec<Value> {
    let document = ended.json();
    assert_eq!(document["missing"], json!([]), "{document:#}");
    document["examples"].as_array().expect("examples").clone()
}

/// The gateways and places of the examples, each once.
fn found(examples: &[Value]) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let mut found: Vec<_> = examples.iter().map(|one| (text(&one["gateway"]), text(&one["place"]))).collect();
    found.sort();
    found.dedup();
    found
}

#[test]
fn differences_are_read_from_all_gateways_and_vanish_by_a_rule() {
    alone_on_cluster(async |cluster| {
        let namespace = cluster.namespace("diffs").await;
        let (v1, v2) = (version(10, "one").await, version(12, "two").await);
        let mut hello = Service::new(cluster, &namespace, "hello");
        hello.revision("v1", v1.address()).await;
        hello.revision("v2", v2.address()).await;
        hello.traffic(&[Traffic::percent("v1", 100), Traffic::tag("v2", "v2")]).await;
        let user = cluster.admin();
        let enabled = user.mirror(&["enable", "hello", "--to", "v2", "-n", &namespace]);
        assert_eq!(enabled.status, Some(0), "{enabled:#?}");

        let diffs = |more: &[&str]| user.mirror(&[&["diffs", "hello", "-n", &namespace, "-o", "json"], more].concat());
        let expected = |places: &[&str]| {
            let gateways = cluster.gateways().iter().map(|gateway| format!("{ISTIO_SYSTEM}/{}", gateway.pod()));
            let mut all: Vec<_> = gateways
                .flat_map(|gateway| places.iter().map(move |place| (gateway.clone(), (*place).to_owned())))
                .collect();
            all.sort();
            all
        };
        send(cluster, &hello, "/before").await;
        let both = expected(&["/price", "/served_by"]);
        wait::until("examples of both gateways", async || (found(&examples(&diffs(&[]))) == both).then_some(())).await;
        let price = examples(&diffs(&["--place", "/price", "--last", "1"]));
        assert_eq!((&price[0]["primary"], &price[0]["candidate"]), (&json!("10"), &json!("12")), "{price:#?}");
        assert_eq!(price[0]["endpoint"], "GET /before");
        assert_eq!(price[0]["mirror"], format!("{namespace}/hello"));

        // The rule takes effect in place: no later pair differs there.
        let file = cluster.folder().join("rules.yaml");
        std::fs::write(&file, "ignore: [/served_by]\n").expect("written");
        let replaced = user.mirror(&["rules", "hello", "-n", &namespace, "-f", &file.to_string_lossy()]);
        assert_eq!(replaced.status, Some(0), "{replaced:#?}");
        assert_eq!(replaced.stdout, "mirror.kubectl-mirror/hello configured\n");
        let shown = user.mirror(&["rules", "hello", "-n", &namespace]);
        assert_eq!(shown.stdout, "ignore:\n- /served_by\n", "{shown:#?}");

        send(cluster, &hello, "/after").await;
        let after = async || {
            let found = found(&examples(&diffs(&["--endpoint", "/after"])));
            (found == expected(&["/price"])).then_some(())
        };
        wait::until("examples of what still differs", after).await;

        let disabled = user.mirror(&["disable", "hello", "-n", &namespace]);
        assert_eq!(disabled.status, Some(0), "{disabled:#?}");
        let gone = user.mirror(&["rules", "hello", "-n", &namespace]);
        assert_eq!(gone.status, Some(2), "{gone:#?}");
        assert!(gone.stderr.contains("not found in namespace"), "{gone:#?}");
    });
}
