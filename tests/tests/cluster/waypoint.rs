//! `--waypoint`: the WasmPlugin on a waypoint of an ambient mesh.

use mirror_tests::client::{Protocol, Request, once};
use mirror_tests::cluster::{Kind, Waypoint, alone_on_cluster};
use mirror_tests::wait;
use serde_json::json;

use super::hello::{Hello, SHADOW, WASM_PLUGIN, module_options};

const NAME: &str = "waypoint";

/// The addresses of the versions' Services. Clients in a mesh find them by DNS.
const V1: &str = "240.240.0.1";
const V2: &str = "240.240.0.2";

/// Lets the waypoint serve the Service of a revision, which has an address from then on.
fn serve(hello: &Hello, revision: &str, address: &str) {
    let (entry, namespace) = (hello.service.revision_name(revision), hello.service.namespace());
    let labels = json!({"istio.io/use-waypoint": NAME});
    let patch = json!({"metadata": {"labels": labels}, "spec": {"addresses": [address]}}).to_string();
    let patch = ["patch", "serviceentry", &entry, "-n", namespace, "--type=merge", "-p", &patch];
    hello.cluster.admin().kubectl_ok(&patch);
}

/// The waypoint's cluster for a revision.
fn cluster_of(hello: &Hello, revision: &str) -> String {
    hello.service.envoy_cluster(revision).replace("outbound|80||", "inbound-vip|80|http|")
}

/// The names of the HTTP filters that stand before the Service of v1.
async fn chain(hello: &Hello, waypoint: &Waypoint) -> Vec<String> {
    let dump = waypoint.dump("dynamic_listeners").await;
    let listeners = dump["configs"].as_array().into_iter().flatten();
    let chains = listeners.flat_map(|listener| {
        let chains = &listener["active_state"]["listener"]["filter_chains"];
        chains.as_array().into_iter().flatten()
    });
    let name = cluster_of(hello, "v1");
    let filters = chains.filter(|chain| chain["name"] == *name).flat_map(|chain| {
        let filters = &chain["filters"][0]["typed_config"]["http_filters"];
        filters.as_array().into_iter().flatten()
    });
    filters.map(|filter| filter["name"].as_str().unwrap_or_default().to_owned()).collect()
}

/// Asks for the Service of v1 as users do, by the Route's host.
async fn ask(hello: &Hello, waypoint: &Waypoint, path: &str) -> Option<u16> {
    let request = Request::get(path).host(&hello.service.host());
    once(waypoint.inbound(), Protocol::Http1, &request).await.ok().map(|answer| answer.status)
}

#[test]
fn a_mirror_is_put_into_a_waypoint_and_taken_out_of_it() {
    alone_on_cluster(async |cluster| {
        let mut hello = Hello::start(cluster).await.by(WASM_PLUGIN);
        let namespace = hello.service.namespace().to_owned();
        serve(&hello, "v1", V1);
        let waypoint = Waypoint::start(cluster, &namespace, NAME, &format!("{V1}:80")).await;
        wait::until("an answer", async || (ask(&hello, &waypoint, "/before").await == Some(200)).then_some(())).await;

        let refused = |options: &[&str], why: &str| {
            let mirror = ["enable", "hello", "--to", "v2"];
            let said = hello.mirror(&[&mirror[..], options].concat());
            assert_eq!(said.status, Some(2), "{said:#?}");
            assert!(said.stderr.contains(why), "{said:#?}");
        };
        let strategy = ["--strategy", WASM_PLUGIN];
        refused(&["--waypoint", NAME], "--waypoint works only with --strategy wasmplugin");
        refused(&[&strategy[..], &["--waypoint", "nobody"]].concat(), "there is no Gateway nobody");
        let module = module_options();
        let module: Vec<_> = module.iter().map(String::as_str).collect();
        let options = [&["--waypoint", NAME], &module[..]].concat();
        // The waypoint does not serve the candidate.
        refused(&[&strategy[..], &options].concat(), "istio.io/use-waypoint");
        assert!(cluster.objects().names(Kind::WASM_PLUGIN, &namespace, "").await.is_empty());

        serve(&hello, "v2", V2);
        wait::until("the candidate's cluster", async || {
            let dump = waypoint.dump("dynamic_active_clusters").await.to_string();
            dump.contains(&cluster_of(&hello, "v2")).then_some(())
        })
        .await;
        let said = hello.enable(&options);
        assert!(said.stdout.ends_with("mirror.kubectl-mirror/hello created\n"), "{said:#?}");
        assert!(said.stderr.contains("Live on 1 of 1 gateway pods"), "{said:#?}");
        // With the mirror, which comes after the module, a module out of a file starts anew.
        let status = hello.until_state("Live").await;
        assert_eq!(status["pods"][0]["pod"], "waypoint-0", "{status:#}");
        assert_eq!(status["pods"].as_array().map(Vec::len), Some(1), "{status:#}");
        let filters = chain(&hello, &waypoint).await;
        let at = filters.iter().position(|name| name.contains(".kubectl-mirror-")).expect("it stands there");
        assert_eq!(filters[at + 1..], ["envoy.filters.http.router"], "{filters:?}");
        // Of both workers and the main thread, without any request.
        wait::until("signs of life", async || {
            let alive = waypoint.envoy().stats("^wasmcustom.mirror_v1__alive").await;
            (alive.values().filter(|tick| **tick > 0).count() >= 3).then_some(())
        })
        .await;

        // The steady clients, who ask by the gateways, are not copied.
        for path in ["/one", "/two"] {
            assert_eq!(ask(&hello, &waypoint, path).await, Some(200));
        }
        wait::until("both copies", async || (copies(&hello).len() == 2).then_some(())).await;
        hello.stop_steady().await;
        assert_eq!(hello.counted().await, [("match".to_owned(), 2)]);
        let host = hello.service.host();
        assert!(hello.v1.seen().iter().any(|seen| seen.path == "/one" && seen.header("host") == host));
        let copy = &hello.seen_as(SHADOW)[0];
        assert_eq!(copy.header("host"), host);
        assert_eq!(copy.header("knative-serving-revision"), hello.service.revision_name("v2"));

        let said = hello.enable(&["--waypoint", &format!("{namespace}/{NAME}"), "--percent", "50"]);
        assert_eq!(said.stdout, "mirror.kubectl-mirror/hello configured\n");
        hello.until_state("Live").await;
        hello.mirror_ok(&["disable", "hello"]);
        assert!(cluster.objects().names(Kind::WASM_PLUGIN, &namespace, "").await.is_empty());
        let is_bare = |filters: &[String]| !filters.iter().any(|name| name.contains("kubectl-mirror"));
        wait::until("a bare waypoint", async || is_bare(&chain(&hello, &waypoint).await).then_some(())).await;
        assert_eq!(ask(&hello, &waypoint, "/after").await, Some(200));
        assert_eq!(copies(&hello), ["/one", "/two"]);
    });
}

/// The paths of all copies.
fn copies(hello: &Hello) -> Vec<String> {
    let mut paths: Vec<_> = hello.seen_as(SHADOW).into_iter().map(|seen| seen.path).collect();
    paths.sort();
    paths
}
