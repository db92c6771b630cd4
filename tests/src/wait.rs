//! Bounded waiting: for something to become true, never for a time to pass.

use std::time::{Duration, Instant};

/// How long anything may take before a test gives up. Far more than is ever needed, since a machine can be slow.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Asks `question` again and again until it answers.
///
/// # Panics
/// When there is no answer within [`PATIENCE`]; `what` says what was waited for.
pub async fn until<T>(what: &str, question: impl AsyncFnMut() -> Option<T>) -> T {
    let answer = within(PATIENCE, question).await;
    answer.unwrap_or_else(|| panic!("waited {PATIENCE:?} in vain for {what}"))
}

/// Asks `question` again and again until it answers, or for as long as `patience` lasts.
pub async fn within<T>(patience: Duration, mut question: impl AsyncFnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    loop {
        if let Some(answer) = question().await {
            return Some(answer);
        }
        if start.elapsed() >= patience {
            return None;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
