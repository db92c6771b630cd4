//! What is asked of an API server, so that an error can say it.

use std::fmt;

use kube::core::{NamespaceResourceScope, Resource};

use super::Right;

/// What a request is to do, in RBAC's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Verb {
    Get,
    List,
    Create,
    Patch,
    Delete,
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Create => "create",
            Self::Patch => "patch",
            Self::Delete => "delete",
        })
    }
}

/// What was asked of the server, so that an error can say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked<'a> {
    /// What to do.
    pub verb: Verb,
    /// The API group; empty for the core.
    pub group: String,
    /// The API's version.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// The resource, in the plural.
    pub plural: String,
    /// A part of the resource, for example `portforward`.
    pub subresource: Option<&'a str>,
    /// The namespace; all where `None`.
    pub namespace: Option<&'a str>,
    /// The object; all where `None`.
    pub name: Option<&'a str>,
}

impl<'a> Asked<'a> {
    /// A request about objects of the kind `K`.
    pub fn of<K>(verb: Verb, namespace: Option<&'a str>, name: Option<&'a str>) -> Self
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Self {
            verb,
            group: K::group(&()).into_owned(),
            version: K::version(&()).into_owned(),
            kind: K::kind(&()).into_owned(),
            plural: K::plural(&()).into_owned(),
            subresource: None,
            namespace,
            name,
        }
    }

    /// `services.serving.knative.dev`, or `pods` alone.
    pub(super) fn resource(&self) -> String {
        if self.group.is_empty() { self.plural.clone() } else { format!("{}.{}", self.plural, self.group) }
    }

    pub(super) fn group_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    pub(super) fn right(&self) -> Right {
        Right {
            verb: self.verb.to_string(),
            group: self.group.clone(),
            resource: self.plural.clone(),
            subresource: self.subresource.map(str::to_owned),
            namespace: self.namespace.map(str::to_owned),
            name: None,
        }
    }
}
