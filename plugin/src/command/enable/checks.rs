//! What is checked before anything is applied: rights, versions, and that there is a cluster to copy to.

use anyhow::{Result, bail};
use kube::ResourceExt;
use kube::core::ObjectMeta;

use super::{Enabling, old_tag};
use crate::cluster::{Error, Pod, Right};
use crate::gateway::{Endpoints, Gateways, Wanted, no_target};
use crate::intent::Strategy;
use crate::istio::names::ISTIO_NAMESPACE;
use crate::knative::Plan;
use crate::knative::refusal::check_istio;
use crate::source::Way;
use crate::steps::mirroring::Objects;
use crate::steps::{Found, GatewayPods, rights};

impl Enabling<'_> {
    pub(super) async fn check_rights(
        &self,
        plan: &Plan,
        objects: &Objects,
        before: Option<&Found>,
        tags: bool,
    ) -> Result<()> {
        let mut wanted = Vec::new();
        for overlay in &objects.overlays {
            let namespace = overlay.metadata.namespace.as_deref().unwrap_or_default();
            wanted.extend(rights::to_write(rights::ENVOY_FILTERS, namespace));
            if self.args.waiting.wait {
                wanted.extend(rights::to_look(namespace));
            }
        }
        if plan.intent.strategy == Strategy::VirtualService {
            wanted.extend(rights::to_write(rights::VIRTUAL_SERVICES, &self.name.namespace));
        }
        for held in &objects.held {
            let namespace = held.plugin.metadata.namespace.as_deref().unwrap_or_default();
            wanted.extend(rights::to_write(rights::WASM_PLUGINS, namespace));
            if self.args.waiting.wait {
                wanted.extend(rights::to_look(namespace));
            }
        }
        // What the mirror is made of now and will not be any more.
        if let Some(before) = before {
            let namespace = |metadata: &ObjectMeta| metadata.namespace.clone().unwrap_or_default();
            for overlay in before
                .overlays
                .iter()
                .filter(|before| !objects.overlays.iter().any(|o| o.name_any() == before.name_any()))
            {
                wanted.push(Right::new("delete", rights::ENVOY_FILTERS, &namespace(&overlay.metadata)));
            }
            if objects.virtual_service.is_none() && !before.virtual_services.is_empty() {
                wanted.push(Right::new("delete", rights::VIRTUAL_SERVICES, &self.name.namespace));
            }
            let left = before.wasm_plugins.iter().map(|plugin| namespace(&plugin.metadata));
            wanted.extend(left.map(|namespace| Right::new("patch", rights::WASM_PLUGINS, &namespace)));
        }
        if tags || old_tag(before, plan).is_some() {
            wanted.push(Right::new("patch", rights::SERVICES, &self.name.namespace));
        }
        wanted.sort();
        wanted.dedup();
        rights::need(self.cluster, &wanted).await
    }

    /// Refuses an Istio that would drop what keeps copies apart, and gateways that cannot be looked into.
    pub(super) async fn check_versions(&self, plan: &Plan, gateways: &[GatewayPods]) -> Result<()> {
        let mut namespaces: Vec<&str> = gateways.iter().map(|gateway| gateway.workload.namespace.as_str()).collect();
        namespaces.push(ISTIO_NAMESPACE);
        namespaces.sort_unstable();
        namespaces.dedup();
        for namespace in namespaces {
            match self.cluster.istiod_versions(namespace).await {
                Ok(versions) => versions.iter().try_for_each(|version| check_istio(version, "istiod"))?,
                // What the gateways say has to do.
                Err(Error::Forbidden(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let pods: Vec<Pod> = gateways.iter().flat_map(|gateway| gateway.pods.clone()).collect();
        for pod in &pods {
            check_istio(&pod.version, &format!("pod {}/{}", pod.namespace, pod.name))?;
        }
        if !self.args.waiting.wait {
            return Ok(());
        }
        for state in Gateways::of(self.cluster, &pods).states(&Wanted::module(plan.intent.strategy.way())).await {
            match state.found {
                Ok(found) => check_istio(found.istio.as_deref().unwrap_or_default(), &format!("pod {}", state.pod))?,
                Err(reason) if plan.intent.strategy != Strategy::VirtualService => bail!(
                    "cannot look into gateway pod {}: {reason}\nNothing was applied; --wait=false applies it unseen",
                    state.pod
                ),
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// Refuses a target that a gateway has no cluster for: the module could send nothing to it. With the other strategies the
    /// mirror's own object keeps Istio from leaving the cluster out.
    pub(super) async fn check_targets(&self, plan: &Plan, gateways: &[GatewayPods]) -> Result<()> {
        if plan.intent.strategy.way() != Way::Sending || !self.args.waiting.wait {
            return Ok(());
        }
        let clusters = Wanted::mirror(&plan.spec().mirror, Way::Sending).clusters();
        let pods: Vec<Pod> = gateways.iter().flat_map(|gateway| gateway.pods.clone()).collect();
        for pod in Gateways::of(self.cluster, &pods).view(&clusters).await {
            let Ok(view) = pod.view else { continue };
            let is_absent = |cluster: &&String| view.endpoints.get(*cluster) == Some(&Endpoints::Absent);
            if let Some(cluster) = clusters.iter().find(is_absent) {
                let advice = no_target(plan.intent.waypoint.is_some());
                bail!("gateway pod {} has no cluster {cluster} to copy to: {advice}\nNothing was applied", pod.pod);
            }
        }
        Ok(())
    }
}
