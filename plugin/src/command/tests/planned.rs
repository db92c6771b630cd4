//! `generate` and `sync`: what would be written, and what is written anew.

use std::fmt::Write as _;

use insta::assert_snapshot;
use serde_json::json;

use super::{ENVOY_FILTERS, MIRROR, OVERLAY, VIRTUAL_SERVICES, World};

/// Lets Knative serve `hello` from another revision.
fn roll_out(world: &World) {
    world.server.edit(VIRTUAL_SERVICES, "default", "hello-ingress", |own| {
        *own = serde_json::from_str(&own.to_string().replace("hello-00001", "hello-00003")).expect("JSON");
    });
}

#[tokio::test]
async fn what_is_generated_is_what_enable_applies() {
    let world = World::with_hello().await;
    let generated = world.done("generate hello --to v2 --percent 5 -o json").await;
    assert!(generated.writes.is_empty() && generated.messages.is_empty(), "{generated}");
    let generated: serde_json::Value = serde_json::from_str(&generated.data).expect("JSON");
    world.done("enable hello --to v2 --percent 5 --strategy virtualservice").await;
    let applied = world.server.object(VIRTUAL_SERVICES, "default", "hello-mirror").expect("the mirror");
    assert_eq!(generated["spec"], applied["spec"]);
    assert_eq!(generated["metadata"]["labels"], applied["metadata"]["labels"]);
    let names = world.done("generate hello --to v2 --strategy overlay --gateway both -o name").await;
    assert_eq!(names.data, "envoyfilter.networking.istio.io/mirror.default.hello.ingressgateway\n");
}

#[tokio::test]
async fn an_application_team_can_generate() {
    let world = World::with_hello().await;
    world.as_application_team();
    world.done("generate hello --to v2 --percent 5").await;
    let mut stories = String::new();
    for command in ["generate hello --to v2 --strategy overlay", "generate hello --to v3", "generate helo --to v2"] {
        let _ = writeln!(stories, "{}", world.refused_at_once(command).await);
    }
    assert_snapshot!(stories);
}

/// Where `<route>-ingress` would be too long, Knative gives the VirtualService a shorter name with a hash.
#[tokio::test]
async fn the_virtual_service_of_a_long_name_is_found_by_its_label() {
    const LONG: &str = "a-service-whose-name-is-almost-as-long-as-names-may-ever-be";
    let world = World::with_hello().await;
    world.route(LONG);
    let name = format!("{LONG}-ingress");
    let mut own = world.server.object(VIRTUAL_SERVICES, "default", &name).expect("it");
    world.server.remove(VIRTUAL_SERVICES, "default", &name);
    own["metadata"]["name"] = json!("a-service-whose-nam5f1b2c3d4e5f60718293a4b5c6d7e8f9-ingress");
    let mut mesh = own.clone();
    mesh["metadata"]["name"] = json!("a-mesh-one-which-comes-first");
    mesh["spec"]["gateways"] = json!(["mesh"]);
    for object in [&own, &mesh] {
        world.server.clone().with(&object.to_string());
    }
    let said = world.done(&format!("generate {LONG} --to ksvc/hello --gateway both")).await;
    assert!(said.data.contains("knative-serving/knative-local-gateway"), "{said}");

    // The same from files.
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("objects.yaml");
    let route = world.server.object("routes.serving.knative.dev", "default", LONG).expect("the Route");
    // Not what the configuration says by default, so it can only come from the VirtualService.
    let own = own.to_string().replace("knative-serving/knative-local-gateway", "edge/own-gateway");
    std::fs::write(&file, format!("{mesh}\n---\n{own}\n---\n{route}\n")).expect("a file");
    let said = world.done(&format!("generate {LONG} --to v2 --gateway local -f {}", file.display())).await;
    assert!(said.data.contains("edge/own-gateway"), "{said}");
}

#[tokio::test]
async fn what_is_stale_is_rebuilt_and_the_rest_left_alone() {
    let world = World::with_hello().await;
    world.other();
    world.done("enable hello --to v2 --strategy virtualservice").await;
    world.done("enable other --to v2").await;
    let fresh = world.done("sync").await;
    assert!(fresh.writes.is_empty(), "{fresh}");
    roll_out(&world);
    let client = world.done("sync --dry-run=client").await;
    assert!(client.writes.is_empty(), "{client}");
    let server = world.done("sync hello --dry-run=server").await;
    assert_eq!(server.writes, [format!("{MIRROR} (dry run)")]);
    let synced = world.done("sync").await;
    assert_eq!(synced.writes, [MIRROR]);
    let again = world.done("sync -A").await;
    assert!(again.writes.is_empty(), "{again}");
    assert_snapshot!(format!("{fresh}\n{client}\n{server}\n{synced}"));
    let mirror = world.server.object(VIRTUAL_SERVICES, "default", "hello-mirror").expect("the mirror");
    assert!(mirror.to_string().contains("hello-00003"), "{mirror}");
}

#[tokio::test]
async fn a_tag_that_has_moved_on_is_followed() {
    let world = World::with_hello().await;
    world.done("enable hello --to v2").await;
    world.server.edit("routes.serving.knative.dev", "default", "hello", |route| {
        route["status"]["traffic"][1]["revisionName"] = json!("hello-00003");
    });
    let said = world.done("sync hello").await;
    assert_eq!(said.writes, [OVERLAY]);
    assert_snapshot!(said);
}

#[tokio::test]
async fn one_broken_mirror_does_not_keep_the_others_from_being_rebuilt() {
    let world = World::with_hello().await;
    world.other();
    world.done("enable hello --to v2").await;
    world.done("enable other --to v2 --strategy virtualservice").await;
    world.server.edit(VIRTUAL_SERVICES, "default", "other-ingress", |own| {
        *own = serde_json::from_str(&own.to_string().replace("other-00001", "other-00003")).expect("JSON");
    });
    world.edit_filter("mirror.default.hello.ingressgateway", |overlay| {
        overlay["metadata"]["annotations"]["kubectl-mirror/intent"] = json!("{");
    });
    let said = world.refused("sync").await;
    assert_eq!(said.writes, [MIRROR.replace("hello", "other")]);
    assert_snapshot!(said);
}

#[tokio::test]
async fn a_right_that_is_missing_is_told() {
    let world = World::with_hello().await;
    world.done("enable hello --to v2").await;
    world.server.edit("routes.serving.knative.dev", "default", "hello", |route| {
        route["status"]["traffic"][1]["revisionName"] = json!("hello-00003");
    });
    let before = world.server.object(ENVOY_FILTERS, "istio-system", "mirror.default.hello.ingressgateway");
    world.forbid("patch", ENVOY_FILTERS);
    assert_snapshot!(world.refused("sync").await);
    assert_eq!(world.server.object(ENVOY_FILTERS, "istio-system", "mirror.default.hello.ingressgateway"), before);
    let none = world.refused_at_once("sync other").await;
    assert!(none.messages.contains(r#"mirror.kubectl-mirror "other" not found in namespace default"#), "{none}");
}
