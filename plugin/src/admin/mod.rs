//! Envoy's admin page, wherever it is: at an address, or on a port of a pod behind an API server.
//!
//! One page at a time is asked for, over one connection that is kept. Size and time of a page are bounded.

mod each;
mod error;
mod place;
#[cfg(test)]
pub mod testing;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{DATE, HOST};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Mutex;

pub use each::each;
pub use error::AdminError;
pub use place::{Address, Place};

use crate::cluster::Cluster;
use crate::cluster::error::innermost;

/// The port of the admin page in Istio's proxies.
pub const ISTIO_PORT: u16 = 15000;

/// The longest that one page may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The most bytes of one page.
const LARGEST_PAGE: usize = 64 * 1024 * 1024;

/// The admin page of one Envoy. Clones share its connection.
#[derive(Clone)]
pub struct Admin {
    place: Place,
    /// What a pod is reached by.
    cluster: Option<Cluster>,
    timeout: Duration,
    /// The most bytes of one page.
    largest: usize,
    /// A connection that is not in use.
    idle: Arc<Mutex<Option<Connection>>>,
}

type Connection = SendRequest<Empty<Bytes>>;

impl fmt::Debug for Admin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admin").field("place", &self.place).finish_non_exhaustive()
    }
}

/// A page.
#[derive(Clone, Debug)]
pub struct Page {
    /// Which, with its query.
    path: String,
    place: Place,
    /// Its content.
    pub body: Bytes,
    /// The `date` that Envoy sent with it, as seconds since the Unix epoch: its own clock.
    pub clock: Option<u64>,
}

impl Admin {
    /// The admin page at an address.
    pub fn at(address: Address) -> Self {
        Self {
            place: Place::Address(address),
            cluster: None,
            timeout: TIMEOUT,
            largest: LARGEST_PAGE,
            idle: Arc::default(),
        }
    }

    /// The admin page of an Envoy in a pod, on the port that Istio gives it.
    pub fn of_pod(cluster: &Cluster, namespace: &str, pod: &str) -> Self {
        let place = Place::Pod { namespace: namespace.to_owned(), name: pod.to_owned() };
        Self { place, cluster: Some(cluster.clone()), timeout: TIMEOUT, largest: LARGEST_PAGE, idle: Arc::default() }
    }

    /// The same with another bound on the time that one page may take (10 s).
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Where it is.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Fetches a page: its path with its query, percent-encoded.
    ///
    /// # Errors
    /// See [`AdminError`].
    pub async fn get(&self, path: &str) -> Result<Page, AdminError> {
        self.page(Method::GET, path).await
    }

    /// Fetches a page that Envoy may not have: `None` where it answers 404, as it does for a part of its configuration of
    /// which it has nothing.
    ///
    /// # Errors
    /// See [`AdminError`].
    pub async fn get_opt(&self, path: &str) -> Result<Option<Page>, AdminError> {
        let (status, page) = self.answer(Method::GET, path).await?;
        match status {
            StatusCode::NOT_FOUND => Ok(None),
            status => Self::check(status, page).map(Some),
        }
    }

    /// Makes Envoy do what a page stands for, for example `/drain_listeners`.
    ///
    /// # Errors
    /// See [`AdminError`].
    pub async fn post(&self, path: &str) -> Result<Page, AdminError> {
        self.page(Method::POST, path).await
    }

    async fn page(&self, method: Method, path: &str) -> Result<Page, AdminError> {
        let (status, page) = self.answer(method, path).await?;
        Self::check(status, page)
    }

    fn check(status: StatusCode, page: Page) -> Result<Page, AdminError> {
        if status.is_success() { Ok(page) } else { Err(page.refuse(format!("it answered {status}"))) }
    }

    async fn answer(&self, method: Method, path: &str) -> Result<(StatusCode, Page), AdminError> {
        let mut idle = self.idle.lock().await;
        let fetched = tokio::time::timeout(self.timeout, self.fetch(&mut idle, method, path)).await;
        let (response, body) = fetched.map_err(|_| AdminError::TimedOut {
            place: self.place.clone(),
            page: path.to_owned(),
            after: self.timeout,
        })??;
        let date = response.headers().get(DATE).and_then(|date| date.to_str().ok());
        let clock = date.and_then(seconds);
        Ok((response.status(), Page { path: path.to_owned(), place: self.place.clone(), body, clock }))
    }

    /// Sends over the idle connection, or over a new one where there is none or Envoy has closed it. Whatever goes wrong,
    /// or is given up half-way, leaves no connection behind.
    async fn fetch(
        &self,
        idle: &mut Option<Connection>,
        method: Method,
        path: &str,
    ) -> Result<(Response<()>, Bytes), AdminError> {
        let mut connection = match still_open(idle.take()).await {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let request = Request::builder().method(method).uri(path).header(HOST, self.place.host());
        let request = request.body(Empty::new()).map_err(|error| self.unreachable(&error))?;
        let response = connection.send_request(request).await.map_err(|error| self.unreachable(&error))?;
        let (response, body) = self.collect(path, response).await?;
        *idle = Some(connection);
        Ok((response, body))
    }

    async fn collect(&self, path: &str, response: Response<Incoming>) -> Result<(Response<()>, Bytes), AdminError> {
        let (parts, body) = response.into_parts();
        let body = Limited::new(body, self.largest).collect().await.map_err(|error| {
            if error.is::<LengthLimitError>() {
                return self.not_envoy(path, format!("it is longer than {} bytes", self.largest));
            }
            self.unreachable(error.as_ref())
        })?;
        Ok((Response::from_parts(parts, ()), body.to_bytes()))
    }

    async fn connect(&self) -> Result<Connection, AdminError> {
        match (&self.place, &self.cluster) {
            (Place::Pod { namespace, name }, Some(cluster)) => {
                let forwarded = cluster.forward(namespace, name, ISTIO_PORT).await;
                let stream = forwarded.map_err(|error| AdminError::Cluster { place: self.place.clone(), error })?;
                self.handshake(stream).await
            }
            (place, _) => {
                let stream = TcpStream::connect(place.host()).await.map_err(|error| self.unreachable(&error))?;
                self.handshake(stream).await
            }
        }
    }

    async fn handshake<S>(&self, stream: S) -> Result<Connection, AdminError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|error| self.unreachable(&error))?;
        // It ends when the sender is dropped; what goes wrong shows with the request.
        tokio::spawn(connection);
        Ok(sender)
    }

    fn unreachable(&self, error: &(dyn std::error::Error + 'static)) -> AdminError {
        AdminError::Unreachable { place: self.place.clone(), reason: innermost(error) }
    }

    fn not_envoy(&self, page: &str, reason: String) -> AdminError {
        AdminError::NotEnvoy { place: self.place.clone(), page: page.to_owned(), reason }
    }
}

impl Page {
    /// Reads the page as JSON.
    ///
    /// # Errors
    /// [`AdminError::NotEnvoy`] where it is other JSON or none.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, AdminError> {
        serde_json::from_slice(&self.body)
            .map_err(|error| self.refuse(format!("what it sent is other JSON or none ({error})")))
    }

    /// That this is not what Envoy's admin page shows there.
    pub fn refuse(&self, reason: String) -> AdminError {
        AdminError::NotEnvoy { place: self.place.clone(), page: self.path.clone(), reason }
    }
}

async fn still_open(connection: Option<Connection>) -> Option<Connection> {
    let mut connection = connection?;
    connection.ready().await.is_ok().then_some(connection)
}

/// Reads an HTTP date (`Mon, 30 Nov 2026 14:07:32 GMT`) as seconds since the Unix epoch.
fn seconds(date: &str) -> Option<u64> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (_, date) = date.split_once(", ")?;
    let mut words = date.split(' ');
    let (day, month, year, time) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    let date = format!("{year}-{month:02}-{day}T{time}Z");
    let time = humantime::parse_rfc3339(&date).ok()?;
    time.duration_since(std::time::UNIX_EPOCH).ok().map(|since| since.as_secs())
}

#[cfg(test)]
mod tests;
