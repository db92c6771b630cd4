//! Objects for tests, read from `testdata/`: each shape that a Route can have.

use kube::core::ObjectMeta;
use serde::de::DeserializeOwned;

use super::target::Known;
use super::{Gateways, Plan, Source, target};
use crate::intent::{Intent, Strategy, Through};
use crate::istio::names;
use crate::kinds::{Ingress, Revision, Route, Service, ServiceSpec, TrafficTarget, VirtualService};

/// Reads the text of an object.
pub fn object<T: DeserializeOwned>(text: &str) -> T {
    serde_saphyr::from_str(text).expect("a good object")
}

/// A Route and Knative's VirtualService for it.
pub fn live(shape: &str) -> (Route, VirtualService) {
    let (route, virtual_service) = match shape {
        "tagged" => (include_str!("testdata/tagged.route.yaml"), include_str!("testdata/tagged.virtualservice.yaml")),
        "split" => (include_str!("testdata/split.route.yaml"), include_str!("testdata/split.virtualservice.yaml")),
        "local" => (include_str!("testdata/local.route.yaml"), include_str!("testdata/local.virtualservice.yaml")),
        "gateways" => {
            (include_str!("testdata/gateways.route.yaml"), include_str!("testdata/gateways.virtualservice.yaml"))
        }
        other => panic!("no shape {other}"),
    };
    (object(route), object(virtual_service))
}

/// A Route that follows the latest revision and is not ready.
pub fn latest() -> Route {
    object(include_str!("testdata/latest.route.yaml"))
}

/// The Route of a shape as it is live.
pub fn source(shape: &str) -> Source {
    let (route, virtual_service) = live(shape);
    Source::live(&route, &virtual_service).expect("a good Route")
}

/// The same without a cluster.
pub fn offline(shape: &str) -> Source {
    Source::offline(&live(shape).0, &Gateways::default()).expect("a good Route")
}

/// The Ingress of the Route `tagged`.
pub fn ingress() -> Ingress {
    object(include_str!("testdata/ingress.yaml"))
}

/// The revisions of the namespace.
pub fn revisions() -> Vec<Revision> {
    serde_saphyr::from_multiple(include_str!("testdata/revisions.yaml")).expect("good revisions")
}

/// A Knative Service with this split: revision, percent, tag.
pub fn service(traffic: &[(&str, i64, Option<&str>)]) -> Service {
    let part = |(revision, percent, tag): &(&str, i64, Option<&str>)| TrafficTarget {
        revision_name: Some((*revision).to_owned()),
        percent: Some(*percent),
        tag: tag.map(str::to_owned),
        ..TrafficTarget::default()
    };
    let metadata = ObjectMeta {
        name: Some("cart".to_owned()),
        namespace: Some("store".to_owned()),
        resource_version: Some("71".to_owned()),
        ..ObjectMeta::default()
    };
    Service { metadata, spec: ServiceSpec { traffic: traffic.iter().map(part).collect() }, status: None }
}

/// A wish for five percent of the calls from outside.
pub fn intent(to: &str, strategy: Strategy) -> Intent {
    Intent {
        to: to.parse().expect("a target"),
        millionths: 50_000,
        methods: mirror_core::config::safe_methods(),
        secondary: false,
        rules: mirror_core::config::Rules::default(),
        through: Through::External,
        strategy,
        waypoint: None,
        sticky: None,
        headers: Vec::new(),
        paths: Vec::new(),
        expires: None,
        tag_added: None,
    }
}

/// The mirror that `intent` comes to on a Route of this shape.
pub fn plan(shape: &str, intent: Intent) -> Plan {
    let source = source(shape);
    let candidate = target::candidate(&source, &intent.to, Known::default()).expect("a good target");
    Plan::new(intent, source, candidate).expect("a good mirror")
}

/// The text of an object without what every release of the plugin changes.
pub fn without_version(text: &str) -> String {
    text.replace(&format!("{}: \"{}\"", names::VERSION, names::PLUGIN_VERSION), &format!("{}: VERSION", names::VERSION))
}
