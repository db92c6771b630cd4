//! Whether an object in the cluster is what would be written now, and if not, why.

use std::borrow::Cow;

use kube::core::ObjectMeta;
use mirror_core::config::Mirror;

use super::{carried, names};
use crate::kinds::{EnvoyFilter, VirtualService};
use crate::knative::Plan;

/// Why a mirror's EnvoyFilter is not what would be written now, in words; nothing where it is. `fresh` is
/// [`overlay`](super::overlay()) of the plan that the live object's intent comes to today.
pub fn overlay(live: &EnvoyFilter, fresh: &EnvoyFilter, plan: &Plan) -> Vec<String> {
    let mut reasons = Vec::from_iter(version(&live.metadata));
    reasons.extend(mirror(carried::of_overlay(live), plan));
    let same = live.spec == fresh.spec && services(&live.metadata) == services(&fresh.metadata);
    finish(reasons, same)
}

/// The same of a mirror's VirtualService. `fresh` is [`virtual_service`](super::virtual_service()) of the plan that the
/// live object's intent comes to today.
pub fn virtual_service(live: &VirtualService, fresh: &VirtualService, plan: &Plan) -> Vec<String> {
    let mut reasons = Vec::from_iter(version(&live.metadata));
    reasons.extend(mirror(carried::of_virtual_service(live), plan));
    let splits = |object: &VirtualService| object.spec.http.first().map(|http| http.route.clone());
    if splits(live) != splits(fresh) {
        reasons.push("the Route's split has changed since".to_owned());
    }
    if live.spec.gateways != fresh.spec.gateways || live.spec.export_to != fresh.spec.export_to {
        reasons.push("the Route's gateways have changed since".to_owned());
    }
    finish(reasons, live.spec == fresh.spec)
}

/// The plugin's version, where it was another.
fn version(live: &ObjectMeta) -> Option<String> {
    let version = live.annotations.as_ref().and_then(|annotations| annotations.get(names::VERSION));
    match version {
        Some(version) if version == names::PLUGIN_VERSION => None,
        Some(version) => Some(format!("written by version {version}, this is {}", names::PLUGIN_VERSION)),
        None => Some("it does not say which version wrote it".to_owned()),
    }
}

fn services(metadata: &ObjectMeta) -> Option<&String> {
    metadata.annotations.as_ref()?.get(names::REFERENCED_SERVICES)
}

/// How a mirror's configuration differs from what it would be now.
fn mirror(live: Option<Mirror>, plan: &Plan) -> Vec<String> {
    let Some(live) = live else { return Vec::new() };
    let fresh = plan.spec().mirror;
    let mut reasons = Vec::new();
    if live.candidate != fresh.candidate {
        let to = &plan.intent.to;
        let was = live.candidate.knative.map_or(live.candidate.cluster, |knative| knative.revision);
        reasons.push(if was == plan.candidate.revision {
            format!("{to} is reached at {} now, it was at another", plan.candidate.host)
        } else {
            format!("{to} now points to {}, it was {was}", plan.candidate.revision)
        });
    }
    if live.secondary != fresh.secondary {
        let is: Cow<'_, str> = plan.secondary.as_ref().map_or("none".into(), |target| (&target.revision).into());
        reasons.push(format!("the secondary is {is} now"));
    }
    if live.hosts != fresh.hosts {
        reasons.push("the Route's hosts have changed since".to_owned());
    }
    reasons
}

fn finish(mut reasons: Vec<String>, same: bool) -> Vec<String> {
    if reasons.is_empty() && !same {
        reasons.push("it was changed by hand since it was written".to_owned());
    }
    reasons
}
