//! Objects in the API server, written and read as a controller would.

use kube::api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};

/// Who the harness is among the managers of an object's fields.
const MANAGER: &str = "controller";

/// A kind of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind(&'static str, &'static str);

impl Kind {
    /// `v1` ConfigMap.
    pub const CONFIG_MAP: Self = Self("v1", "ConfigMap");
    /// Istio's EnvoyFilter.
    pub const ENVOY_FILTER: Self = Self("networking.istio.io/v1alpha3", "EnvoyFilter");
    /// Istio's WasmPlugin.
    pub const WASM_PLUGIN: Self = Self("extensions.istio.io/v1alpha1", "WasmPlugin");
    /// Istio's VirtualService.
    pub const VIRTUAL_SERVICE: Self = Self("networking.istio.io/v1", "VirtualService");
    /// Knative's Service.
    pub const KNATIVE_SERVICE: Self = Self("serving.knative.dev/v1", "Service");
    /// Knative's Route.
    pub const ROUTE: Self = Self("serving.knative.dev/v1", "Route");
    /// Knative's Revision.
    pub const REVISION: Self = Self("serving.knative.dev/v1", "Revision");
    /// Knative's internal Ingress.
    pub const INGRESS: Self = Self("networking.internal.knative.dev/v1alpha1", "Ingress");
}

/// What is stored in the API server.
#[derive(Clone)]
pub struct Objects {
    client: Client,
}

impl std::fmt::Debug for Objects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Objects")
    }
}

impl Objects {
    pub(super) fn new(client: Client) -> Self {
        Self { client }
    }

    /// The client that this works with, whose user may do everything.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Writes an object, and its status where it has one, in which `observedGeneration` becomes what it has to be. It
    /// belongs to a namespace if its metadata names one. Gives the object as stored.
    ///
    /// # Panics
    /// When the API server refuses it.
    pub async fn apply(&self, mut object: Value) -> Value {
        let api = self.api_of(&object);
        let name = text(&object["metadata"]["name"]).to_owned();
        let parameters = PatchParams::apply(MANAGER).force();
        let status = object.as_object_mut().and_then(|fields| fields.remove("status"));
        let stored = api.patch(&name, &parameters, &Patch::Apply(&object)).await;
        let mut stored = stored.unwrap_or_else(|error| panic!("{error}: {object:#}"));
        if let Some(mut status) = status {
            if status.get("observedGeneration").is_some() {
                status["observedGeneration"] = json!(stored.metadata.generation);
            }
            let patch = json!({"status": status});
            let patched = api.patch_status(&name, &PatchParams::default(), &Patch::Merge(&patch)).await;
            stored = patched.unwrap_or_else(|error| panic!("{error}: {patch:#}"));
        }
        serde_json::to_value(stored).expect("JSON")
    }

    /// An object as stored; `None` where there is none.
    pub async fn get(&self, kind: Kind, namespace: &str, name: &str) -> Option<Value> {
        let object = self.api(kind, namespace).get_opt(name).await.unwrap_or_else(|error| panic!("{error}"));
        object.map(|object| serde_json::to_value(object).expect("JSON"))
    }

    /// The names of all objects of a kind in a namespace that match a label selector (all for an empty one), sorted.
    pub async fn names(&self, kind: Kind, namespace: &str, labels: &str) -> Vec<String> {
        let list = self.api(kind, namespace).list(&ListParams::default().labels(labels)).await;
        let list = list.unwrap_or_else(|error| panic!("{error}"));
        let mut names: Vec<_> = list.items.into_iter().filter_map(|object| object.metadata.name).collect();
        names.sort();
        names
    }

    /// Removes an object, which must be there.
    pub async fn delete(&self, kind: Kind, namespace: &str, name: &str) {
        let deleted = self.api(kind, namespace).delete(name, &DeleteParams::default()).await;
        deleted.unwrap_or_else(|error| panic!("{error}"));
    }

    fn api(&self, Kind(version, kind): Kind, namespace: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.client(), namespace, &resource(version, kind))
    }

    fn api_of(&self, object: &Value) -> Api<DynamicObject> {
        let resource = resource(text(&object["apiVersion"]), text(&object["kind"]));
        match object["metadata"]["namespace"].as_str() {
            Some(namespace) => Api::namespaced_with(self.client(), namespace, &resource),
            None => Api::all_with(self.client(), &resource),
        }
    }
}

fn resource(version: &str, kind: &str) -> ApiResource {
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}
