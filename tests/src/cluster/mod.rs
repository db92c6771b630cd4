//! A cluster on loopback: real etcd, API server, Istio control plane and Envoy gateways, and Knative's objects as Knative
//! and net-istio would have written them. There are no containers, no scheduler and no controllers.
//!
//! All tests of a program share one cluster. A test works in a namespace of its own, so that tests can run side by side:
//!
//! ```ignore
//! use mirror_tests::backend::{Backend, Reply};
//! use mirror_tests::client::{Request, Steady};
//! use mirror_tests::cluster::{on_cluster, Service, Traffic};
//!
//! #[test]
//! fn a_split_is_changed() {
//!     on_cluster(async |cluster| {
//!         let namespace = cluster.namespace("splits").await;
//!         let (v1, v2) = (Backend::constant(Reply::ok("1")).await, Backend::constant(Reply::ok("2")).await);
//!         let mut hello = Service::new(cluster, &namespace, "hello");
//!         hello.revision("v1", v1.address()).await;
//!         hello.revision("v2", v2.address()).await;
//!         hello.traffic(&[Traffic::percent("v1", 100), Traffic::tag("v2", "v2")]).await;
//!
//!         // What a user types, and what he sees of it.
//!         let listed = cluster.admin().mirror(&["list", "-n", &namespace]);
//!         assert_eq!(listed.status, Some(0), "{listed:#?}");
//!
//!         for gateway in cluster.gateways() {
//!             let steady = Steady::start(gateway.external(), Request::get("/").host(&hello.host()));
//!             hello.traffic(&[Traffic::percent("v2", 100)]).await;
//!             steady.stop().await.assert_all_right();
//!         }
//!     });
//! }
//! ```
//!
//! | file | owns |
//! |---|---|
//! | `kubernetes.rs` | etcd, the API server and a kubelet whose pods are processes of this machine |
//! | `objects.rs` | writing and reading objects as a controller would |
//! | `user.rs` | somebody with a kubeconfig, who runs `kubectl` and `kubectl mirror` |
//! | `istio.rs` | Istio's control plane and what its chart installs |
//! | `gateway.rs` | a gateway: an Envoy of Istio's kind and the pod that it is |
//! | `waypoint.rs` | a waypoint of an ambient mesh, with a control plane of its own |
//! | `knative/` | Knative's installation, and a Knative Service with its Route, revisions and VirtualServices |
//! | `program.rs`, `ports.rs`, `folder.rs` | processes, free ports, and the folder with all files and logs |
//!
//! The gateways are shared too, and with them what the plugin installs there. A test that needs them bare, or changes what
//! is installed, runs in [`alone_on_cluster`].
//!
//! The programs come by `make setup-cluster` into `.tools/rig`. One gateway pod runs the newest and one the oldest of the
//! Envoys under test. Everything ends with the test's process. The folder with the logs stays until the next run.

mod bootstrap;
mod folder;
mod gateway;
mod istio;
mod knative;
mod kubernetes;
mod objects;
mod ports;
mod program;
mod user;
mod waypoint;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, PoisonError, RwLock};

use serde_json::json;
use tokio::runtime::Runtime;

use crate::wait;
use folder::Folder;
use istio::Istio;
use kubernetes::Kubernetes;

pub use gateway::Gateway;
pub use knative::{Service, Traffic};
pub use objects::{Kind, Objects};
pub use user::User;
pub use waypoint::Waypoint;

/// Where Istio and its gateways live.
pub const ISTIO_SYSTEM: &str = "istio-system";

/// A running cluster.
#[derive(Debug)]
pub struct Cluster {
    kubernetes: Kubernetes,
    objects: Objects,
    istio: Istio,
    gateways: Vec<Gateway>,
    folder: Folder,
    namespaces: AtomicUsize,
}

/// Servers and connections must not end with the thread of the test that happened to start them.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("a runtime"));

/// Where it cannot be started, all tests but the first fail at once.
static CLUSTER: LazyLock<Cluster> = LazyLock::new(|| RUNTIME.block_on(Cluster::start()));

/// Who works with the gateways: many, or one alone.
static GATEWAYS: RwLock<()> = RwLock::new(());

/// Runs a test with the cluster that all tests of this program share; the first one starts it. When the test fails, the
/// end of each program's log is shown.
pub fn on_cluster(test: impl AsyncFn(&'static Cluster)) {
    let _turn = GATEWAYS.read().unwrap_or_else(PoisonError::into_inner);
    let cluster = &*CLUSTER;
    let _shown = ShownOnFailure(cluster);
    RUNTIME.block_on(test(cluster));
}

/// The same while no other test runs, with gateways into which nothing is installed. What it installs is removed after it.
pub fn alone_on_cluster(test: impl AsyncFn(&'static Cluster)) {
    let _turn = GATEWAYS.write().unwrap_or_else(PoisonError::into_inner);
    let cluster = &*CLUSTER;
    let _shown = ShownOnFailure(cluster);
    RUNTIME.block_on(async {
        // What was left by a test that failed, too.
        cluster.bare_gateways().await;
        test(cluster).await;
        cluster.bare_gateways().await;
    });
}

impl Cluster {
    /// Starts everything and waits until it is ready.
    async fn start() -> Self {
        let folder = Folder::new();
        let kubernetes = Kubernetes::start(&folder).await;
        let objects = Objects::new(kubernetes.client().await);
        kubernetes.install(&objects).await;
        knative::install(&objects).await;
        let istio = Istio::start(&folder, &kubernetes, &objects).await;
        let gateways = gateway::start_all(&folder, &istio, &kubernetes, &objects).await;
        Self { kubernetes, objects, istio, gateways, folder, namespaces: AtomicUsize::new(0) }
    }

    /// The user who may do everything.
    pub fn admin(&self) -> &User {
        self.kubernetes.admin()
    }

    /// A user who may do nothing yet: the service account `name` in `namespace`, to be bound to roles.
    pub async fn user(&self, namespace: &str, name: &str) -> User {
        self.kubernetes.user(&self.objects, namespace, name).await
    }

    /// What is stored in the API server.
    pub fn objects(&self) -> &Objects {
        &self.objects
    }

    /// A new namespace whose name begins with `prefix`.
    pub async fn namespace(&self, prefix: &str) -> String {
        let name = format!("{prefix}-{}", self.namespaces.fetch_add(1, Ordering::Relaxed));
        self.objects.apply(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})).await;
        name
    }

    /// The gateway pods, the one with the newest Envoy first.
    pub fn gateways(&self) -> &[Gateway] {
        &self.gateways
    }

    /// The gateway pod with the newest Envoy.
    pub fn gateway(&self) -> &Gateway {
        &self.gateways[0]
    }

    /// Removes all that is installed into the gateways, and waits until they let go of it.
    async fn bare_gateways(&self) {
        // A mirror that a test left keeps its filter.
        let ours = ["-l", "app.kubernetes.io/managed-by=kubectl-mirror"];
        self.admin().kubectl_ok(&[&["delete", "virtualservices", "-A"], &ours[..]].concat());
        for kind in [Kind::ENVOY_FILTER, Kind::WASM_PLUGIN] {
            for name in self.objects.names(kind, ISTIO_SYSTEM, "").await {
                self.objects.delete(kind, ISTIO_SYSTEM, &name).await;
            }
        }
        for gateway in &self.gateways {
            wait::until("the gateways to be bare", async || (!gateway.holds_extensions().await).then_some(())).await;
        }
    }

    /// The folder with all files and logs.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn logs(&self) -> Vec<(&str, PathBuf)> {
        let programs = self.kubernetes.programs().chain(self.istio.programs());
        let programs = programs.map(|program| (program.name(), program.log()));
        programs.chain(self.gateways.iter().map(|gateway| (gateway.pod(), gateway.log()))).collect()
    }
}

/// Lines of each log that a failed test shows.
const TAIL: usize = 15;

struct ShownOnFailure(&'static Cluster);

impl Drop for ShownOnFailure {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        for (name, log) in self.0.logs() {
            eprintln!("--- {name}\n{}", folder::tail(&log, TAIL));
        }
        eprintln!("--- the cluster's files: {}", self.0.folder().display());
    }
}
