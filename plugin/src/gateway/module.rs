//! What became of the module in one Envoy.
//!
//! Istio's proxies keep no statistics of extension discovery, so what those would say is found out by other pages: the
//! extensions that were delivered, and whether the listeners ask for ours.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::sending::{self, Delivered};
use crate::admin::{Admin, AdminError};
use crate::envoy::NAME;
use crate::source::{Instance, Module, Way};

/// What became of the module, in each way in which it may stand in an Envoy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Modules {
    /// That among the router's filters.
    pub observing: Module,
    /// That among the listeners' filters.
    pub sending: Module,
}

impl Modules {
    /// That of one way.
    pub const fn by(self, way: Way) -> Module {
        match way {
            Way::Observing => self.observing,
            Way::Sending => self.sending,
        }
    }
}

/// The module's delivered configuration among the router's filters, without its content. Envoy lists it also where it refused
/// the module in it.
const DELIVERED: &str = "/config_dump?resource=ecds_filters&name_regex=%5Ekubectl-mirror%24&mask=last_updated";

/// Finds out what became of the module. `by_plugin` is what a WasmPlugin brought.
pub(super) async fn read(admin: &Admin, instance: &Instance, by_plugin: &Delivered) -> Result<Modules, AdminError> {
    let observing = match instance.module_by(Way::Observing) {
        module if module == Module::Running || instance.delivery.is_some() => module,
        _ => fate(admin, instance, Way::Observing, is_delivered(admin).await?).await?,
    };
    let sending = match instance.module_by(Way::Sending) {
        _ if by_plugin.is_substituted => Module::Unfetched,
        Module::Running => Module::Running,
        _ => fate(admin, instance, Way::Sending, by_plugin.module.is_some()).await?,
    };
    Ok(Modules { observing, sending })
}

/// What became of a module that does not run.
async fn fate(admin: &Admin, instance: &Instance, way: Way, is_delivered: bool) -> Result<Module, AdminError> {
    if is_delivered {
        return Ok(if instance.loaded.contains(&way) { Module::Stopped } else { Module::Rejected });
    }
    Ok(if is_hooked(admin, way).await? { Module::Waiting } else { Module::Missing })
}

async fn is_delivered(admin: &Admin) -> Result<bool, AdminError> {
    let configs = match admin.get_opt(DELIVERED).await? {
        Some(page) => page.json()?,
        None => Configs::default(),
    };
    Ok(!configs.configs.is_empty())
}

/// Whether listeners ask for the module.
pub(super) async fn is_hooked(admin: &Admin, way: Way) -> Result<bool, AdminError> {
    for kind in ["dynamic", "static"] {
        let listeners = admin.get_opt(&format!("/config_dump?resource={kind}_listeners")).await?;
        if listeners.is_some_and(|page| asks_for_it(&page.body, way)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether listeners ask for an extension of the module's name. The text is looked through, not read: listeners can be large,
/// and nothing else has this name beside a `config_discovery`.
fn asks_for_it(listeners: &[u8], way: Way) -> bool {
    let text = String::from_utf8_lossy(listeners);
    let name = match way {
        Way::Observing => format!("\"name\": \"{NAME}\""),
        Way::Sending => sending::NAMED.to_owned(),
    };
    text.contains("\"config_discovery\"") && text.contains(&name)
}

#[derive(Default, Deserialize)]
struct Configs {
    #[serde(default)]
    configs: Vec<IgnoredAny>,
}
