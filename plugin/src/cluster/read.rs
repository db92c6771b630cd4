//! Reading objects.

use std::fmt::Debug;

use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::ListParams;
use kube::core::{NamespaceResourceScope, Resource};
use serde::de::DeserializeOwned;

use super::{Asked, Cluster, Error, Verb};

/// How many objects one answer to a list brings; the rest is asked for again, as kubectl does.
const PAGE: u32 = 500;

/// Kinds that this program reads and writes: those that live in namespaces and are known when it is compiled.
pub trait Object:
    Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned + Send
{
}

impl<K> Object for K where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned + Send
{
}

/// Where to look for objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope<'a> {
    /// In this namespace.
    Namespace(&'a str),
    /// Everywhere. A user may lack the right to, which [`Error::is_forbidden`] tells.
    All,
}

impl<'a> Scope<'a> {
    fn namespace(self) -> Option<&'a str> {
        match self {
            Self::Namespace(namespace) => Some(namespace),
            Self::All => None,
        }
    }
}

impl Cluster {
    /// Reads one object.
    ///
    /// # Errors
    /// [`Error::NotFound`] where there is none; see [`Error`].
    pub async fn get<K: Object>(&self, namespace: &str, name: &str) -> Result<K, Error> {
        let api: Api<K> = Api::namespaced(self.client.clone(), namespace);
        self.ask(Asked::of::<K>(Verb::Get, Some(namespace), Some(name)), api.get(name)).await
    }

    /// Reads one object, or nothing where there is none.
    ///
    /// # Errors
    /// That the server does not know the kind is an error, [`Error::NoKind`]; see [`Error`].
    pub async fn get_opt<K: Object>(&self, namespace: &str, name: &str) -> Result<Option<K>, Error> {
        match self.get(namespace, name).await {
            Ok(object) => Ok(Some(object)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads all objects of a kind, or those that a label selector (`app=istiod,tier!=test`) chooses.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn list<K: Object>(&self, scope: Scope<'_>, selector: Option<&str>) -> Result<Vec<K>, Error> {
        let api: Api<K> = match scope {
            Scope::Namespace(namespace) => Api::namespaced(self.client.clone(), namespace),
            Scope::All => Api::all(self.client.clone()),
        };
        let mut page = ListParams { label_selector: selector.map(str::to_owned), ..ListParams::default() }.limit(PAGE);
        let mut objects = Vec::new();
        loop {
            let asked = Asked::of::<K>(Verb::List, scope.namespace(), None);
            let list = self.ask(asked, api.list(&page)).await?;
            objects.extend(list.items);
            match list.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => page = page.continue_token(&token),
                None => return Ok(objects),
            }
        }
    }
}

impl Cluster {
    /// The names of all namespaces.
    ///
    /// # Errors
    /// See [`Error`]; a user may lack the right to see them.
    pub async fn namespaces(&self) -> Result<Vec<String>, Error> {
        let api: Api<Namespace> = Api::all(self.client.clone());
        let asked = Asked {
            verb: Verb::List,
            group: String::new(),
            version: "v1".to_owned(),
            kind: "Namespace".to_owned(),
            plural: "namespaces".to_owned(),
            subresource: None,
            namespace: None,
            name: None,
        };
        let list = self.ask(asked, api.list_metadata(&ListParams::default())).await?;
        Ok(list.items.into_iter().filter_map(|namespace| namespace.metadata.name).collect())
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::super::testing::FakeServer;
    use super::*;

    const OBJECTS: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: one, labels: {app: x, tier: web}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b, namespace: one, labels: {app: z}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c, namespace: two, labels: {app: x}}
";

    #[tokio::test]
    async fn objects_are_found_where_they_are() {
        let cluster = FakeServer::new().with(OBJECTS).cluster("one");
        for (scope, selector, names) in [
            (Scope::Namespace("one"), None, &["a", "b"][..]),
            (Scope::Namespace("one"), Some("app=x"), &["a"]),
            (Scope::Namespace("one"), Some("app=x,tier=web"), &["a"]),
            (Scope::All, Some("app=x"), &["a", "c"]),
            (Scope::All, None, &["a", "b", "c"]),
            (Scope::Namespace("three"), None, &[]),
        ] {
            let found: Vec<ConfigMap> = cluster.list(scope, selector).await.expect("a list");
            let found: Vec<_> = found.into_iter().filter_map(|object| object.metadata.name).collect();
            assert_eq!(found, names, "{scope:?} {selector:?}");
        }
    }

    #[tokio::test]
    async fn what_is_not_there_is_told_apart() {
        let cluster = FakeServer::new().with(OBJECTS).cluster("one");
        assert!(cluster.get_opt::<ConfigMap>("one", "a").await.expect("there").is_some());
        assert_eq!(cluster.get_opt::<ConfigMap>("one", "c").await.expect("not there"), None);
        let error = cluster.get::<ConfigMap>("one", "c").await.expect_err("not there");
        assert_eq!(error.to_string(), "configmaps \"c\" not found in namespace one");
        let cluster = FakeServer::new().without_kind("configmaps").cluster("one");
        assert!(cluster.get_opt::<ConfigMap>("one", "a").await.expect_err("no such kind").is_no_kind());
        let cluster = FakeServer::new().with(OBJECTS).forbid_in("list", "configmaps", "").cluster("one");
        assert!(cluster.list::<ConfigMap>(Scope::All, None).await.expect_err("no right").is_forbidden());
        assert!(cluster.list::<ConfigMap>(Scope::Namespace("one"), None).await.is_ok());
    }

    #[tokio::test]
    async fn a_server_that_is_not_there_is_told() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        drop(listener);
        let config = kube::Config::new(format!("http://{address}").parse().expect("a URL"));
        let mut cluster = Cluster::new(kube::Client::try_from(config).expect("a client"), "default");
        cluster.server = format!("http://{address}");
        let error = cluster.get::<ConfigMap>("one", "a").await.expect_err("nobody listens").to_string();
        let expected = format!("Unable to connect to the server: http://{address}: Connection refused");
        assert!(error.starts_with(&expected), "{error}");
    }
}
