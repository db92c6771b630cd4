//! Clients, HTTP/1.1 and HTTP/2 without TLS: one connection each, one request at a time, every byte kept.

mod crowd;
mod steady;

use std::collections::BTreeMap;
use std::net::SocketAddr;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, SET_COOKIE};
use http::{HeaderMap, Method, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::backend::Reply;
use crate::wait::PATIENCE;

pub use crowd::{Crowd, crowd};
pub use steady::Steady;

/// The host that requests are for unless they say otherwise.
pub const HOST: &str = "hello.test";

/// How a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2 with prior knowledge.
    Http2,
}

/// A request.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// Path and query.
    pub path: String,
    /// `Host` or `:authority`.
    pub host: String,
    /// Headers beside the host.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
}

impl Request {
    /// A GET for [`HOST`].
    pub fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path)
    }

    /// A request for [`HOST`] without a body.
    pub fn new(method: Method, path: impl Into<String>) -> Self {
        Self { method, path: path.into(), host: HOST.to_owned(), headers: Vec::new(), body: Bytes::new() }
    }

    /// The same for another host.
    pub fn host(mut self, host: &str) -> Self {
        self.host = host.to_owned();
        self
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the body.
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    fn build(&self, protocol: Protocol) -> http::Request<Full<Bytes>> {
        let mut request = http::Request::builder().method(&self.method);
        request = match protocol {
            Protocol::Http1 => request.uri(&self.path).header("host", &self.host),
            Protocol::Http2 => request.uri(format!("http://{}{}", self.host, self.path)),
        };
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        request.body(Full::new(self.body.clone())).expect("a request")
    }
}

/// What a client got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Headers, without those that belong to one connection or that Envoy adds to every answer.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
    /// The trailers, where there are any.
    pub trailers: Option<HeaderMap>,
}

/// What Envoy, or the connection, adds to any answer.
const NOT_THE_SERVERS: [&str; 6] =
    ["date", "server", "x-envoy-upstream-service-time", "transfer-encoding", "connection", "keep-alive"];

impl Answer {
    fn new(status: StatusCode, mut headers: HeaderMap, body: Bytes, trailers: Option<HeaderMap>) -> Self {
        for name in NOT_THE_SERVERS {
            headers.remove(name);
        }
        Self { status: status.as_u16(), headers, body, trailers }
    }

    /// What a client should get of `reply`, where nothing cuts it. HTTP/1.1 servers say how long a whole body is.
    pub fn of(reply: &Reply) -> Self {
        let (status, headers, body, trailers) = reply.whole();
        Self::new(status, headers.clone(), body, trailers.cloned())
    }

    /// A header's first value; empty where there is none.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// In what the two differ, byte for byte; the length is the body's affair. `None` where in nothing.
    pub fn differs_from(&self, expected: &Self) -> Option<String> {
        if self.status != expected.status {
            return Some(format!("status {} instead of {}", self.status, expected.status));
        }
        if lines(&self.headers) != lines(&expected.headers) {
            return Some(format!("headers {:?} instead of {:?}", self.headers, expected.headers));
        }
        if self.body != expected.body {
            return Some(format!("a body of {} bytes instead of {}", self.body.len(), expected.body.len()));
        }
        if self.trailers.as_ref().map(lines) != expected.trailers.as_ref().map(lines) {
            return Some(format!("trailers {:?} instead of {:?}", self.trailers, expected.trailers));
        }
        None
    }
}

/// Headers by name, but for the body's length. Any proxy may join values of one name by commas, save those of cookies.
fn lines(headers: &HeaderMap) -> BTreeMap<&str, Vec<u8>> {
    let names = headers.keys().filter(|name| *name != CONTENT_LENGTH);
    names
        .map(|name| {
            let separator = if name == SET_COOKIE { b'\n' } else { b',' };
            let values = headers.get_all(name).iter().map(http::HeaderValue::as_bytes);
            (name.as_str(), values.collect::<Vec<_>>().join(&separator))
        })
        .collect()
}

/// Why there is no whole answer.
#[derive(Debug)]
pub enum Failure {
    /// The connection could not be made, or ended before the headers came.
    NoAnswer(String),
    /// The answer was cut in its body; this came of it.
    Cut(StatusCode),
    /// Nothing happened for [`PATIENCE`].
    Silence,
}

enum Sender {
    Http1(http1::SendRequest<Full<Bytes>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

/// One connection. Dropping it closes the connection at once, whatever is under way on it.
pub struct Client {
    protocol: Protocol,
    sender: Sender,
    connection: JoinHandle<()>,
}

impl Client {
    /// Connects.
    ///
    /// # Errors
    /// When nothing listens there.
    pub async fn connect(address: SocketAddr, protocol: Protocol) -> Result<Self, Failure> {
        let failure = |error: &dyn std::fmt::Display| Failure::NoAnswer(error.to_string());
        let stream = TcpStream::connect(address).await.map_err(|error| failure(&error))?;
        stream.set_nodelay(true).map_err(|error| failure(&error))?;
        let stream = TokioIo::new(stream);
        let (sender, connection) = match protocol {
            Protocol::Http1 => {
                let (sender, connection) = http1::handshake(stream).await.map_err(|error| failure(&error))?;
                let connection = tokio::spawn(async move {
                    let _ = connection.await;
                });
                (Sender::Http1(sender), connection)
            }
            Protocol::Http2 => {
                let handshake = http2::handshake(TokioExecutor::new(), stream);
                let (sender, connection) = handshake.await.map_err(|error| failure(&error))?;
                let connection = tokio::spawn(async move {
                    let _ = connection.await;
                });
                (Sender::Http2(sender), connection)
            }
        };
        Ok(Self { protocol, sender, connection })
    }

    /// Whether another request can be sent.
    pub fn is_open(&self) -> bool {
        match &self.sender {
            Sender::Http1(sender) => !sender.is_closed(),
            Sender::Http2(sender) => !sender.is_closed(),
        }
    }

    /// Sends a request and waits for the response's headers.
    ///
    /// # Errors
    /// When they do not come.
    pub async fn start(&mut self, request: &Request) -> Result<http::Response<Incoming>, Failure> {
        let request = request.build(self.protocol);
        let failure = |error: hyper::Error| Failure::NoAnswer(error.to_string());
        match &mut self.sender {
            Sender::Http1(sender) => {
                sender.ready().await.map_err(failure)?;
                sender.send_request(request).await.map_err(failure)
            }
            Sender::Http2(sender) => {
                sender.ready().await.map_err(failure)?;
                sender.send_request(request).await.map_err(failure)
            }
        }
    }

    /// Sends a request and reads the whole answer.
    ///
    /// # Errors
    /// When it does not come, or is cut.
    pub async fn send(&mut self, request: &Request) -> Result<Answer, Failure> {
        let whole = async {
            let (parts, body) = self.start(request).await?.into_parts();
            let body = body.collect().await.map_err(|_| Failure::Cut(parts.status))?;
            let trailers = body.trailers().cloned();
            Ok(Answer::new(parts.status, parts.headers, body.to_bytes(), trailers))
        };
        tokio::time::timeout(PATIENCE, whole).await.unwrap_or(Err(Failure::Silence))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

/// Sends one request over a connection of its own.
///
/// # Errors
/// As [`Client::send`].
pub async fn once(address: SocketAddr, protocol: Protocol, request: &Request) -> Result<Answer, Failure> {
    Client::connect(address, protocol).await?.send(request).await
}
