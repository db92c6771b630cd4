//! A gate: holds an answer back until the test lets it go, so that the order of events is the test's choice.

use tokio::sync::watch;

use crate::wait::PATIENCE;

/// Closed at first; once open it stays open. Clones are the same gate.
#[derive(Clone, Debug)]
pub struct Gate(watch::Sender<bool>);

impl Default for Gate {
    fn default() -> Self {
        Self(watch::Sender::new(false))
    }
}

impl Gate {
    /// Lets all through, now and later.
    pub fn open(&self) {
        self.0.send_replace(true);
    }

    /// Waits until the gate is open, or until a test that forgot to open it has surely failed.
    pub async fn passed(&self) {
        let mut gate = self.0.subscribe();
        let _ = tokio::time::timeout(PATIENCE, gate.wait_for(|open| *open)).await;
    }
}
