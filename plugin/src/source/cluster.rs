//! Statistics of all gateway pods of a cluster.

use std::sync::Arc;

use super::{Gathered, admin};
use crate::admin::{Admin, AdminError, each};

/// Reads what all these Envoys have counted so far, and tells `answered` of each one that answers or fails. One that cannot be
/// asked is named, the others are there all the same.
pub async fn read(admins: &[Admin], answered: impl Fn() + Send + Sync + 'static) -> Gathered {
    let answered = Arc::new(answered);
    let answers = each(admins, |admin| {
        let answered = answered.clone();
        async move {
            let answer = admin::read_page(&admin).await;
            answered();
            answer
        }
    })
    .await;
    let mut gathered = Gathered::default();
    for (admin, answer) in admins.iter().zip(answers) {
        match answer {
            Ok(snapshot) => gathered.envoys.push(snapshot),
            Err(error) => gathered.missing.push((admin.place().name().to_owned(), on_one_line(&error))),
        }
    }
    gathered
}

fn on_one_line(error: &AdminError) -> String {
    error.to_string().replace('\n', ". ")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::Relaxed;

    use mirror_core::outcome::Outcome;
    use mirror_core::stats::names::{Metric, Text};
    use serde_json::json;

    use super::*;
    use crate::admin::testing::FakeEnvoy;

    /// More than are asked at a time.
    const ENVOYS: usize = 50;

    #[tokio::test]
    async fn all_that_answer_are_summed_and_the_others_are_named() {
        let mut admins = Vec::new();
        for i in 0..ENVOYS {
            let envoy = FakeEnvoy::start().await;
            let stat = json!({ "name": "wasmcustom.mirror_v1__pairs__shop_2fhello__match__n", "value": 3 });
            envoy.page("/stats", if i == 7 { json!({}) } else { json!({ "stats": [stat] }) });
            admins.push(envoy.admin());
        }
        let answered = Arc::new(AtomicUsize::new(0));
        let counting = answered.clone();
        let gathered = read(&admins, move || _ = counting.fetch_add(1, Relaxed)).await;
        assert_eq!(answered.load(Relaxed), ENVOYS);
        let sum = gathered.sum();
        let matching = Metric::Pairs { mirror: Text::new("shop/hello"), outcome: Outcome::Match };
        assert_eq!(sum.counters[&matching], 49 * 3);
        let names: Vec<_> = sum.instances.iter().map(|instance| instance.name.as_str()).collect();
        let expected: Vec<_> = admins.iter().map(|admin| admin.place().name()).collect();
        assert_eq!(names, [&expected[..7], &expected[8..]].concat());
        let missing: Vec<_> = gathered.missing.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(missing, [expected[7]]);
    }
}
