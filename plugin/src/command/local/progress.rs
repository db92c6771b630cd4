//! How far a run is, on a terminal.

use std::convert::Infallible;
use std::future::pending;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use mirror_core::outcome::Outcome;
use mirror_core::stats::names::Metric;
use tokio::time::sleep;

use crate::report::text::{plural, thousands};
use crate::source::{Snapshot, admin};

/// How often the progress is brought up to date.
const PROGRESS: Duration = Duration::from_millis(500);

/// Shows on a terminal how far the run is; never ends.
pub async fn progress(statistics: &admin::Address) -> Infallible {
    let style =
        ProgressStyle::with_template("{spinner} {msg}  {elapsed}").unwrap_or_else(|_| ProgressStyle::default_spinner());
    let bar = ProgressBar::new_spinner().with_style(style).with_finish(ProgressFinish::AndClear);
    if bar.is_hidden() {
        return pending().await;
    }
    bar.enable_steady_tick(PROGRESS / 4);
    loop {
        // An Envoy that does not answer is noticed elsewhere.
        if let Ok(snapshot) = admin::read(statistics).await {
            let (pairs, diverged) = count(&snapshot);
            bar.set_message(format!("{}, {} diverged", plural(pairs, "pair"), thousands(diverged)));
        }
        sleep(PROGRESS).await;
    }
}

/// How many pairs are counted, and how many of them diverged.
pub fn count(snapshot: &Snapshot) -> (u64, u64) {
    snapshot.counters.iter().fold((0, 0), |(pairs, diverged), (metric, n)| match metric {
        Metric::Pairs { outcome: Outcome::Diverged, .. } => (pairs + n, diverged + n),
        Metric::Pairs { .. } => (pairs + n, diverged),
        _ => (pairs, diverged),
    })
}
