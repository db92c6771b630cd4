//! Whom copies are for: from `--to` to a revision that can be reached.

use std::collections::BTreeMap;

use mirror_core::config::{Knative, Target as ConfigTarget};

use super::refusal::{NoSuchTarget, nearest};
use super::{ISTIO, REVISION_HEADER, Refusal, Source};
use crate::intent::{MirrorName, Through, To};
use crate::kinds::{self, Destination, HeaderOperations, Headers, Port, Revision, Route};

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

    /// What the module is told of it.
    pub fn config(&self) -> ConfigTarget {
        let knative = Knative { revision: self.revision.clone(), namespace: self.namespace.clone() };
        ConfigTarget { cluster: self.cluster(), knative: Some(knative) }
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
