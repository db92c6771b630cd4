//! `list`, `status`, `version`, `doctor` and `report`: they change nothing, and tell the truth.

use std::fmt::Write as _;

use insta::assert_snapshot;
use serde_json::json;

use super::world::{Proxy, Said};
use super::{ENVOY_FILTERS, VIRTUAL_SERVICES, World};
use crate::source::{Module, Way};

const OVERLAY: &str = "mirror.default.hello.ingressgateway";

/// A mirror of `hello` that was enabled some days ago.
async fn with_mirror() -> World {
    let world = World::with_hello().await;
    world.done("enable hello --to v2 --percent 5").await;
    world.age(ENVOY_FILTERS, "istio-system", OVERLAY);
    world
}

/// Runs a command that only looks.
async fn look(world: &World, command: &str) -> Said {
    let said = world.done(command).await;
    assert!(said.writes.is_empty(), "{said}");
    said
}

#[tokio::test]
async fn a_live_mirror_in_every_format() {
    let world = with_mirror().await;
    let mut stories = String::new();
    for command in [
        "list",
        "list -A",
        "list -o wide",
        "list -o name",
        "status",
        "status hello",
        "status hello -o wide",
        "status -A -o name",
    ] {
        let _ = writeln!(stories, "{}", look(&world, command).await);
    }
    assert_snapshot!(stories);
    let created = |text: &str| {
        let line = text.lines().find(|line| line.contains("created")).expect("its age").to_owned();
        text.replace(&line, &line.replace(|c: char| c.is_ascii_digit(), "9"))
    };
    assert_snapshot!("status_json", created(&look(&world, "status hello -o json").await.data));
    assert_snapshot!("status_yaml", created(&look(&world, "status hello -o yaml").await.data));
}

#[tokio::test]
async fn nothing_is_no_error_and_a_name_that_is_not_there_is_one() {
    let world = World::with_hello().await;
    let mut stories = String::new();
    for command in ["list", "list -A", "list -o json", "status -n elsewhere", "status -o yaml"] {
        let _ = writeln!(stories, "{}", look(&world, command).await);
    }
    let _ = writeln!(stories, "{}", world.refused_at_once("status hello").await);
    assert_snapshot!(stories);
}

#[tokio::test]
async fn what_is_wrong_is_told_with_what_to_do() {
    let mut stories = String::new();
    let mut tell = |what: &str, said: Said| writeln!(stories, "# {what}\n{said}").expect("a string");

    let world = with_mirror().await;
    world.envoy("gw-1").module(Way::Observing, Module::Stopped);
    world.deaf_pod("gw-2");
    tell("one pod has stopped, one cannot be asked", look(&world, "status").await);

    let world = with_mirror().await;
    world.edit_filter(OVERLAY, |overlay| overlay["metadata"]["annotations"]["kubectl-mirror/intent"] = json!("{"));
    tell("an unreadable annotation", look(&world, "status").await);
    world.edit_filter(OVERLAY, |overlay| {
        overlay["metadata"]["annotations"]["kubectl-mirror/intent"] = json!(r#"{"version":9}"#);
    });
    tell("a newer version", look(&world, "status").await);

    let world = with_mirror().await;
    world.edit_filter(OVERLAY, |overlay| {
        let intent = overlay["metadata"]["annotations"]["kubectl-mirror/intent"].as_str().expect("text");
        let intent = intent.replacen('{', r#"{"expires":1796040000,"#, 1);
        overlay["metadata"]["annotations"]["kubectl-mirror/intent"] = json!(intent);
    });
    tell("its time has run out", look(&world, "status -o wide").await);

    let world = with_mirror().await;
    world.server.edit("routes.serving.knative.dev", "default", "hello", |route| {
        route["status"]["traffic"][1]["revisionName"] = json!("hello-00003");
    });
    tell("its tag has moved on", look(&world, "status").await);

    let world = with_mirror().await;
    world.server.remove("routes.serving.knative.dev", "default", "hello");
    tell("its service is gone", look(&world, "status").await);

    let world = with_mirror().await;
    world.forbid("list", "pods");
    tell("the gateways cannot be seen", look(&world, "status").await);

    let world = with_mirror().await;
    world.proxy("gw-1", Proxy::Dropping);
    world.edit_filter(OVERLAY, |_| {});
    tell("a proxy that drops the changes of headers", look(&world, "status").await);

    let world = with_mirror().await;
    world.server.remove(ENVOY_FILTERS, "istio-system", "kubectl-mirror-ingressgateway");
    tell("the filter is gone", look(&world, "status").await);
    assert_snapshot!(stories);
}

#[tokio::test]
async fn a_mirror_of_a_virtual_service_goes_stale() {
    let world = World::with_hello().await;
    world.done("enable hello --to v2 --strategy virtualservice").await;
    world.age(VIRTUAL_SERVICES, "default", "hello-mirror");
    world.server.edit(VIRTUAL_SERVICES, "default", "hello-ingress", |own| {
        let text = own.to_string().replace("hello-00001", "hello-00004");
        *own = serde_json::from_str(&text).expect("JSON");
    });
    assert_snapshot!(look(&world, "status").await);
}

#[tokio::test]
async fn versions_are_those_of_the_plugin_and_of_each_gateway() {
    let world = World::with_hello().await;
    let client = look(&world, "version --client").await;
    assert!(world.server.calls().is_empty());
    let without = look(&world, "version").await;
    world.done("install").await;
    world.deaf_pod("gw-2");
    let mut with = look(&world, "version").await;
    // The columns are as wide as the versions.
    with.data =
        with.data.split("  ").filter(|cell| !cell.is_empty()).map(str::trim_start).collect::<Vec<_>>().join("  ");
    world.forbid("get", "configmaps");
    let unseen = look(&world, "version").await;
    assert_snapshot!(format!("{client}\n{without}\n{with}\n{unseen}"));
    let json: serde_json::Value = serde_json::from_str(&look(&world, "version -o json").await.data).expect("JSON");
    assert_eq!(json["plugin"], "VERSION");
}

#[tokio::test]
async fn the_doctor_says_how_to_mend_what_is_wrong() {
    const ISTIOD: &str = "
apiVersion: v1
kind: Pod
metadata: {name: istiod-0, namespace: istio-system, labels: {app: istiod}}
spec: {containers: [{name: discovery, image: istio/pilot:1.28.3}]}
status: {phase: Running}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: istiod, namespace: istio-system, labels: {app: istiod}}
spec: {selector: {}, template: {spec: {containers: [{name: discovery, env: [{name: A, value: b}]}]}}}
";
    let world = with_mirror().await;
    world.server.clone().with(ISTIOD);
    let well = look(&world, "doctor").await;

    let world = with_mirror().await;
    let old = ISTIOD
        .replace("1.28.3", "1.26.0")
        .replace("name: A, value: b", "name: PILOT_ENABLE_ENVOY_FILTER, value: 'false'");
    world.server.clone().with(&old);
    world.server.edit("configmaps", "knative-serving", "config-network", |config| {
        config["data"]["ingress-class"] = json!("kourier.ingress.networking.knative.dev");
    });
    world.edit_filter(OVERLAY, |overlay| overlay["metadata"]["annotations"]["kubectl-mirror/intent"] = json!("{"));
    world.envoy("gw-1").module(Way::Observing, Module::Rejected);
    world.deaf_pod("gw-2");
    world.forbid("create", ENVOY_FILTERS);
    let ill = world.run("doctor").await;
    assert_eq!((ill.status, ill.writes.len()), (1, 0), "{ill}");

    let world = World::with_hello().await;
    world.as_application_team();
    let team = look(&world, "doctor").await;

    let world = World::with_hello().await;
    world.server.clone().without_kind("routes.serving.knative.dev").without_kind(VIRTUAL_SERVICES);
    let other = world.run("doctor").await;
    assert_eq!(other.status, 1, "{other}");
    assert_snapshot!(format!("{well}\n{ill}\n# an application team\n{team}\n# neither Knative nor Istio\n{other}"));
}

/// Lets a gateway have counted so many equal pairs.
fn counts(world: &World, pod: &str, pairs: u64) {
    let stat = |name: &str, value: u64| json!({ "name": name, "value": value });
    let stats = [
        stat("wasm.kubectl-mirror.vm_reload", 0),
        stat("wasmcustom.mirror_v1__alive__1__n", 1_796_047_652),
        stat("wasmcustom.mirror_v1__alive__2__n", 1_796_047_652),
        stat("wasmcustom.mirror_v1__pairs__default_2fhello__match__n", pairs),
    ];
    world.envoy(pod).page("/stats", json!({ "stats": stats }));
}

#[tokio::test]
async fn a_report_sums_all_pods_and_names_those_that_are_missing() {
    let world = with_mirror().await;
    counts(&world, "gw-0", 40);
    counts(&world, "gw-1", 2);
    let whole = look(&world, "report hello").await;
    let json: serde_json::Value = serde_json::from_str(&look(&world, "report hello -o json").await.data).expect("JSON");
    assert_eq!(json.pointer("/mirrors/0/pairs"), Some(&json!(42)), "{json}");
    world.deaf_pod("gw-2");
    let partial = look(&world, "report default/hello").await;
    let nobody = world.refused_at_once("report other").await;
    let elsewhere = look(&world, "report -n elsewhere").await;
    assert_snapshot!(format!("{whole}\n{partial}\n{nobody}\n{elsewhere}"));
    let failed = world.run("report hello --fail-on pairs<1000").await;
    assert_eq!(failed.status, 1, "{failed}");
}

#[tokio::test]
async fn a_report_of_nobody_is_none() {
    let world = with_mirror().await;
    world.forbid("get", "pods/portforward");
    let unreachable = world.refused_at_once("report hello").await;
    for pod in ["gw-0", "gw-1"] {
        world.server.remove("pods", "istio-system", pod);
    }
    let gone = world.refused_at_once("report hello").await;
    assert_snapshot!(format!("{unreachable}\n{gone}"));
}
