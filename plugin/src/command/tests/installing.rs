//! `install`, `uninstall` and `repair`.

use insta::assert_snapshot;
use serde_json::json;

use super::world::Proxy;
use super::{ENVOY_FILTERS, FILTER, World};
use crate::source::{Module, Way};

const NAME: &str = "kubectl-mirror-ingressgateway";

fn deleted(write: &str) -> String {
    write.replace("apply", "delete")
}

/// What the configuration of the installed module says.
fn installed(world: &World) -> crate::istio::install::Installed {
    let object = world.server.object(ENVOY_FILTERS, "istio-system", NAME).expect("it is installed");
    crate::istio::install::Installed::of(&serde_json::from_value(object).expect("an EnvoyFilter"))
}

#[tokio::test]
async fn install_again_and_uninstall() {
    let world = World::with_two_workloads().await;
    let installed = world.done("install").await;
    assert_eq!(installed.writes, [FILTER, &FILTER.replace("ingressgateway", "local")]);
    let again = world.done("install").await;
    let uninstalled = world.done("uninstall").await;
    let nothing = world.done("uninstall").await;
    assert!(nothing.writes.is_empty());
    assert_snapshot!(format!("{installed}\n{again}\n{uninstalled}\n{nothing}"));
    assert!(world.ours().is_empty());
}

#[tokio::test]
async fn dry_runs_keep_nothing() {
    let world = World::with_hello().await;
    let mut stories = String::new();
    for command in ["install --dry-run=client", "install --dry-run=server", "install --dry-run=client -o name"] {
        let said = world.done(command).await;
        assert!(said.writes.iter().all(|write| write.ends_with(" (dry run)")), "{said}");
        stories += &format!("{said}\n");
    }
    assert!(world.ours().is_empty());
    world.done("install").await;
    for command in ["uninstall --dry-run=client", "uninstall --dry-run=server", "repair --dry-run=server"] {
        let said = world.done(command).await;
        assert!(said.writes.iter().all(|write| write.ends_with(" (dry run)")), "{said}");
        stories += &format!("{said}\n");
    }
    assert_eq!(world.ours(), [NAME]);
    assert_eq!(installed(&world).generation, 0);
    assert_snapshot!(stories);
}

#[tokio::test]
async fn what_cannot_work_is_refused_before_anything_is_written() {
    let mut stories = String::new();
    for (verb, resource) in [
        ("create", ENVOY_FILTERS),
        ("get", "pods/portforward"),
        ("list", "pods"),
        ("get", "gateways.networking.istio.io"),
    ] {
        let world = World::with_hello().await;
        world.forbid(verb, resource);
        stories += &format!("# no right to {verb} {resource}\n{}\n", world.refused_at_once("install").await);
    }
    let world = World::with_hello().await;
    world.envoy("gw-1").istio("1.27.4");
    stories += &format!("# an older proxy\n{}\n", world.refused_at_once("install").await);
    let world = World::with_hello().await;
    world.deaf_pod("gw-2");
    stories += &format!("# a pod that cannot be asked\n{}\n", world.refused_at_once("install").await);
    let world = World::with_hello().await;
    world.server.remove("gateways.networking.istio.io", "knative-serving", "knative-local-gateway");
    stories += &format!("# a Gateway that is not there\n{}\n", world.refused_at_once("install").await);
    let world = World::with_hello().await;
    for pod in ["gw-0", "gw-1"] {
        world.server.remove("pods", "istio-system", pod);
    }
    stories += &format!("# no pods\n{}\n", world.refused_at_once("install").await);
    let world = World::with_hello().await;
    stories += &format!("# nothing to repair\n{}\n", world.refused_at_once("repair").await);
    assert_snapshot!(stories);
}

#[tokio::test]
async fn without_waiting_nobody_is_asked() {
    let world = World::with_hello().await;
    world.deaf_pod("gw-2");
    let said = world.done("install --wait=false").await;
    assert_eq!(said.writes, [FILTER]);
    assert_snapshot!(said);
}

#[tokio::test]
async fn repair_starts_a_module_anew() {
    let world = World::with_hello().await;
    world.done("enable hello --to v2").await;
    world.envoy("gw-1").module(Way::Observing, Module::Stopped);
    let said = world.done("repair").await;
    assert_eq!(said.writes, [FILTER]);
    assert_snapshot!(said);
    assert_eq!(installed(&world).generation, 1);
    let by = installed(&world).by.expect("a command").to_string();
    assert_eq!(by, "enable", "who asked for it first goes on to decide when it goes");
}

#[tokio::test]
async fn a_conflict_can_be_overruled() {
    let world = World::with_hello().await;
    world.server.clone().conflict(ENVOY_FILTERS, "argocd", ".spec.configPatches");
    let said = world.refused("install").await;
    assert_eq!(said.writes, [FILTER]);
    assert!(world.ours().is_empty());
    let forced = world.done("install --force-conflicts").await;
    assert_eq!(forced.writes, [format!("{FILTER} (force)")]);
}

#[tokio::test]
async fn a_filter_is_not_taken_from_under_mirrors() {
    let world = World::with_hello().await;
    world.done("enable hello --to v2").await;
    assert_snapshot!(world.refused_at_once("uninstall").await);
    world.done("disable hello").await;

    // Nor from somebody who may have mirrors that cannot be seen.
    world.done("install").await;
    world.forbid("list", super::VIRTUAL_SERVICES);
    let unseen = world.refused_at_once("uninstall").await;
    assert!(unseen.messages.contains("whether there are mirrors cannot be seen"), "{unseen}");
}

#[tokio::test]
async fn gateways_that_do_not_let_go_are_named() {
    let world = World::with_hello().await;
    world.done("install").await;
    world.proxy("gw-0", Proxy::Cut);
    let said = world.refused("uninstall --timeout 0s").await;
    assert_eq!(said.writes, [deleted(FILTER)]);
    assert_snapshot!(said);
}

#[tokio::test]
async fn what_belongs_to_somebody_else_is_left_alone() {
    let world = World::with_hello().await;
    world.done("install").await;
    world.edit_filter(NAME, |filter| {
        filter["metadata"]["labels"] =
            json!({ "app.kubernetes.io/managed-by": "Helm", "kubectl-mirror/install": "true" });
    });
    for command in ["install", "uninstall", "repair"] {
        let said = world.refused_at_once(command).await;
        assert!(said.messages.contains("it is managed by Helm, not by kubectl-mirror"), "{said}");
    }
}
