//! The WasmPlugin of the strategy `wasmplugin`: it puts the module into the listeners of gateway pods, and tells it of all
//! mirrors there. There is one for each set of pods, which mirrors share.
//!
//! Its place is right before the router, behind whatever decides whether a request is let in: what is denied is not copied. After
//! a fault of the module requests pass it by.

use std::collections::BTreeMap;

use mirror_core::config::Sending;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::pin::Pinned;
use super::{InstalledBy, Workload, names};
use crate::envoy::NAME;
use crate::intent::{Intent, IntentError, MirrorName};
use crate::kinds::{WasmPlugin, WasmPluginSpec};
use crate::knative::Plan;

/// Where gateways get the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The module.
    pub module: Pinned,
    /// The Secret with the credentials for its image, in the namespace of the gateway pods.
    pub pull_secret: Option<String>,
}

/// What the object keeps of a mirror beside its configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// The version of the plugin that wrote it.
    pub version: Option<String>,
    /// When it was enabled first, in seconds since the Unix epoch.
    pub created: Option<i64>,
    /// What was asked for.
    pub intent: Result<Intent, IntentError>,
}

/// The shape of that in the annotation, which holds all mirrors by name.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Written {
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created: Option<i64>,
    intent: Value,
}

/// The WasmPlugin for the pods of `workload`, without any mirror.
pub fn wasm_plugin(workload: &Workload, origin: &Origin, by: InstalledBy) -> WasmPlugin {
    let metadata = names::metadata(
        &workload.namespace,
        names::install(workload),
        &[(names::MANAGED_BY, names::MANAGER), (names::INSTALL, "true")],
        [(names::MIRRORS, "{}".to_owned())],
    );
    let targets = workload.target();
    let spec = WasmPluginSpec {
        selector: targets.is_none().then(|| workload.pod_selector()),
        target_refs: targets.into_iter().collect(),
        plugin_name: Some(NAME.to_owned()),
        r#type: Some("HTTP".to_owned()),
        fail_strategy: Some("FAIL_OPEN".to_owned()),
        // No phase stands last, and of it the lowest.
        priority: Some(i32::MIN),
        plugin_config: Sending::default().to_json(),
        ..WasmPluginSpec::default()
    };
    with_module(&WasmPlugin { metadata, spec }, origin, by)
}

/// The same WasmPlugin with another module.
pub fn with_module(plugin: &WasmPlugin, origin: &Origin, by: InstalledBy) -> WasmPlugin {
    let mut plugin = plugin.clone();
    plugin.spec.url.clone_from(&origin.module.url);
    plugin.spec.sha256.clone_from(&origin.module.sha256);
    plugin.spec.image_pull_policy = origin.module.url.starts_with("oci://").then(|| "IfNotPresent".to_owned());
    plugin.spec.image_pull_secret.clone_from(&origin.pull_secret);
    let annotations = plugin.metadata.annotations.get_or_insert_default();
    annotations.insert(names::VERSION.to_owned(), names::PLUGIN_VERSION.to_owned());
    annotations.insert(names::INSTALLED_BY.to_owned(), by.to_string());
    plugin
}

/// The same WasmPlugin with a mirror more, which is enabled `now`, or with this one changed.
pub fn with_mirror(plugin: &WasmPlugin, plan: &Plan, now: Option<i64>) -> WasmPlugin {
    let created = kept(plugin).remove(&plan.name).and_then(|kept| kept.created).or(now);
    let written = Written {
        version: Some(names::PLUGIN_VERSION.to_owned()),
        created,
        intent: serde_json::from_str(&plan.intent.to_annotation()).unwrap_or_default(),
    };
    let name = plan.name.to_string();
    changed(plugin, &name, Some((json!(plan.spec().to_json()), json!(written))))
}

/// The same WasmPlugin without a mirror.
pub fn without_mirror(plugin: &WasmPlugin, name: &MirrorName) -> WasmPlugin {
    changed(plugin, &name.to_string(), None)
}

/// The same WasmPlugin with a mirror as another has it; without it where that has not got it.
pub fn with_mirror_of(plugin: &WasmPlugin, other: &WasmPlugin, name: &MirrorName) -> WasmPlugin {
    let name = name.to_string();
    let config = other.spec.plugin_config["mirrors"].get(&name).cloned();
    let written = annotation(other).remove(&name).unwrap_or_default();
    changed(plugin, &name, config.map(|config| (config, written)))
}

/// The same WasmPlugin without any mirror.
pub fn without_mirrors(plugin: &WasmPlugin) -> WasmPlugin {
    mirrors(plugin).iter().fold(plugin.clone(), |plugin, name| without_mirror(&plugin, name))
}

/// The same WasmPlugin whose module starts anew, also one that has trapped.
pub fn restarted(plugin: &WasmPlugin) -> WasmPlugin {
    let mut plugin = plugin.clone();
    let generation = plugin.spec.plugin_config["generation"].as_u64().unwrap_or_default();
    plugin.spec.plugin_config["generation"] = json!(generation.saturating_add(1));
    plugin
}

/// The mirrors that it holds.
pub fn mirrors(plugin: &WasmPlugin) -> Vec<MirrorName> {
    let told = plugin.spec.plugin_config["mirrors"].as_object().into_iter().flatten();
    told.filter_map(|(name, _)| name.parse().ok()).collect()
}

/// What it keeps of each mirror that it holds.
pub fn kept(plugin: &WasmPlugin) -> BTreeMap<MirrorName, Kept> {
    let mut written = annotation(plugin);
    let kept = |name: MirrorName| {
        let Written { version, created, intent } = match written.remove(&name.to_string()) {
            Some(value) => serde_json::from_value(value).unwrap_or_default(),
            None => Written::default(),
        };
        let intent =
            if intent.is_null() { Err(IntentError::Missing) } else { Intent::from_annotation(&intent.to_string()) };
        (name, Kept { version, created, intent })
    };
    mirrors(plugin).into_iter().map(kept).collect()
}

fn annotation(plugin: &WasmPlugin) -> serde_json::Map<String, Value> {
    let text = plugin.metadata.annotations.as_ref().and_then(|annotations| annotations.get(names::MIRRORS));
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

fn changed(plugin: &WasmPlugin, name: &str, mirror: Option<(Value, Value)>) -> WasmPlugin {
    let mut plugin = plugin.clone();
    let mut written = annotation(&plugin);
    let config = &mut plugin.spec.plugin_config;
    if !config["mirrors"].is_object() {
        *config = Sending::default().to_json();
    }
    if let Some(told) = config["mirrors"].as_object_mut() {
        match mirror {
            Some((json, kept)) => {
                told.insert(name.to_owned(), json);
                written.insert(name.to_owned(), kept);
            }
            None => {
                told.remove(name);
                written.remove(name);
            }
        }
    }
    let annotations = plugin.metadata.annotations.get_or_insert_default();
    annotations.insert(names::MIRRORS.to_owned(), Value::Object(written).to_string());
    plugin
}

#[cfg(test)]
mod tests {
    use mirror_core::config::Mirror;

    use super::*;
    use crate::intent::Strategy;
    use crate::istio::{live, yaml};
    use crate::knative::testing;

    const NOW: Option<i64> = Some(1_796_047_652);

    fn origin() -> Origin {
        let module = Pinned { url: "oci://ghcr.io/x/filter:1".into(), sha256: "a".repeat(64) };
        Origin { module, pull_secret: Some("pull".into()) }
    }

    fn workload(labels: [(&str, &str); 1]) -> Workload {
        let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        Workload { namespace: "istio-system".into(), labels }
    }

    fn empty() -> WasmPlugin {
        wasm_plugin(&workload([("istio", "ingressgateway")]), &origin(), InstalledBy::Enable)
    }

    fn plan(shape: &str, to: &str) -> Plan {
        let intent = Intent { sticky: Some("x-user".into()), ..testing::intent(to, Strategy::WasmPlugin) };
        testing::plan(shape, intent)
    }

    fn shown(made: &WasmPlugin) -> String {
        let text = yaml::to_yaml(&[made]).expect("YAML");
        assert_eq!(&testing::object::<WasmPlugin>(&text), made, "kubectl reads what is meant");
        // Its release is in the annotation too, inside of a text.
        let release = |version: &str| format!(r#"\"version\":\"{version}\""#);
        testing::without_version(&text).replace(&release(names::PLUGIN_VERSION), &release("VERSION"))
    }

    #[test]
    fn of_two_mirrors() {
        let (cart, pay) = (plan("tagged", "next"), plan("split", "canary"));
        let made = with_mirror(&with_mirror(&empty(), &cart, NOW), &pay, NOW.map(|now| now + 1));
        for plan in [&cart, &pay] {
            assert_eq!(live::of_wasm_plugin(&made, &plan.name), Some(plan.spec()), "it is read back");
        }
        let kept = kept(&made);
        assert_eq!(kept[&pay.name].intent.as_ref(), Ok(&pay.intent));
        assert_eq!((kept[&cart.name].created, kept[&pay.name].created), (NOW, NOW.map(|now| now + 1)));
        insta::assert_snapshot!(shown(&made));
    }

    #[test]
    fn of_a_kubernetes_gateway() {
        let gateway = workload([("gateway.networking.k8s.io/gateway-name", "waypoint")]);
        insta::assert_snapshot!(shown(&wasm_plugin(&gateway, &origin(), InstalledBy::Install)));
        assert_eq!(Workload::of_plugin(&wasm_plugin(&gateway, &origin(), InstalledBy::Install)), gateway);
        assert_eq!(Workload::of_plugin(&empty()), workload([("istio", "ingressgateway")]));
    }

    #[test]
    fn each_mirror_comes_and_goes_without_touching_the_others() {
        let (cart, pay) = (plan("tagged", "next"), plan("split", "canary"));
        let both = with_mirror(&with_mirror(&empty(), &cart, NOW), &pay, NOW);
        let again = with_mirror(&both, &cart, None);
        assert_eq!(again, both, "enabled first is enabled first");
        assert_eq!(without_mirror(&both, &pay.name), with_mirror(&empty(), &cart, NOW));
        assert_eq!(without_mirrors(&both), empty());
        assert_eq!(with_mirror_of(&with_mirror(&empty(), &cart, NOW), &both, &pay.name), both);
        assert_eq!(with_mirror_of(&both, &empty(), &cart.name), without_mirror(&both, &cart.name));
        let restarted = restarted(&restarted(&both));
        assert_eq!(restarted.spec.plugin_config["generation"], 2);
        assert_eq!(mirrors(&without_mirror(&restarted, &cart.name)), [pay.name]);
    }

    #[test]
    fn what_was_changed_by_hand_hides_no_mirror() {
        let cart = plan("tagged", "next");
        let mut made = with_mirror(&empty(), &cart, NOW);
        made.metadata.annotations.as_mut().expect("annotations").insert(names::MIRRORS.to_owned(), "{".to_owned());
        assert_eq!(kept(&made)[&cart.name].intent, Err(IntentError::Missing));
        assert_eq!(live::of_wasm_plugin(&made, &cart.name).map(|spec| spec.mirror), Some::<Mirror>(cart.spec().mirror));
        made.spec.plugin_config = Value::Null;
        assert!(mirrors(&made).is_empty());
        assert_eq!(mirrors(&with_mirror(&made, &cart, NOW)), [cart.name]);
    }
}
