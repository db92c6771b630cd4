//! A fake API server, for tests: it holds objects and answers as a real one does.
//!
//! ```ignore
//! let server = FakeServer::new().with(SERVICE_YAML).forbid("patch", "envoyfilters.networking.istio.io");
//! let cluster = server.cluster("default");
//! // … let a command run against `cluster` …
//! assert_eq!(server.writes(), ["apply virtualservices.networking.istio.io default/hello-mirror"]);
//! ```
//!
//! - Reads, in any order and at once, see the objects: GET, LIST with label selectors, 404 with the `Status` of a real one.
//! - Writes change them and are recorded: server-side apply, merge patch with a resource version, DELETE with
//!   preconditions; with `dryRun` they are recorded and change nothing. It knows one field manager only, so an apply
//!   replaces all but the server's own fields.
//! - A pod's log is what [`FakeServer::log`] says. It is at its end at once, even where it is followed.
//! - Port-forwards to a [`FakeServer::pod`] reach the fake Envoy that plays it.
//! - [`FakeServer::forbid`], [`FakeServer::conflict`], [`FakeServer::fail`] and [`FakeServer::without_kind`] make it refuse.
//!   What is forbidden is also denied by SelfSubjectAccessReviews.
//! - [`FakeServer::controller`] is told of each change, and plays what acts upon objects in a real cluster.
//! - Commands that connect by themselves reach the one that has [`FakeServer::connect`]ed this thread.
//! - Any other request fails the test.

mod pods;
mod state;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tower::service_fn;

use super::Cluster;
use crate::admin::ISTIO_PORT;
use crate::admin::testing::FakeEnvoy;
use state::State;

thread_local! {
    static CONNECTED: RefCell<Option<FakeServer>> = const { RefCell::new(None) };
}

/// The server that commands on this thread are to connect to.
pub(super) fn connected() -> Option<FakeServer> {
    CONNECTED.with_borrow(Clone::clone)
}

/// A fake API server. Clones are the same server.
#[derive(Clone, Debug, Default)]
pub struct FakeServer {
    state: Arc<Mutex<State>>,
}

/// `services.serving.knative.dev`, the namespace, the name.
type Key = (String, String, String);

/// A write that was asked for, whether it was done or refused.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// What, of what, to which: `apply envoyfilters.networking.istio.io istio-system/kubectl-mirror`, with `(dry run)` and
    /// `(force)` where that was asked for. The verbs are `apply`, `patch`, `create` and `delete`.
    pub summary: String,
    /// What was sent.
    pub body: Value,
}

impl PartialEq<&str> for Write {
    fn eq(&self, summary: &&str) -> bool {
        self.summary == *summary
    }
}

#[derive(Clone, Debug)]
struct Refusal {
    verb: String,
    resource: String,
    /// Any where `None`; that of all namespaces together is empty.
    namespace: Option<String>,
    /// Any where `None`.
    name: Option<String>,
    status: Value,
}

/// What is told of changes.
struct Controller(Box<Told>);

/// Takes all objects.
type Told = dyn Fn(&[Value]) + Send;

impl std::fmt::Debug for Controller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Controller")
    }
}

/// What a request is about.
#[derive(Clone, Debug)]
struct Target {
    verb: &'static str,
    group: String,
    resource: String,
    namespace: String,
    name: String,
}

impl FakeServer {
    /// A server without any objects.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds objects: a YAML (or JSON) text of one or several documents, each an object or a `List`.
    pub fn with(self, yaml: &str) -> Self {
        for document in serde_saphyr::from_multiple::<Value>(yaml).expect("YAML") {
            let items = document["items"].as_array().cloned().unwrap_or_else(|| vec![document]);
            items.into_iter().for_each(|item| self.add(item));
        }
        self
    }

    /// Lets an Envoy play the gateway in a running pod, which port-forwards to it reach. The pod's own object is made as
    /// well, with the labels of Istio's ingress gateway.
    pub fn pod(self, namespace: &str, name: &str, envoy: &FakeEnvoy) -> Self {
        self.lock().pods.insert((namespace.to_owned(), name.to_owned()), envoy.address());
        self.add(json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": { "namespace": namespace, "name": name, "labels": { "istio": "ingressgateway" } },
            "spec": { "containers": [{ "name": "istio-proxy", "image": "istio/proxyv2:1.28.3" }] },
            "status": { "phase": "Running", "conditions": [{ "type": "Ready", "status": "True" }] },
        }));
        self
    }

    /// Lets the containers of a pod have written this.
    pub fn log(self, namespace: &str, pod: &str, text: &str) -> Self {
        self.lock().logs.insert((namespace.to_owned(), pod.to_owned()), text.to_owned());
        self
    }

    /// Cannot reach the node of a pod, so that its log is not to be had.
    pub fn without_log(self, namespace: &str, pod: &str) -> Self {
        self.lock().unreachable.push((namespace.to_owned(), pod.to_owned()));
        self
    }

    /// Does not know this kind of object: its definition is not installed.
    pub fn without_kind(self, resource: &str) -> Self {
        self.lock().unknown.push(resource.to_owned());
        self
    }

    /// Refuses a verb (`get`, `list`, `create`, `patch`, `delete`) on a resource everywhere, for want of a right.
    pub fn forbid(self, verb: &str, resource: &str) -> Self {
        self.refuse(verb, resource, None, forbidden(verb, resource))
    }

    /// Refuses it in one namespace only; in the request for all namespaces at once where that is empty.
    pub fn forbid_in(self, verb: &str, resource: &str, namespace: &str) -> Self {
        self.refuse(verb, resource, Some(namespace), forbidden(verb, resource))
    }

    /// Lets `manager` own a field of all objects of a resource, so that an apply conflicts unless it is forced.
    pub fn conflict(self, resource: &str, manager: &str, field: &str) -> Self {
        let message = format!("Apply failed with 1 conflict: conflict with \"{manager}\": {field}");
        let cause = json!({ "reason": "FieldManagerConflict", "message": format!("conflict with \"{manager}\""), "field": field });
        let details = json!({ "causes": [cause] });
        self.refuse("apply", resource, None, status(409, "Conflict", &message, details))
    }

    /// Answers a verb on a resource with this error.
    pub fn fail(self, verb: &str, resource: &str, code: u16, reason: &str, message: &str) -> Self {
        self.refuse(verb, resource, None, status(code, reason, message, json!({})))
    }

    /// Answers a verb on the one object of this name with an error of its own.
    pub fn fail_on(self, verb: &str, resource: &str, name: &str, code: u16, reason: &str) -> Self {
        let message = format!("{verb} {name}: refused for this test");
        let server = self.fail(verb, resource, code, reason, &message);
        server.lock().refusals.last_mut().expect("the refusal above").name = Some(name.to_owned());
        server
    }

    /// Refuses nothing any more.
    pub fn refuse_nothing(&self) {
        self.lock().refusals.clear();
    }

    /// Changes an object behind everybody's back.
    pub fn edit(&self, resource: &str, namespace: &str, name: &str, change: impl FnOnce(&mut Value)) {
        let key = (resource.to_owned(), namespace.to_owned(), name.to_owned());
        let mut state = self.lock();
        let before = state.objects.get(&key).cloned().expect("the object");
        let mut object = before.clone();
        change(&mut object);
        state.stamp(&mut object, Some(&before));
        state.objects.insert(key, object);
        state.tell();
    }

    /// Lets an object appear with the next write, as if somebody else had been a little faster.
    pub fn appear(&self, object: Value) {
        self.lock().appearing.push(object);
    }

    /// Lets somebody else write an object right before the next write to it.
    pub fn race(&self, object: Value) {
        self.lock().racing.push((None, object));
    }

    /// The same before the next write with this verb.
    pub fn race_at(&self, verb: &str, object: Value) {
        self.lock().racing.push((Some(verb.to_owned()), object));
    }

    /// Removes an object behind everybody's back.
    pub fn remove(&self, resource: &str, namespace: &str, name: &str) {
        let mut state = self.lock();
        state.objects.remove(&(resource.to_owned(), namespace.to_owned(), name.to_owned())).expect("the object");
        state.tell();
    }

    /// Lets `told` see all objects after each change.
    pub fn controller(&self, told: impl Fn(&[Value]) + Send + 'static) {
        let mut state = self.lock();
        state.controller = Some(Controller(Box::new(told)));
        state.tell();
    }

    /// Is the cluster of all commands on this thread, until it is disconnected.
    pub fn connect(&self) {
        CONNECTED.replace(Some(self.clone()));
    }

    /// Leaves commands on this thread to the kubeconfig again.
    pub fn disconnect(&self) {
        CONNECTED.take();
    }

    /// A client of this server, with the namespace that is meant where none is said.
    pub fn cluster(&self, namespace: &str) -> Cluster {
        let server = self.clone();
        let service = service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move {
                let (parts, body) = request.into_parts();
                if parts.uri.path().ends_with("/portforward") {
                    return Ok(server.forward(&parts).await);
                }
                let body = body.collect().await.expect("a body").to_bytes();
                let (code, answer) = server.answer(&parts, &body);
                let body = match answer {
                    Value::String(text) => Bytes::from(text),
                    answer => Bytes::from(answer.to_string()),
                };
                Ok::<_, Infallible>(Response::builder().status(code).body(Full::new(body)).expect("a response"))
            }
        });
        Cluster { server: "https://fake".into(), ..Cluster::new(Client::new(service, namespace), namespace) }
    }

    /// All writes that were asked for so far, in their order.
    pub fn writes(&self) -> Vec<Write> {
        self.lock().writes.clone()
    }

    /// All requests that were made so far, in their order, in the words of [`Write::summary`]; reads as well, and
    /// `review of a right`.
    pub fn calls(&self) -> Vec<String> {
        self.lock().calls.clone()
    }

    /// Whose logs were asked for so far, each with its parameters: `istio-system/gw-0 container=istio-proxy&tailLines=5`.
    pub fn logs_asked(&self) -> Vec<String> {
        self.lock().logs_asked.clone()
    }

    /// An object as it is now.
    pub fn object(&self, resource: &str, namespace: &str, name: &str) -> Option<Value> {
        self.lock().objects.get(&(resource.to_owned(), namespace.to_owned(), name.to_owned())).cloned()
    }

    /// All objects as they are now.
    pub fn objects(&self) -> Vec<Value> {
        self.lock().objects.values().cloned().collect()
    }

    /// How many objects there are of a resource.
    pub fn count(&self, resource: &str) -> usize {
        self.lock().objects.keys().filter(|key| key.0 == resource).count()
    }

    fn refuse(self, verb: &str, resource: &str, namespace: Option<&str>, status: Value) -> Self {
        let (verb, resource, namespace) = (verb.to_owned(), resource.to_owned(), namespace.map(str::to_owned));
        self.lock().refusals.push(Refusal { verb, resource, namespace, name: None, status });
        self
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("no test has panicked in here")
    }

    fn add(&self, mut object: Value) {
        let mut state = self.lock();
        state.stamp(&mut object, None);
        state.objects.insert(key_of(&object), object);
    }

    /// Forwards a pod's port. Only the admin page's has anybody listening.
    async fn forward(&self, parts: &Parts) -> Response<Full<Bytes>> {
        let path: Vec<&str> = parts.uri.path().split('/').collect();
        let ["", "api", "v1", "namespaces", namespace, "pods", name, "portforward"] = path.as_slice() else {
            panic!("no path of a port-forward: {}", parts.uri);
        };
        let target = Target {
            verb: "get",
            group: String::new(),
            resource: "pods/portforward".to_owned(),
            namespace: (*namespace).to_owned(),
            name: (*name).to_owned(),
        };
        let pod = Target { resource: "pods".to_owned(), ..target.clone() };
        let (refusal, pod_exists) = {
            let state = self.lock();
            (state.refusal(&target), state.get(&pod).0 == 200)
        };
        if let Some(status) = refusal.or_else(|| (!pod_exists).then(|| pod.not_found().1)) {
            let code = status["code"].as_u64().and_then(|code| u16::try_from(code).ok()).expect("a status code");
            let body = Full::new(Bytes::from(status.to_string()));
            return Response::builder().status(code).body(body).expect("a response");
        }
        let query = parts.uri.query().map(decode).unwrap_or_default();
        let port = query["ports"].parse().expect("a port");
        let listener = self.lock().pods.get(&(target.namespace, target.name)).copied();
        pods::forward(parts, port, listener.filter(|_| port == ISTIO_PORT)).await
    }

    fn answer(&self, parts: &Parts, body: &[u8]) -> (u16, Value) {
        let query: BTreeMap<String, String> = parts.uri.query().map(decode).unwrap_or_default();
        // `/version` is no object.
        if parts.uri.path() == "/version" {
            let known =
                ["buildDate", "compiler", "gitCommit", "gitTreeState", "goVersion", "major", "minor", "platform"];
            let mut version: Value = known.iter().map(|field| ((*field).to_owned(), json!(""))).collect();
            version["gitVersion"] = json!("v1.34.4");
            return (200, version);
        }
        let mut target = Target::of(parts);
        let body: Value = if body.is_empty() { Value::Null } else { serde_json::from_slice(body).expect("JSON") };
        if target.verb == "create" {
            target.name = body["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        }
        let mut state = self.lock();
        if target.resource == "selfsubjectaccessreviews.authorization.k8s.io" {
            state.calls.push("review of a right".to_owned());
            return (201, state.review(body));
        }
        let is_dry = query.contains_key("dryRun") || !body["dryRun"].is_null();
        let is_forced = query.get("force").is_some_and(|force| force == "true");
        let flags = [(" (dry run)", is_dry), (" (force)", is_forced)];
        let flags: String = flags.into_iter().filter(|(_, is_set)| *is_set).map(|(flag, _)| flag).collect();
        let summary = format!("{} {} {}/{}{flags}", target.verb, target.resource, target.namespace, target.name);
        state.calls.push(summary.clone());
        if !matches!(target.verb, "get" | "list") {
            state.writes.push(Write { summary, body: body.clone() });
        }
        if state.unknown.contains(&target.resource) {
            return (404, Value::String("404 page not found\n".to_owned()));
        }
        if let Some(refusal) = state.refusal(&target).filter(|refusal| !(is_forced && refusal["reason"] == "Conflict"))
        {
            let code = refusal["code"].as_u64().and_then(|code| code.try_into().ok());
            return (code.expect("a status code"), refusal);
        }
        if !matches!(target.verb, "get" | "list") {
            state.race(&target);
        }
        let answer = match target.verb {
            "get" if target.resource == "pods/log" => state.log(&target, &query),
            "get" => state.get(&target),
            "list" => state.list(&target, query.get("labelSelector").map_or("", String::as_str)),
            "apply" => state.apply(&target, body, is_dry),
            "create" => state.create(&target, body, is_dry),
            "patch" => state.patch(&target, &body, is_dry),
            "delete" => state.delete(&target, &body, is_dry),
            verb => panic!("the fake API server cannot {verb} {}", target.resource),
        };
        if !matches!(target.verb, "get" | "list") {
            for object in std::mem::take(&mut state.appearing) {
                state.objects.insert(key_of(&object), object);
            }
            state.tell();
        }
        answer
    }
}

impl Target {
    /// `/apis/GROUP/VERSION/namespaces/NS/PLURAL/NAME`, or `/api/v1/…`.
    fn of(request: &Parts) -> Self {
        let (method, path) = (&request.method, request.uri.path());
        let mut parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let group = if parts.remove(0) == "api" { "" } else { parts.remove(0) };
        parts.remove(0);
        let namespace = if parts.first() == Some(&"namespaces") && parts.len() > 2 {
            parts.remove(0);
            parts.remove(0)
        } else {
            ""
        };
        let (plural, name) = match parts.as_slice() {
            [plural] => (*plural, ""),
            [plural, name] => (*plural, *name),
            ["pods", name, "log"] => ("pods/log", *name),
            _ => panic!("the fake API server does not know {method} {path}"),
        };
        let is_apply = request.headers.get(CONTENT_TYPE).is_some_and(|kind| kind == "application/apply-patch+yaml");
        let verb = match (method, name) {
            (&Method::GET, "") => "list",
            (&Method::GET, _) => "get",
            (&Method::POST, _) => "create",
            (&Method::PATCH, _) if is_apply => "apply",
            (&Method::PATCH, _) => "patch",
            (&Method::DELETE, _) => "delete",
            _ => panic!("the fake API server does not know {method} {path}"),
        };
        Self {
            verb,
            group: group.to_owned(),
            resource: named(plural, group),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    fn key(&self) -> Key {
        (self.resource.clone(), self.namespace.clone(), self.name.clone())
    }

    fn not_found(&self) -> (u16, Value) {
        let details = json!({ "name": self.name, "group": self.group });
        (404, status(404, "NotFound", &format!("{} \"{}\" not found", self.resource, self.name), details))
    }
}

/// Where an object is kept, by its kind and its names.
fn key_of(object: &Value) -> Key {
    let group = object["apiVersion"].as_str().expect("apiVersion").rsplit_once('/').map_or("", |(group, _)| group);
    let kind = object["kind"].as_str().expect("kind").to_lowercase();
    let plural = match kind.as_str() {
        kind if kind.ends_with('s') => format!("{kind}es"),
        kind if kind.ends_with('y') && !kind.ends_with("ay") => format!("{}ies", kind.trim_end_matches('y')),
        kind => format!("{kind}s"),
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (named(&plural, group), text(&object["metadata"]["namespace"]), text(&object["metadata"]["name"]))
}

/// `services.serving.knative.dev`, or `pods` alone.
fn named(plural: &str, group: &str) -> String {
    if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") }
}

/// A `Status`, as an API server answers where it does not do what it is asked to.
fn status(code: u16, reason: &str, message: &str, details: Value) -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "code": code, "reason": reason, "message": message, "details": details,
    })
}

fn forbidden(verb: &str, resource: &str) -> Value {
    let (plural, group) = resource.split_once('.').unwrap_or((resource, ""));
    let message = format!(
        "{resource} is forbidden: User \"bob\" cannot {verb} resource \"{plural}\" in API group \"{group}\" in the namespace"
    );
    status(403, "Forbidden", &message, json!({ "group": group, "kind": plural }))
}

/// The parameters of a query.
fn decode(query: &str) -> BTreeMap<String, String> {
    let parameters = query.split('&').filter(|parameter| !parameter.is_empty());
    parameters
        .map(|parameter| {
            let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            (key.to_owned(), unescape(value))
        })
        .collect()
}

fn unescape(text: &str) -> String {
    let mut bytes = text.bytes();
    let mut plain = Vec::new();
    while let Some(byte) = bytes.next() {
        plain.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(bytes.next().unwrap_or(b'0')).to_digit(16).unwrap_or(0);
                u8::try_from(digit() * 16 + digit()).expect("two hex digits")
            }
            byte => byte,
        });
    }
    String::from_utf8(plain).expect("UTF-8")
}
