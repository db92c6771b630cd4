//! What cannot work, said before anything is applied: what, where, and the next step.

use thiserror::Error;

use crate::intent::MirrorName;

/// Why a mirror is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// `--to` names neither a tag nor a revision.
    #[error(transparent)]
    NoSuchTarget(Box<NoSuchTarget>),
    /// `--to ksvc/NAME` names no Service.
    #[error("there is no Knative Service {name} in namespace {namespace}{}\n`kubectl get ksvc -n {namespace}` lists those that are", did_you_mean(.nearest))]
    NoSuchService {
        /// Where it was looked for.
        namespace: String,
        /// What was asked for.
        name: String,
        /// What is there and spelled alike.
        nearest: Vec<String>,
    },
    /// A revision that no Route refers to.
    #[error(
        "revision {revision} cannot be reached: Knative routes nothing to it; give it a tag: add --tag NAME (a tag without traffic, at Route {route})"
    )]
    Unreachable {
        /// The Route that could tag it.
        route: MirrorName,
        /// The revision.
        revision: String,
    },
    /// The candidate is all that users are served by.
    #[error(
        "{} serves all users of {route} already: there is nothing to compare it with; name another version", meaning(.to, .revision)
    )]
    OnlyPrimary {
        /// The Route.
        route: MirrorName,
        /// What was asked for.
        to: String,
        /// The revision that it means.
        revision: String,
    },
    /// There is no version but the candidate to send a second copy to.
    #[error("--secondary: users of {route} are served by the candidate, {revision}, alone; leave --secondary out")]
    NoSecondary {
        /// The Route.
        route: MirrorName,
        /// The candidate's revision.
        revision: String,
    },
    /// A revision that cannot answer.
    #[error(
        "revision {namespace}/{revision} is not ready: {reason}; see `kubectl describe revision {revision} -n {namespace}`"
    )]
    RevisionNotReady {
        /// Its namespace.
        namespace: String,
        /// Its name.
        revision: String,
        /// What its condition says.
        reason: String,
    },
    /// Another networking layer serves the Route.
    #[error(
        "Route {route} is served by ingress class {class}, not by Istio ({}): kubectl mirror works with Knative on Istio (net-istio) only",
        super::ISTIO
    )]
    IngressClass {
        /// The Route.
        route: MirrorName,
        /// Its ingress class.
        class: String,
    },
    /// A Route that serves nobody yet.
    #[error("Route {route} is not ready: {reason}; mend that first, see `kubectl describe route.serving.knative.dev {} -n {}`", .route.route, .route.namespace)]
    RouteNotReady {
        /// The Route.
        route: MirrorName,
        /// What its condition says.
        reason: String,
    },
    /// A Route that Knative has given no address.
    #[error("Route {route} has no URL in its status: it is not ready, or was not read from a cluster; save it with `kubectl get route.serving.knative.dev {} -n {} -o yaml`", .route.route, .route.namespace)]
    RouteWithoutUrl {
        /// The Route.
        route: MirrorName,
    },
    /// A Route in a file that does not say which revisions it means.
    #[error("Route {route} does not name the revisions that it serves: it follows the latest and has no status; save it with `kubectl get route.serving.knative.dev {} -n {} -o yaml`", .route.route, .route.namespace)]
    RevisionUnknown {
        /// The Route.
        route: MirrorName,
    },
    /// Knative has made nothing for the gateways.
    #[error("Route {route} is not served by Istio's gateways: VirtualService {}-ingress in namespace {} has no route for it; wait until the Route is ready, or see `kubectl get kingress {} -n {}`", .route.route, .route.namespace, .route.route, .route.namespace)]
    RouteNotServed {
        /// The Route.
        route: MirrorName,
    },
    /// `--gateway external` for a cluster-local Route.
    #[error(
        "Route {route} is cluster-local and has no external host; mirror the calls from inside the cluster: add --gateway local"
    )]
    NoExternalHost {
        /// The Route.
        route: MirrorName,
    },
    /// An Istio that lacks what a mirror needs.
    #[error("Istio {found} on {place} is too old: mirrors need Istio {}.{} or newer, whose proxies can set the headers of a copy", MIN.0, MIN.1)]
    IstioTooOld {
        /// Its version.
        found: String,
        /// Where, for example `istiod` or `pod istio-system/istio-ingressgateway-0`.
        place: String,
    },
    /// Nothing runs where a mirror would be applied.
    #[error(
        "there are no gateway pods with labels {labels} in namespace {namespace}, which serve {route}; see `kubectl get pods -n {namespace} -l {labels}`"
    )]
    NoGatewayPods {
        /// The Route.
        route: MirrorName,
        /// Where they were looked for.
        namespace: String,
        /// By which labels, `a=b,c=d`.
        labels: String,
    },
    /// `--waypoint` names nothing.
    #[error(
        "there is no Gateway {name} of the Kubernetes Gateway API in namespace {namespace}; `kubectl get gateways.gateway.networking.k8s.io -A` lists those that are; for one of another namespace, --waypoint NAMESPACE/NAME"
    )]
    NoWaypoint {
        /// Where it was looked for.
        namespace: String,
        /// What was asked for.
        name: String,
    },
    /// `--waypoint` names another Gateway.
    #[error(
        "Gateway {namespace}/{name} is of class {class}, so it is no waypoint; those are of class {}",
        crate::waypoint::CLASS
    )]
    NotWaypoint {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// Its class.
        class: String,
    },
    /// A waypoint that Istio has not brought up.
    #[error(
        "waypoint {namespace}/{name} has no pods that run; see `kubectl describe gateways.gateway.networking.k8s.io {name} -n {namespace}`"
    )]
    NoWaypointPods {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// Nobody says where the gateways' pods are.
    #[error(
        "the namespace of the gateways that serve {route} is not known: Ingress {route} names none in its status yet; wait until the Route is ready"
    )]
    NoGatewayNamespace {
        /// The Route.
        route: MirrorName,
    },
    /// A host can have one mirror only.
    #[error("host {host} of {route} is mirrored already, by mirror {other}: disable that first, `kubectl mirror disable {} -n {}`", .other.route, .other.namespace)]
    OtherMirror {
        /// The Route.
        route: MirrorName,
        /// The host.
        host: String,
        /// The mirror that has it.
        other: MirrorName,
    },
    /// An object of that name which this plugin did not write.
    #[error(
        "{kind} {namespace}/{name} is in the way: it is managed by {manager}, not by kubectl-mirror; rename or delete it"
    )]
    OtherOwner {
        /// Its kind.
        kind: String,
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// Who manages it, as far as it says.
        manager: String,
    },
    /// The tag that `--tag` was to add means another revision.
    #[error(
        "--tag {tag}: Service {service} has this tag for {revision} already; choose another name, or mirror to it: --to {tag}"
    )]
    TagTaken {
        /// The Knative Service.
        service: MirrorName,
        /// The tag.
        tag: String,
        /// The revision that it means.
        revision: String,
    },
    /// A wish that this strategy cannot fulfil.
    #[error("{option} works only with --strategy {strategies}: {reason}")]
    OtherStrategy {
        /// The option.
        option: &'static str,
        /// Those that can.
        strategies: &'static str,
        /// Why.
        reason: &'static str,
    },
    /// A mirror that was enabled in the meantime.
    #[error("mirror {mirror} has been enabled in the meantime; disable it first, `kubectl mirror disable {} -n {}`", .mirror.route, .mirror.namespace)]
    InUse {
        /// The mirror.
        mirror: MirrorName,
    },
    /// Nobody says which module gateways are to run.
    #[error(
        "{workload} has no WasmPlugin of kubectl-mirror yet: say where its gateways get the module, --module-url URL (an image, \
         oci://…, or a file, https://…, with --module-sha256 HEX); later mirrors there need not say it again"
    )]
    NoModule {
        /// The gateway pods.
        workload: String,
    },
    /// A value that makes no sense.
    #[error("--{option}: {reason}")]
    Value {
        /// The option.
        option: String,
        /// Why.
        reason: String,
    },
}

/// `--to` names neither a tag nor a revision.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{name}` is neither a tag nor a revision of Route {route}{}\nthere are: {}; {}",
    did_you_mean(.nearest), list("tags", .tags), list("revisions", .revisions))]
pub struct NoSuchTarget {
    /// The Route.
    pub route: MirrorName,
    /// What was asked for.
    pub name: String,
    /// What is there and spelled alike.
    pub nearest: Vec<String>,
    /// All tags.
    pub tags: Vec<String>,
    /// All revisions.
    pub revisions: Vec<String>,
}

impl Refusal {
    /// A Knative Service that is not there, with those of `names` that are spelled alike.
    pub fn no_such_service(namespace: &str, name: &str, names: &[String]) -> Self {
        Self::NoSuchService { namespace: namespace.to_owned(), name: name.to_owned(), nearest: nearest(name, names) }
    }
}

/// The oldest Istio that mirrors work with: its proxies can set the headers of a copy.
pub const MIN: (u32, u32) = (1, 28);

/// Checks an Istio's version (`1.28.3`, `1.29-alpha.1`). A text that is no version passes: it is not known to be too old.
///
/// # Errors
/// A version before [`MIN`].
pub fn check_istio(version: &str, place: &str) -> Result<(), Refusal> {
    match istio_version(version) {
        Some(found) if found < MIN => Err(Refusal::IstioTooOld { found: version.to_owned(), place: place.to_owned() }),
        _ => Ok(()),
    }
}

/// Major and minor of a version's text; `None` where it is none.
pub fn istio_version(text: &str) -> Option<(u32, u32)> {
    let text = text.trim().trim_start_matches('v');
    let (major, rest) = text.split_once('.')?;
    let minor = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Those of `names` that are spelled like `name`, the most alike first.
pub fn nearest(name: &str, names: &[String]) -> Vec<String> {
    let mut alike: Vec<_> = names.iter().map(|other| (strsim::jaro_winkler(name, other), other)).collect();
    alike.retain(|(likeness, _)| *likeness > 0.75);
    alike.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    let mut nearest: Vec<String> = alike.into_iter().map(|(_, other)| other.clone()).collect();
    nearest.dedup();
    nearest.truncate(3);
    nearest
}

/// The revision, with what `to` means where that is not the revision's own name.
fn meaning(to: &str, revision: &str) -> String {
    if to == revision { format!("revision {revision}") } else { format!("{to} means revision {revision}, which") }
}

fn did_you_mean(nearest: &[String]) -> String {
    if nearest.is_empty() { String::new() } else { format!("; did you mean {}?", nearest.join(", ")) }
}

fn list(word: &str, names: &[String]) -> String {
    if names.is_empty() { format!("no {word}") } else { format!("{word} {}", names.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_istio() {
        for (text, version) in [
            ("1.28.0", Some((1, 28))),
            ("1.27.3", Some((1, 27))),
            ("v1.30", Some((1, 30))),
            ("1.32-dev.abc", Some((1, 32))),
            ("1.29-alpha.0", Some((1, 29))),
            ("2.0.0", Some((2, 0))),
            ("", None),
            ("unknown", None),
            ("latest", None),
            ("1", None),
            ("1.x", None),
        ] {
            assert_eq!(istio_version(text), version, "{text:?}");
            let too_old = version.is_some_and(|version| version < (1, 28));
            assert_eq!(check_istio(text, "istiod").is_err(), too_old, "{text:?}");
        }
    }

    #[test]
    fn what_no_code_of_this_folder_says() {
        let route = || MirrorName::new("store", "cart");
        let refusals = [
            check_istio("1.27.3", "pod istio-system/gateway-0").expect_err("too old"),
            Refusal::NoGatewayPods {
                route: route(),
                namespace: "istio-system".into(),
                labels: "istio=ingressgateway".into(),
            },
            Refusal::NoGatewayNamespace { route: route() },
            Refusal::NoSecondary { route: route(), revision: "cart-00001".into() },
        ];
        insta::assert_snapshot!(refusals.map(|refusal| refusal.to_string()).join("\n\n"));
    }

    #[test]
    fn the_nearest_names_come_first() {
        let names = ["canary", "canary-2", "stable", "next"].map(str::to_owned);
        assert_eq!(nearest("canari", &names), ["canary", "canary-2"]);
        assert!(nearest("zebra", &names).is_empty());
    }
}
