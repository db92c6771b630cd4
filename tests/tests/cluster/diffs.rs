//! Differences in the gateways' logs, and rules that make them vanish, by what a user types.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use mirror_tests::backend::{Backend, Reply};
use mirror_tests::client::{Protocol, Request, once};
use mirror_tests::cluster::{Cluster, ISTIO_SYSTEM, Service, Traffic, User, alone_on_cluster};
use mirror_tests::program::Ended;
use mirror_tests::wait;
use serde_json::{Value, json};

/// A version that says its price and its name.
async fn version(price: u32, name: &'static str) -> Backend {
    Backend::constant(Reply::json(&json!({"price": price, "served_by": name, "id": 7}))).await
}

/// Sends a request through each gateway. A gateway logs few examples of a place that it has shown already, so that a single
/// request need not make one.
async fn send(cluster: &Cluster, hello: &Service, path: &str) {
    for gateway in cluster.gateways() {
        let request = Request::get(path).host(&hello.host());
        let answer = once(gateway.external(), Protocol::Http1, &request).await.expect("an answer");
        assert_eq!(answer.status, 200);
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

/// What the user's command says, which must succeed.
fn ok(user: &User, arguments: &[&str]) -> Ended {
    let ended = user.mirror(arguments);
    assert_eq!(ended.status, Some(0), "{arguments:?}: {ended:#?}");
    ended
}

/// Edits the rules with this editor; what the command says on stderr.
fn edit(user: &User, namespace: &str, editor: &str) -> String {
    let mut command = user.command("kubectl-mirror");
    command.args(["rules", "hello", "-n", namespace, "--edit"]).env("KUBE_EDITOR", editor);
    let output = command.output().expect("the program runs");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{stderr}");
    stderr
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
        ok(user, &["enable", "hello", "--to", "v2", "-n", &namespace]);

        let diffs = |more: &[&str]| {
            let arguments = ["diffs", "hello", "-n", &namespace, "-o", "json"];
            examples(&ok(user, &[&arguments[..], more].concat()))
        };
        // Sends requests until every gateway has told of all of these places.
        let until_found = async |path: &str, places: &[&str]| {
            let gateways = cluster.gateways().iter().map(|gateway| format!("{ISTIO_SYSTEM}/{}", gateway.pod()));
            let of = |gateway: String| places.iter().map(move |place| (gateway.clone(), (*place).to_owned()));
            let mut expected: Vec<_> = gateways.flat_map(of).collect();
            expected.sort();
            wait::until("examples of all gateways", async || {
                send(cluster, &hello, path).await;
                (found(&diffs(&["--endpoint", path])) == expected).then_some(())
            })
            .await;
        };
        until_found("/before", &["/price", "/served_by"]).await;
        let price = diffs(&["--place", "/price", "--last", "1"]);
        assert_eq!((&price[0]["primary"], &price[0]["candidate"]), (&json!("10"), &json!("12")), "{price:#?}");
        assert_eq!((&price[0]["endpoint"], price.len()), (&json!("GET /before"), 1));
        assert_eq!(price[0]["mirror"], format!("{namespace}/hello"));

        // Rules take effect in place: no later pair differs there.
        let file = cluster.folder().join("rules.yaml");
        std::fs::write(&file, "ignore: [/served_by]\n").expect("written");
        let replaced = ok(user, &["rules", "hello", "-n", &namespace, "-f", &file.to_string_lossy()]);
        assert_eq!(replaced.stdout, "mirror.kubectl-mirror/hello configured\n");
        let rules = || ok(user, &["rules", "hello", "-n", &namespace]).stdout;
        assert_eq!(rules(), "ignore:\n- /served_by\n");
        until_found("/after", &["/price"]).await;

        assert_eq!(edit(user, &namespace, "true"), "Edit cancelled, no changes made.\n");
        edit(user, &namespace, "sed -i s,^-./served_by,-\\ /price,");
        assert_eq!(rules(), "ignore:\n- /price\n");
        until_found("/edited", &["/served_by"]).await;

        follow(cluster, &hello).await;
        ok(user, &["disable", "hello", "-n", &namespace]);
        let gone = user.mirror(&["rules", "hello", "-n", &namespace]);
        assert_eq!(gone.status, Some(2), "{gone:#?}");
        assert!(gone.stderr.contains("not found in namespace"), "{gone:#?}");
    });
}

/// New examples come as they are found, each on a line of its own.
async fn follow(cluster: &Cluster, hello: &Service) {
    let mut command = cluster.admin().command("kubectl-mirror");
    command.args(["diffs", "hello", "-n", hello.namespace(), "--endpoint", "/followed", "-f", "-o", "json"]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("the program starts");
    let stdout = child.stdout.take().expect("it is piped");
    let line = tokio::task::spawn_blocking(move || BufReader::new(stdout).lines().next());
    wait::until("an example", async || {
        send(cluster, hello, "/followed").await;
        line.is_finished().then_some(())
    })
    .await;
    let _ = child.kill();
    let _ = child.wait();
    let line = line.await.expect("reading does not panic").expect("a line").expect("UTF-8");
    let example: Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!((&example["schema"], &example["place"]), (&json!("kubectl-mirror.diffs/v1"), &json!("/served_by")));
}
