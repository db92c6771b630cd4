//! Knative's configuration for Istio: which gateways serve Routes, and where those gateways' pods are.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use serde::Deserialize;
use thiserror::Error;

use super::{INGRESS_CLASS, ISTIO};
use crate::intent::Through;
use crate::kinds::{Ingress, IngressStatus, LoadBalancer};

/// Where Knative keeps its configuration.
pub const NAMESPACE: &str = "knative-serving";
/// The ConfigMap that names the gateways.
pub const CONFIG_ISTIO: &str = "config-istio";
/// The ConfigMap that names the default ingress class.
pub const CONFIG_NETWORK: &str = "config-network";

/// An Istio Gateway that serves Routes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct KnativeGateway {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// The Kubernetes Service of its pods, for example `istio-ingressgateway.istio-system.svc.cluster.local`.
    pub service: String,
}

impl KnativeGateway {
    /// `<namespace>/<name>`, as VirtualServices name it.
    pub fn reference(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

/// The gateways that serve Routes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gateways {
    /// For calls from outside.
    pub external: Vec<KnativeGateway>,
    /// For calls from inside the cluster.
    pub local: Vec<KnativeGateway>,
}

/// A key of `config-istio` that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("ConfigMap {NAMESPACE}/{CONFIG_ISTIO}, key {key}: {reason}")]
pub struct ConfigError {
    key: String,
    reason: String,
}

impl Default for Gateways {
    /// What Knative assumes where nothing is configured.
    fn default() -> Self {
        let gateway = |name: &str, service: &str| KnativeGateway {
            name: name.to_owned(),
            namespace: NAMESPACE.to_owned(),
            service: format!("{service}.istio-system.svc.cluster.local"),
        };
        Self {
            external: vec![gateway("knative-ingress-gateway", "istio-ingressgateway")],
            local: vec![gateway("knative-local-gateway", "knative-local-gateway")],
        }
    }
}

impl Gateways {
    /// Reads ConfigMap `config-istio`. What it leaves out takes Knative's default. Gateways that are for Services with
    /// certain labels only (`labelSelector`) are left out: what Knative made of them is known from its VirtualServices.
    ///
    /// # Errors
    /// A key whose text is not a list of gateways.
    pub fn read(config: &ConfigMap) -> Result<Self, ConfigError> {
        let data = config.data.clone().unwrap_or_default();
        let defaults = Self::default();
        let read = |list: &str, prefix: &str, default| {
            let gateways = match data.get(list) {
                Some(text) => listed(list, text)?,
                None => by_key(&data, prefix)?,
            };
            Ok(if gateways.is_empty() { default } else { gateways })
        };
        Ok(Self {
            external: read("external-gateways", "gateway.", defaults.external)?,
            local: read("local-gateways", "local-gateway.", defaults.local)?,
        })
    }

    /// The namespaces of the gateways' pods by which calls come in, sorted: where there is no Ingress to say it better.
    pub fn namespaces(&self, through: Through) -> Vec<String> {
        let services = |gateways: &[KnativeGateway]| gateways.iter().map(|gateway| gateway.service.clone()).collect();
        namespaces(through, services(&self.external), services(&self.local))
    }
}

/// A list of gateways as YAML text.
fn listed(key: &str, text: &str) -> Result<Vec<KnativeGateway>, ConfigError> {
    #[derive(Deserialize)]
    struct Entry {
        #[serde(flatten)]
        gateway: KnativeGateway,
        #[serde(default, rename = "labelSelector")]
        label_selector: Option<serde::de::IgnoredAny>,
    }
    let entries: Option<Vec<Entry>> = serde_saphyr::from_str(text).map_err(|error| ConfigError {
        key: key.to_owned(),
        reason: format!("not a list of gateways: {}", error.without_snippet()),
    })?;
    let for_all = entries.unwrap_or_default().into_iter().filter(|entry| entry.label_selector.is_none());
    Ok(for_all.map(|entry| entry.gateway).collect())
}

/// Gateways in the older form: `<prefix><namespace>.<name>: <service>`.
fn by_key(data: &BTreeMap<String, String>, prefix: &str) -> Result<Vec<KnativeGateway>, ConfigError> {
    let keys = data.iter().filter_map(|(key, service)| Some((key, key.strip_prefix(prefix)?, service)));
    keys.map(|(key, gateway, service)| {
        // The oldest form has no namespace: the gateway is Knative's own.
        let (namespace, name) = gateway.split_once('.').unwrap_or((NAMESPACE, gateway));
        if name.is_empty() || namespace.is_empty() {
            let reason = format!("not of the form {prefix}<namespace>.<name>");
            return Err(ConfigError { key: key.clone(), reason });
        }
        Ok(KnativeGateway {
            name: name.to_owned(),
            namespace: namespace.to_owned(),
            service: service.trim().to_owned(),
        })
    })
    .collect()
}

/// The ingress class of a Route: that of its Ingress, else the cluster's default in ConfigMap `config-network`, else
/// Istio's.
pub fn ingress_class(ingress: Option<&Ingress>, config_network: Option<&ConfigMap>) -> String {
    let of_ingress = ingress.and_then(|ingress| ingress.metadata.annotations.as_ref()?.get(INGRESS_CLASS));
    let of_cluster = config_network.and_then(|config| {
        let data = config.data.as_ref()?;
        data.get("ingress-class").or_else(|| data.get("ingress.class"))
    });
    of_ingress.or(of_cluster).cloned().unwrap_or_else(|| ISTIO.to_owned())
}

/// The namespaces of the gateway pods by which calls to an Ingress come in, sorted.
pub fn gateway_namespaces(ingress: &Ingress, through: Through) -> Vec<String> {
    let status = ingress.status.as_ref();
    let services = |balancer: fn(&IngressStatus) -> &Option<LoadBalancer>| {
        let balancer = status.and_then(|status| balancer(status).as_ref());
        let ingresses = balancer.into_iter().flat_map(|balancer| &balancer.ingress);
        ingresses.filter_map(|ingress| ingress.domain_internal.clone()).collect()
    };
    namespaces(through, services(|status| &status.public_load_balancer), services(|s| &s.private_load_balancer))
}

/// The namespaces in the names of those Kubernetes Services that `through` means.
fn namespaces(through: Through, external: Vec<String>, local: Vec<String>) -> Vec<String> {
    let services = match through {
        Through::External => external,
        Through::Local => local,
        Through::Both => [external, local].concat(),
    };
    let mut namespaces: Vec<_> = services.iter().filter_map(|service| gateway_namespace(service)).collect();
    namespaces.sort();
    namespaces.dedup();
    namespaces
}

/// The namespace in the name of a Kubernetes Service, `<name>.<namespace>.svc…`.
pub fn gateway_namespace(service: &str) -> Option<String> {
    let mut labels = service.split('.');
    let namespace = labels.nth(1).filter(|namespace| !namespace.is_empty())?;
    labels.next().is_none_or(|label| label == "svc").then(|| namespace.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    fn config(data: &[(&str, &str)]) -> ConfigMap {
        let data = data.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        ConfigMap { data: Some(data), ..ConfigMap::default() }
    }

    fn references(gateways: &[KnativeGateway]) -> Vec<String> {
        gateways.iter().map(|gateway| format!("{} at {}", gateway.reference(), gateway.service)).collect()
    }

    #[test]
    fn gateways_are_read_in_every_form() {
        let default_external =
            "knative-serving/knative-ingress-gateway at istio-ingressgateway.istio-system.svc.cluster.local";
        let default_local =
            "knative-serving/knative-local-gateway at knative-local-gateway.istio-system.svc.cluster.local";
        let list = "- name: public\n  namespace: edge\n  service: gw.edge.svc.cluster.local\n\
                    - name: beta\n  namespace: edge\n  service: b.edge.svc\n  labelSelector:\n    matchLabels: {a: b}\n";
        for (data, external, local) in [
            (vec![], vec![default_external], vec![default_local]),
            (vec![("_example", "x")], vec![default_external], vec![default_local]),
            (vec![("external-gateways", "")], vec![default_external], vec![default_local]),
            (vec![("external-gateways", list)], vec!["edge/public at gw.edge.svc.cluster.local"], vec![default_local]),
            (
                vec![
                    ("gateway.edge.public", "gw.edge.svc"),
                    ("gateway.old", "old.istio-system.svc"),
                    ("local-gateway.edge.inner", "in.edge.svc"),
                ],
                vec!["edge/public at gw.edge.svc", "knative-serving/old at old.istio-system.svc"],
                vec!["edge/inner at in.edge.svc"],
            ),
            (
                vec![("external-gateways", list), ("gateway.edge.other", "o.edge.svc")],
                vec!["edge/public at gw.edge.svc.cluster.local"],
                vec![default_local],
            ),
        ] {
            let gateways = Gateways::read(&config(&data)).expect("good gateways");
            assert_eq!(references(&gateways.external), external, "{data:?}");
            assert_eq!(references(&gateways.local), local, "{data:?}");
        }
    }

    #[test]
    fn gateways_that_cannot_be_read_are_refused_with_their_key() {
        for data in [("external-gateways", "- name: a\n"), ("local-gateways", "a: b"), ("gateway.edge.", "s")] {
            let error = Gateways::read(&config(&[data])).expect_err("a mistake").to_string();
            assert!(error.starts_with(&format!("ConfigMap knative-serving/config-istio, key {}: ", data.0)), "{error}");
        }
    }

    #[test]
    fn the_ingress_class_is_the_routes_own_before_the_clusters() {
        let kourier = config(&[("ingress-class", "kourier.ingress.networking.knative.dev")]);
        let ingress = testing::ingress();
        assert_eq!(ingress_class(Some(&ingress), Some(&kourier)), ISTIO);
        assert_eq!(ingress_class(None, Some(&kourier)), "kourier.ingress.networking.knative.dev");
        assert_eq!(ingress_class(None, None), ISTIO);
    }

    #[test]
    fn gateway_pods_are_where_their_service_is() {
        let ingress = testing::ingress();
        for (through, namespaces) in [
            (Through::External, vec!["istio-system"]),
            (Through::Local, vec!["mesh-local"]),
            (Through::Both, vec!["istio-system", "mesh-local"]),
        ] {
            assert_eq!(gateway_namespaces(&ingress, through), namespaces);
            assert_eq!(Gateways::default().namespaces(through), ["istio-system"]);
        }
        assert_eq!(gateway_namespace("gw.edge"), Some("edge".to_owned()));
        assert_eq!(gateway_namespace("gw"), None);
        assert_eq!(gateway_namespace("gw.example.com"), None);
    }
}
