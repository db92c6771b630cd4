//! Objects as YAML that kubectl applies, the same each time.

use serde::Serialize;
use serde_saphyr::ser_options;

/// Objects as YAML, separated by `---`. Texts of several lines are printed as such.
///
/// # Errors
/// A value that YAML cannot say.
pub fn to_yaml<T: Serialize>(objects: &[T]) -> Result<String, serde_saphyr::ser::Error> {
    // Long texts are not folded: nobody could search for what stands in them.
    let options = ser_options! { folded_wrap_chars: usize::MAX };
    serde_saphyr::to_string_multiple_with_options(objects, options)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop, prop_assert_eq, proptest};
    use serde_json::json;

    use super::*;
    use crate::intent::{Intent, Strategy, Through};
    use crate::istio::{Workload, live, overlay, virtual_service};
    use crate::kinds::{EnvoyFilter, VirtualService};
    use crate::knative::{Plan, Target, testing};

    #[test]
    fn several_objects_and_texts_of_several_lines() {
        let long = "word ".repeat(40);
        let objects =
            [json!({ "kind": "A", "script": "one\n  two\n" }), json!({ "kind": "B", "long": long, "no": "no" })];
        let text = to_yaml(&objects).expect("YAML");
        assert!(text.contains("script: |\n  one\n    two\n---\n"), "{text}");
        assert!(text.contains(&long), "not folded: {text}");
        assert_eq!(serde_saphyr::from_multiple::<serde_json::Value>(&text).expect("YAML"), objects);
    }

    /// The mirror that any wish comes to, where it makes sense.
    fn plan(intent: Intent) -> Option<Plan> {
        let source = testing::source("tagged");
        let revision = "cart-00002".to_owned();
        let host = "cart-00002.store.svc.cluster.local".to_owned();
        Plan::new(intent, source, Target { namespace: "store".into(), revision, host, port: 80 }).ok()
    }

    proptest! {
        #[test]
        fn whatever_is_asked_for_is_read_back_as_it_was_meant(
            millionths in 1..=1_000_000_u32,
            secondary in any::<bool>(),
            headers in prop::collection::vec("[a-z-]{1,9}(=.{0,20})?", 0..3),
            paths in prop::collection::vec("/[^?]{0,20}", 0..3),
            ignored in "[^*]{0,20}",
            tag in "[a-z]{1,9}",
        ) {
            let rules = ignored.is_empty().then(Default::default).unwrap_or_else(|| mirror_core::config::Rules {
                ignore: vec![format!("/{}", ignored.replace(['~', '/'], "")).parse().expect("a place")],
                ..Default::default()
            });
            let wish = Intent {
                millionths, secondary, headers, paths, rules,
                through: Through::Both,
                tag_added: Some(tag),
                ..testing::intent("next", Strategy::Overlay)
            };
            let workload = Workload { namespace: "istio-system".into(), labels: [("a".into(), "b".into())].into() };
            if let Some(plan) = plan(wish.clone()) {
                let made = overlay(&plan, &workload);
                let read: EnvoyFilter = testing::object(&to_yaml(&[&made]).expect("YAML"));
                prop_assert_eq!(&read, &made);
                prop_assert_eq!(live::of_overlay(&read), Some(plan.spec().mirror));
                prop_assert_eq!(Intent::of(&read.metadata), Ok(plan.intent));
            }
            if let Some(plan) = plan(Intent { strategy: Strategy::VirtualService, ..wish }) {
                let made = virtual_service(&plan, &["istio-system".to_owned()]).expect("short rules");
                let read: VirtualService = testing::object(&to_yaml(&[&made]).expect("YAML"));
                prop_assert_eq!(&read, &made);
                prop_assert_eq!(live::of_virtual_service(&read), Some(plan.spec().mirror));
                prop_assert_eq!(Intent::of(&read.metadata), Ok(plan.intent));
            }
        }
    }
}
