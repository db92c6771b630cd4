//! Prometheus' HTTP API, as far as it is needed: range and instant queries. By the client that speaks to API servers too, so that
//! HTTPS, proxies and tokens work as there.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use http::{Request, StatusCode, Uri};
use http_body_util::{BodyExt, Limited};
use kube::client::Body;
use kube::{Client, Config};
use serde::Deserialize;
use thiserror::Error;

use super::Range;
use crate::cluster::error::innermost;
use crate::report::text::moment;

/// The longest that one answer may take.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The most bytes of one answer.
const LARGEST: usize = 256 * 1024 * 1024;

/// A Prometheus.
#[derive(Clone)]
pub struct Prometheus {
    address: Address,
    client: Client,
}

/// Where a Prometheus is: `http://HOST:PORT`, `https://…`, with a path before `/api` where it has one, and with
/// `USER:PASSWORD@` where it wants them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Without user and password, and without a slash at its end.
    url: String,
    login: Option<(String, String)>,
}

/// One series with its samples: when, in seconds since the Unix epoch, and which value.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its labels, the name as `__name__` among them.
    pub metric: BTreeMap<String, String>,
    /// Its samples, the oldest first.
    pub values: Vec<(f64, f64)>,
}

/// Why there are no numbers. Says what, where, and what to do.
#[derive(Debug, Error)]
pub enum PrometheusError {
    /// The address is none.
    #[error(
        "`{0}` is no address of a Prometheus: expected http://HOST:PORT or https://HOST, for example http://127.0.0.1:9090"
    )]
    Address(String),
    /// The token cannot be read.
    #[error("cannot read the token of --prometheus-token-file: {0}")]
    Token(String),
    /// No connection, or it broke.
    #[error(
        "cannot reach Prometheus at {address}: {reason}. For one in a cluster: kubectl port-forward -n NAMESPACE POD 9090"
    )]
    Unreachable {
        /// Where.
        address: Address,
        /// What the system said.
        reason: String,
    },
    /// It wants to know who asks.
    #[error(
        "Prometheus at {address} answered {status}: pass a token by --prometheus-token-file, or USER:PASSWORD@ in the address"
    )]
    Unauthorized {
        /// Where.
        address: Address,
        /// What was answered.
        status: StatusCode,
    },
    /// It understood and refused.
    #[error("Prometheus at {address} refused the query: {reason}")]
    Refused {
        /// Where.
        address: Address,
        /// What it said.
        reason: String,
    },
    /// Something answered that is no Prometheus.
    #[error("what answers at {address} is no Prometheus: {reason}")]
    NotPrometheus {
        /// Where.
        address: Address,
        /// What was found instead.
        reason: String,
    },
    /// It has no metrics of the module.
    #[error(
        "Prometheus at {address} has nothing that the module counted from {} to {}: does it scrape the gateways? See \
         examples/monitoring",
        moment(range.since),
        moment(range.until)
    )]
    Nothing {
        /// Where.
        address: Address,
        /// Of which time.
        range: Range,
    },
}

impl FromStr for Address {
    type Err = PrometheusError;

    fn from_str(text: &str) -> Result<Self, PrometheusError> {
        let refused = || PrometheusError::Address(text.to_owned());
        let (scheme, rest) = text.split_once("://").ok_or_else(refused)?;
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (login, host) = match authority.rsplit_once('@') {
            Some((login, host)) => (Some(login.split_once(':').unwrap_or((login, ""))), host),
            None => (None, authority),
        };
        let url: Uri = format!("{scheme}://{host}{path}").parse().map_err(|_| refused())?;
        let scheme_is_good = matches!(url.scheme_str(), Some("http" | "https"));
        if !scheme_is_good || url.host().is_none_or(str::is_empty) || url.query().is_some() {
            return Err(refused());
        }
        let url = url.to_string().trim_end_matches('/').to_owned();
        Ok(Self { url, login: login.map(|(user, password)| (user.to_owned(), password.to_owned())) })
    }
}

impl fmt::Display for Address {
    /// Never with the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

impl Prometheus {
    /// A client of the Prometheus at an address, with a bearer token from a file where there is one. Nothing is sent yet.
    ///
    /// # Errors
    /// A token that cannot be read, and an address that cannot be used.
    pub fn at(address: Address, token: Option<&Path>) -> Result<Self, PrometheusError> {
        let url = address.url.parse().map_err(|_| PrometheusError::Address(address.url.clone()))?;
        let mut config = Config::new(url);
        if let Some((user, password)) = &address.login {
            config.auth_info.username = Some(user.clone());
            config.auth_info.password = Some(password.clone().into());
        }
        if let Some(file) = token {
            let token = std::fs::read_to_string(file);
            let token = token.map_err(|error| PrometheusError::Token(format!("{}: {error}", file.display())))?;
            config.auth_info.token = Some(token.trim().to_owned().into());
        }
        let client = Client::try_from(config).map_err(|error| unreachable(&address, &error))?;
        Ok(Self { address, client })
    }

    /// Where it is.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// A range query: the values of a time, `step` seconds apart.
    ///
    /// # Errors
    /// See [`PrometheusError`].
    pub async fn range(&self, query: &str, range: Range, step: u64) -> Result<Vec<Series>, PrometheusError> {
        let Range { since, until } = range;
        self.get(&format!("/api/v1/query_range?query={}&start={since}&end={until}&step={step}", encoded(query))).await
    }

    /// An instant query whose result is samples of a time up to that instant.
    ///
    /// # Errors
    /// See [`PrometheusError`].
    pub async fn at_instant(&self, query: &str, time: u64) -> Result<Vec<Series>, PrometheusError> {
        self.get(&format!("/api/v1/query?query={}&time={time}", encoded(query))).await
    }

    async fn get(&self, path: &str) -> Result<Vec<Series>, PrometheusError> {
        let request = Request::get(path).body(Body::empty()).map_err(|error| unreachable(&self.address, &error))?;
        let answer = async {
            let response = self.client.send(request).await.map_err(|error| unreachable(&self.address, &error))?;
            let status = response.status();
            let body = Limited::new(response.into_body(), LARGEST).collect().await;
            let body = body.map_err(|error| unreachable(&self.address, error.as_ref()))?;
            Ok((status, body.to_bytes()))
        };
        let (status, body) =
            tokio::time::timeout(TIMEOUT, answer).await.map_err(|_| PrometheusError::Unreachable {
                address: self.address.clone(),
                reason: format!("no answer within {}", humantime::format_duration(TIMEOUT)),
            })??;
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return Err(PrometheusError::Unauthorized { address: self.address.clone(), status });
        }
        match serde_json::from_slice(&body) {
            Ok(Answer::Success { data }) => Ok(data.result.into_iter().map(Into::into).collect()),
            Ok(Answer::Error { error }) => {
                Err(PrometheusError::Refused { address: self.address.clone(), reason: error })
            }
            Err(error) => Err(PrometheusError::NotPrometheus {
                address: self.address.clone(),
                reason: format!("it answered {status}, and not in Prometheus' JSON ({error})"),
            }),
        }
    }
}

fn unreachable(address: &Address, error: &(dyn std::error::Error + 'static)) -> PrometheusError {
    PrometheusError::Unreachable { address: address.clone(), reason: innermost(error) }
}

/// A query as a part of a URL.
fn encoded(query: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric();
    query.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[derive(Deserialize)]
#[serde(tag = "status", rename_all = "lowercase")]
enum Answer {
    Success { data: Data },
    Error { error: String },
}

#[derive(Deserialize)]
struct Data {
    result: Vec<Row>,
}

/// Of a matrix. Values are texts, since JSON has no infinity.
#[derive(Deserialize)]
struct Row {
    metric: BTreeMap<String, String>,
    values: Vec<(f64, String)>,
}

impl From<Row> for Series {
    fn from(row: Row) -> Self {
        let values = row.values.into_iter().filter_map(|(at, value)| Some((at, value.parse::<f64>().ok()?)));
        Self { metric: row.metric, values: values.filter(|(_, value)| value.is_finite()).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (text, shown, login) in [
            ("http://127.0.0.1:9090", Some("http://127.0.0.1:9090"), None),
            ("http://127.0.0.1:9090/", Some("http://127.0.0.1:9090"), None),
            ("https://prometheus.example.com/prom/", Some("https://prometheus.example.com/prom"), None),
            ("https://me:p@ss@example.com", Some("https://example.com"), Some(("me", "p@ss"))),
            ("https://me@example.com", Some("https://example.com"), Some(("me", ""))),
            ("127.0.0.1:9090", None, None),
            ("ftp://example.com", None, None),
            ("http://", None, None),
            ("http://a/?x=1", None, None),
        ] {
            let address = text.parse::<Address>().ok();
            assert_eq!(address.as_ref().map(ToString::to_string).as_deref(), shown, "{text}");
            let found = address.and_then(|address| address.login);
            assert_eq!(found.as_ref().map(|(user, password)| (user.as_str(), password.as_str())), login, "{text}");
        }
    }

    #[test]
    fn what_is_no_number_is_no_sample() {
        let row: Row = serde_json::from_str(r#"{"metric":{},"values":[[1.5,"2"],[2,"NaN"],[3,"+Inf"],[4,"1e3"]]}"#)
            .expect("a row");
        assert_eq!(Series::from(row).values, [(1.5, 2.0), (4.0, 1000.0)]);
    }
}
