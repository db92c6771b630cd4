//! The one change to a user's object: a tag without traffic on a Knative Service, and its undoing.

use anyhow::Result;
use serde_json::Value;

use crate::cluster::Cluster;
use crate::intent::MirrorName;
use crate::kinds::Service;
use crate::knative::tag;

/// Gives `revision` a tag, where it has not got it already. Somebody else's change of the Service in between is an error.
///
/// # Errors
/// A tag that means another revision, and what the API server refuses.
pub async fn add(cluster: &Cluster, service: &Service, name: &str, revision: &str, dry_run: bool) -> Result<()> {
    merge(cluster, service, tag::add(service, name, revision)?, dry_run).await
}

/// Takes a tag away from the Service of a mirror. Tells whether it was there.
///
/// # Errors
/// What the API server refuses.
pub async fn remove(cluster: &Cluster, mirror: &MirrorName, name: &str, dry_run: bool) -> Result<bool> {
    let Some(service) = cluster.get_opt::<Service>(&mirror.namespace, &mirror.route).await? else { return Ok(false) };
    let patch = tag::remove(&service, name);
    let was_there = patch.is_some();
    merge(cluster, &service, patch, dry_run).await?;
    Ok(was_there)
}

async fn merge(cluster: &Cluster, service: &Service, patch: Option<Value>, dry_run: bool) -> Result<()> {
    let Some(patch) = patch else { return Ok(()) };
    let metadata = &service.metadata;
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let (namespace, name, version) =
        (text(&metadata.namespace), text(&metadata.name), text(&metadata.resource_version));
    cluster.merge::<Service>(&namespace, &name, &version, patch, dry_run).await?;
    Ok(())
}
