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

#[cfg(test)]
mod tests {
    use mirror_core::outcome::Outcome;
    use mirror_core::stats::names::{Metric, Text};
    use serde_json::json;

    use super::*;
    use crate::admin::testing::FakeEnvoy;

    /// More than are asked at a time.
    const ENVOYS: usize = 40;

    #[tokio::test]
    async fn all_that_answer_are_summed_and_the_others_are_named() {
        let mut admins = Vec::new();
        for i in 0..ENVOYS {
            let envoy = FakeEnvoy::start().await;
            let stat = json!({ "name": "wasmcustom.mirror_v1__pairs__shop_2fhello__match__n", "value": 3 });
            envoy.page("/stats", if i == 7 { json!({}) } else { json!({ "stats": [stat] }) });
            admins.push(envoy.admin());
        }
        let gathered = read(&admins).await;
        let matching = Metric::Pairs { mirror: Text::new("shop/hello"), outcome: Outcome::Match };
        assert_eq!(gathered.snapshot.counters[&matching], 39 * 3);
        let names: Vec<_> = gathered.snapshot.instances.iter().map(|instance| instance.name.as_str()).collect();
        let expected: Vec<_> = admins.iter().map(|admin| admin.place().name()).collect();
        assert_eq!(names, [&expected[..7], &expected[8..]].concat());
        let missing: Vec<_> = gathered.missing.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(missing, [expected[7]]);
    }
}
