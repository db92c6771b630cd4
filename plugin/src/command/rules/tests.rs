//! Rules of a mirror on a fake cluster: shown, replaced by either strategy, and refused.

use std::time::Duration;

use clap::Parser;
use serde_json::Value;

use super::*;
use crate::admin::testing::FakeEnvoy;
use crate::cluster::testing::FakeServer;
use crate::command::testing::{GATEWAYS, mirrored};
use crate::intent::ANNOTATION;
use crate::knative::testing::{intent, plan};
use crate::source::{Module, Way};

const OVERLAYS: &str = "envoyfilters.networking.istio.io";
const VIRTUAL_SERVICES: &str = "virtualservices.networking.istio.io";

fn rules(yaml: &str) -> Rules {
    rules::parse("rules.yaml", yaml).expect("good rules")
}

fn args(arguments: &[&str]) -> Args {
    #[derive(clap::Parser)]
    struct Program {
        #[command(flatten)]
        args: Args,
    }
    Program::try_parse_from([&["rules", "cart"], arguments].concat()).expect("good arguments").args
}

/// A mirror that ignores `/at`, on a gateway that has it with `live` rules.
async fn mirror(strategy: Strategy, live: &Rules) -> FakeServer {
    let intent = intent("next", strategy);
    let plan = plan("tagged", Intent { rules: live.clone(), ..intent.clone() });
    let envoy = FakeEnvoy::start().await;
    envoy.module(Way::Observing, Module::Running);
    let mirror = plan.spec().mirror;
    envoy.mirrors(&[&mirror]);
    envoy.endpoints(&mirror.candidate.cluster, 1);
    mirrored(Intent { rules: rules("ignore: [/at]"), ..intent }).pod(GATEWAYS, "gw-0", &envoy)
}

async fn replace(server: &FakeServer, new: &Rules, arguments: &[&str]) -> Result<()> {
    let cluster = server.cluster("store");
    let mut args = args(arguments);
    args.waiting.timeout = args.waiting.timeout.min(Duration::from_secs(20));
    let found = find(&cluster, &MirrorName::new("store", "cart")).await?;
    let intent = found.intent.clone()?;
    Changing { cluster: &cluster, found: &found, args: &args }.replace(intent, new.clone()).await
}

/// The rules that a mirror's one object keeps.
async fn kept(server: &FakeServer) -> Rules {
    let found = find(&server.cluster("store"), &MirrorName::new("store", "cart")).await.expect("a mirror");
    assert_eq!(found.overlays.len() + found.virtual_services.len() + found.wasm_plugins.len(), 1);
    found.intent.expect("an intent").rules
}

#[tokio::test]
async fn rules_are_replaced_in_place_by_either_strategy() {
    for (strategy, resource) in [(Strategy::Overlay, OVERLAYS), (Strategy::VirtualService, VIRTUAL_SERVICES)] {
        let new = rules("ignore: [/trace]\nsubset: [body]\n");
        let server = mirror(strategy, &new).await;
        replace(&server, &new, &[]).await.expect("replaced");
        assert_eq!(kept(&server).await, new);
        let writes = server.writes();
        assert_eq!(writes.len(), 1, "{writes:?}");
        assert!(writes[0].summary.starts_with(&format!("apply {resource} ")), "{writes:?}");
        let text = writes[0].body.to_string();
        assert!(text.contains("/trace") && !text.contains("/at"), "{text}");
        let annotation = |body: &Value| body["metadata"]["annotations"][ANNOTATION].to_string();
        assert!(annotation(&writes[0].body).contains("next"), "the rest stays as it was");
        // The same once more is nothing to do.
        replace(&server, &new, &[]).await.expect("unchanged");
        assert_eq!(server.writes().len(), 1);
    }
}

#[tokio::test]
async fn a_dry_run_keeps_nothing() {
    let (new, server) = (rules("ignore: [/trace]"), mirror(Strategy::Overlay, &Rules::default()).await);
    replace(&server, &new, &["--dry-run=client"]).await.expect("said");
    assert!(server.writes().is_empty());
    replace(&server, &new, &["--dry-run=server"]).await.expect("checked");
    assert!(server.writes()[0].summary.ends_with("(dry run)"));
    assert_eq!(kept(&server).await, rules("ignore: [/at]"));
}

#[tokio::test]
async fn what_stands_in_the_way_is_told() {
    let new = rules("ignore: [/trace]");
    let server = mirror(Strategy::Overlay, &new).await.conflict(OVERLAYS, "argocd", ".spec.configPatches");
    let said = replace(&server, &new, &[]).await.expect_err("a conflict").to_string();
    assert!(said.contains("argocd") && said.contains("--force-conflicts"), "{said}");
    replace(&server, &new, &["--force-conflicts"]).await.expect("forced");

    let server = mirror(Strategy::Overlay, &new).await.forbid("patch", OVERLAYS);
    let said = replace(&server, &new, &[]).await.expect_err("no right").to_string();
    assert!(said.contains("patch") && said.contains(OVERLAYS), "{said}");
    assert!(server.writes().is_empty());

    // Gateways that go on with the old rules.
    let server = mirror(Strategy::Overlay, &rules("ignore: [/at]")).await;
    let said = replace(&server, &new, &["--timeout", "100ms"]).await.expect_err("not live").to_string();
    assert!(said.contains("not live on every gateway pod"), "{said}");
    replace(&server, &rules("ignore: [/b]"), &["--wait=false"]).await.expect("not waited for");

    let error = find(&server.cluster("store"), &MirrorName::new("store", "basket")).await.expect_err("no mirror");
    assert!(error.to_string().starts_with("mirror.kubectl-mirror \"basket\" not found in namespace store"));
}

#[tokio::test]
async fn gateways_that_may_not_be_seen_are_not_waited_for() {
    let new = rules("ignore: [/trace]");
    let server = mirror(Strategy::VirtualService, &Rules::default()).await.forbid("list", "pods");
    replace(&server, &new, &[]).await.expect("replaced");
    assert_eq!(kept(&server).await, new);
    let server = mirror(Strategy::Overlay, &Rules::default()).await.forbid("list", "pods");
    replace(&server, &new, &[]).await.expect_err("nothing is applied unseen");
    assert_eq!(kept(&server).await, rules("ignore: [/at]"));
}

#[test]
fn rules_are_shown_as_a_rules_file() {
    let text =
        "ignore: [/at, 'header:x-*']\ntolerance: [{path: /p, absolute: 0.01}]\nunordered: [{path: /i, key: /id}]";
    let shown = rules(text);
    for format in [Format::Yaml, Format::Json] {
        assert_eq!(rules(&render(&shown, format).expect("text")), shown);
        assert_eq!(render(&Rules::default(), format).expect("text"), "{}\n");
    }
}
