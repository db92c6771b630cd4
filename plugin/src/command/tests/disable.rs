//! `disable`: nothing is left, and nothing is taken that belongs to others.

use insta::assert_snapshot;

use super::world::Proxy;
use super::{ENVOY_FILTERS, FILTER, OVERLAY, World};

fn deleted(write: &str) -> String {
    write.replace("apply", "delete")
}

#[tokio::test]
async fn the_filter_goes_with_the_last_mirror_where_enable_had_put_it_there() {
    let world = World::with_hello().await;
    world.other();
    world.done("enable hello --to v2").await;
    world.done("enable other --to v2").await;
    let first = world.done("disable other").await;
    assert_eq!(first.writes, [deleted(OVERLAY).replace("hello", "other")]);
    let last = world.done("disable hello").await;
    assert_eq!(last.writes, [deleted(OVERLAY), deleted(FILTER)]);
    assert_snapshot!(format!("{first}\n{last}"));
    assert!(world.ours().is_empty());
}

#[tokio::test]
async fn what_install_has_put_there_stays() {
    let world = World::with_hello().await;
    world.done("install").await;
    world.done("enable hello --to v2").await;
    let said = world.done("disable hello").await;
    assert_eq!(said.writes, [deleted(OVERLAY)]);
    assert_eq!(world.ours(), ["kubectl-mirror-ingressgateway"]);
}

#[tokio::test]
async fn what_is_not_there_cannot_be_disabled() {
    let world = World::with_hello().await;
    let one = world.refused_at_once("disable hello").await;
    let all = world.done("disable --all").await;
    assert!(all.writes.is_empty(), "{all}");
    assert_snapshot!(format!("{one}\n{all}"));
}

#[tokio::test]
async fn all_of_a_namespace_or_of_all() {
    let world = World::with_hello().await;
    world.other();
    world.done("enable hello --to v2").await;
    world.done("enable other --to v2").await;
    let elsewhere = world.done("disable --all -n elsewhere").await;
    assert!(elsewhere.writes.is_empty(), "{elsewhere}");
    let client = world.done("disable --all -A --dry-run=client").await;
    assert!(client.writes.is_empty(), "{client}");
    let server = world.done("disable --all --dry-run=server").await;
    assert!(server.writes.len() == 2 && server.writes.iter().all(|write| write.ends_with(" (dry run)")), "{server}");
    assert_eq!(world.ours().len(), 3);
    let said = world.done("disable --all -A").await;
    assert_snapshot!(format!("{elsewhere}\n{client}\n{server}\n{said}"));
    assert!(world.ours().is_empty());
}

#[tokio::test]
async fn a_right_that_is_missing_leaves_the_mirror_whole() {
    let world = World::with_hello().await;
    world.done("enable hello --to v2").await;
    world.forbid("delete", ENVOY_FILTERS);
    let said = world.refused("disable hello").await;
    assert_eq!(said.writes, [deleted(OVERLAY)]);
    assert_snapshot!(said);
    assert_eq!(world.ours().len(), 2);
}

#[tokio::test]
async fn a_gateway_that_does_not_let_go_is_named() {
    let world = World::with_hello().await;
    world.done("enable hello --to v2").await;
    world.proxy("gw-1", Proxy::Cut);
    let said = world.refused("disable hello --timeout 0s").await;
    assert_eq!(said.writes, [deleted(OVERLAY)]);
    assert_snapshot!(said);

    // A second time there is the filter left.
    world.proxy("gw-1", Proxy::Good);
    world.server.edit("pods", "istio-system", "gw-1", |_| {});
    let again = world.done("disable hello --wait=false").await;
    assert_eq!(again.writes, [deleted(FILTER)]);
}

#[tokio::test]
async fn a_pod_that_cannot_be_asked_is_named() {
    let world = World::with_hello().await;
    world.done("enable hello --to v2").await;
    world.deaf_pod("gw-2");
    assert_snapshot!(world.refused("disable hello --timeout 0s").await);
}
