//! The VirtualService of a mirror with strategy `virtualservice`: it stands before Knative's for the requests that may be
//! copied, and routes them as Knative does. All else (other methods, probes, tags' hosts) falls through to Knative's.
//!
//! It copies the Route's split, so it has to follow the Route: see `stale.rs`.

use mirror_core::config::ConfigError;
use serde_json::json;

use super::names;
use crate::envoy::{HeaderMatch, MirrorSpec, PathMatch, ValueMatch, carried};
use crate::intent::Through;
use crate::kinds::{
    Headers, HttpMatch, HttpMirror, HttpRoute, Percent, StringMatch, VirtualService, VirtualServiceSpec,
};
use crate::knative::{Entrance, Plan, Refusal, Target};

/// Requests with one of these are left to Knative: its probes, and those that name a tag.
const LEFT_ALONE: [&str; 3] = ["K-Network-Hash", "K-Network-Probe", "Knative-Serving-Tag"];

/// The VirtualService of a mirror. Only the namespaces of the gateways' pods see it: that is what puts it before
/// Knative's.
///
/// # Errors
/// No namespace, and rules that are too long for a header.
pub fn virtual_service(plan: &Plan, gateway_namespaces: &[String]) -> Result<VirtualService, Refusal> {
    if gateway_namespaces.is_empty() {
        return Err(Refusal::NoGatewayNamespace { route: plan.name.clone() });
    }
    let spec = plan.spec();
    let through = plan.intent.through;
    let headers = headers(plan, &spec)?;
    let http = plan.source.entrances(through).into_iter().map(|entrance| route(plan, &spec, entrance, &headers));
    let spec = VirtualServiceSpec {
        export_to: gateway_namespaces.to_vec(),
        gateways: plan.source.gateways(through),
        hosts: plan.source.hosts(through),
        http: http.collect(),
    };
    let metadata = names::of_mirror(plan, &plan.name.namespace, names::virtual_service(&plan.name));
    Ok(VirtualService { metadata, spec })
}

/// The route of the calls that come in by one entrance.
fn route(plan: &Plan, spec: &MirrorSpec, entrance: &Entrance, headers: &Headers) -> HttpRoute {
    let targets = [Some(&plan.candidate), plan.secondary.as_ref()];
    let percentage = Some(Percent { value: f64::from(plan.intent.millionths) / 10_000.0 });
    let mirror = |target: &Target| HttpMirror { destination: target.destination(), percentage };
    HttpRoute {
        name: Some(carried::route_name(&spec.mirror)),
        r#match: matches(plan, spec, entrance),
        headers: Some(headers.clone()),
        route: plan.source.splits.iter().map(|split| split.destination()).collect(),
        mirrors: targets.into_iter().flatten().map(mirror).collect(),
        // As Knative has it: Istio's default would retry.
        retries: Some(json!({})),
    }
}

/// One for each method and path.
fn matches(plan: &Plan, spec: &MirrorSpec, entrance: &Entrance) -> Vec<HttpMatch> {
    // With hosts of both entrances in one object, each is let in by its own gateways only, matched as Knative does it.
    let authority = match plan.intent.through {
        Through::Both => entrance.hosts.first().map(StringMatch::prefix),
        Through::External | Through::Local => None,
    };
    let all = HttpMatch {
        authority,
        headers: spec.selection.headers.iter().map(header_match).collect(),
        without_headers: LEFT_ALONE.map(|name| (name.to_owned(), StringMatch::default())).into(),
        gateways: entrance.gateways.clone(),
        ..HttpMatch::default()
    };
    let paths = spec.selection.paths.iter().map(|path| Some(path_match(path)));
    let paths: Vec<_> = if paths.len() == 0 { vec![None] } else { paths.collect() };
    let methods = &spec.mirror.methods;
    let one = |method: &String, uri: &Option<StringMatch>| HttpMatch {
        method: Some(StringMatch::exact(method)),
        uri: uri.clone(),
        ..all.clone()
    };
    methods.iter().flat_map(|method| paths.iter().map(move |uri| (method, uri))).map(|(m, u)| one(m, u)).collect()
}

fn header_match(header: &HeaderMatch) -> (String, StringMatch) {
    let value = match &header.value {
        ValueMatch::Exact(text) => StringMatch::exact(text),
        ValueMatch::Prefix(text) if !text.is_empty() => StringMatch::prefix(text),
        ValueMatch::Present | ValueMatch::Prefix(_) => StringMatch::default(),
    };
    (header.name.clone(), value)
}

fn path_match(path: &PathMatch) -> StringMatch {
    match path {
        PathMatch::Exact(text) => StringMatch::exact(text),
        PathMatch::Prefix(text) => StringMatch::prefix(text),
    }
}

/// What Knative changes, and over it the marks of requests that may be copied: the mirror's name and configuration,
/// whatever a client sent.
fn headers(plan: &Plan, spec: &MirrorSpec) -> Result<Headers, Refusal> {
    // All else that can be refused was refused when the plan was made.
    let refuse = |error: ConfigError| Refusal::Value { option: error.path, reason: error.reason };
    let set = carried::headers_to_set(&spec.mirror).map_err(refuse)?;
    let mut headers = plan.source.headers.clone().unwrap_or_default();
    let request = headers.request.get_or_insert_default();
    request.set.extend(set.into_iter().map(|(name, value)| (name.to_owned(), value)));
    request.remove.extend(carried::headers_to_remove().map(str::to_owned));
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intent::{Intent, Strategy};
    use crate::istio::{live, yaml};
    use crate::kinds::HeaderOperations;
    use crate::knative::testing;

    fn made(shape: &str, intent: Intent) -> VirtualService {
        let plan = testing::plan(shape, intent);
        let made = virtual_service(&plan, &["istio-system".to_owned()]).expect("short rules");
        assert_eq!(live::of_virtual_service(&made), Some(plan.spec().mirror), "it is read back");
        made
    }

    fn shown(made: &VirtualService) -> String {
        let text = yaml::to_yaml(&[made]).expect("YAML");
        assert_eq!(&testing::object::<VirtualService>(&text), made, "kubectl reads what is meant");
        testing::without_version(&text)
    }

    fn intent(to: &str) -> Intent {
        testing::intent(to, Strategy::VirtualService)
    }

    #[test]
    fn of_a_tagged_revision() {
        insta::assert_snapshot!(shown(&made("tagged", intent("next"))));
    }

    #[test]
    fn of_a_split_with_a_secondary() {
        let wish = Intent { secondary: true, millionths: 1_234, methods: vec!["GET".into()], ..intent("canary") };
        insta::assert_snapshot!(shown(&made("split", wish)));
    }

    #[test]
    fn of_a_cluster_local_route() {
        let wish = Intent { through: Through::Local, methods: vec!["GET".into()], ..intent("v2") };
        insta::assert_snapshot!(shown(&made("local", wish)));
    }

    #[test]
    fn of_several_gateways_and_both_entrances() {
        let wish = Intent { through: Through::Both, ..intent("v2") };
        insta::assert_snapshot!(shown(&made("gateways", wish)));
    }

    #[test]
    fn wishes_for_headers_and_paths_are_matches_of_every_method() {
        let wish = Intent {
            headers: vec!["x-beta".into(), "x-plan=gold".into(), "accept=text/*".into(), "x-any=*".into()],
            paths: vec!["/v1/*".into(), "/health".into()],
            methods: vec!["GET".into(), "HEAD".into()],
            ..intent("next")
        };
        let made = made("tagged", wish);
        let matches = &made.spec.http[0].r#match;
        let of = |m: &HttpMatch| [&m.method, &m.uri].map(|text| text.clone().and_then(|t| t.text().map(str::to_owned)));
        let expected = [("GET", "/v1/"), ("GET", "/health"), ("HEAD", "/v1/"), ("HEAD", "/health")];
        assert_eq!(matches.iter().map(of).collect::<Vec<_>>(), expected.map(|(m, u)| [Some(m.into()), Some(u.into())]));
        insta::assert_json_snapshot!(matches[0]);
    }

    #[test]
    fn headers_that_knative_sets_are_set_too() {
        let mut plan = testing::plan("tagged", intent("next"));
        let set = [("Knative-Serving-Default-Route".to_owned(), "true".to_owned())].into();
        let request = Some(HeaderOperations { set, ..HeaderOperations::default() });
        plan.source.headers = Some(Headers { request, response: None });
        let made = virtual_service(&plan, &["istio-system".to_owned()]).expect("short rules");
        let request = made.spec.http[0].headers.as_ref().and_then(|headers| headers.request.as_ref());
        let names: Vec<_> = request.expect("headers").set.keys().map(String::as_str).collect();
        assert_eq!(names, ["Knative-Serving-Default-Route", "x-mirror", "x-mirror-config"]);
    }

    #[test]
    fn what_cannot_be_written_is_refused() {
        let plan = testing::plan("tagged", intent("next"));
        let error = virtual_service(&plan, &[]).expect_err("no namespace").to_string();
        assert!(error.contains("namespace of the gateways that serve store/cart is not known"), "{error}");
        let rules = format!("ignore: [\"/{}\"]", "a".repeat(carried::MOST_BYTES));
        let rules = crate::rules::parse("rules.yaml", &rules).expect("good rules");
        let plan = testing::plan("tagged", Intent { rules, ..intent("next") });
        let error = virtual_service(&plan, &["istio-system".to_owned()]).expect_err("long rules").to_string();
        assert!(error.starts_with("--rules: ") && error.contains("strategy overlay"), "{error}");
    }
}
