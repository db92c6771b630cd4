//! Many clients at once, each of which checks every answer against what the primary gives for that request.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::{Answer, Client, Failure, Protocol, Request};

/// What a crowd of clients met with.
#[derive(Debug, Default)]
pub struct Crowd {
    /// How many answers were right to the last byte.
    pub right: usize,
    /// What was wrong with the others.
    pub wrong: Vec<String>,
}

impl Crowd {
    /// Asserts that every answer was right.
    ///
    /// # Panics
    /// When one was not.
    pub fn assert_all_right(&self) {
        let shown = self.wrong.iter().take(5).cloned().collect::<Vec<_>>().join("\n");
        assert!(self.wrong.is_empty(), "{} wrong and {} right:\n{shown}", self.wrong.len(), self.right);
    }
}

/// Sends `requests` over `connections` connections, each taking the next request when its last is answered, and holds
/// every answer against `expected`. A connection that the server closed is made anew.
pub async fn crowd(
    address: SocketAddr,
    protocol: Protocol,
    connections: usize,
    requests: Vec<Request>,
    expected: impl Fn(&Request) -> Answer + Send + Sync + 'static,
) -> Crowd {
    let requests = Arc::new(requests);
    let expected = Arc::new(expected);
    let next = Arc::new(AtomicUsize::new(0));
    let result = Arc::new(Mutex::new(Crowd::default()));
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..connections {
        let (requests, expected) = (Arc::clone(&requests), Arc::clone(&expected));
        let (next, result) = (Arc::clone(&next), Arc::clone(&result));
        clients.spawn(async move {
            let mut client = None;
            while let Some(request) = requests.get(next.fetch_add(1, Ordering::Relaxed)) {
                let wrong = match exchange(&mut client, address, protocol, request).await {
                    Ok(answer) => answer.differs_from(&expected(request)),
                    Err(failure) => Some(format!("{failure:?}")),
                };
                let mut result = result.lock().expect("no poison");
                match wrong {
                    None => result.right += 1,
                    Some(wrong) => result.wrong.push(format!("{} {}: {wrong}", request.method, request.path)),
                }
            }
        });
    }
    while let Some(client) = clients.join_next().await {
        client.expect("a client does not panic");
    }
    std::mem::take(&mut *result.lock().expect("no poison"))
}

/// Sends a request over `client`, which is connected first where it has to be.
pub(super) async fn exchange(
    client: &mut Option<Client>,
    address: SocketAddr,
    protocol: Protocol,
    request: &Request,
) -> Result<Answer, Failure> {
    if !client.as_ref().is_some_and(Client::is_open) {
        *client = Some(Client::connect(address, protocol).await?);
    }
    client.as_mut().expect("it was just made").send(request).await
}
