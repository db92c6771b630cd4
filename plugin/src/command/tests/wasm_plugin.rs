//! `--strategy wasmplugin`: one WasmPlugin for all mirrors of some gateway pods, changed by several users at once.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::world::Proxy;
use super::{ENVOY_FILTERS, OVERLAY, WASM_PLUGINS, World};
use crate::source::{Module, Way};

const NAME: &str = "kubectl-mirror-ingressgateway";
const CREATE: &str = "create wasmplugins.extensions.istio.io istio-system/kubectl-mirror-ingressgateway";
const CHANGE: &str = "patch wasmplugins.extensions.istio.io istio-system/kubectl-mirror-ingressgateway";
const DELETE: &str = "delete wasmplugins.extensions.istio.io istio-system/kubectl-mirror-ingressgateway";

const ENABLE: &str = "enable hello --to v2 --percent 5 --strategy wasmplugin";

/// Where the module is.
fn module() -> String {
    format!("--module-url oci://ghcr.io/x/filter:1 --module-sha256 {}", "a".repeat(64))
}

/// The same command, where nobody has said yet where the module is.
pub(super) fn first(command: &str) -> String {
    format!("{command} {}", module())
}

/// What was said, without the ages of mirrors, which are new.
pub(super) fn ageless(said: impl std::fmt::Display) -> String {
    let text = said.to_string();
    let lines = text.lines().map(|line| match line.rsplit_once("  ") {
        Some((rest, age)) if age.strip_suffix('s').is_some_and(|age| age.parse::<u8>().is_ok()) => {
            format!("{rest}  AGE")
        }
        _ => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn plugin(world: &World) -> Option<Value> {
    world.server.object(WASM_PLUGINS, "istio-system", NAME)
}

/// The names of the mirrors in the WasmPlugin.
fn mirrors(world: &World) -> Vec<String> {
    let plugin = plugin(world).expect("a WasmPlugin");
    plugin["spec"]["pluginConfig"]["mirrors"].as_object().expect("mirrors").keys().cloned().collect()
}

#[tokio::test]
async fn the_module_comes_first_and_then_the_mirror() {
    let world = World::with_hello().await;
    let enabled = world.done(&first(ENABLE)).await;
    assert_eq!(enabled.writes, [CREATE, CHANGE]);
    assert_eq!(world.ours(), [NAME]);
    let looked = [world.done("status hello").await, world.done("list").await, world.done("version").await];
    let again = world.done(ENABLE).await;
    assert!(again.writes.is_empty() && again.data.contains("hello unchanged"), "{again}");
    let disabled = world.done("disable hello").await;
    assert_eq!(disabled.writes, [CHANGE, DELETE]);
    assert!(world.ours().is_empty());
    assert_snapshot!(ageless(format!("{enabled}\n{}\n{}\n{}\n{again}\n{disabled}", looked[0], looked[1], looked[2])));
}

#[tokio::test]
async fn dry_runs_and_generate_show_what_would_be_there() {
    let world = World::with_hello().await;
    let shown = world.done(&first(&format!("{ENABLE} --dry-run=client -o yaml"))).await;
    assert!(shown.writes.is_empty());
    let tried = world.done(&first(&format!("{ENABLE} --dry-run=server"))).await;
    assert!(tried.writes.iter().all(|write| write.ends_with(" (dry run)")), "{tried}");
    let generated = world
        .done(&first("generate hello --to v2 --strategy wasmplugin --for-gitops").replace(" --for-gitops", ""))
        .await;
    assert!(generated.data.contains("kubectl-mirror/installed-by: install"), "{generated}");
    assert!(!generated.data.contains("created"), "the same each time: {generated}");
    assert!(world.ours().is_empty());
}

#[tokio::test]
async fn mirrors_share_it() {
    let world = World::with_hello().await;
    world.other();
    world.done(&first(ENABLE)).await;
    let other = world.done("enable other --to v2 --strategy wasmplugin").await;
    assert_eq!(other.writes, [CHANGE], "the module stays where it is");
    assert_eq!(mirrors(&world), ["default/hello", "default/other"]);
    let listed = world.done("list").await;
    let gone = world.done("disable hello").await;
    assert_eq!(gone.writes, [CHANGE]);
    assert_eq!(mirrors(&world), ["default/other"]);
    let last = world.done("disable other").await;
    assert_eq!(last.writes, [CHANGE, DELETE]);
    assert_snapshot!(ageless(format!("{other}\n{listed}\n{gone}\n{last}")));
}

/// Another user's mirror comes between what was read and what is written.
#[tokio::test]
async fn what_somebody_else_writes_at_the_same_moment_is_kept() {
    let world = World::with_hello().await;
    world.other();
    world.done(&first("enable other --to v2 --strategy wasmplugin")).await;
    let with_other = plugin(&world).expect("a WasmPlugin");
    world.done("disable other").await;
    // Where there was none, somebody else creates one.
    world.server.race(with_other.clone());
    let said = world.done(&first(ENABLE)).await;
    assert_eq!(said.writes, [CREATE, CHANGE], "the creation failed, and there was no need for another");
    assert_eq!(mirrors(&world), ["default/hello", "default/other"]);

    // Where there is one, somebody else changes it.
    let mut without = plugin(&world).expect("a WasmPlugin");
    without["spec"]["pluginConfig"]["generation"] = json!(7);
    world.server.race(without);
    let said = world.done("enable hello --to v2 --percent 7 --strategy wasmplugin").await;
    assert_eq!(said.writes, [CHANGE, CHANGE], "the first one was refused");
    assert_eq!(plugin(&world).expect("a WasmPlugin")["spec"]["pluginConfig"]["generation"], 7);
    assert_eq!(mirrors(&world), ["default/hello", "default/other"]);

    // The last mirror goes, and another one comes before the object is gone.
    world.done("disable other").await;
    let mut back = with_other;
    back["metadata"]["annotations"]["kubectl-mirror/installed-by"] = json!("enable");
    world.server.race_at("delete", back);
    let said = world.done("disable hello").await;
    assert_eq!(said.writes, [CHANGE, DELETE]);
    assert_eq!(mirrors(&world), ["default/other"]);
}

#[tokio::test]
async fn a_host_has_one_mirror_however_it_is_mirrored() {
    let world = World::with_hello().await;
    world.other();
    for (resource, name) in [("routes.serving.knative.dev", "other"), (super::VIRTUAL_SERVICES, "other-ingress")] {
        world.server.edit(resource, "default", name, |object| {
            let text = object.to_string().replace("other.default.example.com", "hello.default.example.com");
            *object = serde_json::from_str(&text).expect("JSON");
        });
    }
    world.done(&first(ENABLE)).await;
    let mut stories = String::new();
    for command in ["enable other --to v2 --strategy wasmplugin", "enable other --to v2"] {
        stories += &format!("{}\n", world.refused_at_once(command).await);
    }
    assert_snapshot!(ageless(stories));
    // Not seen before it is written: what is in the object by then decides.
    let with_hello = plugin(&world).expect("a WasmPlugin");
    world.done("disable hello").await;
    world.server.race(with_hello);
    let said = world.refused(&first("enable other --to v2 --strategy wasmplugin")).await;
    assert!(said.messages.contains("is mirrored already, by mirror default/hello"), "{said}");
    assert_eq!(mirrors(&world), ["default/hello"]);
}

#[tokio::test]
async fn what_cannot_work_is_refused_before_anything_is_written() {
    let world = World::with_hello().await;
    let mut stories = String::new();
    for command in [
        ENABLE.to_owned(),
        format!("{ENABLE} --module-url https://example.com/filter.wasm"),
        format!("{ENABLE} --module-url oci://ghcr.io/x/filter:1 --module-sha256 abc"),
        first("enable hello --to v2"),
        first("install"),
        "install --strategy wasmplugin".to_owned(),
        "generate hello --to v2 --strategy wasmplugin".to_owned(),
        first("enable hello --to v2 --strategy virtualservice --sticky x-user").replace(&module(), ""),
    ] {
        stories += &format!("{}\n", world.refused_at_once(&command).await);
    }
    for (verb, resource) in [("create", WASM_PLUGINS), ("patch", WASM_PLUGINS), ("get", WASM_PLUGINS)] {
        let world = World::with_hello().await;
        world.forbid(verb, resource);
        let said = world.refused_at_once(&first(ENABLE)).await;
        stories += &format!("# no right to {verb} {resource}\n{said}\n");
    }
    let world = World::with_hello().await;
    world.server.clone().without_kind(WASM_PLUGINS);
    stories += &format!("# an Istio without WasmPlugins\n{}\n", world.refused_at_once(&first(ENABLE)).await);
    world.done("enable hello --to v2").await;
    let world = World::with_hello().await;
    world.envoy("gw-1").without_endpoints();
    stories += &format!("# no cluster\n{}\n", world.refused_at_once(&first(ENABLE)).await);
    assert_snapshot!(ageless(stories));
}

#[tokio::test]
async fn a_module_that_does_not_run_everywhere_is_taken_back() {
    let mut stories = String::new();
    for proxy in [Proxy::Refusing, Proxy::NotFetching] {
        let world = World::with_hello().await;
        world.proxy("gw-1", proxy);
        let said = world.refused(&first(ENABLE)).await;
        assert_eq!(said.writes, [CREATE, DELETE]);
        assert!(world.ours().is_empty());
        stories += &format!("# {proxy:?}\n{said}\n");
        // One that is to be replaced comes back, with the mirrors that are there by now.
        world.proxy("gw-1", Proxy::Good);
        world.done(&first(ENABLE)).await;
        let before = plugin(&world).expect("a WasmPlugin")["spec"].clone();
        world.proxy("gw-1", proxy);
        let said = world.refused(&format!("install --strategy wasmplugin {}", module().replace(":1 ", ":2 "))).await;
        assert_eq!(said.writes, [CHANGE, CHANGE]);
        assert_eq!(plugin(&world).expect("a WasmPlugin")["spec"], before);
        let status = world.done("status hello").await;
        stories += &format!("{status}\n");
    }
    assert_snapshot!(ageless(stories));
}

#[tokio::test]
async fn what_install_put_there_stays_until_uninstall() {
    let world = World::with_hello().await;
    let installed = world.done(&first("install --strategy wasmplugin")).await;
    assert_eq!(installed.writes, [CREATE]);
    world.done(ENABLE).await;
    let refused = world.refused_at_once("uninstall").await;
    world.done("disable hello").await;
    assert_eq!(world.ours(), [NAME]);
    assert!(mirrors(&world).is_empty());
    world.envoy("gw-1").module(Way::Sending, Module::Stopped);
    let repaired = world.done("repair").await;
    assert_eq!(repaired.writes, [CHANGE]);
    assert_eq!(plugin(&world).expect("a WasmPlugin")["spec"]["pluginConfig"]["generation"], 1);
    let doctor = world.run("doctor").await;
    assert!(doctor.data.contains("WasmPlugin"), "{doctor}");
    let uninstalled = world.done("uninstall").await;
    assert_eq!(uninstalled.writes, [DELETE]);
    assert_snapshot!(ageless(format!("{installed}\n{refused}\n{repaired}\n{uninstalled}")));
}

#[tokio::test]
async fn a_mirror_changes_its_strategy() {
    let world = World::with_hello().await;
    world.done("enable hello --to v2").await;
    let there = world.done(&first(ENABLE)).await;
    let (tried, gone) = (|write: &str| format!("{write} (dry run)"), |write: &str| write.replace("apply", "delete"));
    assert_eq!(there.writes, [CREATE.to_owned(), tried(CHANGE), gone(OVERLAY), CHANGE.to_owned()]);
    let back = world.done("enable hello --to v2").await;
    assert_eq!(back.writes, [tried(OVERLAY), CHANGE.to_owned(), OVERLAY.to_owned()]);
    assert!(mirrors(&world).is_empty());
    let disabled = world.done("disable hello").await;
    assert!(world.ours().is_empty(), "{disabled}");
    assert_snapshot!(ageless(format!("{there}\n{back}\n{disabled}")));
}

#[tokio::test]
async fn envoy_filters_need_not_be_allowed() {
    let world = World::with_hello().await;
    for verb in ["get", "list", "create", "patch", "delete"] {
        world.forbid(verb, ENVOY_FILTERS);
    }
    let enabled = world.done(&first(ENABLE)).await;
    let status = world.done("status hello").await;
    let repaired = world.done("repair").await;
    let disabled = world.done("disable hello").await;
    assert!(world.ours().is_empty());
    assert_snapshot!(ageless(format!("{enabled}\n{status}\n{repaired}\n{disabled}")));
}

#[tokio::test]
async fn one_that_is_applied_from_a_repository_is_left_alone() {
    let world = World::with_hello().await;
    world.other();
    world.done(&first(ENABLE)).await;
    world.server.edit(WASM_PLUGINS, "istio-system", NAME, |plugin| {
        plugin["metadata"]["managedFields"] = json!([{
            "manager": "argocd-controller", "operation": "Apply", "apiVersion": "extensions.istio.io/v1alpha1",
            "fieldsType": "FieldsV1", "fieldsV1": { "f:spec": { "f:pluginConfig": {} } },
        }]);
    });
    let said = world.refused_at_once("enable other --to v2 --strategy wasmplugin").await;
    assert_snapshot!(said);
    world.done("enable other --to v2 --strategy wasmplugin --force-conflicts").await;
    assert_eq!(mirrors(&world), ["default/hello", "default/other"]);
}

#[tokio::test]
async fn rules_change_in_place_and_what_is_stale_is_rebuilt() {
    let world = World::with_hello().await;
    world.done(&first(ENABLE)).await;
    let before = plugin(&world).expect("a WasmPlugin");
    world.server.edit(WASM_PLUGINS, "istio-system", NAME, |plugin| {
        let text = plugin["spec"]["pluginConfig"]["mirrors"]["default/hello"].as_str().expect("a mirror");
        plugin["spec"]["pluginConfig"]["mirrors"]["default/hello"] = json!(text.replace("hello-00002", "hello-00009"));
    });
    let status = world.done("status hello").await;
    let synced = world.done("sync hello").await;
    assert_eq!(synced.writes, [CHANGE]);
    assert_eq!(plugin(&world).expect("a WasmPlugin")["spec"], before["spec"]);
    assert_snapshot!(ageless(format!("{status}\n{synced}")));
}
