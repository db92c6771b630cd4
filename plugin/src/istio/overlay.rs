//! The EnvoyFilter of a mirror with strategy `overlay`: selector, mirror policies and configuration, merged into the live
//! route. Knative's own objects stay as they are, so splits and rollouts go on by themselves.

use serde_json::{Value, json};

use super::install::patch;
use super::{Workload, names};
use crate::envoy::{metadata, policy, selector};
use crate::intent::Through;
use crate::kinds::{EnvoyFilter, EnvoyFilterSpec};
use crate::knative::Plan;

/// The EnvoyFilter of a mirror for the pods of `workload`.
pub fn overlay(plan: &Plan, workload: &Workload) -> EnvoyFilter {
    let spec = plan.spec();
    let value = json!({
        "metadata": metadata::metadata(&spec),
        "route": { "request_mirror_policies": policy::policies(&spec) },
        "typed_per_filter_config": selector::per_route(&spec),
    });
    let mut metadata = names::of_mirror(plan, &workload.namespace, names::overlay(&plan.name, workload));
    let annotations = metadata.annotations.get_or_insert_default();
    annotations.insert(names::REFERENCED_SERVICES.to_owned(), plan.referenced_services());
    let spec = EnvoyFilterSpec {
        workload_selector: Some(workload.selector()),
        config_patches: vec![patch("HTTP_ROUTE", at_routes(plan), "MERGE", value)],
    };
    EnvoyFilter { metadata, spec }
}

/// The routes of the Route's hosts.
///
/// All hosts of a Knative Route, also the local names and those of tags, share one virtual host on each port of a
/// gateway. A patch by one of them therefore hits the virtual host once; a second patch, by another host, would copy
/// each request twice. Listeners for TLS serve the external host alone, and a cluster-local Route has no such host. Which
/// of the virtual host's hosts are mirrored is decided by the selector.
fn at_routes(plan: &Plan) -> Value {
    json!({
        "context": "GATEWAY",
        "routeConfiguration": { "vhost": {
            "domainName": domain(plan),
            // Not those that redirect to TLS.
            "route": { "action": "ROUTE" },
        } },
    })
}

/// The host by which the virtual host is found.
fn domain(plan: &Plan) -> String {
    let external = match plan.intent.through {
        Through::External | Through::Both => plan.source.external.hosts.first(),
        Through::Local => None,
    };
    external.cloned().unwrap_or_else(|| plan.source.fqdn())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intent::{Intent, Strategy};
    use crate::istio::{live, yaml};
    use crate::knative::testing;

    fn made(shape: &str, intent: Intent) -> EnvoyFilter {
        let plan = testing::plan(shape, intent);
        let labels = [("istio".to_owned(), "ingressgateway".to_owned())].into();
        let made = overlay(&plan, &Workload { namespace: "istio-system".to_owned(), labels });
        assert_eq!(live::of_overlay(&made), Some(plan.spec().mirror), "it is read back");
        made
    }

    fn shown(made: &EnvoyFilter) -> String {
        let text = yaml::to_yaml(&[made]).expect("YAML");
        assert_eq!(&testing::object::<EnvoyFilter>(&text), made, "kubectl reads what is meant");
        testing::without_version(&text)
    }

    fn intent(to: &str) -> Intent {
        testing::intent(to, Strategy::Overlay)
    }

    #[test]
    fn of_a_tagged_revision() {
        insta::assert_snapshot!(shown(&made("tagged", intent("next"))));
    }

    #[test]
    fn of_a_split_with_a_secondary() {
        insta::assert_snapshot!(shown(&made("split", Intent { secondary: true, ..intent("canary") })));
    }

    #[test]
    fn each_virtual_host_is_hit_once() {
        for (shape, to, through, domain) in [
            ("tagged", "next", Through::External, "cart.store.example.com"),
            ("tagged", "next", Through::Local, "cart.store.svc.cluster.local"),
            ("tagged", "next", Through::Both, "cart.store.example.com"),
            ("gateways", "v2", Through::Both, "web.store.example.com"),
            ("local", "v2", Through::Local, "stock.store.svc.cluster.local"),
            ("local", "v2", Through::Both, "stock.store.svc.cluster.local"),
        ] {
            let made = made(shape, Intent { through, ..intent(to) });
            assert_eq!(made.spec.config_patches.len(), 1, "two patches of one virtual host copy twice");
            let vhost = &made.spec.config_patches[0].r#match["routeConfiguration"]["vhost"];
            assert_eq!(vhost["domainName"], domain, "{shape} {through:?}");
        }
    }

    #[test]
    fn the_hosts_that_are_mirrored_are_in_the_script() {
        for (through, external, local) in
            [(Through::External, true, false), (Through::Local, false, true), (Through::Both, true, true)]
        {
            let text = shown(&made("tagged", Intent { through, ..intent("next") }));
            let has = |host: &str| text.contains(&format!(r#"["{host}"] = true"#));
            assert_eq!(has("cart.store.example.com"), external);
            for host in ["cart.store", "cart.store.svc", "cart.store.svc.cluster.local"] {
                assert_eq!(has(host), local, "{host}");
            }
            assert!(!has("next-cart.store.example.com"), "no host of a tag");
        }
    }
}
