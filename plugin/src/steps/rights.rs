//! Which rights a command needs, asked for before it changes anything.

use anyhow::{Result, bail};

use crate::cluster::{Cluster, Right, rights};
use crate::source::Way;

/// To write this program's objects of one kind in a namespace.
pub fn to_write(resource: &str, namespace: &str) -> Vec<Right> {
    ["get", "create", "patch"].map(|verb| Right::new(verb, resource, namespace)).into()
}

/// To remove them.
pub fn to_remove(resource: &str, namespace: &str) -> Vec<Right> {
    ["list", "delete"].map(|verb| Right::new(verb, resource, namespace)).into()
}

/// To look into gateways' pods: which there are, and what each Envoy says.
pub fn to_look(namespace: &str) -> Vec<Right> {
    vec![Right::new("list", "pods", namespace), Right::new("get", "pods/portforward", namespace)]
}

/// EnvoyFilters.
pub const ENVOY_FILTERS: &str = "envoyfilters.networking.istio.io";
/// VirtualServices.
pub const VIRTUAL_SERVICES: &str = "virtualservices.networking.istio.io";
/// WasmPlugins.
pub const WASM_PLUGINS: &str = "wasmplugins.extensions.istio.io";
/// Knative Services.
pub const SERVICES: &str = "services.serving.knative.dev";

/// The kind of the object that installs the module in this way.
pub const fn installed_by(way: Way) -> &'static str {
    match way {
        Way::Observing => ENVOY_FILTERS,
        Way::Sending => WASM_PLUGINS,
    }
}

/// Checks that the user has all of these.
///
/// # Errors
/// Those that are missing, all at once.
pub async fn need(cluster: &Cluster, wanted: &[Right]) -> Result<()> {
    let missing = cluster.missing_rights(wanted).await?;
    if !missing.is_empty() {
        bail!("{}", rights::report(&missing));
    }
    Ok(())
}
