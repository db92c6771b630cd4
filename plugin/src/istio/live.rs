//! What an object in the cluster says of its mirror, read back from where the module gets it.

use mirror_core::config::{Mirror, MirrorSpec, Sent};

use crate::envoy::{NAME, mark};
use crate::intent::MirrorName;
use crate::kinds::{EnvoyFilter, VirtualService, WasmPlugin};

/// The mirror that an EnvoyFilter configures; `None` where it has none that this version can read.
pub fn of_overlay(live: &EnvoyFilter) -> Option<Mirror> {
    let at = format!("/metadata/filter_metadata/{NAME}/config");
    let mut values = live.spec.config_patches.iter().map(|patch| &patch.patch.value);
    read(values.find_map(|value| value.pointer(&at)?.as_str())?)
}

/// The mirror that a VirtualService configures; `None` where it has none that this version can read.
pub fn of_virtual_service(live: &VirtualService) -> Option<Mirror> {
    let headers = live.spec.http.iter().filter_map(|http| http.headers.as_ref()?.request.as_ref());
    let mut values = headers.filter_map(|operations| operations.set.get(mark::CONFIG));
    read(&values.next()?.replace("%%", "%"))
}

/// A mirror that a WasmPlugin holds; `None` where it has none of this name that this version can read.
pub fn of_wasm_plugin(live: &WasmPlugin, name: &MirrorName) -> Option<MirrorSpec> {
    let json = live.spec.plugin_config["mirrors"].get(name.to_string())?.as_str()?;
    let Sent { mirror, selection, .. } = Sent::from_json(json.as_bytes()).ok()?;
    // Copies of a mesh's requests keep their host.
    Some(MirrorSpec { mirror, selection, candidate_host: None, secondary_host: None })
}

fn read(json: &str) -> Option<Mirror> {
    Mirror::from_json(json.as_bytes()).ok()
}
