//! A small cluster: Knative's service `hello` with three revisions, its gateways, and a control plane that brings to each
//! gateway pod what is written.

use std::fmt;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use clap::Parser;
use serde_json::{Value, json};

use crate::admin::testing::FakeEnvoy;
use crate::cli::{self, Cli};
use crate::cluster::testing::FakeServer;
use crate::istio::install::{Installed, Wrapping, module_fingerprint};
use crate::istio::{Workload, live, names};
use crate::kinds::{EnvoyFilter, VirtualService, WasmPlugin};
use crate::module::MODULE;
use crate::output::kept;
use crate::source::{Module, Way};
use crate::steps::standing::now;

/// How a gateway's proxy takes what it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proxy {
    /// As it should.
    Good,
    /// It was built without the match wrapper.
    WithoutWrapper,
    /// It refuses the module.
    Refusing,
    /// Its agent cannot fetch a module.
    NotFetching,
    /// The control plane does not reach it.
    Cut,
    /// It is of an Istio that leaves the changes of copies' headers out.
    Dropping,
}

/// The cluster.
pub struct World {
    pub server: FakeServer,
    gateways: Arc<Mutex<Vec<Gateway>>>,
}

struct Gateway {
    name: String,
    envoy: FakeEnvoy,
    proxy: Proxy,
    workload: &'static str,
}

/// What came of one command.
#[derive(Debug)]
pub struct Said {
    command: String,
    /// The exit status.
    pub status: u8,
    /// What was said on stdout.
    pub data: String,
    /// What was said on stderr.
    pub messages: String,
    /// The writes that the API server was asked for.
    pub writes: Vec<String>,
}

const GATEWAYS: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: config-istio, namespace: knative-serving}
data:
  external-gateways: |
    - {name: knative-ingress-gateway, namespace: knative-serving, service: istio-ingressgateway.istio-system.svc.cluster.local}
  local-gateways: |
    - {name: knative-local-gateway, namespace: knative-serving, service: knative-local-gateway.istio-system.svc.cluster.local}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: config-network, namespace: knative-serving}
data: {ingress-class: istio.ingress.networking.knative.dev}
---
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: knative-ingress-gateway, namespace: knative-serving}
spec: {selector: {istio: ingressgateway}}
---
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: knative-local-gateway, namespace: knative-serving}
spec: {selector: {istio: ingressgateway}}
";

const SERVICE: &str = "
apiVersion: serving.knative.dev/v1
kind: Service
metadata: {name: hello, namespace: default}
spec:
  traffic:
  - {revisionName: hello-00001, percent: 100}
  - {revisionName: hello-00002, percent: 0, tag: v2}
";

/// A Route's objects as Knative makes them, under other names than the test data's.
fn named(yaml: &str, name: &str) -> String {
    yaml.replace("cart", name).replace("store", "default").replace("next", "v2").replace("mesh-local", "istio-system")
}

impl World {
    /// A service `default/hello`: `hello-00001` for all users, `hello-00002` with the tag `v2`, `hello-00003` without one;
    /// and two gateway pods `gw-0` and `gw-1`, without filter and mirrors.
    pub async fn with_hello() -> Self {
        let server = FakeServer::new().with(GATEWAYS).with(SERVICE);
        let server = server.with(&named(include_str!("../../knative/testdata/revisions.yaml"), "hello"));
        let world = Self { server, gateways: Arc::default() };
        world.route("hello");
        for pod in ["gw-0", "gw-1"] {
            world.pod(pod, "ingressgateway").await;
        }
        let gateways = Arc::clone(&world.gateways);
        world.server.controller(move |objects| {
            for gateway in gateways.lock().expect("no test has panicked in here").iter() {
                gateway.deliver(objects);
            }
        });
        world
    }

    /// The same with a pod `local-0` of another workload behind the gateway for calls from inside the cluster.
    pub async fn with_two_workloads() -> Self {
        let world = Self::with_hello().await;
        world.pod("local-0", "local").await;
        world.server.edit("gateways.networking.istio.io", "knative-serving", "knative-local-gateway", |gateway| {
            gateway["spec"]["selector"] = json!({ "istio": "local" });
        });
        world
    }

    /// One more Route with all that Knative makes for it.
    pub fn route(&self, name: &str) {
        for yaml in [
            include_str!("../../knative/testdata/tagged.route.yaml"),
            include_str!("../../knative/testdata/tagged.virtualservice.yaml"),
            include_str!("../../knative/testdata/ingress.yaml"),
        ] {
            self.server.clone().with(&named(yaml, name));
        }
    }

    /// One more service, `other`, with its revisions.
    pub fn other(&self) {
        self.route("other");
        self.server.clone().with(&named(include_str!("../../knative/testdata/revisions.yaml"), "other"));
        let gateways = self.gateways.lock().expect("no test has panicked in here");
        for gateway in gateways.iter() {
            gateway.envoy.endpoints("outbound|80||other-00002.default.svc.cluster.local", 1);
        }
    }

    /// One more gateway pod.
    pub async fn pod(&self, name: &str, workload: &'static str) -> FakeEnvoy {
        let envoy = FakeEnvoy::start().await;
        for revision in ["hello-00001", "hello-00002", "hello-00003"] {
            envoy.endpoints(&format!("outbound|80||{revision}.default.svc.cluster.local"), 1);
        }
        let gateway = Gateway { name: name.to_owned(), envoy: envoy.clone(), proxy: Proxy::Good, workload };
        self.gateways.lock().expect("no test has panicked in here").push(gateway);
        self.server.clone().pod("istio-system", name, &envoy);
        self.server.edit("pods", "istio-system", name, |pod| pod["metadata"]["labels"]["istio"] = json!(workload));
        envoy
    }

    /// A waypoint `default/NAME` of this class. One that serves revisions of hello has a pod.
    pub async fn waypoint(&self, name: &'static str, class: &str, revisions: &[&str]) {
        let gateway = json!({
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway",
            "metadata": { "namespace": "default", "name": name }, "spec": { "gatewayClassName": class },
        });
        self.server.clone().with(&gateway.to_string());
        if revisions.is_empty() {
            return;
        }
        let envoy = FakeEnvoy::start().await;
        for revision in revisions {
            envoy.endpoints(&format!("inbound-vip|80|http|{revision}.default.svc.cluster.local"), 1);
        }
        let (pod, labels) = (format!("{name}-0"), json!({ "gateway.networking.k8s.io/gateway-name": name }));
        self.server.clone().pod("default", &pod, &envoy);
        self.server.edit("pods", "default", &pod, |pod| pod["metadata"]["labels"] = labels);
        let gateway = Gateway { name: pod, envoy, proxy: Proxy::Good, workload: name };
        self.gateways.lock().expect("no test has panicked in here").push(gateway);
    }

    /// One more gateway pod, whose Envoy nobody can ask.
    pub fn deaf_pod(&self, name: &str) {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": { "namespace": "istio-system", "name": name, "labels": { "istio": "ingressgateway" } },
            "spec": { "containers": [{ "name": "istio-proxy", "image": "istio/proxyv2:1.28.3" }] },
            "status": { "phase": "Running", "conditions": [{ "type": "Ready", "status": "True" }] },
        });
        self.server.clone().with(&pod.to_string());
    }

    /// Lets a gateway's proxy be of this kind from now on.
    pub fn proxy(&self, name: &str, proxy: Proxy) {
        let mut gateways = self.gateways.lock().expect("no test has panicked in here");
        gateways.iter_mut().find(|gateway| gateway.name == name).expect("the pod").proxy = proxy;
    }

    /// The Envoy of a gateway pod.
    pub fn envoy(&self, name: &str) -> FakeEnvoy {
        let gateways = self.gateways.lock().expect("no test has panicked in here");
        gateways.iter().find(|gateway| gateway.name == name).expect("the pod").envoy.clone()
    }

    /// Takes a right away.
    pub fn forbid(&self, verb: &str, resource: &str) {
        self.server.clone().forbid(verb, resource);
    }

    /// Leaves the rights that examples/rbac gives an application team.
    pub fn as_application_team(&self) {
        for (verb, resource) in [
            ("get", "configmaps"),
            ("list", "deployments.apps"),
            ("get", "gateways.networking.istio.io"),
            ("list", "pods"),
            ("get", "pods/portforward"),
            ("get", ENVOY_FILTERS),
            ("list", ENVOY_FILTERS),
            ("create", ENVOY_FILTERS),
            ("patch", ENVOY_FILTERS),
            ("delete", ENVOY_FILTERS),
            ("get", super::WASM_PLUGINS),
            ("list", super::WASM_PLUGINS),
        ] {
            self.forbid(verb, resource);
        }
        self.server.clone().forbid_in("list", super::VIRTUAL_SERVICES, "");
    }

    /// Changes an object of a mirror's, or of the filter's.
    pub fn edit_filter(&self, name: &str, change: impl FnOnce(&mut Value)) {
        self.server.edit(ENVOY_FILTERS, "istio-system", name, change);
    }

    /// Lets an object have been made three days and an hour ago.
    pub fn age(&self, resource: &str, namespace: &str, name: &str) {
        let then = std::time::UNIX_EPOCH + std::time::Duration::from_secs(now() - 73 * 3600 - 60);
        let text = humantime::format_rfc3339_seconds(then).to_string();
        // The server keeps the time of what was there, so the object is made anew.
        let mut object = self.server.object(resource, namespace, name).expect("the object");
        object["metadata"]["creationTimestamp"] = json!(text);
        self.server.clone().with(&object.to_string());
    }

    /// What is left of this program's in the cluster: the names of its objects.
    pub fn ours(&self) -> Vec<String> {
        let objects = self.server.objects();
        let ours = objects.iter().filter(|object| object["metadata"]["labels"][names::MANAGED_BY] == names::MANAGER);
        ours.map(|object| object["metadata"]["name"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// The tags of the Knative Service.
    pub fn tags(&self) -> Vec<String> {
        let service = self.server.object(super::SERVICES, "default", "hello").expect("the service");
        let traffic = service["spec"]["traffic"].as_array().cloned().unwrap_or_default();
        traffic.iter().filter_map(|part| part["tag"].as_str().map(str::to_owned)).collect()
    }

    /// Runs a command as a user types it, without `kubectl mirror`.
    pub async fn run(&self, command: &str) -> Said {
        let before = self.server.writes().len();
        let arguments = std::iter::once("kubectl-mirror").chain(command.split_whitespace());
        let cli = Cli::try_parse_from(arguments).unwrap_or_else(|error| panic!("{command}: {error}"));
        self.server.connect();
        kept::begin();
        let status = cli::run(cli).await;
        let said = kept::end();
        self.server.disconnect();
        let status = (0..=2).find(|code| status == std::process::ExitCode::from(*code)).expect("0, 1 or 2");
        let writes = self.server.writes().split_off(before);
        Said {
            command: command.to_owned(),
            status,
            data: stable(&said.data),
            messages: stable(&said.messages),
            writes: writes.into_iter().map(|write| write.summary).collect(),
        }
    }

    /// Runs a command that is to succeed.
    pub async fn done(&self, command: &str) -> Said {
        let said = self.run(command).await;
        assert_eq!(said.status, 0, "{said}");
        said
    }

    /// Runs a command that is to fail.
    pub async fn refused(&self, command: &str) -> Said {
        let said = self.run(command).await;
        assert_eq!(said.status, 2, "{said}");
        assert!(said.messages.contains("error: "), "{said}");
        said
    }

    /// Runs a command that is to fail and to write nothing.
    pub async fn refused_at_once(&self, command: &str) -> Said {
        let said = self.refused(command).await;
        assert!(said.writes.is_empty(), "{said}");
        said
    }
}

const ENVOY_FILTERS: &str = super::ENVOY_FILTERS;

/// Text without what differs from build to build.
fn stable(text: &str) -> String {
    text.replace(&module_fingerprint(MODULE), "FINGERPRINT").replace(names::PLUGIN_VERSION, "VERSION")
}

impl Gateway {
    /// Takes what the control plane makes of these objects.
    fn deliver(&self, objects: &[Value]) {
        if self.proxy == Proxy::Cut {
            return;
        }
        let filters: Vec<EnvoyFilter> = all(objects, "EnvoyFilter");
        let is_mine = |filter: &&EnvoyFilter| {
            let workload = Workload::of(filter);
            workload.namespace == "istio-system"
                && workload.labels.get("istio").is_some_and(|label| label == self.workload)
        };
        let mut mirrors: Vec<_> = filters.iter().filter(is_mine).filter_map(live::of_overlay).collect();
        let virtual_services: Vec<VirtualService> = all(objects, "VirtualService");
        mirrors.extend(virtual_services.iter().filter_map(live::of_virtual_service));
        let (external, internal) = ("hello.default.example.com", "hello.default.svc.cluster.local");
        self.envoy.mirrors(&mirrors.iter().collect::<Vec<_>>());
        self.envoy.serves(&[external, internal, "other.default.example.com"]);
        if self.proxy == Proxy::Dropping {
            self.envoy.drop_mutations();
        }
        let is_install = |filter: &&EnvoyFilter| {
            filter.metadata.labels.as_ref().is_some_and(|labels| labels.contains_key(names::INSTALL))
        };
        let install = filters.iter().filter(is_mine).find(is_install).map(Installed::of);
        self.envoy.module(
            Way::Observing,
            match (install, self.proxy) {
                (None, _) => Module::Missing,
                (Some(_), Proxy::Refusing) => Module::Rejected,
                (Some(install), Proxy::WithoutWrapper) if install.wrapping == Wrapping::Matched => Module::Rejected,
                (Some(_), _) => Module::Running,
            },
        );
        let plugins: Vec<WasmPlugin> = all(objects, "WasmPlugin");
        let is_mine =
            |plugin: &&WasmPlugin| Workload::of_plugin(plugin).labels.values().any(|label| label == self.workload);
        let plugin = plugins.iter().find(is_mine);
        self.envoy.told(&plugin.map(|plugin| plugin.spec.plugin_config.clone()).unwrap_or_default());
        self.envoy.module(
            Way::Sending,
            match (plugin, self.proxy) {
                (None, _) => Module::Missing,
                (Some(_), Proxy::Refusing) => Module::Rejected,
                (Some(_), Proxy::NotFetching) => Module::Unfetched,
                (Some(_), _) => Module::Running,
            },
        );
    }
}

/// The objects of one kind.
fn all<K: serde::de::DeserializeOwned>(objects: &[Value], kind: &str) -> Vec<K> {
    let meant = objects.iter().filter(|object| object["kind"] == kind);
    meant.map(|object| serde_json::from_value(object.clone()).expect("a good object")).collect()
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = format!("$ kubectl mirror {}\n{}", self.command, self.data);
        for line in self.messages.lines() {
            let _ = writeln!(text, "2> {line}");
        }
        for write in &self.writes {
            let _ = writeln!(text, "-> {write}");
        }
        if self.status != 0 {
            let _ = writeln!(text, "status {}", self.status);
        }
        f.write_str(&text)
    }
}
