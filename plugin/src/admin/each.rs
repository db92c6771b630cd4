//! Asking many Envoys at once.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::{Admin, AdminError};

/// How many Envoys are asked at a time.
const AT_ONCE: usize = 16;

/// Asks each Envoy the same, a bounded number at a time. The answers stand in the order of `admins`; one that fails does not
/// keep the others from answering.
pub async fn each<T, F>(admins: &[Admin], ask: impl Fn(Admin) -> F) -> Vec<Result<T, AdminError>>
where
    T: Send + 'static,
    F: Future<Output = Result<T, AdminError>> + Send + 'static,
{
    let turns = Arc::new(Semaphore::new(AT_ONCE));
    let mut asked = JoinSet::new();
    for (i, admin) in admins.iter().enumerate() {
        let (answer, turns) = (ask(admin.clone()), turns.clone());
        asked.spawn(async move {
            // The semaphore is never closed.
            let _turn = turns.acquire().await;
            (i, answer.await)
        });
    }
    let mut answers = asked.join_all().await;
    answers.sort_by_key(|(i, _)| *i);
    answers.into_iter().map(|(_, answer)| answer).collect()
}
