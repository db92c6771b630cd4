//! What is in the way of writing: objects of other owners, and mirrors of the same hosts.

use kube::core::ObjectMeta;

use super::{live, names, wasm_plugin};
use crate::intent::MirrorName;
use crate::kinds::WasmPlugin;
use crate::knative::{Plan, Refusal};

/// Checks that an object which is there already may be written over.
///
/// # Errors
/// One that this plugin did not write.
pub fn check_owner(kind: &str, metadata: &ObjectMeta) -> Result<(), Refusal> {
    if names::is_ours(metadata) {
        return Ok(());
    }
    let label = metadata.labels.as_ref().and_then(|labels| labels.get(names::MANAGED_BY));
    let last = metadata.managed_fields.iter().flatten().rev().find_map(|entry| entry.manager.as_ref());
    Err(Refusal::OtherOwner {
        kind: kind.to_owned(),
        namespace: metadata.namespace.clone().unwrap_or_default(),
        name: metadata.name.clone().unwrap_or_default(),
        manager: label.or(last).cloned().unwrap_or_else(|| "somebody else".to_owned()),
    })
}

/// Checks that another mirror has none of this mirror's hosts: a host's route can hold one.
///
/// # Errors
/// A host of both.
pub fn check_hosts(plan: &Plan, other: &MirrorName, hosts: &[String]) -> Result<(), Refusal> {
    let ours = plan.source.hosts(plan.intent.through);
    match ours.into_iter().find(|host| hosts.contains(host)) {
        Some(host) if *other != plan.name => {
            Err(Refusal::OtherMirror { route: plan.name.clone(), host, other: other.clone() })
        }
        _ => Ok(()),
    }
}

/// Checks the same of a mirror and those that share its WasmPlugin.
///
/// # Errors
/// A host of both.
pub fn check_shared(plugin: &WasmPlugin, name: &MirrorName) -> Result<(), Refusal> {
    let hosts =
        |name: &MirrorName| live::of_wasm_plugin(plugin, name).map(|spec| spec.mirror.hosts).unwrap_or_default();
    let ours = hosts(name);
    for other in wasm_plugin::mirrors(plugin).into_iter().filter(|other| other != name) {
        if let Some(host) = hosts(&other).into_iter().find(|host| ours.contains(host)) {
            return Err(Refusal::OtherMirror { route: name.clone(), host, other });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use kube::api::ObjectMeta;

    use super::*;
    use crate::intent::Strategy;
    use crate::istio::{Workload, overlay};
    use crate::knative::testing;

    #[test]
    fn only_what_this_plugin_wrote_is_written_over() {
        let plan = testing::plan("tagged", testing::intent("next", Strategy::Overlay));
        let workload = Workload { namespace: "istio-system".into(), labels: [("istio".into(), "gw".into())].into() };
        let ours = overlay(&plan, &workload).metadata;
        assert_eq!(check_owner("EnvoyFilter", &ours), Ok(()));
        let helm = [(names::MANAGED_BY.to_owned(), "Helm".to_owned())].into();
        let by_helm = ObjectMeta { labels: Some(helm), ..ours.clone() };
        let by_nobody = ObjectMeta { labels: None, ..ours };
        let refused = |metadata| check_owner("EnvoyFilter", metadata).expect_err("another's").to_string();
        assert_eq!(
            refused(&by_helm),
            "EnvoyFilter istio-system/mirror.store.cart.gw is in the way: it is managed by Helm, not by kubectl-mirror; \
             rename or delete it"
        );
        assert!(refused(&by_nobody).contains("managed by somebody else"));
    }

    #[test]
    fn a_host_has_one_mirror() {
        let plan = testing::plan("tagged", testing::intent("next", Strategy::Overlay));
        let other = MirrorName::new("store", "basket");
        let host = ["cart.store.example.com".to_owned()];
        assert_eq!(check_hosts(&plan, &plan.name, &host), Ok(()), "the mirror itself");
        assert_eq!(check_hosts(&plan, &other, &["cart.store".to_owned()]), Ok(()), "a host that is not mirrored");
        assert_eq!(
            check_hosts(&plan, &other, &host).expect_err("a host of both").to_string(),
            "host cart.store.example.com of store/cart is mirrored already, by mirror store/basket: disable that first, \
             `kubectl mirror disable basket -n store`"
        );
    }
}
