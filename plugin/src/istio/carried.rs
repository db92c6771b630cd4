//! Reads a mirror's configuration back from the objects that carry it to the module.

use mirror_core::config::Mirror;

use super::virtual_service::CONFIG_HEADER;
use crate::envoy::NAME;
use crate::kinds::{EnvoyFilter, VirtualService};

/// What a mirror's EnvoyFilter tells the module; `None` where it carries nothing that this build can read.
pub fn of_overlay(overlay: &EnvoyFilter) -> Option<Mirror> {
    let place = format!("/metadata/filter_metadata/{NAME}/config");
    let mut patches = overlay.spec.config_patches.iter();
    let config = patches.find_map(|patch| patch.patch.value.pointer(&place)?.as_str())?;
    Mirror::from_json(config.as_bytes()).ok()
}

/// What a mirror's VirtualService tells the module; `None` where it carries nothing that this build can read.
pub fn of_virtual_service(virtual_service: &VirtualService) -> Option<Mirror> {
    let headers = virtual_service.spec.http.first()?.headers.as_ref()?;
    let config = headers.request.as_ref()?.set.get(CONFIG_HEADER)?;
    // Envoy substitutes `%…%` in values; `%%` stands for `%`.
    Mirror::from_json(config.replace("%%", "%").as_bytes()).ok()
}
