//! The gateway pods that one EnvoyFilter or WasmPlugin reaches.

use std::collections::BTreeMap;
use std::fmt;

use mirror_core::config::fingerprint;

use crate::cluster::Pod;
use crate::kinds::{EnvoyFilter, PodSelector, TargetRef, WasmPlugin, WorkloadSelector};

/// The label of the pods that Istio runs for a Kubernetes Gateway, with its name. A WasmPlugin reaches those by a reference to it;
/// by labels it reaches them only where Istio is told so, and waypoints never.
const GATEWAY_NAME: &str = "gateway.networking.k8s.io/gateway-name";
/// The API group of Kubernetes Gateways.
const GATEWAY_API: &str = "gateway.networking.k8s.io";

/// Gateway pods: those of a namespace that have all these labels.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Workload {
    /// Their namespace: an object reaches pods of its own namespace only.
    pub namespace: String,
    /// Their labels, as Istio's Gateway selects them.
    pub labels: BTreeMap<String, String>,
}

impl Workload {
    /// Those that Istio runs for a Kubernetes Gateway.
    pub fn of_gateway(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.to_owned(), labels: [(GATEWAY_NAME.to_owned(), name.to_owned())].into() }
    }

    /// Those that an EnvoyFilter reaches.
    pub fn of(filter: &EnvoyFilter) -> Self {
        let labels = filter.spec.workload_selector.as_ref().map(|selector| selector.labels.clone());
        Self { namespace: filter.metadata.namespace.clone().unwrap_or_default(), labels: labels.unwrap_or_default() }
    }

    /// Those that a WasmPlugin reaches.
    pub fn of_plugin(plugin: &WasmPlugin) -> Self {
        let namespace = plugin.metadata.namespace.clone().unwrap_or_default();
        if let Some(target) = plugin.spec.target_refs.first() {
            return Self::of_gateway(&namespace, &target.name);
        }
        let labels = plugin.spec.selector.as_ref().map(|selector| selector.match_labels.clone());
        Self { namespace, labels: labels.unwrap_or_default() }
    }

    /// Whether they are a Kubernetes Gateway's. Of those, mirrors are put into waypoints only.
    pub fn is_of_gateway(&self) -> bool {
        self.labels.contains_key(GATEWAY_NAME)
    }

    /// Whether a pod is one of them.
    pub fn has(&self, pod: &Pod) -> bool {
        self.namespace == pod.namespace && self.labels.iter().all(|(key, value)| pod.labels.get(key) == Some(value))
    }

    /// As a WasmPlugin selects them.
    pub(super) fn pod_selector(&self) -> PodSelector {
        PodSelector { match_labels: self.labels.clone() }
    }

    /// As a WasmPlugin refers to them, where they are a Kubernetes Gateway's.
    pub(super) fn target(&self) -> Option<TargetRef> {
        let name = self.labels.get(GATEWAY_NAME)?.clone();
        Some(TargetRef { group: GATEWAY_API.to_owned(), kind: "Gateway".to_owned(), name })
    }

    /// As an EnvoyFilter selects them.
    pub(super) fn selector(&self) -> WorkloadSelector {
        WorkloadSelector { labels: self.labels.clone() }
    }

    /// As `kubectl -l` selects them, `a=b,c=d`.
    pub fn label_selector(&self) -> String {
        let pairs: Vec<_> = self.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        pairs.join(",")
    }

    /// What the names of objects for these pods end with. It is made of nothing but the labels, so it stays the same, and
    /// two workloads of one namespace have two: Istio's usual label `istio` gives its value alone, anything else also has
    /// a fingerprint.
    pub fn suffix(&self) -> String {
        let value = self.labels.get("istio").or_else(|| self.labels.values().next()).map_or("all", String::as_str);
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let is_name = value.chars().all(is_plain) && !value.starts_with('-') && !value.ends_with('-');
        if self.labels.len() == 1 && self.labels.contains_key("istio") && is_name && !value.is_empty() {
            return value.to_owned();
        }
        let readable: String =
            value.chars().map(|c| c.to_ascii_lowercase()).map(|c| if is_plain(c) { c } else { '-' }).collect();
        format!("{readable}-{}", fingerprint(self.label_selector().as_bytes()))
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.label_selector())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::intent::MirrorName;
    use crate::istio::names;

    fn workload(labels: &[(&str, &str)]) -> Workload {
        let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Workload { namespace: "istio-system".to_owned(), labels }
    }

    #[test]
    fn names_of_two_workloads_never_collide() {
        let workloads = [
            vec![("istio", "ingressgateway")],
            vec![("istio", "local")],
            vec![("app", "ingressgateway")],
            vec![("istio", "ingressgateway"), ("app", "gw")],
            vec![("istio", "Ingress_Gateway")],
            vec![("istio", "ingress-gateway")],
            vec![("istio", "ingress.gateway")],
            vec![("istio", "")],
            vec![],
        ];
        let names: Vec<_> = workloads.iter().map(|labels| names::install(&workload(labels))).collect();
        assert_eq!(names[0], "kubectl-mirror-ingressgateway");
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
        let is_dns = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        for name in &names {
            assert!(name.chars().all(is_dns) && !name.ends_with('-'), "{name}");
        }
    }

    #[test]
    fn an_overlay_is_named_after_its_mirror() {
        let mirror = MirrorName::new("store", "cart");
        let workload = workload(&[("istio", "ingressgateway")]);
        assert_eq!(names::overlay(&mirror, &workload), "mirror.store.cart.ingressgateway");
        assert_eq!(names::virtual_service(&mirror), "cart-mirror");
        assert_eq!(workload.to_string(), "istio-system/istio=ingressgateway");
    }
}
