//! Writing objects: server-side apply, merge patches, deletion.

use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use serde::Serialize;
use serde_json::{Value, json};

use super::read::Object;
use super::{Asked, Cluster, Error, FIELD_MANAGER, Verb};

/// How to apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApplyOptions {
    /// Take over fields that others own.
    pub force_conflicts: bool,
    /// Let the server check everything and keep nothing.
    pub dry_run: bool,
}

/// What applying an object did, in kubectl's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It was not there.
    Created,
    /// It was there and is another now.
    Configured,
    /// It was there, just so.
    Unchanged,
}

/// An object that was applied.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied<K> {
    /// What that did.
    pub change: Change,
    /// As the server has it now.
    pub object: K,
}

/// What must still hold of an object when it is deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Precondition {
    /// It is this very one, not another of its name.
    pub uid: Option<String>,
    /// It was not changed since.
    pub resource_version: Option<String>,
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Created => "created",
            Self::Configured => "configured",
            Self::Unchanged => "unchanged",
        })
    }
}

impl Cluster {
    /// Applies an object as its server-side field manager [`FIELD_MANAGER`]: what it says is set, what this program said
    /// before and says no more is removed, what others own stays. The object must have a namespace and a name.
    ///
    /// # Errors
    /// [`Error::Conflict`] where others own what is to be set and `force_conflicts` is off; see [`Error`].
    pub async fn apply<K: Object + Serialize>(&self, object: &K, options: ApplyOptions) -> Result<Applied<K>, Error> {
        let meta = object.meta();
        let namespace = meta.namespace.as_deref().unwrap_or(&self.namespace);
        let name = meta.name.as_deref().unwrap_or_default();
        let before = self.get_opt::<K>(namespace, name).await?;
        let api: Api<K> = Api::namespaced(self.client.clone(), namespace);
        let params = PatchParams {
            dry_run: options.dry_run,
            force: options.force_conflicts,
            field_manager: Some(FIELD_MANAGER.to_owned()),
            field_validation: None,
        };
        let asked = Asked::of::<K>(Verb::Patch, Some(namespace), Some(name));
        let patch = Patch::Apply(typed(object));
        let object = self.ask(asked, api.patch(name, &params, &patch)).await?;
        let change = match before {
            None => Change::Created,
            Some(before) if is_same(&before, &object) => Change::Unchanged,
            Some(_) => Change::Configured,
        };
        Ok(Applied { change, object })
    }

    /// Merges `patch` into an object, if that is still the one of `resource_version`.
    ///
    /// # Errors
    /// [`Error::Changed`] where it is another one by now; see [`Error`].
    pub async fn merge<K: Object>(
        &self,
        namespace: &str,
        name: &str,
        resource_version: &str,
        mut patch: Value,
        dry_run: bool,
    ) -> Result<K, Error> {
        patch["metadata"]["resourceVersion"] = json!(resource_version);
        let api: Api<K> = Api::namespaced(self.client.clone(), namespace);
        let params = PatchParams { dry_run, field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let asked = Asked::of::<K>(Verb::Patch, Some(namespace), Some(name));
        self.ask(asked, api.patch(name, &params, &Patch::Merge(patch))).await
    }

    /// Deletes an object and tells whether one was there.
    ///
    /// # Errors
    /// [`Error::Changed`] where the precondition does not hold; see [`Error`].
    pub async fn delete<K: Object>(
        &self,
        namespace: &str,
        name: &str,
        precondition: Precondition,
        dry_run: bool,
    ) -> Result<bool, Error> {
        let api: Api<K> = Api::namespaced(self.client.clone(), namespace);
        let Precondition { uid, resource_version } = precondition;
        let preconditions =
            (uid.is_some() || resource_version.is_some()).then_some(Preconditions { uid, resource_version });
        let params = DeleteParams { dry_run, preconditions, ..DeleteParams::background() };
        match self.ask(Asked::of::<K>(Verb::Delete, Some(namespace), Some(name)), api.delete(name, &params)).await {
            Ok(_) => Ok(true),
            Err(Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// The object with its kind, which an apply must carry and k8s-openapi's types do.
fn typed<K: Object + Serialize>(object: &K) -> Value {
    let mut value = serde_json::to_value(object).unwrap_or_default();
    value["apiVersion"] = json!(K::api_version(&()));
    value["kind"] = json!(K::kind(&()));
    if let Some(meta) = value["metadata"].as_object_mut() {
        // What an apply may not say.
        meta.remove("managedFields");
    }
    value
}

/// Whether two states of an object say the same, apart from the server's own notes. The resource version alone would not
/// tell: a dry run makes none.
fn is_same<K: Object + Serialize>(before: &K, after: &K) -> bool {
    let said = |object: &K| {
        let mut value = serde_json::to_value(object).unwrap_or_default();
        if let Some(meta) = value["metadata"].as_object_mut() {
            for note in ["managedFields", "resourceVersion", "generation"] {
                meta.remove(note);
            }
        }
        value
    };
    before.meta().uid == after.meta().uid && said(before) == said(after)
}
