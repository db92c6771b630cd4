//! Changes a WasmPlugin that several mirrors share, perhaps at the same moment.
//!
//! Each change is made of the object as it is, and is kept only if it still is: the API server refuses what is based on an
//! earlier state, a creation where there is one by now, and a deletion of what has changed. Then the change is made anew.

use std::time::Duration;

use anyhow::Result;
use kube::ResourceExt;
use serde_json::{Map, Value};
use tokio::time::sleep;

use super::standing::now;
use crate::cluster::{ApplyOptions, Change, Cluster, Conflict, Error, FIELD_MANAGER, Precondition};
use crate::intent::MirrorName;
use crate::istio::conflict::{check_owner, check_shared};
use crate::istio::wasm_plugin::{mirrors, with_mirror, with_mirror_of, without_mirror, without_mirrors};
use crate::istio::{InstalledBy, install::installed_by};
use crate::kinds::WasmPlugin;
use crate::knative::Plan;

/// A mirror as a WasmPlugin is to hold it.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    /// The mirror.
    pub name: MirrorName,
    /// The WasmPlugin with it. What else is in there was so when it was read.
    pub plugin: WasmPlugin,
}

/// What became of a WasmPlugin.
#[derive(Clone, Debug)]
pub struct Changed {
    /// As it was.
    pub before: Option<WasmPlugin>,
    /// As it is.
    pub after: Option<WasmPlugin>,
    /// In kubectl's words; a deletion is none of them.
    pub change: Change,
}

/// How often a change is tried. One is lost only to another that was made.
const ATTEMPTS: u32 = 10;
/// How long to wait before the second attempt, and how much longer before each later one.
const PAUSE: Duration = Duration::from_millis(30);

/// The WasmPlugin of this name.
///
/// # Errors
/// One that is somebody else's, and what the API server refuses.
pub async fn read(cluster: &Cluster, namespace: &str, name: &str) -> Result<Option<WasmPlugin>> {
    let found = cluster.get_opt::<WasmPlugin>(namespace, name).await?;
    if let Some(plugin) = &found {
        check_owner("WasmPlugin", &plugin.metadata)?;
    }
    Ok(found)
}

/// Changes the WasmPlugin of this name to what `make` makes of it; `None` is none.
///
/// # Errors
/// What `make` refuses, an object of somebody else's, one that never stays as it was read, and what the API server refuses.
/// Nothing is changed then.
pub async fn change(
    cluster: &Cluster,
    namespace: &str,
    name: &str,
    options: ApplyOptions,
    make: impl Fn(Option<&WasmPlugin>) -> Result<Option<WasmPlugin>>,
) -> Result<Changed> {
    let mut attempt = 0;
    loop {
        let before = read(cluster, namespace, name).await?;
        if let Some(plugin) = before.as_ref().filter(|_| !options.force_conflicts) {
            check_managers(plugin)?;
        }
        let after = make(before.as_ref())?;
        match write(cluster, before.as_ref(), after, options.dry_run).await {
            Err(Error::Changed { .. }) if attempt + 1 < ATTEMPTS => {
                attempt += 1;
                sleep(PAUSE * attempt).await;
            }
            written => {
                let (change, after) = written?;
                return Ok(Changed { before, after, change });
            }
        }
    }
}

async fn write(
    cluster: &Cluster,
    before: Option<&WasmPlugin>,
    after: Option<WasmPlugin>,
    dry_run: bool,
) -> Result<(Change, Option<WasmPlugin>), Error> {
    let Some(before) = before else {
        let Some(after) = after else { return Ok((Change::Unchanged, None)) };
        return Ok((Change::Created, Some(cluster.create(&after, dry_run).await?)));
    };
    let namespace = before.namespace().unwrap_or_default();
    let Some(after) = after else {
        let precondition = Precondition { uid: before.uid(), resource_version: before.resource_version() };
        cluster.delete::<WasmPlugin>(&namespace, &before.name_any(), precondition, dry_run).await?;
        return Ok((Change::Configured, None));
    };
    let value = |plugin: &WasmPlugin| serde_json::to_value(plugin).unwrap_or_default();
    let patch = difference(&value(before), &value(&after));
    if patch.as_object().is_none_or(Map::is_empty) {
        return Ok((Change::Unchanged, Some(after)));
    }
    let version = before.resource_version().unwrap_or_default();
    let merged = cluster.merge(&namespace, &before.name_any(), &version, patch, dry_run).await?;
    Ok((Change::Configured, Some(merged)))
}

/// The merge patch (RFC 7386) that makes the one of the other.
fn difference(before: &Value, after: &Value) -> Value {
    let (Some(old), Some(new)) = (before.as_object(), after.as_object()) else { return after.clone() };
    let mut patch = Map::new();
    for (key, value) in new {
        match old.get(key) {
            Some(was) if was == value => {}
            Some(was) => _ = patch.insert(key.clone(), difference(was, value)),
            None => _ = patch.insert(key.clone(), value.clone()),
        }
    }
    for key in old.keys().filter(|key| !new.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    Value::Object(patch)
}

/// Refuses an object whose mirrors somebody applies as a whole (GitOps): what is added to them would not stay.
fn check_managers(plugin: &WasmPlugin) -> Result<(), Error> {
    let fields = plugin.metadata.managed_fields.iter().flatten().filter(|entry| {
        let applies = entry.operation.as_deref() == Some("Apply")
            || entry.manager.as_deref() == Some("kubectl-client-side-apply");
        let fields = entry.fields_v1.as_ref().map(|fields| &fields.0);
        applies
            && entry.manager.as_deref() != Some(FIELD_MANAGER)
            && fields.is_some_and(|fields| !fields["f:spec"]["f:pluginConfig"].is_null())
    });
    let fields: Vec<_> =
        fields.map(|entry| (entry.manager.clone().unwrap_or_default(), ".spec.pluginConfig".to_owned())).collect();
    let Some((manager, field)) = fields.first() else { return Ok(()) };
    Err(Error::Conflict(Box::new(Conflict {
        object: format!("wasmplugins.extensions.istio.io \"{}\"", plugin.name_any()),
        message: format!("conflict with \"{manager}\": {field}"),
        fields,
    })))
}

/// The mirror in a WasmPlugin as it is now.
pub fn held(plugin: &WasmPlugin, plan: &Plan) -> Held {
    Held { name: plan.name.clone(), plugin: with_mirror(plugin, plan, i64::try_from(now()).ok()) }
}

/// Lets a WasmPlugin hold a mirror, beside all that it holds by then. Where it is gone, it comes back with this mirror alone.
///
/// # Errors
/// Another mirror there of one of its hosts, and as [`change`].
pub async fn hold(cluster: &Cluster, held: &Held, options: ApplyOptions) -> Result<Changed> {
    let Held { name, plugin } = held;
    change(cluster, &plugin.namespace().unwrap_or_default(), &plugin.name_any(), options, |there| {
        let fresh = || {
            let mut fresh = without_mirrors(plugin);
            let meta = &mut fresh.metadata;
            (meta.uid, meta.resource_version, meta.creation_timestamp, meta.managed_fields) = (None, None, None, None);
            fresh
        };
        let holding = with_mirror_of(&there.cloned().unwrap_or_else(fresh), plugin, name);
        check_shared(&holding, name)?;
        Ok(Some(holding))
    })
    .await
}

/// Takes a mirror out of a WasmPlugin, which stays.
///
/// # Errors
/// As [`change`].
pub async fn release(cluster: &Cluster, plugin: &WasmPlugin, name: &MirrorName, dry_run: bool) -> Result<Changed> {
    let options = ApplyOptions { dry_run, ..ApplyOptions::FORCED };
    change(cluster, &plugin.namespace().unwrap_or_default(), &plugin.name_any(), options, |there| {
        Ok(there.map(|there| without_mirror(there, name)))
    })
    .await
}

/// Removes a WasmPlugin that `enable` made, if it holds no mirror any more. Tells whether it did.
///
/// # Errors
/// As [`change`].
pub async fn remove_unused(cluster: &Cluster, plugin: &WasmPlugin, dry_run: bool) -> Result<bool> {
    let options = ApplyOptions { dry_run, ..ApplyOptions::FORCED };
    let changed = change(cluster, &plugin.namespace().unwrap_or_default(), &plugin.name_any(), options, |there| {
        let is_unused = |there: &&WasmPlugin| {
            mirrors(there).is_empty() && installed_by(&there.metadata) == Some(InstalledBy::Enable)
        };
        Ok(there.filter(|there| !is_unused(there)).cloned())
    })
    .await?;
    Ok(changed.before.is_some() && changed.after.is_none())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_patch_says_what_differs_and_nothing_else() {
        let before = json!({ "a": 1, "b": { "c": 2, "d": [1, 2], "e": "x" }, "f": 3 });
        let after = json!({ "a": 1, "b": { "c": 2, "d": [1], "g": {} }, "f": { "h": 4 } });
        let patch = difference(&before, &after);
        assert_eq!(patch, json!({ "b": { "d": [1], "e": null, "g": {} }, "f": { "h": 4 } }));
        assert_eq!(difference(&before, &before), json!({}));
    }
}
