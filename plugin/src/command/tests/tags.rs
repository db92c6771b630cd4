//! `enable --tag`: the one change to a user's object. A tag never stays behind without a mirror that knows of it.

use insta::assert_snapshot;

use super::{ENVOY_FILTERS, OVERLAY, SERVICES, World};

const ENABLE: &str = "enable hello --to hello-00003 --tag next";
const PATCH: &str = "patch services.serving.knative.dev default/hello";

#[tokio::test]
async fn a_tag_is_added_after_the_mirror_and_goes_before_it() {
    let world = World::with_hello().await;
    world.done("install").await;
    let enabled = world.done(ENABLE).await;
    assert_eq!(enabled.writes, [OVERLAY, PATCH]);
    assert_eq!(world.tags(), ["v2", "next"]);
    let disabled = world.done("disable hello").await;
    assert_eq!(disabled.writes, [PATCH, &OVERLAY.replace("apply", "delete")]);
    assert_eq!(world.tags(), ["v2"]);
    assert_snapshot!(format!("{enabled}\n{disabled}"));
}

#[tokio::test]
async fn a_mirror_whose_tag_cannot_be_added_is_taken_back() {
    let world = World::with_hello().await;
    world.done("install").await;
    world.server.clone().fail("patch", SERVICES, 409, "Conflict", "the object has been modified");
    let said = world.refused(ENABLE).await;
    assert_eq!(said.writes, [OVERLAY, PATCH, &OVERLAY.replace("apply", "delete")]);
    assert_snapshot!(said);
    assert_eq!(world.tags(), ["v2"]);
    assert_eq!(world.ours(), ["kubectl-mirror-ingressgateway"]);
}

#[tokio::test]
async fn a_change_whose_tag_cannot_be_added_is_undone() {
    let world = World::with_hello().await;
    world.done("enable hello --to v2 --percent 5").await;
    let overlay = || world.server.object(ENVOY_FILTERS, "istio-system", "mirror.default.hello.ingressgateway");
    let before = overlay().expect("the mirror");
    world.server.clone().fail("patch", SERVICES, 500, "InternalError", "a webhook failed");
    let said = world.refused(ENABLE).await;
    assert_snapshot!(said);
    assert_eq!(overlay().expect("the mirror")["spec"], before["spec"]);
}

#[tokio::test]
async fn a_tag_that_is_not_needed_any_more_goes() {
    let world = World::with_hello().await;
    world.done(ENABLE).await;
    // Knative's Route follows its Service.
    world.server.edit("routes.serving.knative.dev", "default", "hello", |route| {
        let next = serde_json::json!({ "revisionName": "hello-00003", "percent": 0, "tag": "next" });
        route["status"]["traffic"].as_array_mut().expect("a list").push(next);
    });
    let same = world.done("enable hello --to next --percent 5").await;
    assert_eq!((same.writes, world.tags()), (vec![OVERLAY.to_owned()], vec!["v2".to_owned(), "next".to_owned()]));

    world.server.clone().fail("patch", SERVICES, 409, "Conflict", "the object has been modified");
    let failed = world.refused("enable hello --to v2").await;
    assert!(failed.messages.ends_with("The mirror is as it was before.\n"), "{failed}");
    let listed = world.done("list -o json").await;
    assert!(listed.data.contains(r#""tagAdded": "next""#), "a mirror knows of it: {listed}");

    world.server.refuse_nothing();
    let other = world.done("enable hello --to v2").await;
    assert_eq!(other.writes, [OVERLAY, PATCH]);
    assert_eq!(world.tags(), ["v2"]);
}

#[tokio::test]
async fn a_tag_that_cannot_be_removed_keeps_its_mirror() {
    let world = World::with_hello().await;
    world.done(ENABLE).await;
    world.forbid("patch", SERVICES);
    let said = world.refused("disable hello").await;
    assert_eq!(said.writes, [PATCH]);
    assert_snapshot!(said);
    assert_eq!(world.tags(), ["v2", "next"]);
    assert!(world.ours().iter().any(|name| name.starts_with("mirror.")), "it knows of the tag");
}

#[tokio::test]
async fn a_tag_that_somebody_gave_traffic_keeps_it() {
    let world = World::with_hello().await;
    world.done(ENABLE).await;
    world.server.edit(SERVICES, "default", "hello", |service| {
        service["spec"]["traffic"][0]["percent"] = 90.into();
        service["spec"]["traffic"][2]["percent"] = 10.into();
    });
    world.done("disable hello").await;
    let service = world.server.object(SERVICES, "default", "hello").expect("the service");
    assert_eq!(service["spec"]["traffic"][2], serde_json::json!({ "revisionName": "hello-00003", "percent": 10 }));
}

#[tokio::test]
async fn a_tag_stays_with_a_mirror_that_changes_its_strategy() {
    let world = World::with_hello().await;
    world.done(ENABLE).await;
    world.server.edit("routes.serving.knative.dev", "default", "hello", |route| {
        let next = serde_json::json!({ "revisionName": "hello-00003", "percent": 0, "tag": "next" });
        route["status"]["traffic"].as_array_mut().expect("a list").push(next);
    });
    world.done("enable hello --to next --strategy virtualservice").await;
    assert_eq!(world.tags(), ["v2", "next"]);
    world.done("disable hello").await;
    assert_eq!(world.tags(), ["v2"]);
}
