//! The EnvoyFilter that puts the module into gateway pods: the module by extension discovery with a harmless default, and
//! the selector, which stands disabled until a mirror's route switches it on.

use std::fmt;
use std::str::FromStr;

use k8s_openapi::ByteString;
use kube::core::ObjectMeta;
use mirror_core::config::fingerprint;
use serde_json::{Value, json};

use super::{Workload, names};
use crate::envoy::observer::{self, Code, Discovery, Module, Wrapping};
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

/// What the annotations of an install object say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// The version of the plugin that wrote it.
    pub version: Option<String>,
    /// The fingerprint of its module, see [`module_fingerprint`].
    pub module: Option<String>,
    /// Which command wrote it.
    pub by: Option<InstalledBy>,
    /// How often the module was made to start anew.
    pub generation: u64,
}

impl Installed {
    /// Reads the annotations.
    pub fn of(metadata: &ObjectMeta) -> Self {
        let annotation = |name: &str| metadata.annotations.as_ref()?.get(name).cloned();
        Self {
            version: annotation(names::VERSION),
            module: annotation(names::MODULE),
            by: annotation(names::INSTALLED_BY).and_then(|by| by.parse().ok()),
            generation: annotation(names::GENERATION).and_then(|n| n.parse().ok()).unwrap_or(0),
        }
    }
}

/// A short name of this very module: 8 hex digits.
pub fn module_fingerprint(module: &[u8]) -> String {
    fingerprint(module)
}

/// The EnvoyFilter that puts `module` (WebAssembly) into the pods of `workload`. Another `generation` starts it anew.
pub fn install(
    workload: &Workload,
    module: &[u8],
    by: InstalledBy,
    wrapping: Wrapping,
    generation: u64,
) -> EnvoyFilter {
    let extension = observer::extension(Module { code: Code::Inline(&base64(module)), wrapping, generation });
    let metadata = names::metadata(
        &workload.namespace,
        names::install(workload),
        &[(names::MANAGED_BY, names::MANAGER), (names::INSTALL, "true")],
        [
            (names::VERSION, names::PLUGIN_VERSION.to_owned()),
            (names::MODULE, module_fingerprint(module)),
            (names::INSTALLED_BY, by.to_string()),
            (names::GENERATION, generation.to_string()),
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
            patch("EXTENSION_CONFIG", json!({ "context": "GATEWAY" }), "ADD", extension),
            patch("HTTP_FILTER", at_router(), "MERGE", router),
            patch("HTTP_FILTER", at_router(), "INSERT_BEFORE", selector::filter()),
        ],
    };
    EnvoyFilter { metadata, spec }
}

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

    #[test]
    fn of_a_module() {
        let made = install(&workload(), b"\0asm", InstalledBy::Enable, Wrapping::Matched, 0);
        let text = yaml::to_yaml(&[&made]).expect("YAML");
        assert_eq!(testing::object::<EnvoyFilter>(&text), made, "kubectl reads what is meant");
        insta::assert_snapshot!(text);
        let installed = Installed::of(&made.metadata);
        assert_eq!(installed.by, Some(InstalledBy::Enable));
        assert_eq!(installed.module, Some(module_fingerprint(b"\0asm")));
        assert_eq!(installed.version.as_deref(), Some(names::PLUGIN_VERSION));
    }

    #[test]
    fn the_api_server_takes_it() {
        // etcd refuses objects of more than 1.5 MiB, kubectl's last-applied annotation doubles nothing as apply is
        // server-side; some API servers are set to 1 MiB.
        let made = install(&workload(), MODULE, InstalledBy::Install, Wrapping::Matched, 0);
        let size = serde_json::to_vec(&made).expect("JSON").len();
        assert!(size < 1024 * 1024, "{size} bytes");
        assert!(size > MODULE.len(), "the module is inside");
    }
}
