//! What kubectl-mirror costs inside Envoy, measured as Envoy's CPU per request, all variants side by side in one run.
//!
//! Wall time says little on a shared machine; the time that Envoy's threads were on a CPU says what the work was. Each
//! variant has an Envoy of its own with one worker. They take turns for a number of rounds, and the lower quartile of
//! each is shown, since noise only ever adds.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use kubectl_mirror::envoy::SELECT;
use mirror_tests::backend::{Backend, Reply};
use mirror_tests::client::{Answer, HOST, Protocol, Request, crowd};
use mirror_tests::envoy::{Binary, Envoy, binaries};
use mirror_tests::mirror::{Running, Setup, Way};
use mirror_tests::plain;
use serde_json::{Value, json};

const ROUNDS: usize = 8;
const CONNECTIONS: usize = 32;
/// About 1.2 KB of JSON, and about 73 KB.
const SMALL: usize = 12;
const LARGE: usize = 700;

/// One way to handle a request.
struct Variant {
    name: &'static str,
    /// The row that it is held against, and the aim where there is one.
    against: Option<(&'static str, Option<f64>)>,
    requests: usize,
    address: SocketAddr,
    expected: Answer,
    process: Process,
    micros: Vec<f64>,
}

/// An Envoy, kept running.
enum Process {
    Plain(Envoy),
    Mirror(Box<Running>),
}

impl Process {
    fn envoy(&self) -> &Envoy {
        match self {
            Self::Plain(envoy) => envoy,
            Self::Mirror(running) => running.envoy(),
        }
    }
}

fn document(items: usize, candidate: bool) -> Value {
    let items: Vec<_> = (0..items)
        .map(|id| {
            let price = if candidate && (id == items / 3 || id == items / 2) { 1.5 } else { 0.5 };
            json!({"id": id, "name": format!("thing number {id}"), "price": f64::from(id as u32) + price,
                "tags": ["small", "blue"], "available": id % 3 == 0})
        })
        .collect();
    json!({"items": items, "total": 7})
}

/// An Envoy without anything of ours; with `candidate` it mirrors by itself.
async fn plain_envoy(
    binary: &'static Binary,
    primary: SocketAddr,
    candidate: Option<SocketAddr>,
) -> (Process, SocketAddr) {
    let mut bootstrap = plain::bootstrap(primary);
    if let Some(candidate) = candidate {
        let listener = &mut bootstrap["static_resources"]["listeners"][0]["filter_chains"][0]["filters"][0];
        let route = &mut listener["typed_config"]["route_config"]["virtual_hosts"][0]["routes"][0]["route"];
        route["request_mirror_policies"] = json!([{"cluster": "candidate"}]);
        let mut cluster = plain::bootstrap(candidate)["static_resources"]["clusters"][0].take();
        cluster["name"] = json!("candidate");
        cluster["load_assignment"]["cluster_name"] = json!("candidate");
        bootstrap["static_resources"]["clusters"].as_array_mut().expect("clusters").push(cluster);
    }
    let envoy = Envoy::start(binary, &bootstrap, 1).await;
    let address = envoy.listener(plain::LISTENER).await;
    (Process::Plain(envoy), address)
}

async fn mirror_envoy(binary: &'static Binary, setup: Setup) -> (Process, SocketAddr) {
    let running = setup.workers(1).start(binary).await;
    let address = running.address;
    (Process::Mirror(Box::new(running)), address)
}

async fn variants(binary: &'static Binary, servers: &[(Backend, Reply); 4]) -> Vec<Variant> {
    let [small, small_candidate, large, large_candidate] = servers;
    let mut all = Vec::new();
    let mut add = |name, against, requests, (process, address): (Process, SocketAddr), reply: &Reply| {
        let expected = Answer::of(reply);
        all.push(Variant { name, against, requests, address, expected, process, micros: Vec::new() });
    };
    let setup = || Setup::new(small.0.address(), small_candidate.0.address());

    let plain = "plain";
    add(plain, None, 3000, plain_envoy(binary, small.0.address(), None).await, &small.1);
    let unmirrored = setup().routes(|routes| {
        let route = &mut routes["virtual_hosts"][0]["routes"][0];
        for part in ["metadata", "typed_per_filter_config"] {
            route.as_object_mut().expect("a route").remove(part);
        }
        route["route"].as_object_mut().expect("an action").remove("request_mirror_policies");
    });
    add(
        "a host that is not mirrored",
        Some((plain, Some(1.15))),
        3000,
        mirror_envoy(binary, unmirrored).await,
        &small.1,
    );
    let rarely = setup().selection(|selection| selection.millionths = 1);
    add("mirrored, not sampled", Some((plain, Some(1.3))), 3000, mirror_envoy(binary, rarely).await, &small.1);
    let before_router = || setup().way(Way::Downstream);
    let elsewhere = before_router().mirror(|mirror| mirror.hosts = vec!["elsewhere.test".into()]);
    add("before the router: another host", Some((plain, None)), 3000, mirror_envoy(binary, elsewhere).await, &small.1);
    let rarely = before_router().selection(|selection| selection.millionths = 1);
    add("before the router: not sampled", Some((plain, None)), 3000, mirror_envoy(binary, rarely).await, &small.1);

    let own = "Envoy's own mirroring, 1.2 KB";
    let copied = plain_envoy(binary, small.0.address(), Some(small_candidate.0.address())).await;
    add(own, None, 3000, copied, &small.1);
    let without = mirror_envoy(binary, setup().module(Path::new("/nonexistent/module.wasm"))).await;
    add("a pair copied, the module missing, 1.2 KB", Some((own, None)), 3000, without, &small.1);
    add("a pair compared, equal, 1.2 KB", Some((own, Some(1.35))), 3000, mirror_envoy(binary, setup()).await, &small.1);
    let sent = mirror_envoy(binary, before_router()).await;
    add("before the router: a pair, equal, 1.2 KB", Some((own, None)), 3000, sent, &small.1);

    let own = "Envoy's own mirroring, 73 KB";
    let (primary, candidate) = (large.0.address(), large_candidate.0.address());
    add(own, None, 800, plain_envoy(binary, primary, Some(candidate)).await, &large.1);
    let compared = mirror_envoy(binary, Setup::new(primary, candidate)).await;
    add("a pair compared, two fields differ, 73 KB", Some((own, Some(1.6))), 800, compared, &large.1);
    let sent = mirror_envoy(binary, Setup::new(primary, candidate).way(Way::Downstream)).await;
    add("before the router: a pair, two fields, 73 KB", Some((own, None)), 800, sent, &large.1);
    all
}

/// Sends a round of requests and notes Envoy's CPU time for each, in microseconds.
async fn round(variant: &mut Variant) {
    let envoy = variant.process.envoy();
    let before = envoy.cpu_time();
    let expected = variant.expected.clone();
    let requests = (0..variant.requests).map(|i| Request::get(format!("/things/{i}")).host(HOST)).collect();
    let result = crowd(variant.address, Protocol::Http1, CONNECTIONS, requests, move |_| expected.clone()).await;
    result.assert_all_right();
    // Shadows may still be under way when the last client has its answer, and counts are flushed each second.
    tokio::time::sleep(Duration::from_millis(1200)).await;
    let spent = variant.process.envoy().cpu_time().saturating_sub(before);
    variant.micros.push(spent.as_secs_f64() * 1e6 / variant.requests as f64);
}

fn lower_quartile(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 4]
}

async fn measure(binary: &'static Binary) {
    let reply = |items, candidate| Reply::json(&document(items, candidate));
    let replies = [reply(SMALL, false), reply(SMALL, false), reply(LARGE, false), reply(LARGE, true)];
    let mut servers = Vec::new();
    for reply in replies {
        servers.push((Backend::constant(reply.clone()).await, reply));
    }
    let servers: [_; 4] = servers.try_into().unwrap_or_else(|_| unreachable!("four replies"));
    let mut variants = variants(binary, &servers).await;
    for _ in 0..ROUNDS {
        for variant in &mut variants {
            round(variant).await;
        }
    }

    println!("Envoy {}, CPU of Envoy per request, lower quartile of {ROUNDS} rounds", binary.version);
    println!("{:<44}{:>10}{:>9}{:>8}", "", "µs", "ratio", "aim");
    for variant in &variants {
        let own = lower_quartile(&variant.micros);
        print!("{:<44}{own:>10.1}", variant.name);
        match variant.against {
            None => println!("{:>9}", "1.00"),
            Some((base, aim)) => {
                let base = variants.iter().find(|other| other.name == base).expect("a row above");
                let aim = aim.map_or_else(String::new, |aim| format!("≤ {aim}"));
                println!("{:>9.2}{aim:>8}", own / lower_quartile(&base.micros));
            }
        }
    }
    for variant in &variants {
        if let Process::Mirror(running) = &variant.process {
            let counts = running.counts().await;
            println!("  ({}: {} pairs counted)", variant.name, counts.pairs());
        }
    }
    println!("  (the selector is the filter {SELECT})\n");
}

fn main() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let binary = binaries().last().expect("an Envoy");
    runtime.block_on(measure(binary));
    println!("module: {} bytes", kubectl_mirror::module::MODULE.len());
}
