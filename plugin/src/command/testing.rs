//! A cluster for the tests of commands: the Knative Service `cart` in the namespace `store`, and Knative's gateways.

use std::collections::BTreeMap;

use super::common;
use crate::cluster::testing::FakeServer;
use crate::intent::{Intent, Strategy};
use crate::istio::{Workload, overlay, virtual_service};
use crate::knative::testing::plan;

/// Where the gateways' pods are.
pub const GATEWAYS: &str = "istio-system";

/// A service, without any mirror.
pub fn store() -> FakeServer {
    let gateway = |name: &str| {
        format!(
            "{{apiVersion: networking.istio.io/v1, kind: Gateway, metadata: {{name: {name}, namespace: knative-serving}}, \
             spec: {{selector: {{istio: ingressgateway}}}}}}"
        )
    };
    FakeServer::new()
        .with(include_str!("../knative/testdata/tagged.route.yaml"))
        .with(include_str!("../knative/testdata/tagged.virtualservice.yaml"))
        .with(include_str!("../knative/testdata/ingress.yaml"))
        .with(include_str!("../knative/testdata/revisions.yaml"))
        .with(&gateway("knative-ingress-gateway"))
        .with(&gateway("knative-local-gateway"))
}

/// The same with a mirror of it, as `enable` would have written it.
pub fn mirrored(intent: Intent) -> FakeServer {
    let strategy = intent.strategy;
    let plan = plan("tagged", intent);
    let object = match strategy {
        Strategy::Overlay => {
            let labels = BTreeMap::from([("istio".to_owned(), "ingressgateway".to_owned())]);
            common::value(&overlay(&plan, &Workload { namespace: GATEWAYS.to_owned(), labels }))
        }
        Strategy::VirtualService => {
            common::value(&virtual_service(&plan, &[GATEWAYS.to_owned()]).expect("a VirtualService"))
        }
    };
    store().with(&object.expect("an object").to_string())
}
