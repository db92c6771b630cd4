//! What Istio makes of a WasmPlugin, and where it puts it.

use kubectl_mirror::istio::pin::Pinned;
use kubectl_mirror::istio::wasm_plugin::{Origin, wasm_plugin};
use kubectl_mirror::istio::{InstalledBy, Workload};
use mirror_core::config::{Mirror, MirrorSpec, Selection, Sending};
use mirror_tests::client::{Protocol, Request, Steady, once};
use mirror_tests::cluster::{Cluster, Gateway, ISTIO_SYSTEM, Kind, alone_on_cluster};
use mirror_tests::{module, wait};
use serde_json::{Value, json};

use crate::facts::Hello;

/// The WasmPlugin with the module at a path, told of these mirrors.
fn plugin(path: &str, sending: &Sending) -> Value {
    let workload = Workload {
        namespace: ISTIO_SYSTEM.to_owned(),
        labels: [("istio".to_owned(), "ingressgateway".to_owned())].into(),
    };
    let module = Pinned { url: format!("file://{path}"), sha256: "a".repeat(64) };
    let mut plugin = wasm_plugin(&workload, &Origin { module, pull_secret: None }, InstalledBy::Install);
    plugin.spec.plugin_config = sending.to_json();
    let mut value = serde_json::to_value(plugin).expect("JSON");
    value["spec"]["pluginConfig"]["generation"] = json!(3);
    value
}

/// A mirror with all that may be changed on its way: other scripts, quotes, long numbers.
fn odd() -> (String, String) {
    let json = r#"{"version":1,"name":"facts/odd","candidate":{"cluster":"outbound|80||v2"},"hosts":["odd.example.com"],
        "rules":{"tolerance":[{"path":"/p","relative":1e-7}],"ignore":["/s\u00e9\"<&>"]}}"#;
    let mirror = Mirror::from_json(json.as_bytes()).expect("a mirror");
    let selection = Selection { expires: Some(253_402_300_799), ..Selection::everything() };
    let spec = MirrorSpec { mirror, selection, candidate_host: None, secondary_host: None };
    ("facts/odd".to_owned(), spec.to_json())
}

/// What extension discovery has delivered for the WasmPlugin.
async fn delivered(gateway: &Gateway) -> Option<Value> {
    let text = gateway.envoy().get("/config_dump?resource=ecds_filters&name_regex=.%2A%5C.kubectl-mirror-.%2A").await;
    let dump: Value = serde_json::from_str(&text).unwrap_or_default();
    let config = dump["configs"][0]["ecds_filter"].clone();
    (!config.is_null()).then_some(config)
}

async fn until_delivered(cluster: &Cluster) {
    for gateway in cluster.gateways() {
        wait::until("the module", async || delivered(gateway).await.map(|_| ())).await;
    }
}

#[test]
fn its_configuration_arrives_unchanged_under_a_name_that_ends_in_the_objects() {
    alone_on_cluster(async |cluster| {
        let sending = Sending { mirrors: vec![odd()] };
        cluster.objects().apply(plugin(&module::built().display().to_string(), &sending)).await;
        until_delivered(cluster).await;
        for gateway in cluster.gateways() {
            let filter = delivered(gateway).await.expect("it is delivered");
            let name = filter["name"].as_str().expect("a name");
            let (_, object) = name.rsplit_once('/').expect("a name with a prefix");
            assert!(name.starts_with("extensions.istio.io/"), "{name}");
            assert!(object.starts_with(&format!("{ISTIO_SYSTEM}.kubectl-mirror-ingressgateway")), "{name}");
            let config = &filter["typed_config"]["config"];
            assert_eq!(config["failure_policy"], "FAIL_OPEN");
            let told = config["configuration"]["value"].as_str().expect("a text");
            assert_eq!(Sending::from_json(told.as_bytes()), Ok(Some(sending.clone())));
            wait::until("its virtual machines", async || {
                let stats = gateway.envoy().stats("^wasm.*kubectl-mirror").await;
                stats.keys().any(|name| name.starts_with(&format!("wasm.{ISTIO_SYSTEM}.kubectl-mirror-"))).then_some(())
            })
            .await;
        }
    });
}

/// The names of the HTTP filters of the listener for calls from outside.
async fn chain(gateway: &Gateway) -> Vec<String> {
    let dump = gateway.dump("dynamic_listeners").await;
    let listeners = dump["configs"].as_array().into_iter().flatten();
    let chains = listeners.flat_map(|listener| {
        let chains = &listener["active_state"]["listener"]["filter_chains"];
        chains.as_array().into_iter().flatten().cloned().collect::<Vec<_>>()
    });
    let chain = chains.map(|chain| chain["filters"][0]["typed_config"]["http_filters"].clone()).find(Value::is_array);
    let filters = chain.unwrap_or_default();
    filters
        .as_array()
        .into_iter()
        .flatten()
        .map(|filter| filter["name"].as_str().unwrap_or_default().to_owned())
        .collect()
}

/// What is behind it: what Istio gives every listener, none of which decides who is let in.
const BEHIND: [&str; 4] = [
    "envoy.filters.http.grpc_stats",
    "envoy.filters.http.fault",
    "envoy.filters.http.cors",
    "envoy.filters.http.router",
];

#[test]
fn it_stands_behind_authorization_and_only_before_istios_last_filters() {
    alone_on_cluster(async |cluster| {
        let hello = Hello::start(cluster).await;
        let policy = json!({
            "apiVersion": "security.istio.io/v1", "kind": "AuthorizationPolicy",
            "metadata": {"name": "facts", "namespace": ISTIO_SYSTEM},
            "spec": {
                "selector": {"matchLabels": {"istio": "ingressgateway"}}, "action": "DENY",
                "rules": [{"to": [{"operation": {"paths": ["/denied"]}}]}],
            },
        });
        cluster.objects().apply(policy).await;
        cluster.objects().apply(plugin(&module::built().display().to_string(), &Sending::default())).await;
        until_delivered(cluster).await;
        for gateway in cluster.gateways() {
            let names = wait::until("both filters", async || {
                let names = chain(gateway).await;
                let has = |part: &str| names.iter().any(|name| name.contains(part));
                (has("rbac") && has("kubectl-mirror")).then_some(names)
            })
            .await;
            let at = |part: &str| names.iter().position(|name| name.contains(part)).expect("it is there");
            assert!(at("rbac") < at(".kubectl-mirror-"), "{names:?}");
            assert_eq!(&names[at(".kubectl-mirror-") + 1..], BEHIND);
            let denied = Request::get("/denied").host(&hello.service.host());
            let answer = once(gateway.external(), Protocol::Http1, &denied).await.expect("an answer");
            assert_eq!(answer.status, 403);
        }
        cluster.admin().kubectl_ok(&["delete", "authorizationpolicies.security.istio.io", "facts", "-n", ISTIO_SYSTEM]);
    });
}

/// The one way in which a WasmPlugin can harm anybody: Istio gives its extension no default. What its agent cannot fetch it
/// replaces by something harmless, but a bare Envoy shows what becomes of what was fetched and is no module.
#[test]
fn a_module_that_envoy_refuses_is_answered_with_500_until_it_is_gone() {
    alone_on_cluster(async |cluster| {
        let hello = Hello::start(cluster).await;
        let request = Request::get("/").host(&hello.service.host());
        let status = async |gateway: &Gateway| {
            once(gateway.external(), Protocol::Http1, &request).await.expect("an answer").status
        };
        let bad = plugin("/nowhere/module.wasm", &Sending::default());
        cluster.objects().apply(bad.clone()).await;
        for gateway in cluster.gateways() {
            wait::until("500", async || (status(gateway).await == 500).then_some(())).await;
        }
        let name = bad["metadata"]["name"].as_str().expect("a name");
        cluster.objects().delete(Kind::WASM_PLUGIN, ISTIO_SYSTEM, name).await;
        for gateway in cluster.gateways() {
            wait::until("200", async || (status(gateway).await == 200).then_some(())).await;
        }
        // In place of one that runs, it harms nobody: that one runs on.
        cluster.objects().apply(plugin(&module::built().display().to_string(), &Sending::default())).await;
        let steady: Vec<_> =
            cluster.gateways().iter().map(|gateway| Steady::start(gateway.external(), request.clone())).collect();
        for gateway in cluster.gateways() {
            wait::until("it runs", async || (gateway.envoy().stat(VMS).await > 0).then_some(())).await;
        }
        let refusals = |gateway: &Gateway| gateway.envoy().log().matches("Invalid path: /nowhere").count();
        let before: Vec<_> = cluster.gateways().iter().map(refusals).collect();
        cluster.objects().apply(bad).await;
        for ((steady, gateway), before) in steady.into_iter().zip(cluster.gateways()).zip(before) {
            wait::until("another refusal", async || (refusals(gateway) > before).then_some(())).await;
            assert!(gateway.envoy().stat(VMS).await > 0);
            steady.stop().await.assert_all_right();
        }
    });
}

/// How many virtual machines run WebAssembly in an Envoy.
const VMS: &str = "wasm.envoy.wasm.runtime.v8.active";

/// The variable in which Istio tells its agent of the object's version. The agent takes it away from what it has fetched.
const VERSION: &str = "ISTIO_META_WASM_PLUGIN_RESOURCE_VERSION";

#[test]
fn a_change_of_the_object_is_one_of_its_vms_environment_and_newer_envoys_start_them_anew() {
    alone_on_cluster(async |cluster| {
        let path = module::built().display().to_string();
        let version = async |gateway: &Gateway| {
            let variables =
                delivered(gateway).await?["typed_config"]["config"]["vm_config"]["environment_variables"].clone();
            Some(variables["key_values"][VERSION].as_str()?.to_owned())
        };
        let vms = async |gateway: &Gateway| -> Vec<String> {
            let ticks = gateway.envoy().stats("^wasmcustom.mirror_v1__alive").await;
            ticks.into_iter().filter(|(_, tick)| *tick > 0).map(|(name, _)| name).collect()
        };
        cluster.objects().apply(plugin(&path, &Sending::default())).await;
        let mut before = Vec::new();
        for gateway in cluster.gateways() {
            let vms =
                wait::until("signs of life", async || Some(vms(gateway).await).filter(|vms| vms.len() == 3)).await;
            before.push((vms, version(gateway).await.expect("a version")));
        }
        cluster.objects().apply(plugin(&path, &Sending { mirrors: vec![odd()] })).await;
        for (gateway, (_, old)) in cluster.gateways().iter().zip(&before) {
            wait::until("another version", async || version(gateway).await.filter(|version| version != old)).await;
        }
        // That of the newest Envoy.
        wait::until("other VMs", async || {
            let vms = vms(cluster.gateway()).await;
            (vms.len() == 3 && vms.iter().all(|vm| !before[0].0.contains(vm))).then_some(())
        })
        .await;
    });
}
