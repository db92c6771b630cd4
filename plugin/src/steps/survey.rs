//! Reads what a mirror of one service has to be planned upon. Everything here can be read with rights in the service's own
//! namespace.

use anyhow::Result;

use crate::cluster::{Cluster, Scope};
use crate::intent::{Intent, MirrorName, Through, To};
use crate::kinds::{Ingress, Revision, Route, Service, VirtualService};
use crate::knative::config::gateway_namespaces;
use crate::knative::source::{INGRESS_LABEL, is_of_gateways};
use crate::knative::target::{self, Known};
use crate::knative::{self, Plan, Refusal, Source};

/// A service as it is now.
#[derive(Debug)]
pub struct Survey {
    /// Its Route, as far as a mirror is concerned.
    pub source: Source,
    /// The Knative Service that the Route belongs to; a Route may be alone.
    pub service: Option<Service>,
    /// Knative's own object for its gateways.
    pub ingress: Option<Ingress>,
    revisions: Vec<Revision>,
}

/// Reads the service and checks that it can be mirrored at all.
///
/// # Errors
/// No such service, one that is not ready, one that Istio does not serve, and whatever the API server refuses.
pub async fn survey(cluster: &Cluster, name: &MirrorName) -> Result<Survey> {
    let MirrorName { namespace, route } = name;
    let (found, service, ingress) = tokio::try_join!(
        cluster.get_opt::<Route>(namespace, route),
        cluster.get_opt::<Service>(namespace, route),
        cluster.get_opt::<Ingress>(namespace, route),
    )?;
    let Some(found) = found else {
        return Err(no_such_service(cluster, namespace, route).await?.into());
    };
    target::check_route(&found)?;
    let virtual_service = knatives_own(cluster, namespace, route).await?;
    // The class is on the Ingress; without one nothing serves the Route, and the VirtualService is missing too.
    if ingress.is_some() {
        let base = Source::offline(&found, &knative::Gateways::default())?;
        target::check_ingress_class(&base, &knative::ingress_class(ingress.as_ref(), None))?;
    }
    let virtual_service = virtual_service.ok_or_else(|| Refusal::RouteNotServed { route: name.clone() })?;
    let source = Source::live(&found, &virtual_service)?;
    let revisions = cluster.list::<Revision>(Scope::Namespace(namespace), None).await?;
    Ok(Survey { source, service, ingress, revisions })
}

impl Survey {
    /// Resolves what a user asked for.
    ///
    /// # Errors
    /// What cannot work (see [`Refusal`]), and whatever the API server refuses.
    pub async fn plan(&self, cluster: &Cluster, intent: Intent) -> Result<Plan> {
        let candidate = self.candidate(cluster, &self.source, &intent.to).await?;
        Ok(Plan::new(intent, self.source.clone(), candidate)?)
    }

    /// Resolves it as if the service had one tag more, which is about to be added.
    ///
    /// # Errors
    /// As [`Survey::plan`].
    pub async fn plan_with_tag(&self, cluster: &Cluster, intent: Intent, tag: &str, revision: &str) -> Result<Plan> {
        let source = self.source.clone().with_tag(tag, revision);
        let candidate = self.candidate(cluster, &source, &To::Name(tag.to_owned())).await?;
        Ok(Plan::new(intent, source, candidate)?)
    }

    async fn candidate(&self, cluster: &Cluster, source: &Source, to: &To) -> Result<knative::Target> {
        let (mut other, mut services) = (None, Vec::new());
        if let To::Service(name) = to {
            other = other_source(cluster, &source.namespace, name).await?;
            if other.is_none() {
                services = service_names(cluster, &source.namespace).await?;
            }
        }
        let known = Known { revisions: Some(&self.revisions), other: other.as_ref(), services: &services };
        Ok(target::candidate(source, to, known)?)
    }

    /// The namespaces of the gateways' pods, as Knative says them in the service's own namespace.
    pub fn gateway_namespaces(&self, through: Through) -> Vec<String> {
        self.ingress.as_ref().map(|ingress| gateway_namespaces(ingress, through)).unwrap_or_default()
    }

    /// The revision of this name, where there is one in the namespace.
    pub fn has_revision(&self, name: &str) -> bool {
        self.revisions.iter().any(|revision| revision.name() == name)
    }
}

/// The VirtualService that Knative made for a Route. Where `<route>-ingress` would be too long, Knative shortens the name
/// and ends it with a hash; then it is found by its label.
async fn knatives_own(cluster: &Cluster, namespace: &str, route: &str) -> Result<Option<VirtualService>> {
    let named: Option<VirtualService> = cluster.get_opt(namespace, &format!("{route}-ingress")).await?;
    if named.is_some() {
        return Ok(named);
    }
    let label = format!("{INGRESS_LABEL}={route}");
    let labelled: Vec<VirtualService> = cluster.list(Scope::Namespace(namespace), Some(&label)).await?;
    Ok(labelled.into_iter().find(is_of_gateways))
}

async fn other_source(cluster: &Cluster, namespace: &str, name: &str) -> Result<Option<Source>> {
    let Some(route) = cluster.get_opt::<Route>(namespace, name).await? else { return Ok(None) };
    let route_name = MirrorName::new(namespace, name);
    let own = knatives_own(cluster, namespace, name).await?;
    let own = own.ok_or(Refusal::RouteNotServed { route: route_name })?;
    Ok(Some(Source::live(&route, &own)?))
}

/// The refusal of a service that is not there, with the names that are most like it.
async fn no_such_service(cluster: &Cluster, namespace: &str, name: &str) -> Result<Refusal> {
    let names = service_names(cluster, namespace).await?;
    Ok(Refusal::no_such_service(namespace, name, &names))
}

/// All that can be mirrored in a namespace, by name.
///
/// # Errors
/// What the API server refuses.
pub async fn service_names(cluster: &Cluster, namespace: &str) -> Result<Vec<String>> {
    let routes = cluster.list::<Route>(Scope::Namespace(namespace), None).await?;
    let mut names: Vec<String> = routes.into_iter().filter_map(|route| route.metadata.name).collect();
    names.sort();
    Ok(names)
}
