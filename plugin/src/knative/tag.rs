//! The one change to a user's object: a tag without traffic for a revision that nothing routes to (`--tag`), and its
//! undoing. Both are JSON merge patches of a Knative Service that fail where somebody else changed it meanwhile.

use serde_json::{Value, json};

use super::Refusal;
use crate::intent::MirrorName;
use crate::kinds::{Service, TrafficTarget};

/// The patch that gives `revision` the tag; `None` where it has it already.
///
/// # Errors
/// A tag that means another revision.
pub fn add(service: &Service, tag: &str, revision: &str) -> Result<Option<Value>, Refusal> {
    let mut traffic = service.spec.traffic.clone();
    if let Some(taken) = traffic.iter().find(|part| part.tag.as_deref() == Some(tag)) {
        if taken.revision_name.as_deref() == Some(revision) {
            return Ok(None);
        }
        return Err(Refusal::TagTaken {
            service: name(service),
            tag: tag.to_owned(),
            revision: taken.revision_name.clone().unwrap_or_else(|| "the latest revision".to_owned()),
        });
    }
    if traffic.is_empty() {
        // What Knative assumes without a list has to be said once there is one.
        let all_to_latest = TrafficTarget { latest_revision: Some(true), percent: Some(100), ..Default::default() };
        traffic.push(all_to_latest);
    }
    traffic.push(TrafficTarget {
        tag: Some(tag.to_owned()),
        revision_name: Some(revision.to_owned()),
        percent: Some(0),
        ..Default::default()
    });
    Ok(Some(patch(service, &traffic)))
}

/// The patch that takes the tag away again; `None` where it is gone. A part that was given traffic since keeps it.
pub fn remove(service: &Service, tag: &str) -> Option<Value> {
    let is_tagged = |part: &TrafficTarget| part.tag.as_deref() == Some(tag);
    let mut traffic = service.spec.traffic.clone();
    if !traffic.iter().any(is_tagged) {
        return None;
    }
    traffic.retain(|part| !is_tagged(part) || part.percent.unwrap_or(0) > 0);
    for part in traffic.iter_mut().filter(|part| is_tagged(part)) {
        part.tag = None;
    }
    Some(patch(service, &traffic))
}

fn patch(service: &Service, traffic: &[TrafficTarget]) -> Value {
    let mut patch = json!({ "spec": { "traffic": traffic } });
    if let Some(version) = &service.metadata.resource_version {
        // Lists are replaced as a whole: with this, a change that somebody else made meanwhile is a conflict.
        patch["metadata"] = json!({ "resourceVersion": version });
    }
    patch
}

fn name(service: &Service) -> MirrorName {
    let metadata = &service.metadata;
    MirrorName::new(metadata.namespace.clone().unwrap_or_default(), metadata.name.clone().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn a_tag_is_added_without_traffic() {
        let split = [("cart-00001", 100, None), ("cart-00002", 0, Some("next"))];
        let patch = add(&testing::service(&split), "old", "cart-00003").expect("a free tag").expect("a change");
        insta::assert_json_snapshot!(patch);
    }

    #[test]
    fn what_an_empty_split_means_is_said() {
        let patch = add(&testing::service(&[]), "old", "cart-00003").expect("a free tag").expect("a change");
        assert_eq!(
            patch["spec"]["traffic"],
            json!([
                { "latestRevision": true, "percent": 100 },
                { "revisionName": "cart-00003", "tag": "old", "percent": 0 },
            ])
        );
    }

    #[test]
    fn a_tag_that_is_there_is_left_or_refused() {
        let service = testing::service(&[("cart-00001", 100, None), ("cart-00002", 0, Some("next"))]);
        assert_eq!(add(&service, "next", "cart-00002"), Ok(None));
        assert_eq!(
            add(&service, "next", "cart-00003").expect_err("taken").to_string(),
            "--tag next: Service store/cart has this tag for cart-00002 already; choose another name, or mirror to it: \
             --to next"
        );
    }

    #[test]
    fn what_was_added_is_taken_away() {
        for before in
            [vec![("cart-00001", 100, None)], vec![("cart-00001", 100, None), ("cart-00002", 0, Some("next"))]]
        {
            let service = testing::service(&before);
            let patch = add(&service, "old", "cart-00003").expect("a free tag").expect("a change");
            let mut tagged = service.clone();
            tagged.spec = serde_json::from_value(patch["spec"].clone()).expect("a spec");
            let patch = remove(&tagged, "old").expect("a change");
            assert_eq!(patch["spec"]["traffic"], json!(service.spec.traffic));
            assert_eq!(patch["metadata"]["resourceVersion"], "71");
        }
    }

    #[test]
    fn traffic_that_a_tag_was_given_since_stays() {
        assert_eq!(remove(&testing::service(&[("cart-00001", 100, None)]), "old"), None);
        let service = testing::service(&[("cart-00001", 60, None), ("cart-00003", 40, Some("old"))]);
        let patch = remove(&service, "old").expect("a change");
        assert_eq!(
            patch["spec"]["traffic"],
            json!([{ "revisionName": "cart-00001", "percent": 60 }, { "revisionName": "cart-00003", "percent": 40 }])
        );
    }
}
