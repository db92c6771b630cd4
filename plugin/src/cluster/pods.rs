//! Pods, as far as mirrors care: the gateways' and Istio's control plane.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1;

use super::{Cluster, Error, Scope};

/// A pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pod {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Kubernetes' word for where it is in its life: `Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`; empty where
    /// nothing is known.
    pub phase: String,
    /// Whether it serves.
    pub ready: bool,
    /// Whether it is about to go.
    pub terminating: bool,
    /// The tag of its proxy's (or else its first container's) image, for example `1.28.3`; empty where it has none.
    pub version: String,
}

impl Pod {
    /// Whether it can be asked: it runs and is not about to go.
    pub fn is_running(&self) -> bool {
        self.phase == "Running" && !self.terminating
    }
}

impl Cluster {
    /// The pods of a namespace that carry all of these labels (those that a `Gateway`'s selector or an EnvoyFilter's
    /// `workloadSelector` chooses), by name.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn pods(&self, namespace: &str, labels: &BTreeMap<String, String>) -> Result<Vec<Pod>, Error> {
        let selector: Vec<_> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        self.pods_selected(Scope::Namespace(namespace), &selector.join(",")).await
    }

    /// The pods that carry all of these labels, wherever they run, by namespace and name.
    ///
    /// # Errors
    /// See [`Error`]; a user may lack the right to look into all namespaces.
    pub async fn pods_everywhere(&self, labels: &BTreeMap<String, String>) -> Result<Vec<Pod>, Error> {
        let selector: Vec<_> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        self.pods_selected(Scope::All, &selector.join(",")).await
    }

    /// The versions of Istio's control plane in this namespace (mostly `istio-system`), each once: several while one
    /// replaces another. Empty where there is none.
    ///
    /// # Errors
    /// See [`Error`]; a user may lack the right to see its pods.
    pub async fn istiod_versions(&self, namespace: &str) -> Result<Vec<String>, Error> {
        let pods = self.pods_selected(Scope::Namespace(namespace), "app=istiod").await?;
        let mut versions: Vec<_> =
            pods.into_iter().map(|pod| pod.version).filter(|version| !version.is_empty()).collect();
        versions.sort();
        versions.dedup();
        Ok(versions)
    }

    async fn pods_selected(&self, scope: Scope<'_>, selector: &str) -> Result<Vec<Pod>, Error> {
        let pods: Vec<v1::Pod> = self.list(scope, Some(selector)).await?;
        let mut pods: Vec<_> = pods.into_iter().map(Pod::from).collect();
        pods.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
        Ok(pods)
    }
}

impl From<v1::Pod> for Pod {
    fn from(pod: v1::Pod) -> Self {
        let containers = pod.spec.map(|spec| spec.containers).unwrap_or_default();
        let proxy = containers.iter().find(|container| container.name == "istio-proxy").or(containers.first());
        let image = proxy.and_then(|container| container.image.as_deref()).unwrap_or_default();
        let status = pod.status.unwrap_or_default();
        let ready = status
            .conditions
            .iter()
            .flatten()
            .any(|condition| condition.type_ == "Ready" && condition.status == "True");
        Self {
            name: pod.metadata.name.unwrap_or_default(),
            namespace: pod.metadata.namespace.unwrap_or_default(),
            labels: pod.metadata.labels.unwrap_or_default(),
            phase: status.phase.unwrap_or_default(),
            ready,
            terminating: pod.metadata.deletion_timestamp.is_some(),
            version: tag(image).to_owned(),
        }
    }
}

/// The tag of an image, `1.28.3` of `HOST:5000/istio/proxyv2:1.28.3-distroless@sha256:…` (a variant is no version).
fn tag(image: &str) -> &str {
    let image = image.split('@').next().unwrap_or_default();
    let last = image.rsplit('/').next().unwrap_or_default();
    let tag = last.split_once(':').map_or("", |(_, tag)| tag);
    tag.strip_suffix("-distroless").or_else(|| tag.strip_suffix("-debug")).unwrap_or(tag)
}

#[cfg(test)]
mod tests {
    use super::super::testing::FakeServer;
    use super::*;

    const PODS: &str = "
apiVersion: v1
kind: Pod
metadata: {name: gw-1, namespace: istio-system, labels: {istio: ingressgateway, app: gw}}
spec: {containers: [{name: helper, image: 'helper:9'}, {name: istio-proxy, image: 'images.example.com:5000/istio/proxyv2:1.28.3-distroless'}]}
status: {phase: Running, conditions: [{type: Ready, status: 'True'}]}
---
apiVersion: v1
kind: Pod
metadata: {name: gw-0, namespace: istio-system, labels: {istio: ingressgateway, app: gw}, deletionTimestamp: '2026-11-30T12:00:00Z'}
spec: {containers: [{name: istio-proxy, image: istio/proxyv2}]}
status: {phase: Running, conditions: [{type: Ready, status: 'False'}]}
---
apiVersion: v1
kind: Pod
metadata: {name: gw-2, namespace: istio-system, labels: {istio: ingressgateway, app: other}}
spec: {containers: []}
status: {phase: Pending}
---
apiVersion: v1
kind: Pod
metadata: {name: istiod-0, namespace: istio-system, labels: {app: istiod}}
spec: {containers: [{name: discovery, image: 'istio/pilot:1.28.3@sha256:abc'}]}
status: {phase: Running}
";

    #[tokio::test]
    async fn gateway_pods_are_found_by_their_labels() {
        let cluster = FakeServer::new().with(PODS).cluster("default");
        let labels = |labels: &[(&str, &str)]| {
            labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect::<BTreeMap<_, _>>()
        };
        let pods = cluster.pods("istio-system", &labels(&[("istio", "ingressgateway")])).await.expect("pods");
        let seen: Vec<_> = pods
            .iter()
            .map(|pod| (pod.name.as_str(), pod.is_running(), pod.ready, pod.terminating, pod.version.as_str()))
            .collect();
        assert_eq!(
            seen,
            [
                ("gw-0", false, false, true, ""),
                ("gw-1", true, true, false, "1.28.3"),
                ("gw-2", false, false, false, ""),
            ]
        );
        let gateways = labels(&[("istio", "ingressgateway"), ("app", "gw")]);
        assert_eq!(cluster.pods_everywhere(&gateways).await.expect("pods").len(), 2);
        assert_eq!(cluster.istiod_versions("istio-system").await.expect("versions"), ["1.28.3"]);
        assert!(cluster.istiod_versions("default").await.expect("none").is_empty());
    }

    #[test]
    fn tags() {
        for (image, expected) in [
            ("istio/proxyv2:1.28.3", "1.28.3"),
            ("a.b:5000/istio/proxyv2:1.28.3-debug@sha256:0", "1.28.3"),
            ("a.b:5000/istio/proxyv2", ""),
            ("", ""),
        ] {
            assert_eq!(tag(image), expected, "{image}");
        }
    }
}
