//! `enable`: what it applies, and what it refuses before it applies anything.

use insta::assert_snapshot;

use super::world::Proxy;
use super::{ENVOY_FILTERS, FILTER, OVERLAY, World};

#[tokio::test]
async fn the_filter_is_installed_and_then_the_mirror_applied() {
    let world = World::with_hello().await;
    let said = world.done("enable hello --to v2 --percent 5").await;
    assert_eq!(said.writes, [FILTER, OVERLAY]);
    assert_snapshot!(said);
    assert_eq!(world.ours(), ["kubectl-mirror-ingressgateway", "mirror.default.hello.ingressgateway"]);

    let calls = world.server.calls();
    let at = |call: &str| calls.iter().position(|made| made == call).unwrap_or_else(|| panic!("no call {call}"));
    let review = "review of a right";
    assert!(at("get routes.serving.knative.dev default/hello") < at(review), "what cannot work needs no rights");
    assert!(at(review) < at(FILTER) && at(FILTER) < at(OVERLAY));
}

#[tokio::test]
async fn again_it_changes_the_mirror_in_place() {
    let world = World::with_hello().await;
    world.done("enable hello --to v2 --percent 5").await;
    let same = world.done("enable hello --to v2 --percent 5").await;
    assert_eq!(same.writes, [OVERLAY]);
    assert!(same.data.contains("mirror.kubectl-mirror/hello unchanged"), "{same}");
    let other = world.done("enable hello --to v2 --percent 10 --secondary --methods GET,POST --for 1h").await;
    assert_eq!(other.writes, [OVERLAY]);
    assert!(other.data.contains("mirror.kubectl-mirror/hello configured"), "{other}");
    assert!(other.messages.starts_with("warning: POST requests are copied too"), "{other}");
}

#[tokio::test]
async fn a_filter_that_is_there_stays_as_it_is() {
    let world = World::with_hello().await;
    world.done("install").await;
    world.edit_filter("kubectl-mirror-ingressgateway", |filter| {
        filter["metadata"]["annotations"]["kubectl-mirror/version"] = "0.0.1".into();
    });
    let said = world.done("enable hello --to v2").await;
    assert_eq!(said.writes, [OVERLAY]);
    assert_snapshot!(said);
}

#[tokio::test]
async fn with_calls_from_both_sides_every_workload_gets_an_overlay() {
    let world = World::with_two_workloads().await;
    let said = world.done("enable hello --to v2 --gateway both").await;
    let local = |write: &str| write.replace("ingressgateway", "local");
    assert_eq!(said.writes, [FILTER, &local(FILTER), OVERLAY, &local(OVERLAY)]);
    assert_snapshot!(said);
}

#[tokio::test]
async fn dry_runs_keep_nothing() {
    let world = World::with_hello().await;
    let client = world.done("enable hello --to v2 --dry-run=client").await;
    assert!(client.writes.is_empty(), "{client}");
    let server = world.done("enable hello --to v2 --dry-run=server").await;
    assert_eq!(server.writes, [format!("{FILTER} (dry run)"), format!("{OVERLAY} (dry run)")]);
    let names = world.done("enable hello --to v2 --dry-run=client -o name").await;
    assert_snapshot!(format!("{client}\n{server}\n{names}"));
    let yaml = world.done("enable hello --to v2 --dry-run=client -o yaml").await;
    assert!(yaml.data.starts_with("apiVersion: networking.istio.io/v1alpha3\nkind: EnvoyFilter\n"), "{yaml}");
    let json = world.done("enable hello --to v2 --dry-run=client -o json").await;
    let object: serde_json::Value = serde_json::from_str(&json.data).expect("JSON");
    assert_eq!(object["kind"], "EnvoyFilter");
    assert!(world.ours().is_empty());
    // A dry run of a tag's addition, and of a change.
    let tag = world.done("enable hello --to hello-00003 --tag next --dry-run=server").await;
    assert_eq!(tag.writes, server.writes);
    world.done("enable hello --to v2").await;
    let change = world.done("enable hello --to v2 --percent 5 --dry-run=server").await;
    assert_eq!(change.writes, [format!("{OVERLAY} (dry run)")]);
    assert!(change.data.contains("hello configured (server dry run)"), "{change}");
}

#[tokio::test]
async fn without_waiting_nobody_is_asked() {
    let world = World::with_hello().await;
    world.deaf_pod("gw-2");
    let said = world.done("enable hello --to v2 --wait=false").await;
    assert_eq!(said.writes, [FILTER, OVERLAY]);
    assert_snapshot!(said);
}

#[tokio::test]
async fn what_cannot_work_is_refused_before_anything_is_written() {
    let world = World::with_hello().await;
    let mut stories = String::new();
    for command in [
        "enable helo --to v2",
        "enable hello --to v3",
        "enable hello --to hello-00001",
        "enable hello --to hello-00003",
        "enable hello --to hello-00004 --tag next",
        "enable hello --to hello-00003 --tag v2",
        "enable hello --to ksvc/helo",
        "enable hello --to v2 --strategy virtualservice --for 1h",
    ] {
        stories += &format!("{}\n", world.refused_at_once(command).await);
    }
    assert_snapshot!(stories);
    assert!(world.ours().is_empty());
}

#[tokio::test]
async fn a_missing_right_is_told_before_anything_is_written() {
    let mut stories = String::new();
    for (verb, resource) in [
        ("create", ENVOY_FILTERS),
        ("patch", ENVOY_FILTERS),
        ("get", "pods/portforward"),
        ("list", "pods"),
        ("get", "configmaps"),
        ("get", "routes.serving.knative.dev"),
        ("list", "revisions.serving.knative.dev"),
    ] {
        let world = World::with_hello().await;
        world.forbid(verb, resource);
        stories +=
            &format!("# no right to {verb} {resource}\n{}\n", world.refused_at_once("enable hello --to v2").await);
    }
    let world = World::with_hello().await;
    world.forbid("patch", super::SERVICES);
    let command = "enable hello --to hello-00003 --tag next";
    stories += &format!("# no right to patch services\n{}\n", world.refused_at_once(command).await);
    assert_eq!(world.tags(), ["v2"]);
    assert_snapshot!(stories);
}

#[tokio::test]
async fn gateways_that_cannot_take_it_are_refused() {
    let mut stories = String::new();
    let world = World::with_hello().await;
    world.envoy("gw-1").istio("1.27.4");
    stories += &format!("# an older proxy\n{}\n", world.refused_at_once("enable hello --to v2").await);

    let world = World::with_hello().await;
    world.server.clone().with(
        "{apiVersion: v1, kind: Pod, metadata: {name: istiod-0, namespace: istio-system, labels: {app: istiod}},
          spec: {containers: [{name: discovery, image: 'istio/pilot:1.27.0'}]}, status: {phase: Running}}",
    );
    stories += &format!("# an older control plane\n{}\n", world.refused_at_once("enable hello --to v2").await);

    let world = World::with_hello().await;
    world.deaf_pod("gw-2");
    stories += &format!("# a pod that cannot be asked\n{}\n", world.refused_at_once("enable hello --to v2").await);

    let world = World::with_hello().await;
    for pod in ["gw-0", "gw-1"] {
        world.server.edit("pods", "istio-system", pod, |pod| pod["status"]["phase"] = "Pending".into());
    }
    stories += &format!("# no pods\n{}\n", world.refused_at_once("enable hello --to v2").await);

    let world = World::with_hello().await;
    world.server.edit("ingresses.networking.internal.knative.dev", "default", "hello", |ingress| {
        ingress["metadata"]["annotations"]["networking.knative.dev/ingress.class"] = "kourier".into();
    });
    stories += &format!("# another ingress class\n{}\n", world.refused_at_once("enable hello --to v2").await);
    assert_snapshot!(stories);
}

#[tokio::test]
async fn what_belongs_to_somebody_else_is_left_alone() {
    let mut stories = String::new();
    for name in ["kubectl-mirror-ingressgateway", "mirror.default.hello.ingressgateway"] {
        let world = World::with_hello().await;
        let filter = format!(
            "{{apiVersion: networking.istio.io/v1alpha3, kind: EnvoyFilter, spec: {{configPatches: []}},
              metadata: {{name: {name}, namespace: istio-system, labels: {{app.kubernetes.io/managed-by: Helm}}}}}}"
        );
        world.server.clone().with(&filter);
        let said = world.refused_at_once("enable hello --to v2").await;
        stories += &format!("{said}\n");
    }
    let world = World::with_hello().await;
    world.server.clone().conflict(ENVOY_FILTERS, "argocd", ".spec.configPatches");
    let said = world.refused("enable hello --to v2").await;
    assert_eq!(said.writes, [FILTER]);
    stories += &format!("{said}\n");
    let forced = world.done("enable hello --to v2 --force-conflicts").await;
    assert_eq!(forced.writes, [format!("{FILTER} (force)"), format!("{OVERLAY} (force)")]);
    assert_snapshot!(stories);
}

#[tokio::test]
async fn a_host_has_one_mirror() {
    let world = World::with_hello().await;
    world.done("enable hello --to v2").await;
    // Another Route that claims the same hosts, as a second DomainMapping would.
    world.other();
    for (resource, name) in [("routes.serving.knative.dev", "other"), (super::VIRTUAL_SERVICES, "other-ingress")] {
        world.server.edit(resource, "default", name, |object| {
            let text = object.to_string().replace("other.default.example.com", "hello.default.example.com");
            *object = serde_json::from_str(&text).expect("JSON");
        });
    }
    assert_snapshot!(world.refused_at_once("enable other --to v2").await);
}

#[tokio::test]
async fn each_service_has_a_mirror_of_its_own() {
    let world = World::with_hello().await;
    world.other();
    world.done("enable hello --to v2").await;
    let said = world.done("enable other --to ksvc/hello").await;
    assert_eq!(said.writes, [OVERLAY.replace("hello", "other")]);
    assert_snapshot!(said);
    assert_eq!(world.ours().len(), 3);
}

#[tokio::test]
async fn a_pod_that_does_not_get_it_in_time_is_named() {
    let world = World::with_hello().await;
    world.done("install").await;
    world.proxy("gw-1", Proxy::Cut);
    let said = world.refused("enable hello --to v2 --timeout 0s").await;
    assert_eq!(said.writes, [OVERLAY]);
    assert_snapshot!(said);
}

/// Two users enable mirrors of one host at the same moment, each before it could see the other's.
#[tokio::test]
async fn of_two_at_once_the_younger_gives_way() {
    let world = World::with_hello().await;
    world.done("enable hello --to v2").await;
    let name = "mirror.default.hello.ingressgateway";
    let mut other = world.server.object(ENVOY_FILTERS, "istio-system", name).expect("the mirror");
    world.done("disable hello").await;
    other["metadata"]["name"] = "mirror.default.older.ingressgateway".into();
    other["metadata"]["labels"]["kubectl-mirror/route"] = "older".into();
    other["metadata"]["creationTimestamp"] = "2026-11-30T11:00:00Z".into();
    // It appears with the first write after everything has been looked at.
    world.server.appear(other);
    let said = world.refused("enable hello --to v2").await;
    assert_eq!(said.writes, [FILTER, OVERLAY, &OVERLAY.replace("apply", "delete")]);
    assert_snapshot!(said);
    assert!(!world.ours().contains(&name.to_owned()));
}
