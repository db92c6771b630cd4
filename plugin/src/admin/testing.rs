//! A fake Envoy, for tests: a server on loopback whose admin page shows what it is told to.
//!
//! ```ignore
//! let envoy = FakeEnvoy::start().await;
//! envoy.module(Module::Running);
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
use crate::source::Module;

/// Its clock, as its pages and as the module's ticks say it.
const DATE_SENT: &str = "Mon, 30 Nov 2026 14:07:32 GMT";
const CLOCK: u64 = 1_796_047_652;

/// A fake Envoy in the guise of an Istio gateway of version 1.28.3. At first it has no module and no mirrors.
#[derive(Clone, Debug)]
pub struct FakeEnvoy {
    address: SocketAddr,
    pages: Arc<Mutex<BTreeMap<String, Value>>>,
}

impl FakeEnvoy {
    /// Starts it. It ends with the test's runtime.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let envoy = Self { address: listener.local_addr().expect("an address"), pages: Arc::default() };
        envoy.istio("1.28.3");
        envoy.module(Module::Missing);
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

    /// Lets this have become of the module, as it shows where Istio hides the statistics of extension discovery.
    pub fn module(&self, module: Module) {
        let (is_asked_for, is_delivered) = match module {
            Module::Missing => (false, false),
            Module::Waiting => (true, false),
            Module::Rejected | Module::Running | Module::Stopped => (true, true),
        };
        let last_tick = match module {
            Module::Running => Some(CLOCK),
            Module::Stopped => Some(CLOCK - 60),
            _ => None,
        };
        let stat = |name: &str, value: u64| json!({ "name": name, "value": value });
        let stats = last_tick.map_or_else(Vec::new, |tick| {
            vec![
                stat("wasm.kubectl-mirror.vm_reload", 0),
                stat("wasmcustom.mirror_v1__alive__1__n", tick),
                stat("wasmcustom.mirror_v1__alive__2__n", tick),
                stat("wasmcustom.mirror_v1__build__0_2e1_2e0__n", 1),
            ]
        });
        self.page("/stats", json!({ "stats": stats }));
        let configs = |is_there: bool, config: Value| if is_there { json!({ "configs": [config] }) } else { json!({}) };
        self.page(
            "/config_dump/ecds_filters",
            configs(is_delivered, json!({ "last_updated": "2026-11-30T14:00:00Z" })),
        );
        let hook = json!({ "name": "kubectl-mirror", "config_discovery": {} });
        self.page("/config_dump/dynamic_listeners", configs(is_asked_for, json!({ "upstream_http_filters": [hook] })));
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

    fn answer(&self, uri: &http::Uri) -> Response<Full<Bytes>> {
        let resource = uri.query().and_then(|query| query.split('&').find_map(|part| part.strip_prefix("resource=")));
        let page = resource.map_or_else(|| uri.path().to_owned(), |resource| format!("{}/{resource}", uri.path()));
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
