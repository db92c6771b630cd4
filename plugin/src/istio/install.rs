//! The EnvoyFilter that puts the module into gateway pods: the module by extension discovery with a harmless default, and
//! the selector, which stands disabled until a mirror's route switches it on.

use std::fmt;
use std::str::FromStr;

use k8s_openapi::ByteString;
use kube::core::ObjectMeta;
use mirror_core::config::fingerprint;
use serde_json::{Value, json};

use super::{Workload, names};
pub use crate::envoy::observer::Wrapping;
use crate::envoy::observer::{self, Code, Discovery, Module};
use crate::envoy::selector;
use crate::kinds::{ConfigPatch, EnvoyFilter, EnvoyFilterSpec, Patch};

/// Which command installed the module: what `enable` installed goes with the last mirror, what `install` did stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstalledBy {
    /// `kubectl mirror install`
    Install,
    /// `kubectl mirror enable`
    Enable,
}

impl fmt::Display for InstalledBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Install => "install",
            Self::Enable => "enable",
        })
    }
}

impl FromStr for InstalledBy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "install" => Ok(Self::Install),
            "enable" => Ok(Self::Enable),
            _ => Err(format!("`{text}` is neither `install` nor `enable`")),
        }
    }
}

/// How the module is put into gateways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Install<'a> {
    /// The module's bytes (WebAssembly).
    pub module: &'a [u8],
    /// Whether a match wrapper keeps unmarked requests out of the module.
    pub wrapping: Wrapping,
    /// Another number starts the module anew, also one that has trapped.
    pub generation: u64,
    /// Which command asks for it.
    pub by: InstalledBy,
}

/// What an install object that is there says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// The version of the plugin that wrote it.
    pub version: Option<String>,
    /// The fingerprint of its module, see [`module_fingerprint`].
    pub module: Option<String>,
    /// Which command wrote it.
    pub by: Option<InstalledBy>,
    /// Whether its module is behind the match wrapper.
    pub wrapping: Wrapping,
    /// The generation of its module.
    pub generation: u64,
}

impl Installed {
    /// Reads an install object.
    pub fn of(live: &EnvoyFilter) -> Self {
        let annotation = |name: &str| live.metadata.annotations.as_ref()?.get(name).cloned();
        let extension = live.spec.config_patches.iter().find(|patch| patch.apply_to == EXTENSION);
        let config = extension.and_then(|patch| patch.patch.value.get("typed_config"));
        let wrapped = config.and_then(|config| config.pointer("/extension_config/typed_config"));
        let text = wrapped.or(config).and_then(|module| module.pointer("/config/configuration/value")?.as_str());
        let configuration: Option<Value> = text.and_then(|text| serde_json::from_str(text).ok());
        Self {
            version: annotation(names::VERSION),
            module: annotation(names::MODULE),
            by: installed_by(&live.metadata),
            wrapping: if config.is_some() && wrapped.is_none() { Wrapping::Bare } else { Wrapping::Matched },
            generation: configuration.and_then(|value| value.get("generation")?.as_u64()).unwrap_or_default(),
        }
    }
}

/// Which command installed the module, as its object says.
pub fn installed_by(metadata: &ObjectMeta) -> Option<InstalledBy> {
    metadata.annotations.as_ref()?.get(names::INSTALLED_BY)?.parse().ok()
}

/// A short name of this very module: 8 hex digits.
pub fn module_fingerprint(module: &[u8]) -> String {
    fingerprint(module)
}

/// The EnvoyFilter that puts the module into the pods of `workload`.
pub fn install(workload: &Workload, install: Install<'_>) -> EnvoyFilter {
    let Install { module, wrapping, generation, by } = install;
    let code = base64(module);
    let extension = observer::extension(Module { code: Code::Inline(&code), wrapping, generation });
    let metadata = names::metadata(
        &workload.namespace,
        names::install(workload),
        &[(names::MANAGED_BY, names::MANAGER), (names::INSTALL, "true")],
        [
            (names::VERSION, names::PLUGIN_VERSION.to_owned()),
            (names::MODULE, module_fingerprint(module)),
            (names::INSTALLED_BY, by.to_string()),
        ],
    );
    let router = json!({
        "name": ROUTER,
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router",
            "upstream_http_filters": observer::upstream_filters(Discovery::Ads),
        },
    });
    let spec = EnvoyFilterSpec {
        workload_selector: Some(workload.selector()),
        config_patches: vec![
            patch(EXTENSION, json!({ "context": "GATEWAY" }), "ADD", extension),
            patch("HTTP_FILTER", at_router(), "MERGE", router),
            patch("HTTP_FILTER", at_router(), "INSERT_BEFORE", selector::filter()),
        ],
    };
    EnvoyFilter { metadata, spec }
}

const EXTENSION: &str = "EXTENSION_CONFIG";
const ROUTER: &str = "envoy.filters.http.router";

fn at_router() -> Value {
    json!({
        "context": "GATEWAY",
        "listener": { "filterChain": { "filter": {
            "name": "envoy.filters.network.http_connection_manager",
            "subFilter": { "name": ROUTER },
        } } },
    })
}

pub(super) fn patch(apply_to: &str, at: Value, operation: &str, value: Value) -> ConfigPatch {
    ConfigPatch { apply_to: apply_to.to_owned(), r#match: at, patch: Patch { operation: operation.to_owned(), value } }
}

/// Kubernetes' own way to write bytes in JSON.
fn base64(bytes: &[u8]) -> String {
    match serde_json::to_value(ByteString(bytes.to_owned())) {
        Ok(Value::String(text)) => text,
        // Bytes are always written as a string.
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::istio::yaml;
    use crate::knative::testing;
    use crate::module::MODULE;

    fn workload() -> Workload {
        let labels = [("istio".to_owned(), "ingressgateway".to_owned())].into();
        Workload { namespace: "istio-system".to_owned(), labels }
    }

    fn of(module: &[u8]) -> Install<'_> {
        Install { module, wrapping: Wrapping::Matched, generation: 0, by: InstalledBy::Enable }
    }

    #[test]
    fn of_a_module() {
        let made = install(&workload(), of(b"\0asm"));
        let text = yaml::to_yaml(&[&made]).expect("YAML");
        assert_eq!(testing::object::<EnvoyFilter>(&text), made, "kubectl reads what is meant");
        insta::assert_snapshot!(testing::without_version(&text));
    }

    #[test]
    fn what_is_installed_is_read_back() {
        for wrapping in [Wrapping::Matched, Wrapping::Bare] {
            for by in [InstalledBy::Install, InstalledBy::Enable] {
                let made = install(&workload(), Install { wrapping, generation: 7, by, ..of(b"\0asm") });
                let expected = Installed {
                    version: Some(names::PLUGIN_VERSION.to_owned()),
                    module: Some(module_fingerprint(b"\0asm")),
                    by: Some(by),
                    wrapping,
                    generation: 7,
                };
                assert_eq!(Installed::of(&made), expected);
            }
        }
    }

    #[test]
    fn the_api_server_takes_it() {
        // etcd refuses objects of more than 1.5 MB; half as much again is left for what the server adds.
        let size = serde_json::to_vec(&install(&workload(), of(MODULE))).expect("JSON").len();
        assert!(size < 1024 * 1024, "{size} bytes");
        assert!(size > MODULE.len(), "the module is inside");
    }
}
