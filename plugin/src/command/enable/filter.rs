//! Whether the gateways have the filter, for mirrors of the strategy `virtualservice`: their users may have no right to install
//! it or even to look, and where it is missing the header with the mirror's configuration is taken away by nobody.

use anyhow::{Result, anyhow, bail};

use crate::cluster::{Cluster, Error};
use crate::gateway::{Gateways, Wanted};
use crate::output::message;
use crate::steps::{GatewayPods, installing, rights};

/// What comes of a VirtualService where the filter is not.
pub(super) const WITHOUT: &str =
    "without it nothing is compared, and the header with the mirror's configuration goes on to the applications";

/// With the strategy `virtualservice` a user may have no rights to the gateways. Where it can be seen that the filter is
/// not there, those to install it are needed.
pub(super) async fn check_rights(cluster: &Cluster, gateways: &[GatewayPods]) -> Result<()> {
    let mut wanted = Vec::new();
    for gateway in gateways {
        match installing::installed(cluster, gateway).await {
            Ok(Some(_)) => {}
            Ok(None) => wanted.extend(rights::to_write(rights::ENVOY_FILTERS, &gateway.workload.namespace)),
            Err(error) if may_not_look(&error) => {}
            Err(error) => return Err(error),
        }
    }
    rights::need(cluster, &wanted).await.map_err(|error| {
        anyhow!(
            "the gateways do not have the filter; {WITHOUT}.\n\
             Either somebody else runs `kubectl mirror install`, or you do, for which {error:#}"
        )
    })
}

/// Whether it failed for want of the right to read.
pub(super) fn may_not_look(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(Error::Forbidden(forbidden)) if forbidden.right.verb == "get")
}

/// Refuses gateway pods that are seen to lack the filter. Those that cannot be asked are named.
pub(super) async fn check(cluster: &Cluster, gateway: &GatewayPods) -> Result<()> {
    let mut unseen = Vec::new();
    for state in Gateways::of(cluster, &gateway.pods).states(&Wanted::module()).await {
        match state.found {
            Ok(_) if state.module_runs() => {}
            Ok(_) => bail!(
                "the filter does not compare on gateway pod {}: {}\nThe mirror was not applied: {WITHOUT}",
                state.pod,
                state.module_advice()
            ),
            Err(reason) => unseen.push((state.pod, reason)),
        }
    }
    if let Some((_, reason)) = unseen.first() {
        let pods: Vec<&str> = unseen.iter().map(|(pod, _)| pod.as_str()).collect();
        message(format_args!(
            "note: whether {} have the filter could not be checked; {WITHOUT}: {reason}",
            pods.join(" and ")
        ));
    }
    Ok(())
}
