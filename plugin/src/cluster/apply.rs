//! Writing objects: server-side apply, creation, merge patches, deletion.

use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
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

impl ApplyOptions {
    /// As it is meant, whoever owns the fields.
    pub const FORCED: Self = Self { force_conflicts: true, dry_run: false };
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

    /// Creates an object, which must have a namespace and a name.
    ///
    /// # Errors
    /// [`Error::Changed`] where one of that name is there by now; see [`Error`].
    pub async fn create<K: Object + Serialize>(&self, object: &K, dry_run: bool) -> Result<K, Error> {
        let meta = object.meta();
        let namespace = meta.namespace.as_deref().unwrap_or(&self.namespace);
        let api: Api<K> = Api::namespaced(self.client.clone(), namespace);
        let params = PostParams { dry_run, field_manager: Some(FIELD_MANAGER.to_owned()) };
        let asked = Asked::of::<K>(Verb::Create, Some(namespace), meta.name.as_deref());
        self.ask(asked, api.create(&params, object)).await
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

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::super::testing::FakeServer;
    use super::*;

    const THERE: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: there, namespace: default}
data: {a: one}
";

    fn config_map(name: &str, value: &str) -> ConfigMap {
        let json = json!({ "metadata": { "name": name, "namespace": "default" }, "data": { "a": value } });
        serde_json::from_value(json).expect("a ConfigMap")
    }

    const KEPT: ApplyOptions = ApplyOptions { force_conflicts: false, dry_run: false };
    const DRY: ApplyOptions = ApplyOptions { force_conflicts: false, dry_run: true };

    #[tokio::test]
    async fn an_apply_tells_what_it_changed() {
        for (name, value, options, change, write, now) in [
            ("new", "one", KEPT, Change::Created, "apply configmaps default/new", Some("one")),
            ("new", "one", DRY, Change::Created, "apply configmaps default/new (dry run)", None),
            ("there", "one", KEPT, Change::Unchanged, "apply configmaps default/there", Some("one")),
            ("there", "one", DRY, Change::Unchanged, "apply configmaps default/there (dry run)", Some("one")),
            ("there", "two", KEPT, Change::Configured, "apply configmaps default/there", Some("two")),
            ("there", "two", DRY, Change::Configured, "apply configmaps default/there (dry run)", Some("one")),
        ] {
            let server = FakeServer::new().with(THERE);
            let applied = server.cluster("other").apply(&config_map(name, value), options).await.expect(write);
            assert_eq!((applied.change, applied.object.data.expect("data")["a"].as_str()), (change, value), "{write}");
            assert_eq!(server.writes(), [write]);
            assert_eq!(server.writes()[0].body["kind"], "ConfigMap", "{write}");
            let object = server.object("configmaps", "default", name);
            assert_eq!(object.as_ref().and_then(|object| object["data"]["a"].as_str()), now, "{write}");
        }
    }

    #[tokio::test]
    async fn a_conflict_is_told_and_can_be_overruled() {
        let server = FakeServer::new().with(THERE).conflict("configmaps", "argocd", ".data.a");
        let cluster = server.cluster("default");
        let error = cluster.apply(&config_map("there", "two"), KEPT).await.expect_err("a conflict");
        let Error::Conflict(conflict) = &error else { panic!("{error}") };
        assert_eq!(conflict.fields, [("argocd".to_owned(), ".data.a".to_owned())]);
        let applied = cluster.apply(&config_map("there", "two"), ApplyOptions::FORCED).await.expect("forced");
        assert_eq!(applied.change, Change::Configured);
        assert_eq!(server.writes(), ["apply configmaps default/there", "apply configmaps default/there (force)"]);
    }

    #[tokio::test]
    async fn creating_needs_another_right_than_changing() {
        let cluster = FakeServer::new().with(THERE).forbid("create", "configmaps").cluster("default");
        assert!(cluster.apply(&config_map("there", "two"), KEPT).await.is_ok());
        let error = cluster.apply(&config_map("new", "one"), KEPT).await.expect_err("no right");
        assert!(error.to_string().ends_with("ask for: create configmaps in namespace default"), "{error}");
    }

    #[tokio::test]
    async fn a_merge_keeps_what_it_does_not_name_and_what_others_changed() {
        let server = FakeServer::new().with(THERE);
        let cluster = server.cluster("default");
        let before: ConfigMap = cluster.get("default", "there").await.expect("there");
        let version = before.metadata.resource_version.expect("a version");
        let merge = async |value: &str| {
            cluster.merge::<ConfigMap>("default", "there", &version, json!({ "data": { "b": value } }), false).await
        };
        let after = merge("two").await.expect("merged").data.expect("data");
        assert_eq!((after["a"].as_str(), after["b"].as_str()), ("one", "two"));
        assert!(matches!(merge("three").await, Err(Error::Changed { .. })));
    }

    #[tokio::test]
    async fn what_is_there_already_is_not_created_once_more() {
        let server = FakeServer::new().with(THERE);
        let cluster = server.cluster("default");
        assert!(cluster.create(&config_map("new", "one"), true).await.is_ok());
        assert_eq!(server.count("configmaps"), 1);
        assert!(cluster.create(&config_map("new", "one"), false).await.is_ok());
        for name in ["new", "there"] {
            let error = cluster.create(&config_map(name, "two"), false).await.expect_err(name);
            assert!(matches!(error, Error::Changed { .. }), "{error}");
        }
        assert_eq!(server.writes()[1], "create configmaps default/new");
    }

    #[tokio::test]
    async fn a_deletion_tells_whether_something_was_there() {
        let server = FakeServer::new().with(THERE);
        let cluster = server.cluster("default");
        let delete = async |name: &str, uid: Option<&str>, dry_run: bool| {
            let precondition = Precondition { uid: uid.map(str::to_owned), resource_version: None };
            cluster.delete::<ConfigMap>("default", name, precondition, dry_run).await
        };
        assert!(!delete("new", None, false).await.expect("nothing there"));
        assert!(matches!(delete("there", Some("another"), false).await, Err(Error::Changed { .. })));
        assert!(delete("there", None, true).await.expect("a dry run"));
        assert!(delete("there", Some("uid-1"), false).await.expect("deleted"));
        assert_eq!(server.count("configmaps"), 0);
    }
}
