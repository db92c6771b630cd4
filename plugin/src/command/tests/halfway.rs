//! What fails half-way is taken back: by the command itself, or by `disable`.

use insta::assert_snapshot;
use serde_json::json;

use super::world::Proxy;
use super::{ENVOY_FILTERS, FILTER, OVERLAY, World};

/// Of the other workload.
fn local(write: &str) -> String {
    write.replace("ingressgateway", "local")
}

fn deleted(write: &str) -> String {
    write.replace("apply", "delete")
}

#[tokio::test]
async fn where_the_second_overlay_is_refused_the_first_is_taken_back() {
    let world = World::with_two_workloads().await;
    world.done("install").await;
    world.server.clone().fail_on("apply", ENVOY_FILTERS, "mirror.default.hello.local", 500, "InternalError");
    let said = world.refused("enable hello --to v2 --gateway both").await;
    assert_eq!(said.writes, [OVERLAY, &local(OVERLAY), &deleted(OVERLAY)]);
    assert_snapshot!(said);
    assert!(!world.ours().iter().any(|name| name.starts_with("mirror.")));
}

#[tokio::test]
async fn where_the_second_change_is_refused_the_first_is_undone() {
    let world = World::with_two_workloads().await;
    world.done("enable hello --to v2 --gateway both --percent 5").await;
    let spec = |world: &World| {
        let overlay = world.server.object(ENVOY_FILTERS, "istio-system", "mirror.default.hello.ingressgateway");
        overlay.expect("the mirror")["spec"].clone()
    };
    let before = spec(&world);
    world.server.clone().fail_on("apply", ENVOY_FILTERS, "mirror.default.hello.local", 500, "InternalError");
    world.refused("enable hello --to v2 --gateway both --percent 10").await;
    assert_eq!(spec(&world), before);
}

#[tokio::test]
async fn a_strategy_that_is_refused_leaves_the_other_in_place() {
    let world = World::with_hello().await;
    world.done("enable hello --to v2").await;
    let before = world.ours();
    world.server.clone().fail_on("apply", super::VIRTUAL_SERVICES, "hello-mirror", 403, "Forbidden");
    let said = world.refused("enable hello --to v2 --strategy virtualservice").await;
    assert_eq!(said.writes, [format!("{} (dry run)", super::MIRROR)]);
    assert_eq!(world.ours(), before);

    // A gateway that does not let go of the old one keeps it.
    world.server.refuse_nothing();
    world.proxy("gw-1", Proxy::Cut);
    let said = world.refused("enable hello --to v2 --strategy virtualservice --timeout 0s").await;
    assert!(said.messages.ends_with("The mirror is as it was before.\n"), "{said}");
    assert_eq!(world.ours(), before);
}

#[tokio::test]
async fn what_was_installed_before_a_failure_goes_with_disable() {
    let world = World::with_hello().await;
    let overlay = "mirror.default.hello.ingressgateway";
    world.server.clone().fail_on("apply", ENVOY_FILTERS, overlay, 403, "Forbidden");
    let failed = world.refused("enable hello --to v2").await;
    assert_eq!(failed.writes, [FILTER, OVERLAY]);
    let disabled = world.done("disable hello").await;
    assert_eq!(disabled.writes, [deleted(FILTER)]);
    assert_snapshot!(format!("{failed}\n{disabled}"));
    assert!(world.ours().is_empty());
}

#[tokio::test]
async fn half_a_mirror_is_disabled_like_a_whole_one() {
    let world = World::with_two_workloads().await;
    world.done("enable hello --to v2 --gateway both").await;
    // Somebody deleted one half, and what was asked for is unreadable in the other.
    world.server.remove(ENVOY_FILTERS, "istio-system", "mirror.default.hello.ingressgateway");
    world.edit_filter("mirror.default.hello.local", |overlay| {
        overlay["metadata"]["annotations"]["kubectl-mirror/intent"] = json!("{");
    });
    let said = world.done("disable hello").await;
    assert_eq!(said.writes, [deleted(&local(OVERLAY)), deleted(FILTER), deleted(&local(FILTER))]);
    assert!(world.ours().is_empty());
}

#[tokio::test]
async fn a_proxy_without_the_match_wrapper_gets_the_bare_module() {
    let world = World::with_hello().await;
    world.proxy("gw-1", Proxy::WithoutWrapper);
    let said = world.done("enable hello --to v2").await;
    assert_eq!(said.writes, [FILTER, FILTER, OVERLAY]);
    // It is remembered.
    let again = world.done("install").await;
    assert_eq!(again.writes, [FILTER]);
}

#[tokio::test]
async fn a_module_that_is_refused_is_taken_back() {
    let world = World::with_hello().await;
    world.proxy("gw-1", Proxy::Refusing);
    let said = world.refused("enable hello --to v2").await;
    assert_eq!(said.writes, [FILTER, FILTER, &deleted(FILTER)]);
    assert_snapshot!(said);
    assert!(world.ours().is_empty());
}

#[tokio::test]
async fn a_pod_that_does_not_come_takes_the_installation_back() {
    let world = World::with_hello().await;
    world.proxy("gw-1", Proxy::Cut);
    let said = world.refused("install --timeout 0s").await;
    assert_eq!(said.writes, [FILTER, FILTER, &deleted(FILTER)]);
    assert_snapshot!(said);
}

#[tokio::test]
async fn where_an_update_is_refused_the_previous_installation_is_restored() {
    let world = World::with_hello().await;
    world.done("install").await;
    world.edit_filter("kubectl-mirror-ingressgateway", |filter| {
        filter["metadata"]["annotations"]["kubectl-mirror/version"] = json!("0.0.1");
    });
    let before = world.server.object(ENVOY_FILTERS, "istio-system", "kubectl-mirror-ingressgateway").expect("it");
    world.proxy("gw-1", Proxy::Refusing);
    let said = world.refused("install").await;
    assert_eq!(said.writes, [FILTER, FILTER, &format!("{FILTER} (force)")]);
    assert_snapshot!(said);
    let after = world.server.object(ENVOY_FILTERS, "istio-system", "kubectl-mirror-ingressgateway").expect("it");
    assert_eq!(
        (&after["spec"], &after["metadata"]["annotations"]),
        (&before["spec"], &before["metadata"]["annotations"])
    );
}

#[tokio::test]
async fn an_istio_that_drops_what_keeps_copies_apart_loses_the_mirror_again() {
    let world = World::with_hello().await;
    world.done("install").await;
    world.proxy("gw-1", Proxy::Dropping);
    let said = world.refused("enable hello --to hello-00003 --tag next").await;
    assert_snapshot!(said);
    assert_eq!(world.ours(), ["kubectl-mirror-ingressgateway"]);
    assert_eq!(world.tags(), ["v2"], "nothing knows of the tag any more");
}
