//! The end of a run: waits until every pair that was begun is finished and counted.

use std::time::Duration;

use anyhow::Result;
use tokio::time::{Instant, sleep};

use super::Admin;
use crate::envoy::static_config::{CANDIDATE, PRIMARY};

/// The longest to wait.
const LONGEST: Duration = Duration::from_secs(8);
/// The module hands its counts over each second, and holds a primary's 5xx for a second in case it is tried again. Counts
/// that stay the same for longer than both are final.
const QUIET: Duration = Duration::from_millis(2500);
/// How often to look.
const LOOK: Duration = Duration::from_millis(100);

/// Of all clusters: requests that are under way, that were sent, and that could not be.
const CLUSTERS: &str = "%5Ecluster%5C..*%5C.upstream_rq_(active|total|pending_active|pending_failure_eject)$";

/// Waits until no request is under way any more and as many pairs are counted as copies were sent, or until nothing has
/// changed for a while. `pairs` tells how many pairs are counted so far.
///
/// # Errors
/// Envoy's admin page does not answer.
pub async fn settle(admin: &Admin, pairs: impl AsyncFn() -> Result<u64>) -> Result<()> {
    let deadline = Instant::now() + LONGEST;
    let mut seen = (0, 0);
    let mut since = Instant::now();
    loop {
        let stats = admin.stats(CLUSTERS).await?;
        let of = |cluster: &str, what: &str| stats.get(&format!("cluster.{cluster}.upstream_rq_{what}")).copied();
        let under_way: u64 =
            stats.iter().filter(|(name, _)| name.ends_with("_active")).map(|(_, requests)| requests).sum();
        let copies = of(CANDIDATE, "total").unwrap_or(0) + of(CANDIDATE, "pending_failure_eject").unwrap_or(0);
        let now = (pairs().await?, of(PRIMARY, "total").unwrap_or(0));
        if now != seen {
            seen = now;
            since = Instant::now();
        }
        let is_whole = under_way == 0 && now.0 == copies;
        let is_quiet = under_way == 0 && since.elapsed() >= QUIET;
        if is_whole || is_quiet || Instant::now() >= deadline {
            return Ok(());
        }
        sleep(LOOK).await;
    }
}
