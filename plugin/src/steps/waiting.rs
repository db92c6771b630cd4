//! Waits until every gateway pod has a mirror, or has let go of it.

use std::time::Duration;

use anyhow::{Result, anyhow, bail};

use super::mirroring::{Objects, remove};
use crate::cluster::{Cluster, Pod};
use crate::gateway::{End, Flaw, Gateways, PodState, Route, Wanted, unserved_hosts};
use crate::intent::MirrorName;
use crate::knative::Plan;
use crate::output::message;

/// How long the gateways may take to copy the very sample that was asked for. Another user may have asked for another one
/// since, and then it never comes.
const SAMPLE: Duration = Duration::from_secs(10);

/// Waits until every pod copies and compares as `plan` says. Returns how many pods do.
///
/// # Errors
/// The pods that do not, with what is wrong there. Where an older Istio dropped what keeps copies apart, the mirror has
/// been removed.
pub async fn wait_until_live(
    cluster: &Cluster,
    plan: &Plan,
    objects: &Objects,
    pods: &[Pod],
    timeout: Duration,
) -> Result<usize> {
    let gateways = Gateways::of(cluster, pods);
    let (spec, way) = (plan.spec(), plan.intent.strategy.way());
    let wanted = Wanted::spec(&spec, way);
    let what = format!("enabling {}", plan.name);
    let is_settled = |state: &PodState| state.is_live() || drops_headers(state);
    let mut waited = gateways.wait_until(&wanted, timeout.min(SAMPLE), &what, is_settled).await;
    if waited.end == End::TimedOut {
        let rest = timeout.saturating_sub(SAMPLE);
        waited = gateways.wait_until(&Wanted::mirror(&spec.mirror, way), rest, &what, is_settled).await;
        if waited.end == End::Done && !gateways.states(&wanted).await.iter().all(is_settled) {
            message(
                "note: the gateways copy another sample than this one, or do so still; see `kubectl mirror status`",
            );
        }
    }
    if let Some(state) = waited.states.iter().find(|state| drops_headers(state)) {
        remove(cluster, &objects.found(plan), false).await?;
        bail!("{}: {}\nThe mirror has been removed again.", state.pod, state.advice());
    }
    let missing: Vec<String> = waited
        .states
        .iter()
        .filter(|state| !state.is_live())
        .map(|state| format!("\n  {}: {}", state.pod, state.advice()))
        .collect();
    match waited.end {
        End::Done => {
            for host in unserved_hosts(&waited.states) {
                message(format_args!("warning: no gateway pod copies requests to {host}; see `kubectl mirror status`"));
            }
            Ok(waited.states.len())
        }
        End::Interrupted => Err(anyhow!("interrupted; the mirror is applied, `kubectl mirror status` tells how it is")),
        End::TimedOut => Err(anyhow!(
            "the mirror is applied, but not live on every gateway pod after {}:{}\n\
             It may come yet: `kubectl mirror status {} -n {}`. To take it back: `kubectl mirror disable {} -n {}`",
            humantime::format_duration(timeout),
            missing.concat(),
            plan.name.route,
            plan.name.namespace,
            plan.name.route,
            plan.name.namespace
        )),
    }
}

/// An Istio before 1.28 drops the header changes of a copy without a word: the primary would be called twice, and the
/// candidate never.
fn drops_headers(state: &PodState) -> bool {
    state
        .found
        .as_ref()
        .is_ok_and(|found| matches!(&found.route, Route::Incomplete(flaws) if flaws.contains(&Flaw::Mutations)))
}

/// Waits until no pod has a trace of the mirror.
///
/// # Errors
/// The pods that have.
pub async fn wait_until_gone(cluster: &Cluster, name: &MirrorName, pods: &[Pod], timeout: Duration) -> Result<usize> {
    let wanted = Wanted::any_state_of(&name.to_string());
    let what = format!("disabling {name}");
    let waited = Gateways::of(cluster, pods).wait_until(&wanted, timeout, &what, PodState::is_gone).await;
    let left: Vec<String> = waited
        .states
        .iter()
        .filter(|state| !state.is_gone())
        .map(|state| match &state.found {
            Ok(_) => format!("\n  {}: still has it", state.pod),
            Err(reason) => format!("\n  {}: {reason}", state.pod),
        })
        .collect();
    match waited.end {
        End::Done => Ok(waited.states.len()),
        _ => Err(anyhow!(
            "the objects of {name} are removed, but not every gateway pod has let go of it:{}",
            left.concat()
        )),
    }
}
