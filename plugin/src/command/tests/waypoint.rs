//! `--waypoint`: the WasmPlugin of a waypoint, which mirrors may share as on gateways.

use insta::assert_snapshot;

use super::wasm_plugin::{ageless, first};
use super::{ENVOY_FILTERS, WASM_PLUGINS, World};
use crate::source::{Module, Way};

const ENABLE: &str = "enable hello --to v2 --strategy wasmplugin --waypoint waypoint";
const SERVED: [&str; 2] = ["hello-00001", "hello-00002"];

#[tokio::test]
async fn a_mirror_comes_and_goes_as_on_gateways() {
    let world = World::with_hello().await;
    world.waypoint("waypoint", "istio-waypoint", &SERVED).await;
    let generate = format!("{} --secondary", ENABLE.replace("enable", "generate"));
    let mut stories = vec![world.done(&first(&generate)).await, world.done(&first(ENABLE)).await];
    for command in ["status hello", "list", "version"] {
        stories.push(world.done(command).await);
    }
    world.envoy("waypoint-0").module(Way::Sending, Module::Stopped);
    stories.push(world.done("status hello").await);
    stories.push(world.done("repair").await);
    stories.push(world.done(&format!("{ENABLE} --percent 5")).await);
    stories.push(world.done("sync hello").await);
    stories.push(world.done("disable hello").await);
    assert!(world.ours().is_empty());
    assert_snapshot!(ageless(stories.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")));
}

#[tokio::test]
async fn a_mirror_moves_from_the_gateways_to_a_waypoint() {
    let world = World::with_hello().await;
    world.waypoint("waypoint", "istio-waypoint", &SERVED).await;
    world.done(&first("enable hello --to v2 --strategy wasmplugin")).await;
    let moved = world.done(&first(ENABLE)).await;
    let status = world.done("status hello").await;
    let disabled = world.done("disable hello").await;
    assert!(world.ours().is_empty());
    assert_snapshot!(ageless(format!("{moved}\n{status}\n{disabled}")));
}

/// Who owns a waypoint need not be allowed anything at the gateways.
#[tokio::test]
async fn no_right_to_the_gateways_is_needed() {
    let world = World::with_hello().await;
    world.waypoint("waypoint", "istio-waypoint", &SERVED).await;
    for (verb, resource) in [("get", "gateways.networking.istio.io"), ("list", ENVOY_FILTERS), ("get", ENVOY_FILTERS)] {
        world.forbid(verb, resource);
    }
    world.server.clone().forbid_in("list", WASM_PLUGINS, "");
    world.server.clone().forbid_in("list", WASM_PLUGINS, "istio-system");
    let enabled = world.done(&first(ENABLE)).await;
    let status = world.done("status hello").await;
    let disabled = world.done("disable hello").await;
    assert!(world.ours().is_empty(), "{disabled}");
    assert_snapshot!(ageless(format!("{enabled}\n{status}\n{disabled}")));
}

#[tokio::test]
async fn what_is_no_waypoint_or_serves_no_candidate_is_refused() {
    let world = World::with_hello().await;
    world.waypoint("empty", "istio-waypoint", &[]).await;
    world.waypoint("web", "istio", &[]).await;
    world.waypoint("waypoint", "istio-waypoint", &["hello-00001"]).await;
    let mut stories = String::new();
    for name in ["nobody", "mesh/waypoint", "empty", "web", "waypoint"] {
        let command = ENABLE.replace("--waypoint waypoint", &format!("--waypoint {name}"));
        stories += &format!("{}\n", world.refused_at_once(&first(&command)).await);
    }
    let other = ENABLE.replace("wasmplugin", "overlay");
    stories += &format!("{}\n", world.refused_at_once(&other).await);
    assert_snapshot!(stories);
}
