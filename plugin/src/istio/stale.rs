//! Whether an object in the cluster is what would be written now, and if not, why.

use kube::core::ObjectMeta;
use mirror_core::config::Mirror;

use super::{live, names, wasm_plugin};
use crate::kinds::{EnvoyFilter, VirtualService, WasmPlugin};
use crate::knative::{Plan, Target};

/// Why a mirror's EnvoyFilter is not what would be written now, in words; nothing where it is. `fresh` is
/// [`overlay`](super::overlay()) of the plan that the live object's intent comes to today.
pub fn overlay(live: &EnvoyFilter, fresh: &EnvoyFilter, plan: &Plan) -> Vec<String> {
    let mut reasons = Vec::from_iter(version(written_by(&live.metadata)));
    reasons.extend(mirror(live::of_overlay(live), plan));
    let same = live.spec == fresh.spec && services(&live.metadata) == services(&fresh.metadata);
    finish(reasons, same)
}

/// The same of a mirror's VirtualService. `fresh` is [`virtual_service`](super::virtual_service()) of the plan that the
/// live object's intent comes to today.
pub fn virtual_service(live: &VirtualService, fresh: &VirtualService, plan: &Plan) -> Vec<String> {
    let mut reasons = Vec::from_iter(version(written_by(&live.metadata)));
    reasons.extend(mirror(live::of_virtual_service(live), plan));
    let split = |object: &VirtualService| object.spec.http.first().map(|http| http.route.clone());
    if split(live) != split(fresh) {
        reasons.push("the Route's split has changed since".to_owned());
    }
    if live.spec.gateways != fresh.spec.gateways || live.spec.export_to != fresh.spec.export_to {
        reasons.push("the Route's gateways have changed since".to_owned());
    }
    finish(reasons, live.spec == fresh.spec)
}

/// The same of a mirror that a WasmPlugin holds.
pub fn wasm_plugin(live: &WasmPlugin, plan: &Plan) -> Vec<String> {
    let kept = wasm_plugin::kept(live).remove(&plan.name);
    let mut reasons = Vec::from_iter(version(kept.and_then(|kept| kept.version).as_ref()));
    let told = live::of_wasm_plugin(live, &plan.name);
    reasons.extend(mirror(told.clone().map(|spec| spec.mirror), plan));
    finish(reasons, told == Some(plan.spec()))
}

fn written_by(live: &ObjectMeta) -> Option<&String> {
    live.annotations.as_ref().and_then(|annotations| annotations.get(names::VERSION))
}

/// The plugin's version, where it was another.
fn version(version: Option<&String>) -> Option<String> {
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
        let was = live.candidate.knative.map_or(live.candidate.cluster, |knative| knative.revision);
        let Target { revision, host, port, .. } = &plan.candidate;
        reasons.push(match was == *revision {
            true => format!("revision {revision} is now at {host}:{port}"),
            false => format!("{} now points to {revision}, it was {was}", plan.intent.to),
        });
    }
    if live.secondary != fresh.secondary {
        reasons.push(match &plan.secondary {
            Some(secondary) => format!("the primary with the greatest share is now {}", secondary.revision),
            None => "there is no secondary now".to_owned(),
        });
    }
    if live.hosts != fresh.hosts {
        reasons.push("the Route's hosts have changed since".to_owned());
    }
    reasons
}

fn finish(mut reasons: Vec<String>, same: bool) -> Vec<String> {
    if reasons.is_empty() && !same {
        reasons.push("it is not what would be written now".to_owned());
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intent::{Intent, Strategy};
    use crate::istio::Workload;
    use crate::knative::testing;

    fn workload() -> Workload {
        Workload { namespace: "istio-system".into(), labels: [("istio".into(), "ingressgateway".into())].into() }
    }

    /// What has changed since a mirror was written: the reasons with each strategy.
    fn reasons(change: impl Fn(&mut Plan)) -> [Vec<String>; 3] {
        let plan = |strategy| {
            let intent = Intent { secondary: true, ..testing::intent("canary", strategy) };
            let was = testing::plan("split", intent);
            let mut is = was.clone();
            change(&mut is);
            (was, is)
        };
        let (was, is) = plan(Strategy::Overlay);
        let make = |plan| crate::istio::overlay(plan, &workload());
        let overlay = overlay(&make(&was), &make(&is), &is);
        let (was, is) = plan(Strategy::VirtualService);
        let make = |plan| crate::istio::virtual_service(plan, &["istio-system".to_owned()]).expect("short rules");
        let virtual_service = virtual_service(&make(&was), &make(&is), &is);
        let (was, is) = plan(Strategy::WasmPlugin);
        let made = crate::istio::wasm_plugin::with_mirror(&WasmPlugin::new("any", Default::default()), &was, None);
        [overlay, virtual_service, wasm_plugin(&made, &is)]
    }

    #[test]
    fn what_has_not_changed_is_not_stale() {
        assert_eq!(reasons(|_| ()), [Vec::<String>::new(), Vec::new(), Vec::new()]);
    }

    #[test]
    fn each_change_is_told() {
        type Change<'a> = &'a dyn Fn(&mut Plan);
        let split = "the Route's split has changed since";
        let cases: [(Change<'_>, &[&str], &[&str]); 6] = [
            (&|plan| plan.source.splits[0].weight = 70, &[], &[split]),
            (
                &|plan| {
                    plan.candidate.revision = "pay-red".into();
                    plan.candidate.host = "pay-red.store.svc.cluster.local".into();
                },
                &["canary now points to pay-red, it was pay-green"],
                &["canary now points to pay-red, it was pay-green"],
            ),
            (
                &|plan| plan.candidate.port = 80,
                &["revision pay-green is now at pay-green.store.svc.cluster.local:80"],
                &["revision pay-green is now at pay-green.store.svc.cluster.local:80"],
            ),
            (&|plan| plan.secondary = None, &["there is no secondary now"], &["there is no secondary now"]),
            (
                &|plan| plan.source.external.hosts = vec!["pay.example.com".into()],
                &["the Route's hosts have changed since"],
                &["the Route's hosts have changed since"],
            ),
            (
                &|plan| plan.source.external.gateways.push("edge/public".into()),
                &[],
                &["the Route's gateways have changed since"],
            ),
        ];
        for (change, overlay, virtual_service) in cases {
            // What the module is told follows the split as an overlay does.
            assert_eq!(reasons(change), [overlay, virtual_service, overlay]);
        }
    }

    #[test]
    fn another_version_and_changes_by_hand_are_told() {
        let plan = testing::plan("tagged", testing::intent("next", Strategy::Overlay));
        let fresh = crate::istio::overlay(&plan, &workload());
        let mut live = fresh.clone();
        let annotations = live.metadata.annotations.as_mut().expect("annotations");
        annotations.insert(names::VERSION.to_owned(), "0.0.9".to_owned());
        let written = format!("written by version 0.0.9, this is {}", names::PLUGIN_VERSION);
        assert_eq!(overlay(&live, &fresh, &plan), [written]);
        let mut live = fresh.clone();
        live.spec.config_patches.clear();
        assert_eq!(overlay(&live, &fresh, &plan), ["it is not what would be written now"]);
    }
}
