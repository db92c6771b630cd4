//! `enable --strategy virtualservice`: with rights in one namespace only, and never where the filter is seen to be missing.

use insta::assert_snapshot;

use super::world::Proxy;
use super::{ENVOY_FILTERS, FILTER, MIRROR, OVERLAY, VIRTUAL_SERVICES, World};
use crate::source::{Module, Way};

const ENABLE: &str = "enable hello --to v2 --percent 5 --strategy virtualservice";

#[tokio::test]
async fn with_all_rights_the_filter_is_installed_first() {
    let world = World::with_hello().await;
    let said = world.done(ENABLE).await;
    assert_eq!(said.writes, [FILTER, MIRROR]);
    assert_snapshot!(said);
    let mirror = world.server.object(VIRTUAL_SERVICES, "default", "hello-mirror").expect("the mirror");
    assert_eq!(mirror["spec"]["exportTo"], serde_json::json!(["istio-system"]));
}

#[tokio::test]
async fn with_rights_in_its_namespace_alone_a_team_can_have_mirrors() {
    let world = World::with_hello().await;
    world.done("install").await;
    world.as_application_team();
    let enabled = world.done(ENABLE).await;
    assert_eq!(enabled.writes, [MIRROR]);
    let listed = world.done("list -o name").await;
    let disabled = world.done("disable hello").await;
    assert_eq!(disabled.writes, ["delete virtualservices.networking.istio.io default/hello-mirror"]);
    assert_snapshot!(format!("{enabled}\n{listed}\n{disabled}"));
    assert_eq!(world.ours(), ["kubectl-mirror-ingressgateway"], "the filter is not the team's");
}

#[tokio::test]
async fn where_the_filter_is_seen_to_be_missing_nothing_is_applied() {
    let mut stories = String::new();
    // The EnvoyFilters can be read, and there is none.
    let world = World::with_hello().await;
    world.forbid("create", ENVOY_FILTERS);
    stories += &format!("# no right to install it\n{}\n", world.refused_at_once(ENABLE).await);
    let without_waiting = world.refused_at_once(&format!("{ENABLE} --wait=false")).await;
    assert!(without_waiting.messages.contains("the gateways do not have the filter"), "{without_waiting}");

    // They cannot be read, but the pods can be asked.
    let world = World::with_hello().await;
    for verb in ["get", "list", "create", "patch"] {
        world.forbid(verb, ENVOY_FILTERS);
    }
    stories += &format!("# no right to see EnvoyFilters\n{}\n", world.refused_at_once(ENABLE).await);

    // It is there, and one pod has not taken it.
    let world = World::with_hello().await;
    world.done("install").await;
    world.proxy("gw-1", Proxy::Refusing);
    world.envoy("gw-1").module(Way::Observing, Module::Rejected);
    world.forbid("get", ENVOY_FILTERS);
    stories += &format!("# a pod without it\n{}\n", world.refused_at_once(ENABLE).await);
    assert_snapshot!(stories);
    assert_eq!(world.ours(), ["kubectl-mirror-ingressgateway"]);
}

#[tokio::test]
async fn what_cannot_be_seen_is_said() {
    let world = World::with_hello().await;
    world.done("install").await;
    world.forbid("get", "pods/portforward");
    let said = world.done(&format!("{ENABLE} --wait=false")).await;
    assert_eq!(said.writes, [MIRROR]);
    assert_snapshot!(said);
}

#[tokio::test]
async fn a_mirror_changes_its_strategy() {
    let world = World::with_hello().await;
    world.done("enable hello --to v2").await;
    let there = world.done(ENABLE).await;
    // At no time are both there, but the server is asked before the old one goes.
    let tried = |write: &str| format!("{write} (dry run)");
    let gone = |write: &str| write.replace("apply", "delete");
    assert_eq!(there.writes, [tried(MIRROR), gone(OVERLAY), MIRROR.to_owned()]);
    let back = world.done("enable hello --to v2").await;
    assert_eq!(back.writes, [tried(OVERLAY), gone(MIRROR), OVERLAY.to_owned()]);
    assert_snapshot!(format!("{there}\n{back}"));

    world.forbid("delete", ENVOY_FILTERS);
    let said = world.refused_at_once(ENABLE).await;
    assert!(said.messages.contains("delete envoyfilters.networking.istio.io in namespace istio-system"), "{said}");
}

#[tokio::test]
async fn a_virtual_service_of_somebody_else_is_left_alone() {
    let world = World::with_hello().await;
    world.server.clone().with(
        "{apiVersion: networking.istio.io/v1, kind: VirtualService, 
          metadata: {name: hello-mirror, namespace: default}, spec: {hosts: [hello.default]}}",
    );
    assert_snapshot!(world.refused_at_once(ENABLE).await);
}
