//! What each command does to a cluster and says to its user: scenarios against a fake API server with gateways behind it.
//!
//! A story is one or several commands, each with what it was asked, wrote and said; the snapshots are to be read as a user
//! would. What must hold whatever is said (nothing was written, nothing is left) stands in the tests.

mod disable;
mod enable;
mod halfway;
mod installing;
mod looking;
mod planned;
mod tags;
mod virtual_service;
mod wasm_plugin;
mod waypoint;
mod world;

use world::World;

/// EnvoyFilters, WasmPlugins, VirtualServices and Knative Services as the API server names them.
const ENVOY_FILTERS: &str = "envoyfilters.networking.istio.io";
const WASM_PLUGINS: &str = "wasmplugins.extensions.istio.io";
const VIRTUAL_SERVICES: &str = "virtualservices.networking.istio.io";
const SERVICES: &str = "services.serving.knative.dev";

/// The objects that `enable hello` makes.
const FILTER: &str = "apply envoyfilters.networking.istio.io istio-system/kubectl-mirror-ingressgateway";
const OVERLAY: &str = "apply envoyfilters.networking.istio.io istio-system/mirror.default.hello.ingressgateway";
const MIRROR: &str = "apply virtualservices.networking.istio.io default/hello-mirror";
