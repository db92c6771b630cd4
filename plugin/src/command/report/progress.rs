//! How far the reading of many gateways is: on a terminal, and only where it takes longer than a moment.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use tokio::time::{Instant, interval_at};

/// What takes less is not worth a word.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often it is brought up to date.
const TICK: Duration = Duration::from_millis(100);

/// Counts those of `all` gateways that were read.
#[derive(Clone, Debug)]
pub struct Progress {
    all: usize,
    read: Arc<AtomicUsize>,
}

impl Progress {
    /// None was read yet.
    pub fn of(all: usize) -> Self {
        Self { all, read: Arc::default() }
    }

    /// One more was read.
    pub fn one_more(&self) {
        self.read.fetch_add(1, Ordering::Relaxed);
    }

    /// Waits for `work`, and shows on stderr how far it is, where that is a terminal and the work takes a while.
    pub async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        tokio::pin!(work);
        let mut ticks = interval_at(Instant::now() + PATIENCE, TICK);
        let mut shown: Option<ProgressBar> = None;
        loop {
            tokio::select! {
                done = &mut work => return done,
                _ = ticks.tick() => {
                    let bar = shown.get_or_insert_with(|| bar(self.all));
                    bar.set_position(self.read.load(Ordering::Relaxed) as u64);
                    bar.tick();
                }
            }
        }
    }
}

fn bar(all: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} reading gateways: {pos} of {len}  {elapsed}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
    ProgressBar::new(all as u64).with_style(style).with_finish(ProgressFinish::AndClear)
}
