//! Waits until a mirror stands as wanted in every gateway pod.

use std::collections::BTreeSet;
use std::future::pending;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use tokio::signal;
use tokio::time::{Instant, sleep};

use super::{Gateways, PodState, Wanted};
use crate::admin::AdminError;
use crate::source::Way;

/// How long to wait between two looks.
const LOOK: Duration = Duration::from_millis(500);

/// How a mirror stood when the wait was over.
#[derive(Clone, Debug, PartialEq)]
pub struct Waited {
    /// The last state of each pod.
    pub states: Vec<PodState>,
    /// Why the wait was over.
    pub end: End,
}

/// Why a wait was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All pods are as wanted.
    Done,
    /// The time ran out.
    TimedOut,
    /// The user did not want to wait any longer.
    Interrupted,
}

impl Gateways {
    /// Looks at every pod until `is_good` holds in all of them, at the latest until `timeout` is over or the user presses
    /// Ctrl-C (then there are no states where not even the first look was done). At least one look is taken; where there are
    /// no pods, all is well at once. A state that no wait can mend, as a rejected module, `is_good` may let pass, to be looked
    /// at afterwards. On a terminal, stderr shows `what` is waited for and how far it is.
    pub async fn wait_until(
        &self,
        wanted: &Wanted,
        timeout: Duration,
        what: &str,
        is_good: impl Fn(&PodState) -> bool,
    ) -> Waited {
        let (states, end) = watch(async || self.states(wanted).await, timeout, what, is_good).await;
        Waited { states, end }
    }

    /// Waits until the listeners of every pod ask for the module, or (`hooked` false) until none does. A module that they
    /// do not ask for any more goes on running until the last connection of the listeners before is drained.
    ///
    /// Returns the pods that are not there yet, each with what is known of it.
    pub async fn wait_until_hooked(&self, way: Way, hooked: bool, timeout: Duration, what: &str) -> Vec<String> {
        let is_good =
            |(_, hook): &(String, Result<bool, AdminError>)| hook.as_ref().is_ok_and(|found| *found == hooked);
        let (hooks, _) = watch(async || self.hooks(way).await, timeout, what, is_good).await;
        let late = hooks.into_iter().filter(|hook| !is_good(hook));
        late.map(|(pod, hook)| match hook {
            Ok(true) => format!("{pod}: its listeners still ask for the filter"),
            Ok(false) => format!("{pod}: its listeners do not ask for the filter yet"),
            Err(error) => format!("{pod}: {error}"),
        })
        .collect()
    }

    /// Waits until every pod runs another module than when `before` was seen (by [`Gateways::vms`]): one that replaces a
    /// module which runs goes unnoticed where Envoy refuses it, for that one runs on.
    ///
    /// Returns the pods that do not, each with what is known of it.
    pub async fn wait_until_replaced(
        &self,
        way: Way,
        before: &[(String, Result<BTreeSet<u32>, AdminError>)],
        timeout: Duration,
        what: &str,
    ) -> Vec<String> {
        let is_good = |(pod, vms): &(String, Result<BTreeSet<u32>, AdminError>)| {
            let old = before.iter().find(|(name, _)| name == pod).and_then(|(_, old)| old.as_ref().ok());
            vms.as_ref().is_ok_and(|vms| old.is_none_or(|old| !vms.is_subset(old)))
        };
        let (seen, _) = watch(async || self.vms(way).await, timeout, what, is_good).await;
        let late = seen.into_iter().filter(|one| !is_good(one));
        late.map(|(pod, vms)| match vms {
            Ok(_) => format!(
                "{pod}: it runs the module that it had before; see the log of the pod for why it refused the new one"
            ),
            Err(error) => format!("{pod}: {error}"),
        })
        .collect()
    }
}

/// Looks until `is_good` holds for all that is seen, the time is over or the user presses Ctrl-C.
async fn watch<T>(
    look: impl AsyncFn() -> Vec<T>,
    timeout: Duration,
    what: &str,
    is_good: impl Fn(&T) -> bool,
) -> (Vec<T>, End) {
    let deadline = Instant::now() + timeout;
    let bar = progress();
    let interrupted = interrupt();
    tokio::pin!(interrupted);
    let mut seen = Vec::new();
    let end = loop {
        tokio::select! {
            new = look() => seen = new,
            () = &mut interrupted => break End::Interrupted,
        }
        let good = seen.iter().filter(|one| is_good(one)).count();
        bar.set_message(format!("{what}: {good} of {} gateway pods", seen.len()));
        if good == seen.len() {
            break End::Done;
        }
        if Instant::now() + LOOK >= deadline {
            break End::TimedOut;
        }
        tokio::select! {
            () = sleep(LOOK) => {}
            () = &mut interrupted => break End::Interrupted,
        }
    };
    bar.finish_and_clear();
    (seen, end)
}

/// A line on stderr, where that is a terminal.
fn progress() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}  {elapsed}") {
        bar.set_style(style);
    }
    if !bar.is_hidden() {
        bar.enable_steady_tick(LOOK / 4);
    }
    bar
}

/// Ends when the user presses Ctrl-C; never where that cannot be noticed.
async fn interrupt() {
    if signal::ctrl_c().await.is_err() {
        pending::<()>().await;
    }
}

#[cfg(test)]
mod tests {
    use mirror_core::config::Mirror;

    use super::*;
    use crate::admin::testing::FakeEnvoy;
    use crate::cluster::testing::FakeServer;
    use crate::source::Module;

    const WAY: Way = Way::Observing;

    const LONG: Duration = Duration::from_secs(30);

    fn mirror() -> Mirror {
        let json = r#"{"version":1,"name":"shop/hello","candidate":{"cluster":"v2"},"hosts":["hello.shop"]}"#;
        Mirror::from_json(json.as_bytes()).expect("a good mirror")
    }

    #[tokio::test]
    async fn the_wait_ends_when_the_last_pod_is_as_wanted() {
        let (first, last) = (FakeEnvoy::start().await, FakeEnvoy::start().await);
        for envoy in [&first, &last] {
            envoy.module(WAY, Module::Running);
            envoy.endpoints("v2", 1);
        }
        first.mirrors(&[&mirror()]);
        let server = FakeServer::new().pod("istio-system", "gw-0", &first).pod("istio-system", "gw-1", &last);
        let cluster = server.cluster("default");
        let labels = [("istio".to_owned(), "ingressgateway".to_owned())].into();
        let gateways = Gateways::of(&cluster, &cluster.pods("istio-system", &labels).await.expect("pods"));
        let wanted = Wanted::mirror(&mirror(), WAY);

        let early = gateways.wait_until(&wanted, Duration::ZERO, "mirror", PodState::is_live).await;
        assert_eq!(early.end, End::TimedOut);
        let live: Vec<_> = early.states.iter().map(|state| (state.pod.as_str(), state.is_live())).collect();
        assert_eq!(live, [("gw-0", true), ("gw-1", false)]);

        let wait = gateways.wait_until(&wanted, LONG, "mirror", PodState::is_live);
        let change = async {
            sleep(LOOK / 2).await;
            last.mirrors(&[&mirror()]);
        };
        let (waited, ()) = tokio::join!(wait, change);
        assert_eq!((waited.end, waited.states.len()), (End::Done, 2));
    }

    #[tokio::test]
    async fn a_module_that_runs_is_replaced_when_other_vms_tick() {
        let envoy = FakeEnvoy::start().await;
        envoy.module(WAY, Module::Running);
        let gateways = Gateways::at(vec![envoy.admin()]);
        let before = gateways.vms(WAY).await;
        let late = gateways.wait_until_replaced(WAY, &before, Duration::ZERO, "module").await;
        assert!(late.len() == 1 && late[0].contains("it runs the module that it had before"), "{late:?}");
        let stat = serde_json::json!({ "name": "wasmcustom.mirror_v1__alive__3__n", "value": 1 });
        envoy.page("/stats", serde_json::json!({ "stats": [stat] }));
        assert_eq!(gateways.wait_until_replaced(WAY, &before, Duration::ZERO, "module").await, Vec::<String>::new());
        // None ran before.
        assert_eq!(gateways.wait_until_replaced(WAY, &[], Duration::ZERO, "module").await, Vec::<String>::new());
    }

    #[tokio::test]
    async fn without_pods_there_is_nothing_to_wait_for() {
        let waited = Gateways::default().wait_until(&Wanted::module(WAY), LONG, "module", PodState::module_runs).await;
        assert_eq!(waited, Waited { states: Vec::new(), end: End::Done });
    }
}
