//! Scriptable servers on loopback, HTTP/1.1 and HTTP/2 without TLS, which remember each request that they saw.

mod reply;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderMap, Method, Version};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub use reply::{Reply, Step};

/// A request as a server saw it.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The method.
    pub method: Method,
    /// Path and query.
    pub path: String,
    /// `Host` or `:authority`.
    pub host: String,
    /// All headers.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
    /// HTTP/1.1 or HTTP/2.
    pub version: Version,
}

impl Seen {
    /// A header's first value; empty where there is none.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

type Handler = dyn Fn(&Seen) -> Reply + Send + Sync;

/// A running server; dropping it closes its port and its connections.
#[derive(Debug)]
pub struct Backend {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    server: JoinHandle<()>,
}

impl Backend {
    /// Starts a server that answers each request by `handler`.
    pub async fn start(handler: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("it is bound");
        let seen = Arc::default();
        let server = tokio::spawn(serve(listener, Arc::new(handler), Arc::clone(&seen)));
        Self { address, seen, server }
    }

    /// Starts a server that answers all requests with `reply`.
    pub async fn constant(reply: Reply) -> Self {
        Self::start(move |_| reply.clone()).await
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// All requests seen so far, in the order in which their bodies ended.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("no poison").clone()
    }

    /// The requests seen so far, as `METHOD PATH`, sorted.
    pub fn seen_lines(&self) -> Vec<String> {
        let mut lines: Vec<_> = self.seen().iter().map(|seen| format!("{} {}", seen.method, seen.path)).collect();
        lines.sort();
        lines
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// A loopback address at which nothing listens.
pub async fn closed_port() -> SocketAddr {
    // The port stays unused for the moment: the system hands out ports in turn.
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    listener.local_addr().expect("it is bound")
}

async fn serve(listener: TcpListener, handler: Arc<Handler>, seen: Arc<Mutex<Vec<Seen>>>) {
    // Connections end with the server: a set of tasks aborts them all when it is dropped.
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        // Else the system holds small parts of an answer back for 40 ms.
        let _ = stream.set_nodelay(true);
        while connections.try_join_next().is_some() {}
        let handler = Arc::clone(&handler);
        let seen = Arc::clone(&seen);
        connections.spawn(async move {
            let service = service_fn(move |request| answer(request, Arc::clone(&handler), Arc::clone(&seen)));
            let server = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
            let _ = server.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn answer(
    request: http::Request<Incoming>,
    handler: Arc<Handler>,
    seen: Arc<Mutex<Vec<Seen>>>,
) -> Result<http::Response<reply::Script>, reply::Cut> {
    let (parts, body) = request.into_parts();
    let host = match parts.uri.authority() {
        Some(authority) => authority.to_string(),
        None => parts.headers.get("host").and_then(|host| host.to_str().ok()).unwrap_or_default().to_owned(),
    };
    let request = Seen {
        method: parts.method,
        path: parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default(),
        host,
        headers: parts.headers,
        // A client that goes away in the middle of its body is answered too: nobody hears it.
        body: body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default(),
        version: parts.version,
    };
    let reply = handler(&request);
    seen.lock().expect("no poison").push(request);
    reply.perform().await
}
