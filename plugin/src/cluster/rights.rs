//! What the user may do, asked of the server before anything is done.

use std::fmt;

use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use kube::Api;
use kube::api::PostParams;
use tokio::task::JoinSet;

use super::{Asked, Cluster, Error, Verb};

/// A right to do something, as a Role grants it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Right {
    /// `get`, `list`, `create`, `patch`, `delete`, …
    pub verb: String,
    /// The API group; empty for the core.
    pub group: String,
    /// The resource, in the plural.
    pub resource: String,
    /// A part of the resource, for example `portforward`.
    pub subresource: Option<String>,
    /// In which namespace; in all where `None`.
    pub namespace: Option<String>,
    /// To which object; to all where `None`.
    pub name: Option<String>,
}

impl Right {
    /// A right on all objects `resource` (`envoyfilters.networking.istio.io`, or `pods/portforward`) of a namespace.
    pub fn new(verb: &str, resource: &str, namespace: &str) -> Self {
        let (resource, group) = resource.split_once('.').unwrap_or((resource, ""));
        let (resource, subresource) = resource.split_once('/').map_or((resource, None), |(a, b)| (a, Some(b)));
        Self {
            verb: verb.to_owned(),
            group: group.to_owned(),
            resource: resource.to_owned(),
            subresource: subresource.map(str::to_owned),
            namespace: Some(namespace.to_owned()),
            name: None,
        }
    }

    fn review(&self) -> SelfSubjectAccessReview {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        SelfSubjectAccessReview {
            spec: SelfSubjectAccessReviewSpec {
                resource_attributes: Some(ResourceAttributes {
                    verb: some(&self.verb),
                    group: some(&self.group),
                    resource: some(&self.resource),
                    subresource: self.subresource.clone(),
                    namespace: self.namespace.clone(),
                    name: self.name.clone(),
                    ..ResourceAttributes::default()
                }),
                ..SelfSubjectAccessReviewSpec::default()
            },
            ..SelfSubjectAccessReview::default()
        }
    }
}

/// `create envoyfilters.networking.istio.io in namespace istio-system`
impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        if let Some(part) = &self.subresource {
            write!(f, "/{part}")?;
        }
        if let Some(name) = &self.name {
            write!(f, " \"{name}\"")?;
        }
        match &self.namespace {
            Some(namespace) => write!(f, " in namespace {namespace}"),
            None => f.write_str(" in all namespaces"),
        }
    }
}

impl Cluster {
    /// Those of `rights` that the user has not, in their order. All are asked for at once.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn missing_rights(&self, rights: &[Right]) -> Result<Vec<Right>, Error> {
        let mut reviews = JoinSet::new();
        for (i, right) in rights.iter().enumerate() {
            let (cluster, review) = (self.clone(), right.review());
            reviews.spawn(async move {
                let api: Api<SelfSubjectAccessReview> = Api::all(cluster.client.clone());
                let asked = Asked {
                    verb: Verb::Create,
                    group: "authorization.k8s.io".into(),
                    version: "v1".into(),
                    kind: "SelfSubjectAccessReview".into(),
                    plural: "selfsubjectaccessreviews".into(),
                    subresource: None,
                    namespace: None,
                    name: None,
                };
                let answer = cluster.ask(asked, api.create(&PostParams::default(), &review)).await?;
                Ok::<_, Error>((i, answer.status.is_some_and(|status| status.allowed)))
            });
        }
        let mut allowed = vec![false; rights.len()];
        for answer in reviews.join_all().await {
            let (i, is_allowed) = answer?;
            allowed[i] = is_allowed;
        }
        let missing = rights.iter().zip(allowed).filter(|(_, is_allowed)| !is_allowed);
        Ok(missing.map(|(right, _)| right.clone()).collect())
    }
}

/// What to tell a user who lacks rights: one line each, for whoever can grant them.
pub fn report(missing: &[Right]) -> String {
    let mut text = String::from("rights are missing; ask whoever runs the cluster for:");
    for right in missing {
        text.push_str("\n  ");
        text.push_str(&right.to_string());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::testing::FakeServer;
    use super::*;

    #[tokio::test]
    async fn what_is_missing_is_told_in_order() {
        let server = FakeServer::new()
            .forbid("create", "envoyfilters.networking.istio.io")
            .forbid_in("create", "pods/portforward", "istio-system")
            .forbid_in("list", "pods", "");
        let right = |verb, resource, namespace| Right::new(verb, resource, namespace);
        let everywhere = Right { namespace: None, ..right("list", "pods", "") };
        let rights = [
            right("create", "envoyfilters.networking.istio.io", "istio-system"),
            right("patch", "envoyfilters.networking.istio.io", "istio-system"),
            right("create", "pods/portforward", "istio-system"),
            right("create", "pods/portforward", "other"),
            everywhere,
        ];
        let missing = server.cluster("default").missing_rights(&rights).await.expect("answers");
        assert_eq!(
            report(&missing),
            "rights are missing; ask whoever runs the cluster for:\n  \
             create envoyfilters.networking.istio.io in namespace istio-system\n  \
             create pods/portforward in namespace istio-system\n  \
             list pods in all namespaces"
        );
    }

    #[test]
    fn rights_are_shown_as_they_are_asked_for() {
        let named =
            Right { name: Some("hello".into()), ..Right::new("get", "services.serving.knative.dev", "default") };
        assert_eq!(named.to_string(), "get services.serving.knative.dev \"hello\" in namespace default");
    }
}
