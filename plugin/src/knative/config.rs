//! Knative's configuration for Istio: which gateways serve Routes, and where those gateways' pods are.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use serde::Deserialize;
use thiserror::Error;

use super::{INGRESS_CLASS, ISTIO};
use crate::kinds::{Ingress, LoadBalancer};

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

/// The namespaces of the gateway pods that serve an Ingress, sorted: those of calls from outside and, where they are
/// others, those of calls from inside.
pub fn gateway_namespaces(ingress: &Ingress) -> Vec<String> {
    let status = ingress.status.as_ref();
    let balancers = status.into_iter().flat_map(|s| [&s.public_load_balancer, &s.private_load_balancer]).flatten();
    let services =
        balancers.flat_map(|LoadBalancer { ingress }| ingress).filter_map(|to| to.domain_internal.as_deref());
    let mut namespaces: Vec<_> = services.filter_map(gateway_namespace).collect();
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
