//! Statistics from an Envoy's admin page, over HTTP.
//!
//! Two pages are read: `/stats?format=json` for the module's metrics and the fate of its delivery, `/server_info` for
//! the number of workers, the version and (in the response's `date`) Envoy's own clock.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use bytes::Bytes;
use http::Uri;
use http::header::DATE;
use http_body_util::{BodyExt, Empty, LengthLimitError, Limited};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use mirror_core::stats::names::{ENVOY_PREFIX, Metric, PREFIX};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use super::{Delivery, Instance, Snapshot};

/// The longest that one page may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The most bytes of one page.
const LARGEST_PAGE: usize = 64 * 1024 * 1024;
/// Before the names of the module's extension, which themselves begin with `kubectl-mirror`.
const DELIVERY_PREFIX: &str = "extension_config_discovery.upstream_http_filter.kubectl-mirror";

/// Where an Envoy's admin page is: `http://HOST:PORT`, or `HOST:PORT` alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    authority: String,
}

/// Why no statistics came. Says what, where, and what to do.
#[derive(Debug, Error)]
pub enum AdminError {
    /// The address is none.
    #[error(
        "`{0}` is no address of an Envoy's admin page: expected http://HOST:PORT, for example http://127.0.0.1:15000"
    )]
    Address(String),
    /// No connection, or it broke.
    #[error(
        "cannot reach an Envoy's admin page at {address}: {reason}\n\
         Is Envoy running, and is this its admin port? For a gateway's pod: kubectl port-forward -n NAMESPACE POD 15000"
    )]
    Unreachable {
        /// Where.
        address: Address,
        /// What the system said.
        reason: String,
    },
    /// No whole answer in time.
    #[error("{address}{page} did not answer within {} s; is this Envoy's admin port?", TIMEOUT.as_secs())]
    TimedOut {
        /// Where.
        address: Address,
        /// Which page.
        page: &'static str,
    },
    /// Something answered that is not Envoy's admin page.
    #[error("{address}{page} is not the page of an Envoy's admin port: {reason}")]
    NotEnvoy {
        /// Where.
        address: Address,
        /// Which page.
        page: &'static str,
        /// What was found instead.
        reason: String,
    },
}

impl FromStr for Address {
    type Err = AdminError;

    fn from_str(text: &str) -> Result<Self, AdminError> {
        let refused = || AdminError::Address(text.to_owned());
        let uri: Uri = text.trim_end_matches('/').parse().map_err(|_| refused())?;
        let scheme_is_good = uri.scheme_str().is_none_or(|scheme| scheme == "http");
        let is_bare = matches!(uri.path(), "" | "/") && uri.query().is_none();
        match uri.authority() {
            Some(authority) if scheme_is_good && is_bare && authority.port().is_some() => {
                Ok(Self { authority: authority.to_string() })
            }
            _ => Err(refused()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}", self.authority)
    }
}

/// Reads what the Envoy at `address` has counted so far.
///
/// # Errors
/// See [`AdminError`].
pub async fn read(address: &Address) -> Result<Snapshot, AdminError> {
    let admin = Admin { address, client: Client::builder(TokioExecutor::new()).build(HttpConnector::new()) };
    let (stats, server) = tokio::try_join!(admin.stats(), admin.server())?;
    let mut snapshot = Snapshot::default();
    let mut instance = server;
    for Stat { name, value } in stats.stats {
        let (Some(name), Some(value)) = (name, value.and_then(|value| value.as_u64())) else { continue };
        if let Some(metric) = Metric::decode(&name) {
            snapshot.take(&mut instance, metric, value);
        } else if let Some(event) = name.strip_prefix(DELIVERY_PREFIX) {
            let delivery = instance.delivery.get_or_insert_with(Delivery::default);
            match event.rsplit('.').next() {
                Some("update_success") => delivery.accepted += value,
                Some("update_rejected") => delivery.rejected += value,
                Some("config_fail") => delivery.failed += value,
                _ => {}
            }
        }
    }
    snapshot.instances.push(instance);
    Ok(snapshot)
}

/// `/stats?format=json`. Entries of histograms have neither field.
#[derive(Deserialize)]
struct Stats {
    stats: Vec<Stat>,
}

#[derive(Deserialize)]
struct Stat {
    name: Option<String>,
    /// A number, but for the few statistics that are texts.
    value: Option<serde_json::Value>,
}

/// `/server_info`, as far as it is of use here.
#[derive(Deserialize)]
struct ServerInfo {
    /// `COMMIT/1.40.0/Clean/RELEASE/BoringSSL`
    version: String,
    /// `5s`
    uptime_all_epochs: String,
    command_line_options: Options,
}

#[derive(Deserialize)]
struct Options {
    concurrency: u32,
}

struct Admin<'a> {
    address: &'a Address,
    client: Client<HttpConnector, Empty<Bytes>>,
}

impl Admin<'_> {
    async fn stats(&self) -> Result<Stats, AdminError> {
        // `(a|b)` in a regular expression of Envoy's (RE2), percent-encoded.
        let query = format!(
            "format=json&filter=%5E%28{}%7C{}%29",
            (ENVOY_PREFIX.to_owned() + PREFIX).replace('.', "%5C."),
            DELIVERY_PREFIX.replace('.', "%5C."),
        );
        Ok(self.page("/stats", &query).await?.0)
    }

    async fn server(&self) -> Result<Instance, AdminError> {
        let (info, date): (ServerInfo, _) = self.page("/server_info", "").await?;
        let not_envoy = |reason: &str| AdminError::NotEnvoy {
            address: self.address.clone(),
            page: "/server_info",
            reason: reason.into(),
        };
        let date = date.ok_or_else(|| not_envoy("the answer has no `date`"))?;
        Ok(Instance {
            name: self.address.authority.clone(),
            envoy: info.version.split('/').nth(1).unwrap_or(&info.version).to_owned(),
            workers: info.command_line_options.concurrency,
            uptime: info.uptime_all_epochs.trim_end_matches('s').parse().unwrap_or(0),
            clock: seconds(&date).ok_or_else(|| not_envoy("its `date` is none"))?,
            ..Instance::default()
        })
    }

    /// Fetches a page, with the value of its `date` header.
    async fn page<T: DeserializeOwned>(
        &self,
        page: &'static str,
        query: &str,
    ) -> Result<(T, Option<String>), AdminError> {
        let address = || self.address.clone();
        let not_envoy = |reason: String| AdminError::NotEnvoy { address: address(), page, reason };
        let fetched = tokio::time::timeout(TIMEOUT, self.fetch(page, query)).await;
        let (parts, body) = fetched.map_err(|_| AdminError::TimedOut { address: address(), page })??;
        if !parts.status.is_success() {
            return Err(not_envoy(format!("it answered {}", parts.status)));
        }
        let date = parts.headers.get(DATE).and_then(|date| date.to_str().ok()).map(str::to_owned);
        let content = serde_json::from_slice(&body)
            .map_err(|error| not_envoy(format!("what it sent is other JSON or none ({error})")))?;
        Ok((content, date))
    }

    async fn fetch(&self, page: &'static str, query: &str) -> Result<(http::response::Parts, Bytes), AdminError> {
        let unreachable = |reason: String| AdminError::Unreachable { address: self.address.clone(), reason };
        let uri = Uri::builder().scheme("http").authority(self.address.authority.as_str());
        let uri =
            uri.path_and_query(format!("{page}?{query}")).build().map_err(|error| unreachable(error.to_string()))?;
        let response = self.client.get(uri).await.map_err(|error| unreachable(innermost(&error)))?;
        let (parts, body) = response.into_parts();
        let body = Limited::new(body, LARGEST_PAGE).collect().await.map_err(|error| {
            if error.is::<LengthLimitError>() {
                let reason = format!("it is longer than {} MiB", LARGEST_PAGE >> 20);
                return AdminError::NotEnvoy { address: self.address.clone(), page, reason };
            }
            unreachable(innermost(error.as_ref()))
        })?;
        Ok((parts, body.to_bytes()))
    }
}

/// The first cause, which is what the system said (`Connection refused`); what is around it says only that it failed.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
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
