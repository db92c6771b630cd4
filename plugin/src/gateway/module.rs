//! What became of the module in one Envoy.
//!
//! Istio's proxies keep no statistics of extension discovery, so what those would say is found out by other pages: the
//! extensions that were delivered, and whether the listeners ask for ours.

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::admin::{Admin, AdminError};
use crate::envoy::NAME;
use crate::source::{Instance, Module};

/// The module's delivered configuration, without its content. Envoy lists it also where it refused the module in it.
const DELIVERED: &str = "/config_dump?resource=ecds_filters&name_regex=%5Ekubectl-mirror%24&mask=last_updated";

/// Finds out what became of the module.
pub(super) async fn read(admin: &Admin, instance: &Instance) -> Result<Module, AdminError> {
    let module = instance.module();
    if module == Module::Running || instance.delivery.is_some() {
        return Ok(module);
    }
    let delivered = match admin.get_opt(DELIVERED).await? {
        Some(page) => page.json()?,
        None => Configs::default(),
    };
    if !delivered.configs.is_empty() {
        return Ok(if instance.loaded { Module::Stopped } else { Module::Rejected });
    }
    Ok(if is_hooked(admin).await? { Module::Waiting } else { Module::Missing })
}

/// Whether listeners ask for the module.
pub(super) async fn is_hooked(admin: &Admin) -> Result<bool, AdminError> {
    for kind in ["dynamic", "static"] {
        let listeners = admin.get_opt(&format!("/config_dump?resource={kind}_listeners")).await?;
        if listeners.is_some_and(|page| asks_for_it(&page.body)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether listeners ask for an extension of the module's name. The text is looked through, not read: listeners can be large,
/// and nothing else has this name beside a `config_discovery`.
fn asks_for_it(listeners: &[u8]) -> bool {
    let text = String::from_utf8_lossy(listeners);
    let name = format!("\"name\": \"{NAME}\"");
    text.contains("\"config_discovery\"") && text.contains(&name)
}

#[derive(Default, Deserialize)]
struct Configs {
    #[serde(default)]
    configs: Vec<IgnoredAny>,
}
