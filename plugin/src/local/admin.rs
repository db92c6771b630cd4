//! Envoy's admin page, as far as a local run needs it: whether Envoy is ready, where it listens, a few counters.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::admin;

/// The longest that a page may take.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The admin page of one Envoy.
#[derive(Clone, Debug)]
pub struct Admin {
    address: SocketAddr,
    page: admin::Admin,
}

impl Admin {
    /// The admin page at `address`.
    pub fn new(address: SocketAddr) -> Self {
        Self { address, page: admin::Admin::at(address.into()).with_timeout(TIMEOUT) }
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether Envoy serves.
    pub async fn is_ready(&self) -> bool {
        self.page.get("/ready").await.is_ok()
    }

    /// Where the listener `name` really listens.
    ///
    /// # Errors
    /// No answer, or no such listener.
    pub async fn listener(&self, name: &str) -> Result<SocketAddr> {
        let listeners: Listeners = self.page.get("/listeners?format=json").await?.json()?;
        let listener = listeners.listener_statuses.into_iter().find(|listener| listener.name == name);
        let Some(Listener { local_address: Address { socket_address: at }, .. }) = listener else {
            bail!("Envoy does not listen");
        };
        let ip = at.address.parse().with_context(|| format!("Envoy listens on {}", at.address))?;
        Ok(SocketAddr::new(ip, at.port_value))
    }

    /// The counters and gauges whose names match the regular expression `filter` (RE2, percent-encoded).
    ///
    /// # Errors
    /// No answer.
    pub async fn stats(&self, filter: &str) -> Result<BTreeMap<String, u64>> {
        let page = self.page.get(&format!("/stats?filter={filter}")).await?;
        let text = String::from_utf8_lossy(&page.body);
        let stat = |line: &str| {
            let (name, value) = line.split_once(": ")?;
            Some((name.to_owned(), value.parse().ok()?))
        };
        Ok(text.lines().filter_map(stat).collect())
    }

    /// Makes Envoy take no new connections.
    ///
    /// # Errors
    /// No answer.
    pub async fn stop_listening(&self) -> Result<()> {
        self.page.post("/drain_listeners").await?;
        Ok(())
    }
}

/// `/listeners?format=json`
#[derive(Deserialize)]
struct Listeners {
    #[serde(default)]
    listener_statuses: Vec<Listener>,
}

#[derive(Deserialize)]
struct Listener {
    name: String,
    local_address: Address,
}

#[derive(Deserialize)]
struct Address {
    socket_address: SocketAddress,
}

#[derive(Deserialize)]
struct SocketAddress {
    address: String,
    port_value: u16,
}
