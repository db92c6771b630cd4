//! The mirror policies: for each target, copy the request to the cluster that the selector named, tagged.

use mirror_core::config::Target;
use serde_json::{Value, json};

use super::{MirrorSpec, mark};

/// The route's `request_mirror_policies`: the candidate's and, where there is one, the secondary's. Without the
/// selector's mark a policy copies nothing.
pub fn policies(spec: &MirrorSpec) -> Vec<Value> {
    let mirror = &spec.mirror;
    let candidate = spec.selection.candidate_header();
    let mut policies = vec![policy(spec, &candidate, "shadow", &mirror.candidate, spec.candidate_host.as_deref())];
    if let Some(secondary) = &mirror.secondary {
        let header = spec.selection.secondary_header();
        policies.push(policy(spec, &header, "secondary", secondary, spec.secondary_host.as_deref()));
    }
    policies
}

fn policy(spec: &MirrorSpec, cluster_header: &str, role: &str, target: &Target, host: Option<&str>) -> Value {
    let mut mutations = vec![set(mark::ROLE, role)];
    if let Some(knative) = &target.knative {
        // The copy carries the primary's, by which Knative's activator would serve it from the primary.
        mutations.push(set("Knative-Serving-Revision", &knative.revision));
        mutations.push(set("Knative-Serving-Namespace", &knative.namespace));
    }
    mutations.push(json!({ "remove": spec.selection.candidate_header() }));
    if spec.mirror.secondary.is_some() {
        mutations.push(json!({ "remove": spec.selection.secondary_header() }));
    }
    let mut policy = json!({
        "cluster_header": cluster_header,
        "disable_shadow_host_suffix_append": true,
        "request_headers_mutations": mutations,
    });
    if let Some(host) = host {
        policy["host_rewrite_literal"] = json!(host);
    }
    policy
}

/// Sets a header, whatever it was. Envoy substitutes `%…%` in values; `%%` stands for `%`.
fn set(key: &str, value: &str) -> Value {
    json!({
        "append": {
            "header": { "key": key, "value": value.replace('%', "%%") },
            "append_action": "OVERWRITE_IF_EXISTS_OR_ADD",
        },
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    #[test]
    fn policies_of_a_full_mirror() {
        let spec = MirrorSpec { candidate_host: Some("v2.example.com".into()), ..fixture::full() };
        insta::assert_json_snapshot!(policies(&spec));
    }

    #[test]
    fn policies_of_the_smallest_mirror() {
        insta::assert_json_snapshot!(policies(&fixture::smallest()));
    }

    #[test]
    fn values_are_not_taken_for_substitutions() {
        assert_eq!(set("a", "100%PROTOCOL%")["append"]["header"]["value"], "100%%PROTOCOL%%");
    }
}
