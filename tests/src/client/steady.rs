//! A client that never stops asking, so that a change that costs a request anything is noticed.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::task::JoinHandle;

use super::crowd::{Crowd, exchange};
use super::{Answer, Client, Failure, Protocol, Request};

/// Connections, and the pause after each answer: about 300 requests a second, without keeping the machine busy.
const CONNECTIONS: usize = 3;
const PAUSE: Duration = Duration::from_millis(10);

/// A client at work. Dropping it stops it.
#[derive(Debug)]
pub struct Steady {
    stop: Arc<AtomicBool>,
    clients: Vec<JoinHandle<Crowd>>,
}

impl Steady {
    /// Sends `request` again and again; each answer has to be 200.
    pub fn start(address: SocketAddr, request: Request) -> Self {
        Self::checking(address, request, |answer| {
            (answer.status != 200).then(|| format!("status {}: {}", answer.status, answer.text()))
        })
    }

    /// Sends `request` again and again; `wrong` says what is wrong with an answer.
    pub fn checking(
        address: SocketAddr,
        request: Request,
        wrong: impl Fn(&Answer) -> Option<String> + Clone + Send + Sync + 'static,
    ) -> Self {
        let stop = Arc::<AtomicBool>::default();
        let clients =
            (0..CONNECTIONS).map(|_| tokio::spawn(ask(address, request.clone(), wrong.clone(), Arc::clone(&stop))));
        Self { clients: clients.collect(), stop }
    }

    /// Stops and tells what came of all requests.
    pub async fn stop(mut self) -> Crowd {
        self.stop.store(true, Ordering::Relaxed);
        let mut all = Crowd::default();
        for client in std::mem::take(&mut self.clients) {
            let crowd = client.await.expect("a client does not panic");
            all.right += crowd.right;
            all.wrong.extend(crowd.wrong);
        }
        all
    }
}

impl Drop for Steady {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

async fn ask(
    address: SocketAddr,
    request: Request,
    wrong: impl Fn(&Answer) -> Option<String> + Send,
    stop: Arc<AtomicBool>,
) -> Crowd {
    let mut crowd = Crowd::default();
    let mut client = None;
    while !stop.load(Ordering::Relaxed) {
        match answer(&mut client, address, &request).await.map(|answer| wrong(&answer)) {
            Ok(None) => crowd.right += 1,
            Ok(Some(wrong)) => crowd.wrong.push(wrong),
            Err(failure) => crowd.wrong.push(format!("{failure:?}")),
        }
        tokio::time::sleep(PAUSE).await;
    }
    crowd
}

/// What a client gets. A server may close a connection that it has kept, as the listeners of an Envoy do that was given others,
/// just when the next request is on its way: such a request any client sends once more, over a new connection.
async fn answer(client: &mut Option<Client>, address: SocketAddr, request: &Request) -> Result<Answer, Failure> {
    let is_kept = client.as_ref().is_some_and(Client::is_open);
    match exchange(client, address, Protocol::Http1, request).await {
        Err(Failure::NoAnswer(_)) if is_kept => {
            *client = None;
            exchange(client, address, Protocol::Http1, request).await
        }
        answered => answered,
    }
}
