//! What was saved is read back, and what was not saved is refused.

use mirror_core::stats::Tally;
use mirror_core::stats::names::{Named, Side, Text};
use proptest::prelude::*;

use super::*;
use crate::report::json::{render, render_yaml};
use crate::report::model::Missing;
use crate::report::samples::{all_match, full, many_places, no_pairs, stopped};
use crate::report::{build, examples::Examples};
use crate::source::{Instance, Snapshot};
use mirror_core::stats::names::Metric;

/// Any report that counters can make, of two mirrors at most.
fn reports() -> impl Strategy<Value = Report> {
    let mirror = prop_oneof!["[a-z]{1,3}/[a-z]{1,3}".prop_map(|name| Text::new(&name)), Just(Text::new("shop/hello"))];
    let text = || any::<String>().prop_map(|text| Text::new(&text));
    let one_of = |all: Vec<outcome::Outcome>| prop::sample::select(all);
    let metric = (
        mirror,
        0..7_usize,
        one_of(outcome::Outcome::all().collect()),
        (text(), any::<bool>(), prop::sample::select(Kind::ALL.to_vec()), prop::sample::select(Tally::ALL.to_vec())),
        (any::<u16>(), any::<u16>(), 0..200_u16, prop::sample::select(Diagnostic::ALL.to_vec())),
    );
    let metric = metric.prop_map(|(mirror, family, outcome, (text, named, kind, tally), (a, b, bucket, what))| {
        let text = if named { Named::One(text) } else { Named::Other };
        match family {
            0 => Metric::Pairs { mirror, outcome },
            1 => Metric::Endpoint { mirror, class: Class::of(outcome), endpoint: text },
            2 => Metric::Place { mirror, kind, tally, place: text },
            3 => Metric::Status { mirror, statuses: if named { Named::One((a, b)) } else { Named::Other } },
            4 => Metric::Latency { mirror, side: if named { Side::Primary } else { Side::Candidate }, bucket },
            5 => Metric::Triples { mirror },
            _ => Metric::Diagnostic { what, mirror: named.then_some(mirror) },
        }
    });
    let counters = prop::collection::btree_map(metric, 0..1_u64 << 40, 0..40);
    let instance = (any::<String>(), 0..4_u32, 0..1_u64 << 32, prop::collection::vec(any::<String>(), 0..3));
    let instance = instance.prop_map(|(name, workers, clock, builds)| Instance {
        name,
        workers,
        clock,
        uptime: clock / 2,
        ticks: [(0, clock), (1, clock)].into(),
        builds,
        ..Instance::default()
    });
    let names = || prop::collection::vec(any::<String>(), 0..3);
    let span = (prop::option::of(0..1_u64 << 32), names(), names());
    let all = (counters, prop::collection::vec(instance, 0..3), span, prop::option::of(any::<String>()));
    all.prop_map(|(counters, instances, (since, began_anew, missing), candidate)| {
        let mut report = build::report(&Snapshot { counters, instances }, &Examples::default());
        report.span.since = since;
        report.span.began_anew = began_anew;
        report.missing = missing.into_iter().map(|name| Missing { reason: format!("no {name}"), name }).collect();
        report.mirrors.iter_mut().for_each(|mirror| mirror.candidate = candidate.clone());
        report
    })
}

proptest! {
    #[test]
    fn what_is_read_back_is_written_as_it_was(report in reports()) {
        let saved = render(&report);
        prop_assert_eq!(render(&read(&saved).expect("a saved report")), saved);
    }
}

#[test]
fn reports_are_read_back_whole() {
    for sample in [full(), many_places(), all_match(80), no_pairs(), stopped()] {
        let mut report = sample.report();
        report.span.since = Some(700);
        report.missing.push(Missing { name: "gw-1".to_owned(), reason: "no answer".to_owned() });
        assert_eq!(read(&render(&report)).expect("JSON"), report);
        assert_eq!(read(&render_yaml(&report)).expect("YAML"), report);
    }
}

#[test]
fn what_earlier_versions_saved_is_read_too() {
    let mut document: serde_json::Value = serde_json::from_str(&render(&full().report())).expect("JSON");
    for later in ["span", "missing", "diagnostics"] {
        document.as_object_mut().expect("an object").remove(later);
    }
    assert_eq!(read(&document.to_string()).expect("a saved report").mirrors, full().report().mirrors);
}

#[test]
fn what_is_no_saved_report_is_refused_with_what_is_wrong_and_where() {
    let good: serde_json::Value = serde_json::from_str(&render(&full().report())).expect("JSON");
    for (pointer, value, said) in [
        ("/schema", "kubectl-mirror.report/v9".into(), "its schema is \"kubectl-mirror.report/v9\""),
        ("/mirrors/0/triples", u64::MAX.into(), "mirrors[0].triples: 18446744073709551615 is more than"),
        ("/mirrors/0/triples", "many".into(), "mirrors[0].triples: invalid type"),
        ("/mirrors/0/outcomes/1/outcome", "odd".into(), "mirrors[0].outcomes[1]: `odd` with reason None"),
        ("/gateways/0/module", "asleep".into(), "gateways[0].module: `asleep` is no state of a module"),
        ("/span/until", "yesterday".into(), "span.until: "),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).expect("a field") = value;
        let error = read(&bad.to_string()).expect_err(said).to_string();
        assert!(error.contains(said), "{error}");
    }
    for text in ["", "{", "{}", "- a", "<html>"] {
        let error = read(text).expect_err(text).to_string();
        assert!(error.starts_with("this is no report as"), "{error}");
    }
}
