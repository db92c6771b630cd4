//! What the tests of the commands share: a Service with two versions that remember what they saw, requests of every kind,
//! and the plugin as its user types it.

use std::sync::{Mutex, PoisonError};

use http::Method;
use mirror_tests::backend::{Backend, Reply, Seen};
use mirror_tests::client::{Protocol, Request, Steady, once};
use mirror_tests::cluster::{Cluster, Gateway, Service, Traffic, alone_on_cluster, on_cluster};
use mirror_tests::program::Ended;
use mirror_tests::{module, wait};
use serde_json::{Value, json};

/// Runs a test beside others, with the filter installed to stay.
pub fn with_filter(test: impl AsyncFn(&'static Cluster)) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    on_cluster(async |cluster| {
        {
            let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
            assert_ok(&cluster.admin().mirror(&["install"]));
        }
        test(cluster).await;
    });
}

/// Runs a test alone, with the module in the listeners by a WasmPlugin that stays. Not beside others: where it comes from a file,
/// newer Envoys begin to count anew with each change of the object, whoever makes it.
pub fn with_plugin(test: impl AsyncFn(&'static Cluster)) {
    alone_on_cluster(async |cluster| {
        let module = module_options();
        let options = module.iter().map(String::as_str);
        let install: Vec<_> = ["install", "--strategy", WASM_PLUGIN].into_iter().chain(options).collect();
        assert_ok(&cluster.admin().mirror(&install));
        test(cluster).await;
    });
}

/// The strategy.
pub const WASM_PLUGIN: &str = "wasmplugin";

/// Where an Envoy without Istio's agent gets the module.
pub fn module_options() -> [String; 4] {
    let path = module::built();
    let url = format!("file://{}", path.display());
    let sha256 = module::sha256(path);
    ["--module-url".to_owned(), url, "--module-sha256".to_owned(), sha256]
}

/// Asserts that a command succeeded.
pub fn assert_ok(ended: &Ended) {
    assert_eq!(ended.status, Some(0), "{ended:#?}");
}

/// A Service `hello` in a namespace of its own, whose users are served by v1, and whose v2 has the tag `v2`. Clients ask for
/// `/steady` through each gateway all the time.
pub struct Hello {
    pub cluster: &'static Cluster,
    pub service: Service,
    pub v1: Backend,
    pub v2: Backend,
    strategy: Option<&'static str>,
    steady: Vec<Steady>,
    expected: Vec<String>,
}

/// The path of the steady clients' requests.
const STEADY: &str = "/steady";

/// The role of a copy to the candidate, in the header [`ROLE`].
pub const SHADOW: &str = "shadow";
/// The role of a second copy to the primary's version.
pub const SECONDARY: &str = "secondary";
const ROLE: &str = "x-mirror-role";

/// How many requests show whether a share is right.
const MANY: usize = 150;

/// What is copied of [`Hello::send_all`] with the strategies' defaults.
pub const SAFE: [&str; 3] = ["GET /get", "HEAD /head", "OPTIONS /options"];
/// What is copied of it with `--gateway local`.
pub const SAFE_LOCAL: [&str; 2] = ["GET /local-get", "GET /local-get-short"];

impl Hello {
    /// Both versions answer the same.
    pub async fn start(cluster: &'static Cluster) -> Self {
        let reply = Reply::json(&json!({"greeting": "hello"}));
        Self::answering(cluster, reply.clone(), reply).await
    }

    /// The versions answer with these.
    pub async fn answering(cluster: &'static Cluster, v1: Reply, v2: Reply) -> Self {
        let namespace = cluster.namespace("hello").await;
        let (v1, v2) = (Backend::constant(v1).await, Backend::constant(v2).await);
        let mut service = Service::new(cluster, &namespace, "hello");
        service.revision("v1", v1.address()).await;
        service.revision("v2", v2.address()).await;
        service.traffic(&[Traffic::percent("v1", 100), Traffic::tag("v2", "v2")]).await;
        let mut hello = Self { cluster, service, v1, v2, strategy: None, steady: Vec::new(), expected: Vec::new() };
        hello.start_steady();
        hello
    }

    /// The same, to be mirrored with this strategy.
    pub fn by(self, strategy: &'static str) -> Self {
        Self { strategy: Some(strategy), ..self }
    }

    /// Starts the clients that ask all the time.
    pub fn start_steady(&mut self) {
        let request = Request::get(STEADY).host(&self.service.host());
        let gateways = self.cluster.gateways().iter();
        self.steady = gateways.map(|gateway| Steady::start(gateway.external(), request.clone())).collect();
    }

    /// Stops them; not one of their requests has failed.
    pub async fn stop_steady(&mut self) {
        for steady in std::mem::take(&mut self.steady) {
            let met = steady.stop().await;
            met.assert_all_right();
            assert!(met.right > 0);
        }
    }

    /// `kubectl mirror` in this Service's namespace.
    pub fn mirror(&self, arguments: &[&str]) -> Ended {
        self.cluster.admin().mirror(&[arguments, &["-n", self.service.namespace()]].concat())
    }

    /// The same, which must succeed.
    pub fn mirror_ok(&self, arguments: &[&str]) -> Ended {
        let ended = self.mirror(arguments);
        assert_ok(&ended);
        ended
    }

    /// Mirrors to v2, with these options beside.
    pub fn enable(&self, options: &[&str]) -> Ended {
        let strategy = self.strategy.map_or_else(Vec::new, |strategy| vec!["--strategy", strategy]);
        self.mirror_ok(&[&["enable", "hello", "--to", "v2"], options, &strategy].concat())
    }

    /// What `status` says of the mirror.
    pub fn status(&self) -> Value {
        let said = self.mirror_ok(&["status", "hello", "-o", "json"]).json();
        said["mirrors"][0].clone()
    }

    /// Waits until `status` says this state of the mirror.
    pub async fn until_state(&self, state: &str) -> Value {
        let mut last = Value::Null;
        let found = wait::within(wait::PATIENCE, async || {
            last = self.status();
            (last["state"] == state).then_some(())
        })
        .await;
        assert!(found.is_some(), "not {state}, but {last:#}");
        last
    }

    /// Waits until `status` says this of the mirror in the gateway pods, each as `STATE MODULE`.
    pub async fn until_pods(&self, expected: &[&str]) -> Value {
        let mut last = Value::Null;
        let found = wait::within(wait::PATIENCE, async || {
            last = self.status();
            let pods = last["pods"].as_array().expect("a list").iter();
            let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
            let said = pods.map(|pod| format!("{} {}", word(&pod["state"]), word(&pod["module"])));
            said.eq(expected.iter().copied()).then_some(())
        })
        .await;
        assert!(found.is_some(), "not {expected:?}, but {last:#}");
        last
    }

    /// What `report` says of the mirror; nothing before it has counted anything.
    pub fn report(&self) -> Value {
        let said = self.mirror_ok(&["report", "hello", "-o", "json"]).json();
        said["mirrors"][0].clone()
    }

    /// Waits until the report counts just as many pairs as v2 has seen copies. The steady clients must have stopped. Gives
    /// the pairs by outcome, for example `skipped (same_revision)`.
    pub async fn counted(&self) -> Vec<(String, u64)> {
        let mut last = Value::Null;
        let found = wait::within(wait::PATIENCE, async || {
            last = self.report();
            (last["pairs"] == self.seen_as(SHADOW).len()).then_some(())
        })
        .await;
        assert!(found.is_some(), "{} copies, but {last:#}", self.seen_as(SHADOW).len());
        let outcomes = last["outcomes"].as_array().expect("a list").iter().map(|entry| {
            let outcome = entry["outcome"].as_str().expect("a word");
            let reason = entry["reason"].as_str().map(|reason| format!(" ({reason})")).unwrap_or_default();
            (format!("{outcome}{reason}"), entry["pairs"].as_u64().expect("a count"))
        });
        outcomes.filter(|(_, pairs)| *pairs > 0).collect()
    }

    /// All copies of this role that v2, or for secondaries v1, has seen.
    pub fn seen_as(&self, role: &str) -> Vec<Seen> {
        let backend = if role == SECONDARY { &self.v1 } else { &self.v2 };
        let mut seen = backend.seen();
        seen.retain(|seen| seen.header(ROLE) == role);
        seen
    }

    /// The same as `METHOD PATH`, without those of the steady clients.
    fn copies(&self, role: &str) -> Vec<String> {
        let seen = self.seen_as(role).into_iter().filter(|seen| seen.path != STEADY);
        let mut lines: Vec<_> = seen.map(|seen| format!("{} {}", seen.method, seen.path)).collect();
        lines.sort();
        lines
    }

    /// Waits until a steady client's request has been copied.
    pub async fn until_copied(&self) {
        let before = self.seen_as(SHADOW).len();
        wait::until("a copy", async || (self.seen_as(SHADOW).len() > before).then_some(())).await;
    }

    /// A request of every kind, and whether it goes through the local listener. The path says what it is.
    fn every_kind(&self) -> Vec<(bool, Request)> {
        let service = &self.service;
        let plain = |method: Method, path: &str| Request::new(method, path).host(&service.host());
        let short = service.local_host().replace(".svc.cluster.local", "");
        vec![
            (false, plain(Method::GET, "/get")),
            (false, plain(Method::HEAD, "/head")),
            (false, plain(Method::OPTIONS, "/options")),
            (false, plain(Method::POST, "/post").body("x")),
            (false, plain(Method::DELETE, "/delete")),
            (false, plain(Method::GET, "/probe").header("K-Network-Hash", "override")),
            (false, plain(Method::GET, "/health").header("K-Network-Probe", "queue")),
            (false, plain(Method::GET, "/tag").host(&service.tag_host("v2"))),
            (true, plain(Method::GET, "/local-get").host(&service.local_host())),
            (true, plain(Method::GET, "/local-get-short").host(&short)),
            (true, plain(Method::POST, "/local-post").host(&service.local_host()).body("x")),
        ]
    }

    /// Sends a request of every kind through each gateway; all are answered. The paths begin with `round`, for example `/a`.
    pub async fn send_all(&self, round: &str) {
        for gateway in self.cluster.gateways() {
            for (is_local, mut request) in self.every_kind() {
                request.path.insert_str(0, round);
                send(gateway, is_local, &request).await;
            }
        }
    }

    /// Sends [`MANY`] requests for `path` through each gateway, each with the header that `header` gives.
    pub async fn send_many(&self, path: &str, header: impl Fn(usize) -> Option<(&'static str, String)>) {
        for gateway in self.cluster.gateways() {
            for i in 0..MANY {
                let request = Request::get(path).host(&self.service.host());
                let request = match header(i) {
                    Some((name, value)) => request.header(name, &value),
                    None => request,
                };
                send(gateway, false, &request).await;
            }
        }
    }

    /// Asserts that about 30 % of what [`Hello::send_many`] sends was copied.
    pub fn assert_share(&self, copied: usize) {
        let of = MANY * self.cluster.gateways().len();
        // Seven standard deviations to both sides, were each drawn by itself.
        assert!((of / 10..of / 2).contains(&copied), "{copied} of {of}");
    }

    /// Sends a request of every kind through each gateway and asserts that these, as `METHOD /KIND`, are copied to v2 and no
    /// others, and that each version sees requests as Knative sends them there.
    pub async fn assert_copied(&mut self, round: &str, kinds: &[&str]) {
        self.send_all(round).await;
        for kind in kinds {
            let line = kind.replacen(" /", &format!(" {round}/"), 1);
            self.expected.extend(vec![line; self.cluster.gateways().len()]);
        }
        self.expected.sort();
        wait::until("all copies", async || (self.copies(SHADOW).len() >= self.expected.len()).then_some(())).await;
        assert_eq!(self.copies(SHADOW), self.expected);
        self.assert_revisions(round);
    }

    /// Each version sees its own revision's headers, on copies too, and nothing of how a mirror is configured.
    fn assert_revisions(&self, round: &str) {
        let all = [(&self.v1, "hello-v1"), (&self.v2, "hello-v2")];
        for (backend, revision) in all {
            for seen in backend.seen() {
                assert_eq!(seen.header("knative-serving-revision"), revision, "{seen:#?}");
                assert_eq!(seen.header("knative-serving-namespace"), self.service.namespace(), "{seen:#?}");
                assert_eq!(seen.header("x-mirror-config"), "", "{seen:#?}");
            }
        }
        let is_of_round = |seen: &Seen| seen.path.starts_with(&format!("{round}/")) && seen.header(ROLE).is_empty();
        let primaries = |backend: &Backend| backend.seen().iter().filter(|seen| is_of_round(seen)).count();
        let gateways = self.cluster.gateways().len();
        // The tag's host is the only one that v2 serves.
        assert_eq!(primaries(&self.v1), (self.every_kind().len() - 1) * gateways);
        assert_eq!(primaries(&self.v2), gateways);
    }

    /// The end of a test: no request has failed, and nothing was copied late that should not have been.
    pub async fn finish(mut self) {
        self.stop_steady().await;
        assert_eq!(self.copies(SHADOW), self.expected);
        // A mirror that stays would keep others from the last one's end.
        if !self.mirror(&["list", "-o", "name"]).stdout.is_empty() {
            self.mirror_ok(&["disable", "hello"]);
        }
    }
}

/// Sends a request, which is answered with 200.
pub async fn send(gateway: &Gateway, is_local: bool, request: &Request) {
    let address = if is_local { gateway.local() } else { gateway.external() };
    let answer = once(address, Protocol::Http1, request).await.expect("an answer");
    assert_eq!(answer.status, 200, "{request:?}");
}
