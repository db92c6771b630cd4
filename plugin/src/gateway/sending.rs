//! What a WasmPlugin brought to an Envoy: the module that sends copies itself, and the mirrors that it is told of.
//!
//! It comes by extension discovery, under a name that Istio makes of the object's: `extensions.istio.io/KIND/NAMESPACE.NAME`, with
//! more behind it. Where Istio's agent cannot fetch the module, it delivers a filter of another type under that name.

use mirror_core::config::{Sending, Sent};
use serde::Deserialize;

use super::routes::{Carrier, Drawn, LiveMirror};
use super::served::Served;
use crate::admin::{Admin, AdminError};

/// In the names of what this program's WasmPlugins bring, before the names of their workloads.
pub(super) const NAMED: &str = ".kubectl-mirror-";

/// What was delivered for this program's WasmPlugins. The module's bytes are not in there.
const PAGE: &str = "/config_dump?resource=ecds_filters&name_regex=.%2A%5C.kubectl-mirror-.%2A";

/// What was delivered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Delivered {
    /// The module, also where Envoy refused it; with the mirrors that it is told of, by name.
    pub module: Option<Vec<(String, String)>>,
    /// Whether something else came in its place.
    pub is_substituted: bool,
}

/// Reads what was delivered.
pub(super) async fn read(admin: &Admin) -> Result<Delivered, AdminError> {
    match admin.get_opt(PAGE).await? {
        Some(page) => Ok(delivered(page.json()?)),
        None => Ok(Delivered::default()),
    }
}

fn delivered(dump: Dump) -> Delivered {
    let mut delivered = Delivered::default();
    let filters =
        dump.configs.into_iter().map(|config| config.ecds_filter).filter(|filter| filter.name.contains(NAMED));
    for filter in filters {
        let Some(config) = filter.typed_config.config else {
            delivered.is_substituted = true;
            continue;
        };
        let json = config.configuration.map(|configuration| configuration.value).unwrap_or_default();
        let told = Sending::from_json(json.as_bytes()).ok().flatten().unwrap_or_default();
        delivered.module.get_or_insert_default().extend(told.mirrors);
    }
    delivered
}

/// The mirrors that a module is told of, with the routes of their hosts.
pub(super) fn mirrors(told: Vec<(String, String)>, served: &[Served]) -> Vec<LiveMirror> {
    let mirror = |(name, json): (String, String)| {
        let mirror = Sent::from_json(json.as_bytes()).ok().map(|sent| sent.mirror);
        let hosts = mirror.as_ref().map(|mirror| mirror.hosts.as_slice()).unwrap_or_default();
        let served: Vec<_> = served.iter().filter(|served| hosts.iter().any(|host| served.serves(host))).collect();
        LiveMirror {
            name,
            mirror,
            carrier: Carrier::Plugin,
            drawn: Some(Drawn::Told(json)),
            flaws: Default::default(),
            ports: served.iter().map(|served| served.port.clone()).collect(),
            domains: served.iter().flat_map(|served| served.domains.iter().cloned()).collect(),
            routes: served.iter().map(|served| served.routes).sum(),
        }
    };
    told.into_iter().map(mirror).collect()
}

#[derive(Default, Deserialize)]
struct Dump {
    #[serde(default)]
    configs: Vec<Config>,
}

#[derive(Deserialize)]
struct Config {
    #[serde(default)]
    ecds_filter: Filter,
}

#[derive(Default, Deserialize)]
struct Filter {
    #[serde(default)]
    name: String,
    #[serde(default)]
    typed_config: Typed,
}

/// A module has a `config`, what stands in its place has none.
#[derive(Default, Deserialize)]
struct Typed {
    config: Option<Plugin>,
}

#[derive(Deserialize)]
struct Plugin {
    configuration: Option<Configuration>,
}

#[derive(Deserialize)]
struct Configuration {
    #[serde(default)]
    value: String,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::envoy::fixture;

    fn page(name: &str, typed: Value) -> Value {
        json!({ "ecds_filter": { "name": name, "typed_config": typed } })
    }

    fn read(configs: &[Value]) -> Delivered {
        delivered(serde_json::from_value(json!({ "configs": configs })).expect("a dump"))
    }

    const NAMES: [&str; 2] = [
        "extensions.istio.io/wasmplugin/istio-system.kubectl-mirror-ingressgateway",
        "extensions.istio.io/trafficextension/istio-system.kubectl-mirror-ingressgateway~istio-translated-wasmplugin",
    ];

    #[test]
    fn mirrors_are_found_as_the_module_is_told_of_them() {
        let spec = fixture::full();
        let told = Sending { mirrors: vec![(spec.mirror.name.clone(), spec.to_json())] };
        let config = json!({ "config": { "configuration": { "value": told.to_json().to_string() } } });
        for name in NAMES {
            let found = read(&[page(name, config.clone()), page("kubectl-mirror", json!({}))]);
            assert_eq!(found, Delivered { module: Some(told.mirrors.clone()), is_substituted: false });
        }
        let served = |domain: &str| Served { port: "http.8080".into(), domains: vec![domain.into()], routes: 3 };
        let found = mirrors(told.mirrors, &[served("other"), served("hello.example.com")]);
        assert_eq!(found[0].mirror.as_ref(), Some(&spec.mirror));
        assert_eq!((found[0].routes, found[0].serves("hello.example.com")), (3, true));
        assert!(!found[0].serves("other"));
    }

    #[test]
    fn what_stands_in_the_modules_place_is_told() {
        let rbac = json!({ "@type": "type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC",
            "rules_stat_prefix": "wasm-default-allow" });
        assert_eq!(read(&[page(NAMES[0], rbac)]), Delivered { module: None, is_substituted: true });
        assert_eq!(read(&[page("extensions.istio.io/wasmplugin/shop.other", json!({}))]), Delivered::default());
        // A module without a configuration is a module.
        let found = read(&[page(NAMES[0], json!({ "config": {} }))]);
        assert_eq!(found, Delivered { module: Some(Vec::new()), is_substituted: false });
    }
}
