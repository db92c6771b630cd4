//! The filter in the gateways, which all mirrors share: how it comes and goes, and what commands say where it does not work.

mod comes_and_goes;
mod faults;
mod refused;

use std::collections::BTreeSet;

use mirror_core::stats::names::{ALIVE_SLOTS, Metric};
use mirror_tests::cluster::{Cluster, Gateway, ISTIO_SYSTEM};
use mirror_tests::wait;

use super::facts::installation;
use super::hello::assert_ok;

/// The names of all objects of this program in the cluster.
fn objects(cluster: &Cluster) -> String {
    let kinds = "envoyfilters.networking.istio.io,virtualservices.networking.istio.io";
    let ours = "app.kubernetes.io/managed-by=kubectl-mirror";
    cluster.admin().kubectl_ok(&["get", kinds, "-A", "-l", ours, "-o", "name"])
}

/// The name of the object that puts the filter into the gateways.
const FILTER: &str = "kubectl-mirror-ingressgateway";

/// Puts another module into the gateways, as a plugin that carries it would.
fn install_module(cluster: &Cluster, module: &[u8]) {
    let apply = ["apply", "--server-side", "--field-manager=kubectl-mirror", "--filename=-"];
    assert_ok(&cluster.admin().kubectl_with(&apply, &installation(module).to_string()));
}

/// The same, and waits until all workers of all gateways run it.
async fn run_module(cluster: &Cluster, module: &[u8]) {
    let mut before = Vec::new();
    for gateway in cluster.gateways() {
        before.push(signs_of_life(gateway).await);
    }
    install_module(cluster, module);
    for (gateway, before) in cluster.gateways().iter().zip(&before) {
        wait::until("the module", async || {
            // One for each of two workers, and one of the main thread.
            (signs_of_life(gateway).await.difference(before).count() >= 3).then_some(())
        })
        .await;
    }
}

/// The VMs of modules behind the router that have ever ticked.
async fn signs_of_life(gateway: &Gateway) -> BTreeSet<u32> {
    let ticks = gateway.envoy().stats("mirror_v1__alive").await.into_iter().filter(|(_, tick)| *tick > 0);
    let slots = ticks.filter_map(|(name, _)| match Metric::decode(&name) {
        Some(Metric::Alive { slot }) => Some(slot),
        _ => None,
    });
    slots.filter(|slot| *slot < ALIVE_SLOTS).collect()
}

/// Takes the filter away without the plugin.
fn delete_filter(cluster: &Cluster) {
    cluster.admin().kubectl_ok(&["delete", "envoyfilter", "-n", ISTIO_SYSTEM, FILTER]);
}
