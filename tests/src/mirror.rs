//! A mirror under test: an Envoy between a client, a primary and a candidate, configured by the plugin's generator.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kubectl_mirror::envoy::observer::{Code, Module, Wrapping, extension};
use kubectl_mirror::envoy::static_config::{
    CANDIDATE, EXTENSION, LISTENER, ROUTES, SECONDARY, StaticEnvoy, discovery_response,
};
use kubectl_mirror::envoy::{Endpoint, MirrorSpec, NAME as FILTER, Selection};
use mirror_core::config::{Mirror, Sending, Target, VERSION, safe_methods};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::{Answer, HOST, Protocol, Request, once};
use crate::counts::Counts;
use crate::envoy::{Binary, Envoy};
use crate::{module, wait};

/// The mirror's name.
pub const NAME: &str = "test/hello";

/// How Envoy is made to copy and compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Selector and mirror policies copy; the module stands behind the router.
    Upstream,
    /// The module stands before the router, as an Istio WasmPlugin puts it there, and sends the copies itself.
    Downstream,
}

impl Way {
    /// The statistic of Envoy's that counts the modules, and configurations of modules, that it has taken.
    pub fn updates(self) -> String {
        match self {
            Self::Upstream => format!("extension_config_discovery.upstream_http_filter.{FILTER}.config_reload"),
            Self::Downstream => format!("extension_config_discovery.http_filter.{MODULE}.config_reload"),
        }
    }
}

/// Both ways.
pub const WAYS: [Way; 2] = [Way::Upstream, Way::Downstream];

type Edit = Box<dyn Fn(&mut Value)>;

/// What is to be tested. Unless told otherwise it copies every safe request for [`HOST`] and has two workers.
pub struct Setup {
    way: Way,
    spec: MirrorSpec,
    /// All mirrors that the module is told of in its own configuration; only the one above where there are none.
    specs: Vec<MirrorSpec>,
    primary: SocketAddr,
    candidate: SocketAddr,
    secondary: Option<SocketAddr>,
    scheme: &'static str,
    workers: usize,
    module: PathBuf,
    wrapping: Wrapping,
    routes: Vec<Edit>,
}

impl Setup {
    /// A mirror of `primary` to `candidate`.
    pub fn new(primary: SocketAddr, candidate: SocketAddr) -> Self {
        let target = |cluster: &str| Target { cluster: cluster.to_owned(), knative: None };
        let mirror = Mirror {
            version: VERSION,
            name: NAME.to_owned(),
            candidate: target(CANDIDATE),
            secondary: None,
            hosts: vec![HOST.to_owned()],
            methods: safe_methods(),
            sampling: Default::default(),
            split: false,
            rules: Default::default(),
            caps: Default::default(),
        };
        let selection = Selection::everything();
        Self {
            way: Way::Upstream,
            specs: Vec::new(),
            spec: MirrorSpec { mirror, selection, candidate_host: None, secondary_host: None },
            primary,
            candidate,
            secondary: None,
            scheme: "http",
            workers: 2,
            module: module::built().to_owned(),
            wrapping: Wrapping::Matched,
            routes: Vec::new(),
        }
    }

    /// Copies and compares in this way.
    pub fn way(mut self, way: Way) -> Self {
        self.way = way;
        self
    }

    /// Sets the mirrors that the module is told of in its own configuration.
    pub fn specs(mut self, specs: Vec<MirrorSpec>) -> Self {
        self.specs = specs;
        self
    }

    /// Copies to a secondary too.
    pub fn secondary(mut self, secondary: SocketAddr) -> Self {
        self.spec.mirror.secondary = Some(Target { cluster: SECONDARY.to_owned(), knative: None });
        self.secondary = Some(secondary);
        self
    }

    /// Changes what the module is told.
    pub fn mirror(mut self, edit: impl FnOnce(&mut Mirror)) -> Self {
        edit(&mut self.spec.mirror);
        self
    }

    /// Sets the rules.
    ///
    /// # Panics
    /// When they are no rules.
    pub fn rules(self, rules: Value) -> Self {
        self.mirror(|mirror| mirror.rules = serde_json::from_value(rules).expect("rules"))
    }

    /// Changes what is selected.
    pub fn selection(mut self, edit: impl FnOnce(&mut Selection)) -> Self {
        edit(&mut self.spec.selection);
        self
    }

    /// Speaks HTTP/2 to the servers.
    pub fn http2(mut self) -> Self {
        self.scheme = "h2c";
        self
    }

    /// Sets the number of worker threads.
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// Uses this file as the module.
    pub fn module(mut self, path: &Path) -> Self {
        path.clone_into(&mut self.module);
        self
    }

    /// Leaves out the match wrapper around the module.
    pub fn bare(mut self) -> Self {
        self.wrapping = Wrapping::Bare;
        self
    }

    /// Changes the route configuration that the generator makes, each time before Envoy gets it.
    pub fn routes(mut self, edit: impl Fn(&mut Value) + 'static) -> Self {
        self.routes.push(Box::new(edit));
        self
    }

    fn all_specs(&self) -> Vec<MirrorSpec> {
        if self.specs.is_empty() { vec![self.spec.clone()] } else { self.specs.clone() }
    }

    /// The mirror as it stands now.
    pub fn spec(&self) -> &MirrorSpec {
        &self.spec
    }

    /// Starts an Envoy. Its route configuration and its module can be changed while it runs.
    pub async fn start(self, binary: &'static Binary) -> Running {
        let files = tempfile::Builder::new().prefix("mirror-files-").tempdir().expect("a directory");
        let mut running = Running { setup: self, files, envoy: None, address: SocketAddr::from(([127, 0, 0, 1], 0)) };
        running.setup.spec.check().expect("a mirror that makes sense");
        running.write_observer(&running.setup.module, 0);
        running.write_routes();
        let mut bootstrap = running.with_static(|envoy| envoy.bootstrap());
        if running.setup.way == Way::Downstream {
            stand_before_router(&mut bootstrap, &running.files.path().join("observer.json"));
        }
        let envoy = Envoy::start(binary, &bootstrap, running.setup.workers).await;
        running.address = envoy.listener(LISTENER).await;
        running.envoy = Some(envoy);
        running
    }
}

/// A running mirror.
pub struct Running {
    setup: Setup,
    files: TempDir,
    envoy: Option<Envoy>,
    /// Where clients connect.
    pub address: SocketAddr,
}

impl Running {
    /// The Envoy.
    pub fn envoy(&self) -> &Envoy {
        self.envoy.as_ref().expect("it is running")
    }

    /// The mirror as Envoy was told of it.
    pub fn spec(&self) -> &MirrorSpec {
        &self.setup.spec
    }

    /// What the client gets for a request.
    ///
    /// # Panics
    /// When it gets no whole answer.
    pub async fn send(&self, request: &Request) -> Answer {
        self.send_by(Protocol::Http1, request).await
    }

    /// The same by a protocol of choice.
    ///
    /// # Panics
    /// When it gets no whole answer.
    pub async fn send_by(&self, protocol: Protocol, request: &Request) -> Answer {
        let answer = once(self.address, protocol, request).await;
        answer.unwrap_or_else(|failure| panic!("{} {}: {failure:?}", request.method, request.path))
    }

    /// What the client gets for a GET.
    ///
    /// # Panics
    /// When it gets no whole answer.
    pub async fn get(&self, path: &str) -> Answer {
        self.send(&Request::get(path)).await
    }

    /// What the metrics say at this moment.
    pub async fn counts(&self) -> Counts {
        Counts::of(&self.envoy().stats("mirror_").await)
    }

    /// What the metrics say once they know of `pairs` pairs.
    ///
    /// # Panics
    /// When they never do, or know of more.
    pub async fn settled(&self, pairs: u64) -> Counts {
        let start = Instant::now();
        let mut counts = self.counts().await;
        while counts.pairs() < pairs && start.elapsed() < wait::PATIENCE {
            tokio::time::sleep(Duration::from_millis(50)).await;
            counts = self.counts().await;
        }
        assert_eq!(counts.pairs(), pairs, "{counts:#?}");
        counts
    }

    /// Changes the mirror while Envoy runs, as a route update or (downstream) as one of the module's configuration. Returns
    /// when Envoy has taken it.
    pub async fn change(&mut self, edit: impl FnOnce(&mut MirrorSpec)) {
        let updates = match self.setup.way {
            Way::Upstream => format!("http.{LISTENER}.rds.{LISTENER}.config_reload"),
            Way::Downstream => Way::Downstream.updates(),
        };
        let before = self.envoy().stat(&updates).await;
        edit(&mut self.setup.spec);
        match self.setup.way {
            Way::Upstream => self.write_routes(),
            Way::Downstream => self.write_observer(&self.setup.module, 0),
        }
        wait::until("the changed mirror", async || (self.envoy().stat(&updates).await > before).then_some(())).await;
    }

    /// Makes Envoy load this file as the module, as an update of the extension configuration. Does not wait.
    pub fn load_module(&self, module: &Path) {
        self.write_observer(module, 0);
    }

    /// Makes Envoy load, behind the router, what is to stand before it. Does not wait.
    pub fn misplace_module(&self) {
        let module = Module { code: Code::File(&self.setup.module), wrapping: self.setup.wrapping, generation: 0 };
        let mut extension = plugin(module, &self.setup.all_specs(), 0);
        extension["name"] = json!(FILTER);
        self.replace("observer.json", &discovery_response(EXTENSION, extension));
    }

    /// Makes Envoy start the same module again, by a generation that it has not had yet (and that is not 0). Does not wait.
    pub fn restart_module(&self, generation: u64) {
        self.write_observer(&self.setup.module, generation);
    }

    fn with_static<T>(&self, make: impl FnOnce(&StaticEnvoy<'_>) -> T) -> T {
        let setup = &self.setup;
        let endpoint = |address: SocketAddr| -> Endpoint {
            format!("{}://{address}", setup.scheme).parse().expect("the URL of a server")
        };
        let secondary = setup.secondary.map(endpoint);
        let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
        make(&StaticEnvoy {
            spec: &setup.spec,
            primary: &endpoint(setup.primary),
            primary_host: None,
            candidate: &endpoint(setup.candidate),
            secondary: secondary.as_ref(),
            listen: any_port,
            admin: any_port,
            observer: &self.files.path().join("observer.json"),
            routes: Some(&self.files.path().join("routes.json")),
            trust: None,
        })
    }

    fn write_routes(&self) {
        let mut routes = self.with_static(|envoy| envoy.route_configuration());
        if self.setup.way == Way::Downstream {
            let route = &mut routes["virtual_hosts"][0]["routes"][0];
            for piece in ["metadata", "typed_per_filter_config"] {
                route.as_object_mut().expect("a route").remove(piece);
            }
            route["route"].as_object_mut().expect("an action").remove("request_mirror_policies");
        }
        for edit in &self.setup.routes {
            edit(&mut routes);
        }
        self.replace("routes.json", &discovery_response(ROUTES, routes));
    }

    fn write_observer(&self, module: &Path, generation: u64) {
        let module = Module { code: Code::File(module), wrapping: self.setup.wrapping, generation };
        let extension = match self.setup.way {
            Way::Upstream => extension(module),
            Way::Downstream => plugin(module, &self.setup.all_specs(), generation),
        };
        self.replace("observer.json", &discovery_response(EXTENSION, extension));
    }

    /// Envoy follows files that another is moved over.
    fn replace(&self, name: &str, content: &Value) {
        let new = self.files.path().join(format!("{name}.new"));
        std::fs::write(&new, content.to_string()).expect("the file is written");
        std::fs::rename(new, self.files.path().join(name)).expect("the file is replaced");
    }
}

/// The name under which Envoy discovers the module before the router.
const MODULE: &str = "wasmplugin";

/// The module as Istio has Envoy load it for a WasmPlugin.
fn plugin(module: Module<'_>, specs: &[MirrorSpec], generation: u64) -> Value {
    let Code::File(path) = module.code else { panic!("the module is a file") };
    let mirrors = specs.iter().map(|spec| (spec.mirror.name.clone(), spec.to_json())).collect();
    let mut configuration = Sending { mirrors }.to_json();
    configuration["generation"] = json!(generation);
    json!({
        "name": MODULE,
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm",
            "config": {
                "name": "istio-system.kubectl-mirror",
                "failure_policy": "FAIL_OPEN",
                "configuration": {
                    "@type": "type.googleapis.com/google.protobuf.StringValue",
                    "value": configuration.to_string(),
                },
                "vm_config": { "runtime": "envoy.wasm.runtime.v8", "code": { "local": { "filename": path } } },
            },
        },
    })
}

/// Puts the module before the router instead of behind it.
fn stand_before_router(bootstrap: &mut Value, observer: &Path) {
    let listener = &mut bootstrap["static_resources"]["listeners"][0];
    let manager = &mut listener["filter_chains"][0]["filters"][0]["typed_config"];
    let filters = manager["http_filters"].as_array_mut().expect("filters");
    let mut router = filters.pop().expect("the router is the last one");
    router["typed_config"].as_object_mut().expect("its configuration").remove("upstream_http_filters");
    *filters = vec![
        json!({
            "name": MODULE,
            "config_discovery": {
                "config_source": { "path_config_source": { "path": observer }, "resource_api_version": "V3" },
                "type_urls": ["type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm"],
            },
        }),
        router,
    ];
}
