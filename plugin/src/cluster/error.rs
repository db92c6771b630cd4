//! What can go wrong between this program and an API server, told in kubectl's words and with the next step.

use std::fmt;
use std::time::Duration;

use kube::core::Status;
use thiserror::Error;

use super::{Asked, Right, Verb};

/// What went wrong.
#[derive(Debug, Error)]
pub enum Error {
    /// There is no such object; the server knows its kind.
    #[error("{resource} \"{name}\" not found{}", in_namespace(namespace.as_deref()))]
    NotFound {
        /// `services.serving.knative.dev`
        resource: String,
        /// The object's name.
        name: String,
        /// Where it was looked for.
        namespace: Option<String>,
    },
    /// The user has no right to do this.
    #[error(transparent)]
    Forbidden(Box<Forbidden>),
    /// Others own fields that were to be applied.
    #[error(transparent)]
    Conflict(Box<Conflict>),
    /// The object is another one by now than the one that was looked at.
    #[error("{resource} \"{name}\" has been changed by somebody else in the meantime; please run the command again")]
    Changed {
        /// `services.serving.knative.dev`
        resource: String,
        /// The object's name.
        name: String,
    },
    /// The server does not know such objects: their definition is not installed.
    #[error("the server does not know {kind}s ({group_version}){}", installed(group_version))]
    NoKind {
        /// `VirtualService`
        kind: String,
        /// `networking.istio.io/v1`
        group_version: String,
    },
    /// The server does not know the user.
    #[error("You must be logged in to the server: {server} does not accept the credentials of this kubeconfig")]
    Unauthorized {
        /// The server's URL.
        server: String,
    },
    /// The server did not answer in time.
    #[error("{server} did not answer within {}; see --request-timeout", humantime::format_duration(*after))]
    TimedOut {
        /// The server's URL.
        server: String,
        /// How long was waited.
        after: Duration,
    },
    /// No connection, or it broke.
    #[error("Unable to connect to the server: {server}: {reason}")]
    Unreachable {
        /// The server's URL.
        server: String,
        /// What the system said.
        reason: String,
    },
    /// The server refused or failed for another reason.
    #[error("the server said{}: {message}", if reason.is_empty() { String::new() } else { format!(" ({reason})") })]
    Server {
        /// The status code; 0 where there is none.
        code: u16,
        /// Kubernetes' word for it, for example `Invalid`.
        reason: String,
        /// What it said.
        message: String,
    },
    /// The answer is not what it should be.
    #[error("cannot understand the server's answer to {verb} {resource}: {reason}")]
    Answer {
        /// What was asked.
        verb: Verb,
        /// Of what.
        resource: String,
        /// What is wrong with the answer.
        reason: String,
    },
}

/// The server refused for want of a right.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}\nask for: {right}")]
pub struct Forbidden {
    /// What the server said.
    pub message: String,
    /// The right that is missing.
    pub right: Right,
    /// Whom the server takes the user for; empty where it does not say.
    pub user: String,
}

/// Other managers own fields that were to be applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// `envoyfilters.networking.istio.io "kubectl-mirror"`
    pub object: String,
    /// What the server said, which names managers and fields.
    pub message: String,
    /// Each manager with a field that it owns.
    pub fields: Vec<(String, String)>,
}

impl std::error::Error for Conflict {}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {}\n\
             Please review the fields above: they currently have other managers. Either let those keep the object, or\n\
             run the command again with --force-conflicts to take the fields over.",
            self.object, self.message
        )
    }
}

impl Error {
    /// Whether the user has no right to do this.
    pub fn is_forbidden(&self) -> bool {
        matches!(self, Self::Forbidden(_))
    }

    /// Whether the server does not know this kind of object.
    pub fn is_no_kind(&self) -> bool {
        matches!(self, Self::NoKind { .. })
    }

    /// Turns what kube says into what a user needs to know.
    pub fn from_kube(error: kube::Error, asked: Asked<'_>, server: &str) -> Self {
        let server = server.to_owned();
        match error {
            kube::Error::Api(status) => Self::from_status(*status, &asked, server),
            kube::Error::SerdeError(error) => {
                Self::Answer { verb: asked.verb, resource: asked.resource(), reason: error.to_string() }
            }
            kube::Error::UpgradeConnection(error) => {
                Self::Server { code: 0, reason: String::new(), message: error.to_string() }
            }
            kube::Error::Auth(error) => Self::Unreachable { server, reason: error.to_string() },
            error => Self::Unreachable { server, reason: innermost(&error) },
        }
    }

    fn from_status(status: Status, asked: &Asked<'_>, server: String) -> Self {
        let details = status.details.as_ref();
        // A path that the server does not know is answered without saying which object is missing.
        let names_an_object = details.is_some_and(|details| !details.name.is_empty());
        let name = || asked.name.unwrap_or_default().to_owned();
        match status.code {
            401 => Self::Unauthorized { server },
            403 => Self::Forbidden(Box::new(Forbidden::new(status.message, asked))),
            404 if names_an_object => {
                // What is missing may be another thing than was asked for: the namespace.
                let is_namespace = details.is_some_and(|details| details.kind == "namespaces");
                Self::NotFound {
                    resource: if is_namespace { "namespaces".to_owned() } else { asked.resource() },
                    name: details.map(|details| details.name.clone()).unwrap_or_default(),
                    namespace: asked.namespace.filter(|_| !is_namespace).map(str::to_owned),
                }
            }
            404 => Self::NoKind { kind: asked.kind.clone(), group_version: asked.group_version() },
            409 => {
                let causes = details.map(|details| details.causes.as_slice()).unwrap_or_default();
                let fields: Vec<_> = causes
                    .iter()
                    .filter(|cause| cause.reason == "FieldManagerConflict")
                    .map(|cause| (quoted(&cause.message).unwrap_or_default().to_owned(), cause.field.clone()))
                    .collect();
                if fields.is_empty() {
                    Self::Changed { resource: asked.resource(), name: name() }
                } else {
                    let object = format!("{} \"{}\"", asked.resource(), name());
                    Self::Conflict(Box::new(Conflict { object, message: status.message, fields }))
                }
            }
            code => Self::Server { code, reason: status.reason, message: status.message },
        }
    }
}

impl Forbidden {
    /// The message names what was missing more exactly than the request does: an apply to an object that is not there
    /// needs `create`.
    fn new(message: String, asked: &Asked<'_>) -> Self {
        let mut right = asked.right();
        if let Some((_, rest)) = message.split_once(" cannot ")
            && let Some((verb, rest)) = rest.split_once(" resource ")
        {
            right.verb = verb.to_owned();
            if let Some(resource) = quoted(rest) {
                let (resource, part) = resource.split_once('/').map_or((resource, None), |(a, b)| (a, Some(b)));
                right.resource = resource.to_owned();
                right.subresource = part.map(str::to_owned);
            }
        }
        let user = message.split_once("User ").and_then(|(_, rest)| quoted(rest)).unwrap_or_default().to_owned();
        Self { message, right, user }
    }
}

/// The first text in double quotes.
fn quoted(text: &str) -> Option<&str> {
    text.split('"').nth(1)
}

fn in_namespace(namespace: Option<&str>) -> String {
    namespace.map(|namespace| format!(" in namespace {namespace}")).unwrap_or_default()
}

/// Who brings the definition of a kind.
fn installed(group_version: &str) -> String {
    let group = group_version.split('/').next().unwrap_or_default();
    let product = match group.rsplit_once('.').map(|(rest, _)| rest) {
        _ if group.ends_with("istio.io") => "Istio",
        _ if group.ends_with("knative.dev") => "Knative",
        _ => return String::new(),
    };
    format!(": is {product} installed?")
}

/// The first cause, which is what the system said (`Connection refused`); what is around it says only that it failed.
pub(crate) fn innermost(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn asked() -> Asked<'static> {
        Asked {
            verb: Verb::Patch,
            group: "networking.istio.io".into(),
            version: "v1alpha3".into(),
            kind: "EnvoyFilter".into(),
            plural: "envoyfilters".into(),
            subresource: None,
            namespace: Some("istio-system"),
            name: Some("kubectl-mirror"),
        }
    }

    fn said(status: Value) -> String {
        let status: Status = serde_json::from_value(status).expect("a status");
        Error::from_kube(kube::Error::Api(status.boxed()), asked(), "https://10.0.0.1:6443").to_string()
    }

    /// Messages as an API server 1.34 wrote them.
    #[test]
    fn what_the_server_says_becomes_what_the_user_needs() {
        let forbidden = "envoyfilters.networking.istio.io \"kubectl-mirror\" is forbidden: User \"bob\" cannot create \
                         resource \"envoyfilters\" in API group \"networking.istio.io\" in the namespace \"istio-system\"";
        let conflict = "Apply failed with 1 conflict: conflict with \"argocd\": .spec.configPatches";
        let cause = json!({ "reason": "FieldManagerConflict", "message": "conflict with \"argocd\"",
            "field": ".spec.configPatches" });
        for (status, expected) in [
            (
                json!({ "code": 404, "reason": "NotFound", "details": { "name": "kubectl-mirror" } }),
                "envoyfilters.networking.istio.io \"kubectl-mirror\" not found in namespace istio-system".to_owned(),
            ),
            (
                json!({ "code": 404, "reason": "NotFound", "details": { "name": "nowhere", "kind": "namespaces" } }),
                "namespaces \"nowhere\" not found".to_owned(),
            ),
            (
                json!({ "code": 404, "message": "404 page not found" }),
                "the server does not know EnvoyFilters (networking.istio.io/v1alpha3): is Istio installed?".to_owned(),
            ),
            (
                json!({ "code": 403, "message": forbidden }),
                format!("{forbidden}\nask for: create envoyfilters.networking.istio.io in namespace istio-system"),
            ),
            (
                json!({ "code": 409, "reason": "Conflict", "message": conflict, "details": { "causes": [cause] } }),
                format!(
                    "envoyfilters.networking.istio.io \"kubectl-mirror\": {conflict}\n\
                     Please review the fields above: they currently have other managers. Either let those keep the \
                     object, or\nrun the command again with --force-conflicts to take the fields over."
                ),
            ),
            (
                json!({ "code": 409, "reason": "Conflict", "message": "Operation cannot be fulfilled" }),
                "envoyfilters.networking.istio.io \"kubectl-mirror\" has been changed by somebody else in the meantime; \
                 please run the command again"
                    .to_owned(),
            ),
            (
                json!({ "code": 401, "reason": "Unauthorized", "message": "Unauthorized" }),
                "You must be logged in to the server: https://10.0.0.1:6443 does not accept the credentials of this \
                 kubeconfig"
                    .to_owned(),
            ),
            (
                json!({ "code": 422, "reason": "Invalid", "message": "spec.x: Required value" }),
                "the server said (Invalid): spec.x: Required value".to_owned(),
            ),
            (json!({ "code": 413, "message": "too large" }), "the server said: too large".to_owned()),
        ] {
            assert_eq!(said(status.clone()), expected, "{status}");
        }
    }

    #[test]
    fn what_is_forbidden_can_be_matched() {
        let message = "pods \"gw-0\" is forbidden: User \"system:serviceaccount:a:b\" cannot create resource \
                       \"pods/portforward\" in API group \"\" in the namespace \"istio-system\"";
        let asked = Asked { group: String::new(), plural: "pods".into(), ..asked() };
        let forbidden = Forbidden::new(message.to_owned(), &asked);
        assert_eq!(forbidden.user, "system:serviceaccount:a:b");
        assert_eq!(forbidden.right, Right::new("create", "pods/portforward", "istio-system"));
        // A message in other words leaves what was asked for.
        let forbidden = Forbidden::new("no".to_owned(), &asked);
        assert_eq!(forbidden.right, Right::new("patch", "pods", "istio-system"));
        assert!(Error::Forbidden(Box::new(forbidden)).is_forbidden());
    }
}
