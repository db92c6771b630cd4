//! What runs in the gateways' Envoys, as they say themselves.
//!
//! `view.rs` reads one Envoy's admin pages into a [`View`]: the module (`module.rs`), the mirrors in its live routes
//! (`routes.rs`), all hosts that they serve (`served.rs`), what a WasmPlugin brought (`sending.rs`), and the clusters that mirrors
//! copy to (`endpoints.rs`). `state.rs` judges by it how one mirror stands in that pod; `wait.rs` waits until it stands as wanted in
//! all of them.

mod endpoints;
mod module;
mod routes;
mod sending;
mod served;
mod state;
mod view;
mod wait;

pub use endpoints::Endpoints;
pub use module::Modules;
pub use routes::{Carrier, Drawn, Flaw, LiveMirror};
pub use state::{Found, PodState, Route, Summary, Wanted, no_target, unserved_hosts};
pub use view::{PodView, View, read};
pub use wait::{End, Waited};

use std::collections::BTreeSet;

use crate::admin::{Admin, AdminError, each};
use crate::cluster::{Cluster, Pod};
use crate::source::{self, Way};

/// The Envoys of several pods, by connections that are kept.
#[derive(Clone, Debug, Default)]
pub struct Gateways {
    admins: Vec<Admin>,
}

impl Gateways {
    /// The Envoys of these pods; those that do not run, or are about to go, are left out.
    pub fn of(cluster: &Cluster, pods: &[Pod]) -> Self {
        let running = pods.iter().filter(|pod| pod.is_running());
        Self { admins: running.map(|pod| Admin::of_pod(cluster, &pod.namespace, &pod.name)).collect() }
    }

    /// Envoys whose admin pages are known.
    pub fn at(admins: Vec<Admin>) -> Self {
        Self { admins }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.admins.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.admins.is_empty()
    }

    /// Reads each of them, with the endpoints of these clusters and of those that live mirrors copy to.
    pub async fn view(&self, clusters: &[String]) -> Vec<PodView> {
        let answers = each(&self.admins, |admin| {
            let clusters = clusters.to_vec();
            async move { read(&admin, &clusters).await }
        })
        .await;
        let names = self.admins.iter().map(|admin| admin.place().name().to_owned());
        names.zip(answers).map(|(pod, view)| PodView { pod, view }).collect()
    }

    /// How `wanted` stands in each of them.
    pub async fn states(&self, wanted: &Wanted) -> Vec<PodState> {
        let views = self.view(&wanted.clusters()).await;
        views.iter().map(|view| PodState::judge(view, wanted)).collect()
    }

    /// Whether the listeners of each ask for the module that stands in this way.
    async fn hooks(&self, way: Way) -> Vec<(String, Result<bool, AdminError>)> {
        let answers = each(&self.admins, |admin| async move { module::is_hooked(&admin, way).await }).await;
        let names = self.admins.iter().map(|admin| admin.place().name().to_owned());
        names.zip(answers).collect()
    }

    /// The VMs in each of the module that stands in this way.
    pub async fn vms(&self, way: Way) -> Vec<(String, Result<BTreeSet<u32>, AdminError>)> {
        let answers = each(&self.admins, |admin| async move {
            let mut snapshot = source::admin::read_page(&admin).await?;
            Ok(snapshot.instances.pop().unwrap_or_default().vms(way).map(|(vm, _)| vm).collect())
        })
        .await;
        let names = self.admins.iter().map(|admin| admin.place().name().to_owned());
        names.zip(answers).collect()
    }

    /// What they have counted so far; `answered` is told of each one that answers or fails.
    pub async fn gather(&self, answered: impl Fn() + Send + Sync + 'static) -> source::Gathered {
        source::cluster::read(&self.admins, answered).await
    }
}
