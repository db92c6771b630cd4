//! Reading objects.

use std::fmt::Debug;

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
