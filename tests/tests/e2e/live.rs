//! Changes while traffic runs: of the mirror's configuration by a route update, of the module by an extension update.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use kubectl_mirror::source::admin;
use mirror_tests::backend::{Backend, Reply};
use mirror_tests::client::{Answer, Client, Protocol, Request};
use mirror_tests::counts::Counts;
use mirror_tests::envoy::Binary;
use mirror_tests::mirror::{Running, Setup, Way};
use mirror_tests::{module, on_each_way, wait};
use serde_json::json;
use tokio::task::JoinHandle;

const CLIENTS: usize = 8;

fn primary_reply() -> Reply {
    Reply::json(&json!({"a": 1, "b": 1}))
}

/// Clients that send one request after the other until they are told to stop.
struct Traffic {
    stop: Arc<AtomicBool>,
    sent: Arc<AtomicUsize>,
    clients: Vec<JoinHandle<Vec<String>>>,
}

impl Traffic {
    fn start(address: SocketAddr) -> Self {
        let (stop, sent) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let clients = (0..CLIENTS).map(|_| {
            let (stop, sent) = (Arc::clone(&stop), Arc::clone(&sent));
            tokio::spawn(async move {
                let expected = Answer::of(&primary_reply());
                let mut wrong = Vec::new();
                let mut client = None;
                while !stop.load(Ordering::Relaxed) {
                    if !client.as_ref().is_some_and(Client::is_open) {
                        client = Some(Client::connect(address, Protocol::Http1).await.expect("a connection"));
                    }
                    let answer = client.as_mut().expect("it is there").send(&Request::get("/x")).await;
                    match answer.map(|answer| answer.differs_from(&expected)) {
                        Ok(None) => {}
                        other => wrong.push(format!("{other:?}")),
                    }
                    sent.fetch_add(1, Ordering::Relaxed);
                }
                wrong
            })
        });
        let clients = clients.collect();
        Self { stop, sent, clients }
    }

    /// Waits until a good number of requests more have been answered.
    async fn goes_on(&self) {
        let goal = self.sent.load(Ordering::Relaxed) + 300;
        wait::until("more traffic", async || (self.sent.load(Ordering::Relaxed) >= goal).then_some(())).await;
    }

    /// Stops the clients, none of which may have got a wrong answer. Returns how many requests there were.
    async fn stop(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        for client in self.clients {
            let wrong = client.await.expect("a client does not panic");
            assert!(wrong.is_empty(), "{wrong:?}");
        }
        u64::try_from(self.sent.load(Ordering::Relaxed)).expect("not that many")
    }
}

async fn start(binary: &'static Binary, way: Way) -> (Backend, Backend, Running) {
    let primary = Backend::constant(primary_reply()).await;
    let candidate = Backend::constant(Reply::json(&json!({"a": 2, "b": 2}))).await;
    let mirror = Setup::new(primary.address(), candidate.address()).way(way).start(binary).await;
    (primary, candidate, mirror)
}

#[test]
fn the_mirror_can_be_changed_under_traffic() {
    on_each_way(async |binary, way| {
        let (primary, candidate, mut mirror) = start(binary, way).await;
        let traffic = Traffic::start(mirror.address);
        traffic.goes_on().await;
        mirror.change(|spec| spec.mirror.rules.ignore = vec!["/a".parse().expect("a place")]).await;
        traffic.goes_on().await;
        mirror.change(|spec| spec.mirror.rules.ignore.push("/b".parse().expect("a place"))).await;
        traffic.goes_on().await;
        mirror.change(|spec| spec.mirror.methods = vec!["POST".into()]).await;
        traffic.goes_on().await;
        let sent = traffic.stop().await;

        assert_eq!(u64::try_from(primary.seen().len()).expect("few"), sent);
        let copied = u64::try_from(candidate.seen().len()).expect("few");
        assert!(copied < sent, "the last change stopped the copies");
        let counts = mirror.settled(copied).await;
        let of = |outcome: &str| counts.outcomes.get(outcome).copied().unwrap_or(0);
        assert_eq!(of("match") + of("diverged"), copied, "{counts:?}");
        let places = counts.diverged();
        // `/b` differed until the second change, `/a` until the first.
        assert_eq!(places.get("/b value"), Some(&of("diverged")), "{counts:?}");
        assert!(places["/a value"] < places["/b value"], "{counts:?}");
        assert!(of("match") >= 200, "{counts:?}");

        // The last configuration holds.
        mirror.change(|spec| spec.mirror.methods = vec!["GET".into()]).await;
        mirror.get("/x").await;
        let after = mirror.settled(copied + 1).await;
        assert_eq!(after.outcomes["match"], of("match") + 1);
    });
}

#[test]
fn the_module_can_be_replaced_under_traffic() {
    on_each_way(async |binary, way| {
        let (_primary, candidate, mirror) = start(binary, way).await;
        let loaded = way.updates();
        let traffic = Traffic::start(mirror.address);
        traffic.goes_on().await;
        for module in [module::trapping(), module::built()] {
            let before = mirror.envoy().stat(&loaded).await;
            mirror.load_module(module);
            wait::until("the other module", async || (mirror.envoy().stat(&loaded).await > before).then_some(())).await;
            traffic.goes_on().await;
        }
        // Envoy forgets a module's counters with the module, so what is counted now was paired by the last one.
        wait::until("pairs", async || (mirror.counts().await.pairs() > 0).then_some(())).await;
        let sent = traffic.stop().await;
        // The last copy may be on its way.
        wait::until("each request's copy", async || (candidate.seen().len() as u64 >= sent).then_some(())).await;
        assert_eq!(candidate.seen().len() as u64, sent);
        let counted = quiet(&mirror).await;
        assert!((1..sent).contains(&counted.pairs()), "{counted:?}");
        counted.assert_outcomes(&[("diverged", counted.pairs())]);
        mirror.get("/x").await;
        mirror.settled(counted.pairs() + 1).await;
    });
}

/// The counts when every worker has reported what it knew at the end of the traffic.
async fn quiet(mirror: &Running) -> Counts {
    let address = mirror.envoy().admin().to_string().parse().expect("an address");
    let read = async || admin::read(&address).await.expect("a snapshot").instances[0].clone();
    let end = read().await.clock;
    wait::until("a tick of each VM", async || read().await.has_ticked_after(end).then_some(())).await;
    mirror.counts().await
}
