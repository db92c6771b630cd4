//! Many small mirrors in one Envoy: a case has a route and a mirror of its own, and so counts of its own.

use http::Method;
use kubectl_mirror::envoy::{MirrorSpec, Selection, metadata, policy, selector};
use mirror_core::config::{Caps, Mirror, Rules};
use serde_json::{Value, json};

use crate::backend::{Backend, Reply};
use crate::client::{Answer, Client, Protocol, Request};
use crate::counts::Counts;
use crate::envoy::Binary;
use crate::mirror::{Setup, Way};
use crate::wait;

/// How many mirrors one Envoy gets: fewer than the module would observe at once.
const AT_ONCE: usize = 60;

/// One request and its two answers.
#[derive(Clone, Debug)]
pub struct Case {
    /// What the case is about.
    pub name: String,
    /// The request. Its path is the case's own, whatever it says.
    pub request: Request,
    /// What the client must get.
    pub primary: Reply,
    /// What it is compared with.
    pub candidate: Reply,
    /// The mirror's rules.
    pub rules: Rules,
    /// The mirror's caps.
    pub caps: Caps,
}

impl Case {
    /// A GET without rules.
    pub fn new(name: impl Into<String>, primary: Reply, candidate: Reply) -> Self {
        let (rules, caps) = (Rules::default(), Caps::default());
        Self { name: name.into(), request: Request::get("/"), primary, candidate, rules, caps }
    }

    fn spec(&self, number: usize, template: &MirrorSpec) -> MirrorSpec {
        let mirror = Mirror {
            name: mirror_name(number),
            hosts: vec![host(number)],
            methods: vec![self.request.method.to_string()],
            rules: self.rules.clone(),
            caps: self.caps.clone(),
            ..template.mirror.clone()
        };
        MirrorSpec { mirror, selection: Selection::everything(), ..template.clone() }
    }
}

fn mirror_name(number: usize) -> String {
    format!("case/{number}")
}

fn host(number: usize) -> String {
    format!("case-{number}.test")
}

fn path(number: usize) -> String {
    format!("/{number}")
}

/// Runs each case once over one connection, in this way, and returns for each what its mirror counted.
///
/// # Panics
/// When a client's answer is not the primary's to the last byte, when a candidate did not get the same request, or when a
/// pair is not counted.
pub async fn run(binary: &'static Binary, way: Way, protocol: Protocol, cases: &[Case]) -> Vec<Counts> {
    let mut counts = Vec::new();
    for cases in cases.chunks(AT_ONCE) {
        counts.extend(run_at_once(binary, way, protocol, cases).await);
    }
    counts
}

async fn run_at_once(binary: &'static Binary, way: Way, protocol: Protocol, cases: &[Case]) -> Vec<Counts> {
    let (primary, candidate) = (server(cases, |case| &case.primary).await, server(cases, |case| &case.candidate).await);
    let mut setup = Setup::new(primary.address(), candidate.address());
    if protocol == Protocol::Http2 {
        setup = setup.http2();
    }
    let specs: Vec<_> = (0..).zip(cases).map(|(number, case)| case.spec(number, setup.spec())).collect();
    setup = setup.way(way).specs(specs.clone());
    if way == Way::Upstream {
        setup = setup.routes(move |routes| add_routes(routes, &specs));
    }
    let mirror = setup.start(binary).await;

    let mut client = None;
    for (number, case) in (0..).zip(cases) {
        if !client.as_ref().is_some_and(Client::is_open) {
            client = Some(Client::connect(mirror.address, protocol).await.expect("a connection"));
        }
        let request = Request { path: path(number), ..case.request.clone() }.host(&host(number));
        let answer = client.as_mut().expect("it is there").send(&request).await;
        let answer = answer.unwrap_or_else(|failure| panic!("{}: {failure:?}", case.name));
        let mut expected = Answer::of(&case.primary);
        if request.method == Method::HEAD {
            expected.body.clear();
        }
        assert_eq!(answer.differs_from(&expected), None, "{}", case.name);
    }

    let mut counts = Vec::new();
    for (number, case) in (0..).zip(cases) {
        let what = format!("a pair of the case: {}", case.name);
        counts.push(
            wait::until(&what, async || {
                let counts = Counts::of_mirror(&mirror.envoy().stats("mirror_").await, &mirror_name(number));
                (counts.pairs() == 1).then_some(counts)
            })
            .await,
        );
        let asked = |server: &Backend| {
            let seen = server.seen().into_iter().filter(|seen| seen.path == path(number));
            seen.map(|seen| (seen.method, seen.body)).collect::<Vec<_>>()
        };
        assert_eq!(asked(&candidate), [(case.request.method.clone(), case.request.body.clone())], "{}", case.name);
        assert_eq!(asked(&candidate), asked(&primary), "{}", case.name);
    }
    counts
}

async fn server(cases: &[Case], side: fn(&Case) -> &Reply) -> Backend {
    let replies: Vec<_> = cases.iter().map(|case| side(case).clone()).collect();
    Backend::start(move |seen| {
        let number: usize = seen.path.trim_start_matches('/').parse().expect("the number of a case");
        replies[number].clone()
    })
    .await
}

/// Puts a route for each case in the place of the one route that there is.
fn add_routes(routes: &mut Value, specs: &[MirrorSpec]) {
    let list = &mut routes["virtual_hosts"][0]["routes"];
    let template = list[0].clone();
    let route = |(number, spec): (usize, &MirrorSpec)| {
        let mut route = template.clone();
        route["name"] = json!(spec.mirror.name);
        route["match"] = json!({ "path": path(number) });
        route["route"]["request_mirror_policies"] = json!(policy::policies(spec));
        route["metadata"] = metadata::metadata(spec);
        route["typed_per_filter_config"] = selector::per_route(spec);
        route
    };
    *list = specs.iter().enumerate().map(|(number, spec)| route((number, spec))).collect();
}
