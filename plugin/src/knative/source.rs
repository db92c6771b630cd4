//! The Route to mirror as it is live now: its hosts, its gateways, and the split that its users are served by.

use std::collections::BTreeMap;

use super::config::Gateways;
use super::{CLUSTER_DOMAIN, PORT, REVISION_HEADER, Refusal};
use crate::intent::{MirrorName, Through};
use crate::kinds::{Destination, Headers, HttpRoute, Port, Route, RouteDestination, TrafficTarget, VirtualService};

/// The label that Knative gives to a VirtualService, with the name of the Ingress that it is made from: the Route's.
pub const INGRESS_LABEL: &str = "networking.internal.knative.dev/ingress";

/// Whether a VirtualService of Knative's is for gateways. Of each Ingress there is one for the mesh alone as well.
pub fn is_of_gateways(virtual_service: &VirtualService) -> bool {
    virtual_service.spec.gateways.iter().any(|gateway| gateway != "mesh")
}

/// A Route as it is live now.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its unique id, where it is in a cluster.
    pub uid: Option<String>,
    /// The generation of its spec, where it is in a cluster.
    pub generation: Option<i64>,
    /// The cluster's own domain, for example `cluster.local`.
    pub domain: String,
    /// Where calls from outside come in; nowhere for a cluster-local Route.
    pub external: Entrance,
    /// Where calls from inside the cluster come in.
    pub local: Entrance,
    /// The revisions that users are served by, with their shares; no part without a share.
    pub splits: Vec<Split>,
    /// What Knative changes in the headers of every request, whatever the revision.
    pub headers: Option<Headers>,
    /// The revision behind each tag.
    pub tags: BTreeMap<String, String>,
    /// The port of each revision's Service, where known.
    pub ports: BTreeMap<String, u16>,
}

/// Where calls come in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entrance {
    /// The hosts, without tags' hosts.
    pub hosts: Vec<String>,
    /// Istio's gateways, `<namespace>/<name>`.
    pub gateways: Vec<String>,
}

/// One part of a split.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// The revision.
    pub revision: String,
    /// The Kubernetes Service that Knative sends it to.
    pub host: String,
    /// The port there.
    pub port: u16,
    /// Its share of the sum of all weights.
    pub weight: u32,
    /// What Knative changes in headers.
    pub headers: Option<Headers>,
}

impl Source {
    /// From a Route and the VirtualService for gateways that Knative made for it (mostly `<route>-ingress`): that says which gateways serve
    /// which host, and has ports and weights as they are live, also in the middle of a gradual rollout.
    ///
    /// # Errors
    /// A Route without a URL, or whose host the VirtualService does not serve (yet).
    pub fn live(route: &Route, virtual_service: &VirtualService) -> Result<Self, Refusal> {
        let mut source = Self::base(route)?;
        // A route with header matches is for Knative's own probes or for requests that name a tag.
        let is_plain = |http: &&HttpRoute| http.r#match.iter().all(|m| m.headers.is_empty());
        let plain: Vec<_> = virtual_service.spec.http.iter().filter(is_plain).collect();
        let mut served = None;
        for entrance in [&mut source.external, &mut source.local] {
            // Knative matches all local names by the shortest.
            let Some(host) = entrance.hosts.first() else { continue };
            for http in &plain {
                for m in &http.r#match {
                    if m.authority.as_ref().and_then(|authority| authority.text()) == Some(host) {
                        let new = m.gateways.iter().filter(|gateway| !entrance.gateways.contains(gateway));
                        let new: Vec<_> = new.cloned().collect();
                        entrance.gateways.extend(new);
                        served = served.or(Some(*http));
                    }
                }
            }
        }
        let served = served.ok_or_else(|| Refusal::RouteNotServed { route: source.mirror_name() })?;
        source.splits = served.route.iter().filter(|part| part.weight != Some(0)).map(Split::read).collect();
        source.headers = served.headers.clone();
        let destinations = plain.iter().flat_map(|http| &http.route).map(Split::read);
        source.ports = destinations.map(|split| (split.revision, split.port)).collect();
        Ok(source)
    }

    /// From a Route alone, without a cluster: its status where it has one, else its spec; the gateways are those that
    /// are given.
    ///
    /// # Errors
    /// A Route without a URL, or one that does not name its revisions.
    pub fn offline(route: &Route, gateways: &Gateways) -> Result<Self, Refusal> {
        let mut source = Self::base(route)?;
        let references = |gateways: &[super::config::KnativeGateway]| {
            gateways.iter().map(super::config::KnativeGateway::reference).collect()
        };
        if !source.external.hosts.is_empty() {
            source.external.gateways = references(&gateways.external);
        }
        source.local.gateways = references(&gateways.local);
        let mut shares: Vec<(String, u32)> = Vec::new();
        for part in traffic(route) {
            let weight = part.percent.and_then(|percent| u32::try_from(percent).ok()).unwrap_or(0);
            if weight == 0 {
                continue;
            }
            let Some(revision) = &part.revision_name else {
                return Err(Refusal::RevisionUnknown { route: source.mirror_name() });
            };
            match shares.iter_mut().find(|(known, _)| known == revision) {
                Some((_, share)) => *share += weight,
                None => shares.push((revision.clone(), weight)),
            }
        }
        source.splits = shares.into_iter().map(|(revision, weight)| source.split(revision, weight)).collect();
        Ok(source)
    }

    /// What a Route itself says.
    fn base(route: &Route) -> Result<Self, Refusal> {
        let metadata = &route.metadata;
        let name = metadata.name.clone().unwrap_or_default();
        let namespace = metadata.namespace.clone().unwrap_or_else(|| "default".to_owned());
        let status = route.status.clone().unwrap_or_default();
        let inside = format!("{name}.{namespace}.svc");
        let address = status.address.and_then(|address| host_of(&address.url?));
        let domain =
            address.as_deref().and_then(|host| host.strip_prefix(&inside)?.strip_prefix('.').map(str::to_owned));
        let domain = domain.unwrap_or_else(|| CLUSTER_DOMAIN.to_owned());
        let fqdn = format!("{inside}.{domain}");
        let Some(host) = status.url.as_deref().and_then(host_of) else {
            return Err(Refusal::RouteWithoutUrl { route: MirrorName::new(namespace, name) });
        };
        let external = if host == fqdn { Vec::new() } else { vec![host] };
        let tags = traffic(route).iter().filter_map(|part| Some((part.tag.clone()?, part.revision_name.clone()?)));
        Ok(Self {
            uid: metadata.uid.clone(),
            generation: metadata.generation,
            external: Entrance { hosts: external, gateways: Vec::new() },
            local: Entrance { hosts: vec![format!("{name}.{namespace}"), inside, fqdn], gateways: Vec::new() },
            splits: Vec::new(),
            headers: None,
            tags: tags.collect(),
            ports: BTreeMap::new(),
            namespace,
            name,
            domain,
        })
    }

    /// The name of its mirror.
    pub fn mirror_name(&self) -> MirrorName {
        MirrorName::new(&self.namespace, &self.name)
    }

    /// The entrances that `through` means, where calls can come in at all.
    pub fn entrances(&self, through: Through) -> Vec<&Entrance> {
        let meant = match through {
            Through::External => vec![&self.external],
            Through::Local => vec![&self.local],
            Through::Both => vec![&self.external, &self.local],
        };
        meant.into_iter().filter(|entrance| !entrance.hosts.is_empty()).collect()
    }

    /// The hosts whose requests a mirror of `through` copies.
    pub fn hosts(&self, through: Through) -> Vec<String> {
        self.entrances(through).into_iter().flat_map(|entrance| entrance.hosts.clone()).collect()
    }

    /// Istio's gateways that a mirror of `through` concerns, each once.
    pub fn gateways(&self, through: Through) -> Vec<String> {
        let mut gateways: Vec<_> = self.entrances(through).into_iter().flat_map(|e| e.gateways.clone()).collect();
        gateways.sort();
        gateways.dedup();
        gateways
    }

    /// The name that the whole cluster knows the Route by.
    pub fn fqdn(&self) -> String {
        format!("{}.{}.svc.{}", self.name, self.namespace, self.domain)
    }

    /// The same with a tag more, as Knative will have it soon.
    pub fn with_tag(mut self, tag: impl Into<String>, revision: impl Into<String>) -> Self {
        self.tags.insert(tag.into(), revision.into());
        self
    }

    /// The port of a revision's Service. One that is not known is taken to be that of the others: revisions of one
    /// service speak one protocol.
    pub fn port(&self, revision: &str) -> u16 {
        let others = self.splits.first().map_or(PORT, |split| split.port);
        self.ports.get(revision).copied().unwrap_or(others)
    }

    /// A part of a split as Knative would write it.
    fn split(&self, revision: String, weight: u32) -> Split {
        let host = format!("{revision}.{}.svc.{}", self.namespace, self.domain);
        Split { headers: Some(super::target::headers(&self.namespace, &revision)), port: PORT, revision, host, weight }
    }
}

impl Split {
    fn read(part: &RouteDestination) -> Self {
        let named = part.headers.as_ref().and_then(|headers| {
            let set = &headers.request.as_ref()?.set;
            set.iter().find(|(name, _)| name.eq_ignore_ascii_case(REVISION_HEADER)).map(|(_, value)| value.clone())
        });
        let host = part.destination.host.clone();
        Self {
            revision: named.unwrap_or_else(|| host.split('.').next().unwrap_or_default().to_owned()),
            port: part.destination.port.map_or(PORT, |port| port.number),
            // A lone destination takes all.
            weight: part.weight.unwrap_or(100),
            headers: part.headers.clone(),
            host,
        }
    }

    /// The same as Istio has it.
    pub fn destination(&self) -> RouteDestination {
        RouteDestination {
            destination: Destination { host: self.host.clone(), port: Some(Port { number: self.port }) },
            headers: self.headers.clone(),
            weight: Some(self.weight),
        }
    }
}

/// The split of a Route: as it is, else as it is wanted.
fn traffic(route: &Route) -> &[TrafficTarget] {
    let live = route.status.as_ref().map(|status| status.traffic.as_slice()).unwrap_or_default();
    if live.is_empty() { &route.spec.traffic } else { live }
}

/// The host of a URL.
fn host_of(url: &str) -> Option<String> {
    let uri: http::Uri = url.parse().ok()?;
    uri.host().map(str::to_ascii_lowercase)
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn what_is_live() {
        insta::assert_debug_snapshot!(testing::source("split"));
    }

    #[test]
    fn what_a_route_alone_says() {
        insta::assert_debug_snapshot!(testing::offline("split"));
    }

    #[test]
    fn both_ways_agree_where_nothing_is_under_way() {
        for shape in ["tagged", "local"] {
            let live = testing::source(shape);
            let offline = Source { ports: live.ports.clone(), ..testing::offline(shape) };
            assert_eq!(live, offline, "{shape}");
        }
    }

    #[test]
    fn a_cluster_local_route_has_no_external_entrance() {
        let source = testing::source("local");
        assert!(source.entrances(Through::External).is_empty());
        assert_eq!(source.hosts(Through::Both), ["stock.store", "stock.store.svc", "stock.store.svc.cluster.local"]);
        assert_eq!(source.gateways(Through::Both), ["knative-serving/knative-local-gateway"]);
    }

    #[test]
    fn all_gateways_of_a_host_are_found() {
        let source = testing::source("gateways");
        let external = ["edge/public-gateway", "knative-serving/knative-ingress-gateway", "store/web-1186921532"];
        assert_eq!(source.gateways(Through::External), external);
        assert_eq!(source.gateways(Through::Local), ["knative-serving/knative-local-gateway"]);
        assert_eq!(source.gateways(Through::Both).len(), 4);
    }

    #[test]
    fn probes_and_requests_that_name_a_tag_are_no_part_of_the_split() {
        let (route, mut virtual_service) = testing::live("tagged");
        let mut by_tag = virtual_service.spec.http[1].clone();
        by_tag.route[0].destination.host = "cart-00002.store.svc.cluster.local".to_owned();
        let tag = crate::kinds::StringMatch::exact("next");
        by_tag.r#match[0].headers.insert("Knative-Serving-Tag".to_owned(), tag);
        virtual_service.spec.http.insert(0, by_tag);
        let source = Source::live(&route, &virtual_service).expect("a good Route");
        assert_eq!(source, testing::source("tagged"));
    }

    #[test]
    fn another_cluster_domain_is_read_from_the_address() {
        let mut route = testing::live("local").0;
        let url = || Some("http://stock.store.svc.corp.internal".to_owned());
        let status = route.status.as_mut().expect("a status");
        (status.url, status.address) = (url(), Some(crate::kinds::Address { url: url() }));
        let source = Source::offline(&route, &Gateways::default()).expect("a good Route");
        assert_eq!(source.fqdn(), "stock.store.svc.corp.internal");
        assert_eq!(source.splits[0].host, "stock-v1.store.svc.corp.internal");
        assert!(source.external.hosts.is_empty());
    }

    #[test]
    fn a_route_that_says_too_little_is_refused() {
        let (route, virtual_service) = testing::live("tagged");
        let mut bare = route.clone();
        bare.status = None;
        let mut unserved = virtual_service.clone();
        unserved.spec.http.clear();
        let mut following = testing::latest();
        following.status.as_mut().expect("a status").traffic.clear();
        let refused = |result: Result<Source, Refusal>| result.expect_err("too little").to_string();
        insta::assert_snapshot!(
            [
                refused(Source::live(&bare, &virtual_service)),
                refused(Source::live(&route, &unserved)),
                refused(Source::offline(&following, &Gateways::default())),
            ]
            .join("\n\n")
        );
    }
}
