//! Waits until a mirror stands as wanted in every gateway pod.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use tokio::signal;
use tokio::time::{Instant, sleep};

use super::{Gateways, PodState, Wanted};

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
    /// Ctrl-C. At least one look is taken. On a terminal, stderr shows `what` is waited for and how far it is.
    pub async fn wait_until(
        &self,
        wanted: &Wanted,
        timeout: Duration,
        what: &str,
        is_good: impl Fn(&PodState) -> bool,
    ) -> Waited {
        let deadline = Instant::now() + timeout;
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}  {elapsed}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(LOOK / 4);
        let end = loop {
            let states = self.states(wanted).await;
            let good = states.iter().filter(|state| is_good(state)).count();
            bar.set_message(format!("{what}: {good} of {} gateway pods", states.len()));
            let end = if good == states.len() {
                End::Done
            } else if Instant::now() + LOOK >= deadline {
                End::TimedOut
            } else {
                tokio::select! {
                    () = sleep(LOOK) => continue,
                    _ = signal::ctrl_c() => End::Interrupted,
                }
            };
            break Waited { states, end };
        };
        bar.finish_and_clear();
        end
    }
}
