//! What one Envoy says of itself.

use std::collections::BTreeMap;

use mirror_core::config::Target;

use super::{Endpoints, LiveMirror, Modules, endpoints, module, routes, sending};
use crate::admin::{Admin, AdminError};
use crate::source::{self, Snapshot};

/// What one Envoy says of itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// What it has counted, and how it and the module are.
    pub snapshot: Snapshot,
    /// What became of the module, also where Istio hides the statistics that tell.
    pub modules: Modules,
    /// The mirrors in its live routes, by name, and then those that its module was told of.
    pub mirrors: Vec<LiveMirror>,
    /// The clusters that were asked for and those that its mirrors copy to.
    pub endpoints: BTreeMap<String, Endpoints>,
}

/// What one pod's Envoy says of itself, or why it does not.
#[derive(Debug)]
pub struct PodView {
    /// The pod's name.
    pub pod: String,
    /// What it says.
    pub view: Result<View, AdminError>,
}

impl View {
    /// Envoy's version, for example `1.40.0`.
    pub fn envoy(&self) -> &str {
        self.snapshot.instances.first().map_or("", |instance| &instance.envoy)
    }

    /// The version of Istio's proxy; `None` where this is none.
    pub fn istio(&self) -> Option<&str> {
        self.snapshot.instances.first().and_then(|instance| instance.istio.as_deref())
    }
}

/// Reads the admin pages of one Envoy.
///
/// # Errors
/// See [`AdminError`].
pub async fn read(admin: &Admin, clusters: &[String]) -> Result<View, AdminError> {
    let snapshot = source::admin::read_page(admin).await?;
    let instance = snapshot.instances.first().cloned().unwrap_or_default();
    let by_plugin = sending::read(admin).await?;
    let modules = module::read(admin, &instance, &by_plugin).await?;
    let (mut mirrors, mut served) = (Vec::new(), Vec::new());
    for kind in ["dynamic", "static"] {
        let page = admin.get(&format!("/config_dump?resource={kind}_route_configs")).await?;
        let (some, hosts) = routes::read(page.json()?);
        mirrors.extend(some);
        served.extend(hosts);
    }
    mirrors.extend(sending::mirrors(by_plugin.module.unwrap_or_default(), &served));
    let mut names = clusters.to_vec();
    for mirror in mirrors.iter().filter_map(|live| live.mirror.as_ref()) {
        names.extend([Some(&mirror.candidate), mirror.secondary.as_ref()].into_iter().flatten().map(cluster));
    }
    names.sort();
    names.dedup();
    let endpoints = read_endpoints(admin, names).await?;
    Ok(View { snapshot, modules, mirrors, endpoints })
}

fn cluster(target: &Target) -> String {
    target.cluster.clone()
}

async fn read_endpoints(admin: &Admin, names: Vec<String>) -> Result<BTreeMap<String, Endpoints>, AdminError> {
    let mut found = BTreeMap::new();
    for name in names {
        let mut endpoints = None;
        for kind in ["dynamic", "static"] {
            if endpoints.is_none() {
                endpoints = endpoints::read(admin.get(&endpoints::path(kind, &name)).await?.json()?).remove(&name);
            }
        }
        found.insert(name, endpoints.unwrap_or_default());
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use mirror_core::config::Mirror;

    use super::*;
    use crate::admin::testing::FakeEnvoy;
    use crate::source::{Module, Way};

    #[tokio::test]
    async fn what_became_of_the_module_is_found_without_the_statistics_that_istio_hides() {
        let envoy = FakeEnvoy::start().await;
        let modules = async || read(&envoy.admin(), &[]).await.expect("a view").modules;
        for module in [Module::Missing, Module::Waiting, Module::Rejected, Module::Stopped, Module::Running] {
            envoy.module(Way::Observing, module);
            assert_eq!(modules().await, Modules { observing: module, sending: Module::Missing });
        }
        for module in Module::ALL {
            envoy.module(Way::Sending, module);
            assert_eq!(modules().await, Modules { observing: Module::Running, sending: module });
        }
    }

    #[tokio::test]
    async fn clusters_are_looked_up_that_were_asked_for_and_that_mirrors_copy_to() {
        let envoy = FakeEnvoy::start().await;
        let json = r#"{"version":1,"name":"shop/hello","candidate":{"cluster":"v2"},"hosts":["hello.shop"],
            "secondary":{"cluster":"v1"}}"#;
        let mirror = Mirror::from_json(json.as_bytes()).expect("a good mirror");
        envoy.mirrors(&[&mirror]);
        envoy.endpoints("v2", 2);
        envoy.endpoints("asked", 0);
        let view = read(&envoy.admin(), &["asked".to_owned(), "other".to_owned()]).await.expect("a view");
        let endpoints: Vec<_> = view.endpoints.iter().map(|(name, found)| (name.as_str(), *found)).collect();
        assert_eq!(
            endpoints,
            [
                ("asked", Endpoints::NoEndpoints),
                ("other", Endpoints::Absent),
                ("v1", Endpoints::Absent),
                ("v2", Endpoints::Ready(2)),
            ]
        );
        assert_eq!(view.mirrors[0].mirror, Some(mirror));
        assert_eq!((view.envoy(), view.istio()), ("1.36.2", Some("1.28.3")));
    }
}
