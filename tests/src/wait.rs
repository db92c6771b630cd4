//! Bounded waiting: for something to become true, never for a time to pass.

use std::time::{Duration, Instant};

/// How long anything may take before a test gives up. Far more than is ever needed, since a machine can be slow.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Asks `question` again and again until it answers.
///
/// # Panics
/// When there is no answer within [`PATIENCE`]; `what` says what was waited for.
pub async fn until<T>(what: &str, mut question: impl AsyncFnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(answer) = question().await {
            return answer;
        }
        assert!(start.elapsed() < PATIENCE, "waited {PATIENCE:?} in vain for {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
