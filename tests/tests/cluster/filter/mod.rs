//! The filter in the gateways, which all mirrors share: how it comes and goes, and what commands say where it does not work.

mod comes_and_goes;
mod faults;
mod refused;

use mirror_tests::cluster::{Cluster, ISTIO_SYSTEM};
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
    install_module(cluster, module);
    for gateway in cluster.gateways() {
        wait::until("the module", async || {
            let ticks = gateway.envoy().stats("mirror_v1__alive").await;
            // One for each of two workers, and one of the main thread.
            (ticks.values().filter(|tick| **tick > 0).count() >= 3).then_some(())
        })
        .await;
    }
}

/// Takes the filter away without the plugin.
fn delete_filter(cluster: &Cluster) {
    cluster.admin().kubectl_ok(&["delete", "envoyfilter", "-n", ISTIO_SYSTEM, FILTER]);
}
