//! Statistics from an Envoy's admin page.
//!
//! Two pages are read: `/stats?format=json` for the module's metrics and the fate of its delivery, `/server_info` for
//! the number of workers, the version and (in the response's `date`) Envoy's own clock.

use mirror_core::stats::names::{ENVOY_PREFIX, Metric, PREFIX};
use serde::Deserialize;

pub use crate::admin::{Address, AdminError};

use super::{Delivery, Instance, Snapshot, Way};
use crate::admin::Admin;

/// Before the names of the module's extension, which themselves begin with `kubectl-mirror`.
const DELIVERY_PREFIX: &str = "extension_config_discovery.upstream_http_filter.kubectl-mirror";

/// Before the names of what Envoy notes of a module's VMs, from the first one on.
const LOADED_PREFIX: &str = "wasm.";

/// The way of the module that such a name is of: an EnvoyFilter gives it a name of its own, a WasmPlugin that of the object.
fn loaded(name: &str) -> Option<Way> {
    let of = name.strip_prefix(LOADED_PREFIX)?;
    if of.starts_with("kubectl-mirror.") {
        return Some(Way::Observing);
    }
    of.contains(".kubectl-mirror-").then_some(Way::Sending)
}

/// Reads what the Envoy at `address` has counted so far.
///
/// # Errors
/// See [`AdminError`].
pub async fn read(address: &Address) -> Result<Snapshot, AdminError> {
    read_page(&Admin::at(address.clone())).await
}

/// Reads what an Envoy has counted so far.
///
/// # Errors
/// See [`AdminError`].
pub async fn read_page(admin: &Admin) -> Result<Snapshot, AdminError> {
    let mut instance = server(admin).await?;
    let stats: Stats = admin.get(&stats_path()).await?.json()?;
    let mut snapshot = Snapshot::default();
    for Stat { name, value } in stats.stats {
        let (Some(name), Some(value)) = (name, value.and_then(|value| value.as_u64())) else { continue };
        if let Some(metric) = Metric::decode(&name) {
            snapshot.take(&mut instance, metric, value);
        } else if let Some(way) = loaded(&name) {
            instance.loaded.insert(way);
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
    #[serde(default)]
    node: Node,
}

#[derive(Default, Deserialize)]
struct Node {
    #[serde(default)]
    metadata: NodeMetadata,
}

#[derive(Default, Deserialize)]
struct NodeMetadata {
    #[serde(rename = "ISTIO_VERSION")]
    istio_version: Option<String>,
}

#[derive(Deserialize)]
struct Options {
    concurrency: u32,
}

fn stats_path() -> String {
    // `^(a|b|c)` in a regular expression of Envoy's (RE2), percent-encoded.
    format!(
        "/stats?format=json&filter=%5E%28{}%7C{}%7C{}.*kubectl-mirror%29",
        (ENVOY_PREFIX.to_owned() + PREFIX).replace('.', "%5C."),
        DELIVERY_PREFIX.replace('.', "%5C."),
        LOADED_PREFIX.replace('.', "%5C."),
    )
}

async fn server(admin: &Admin) -> Result<Instance, AdminError> {
    let page = admin.get("/server_info").await?;
    let info: ServerInfo = page.json()?;
    Ok(Instance {
        name: admin.place().name().to_owned(),
        envoy: info.version.split('/').nth(1).unwrap_or(&info.version).to_owned(),
        istio: info.node.metadata.istio_version,
        workers: info.command_line_options.concurrency,
        uptime: info.uptime_all_epochs.trim_end_matches('s').parse().unwrap_or(0),
        clock: page.clock.ok_or_else(|| page.refuse("the answer has no `date`".to_owned()))?,
        ..Instance::default()
    })
}

#[cfg(test)]
mod tests;
