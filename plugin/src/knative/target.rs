//! Whom copies are for: from `--to` to a revision that can be reached.

use std::collections::BTreeMap;

use mirror_core::config::{Knative, Target as ConfigTarget};

use super::refusal::{NoSuchTarget, nearest};
use super::{ISTIO, REVISION_HEADER, Refusal, Source};
use crate::intent::{MirrorName, Through, To};
use crate::kinds::{self, Destination, HeaderOperations, Headers, Port, Revision, Route};
use crate::waypoint;

/// A revision that copies go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub revision: String,
    /// Its Service's name in the cluster, for example `hello-v2.default.svc.cluster.local`.
    pub host: String,
    /// The port there.
    pub port: u16,
}

impl Target {
    fn of(source: &Source, revision: &str) -> Self {
        Self {
            namespace: source.namespace.clone(),
            host: format!("{revision}.{}.svc.{}", source.namespace, source.domain),
            port: source.port(revision),
            revision: revision.to_owned(),
        }
    }

    /// Istio's name for its cluster in Envoy, for example `outbound|80||hello-v2.default.svc.cluster.local`.
    pub fn cluster(&self) -> String {
        format!("outbound|{}||{}", self.port, self.host)
    }

    /// Its Service as Istio's annotation `referenced-services` names it, `<namespace>/<host>`.
    pub fn reference(&self) -> String {
        format!("{}/{}", self.namespace, self.host)
    }

    /// Its Service as a destination of Istio's.
    pub fn destination(&self) -> Destination {
        Destination { host: self.host.clone(), port: Some(Port { number: self.port }) }
    }

    /// What the module is told of it, in gateways or in a waypoint.
    pub fn config(&self, in_waypoint: bool) -> ConfigTarget {
        let knative = Knative { revision: self.revision.clone(), namespace: self.namespace.clone() };
        let cluster = if in_waypoint { waypoint::cluster(self.port, &self.host) } else { self.cluster() };
        ConfigTarget { cluster, knative: Some(knative) }
    }
}

/// What Knative sets in the headers of requests for a revision.
pub(super) fn headers(namespace: &str, revision: &str) -> Headers {
    let set = [("Knative-Serving-Namespace", namespace), (REVISION_HEADER, revision)];
    let set: BTreeMap<_, _> = set.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    Headers { request: Some(HeaderOperations { set, ..HeaderOperations::default() }), response: None }
}

/// What is known of the source's surroundings when a target is resolved.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'a> {
    /// The revisions of the namespace; `None` where there is no cluster to ask.
    pub revisions: Option<&'a [Revision]>,
    /// For `ksvc/NAME`: the Route of that Service; `None` where there is none.
    pub other: Option<&'a Source>,
    /// For `ksvc/NAME`: the Knative Services of the namespace, to name the nearest.
    pub services: &'a [String],
}

/// Resolves `--to`. A tag goes before a revision of the same name.
///
/// # Errors
/// A name that is none, and a revision that cannot be reached, is not ready, or serves all users already.
pub fn candidate(source: &Source, to: &To, known: Known<'_>) -> Result<Target, Refusal> {
    let target = match to {
        To::Name(name) => match source.tags.get(name) {
            Some(revision) => Target::of(source, revision),
            None => revision(source, name, known)?,
        },
        To::Service(name) if *name == source.name => {
            let reason = format!("{to} is the mirrored Service itself; name one of its tags or revisions");
            return Err(Refusal::Value { option: "to".to_owned(), reason });
        }
        To::Service(name) => {
            let other = known.other.ok_or_else(|| Refusal::NoSuchService {
                namespace: source.namespace.clone(),
                name: name.clone(),
                nearest: nearest(name, known.services),
            })?;
            let most = largest(other, |_| true);
            Target::of(other, most.ok_or_else(|| Refusal::RouteNotServed { route: other.mirror_name() })?)
        }
    };
    let of_source = target.namespace == source.namespace;
    if of_source && !source.splits.is_empty() && source.splits.iter().all(|split| split.revision == target.revision) {
        let route = source.mirror_name();
        return Err(Refusal::OnlyPrimary { route, to: to.to_string(), revision: target.revision });
    }
    let found = known.revisions.and_then(|revisions| revisions.iter().find(|r| r.name() == target.revision));
    if let Some(found) = found {
        let conditions = found.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
        kinds::ready(conditions).map_err(|reason| Refusal::RevisionNotReady {
            namespace: target.namespace.clone(),
            revision: target.revision.clone(),
            reason,
        })?;
    }
    Ok(target)
}

/// The target that a revision's name means.
fn revision(source: &Source, name: &str, known: Known<'_>) -> Result<Target, Refusal> {
    let in_use = source.splits.iter().map(|split| &split.revision).chain(source.tags.values());
    let mut reachable: Vec<String> = in_use.cloned().collect();
    let found = known.revisions.and_then(|revisions| revisions.iter().find(|r| r.name() == name));
    if reachable.iter().any(|revision| revision == name) || found.is_some_and(Revision::is_routed) {
        return Ok(Target::of(source, name));
    }
    if found.is_some() {
        return Err(Refusal::Unreachable { route: source.mirror_name(), revision: name.to_owned() });
    }
    let of_service = |revision: &&Revision| revision.service() == Some(&source.name);
    let revisions = known.revisions.unwrap_or_default().iter().filter(of_service);
    reachable.extend(revisions.map(|revision| revision.name().to_owned()));
    reachable.sort();
    reachable.dedup();
    let tags: Vec<String> = source.tags.keys().cloned().collect();
    let names: Vec<String> = tags.iter().chain(&reachable).cloned().collect();
    Err(Refusal::NoSuchTarget(Box::new(NoSuchTarget {
        route: source.mirror_name(),
        name: name.to_owned(),
        nearest: nearest(name, &names),
        tags,
        revisions: reachable,
    })))
}

/// The primary's version once more: of the revisions that users are served by, other than the candidate, the one with
/// the greatest share.
pub fn secondary(source: &Source, candidate: &Target) -> Option<Target> {
    let is_candidate = |revision: &str| candidate.namespace == source.namespace && candidate.revision == revision;
    largest(source, |revision| !is_candidate(revision)).map(|revision| Target::of(source, revision))
}

/// The revision with the greatest share among those that `is_meant`; the first of equals.
fn largest(source: &Source, is_meant: impl Fn(&str) -> bool) -> Option<&str> {
    let mut shares: Vec<(&str, u32)> = Vec::new();
    for split in source.splits.iter().filter(|split| is_meant(&split.revision)) {
        match shares.iter_mut().find(|(revision, _)| *revision == split.revision) {
            Some((_, share)) => *share = share.saturating_add(split.weight),
            None => shares.push((&split.revision, split.weight)),
        }
    }
    let most = shares.iter().map(|(_, share)| *share).max()?;
    shares.into_iter().find(|(_, share)| *share == most).map(|(revision, _)| revision)
}

/// Checks that a Route can be mirrored at all.
///
/// # Errors
/// A Route that Knative has not made ready, or whose last change it has not looked at.
pub fn check_route(route: &Route) -> Result<(), Refusal> {
    let metadata = &route.metadata;
    let name = || {
        let namespace = metadata.namespace.as_deref().unwrap_or("default");
        MirrorName::new(namespace, metadata.name.as_deref().unwrap_or_default())
    };
    let status = route.status.clone().unwrap_or_default();
    let refuse = |reason| Err(Refusal::RouteNotReady { route: name(), reason });
    if metadata.generation.is_some() && status.observed_generation != metadata.generation {
        return refuse("Knative has not looked at its last change yet".to_owned());
    }
    kinds::ready(&status.conditions).or_else(refuse)
}

/// Checks that Istio serves a Route.
///
/// # Errors
/// Another ingress class.
pub fn check_ingress_class(source: &Source, class: &str) -> Result<(), Refusal> {
    if class == ISTIO {
        return Ok(());
    }
    Err(Refusal::IngressClass { route: source.mirror_name(), class: class.to_owned() })
}

/// Checks that calls can come in where they are to be mirrored.
///
/// # Errors
/// Calls from outside to a cluster-local Route.
pub fn check_through(source: &Source, through: Through) -> Result<(), Refusal> {
    if source.entrances(through).is_empty() {
        return Err(Refusal::NoExternalHost { route: source.mirror_name() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    fn resolve(shape: &str, to: &str, known: Known<'_>) -> Result<Target, Refusal> {
        candidate(&testing::source(shape), &to.parse().expect("a target"), known)
    }

    #[test]
    fn targets_that_can_be_reached() {
        let revisions = testing::revisions();
        let pay = testing::source("split");
        let offline = Known::default();
        let cluster = Known { revisions: Some(&revisions), other: Some(&pay), ..offline };
        for (shape, to, known, expected) in [
            ("tagged", "next", offline, "outbound|80||cart-00002.store.svc.cluster.local"),
            ("tagged", "next", cluster, "outbound|80||cart-00002.store.svc.cluster.local"),
            ("tagged", "cart-00002", offline, "outbound|80||cart-00002.store.svc.cluster.local"),
            ("split", "canary", offline, "outbound|81||pay-green.store.svc.cluster.local"),
            ("split", "pay-blue", offline, "outbound|81||pay-blue.store.svc.cluster.local"),
            ("local", "v2", offline, "outbound|80||stock-v2.store.svc.cluster.local"),
            // Another Route refers to it.
            ("tagged", "pay-blue", cluster, "outbound|80||pay-blue.store.svc.cluster.local"),
            // The revision with the most traffic.
            ("tagged", "ksvc/pay", cluster, "outbound|81||pay-blue.store.svc.cluster.local"),
        ] {
            assert_eq!(resolve(shape, to, known).map(|target| target.cluster()), Ok(expected.to_owned()), "{to}");
        }
    }

    #[test]
    fn a_tag_that_was_just_added_is_a_target() {
        let source = testing::source("split").with_tag("old", "pay-red");
        let target = candidate(&source, &To::Name("old".into()), Known::default()).expect("a target");
        assert_eq!(target.reference(), "store/pay-red.store.svc.cluster.local");
        assert_eq!(target.port, 81, "the service's protocol");
    }

    #[test]
    fn targets_that_cannot_be() {
        let revisions = testing::revisions();
        let services = ["cart", "pay", "stock"].map(str::to_owned);
        let offline = Known::default();
        let cluster = Known { revisions: Some(&revisions), services: &services, ..offline };
        let refused: Vec<_> = [
            ("tagged", "nxt", cluster),
            ("tagged", "cart-2", offline),
            ("tagged", "zebra", offline),
            ("tagged", "cart-00003", cluster),
            ("tagged", "cart-00003", offline),
            ("tagged", "cart-00004", cluster),
            ("tagged", "cart-00001", cluster),
            ("tagged", "prod", cluster),
            ("tagged", "ksvc/pey", cluster),
            ("tagged", "ksvc/cart", cluster),
        ]
        .map(|(shape, to, known)| {
            let source = testing::source(shape).with_tag("prod", "cart-00001");
            candidate(&source, &to.parse().expect("a target"), known).expect_err(to).to_string()
        })
        .into();
        insta::assert_snapshot!(refused.join("\n\n"));
    }

    #[test]
    fn routes_that_cannot_be_mirrored() {
        let (route, _) = testing::live("tagged");
        assert_eq!(check_route(&route), Ok(()));
        let mut unseen = route.clone();
        unseen.metadata.generation = Some(3);
        let mut unknown = route;
        unknown.status = None;
        unknown.metadata.generation = None;
        let source = testing::source("local");
        assert_eq!(check_ingress_class(&source, ISTIO), Ok(()));
        assert_eq!(check_through(&source, Through::Both), Ok(()));
        let refused = [
            check_route(&unseen),
            check_route(&unknown),
            check_route(&testing::latest()),
            check_ingress_class(&source, "kourier.ingress.networking.knative.dev"),
            check_through(&source, Through::External),
        ]
        .map(|checked| checked.expect_err("a refusal").to_string());
        insta::assert_snapshot!(refused.join("\n\n"));
    }

    #[test]
    fn the_secondary_is_the_greatest_primary_but_never_the_candidate() {
        let source = testing::source("split");
        let target = |revision: &str| Target::of(&source, revision);
        for (candidate, expected) in
            [("pay-red", Some("pay-blue")), ("pay-green", Some("pay-blue")), ("pay-blue", Some("pay-green"))]
        {
            let found = secondary(&source, &target(candidate)).map(|target| target.revision);
            assert_eq!(found.as_deref(), expected, "{candidate}");
        }
        let tagged = testing::source("tagged");
        assert_eq!(secondary(&tagged, &Target::of(&tagged, "cart-00001")), None);
    }
}
