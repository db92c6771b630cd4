//! A cluster for the tests of commands: the Knative Service `cart` in the namespace `store`, and Knative's gateways.

use std::collections::BTreeMap;

use super::common;
use crate::cluster::testing::FakeServer;
use crate::intent::{Intent, Strategy};
use crate::istio::pin::Pinned;
use crate::istio::wasm_plugin::{Origin, wasm_plugin, with_mirror};
use crate::istio::{InstalledBy, Workload, overlay, virtual_service};
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
    let labels = BTreeMap::from([("istio".to_owned(), "ingressgateway".to_owned())]);
    let workload = Workload { namespace: GATEWAYS.to_owned(), labels };
    let object = match strategy {
        Strategy::Overlay => common::value(&overlay(&plan, &workload)),
        Strategy::WasmPlugin => {
            let module = Pinned { url: "oci://ghcr.io/x/filter:1".to_owned(), sha256: "a".repeat(64) };
            let empty = wasm_plugin(&workload, &Origin { module, pull_secret: None }, InstalledBy::Enable);
            common::value(&with_mirror(&empty, &plan, Some(1_796_047_652)))
        }
        Strategy::VirtualService => {
            common::value(&virtual_service(&plan, &[GATEWAYS.to_owned()]).expect("a VirtualService"))
        }
    };
    store().with(&object.expect("an object").to_string())
}
