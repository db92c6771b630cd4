//! Statistics of all gateway pods of a cluster, summed.

use super::{Snapshot, admin};
use crate::admin::{Admin, AdminError, each};

/// What several Envoys have counted, and which of them could not be asked.
#[derive(Debug, Default)]
pub struct Gathered {
    /// The sum over those that answered.
    pub snapshot: Snapshot,
    /// Those that did not, by name, with the reason.
    pub missing: Vec<(String, AdminError)>,
}

/// Reads what all these Envoys have counted so far. One that cannot be asked is named, the others are summed all the same.
pub async fn read(admins: &[Admin]) -> Gathered {
    let answers = each(admins, |admin| async move { admin::read_page(&admin).await }).await;
    let mut gathered = Gathered::default();
    for (admin, answer) in admins.iter().zip(answers) {
        match answer {
            Ok(snapshot) => gathered.snapshot.merge(snapshot),
            Err(error) => gathered.missing.push((admin.place().name().to_owned(), error)),
        }
    }
    gathered
}
