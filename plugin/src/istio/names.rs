//! Names, labels and annotations of all objects that are written: by them they are found again.

use std::collections::BTreeMap;

use kube::core::ObjectMeta;

use super::Workload;
use crate::envoy::NAME;
use crate::intent::{self, MirrorName};
use crate::knative::Plan;

/// Where Istio's control plane is, mostly.
pub const ISTIO_NAMESPACE: &str = "istio-system";
/// The label that says who manages an object.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Its value on all objects of this plugin.
pub const MANAGER: &str = NAME;
/// The label with the namespace of the mirrored Route.
pub const NAMESPACE: &str = "kubectl-mirror/namespace";
/// The label with the name of the mirrored Route.
pub const ROUTE: &str = "kubectl-mirror/route";
/// The label of the objects that put the module into gateways; its value is `true`.
pub const INSTALL: &str = "kubectl-mirror/install";

/// The annotation with the version of the plugin that wrote an object.
pub const VERSION: &str = "kubectl-mirror/version";
/// The annotation with the fingerprint of the module that an object carries.
pub const MODULE: &str = "kubectl-mirror/module";
/// The annotation that says which command installed the module, see [`InstalledBy`](super::InstalledBy).
pub const INSTALLED_BY: &str = "kubectl-mirror/installed-by";
/// The annotation of a WasmPlugin with what was asked for of each of its mirrors, as JSON by name.
pub const MIRRORS: &str = "kubectl-mirror/mirrors";
/// Istio's annotation with the services that a patch refers to, so that their clusters are kept.
pub const REFERENCED_SERVICES: &str = "envoyfilter.istio.io/referenced-services";

/// This plugin's version.
pub const PLUGIN_VERSION: &str = env!("CARGO_PKG_VERSION");

/// The label selector of all objects of this plugin.
pub fn all_objects() -> String {
    format!("{MANAGED_BY}={MANAGER}")
}

/// The label selector of all mirrors' objects.
pub fn all_mirrors() -> String {
    format!("{MANAGED_BY}={MANAGER},{ROUTE}")
}

/// The label selector of the objects of all mirrors of a namespace's Routes.
pub fn mirrors_of(namespace: &str) -> String {
    format!("{MANAGED_BY}={MANAGER},{NAMESPACE}={namespace},{ROUTE}")
}

/// The label selector of the objects that put the module into gateways.
pub fn all_installs() -> String {
    format!("{MANAGED_BY}={MANAGER},{INSTALL}=true")
}

/// The label selector of one mirror's objects.
pub fn objects_of(mirror: &MirrorName) -> String {
    format!("{MANAGED_BY}={MANAGER},{NAMESPACE}={},{ROUTE}={}", mirror.namespace, mirror.route)
}

/// The mirror that an object is of, by its labels; `None` for any other object.
pub fn mirror_of(metadata: &ObjectMeta) -> Option<MirrorName> {
    if !is_ours(metadata) {
        return None;
    }
    let label = |name: &str| metadata.labels.as_ref()?.get(name);
    Some(MirrorName::new(label(NAMESPACE)?, label(ROUTE)?))
}

/// Whether this plugin manages an object, by its labels.
pub fn is_ours(metadata: &ObjectMeta) -> bool {
    metadata.labels.as_ref().and_then(|labels| labels.get(MANAGED_BY)).is_some_and(|manager| manager == MANAGER)
}

/// The name of the object that puts the module into the pods of a workload, of either kind.
pub fn install(workload: &Workload) -> String {
    format!("{NAME}-{}", workload.suffix())
}

/// The name of a mirror's EnvoyFilter for a workload. No two mirrors share one: a namespace's name has no dot.
pub fn overlay(mirror: &MirrorName, workload: &Workload) -> String {
    format!("mirror.{}.{}.{}", mirror.namespace, mirror.route, workload.suffix())
}

/// The name of a mirror's VirtualService, in the Route's namespace.
pub fn virtual_service(mirror: &MirrorName) -> String {
    format!("{}-mirror", mirror.route)
}

/// The metadata of an object of a mirror.
pub(super) fn of_mirror(plan: &Plan, namespace: &str, name: String) -> ObjectMeta {
    let annotations = [(VERSION, PLUGIN_VERSION.to_owned()), (intent::ANNOTATION, plan.intent.to_annotation())];
    let labels = [(MANAGED_BY, MANAGER), (NAMESPACE, &plan.name.namespace), (ROUTE, &plan.name.route)];
    metadata(namespace, name, &labels, annotations)
}

/// The metadata of an object.
pub(super) fn metadata<const N: usize>(
    namespace: &str,
    name: String,
    labels: &[(&str, &str)],
    annotations: [(&str, String); N],
) -> ObjectMeta {
    let labels: BTreeMap<_, _> = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let annotations = annotations.map(|(key, value)| (key.to_owned(), value));
    ObjectMeta {
        name: Some(name),
        namespace: Some(namespace.to_owned()),
        labels: Some(labels),
        annotations: Some(annotations.into()),
        ..ObjectMeta::default()
    }
}
