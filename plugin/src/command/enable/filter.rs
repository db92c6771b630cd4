//! Sees to it that the gateways have the filter. Users of the strategy `virtualservice` may have no right to install it or even to
//! look, and where it is missing the header with the mirror's configuration is taken away by nobody.

use std::time::Duration;

use anyhow::{Result, anyhow, bail};

use super::{Enabling, Seen};
use crate::cluster::{Change, Cluster, Error};
use crate::command::common;
use crate::gateway::{Gateways, PodState, Wanted};
use crate::intent::Strategy;
use crate::istio::InstalledBy;
use crate::knative::Plan;
use crate::output::message;
use crate::source::{Module, Way};
use crate::steps::installing::{self, Installation};
use crate::steps::sending::{self, Sending};
use crate::steps::{GatewayPods, rights};

impl Enabling<'_> {
    /// Sees to it that the filter is on all gateways.
    pub(super) async fn install(&self, plan: &Plan, seen: &Seen) -> Result<()> {
        let gateways = match seen {
            Seen::Pods(gateways) => gateways,
            Seen::Nothing(right) => {
                message(format_args!(
                    "note: whether the gateways have the filter could not be checked ({right}); {}",
                    WITHOUT
                ));
                return Ok(());
            }
        };
        for gateway in gateways {
            if plan.intent.strategy == Strategy::WasmPlugin {
                if let Some(done) = sending::ensure(self.cluster, gateway, self.sending()).await? {
                    self.said_of_filter(gateway, done.change)?;
                }
                continue;
            }
            match installing::ensure(self.cluster, gateway, self.installation()).await {
                Ok(Some(done)) => self.said_of_filter(gateway, done.change)?,
                Ok(None) if plan.intent.strategy == Strategy::Overlay => {}
                Ok(None) => check(self.cluster, gateway).await?,
                Err(error) if plan.intent.strategy == Strategy::VirtualService && may_not_look(&error) => {
                    check(self.cluster, gateway).await?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// A `disable` of the last mirror before this one may have taken the filter away since it was seen.
    /// With the strategy `wasmplugin`, what holds the mirror is the filter too.
    pub(super) async fn keep_filter(&self, plan: &Plan, seen: &Seen) -> Result<()> {
        let Seen::Pods(gateways) = seen else { return Ok(()) };
        if plan.intent.strategy == Strategy::WasmPlugin {
            return Ok(());
        }
        for gateway in gateways {
            match installing::installed(self.cluster, gateway).await {
                Ok(Some(_)) => {}
                Ok(None) => {
                    let done = installing::put(self.cluster, gateway, self.installation()).await?;
                    self.said_of_filter(gateway, done.change)?;
                }
                Err(error) if may_not_look(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn installation(&self) -> Installation {
        let options = self.args.applying.options();
        Installation { by: InstalledBy::Enable, options, wait: self.args.waiting.limit(), restart: false }
    }

    pub(super) fn sending(&self) -> Sending<'_> {
        let Installation { by, options, wait, restart } = self.installation();
        Sending { origin: self.origin, by, options, wait, restart }
    }

    /// Says that the filter was installed; not between the objects that are printed.
    fn said_of_filter(&self, gateway: &GatewayPods, change: Change) -> Result<()> {
        let (name, dry_run) = (gateway.workload.suffix(), self.args.applying.dry_run);
        if self.args.applying.output.is_none() {
            return common::said("filter", &name, change, dry_run);
        }
        message(common::sentence("filter", &name, change, dry_run));
        Ok(())
    }
}

/// What comes of a VirtualService where the filter is not.
const WITHOUT: &str =
    "without it nothing is compared, and the header with the mirror's configuration goes on to the applications";

/// The longest to wait for a sign of life of a filter that is there.
const PATIENCE: Duration = Duration::from_secs(10);

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
fn may_not_look(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(Error::Forbidden(forbidden)) if forbidden.right.verb == "get")
}

/// Refuses gateway pods that are seen to lack the filter. Those that cannot be asked are named.
async fn check(cluster: &Cluster, gateway: &GatewayPods) -> Result<()> {
    let mut unseen = Vec::new();
    // Only what may be over at once is waited for: a new module shows signs of life after a moment.
    let is_settled = |state: &PodState| {
        let module = state.found.as_ref().map(|found| found.module);
        !matches!(module, Ok(Module::Stopped | Module::Waiting))
    };
    let pods = Gateways::of(cluster, &gateway.pods);
    let waited = pods.wait_until(&Wanted::module(Way::Observing), PATIENCE, "looking for the filter", is_settled).await;
    for state in waited.states {
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
