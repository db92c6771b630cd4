//! A Knative Service and all that Knative's controllers and net-istio make of it.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::net::SocketAddr;

use serde_json::{Value, json};

use super::DOMAIN;
use super::shapes::{self, Names, Traffic};
use crate::cluster::Cluster;
use crate::wait;

/// A Knative Service with its Configuration, Revisions, Route, Ingress and VirtualServices.
///
/// Revisions are called by what follows the Service's name: `v1` is the revision `hello-v1`.
#[derive(Debug)]
pub struct Service {
    cluster: &'static Cluster,
    names: Names,
    revisions: Vec<String>,
}

impl Service {
    /// A Service without any revision, of which nothing is in the cluster yet.
    pub fn new(cluster: &'static Cluster, namespace: &str, name: &str) -> Self {
        Self::of(cluster, namespace, name, false)
    }

    /// A Service that can be reached from inside the cluster only.
    pub fn cluster_local(cluster: &'static Cluster, namespace: &str, name: &str) -> Self {
        Self::of(cluster, namespace, name, true)
    }

    fn of(cluster: &'static Cluster, namespace: &str, name: &str, local_only: bool) -> Self {
        let names = Names { namespace: namespace.to_owned(), service: name.to_owned(), local_only };
        Self { cluster, names, revisions: Vec::new() }
    }

    /// Makes a ready revision that the server at `address` answers for. It is not routed yet.
    pub async fn revision(&mut self, revision: &str, address: SocketAddr) {
        self.revisions.push(revision.to_owned());
        let objects = self.cluster.objects();
        let configuration = objects.apply(shapes::configuration(&self.names, &self.revisions)).await;
        objects.apply(shapes::revision(&self.names, revision, &configuration, self.revisions.len())).await;
        self.answered_by(revision, address).await;
    }

    /// Lets another server answer for a revision.
    pub async fn answered_by(&self, revision: &str, address: SocketAddr) {
        self.cluster.objects().apply(shapes::service_entry(&self.names, revision, address)).await;
    }

    /// Routes as told, and waits until all gateways do so. Where percentages are given they add up to 100.
    pub async fn traffic(&self, traffic: &[Traffic]) {
        let objects = self.cluster.objects();
        let latest = self.revisions.last().expect("a revision");
        let service = objects.apply(shapes::service(&self.names, latest, traffic)).await;
        let route = objects.apply(shapes::route(&self.names, traffic, &service)).await;
        objects.apply(shapes::placeholder(&self.names, &route)).await;
        let ingress = objects.apply(shapes::ingress(&self.names, traffic, &route)).await;
        let hash = hash_of(&ingress);
        objects.apply(shapes::ingress_virtual_service(&self.names, traffic, &ingress, &hash)).await;
        objects.apply(shapes::mesh_virtual_service(&self.names, traffic, &ingress, &hash)).await;
        // What net-istio's probes do: they look whether the answer comes by the routes with this hash.
        for gateway in self.cluster.gateways() {
            wait::until("the gateways to follow the Route", async || {
                gateway.dump("dynamic_route_configs").await.to_string().contains(&hash).then_some(())
            })
            .await;
        }
    }

    /// The namespace.
    pub fn namespace(&self) -> &str {
        &self.names.namespace
    }

    /// The full name of a revision.
    pub fn revision_name(&self, revision: &str) -> String {
        self.names.revision(revision)
    }

    /// The cluster of a revision in Istio's gateways.
    pub fn envoy_cluster(&self, revision: &str) -> String {
        format!("outbound|80||{}", self.names.revision_host(revision))
    }

    /// The host by which clients outside the cluster know it.
    pub fn host(&self) -> String {
        format!("{}.{}.{DOMAIN}", self.names.service, self.names.namespace)
    }

    /// The host by which clients in the cluster know it.
    pub fn local_host(&self) -> String {
        format!("{}.{}.svc.cluster.local", self.names.service, self.names.namespace)
    }

    /// The external host of a tag.
    pub fn tag_host(&self, tag: &str) -> String {
        format!("{tag}-{}", self.host())
    }
}

/// What net-istio puts into `K-Network-Hash`: it changes with the Ingress.
fn hash_of(ingress: &Value) -> String {
    let mut hasher = DefaultHasher::new();
    json!([ingress["metadata"]["uid"], ingress["spec"]]).to_string().hash(&mut hasher);
    format!("{:064x}", hasher.finish())
}
