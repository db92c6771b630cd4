//! The mirrors in an Envoy's live routes.

use std::collections::BTreeSet;

use mirror_core::config::{Mirror, Sampling};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::served::{Served, serve};
use crate::envoy::{MirrorSpec, mark, selector};
use crate::source::Way;

/// One mirror as it stands in an Envoy's routes.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveMirror {
    /// `<namespace>/<route>`.
    pub name: String,
    /// Its configuration; `None` where this build cannot read it.
    pub mirror: Option<Mirror>,
    /// How the configuration travels.
    pub carrier: Carrier,
    /// Which requests are copied; `None` where the routes do not say.
    pub drawn: Option<Drawn>,
    /// What its routes lack; empty where all is there.
    pub flaws: BTreeSet<Flaw>,
    /// The route configurations that have it: one for each port.
    pub ports: BTreeSet<String>,
    /// The domains of the virtual hosts that have it.
    pub domains: BTreeSet<String>,
    /// How many routes have it.
    pub routes: usize,
}

/// Which requests are copied, as far as the mirror's configuration does not say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Drawn {
    /// Those that this script of the selector marks.
    Script(String),
    /// So many of a million, which Envoy draws.
    Share(u32),
    /// Those that the module selects by this configuration.
    Told(String),
}

impl Drawn {
    /// What is said of a mirror that is to be.
    pub fn of(spec: &MirrorSpec, way: Way) -> Self {
        match (way, spec.mirror.sampling) {
            (Way::Sending, _) => Self::Told(spec.to_json()),
            (Way::Observing, Sampling::Selector) => Self::Script(selector::script(spec)),
            (Way::Observing, Sampling::Envoy) => Self::Share(spec.selection.millionths),
        }
    }

    /// Whether two are the same. Istio rounds shares down, from numbers that are not exact.
    pub fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Share(one), Self::Share(other)) => one.abs_diff(*other) <= 1,
            (one, other) => one == other,
        }
    }
}

/// How a mirror's configuration travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// In the route's metadata, with a selector beside it (strategy `overlay`).
    Metadata,
    /// In a request header (strategy `virtualservice`).
    Header,
    /// In the module's own configuration (strategy `wasmplugin`).
    Plugin,
}

impl Carrier {
    /// How the module stands that reads it.
    pub const fn way(self) -> Way {
        match self {
            Self::Metadata | Self::Header => Way::Observing,
            Self::Plugin => Way::Sending,
        }
    }
}

/// What a mirrored route lacks, so that nothing is copied, or not as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flaw {
    /// The mirror policy: nothing is copied.
    Policy,
    /// The policy's changes of the copy's headers, which an Istio before 1.28 leaves out: copies would not be told apart,
    /// and Knative would serve them from the primary.
    Mutations,
    /// The selector's entry: no request is marked, so nothing is copied.
    Selector,
}

/// All mirrors in a dump of route configurations, by name; two states of one mirror (while a change is on its way) stand
/// beside each other. And all virtual hosts that send requests on.
pub(super) fn read(dump: Dump) -> (Vec<LiveMirror>, Vec<Served>) {
    let (mut mirrors, mut served): (Vec<LiveMirror>, _) = (Vec::new(), Vec::new());
    for config in dump.configs.into_iter().filter_map(|config| config.route_config) {
        for host in config.virtual_hosts {
            let routes = host.routes.iter().filter(|route| route.route.is_some()).count();
            if routes > 0 {
                served.push(Served { port: config.name.clone(), domains: host.domains.clone(), routes });
            }
            for route in host.routes {
                let Some((carrier, json)) = route.carries() else { continue };
                let Ok(Named { name }) = serde_json::from_str(&json) else { continue };
                let mirror = Mirror::from_json(json.as_bytes()).ok();
                let drawn = route.drawn(carrier);
                let is_same = |known: &LiveMirror| known.name == name && known.mirror == mirror && known.drawn == drawn;
                let i = mirrors.iter().position(is_same);
                let i = i.unwrap_or_else(|| {
                    mirrors.push(LiveMirror {
                        name,
                        mirror,
                        carrier,
                        drawn,
                        flaws: BTreeSet::new(),
                        ports: BTreeSet::new(),
                        domains: BTreeSet::new(),
                        routes: 0,
                    });
                    mirrors.len() - 1
                });
                let known = &mut mirrors[i];
                known.flaws.extend(route.flaws(known.mirror.as_ref()));
                known.ports.insert(config.name.clone());
                known.domains.extend(host.domains.iter().cloned());
                known.routes += 1;
            }
        }
    }
    mirrors.sort_by(|a, b| a.name.cmp(&b.name));
    (mirrors, served)
}

impl LiveMirror {
    /// The fingerprint of its configuration; `None` where this build cannot read it.
    pub fn fingerprint(&self) -> Option<String> {
        self.mirror.as_ref().map(Mirror::fingerprint)
    }

    /// Whether one of its virtual hosts serves this host.
    pub fn serves(&self, host: &str) -> bool {
        serve(&self.domains, host)
    }
}

impl Route {
    /// The configuration of a mirror that this route carries.
    fn carries(&self) -> Option<(Carrier, String)> {
        let metadata = self.metadata.as_ref().and_then(|metadata| metadata.filter_metadata.mirror.as_ref());
        if let Some(config) = metadata.and_then(|mirror| mirror.config.clone()) {
            return Some((Carrier::Metadata, config));
        }
        let header =
            self.request_headers_to_add.iter().find(|add| add.header.key.eq_ignore_ascii_case(mark::CONFIG))?;
        // Envoy substitutes `%…%` in values; `%%` stands for `%`.
        Some((Carrier::Header, header.header.value.replace("%%", "%")))
    }

    fn drawn(&self, carrier: Carrier) -> Option<Drawn> {
        match carrier {
            Carrier::Metadata => {
                let selector = self.typed_per_filter_config.selector.as_ref()?;
                Some(Drawn::Script(selector.config.source_code.inline_string.clone()?))
            }
            Carrier::Header => {
                let share = self.route.as_ref()?.request_mirror_policies.first()?.runtime_fraction.as_ref()?;
                let share = share.default_value.as_ref().filter(|share| share.denominator == "MILLION")?;
                Some(Drawn::Share(share.numerator))
            }
            Carrier::Plugin => None,
        }
    }

    fn flaws(&self, mirror: Option<&Mirror>) -> Vec<Flaw> {
        let policies = self.route.as_ref().map(|action| action.request_mirror_policies.as_slice()).unwrap_or_default();
        let needed = if mirror.is_some_and(|mirror| mirror.secondary.is_some()) { 2 } else { 1 };
        let by_selector = mirror.is_none_or(|mirror| mirror.sampling == Sampling::Selector);
        let mut flaws = Vec::new();
        if policies.len() < needed {
            flaws.push(Flaw::Policy);
        }
        if by_selector && policies.iter().any(|policy| policy.request_headers_mutations.is_empty()) {
            flaws.push(Flaw::Mutations);
        }
        if by_selector && self.typed_per_filter_config.selector.is_none() {
            flaws.push(Flaw::Selector);
        }
        flaws
    }
}

/// `/config_dump?resource=dynamic_route_configs`, as far as it matters here.
#[derive(Deserialize)]
pub(super) struct Dump {
    #[serde(default)]
    configs: Vec<Config>,
}

#[derive(Deserialize)]
struct Config {
    route_config: Option<RouteConfig>,
}

#[derive(Deserialize)]
struct RouteConfig {
    #[serde(default)]
    name: String,
    #[serde(default)]
    virtual_hosts: Vec<VirtualHost>,
}

#[derive(Deserialize)]
struct VirtualHost {
    #[serde(default)]
    domains: Vec<String>,
    #[serde(default)]
    routes: Vec<Route>,
}

#[derive(Deserialize)]
struct Route {
    metadata: Option<Metadata>,
    route: Option<Action>,
    #[serde(default)]
    request_headers_to_add: Vec<Add>,
    #[serde(default)]
    typed_per_filter_config: PerFilter,
}

#[derive(Deserialize)]
struct Metadata {
    #[serde(default)]
    filter_metadata: FilterMetadata,
}

#[derive(Default, Deserialize)]
struct FilterMetadata {
    #[serde(rename = "kubectl-mirror")]
    mirror: Option<Carried>,
}

#[derive(Deserialize)]
struct Carried {
    config: Option<String>,
}

#[derive(Deserialize)]
struct Action {
    #[serde(default)]
    request_mirror_policies: Vec<Policy>,
}

#[derive(Deserialize)]
struct Policy {
    #[serde(default)]
    request_headers_mutations: Vec<IgnoredAny>,
    runtime_fraction: Option<Fraction>,
}

#[derive(Deserialize)]
struct Fraction {
    default_value: Option<Share>,
}

#[derive(Deserialize)]
struct Share {
    #[serde(default)]
    numerator: u32,
    #[serde(default)]
    denominator: String,
}

#[derive(Deserialize)]
struct Add {
    header: Header,
}

#[derive(Deserialize)]
struct Header {
    key: String,
    #[serde(default)]
    value: String,
}

#[derive(Default, Deserialize)]
struct PerFilter {
    #[serde(rename = "kubectl-mirror.select")]
    selector: Option<Selector>,
}

#[derive(Deserialize)]
struct Selector {
    #[serde(default)]
    config: SelectorConfig,
}

#[derive(Default, Deserialize)]
struct SelectorConfig {
    #[serde(default)]
    source_code: SourceCode,
}

#[derive(Default, Deserialize)]
struct SourceCode {
    inline_string: Option<String>,
}

/// A mirror's configuration, whatever its version.
#[derive(Deserialize)]
struct Named {
    name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(in crate::gateway) const DUMP: &str = include_str!("../../fixtures/cluster/envoy-routes.json");

    fn mirrors(dump: &str) -> Vec<LiveMirror> {
        read(serde_json::from_str(dump).expect("a dump")).0
    }

    #[test]
    fn mirrors_are_found_in_metadata_and_in_headers() {
        let found = mirrors(DUMP);
        let seen: Vec<_> = found
            .iter()
            .map(|live| {
                (live.name.as_str(), live.carrier, live.routes, live.ports.iter().map(String::as_str).collect())
            })
            .collect();
        let seen: Vec<(&str, Carrier, usize, Vec<&str>)> = seen;
        assert_eq!(
            seen,
            [
                ("shop/cart", Carrier::Header, 1, vec!["http.8081"]),
                ("shop/hello", Carrier::Metadata, 2, vec!["http.8080"]),
                ("shop/next", Carrier::Metadata, 1, vec!["http.8081"]),
            ]
        );
        // `%%` in a header's value stands for `%`.
        let cart = found[0].mirror.as_ref().expect("a mirror that this build reads");
        assert!(cart.to_json().contains("/100%\""), "{}", cart.to_json());
        assert_eq!(found[0].fingerprint(), Some(cart.fingerprint()));
        // Another version of the format.
        assert_eq!(found[2].fingerprint(), None);
        assert!(found[0].flaws.is_empty() && found[1].flaws.is_empty(), "{found:?}");
        assert!(mirrors("{}").is_empty());
    }

    #[test]
    fn what_a_route_lacks_is_told() {
        let mutations = r#""request_headers_mutations": [{ "remove": "x-mirror-to-5f3a9c01" }]"#;
        for (from, to, flaw) in [
            (mutations, r#""other": 1"#, Flaw::Mutations),
            ("kubectl-mirror.select", "other", Flaw::Selector),
            ("request_mirror_policies", "other", Flaw::Policy),
        ] {
            let dump = DUMP.replace(from, to);
            assert_ne!(dump, DUMP, "{from}");
            let found = mirrors(&dump);
            assert_eq!(found[1].flaws.iter().copied().collect::<Vec<_>>(), [flaw], "{from}");
        }
        // A secondary needs a policy of its own.
        let config = r#"\"hosts\":[\"hello.shop"#;
        let dump = DUMP.replace(config, &format!(r#"\"secondary\":{{\"cluster\":\"c\"}},{config}"#));
        assert!(mirrors(&dump)[1].flaws.contains(&Flaw::Policy));
    }

    #[test]
    fn two_states_of_a_mirror_stand_beside_each_other() {
        let dump = DUMP.replacen(r#"hello-v2.shop"#, "hello-v3.shop", 1);
        let names: Vec<_> = mirrors(&dump).into_iter().map(|live| (live.name, live.routes)).collect();
        let hello = || ("shop/hello".to_owned(), 1);
        assert_eq!(names, [("shop/cart".to_owned(), 1), hello(), hello(), ("shop/next".to_owned(), 1)]);
    }

    #[test]
    fn hosts_are_told_by_domains() {
        let found = mirrors(DUMP);
        for (host, is_served) in [
            ("hello.shop.example.com", true),
            ("Hello.Shop.example.com", true),
            ("v2-hello.shop.example.com", false),
            ("cart.shop", false),
        ] {
            assert_eq!(found[1].serves(host), is_served, "{host}");
        }
        let wild = LiveMirror { domains: ["*.example.com".to_owned()].into(), ..found[1].clone() };
        assert!(wild.serves("a.example.com") && !wild.serves("a.example.org"));
    }
}
