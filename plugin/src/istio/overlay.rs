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
