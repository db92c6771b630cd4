//! A fake Envoy, for tests: a server on loopback whose admin page shows what it is told to.
//!
//! ```ignore
//! let envoy = FakeEnvoy::start().await;
//! envoy.module(Way::Observing, Module::Running);
//! envoy.mirrors(&[&mirror]);
//! envoy.endpoints("outbound|80||hello-v2.shop.svc.cluster.local", 1);
//! let gateways = Gateways::at(vec![envoy.admin()]);
//! ```
//!
//! Behind a fake API server it plays the gateway in a pod: `server.pod("istio-system", "gw-0", &envoy)`.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::header::DATE;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use mirror_core::config::Mirror;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::Admin;
use crate::source::{Module, Way};

/// Its clock, as its pages and as the module's ticks say it.
const DATE_SENT: &str = "Mon, 30 Nov 2026 14:07:32 GMT";
const CLOCK: u64 = 1_796_047_652;

/// The page with what WasmPlugins brought, and the name of what is there.
const PLUGINS: &str = "/config_dump/ecds_filters/plugins";
const PLUGIN: &str = "extensions.istio.io/wasmplugin/istio-system.kubectl-mirror-gw";

/// A fake Envoy in the guise of an Istio gateway of version 1.28.3. At first it has no module and no mirrors.
#[derive(Clone, Debug)]
pub struct FakeEnvoy {
    address: SocketAddr,
    pages: Arc<Mutex<BTreeMap<String, Value>>>,
    modules: Arc<Mutex<BTreeMap<Way, Module>>>,
    told: Arc<Mutex<String>>,
}

impl FakeEnvoy {
    /// Starts it. It ends with the test's runtime.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let envoy = Self { address, pages: Arc::default(), modules: Arc::default(), told: Arc::default() };
        envoy.istio("1.28.3");
        envoy.module(Way::Observing, Module::Missing);
        let served = envoy.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                stream.set_nodelay(true).expect("a socket");
                let envoy = served.clone();
                let service = service_fn(move |request: Request<Incoming>| {
                    let answer = envoy.answer(request.uri());
                    async move { Ok::<_, Infallible>(answer) }
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        envoy
    }

    /// Where its admin page is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A client of its admin page.
    pub fn admin(&self) -> Admin {
        Admin::at(self.address.into())
    }

    /// Shows this on a page; `page` is its path, for the config dump followed by the resource (`/config_dump/ecds_filters`).
    pub fn page(&self, page: &str, content: Value) {
        self.pages.lock().expect("no test has panicked in here").insert(page.to_owned(), content);
    }

    /// Is an Istio proxy of this version.
    pub fn istio(&self, version: &str) {
        self.page(
            "/server_info",
            json!({
                "version": "dc2d3098/1.36.2/Clean/RELEASE/BoringSSL", "state": "LIVE", "uptime_all_epochs": "75s",
                "command_line_options": { "concurrency": 1 },
                "node": { "id": "router~10.0.0.1~gw", "metadata": { "ISTIO_VERSION": version } },
            }),
        );
    }

    /// Lets this have become of the module that stands in this way, as it shows where Istio hides the statistics of extension
    /// discovery.
    pub fn module(&self, way: Way, module: Module) {
        self.modules.lock().expect("no test has panicked in here").insert(way, module);
        self.show_modules();
    }

    /// Has told the module that sends copies of these mirrors.
    pub fn told(&self, config: &Value) {
        *self.told.lock().expect("no test has panicked in here") = config.to_string();
        self.show_modules();
    }

    fn show_modules(&self) {
        let modules = self.modules.lock().expect("no test has panicked in here").clone();
        let told = self.told.lock().expect("no test has panicked in here").clone();
        let (mut stats, mut hooks) = (Vec::new(), Vec::new());
        for (way, module) in modules {
            let (first, vms, name, page) = match way {
                Way::Observing => (1, "wasm.kubectl-mirror", "kubectl-mirror", "/config_dump/ecds_filters"),
                Way::Sending => (257, "wasm.istio-system.kubectl-mirror-gw", PLUGIN, PLUGINS),
            };
            let last_tick = match module {
                Module::Running => Some(CLOCK),
                Module::Stopped => Some(CLOCK - 60),
                _ => None,
            };
            let stat = |name: &str, value: u64| json!({ "name": name, "value": value });
            stats.extend(last_tick.into_iter().flat_map(|tick| {
                vec![
                    stat(&format!("{vms}.vm_reload"), 0),
                    stat(&format!("wasmcustom.mirror_v1__alive__{first}__n"), tick),
                    stat(&format!("wasmcustom.mirror_v1__alive__{}__n", first + 1), tick),
                    stat("wasmcustom.mirror_v1__build__0_2e1_2e0__n", 1),
                ]
            }));
            let filter = match module {
                Module::Unfetched => {
                    json!({ "@type": "type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC" })
                }
                _ => json!({ "config": { "configuration": { "value": told } } }),
            };
            let config = json!({ "ecds_filter": { "name": name, "typed_config": filter } });
            let is_delivered = !matches!(module, Module::Missing | Module::Waiting);
            self.page(page, if is_delivered { json!({ "configs": [config] }) } else { json!({}) });
            if module != Module::Missing {
                hooks.push(json!({ "name": name, "config_discovery": {} }));
            }
        }
        self.page("/stats", json!({ "stats": stats }));
        self.page("/config_dump/dynamic_listeners", json!({ "configs": [{ "http_filters": hooks }] }));
    }

    /// Has these mirrors in its routes, just as they should be, and nothing else.
    pub fn mirrors(&self, mirrors: &[&Mirror]) {
        let hosts: Vec<_> = mirrors
            .iter()
            .map(|mirror| {
                let policy =
                    json!({ "cluster_header": "x-mirror-to-0", "request_headers_mutations": [{ "remove": "a" }] });
                let policies = vec![policy; 1 + usize::from(mirror.secondary.is_some())];
                json!({
                    "name": mirror.hosts[0], "domains": mirror.hosts,
                    "routes": [{
                        "match": { "prefix": "/" },
                        "route": { "cluster": "primary", "request_mirror_policies": policies },
                        "metadata": { "filter_metadata": { "kubectl-mirror": { "config": mirror.to_json() } } },
                        "typed_per_filter_config": { "kubectl-mirror.select": {} },
                    }],
                })
            })
            .collect();
        let config = json!({ "route_config": { "name": "http.8080", "virtual_hosts": hosts } });
        self.page("/config_dump/dynamic_route_configs", json!({ "configs": [config] }));
    }

    /// Sends requests for these hosts on, beside those of mirrors.
    pub fn serves(&self, hosts: &[&str]) {
        let mut pages = self.pages.lock().expect("no test has panicked in here");
        let page = pages.get_mut("/config_dump/dynamic_route_configs").expect("routes");
        let hosts = json!({ "name": "plain", "domains": hosts, "routes": [{ "route": { "cluster": "primary" } }] });
        page["configs"][0]["route_config"]["virtual_hosts"].as_array_mut().expect("a list").push(hosts);
    }

    /// Has lost the changes of copies' headers, as proxies of an older Istio lose them.
    pub fn drop_mutations(&self) {
        let mut pages = self.pages.lock().expect("no test has panicked in here");
        let page = pages.get_mut("/config_dump/dynamic_route_configs").expect("mirrors");
        let text = page.to_string().replace("request_headers_mutations", "lost");
        *page = serde_json::from_str(&text).expect("JSON");
    }

    /// Has a cluster with so many healthy endpoints.
    pub fn endpoints(&self, cluster: &str, healthy: usize) {
        const PAGE: &str = "/config_dump/dynamic_endpoint_configs";
        let endpoints = vec![json!({ "health_status": "HEALTHY" }); healthy];
        let config =
            json!({ "endpoint_config": { "cluster_name": cluster, "endpoints": [{ "lb_endpoints": endpoints }] } });
        let mut pages = self.pages.lock().expect("no test has panicked in here");
        let page = pages.entry(PAGE.to_owned()).or_insert_with(|| json!({ "configs": [] }));
        page["configs"].as_array_mut().expect("a list").push(config);
    }

    /// Has no clusters at all any more.
    pub fn without_endpoints(&self) {
        self.page("/config_dump/dynamic_endpoint_configs", json!({}));
    }

    fn answer(&self, uri: &http::Uri) -> Response<Full<Bytes>> {
        let resource = uri.query().and_then(|query| query.split('&').find_map(|part| part.strip_prefix("resource=")));
        let mut page = resource.map_or_else(|| uri.path().to_owned(), |resource| format!("{}/{resource}", uri.path()));
        if uri.query().is_some_and(|query| query.contains("kubectl-mirror-")) {
            page = PLUGINS.to_owned();
        }
        let content = self.pages.lock().expect("no test has panicked in here").get(&page).cloned();
        // As Envoy shows a resource of which it has none. What it does not show at all is no page.
        let content = content.or_else(|| page.starts_with("/config_dump/").then(|| json!({})));
        let (status, body) = content.map_or((404, String::new()), |content| (200, pretty(&content)));
        let response = Response::builder().status(status).header(DATE, DATE_SENT);
        response.body(Full::new(Bytes::from(body))).expect("a response")
    }
}

/// Envoy's pages have line breaks and spaces.
fn pretty(content: &Value) -> String {
    serde_json::to_string_pretty(content).expect("JSON")
}
