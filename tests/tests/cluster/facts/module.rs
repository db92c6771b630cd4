//! What a gateway of Istio tells of a module that it did not accept, and that users do not notice it.

use std::collections::BTreeMap;

use kubectl_mirror::module::MODULE;
use mirror_tests::client::{Request, Steady};
use mirror_tests::cluster::{Cluster, Gateway, ISTIO_SYSTEM, Kind, alone_on_cluster};
use mirror_tests::wait;

use super::{Hello, installation, mirror};

const GARBAGE: &[u8] = b"no module at all";

/// What Envoy logs of a rejected extension.
const REJECTED: &str = "gRPC config for type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig rejected";

async fn is_running_in_all(cluster: &Cluster) {
    for gateway in cluster.gateways() {
        wait::until("the module", async || (gateway.envoy().stat(VMS).await > 0).then_some(())).await;
    }
}

/// How many virtual machines run WebAssembly in an Envoy.
const VMS: &str = "wasm.envoy.wasm.runtime.v8.active";

/// How often an Envoy has rejected listeners.
const REJECTED_LISTENERS: &str = "listener_manager.lds.update_rejected";

/// How often a slow machine may spoil what has to happen quickly.
const ATTEMPTS: usize = 5;

#[test]
fn nothing_counts_what_became_of_an_extension() {
    alone_on_cluster(async |cluster| {
        cluster.objects().apply(installation(MODULE)).await;
        is_running_in_all(cluster).await;
        for gateway in cluster.gateways() {
            let stats = gateway.envoy().stats("extension_config_discovery").await;
            assert!(stats.is_empty(), "{stats:?}");
        }
    });
}

#[test]
fn a_rejected_module_harms_nobody_and_is_delivered_but_never_runs() {
    alone_on_cluster(async |cluster| {
        let hello = Hello::start(cluster).await;
        mirror(cluster, &hello.service).await;
        let request = Request::get("/").host(&hello.service.host());
        let steady: Vec<_> =
            cluster.gateways().iter().map(|gateway| Steady::start(gateway.external(), request.clone())).collect();
        let rejections = |gateway: &Gateway| gateway.envoy().log().matches(REJECTED).count();
        let before: BTreeMap<_, _> =
            cluster.gateways().iter().map(|gateway| (gateway.pod(), rejections(gateway))).collect();
        cluster.objects().apply(installation(GARBAGE)).await;
        for gateway in cluster.gateways() {
            wait::until("the delivery", async || gateway.holds_extensions().await.then_some(())).await;
            let before = before[gateway.pod()];
            wait::until("the rejection", async || (rejections(gateway) > before).then_some(())).await;
            assert_eq!(gateway.envoy().stat(VMS).await, 0);
        }
        // A good one in its place is taken.
        cluster.objects().apply(installation(MODULE)).await;
        is_running_in_all(cluster).await;
        // And stays when the next one is bad.
        cluster.objects().apply(installation(&MODULE[..MODULE.len() / 2])).await;
        for (steady, gateway) in steady.into_iter().zip(cluster.gateways()) {
            let before = before[gateway.pod()];
            wait::until("another rejection", async || (rejections(gateway) > before + 1).then_some(())).await;
            assert!(gateway.envoy().stat(VMS).await > 0);
            steady.stop().await.assert_all_right();
        }
    });
}

#[test]
fn after_a_rejected_module_was_removed_the_next_one_may_need_another_push() {
    alone_on_cluster(async |cluster| {
        let filter = installation(GARBAGE);
        let name = filter["metadata"]["name"].as_str().expect("a name");
        let gateway = cluster.gateway();
        let rejected = async || gateway.envoy().stat(REJECTED_LISTENERS).await;
        for _ in 0..ATTEMPTS {
            let before = rejected().await;
            cluster.objects().apply(filter.clone()).await;
            wait::until("the delivery", async || gateway.holds_extensions().await.then_some(())).await;
            // The old listeners drain and still hold what was rejected; the new ones get it at once, and are rejected.
            cluster.objects().delete(Kind::ENVOY_FILTER, ISTIO_SYSTEM, name).await;
            wait::until("the removal", async || {
                let listeners = gateway.dump("dynamic_listeners").await.to_string();
                (!listeners.contains("config_discovery")).then_some(())
            })
            .await;
            cluster.objects().apply(installation(MODULE)).await;
            let was_rejected = wait::until("the next one's fate", async || {
                let listeners = gateway.dump("dynamic_listeners").await.to_string();
                listeners.contains("config_discovery").then_some(listeners.contains("error_state"))
            })
            .await;
            if !was_rejected {
                // The old listeners were gone already: the machine is slow.
                cluster.objects().delete(Kind::ENVOY_FILTER, ISTIO_SYSTEM, name).await;
                wait::until("bare gateways", async || (!gateway.holds_extensions().await).then_some(())).await;
                continue;
            }
            assert!(rejected().await > before);
            // When they are gone, nothing happens until the control plane sends listeners again, for whatever reason.
            wait::until("the old listeners to go", async || (gateway.envoy().stat(VMS).await == 0).then_some(())).await;
            mirror(cluster, &Hello::start(cluster).await.service).await;
            is_running_in_all(cluster).await;
            return;
        }
        panic!("listeners were never replaced quickly enough");
    });
}

#[test]
fn a_module_that_never_comes_harms_nobody() {
    alone_on_cluster(async |cluster| {
        let hello = Hello::start(cluster).await;
        mirror(cluster, &hello.service).await;
        let request = Request::get("/").host(&hello.service.host());
        let steady: Vec<_> =
            cluster.gateways().iter().map(|gateway| Steady::start(gateway.external(), request.clone())).collect();
        let mut filter = installation(MODULE);
        let patches = filter["spec"]["configPatches"].as_array_mut().expect("patches");
        patches.retain(|patch| patch["applyTo"] != "EXTENSION_CONFIG");
        cluster.objects().apply(filter).await;
        for (steady, gateway) in steady.into_iter().zip(cluster.gateways()) {
            wait::until("listeners that ask for it", async || {
                gateway.dump("dynamic_listeners").await.to_string().contains("config_discovery").then_some(())
            })
            .await;
            // The selector needs no module: requests are copied.
            wait::until("copies", async || (!hello.v2.seen().is_empty()).then_some(())).await;
            steady.stop().await.assert_all_right();
            assert!(!gateway.holds_extensions().await);
            assert_eq!(gateway.envoy().stat(VMS).await, 0);
        }
    });
}
