//! The round trip of names, over awkward texts and over any text.

use std::collections::HashMap;

use super::*;

/// Metrics of every family with texts that are awkward for Envoy, Prometheus or the encoding itself.
pub(crate) fn samples() -> Vec<Metric> {
    let texts: Vec<String> = serde_json::from_str(include_str!("../../../testdata/names/texts.json")).expect("texts");
    let mut metrics = Vec::new();
    for text in &texts {
        metrics.extend(families(text, text));
    }
    metrics
}

/// One mirror's metrics of every family and every word, with `text` wherever a family takes one.
fn families(mirror: &str, text: &str) -> Vec<Metric> {
    let (mirror, text) = (|| Text::new(mirror), || Text::new(text));
    let mut metrics: Vec<_> = Outcome::all().map(|outcome| Metric::Pairs { mirror: mirror(), outcome }).collect();
    for class in Class::ALL.iter().copied() {
        for endpoint in [Named::One(text()), Named::Other] {
            metrics.push(Metric::Endpoint { mirror: mirror(), class, endpoint });
        }
    }
    for kind in Kind::ALL {
        for tally in Tally::ALL.iter().copied() {
            for place in [Named::One(text()), Named::Other] {
                metrics.push(Metric::Place { mirror: mirror(), kind, tally, place });
            }
        }
    }
    for statuses in [Named::One((200, 503)), Named::One((0, u16::MAX)), Named::Other] {
        metrics.push(Metric::Status { mirror: mirror(), statuses });
    }
    for side in Side::ALL.iter().copied() {
        metrics.extend([0, 57, u16::MAX].map(|bucket| Metric::Latency { mirror: mirror(), side, bucket }));
    }
    metrics.push(Metric::Triples { mirror: mirror() });
    for what in Diagnostic::ALL.iter().copied() {
        metrics.extend([None, Some(mirror())].map(|mirror| Metric::Diagnostic { what, mirror }));
    }
    metrics.extend([0, u32::MAX].map(|slot| Metric::Alive { slot }));
    metrics.push(Metric::Build { version: text() });
    metrics
}

fn check(metric: &Metric) {
    let name = metric.encode();
    assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'), "{name}");
    assert!(name.ends_with("__n") && name.starts_with(PREFIX), "{name}");
    assert_eq!(Metric::decode(&name).as_ref(), Some(metric), "{name}");
    assert_eq!(Metric::decode(&format!("{ENVOY_PREFIX}{name}")).as_ref(), Some(metric), "{name}");
}

#[test]
fn names_are_read_back_as_they_were_written_and_none_is_used_twice() {
    let mut seen = HashMap::new();
    for metric in samples() {
        check(&metric);
        if let Some(other) = seen.insert(metric.encode(), metric.clone()) {
            assert_eq!(other, metric, "two metrics of one name");
        }
    }
}

#[test]
fn names_read_like_this() {
    let mirror = || Text::new("default/hello");
    let skipped = Outcome::from_words("skipped", Some("too_large")).expect("an outcome");
    for (metric, name) in [
        (Metric::Pairs { mirror: mirror(), outcome: Outcome::Match }, "pairs__default_2fhello__match__n"),
        (Metric::Pairs { mirror: mirror(), outcome: skipped }, "pairs__default_2fhello__skipped__too_large__n"),
        (
            Metric::Endpoint { mirror: mirror(), class: Class::Noise, endpoint: Named::One(Text::new("GET /a")) },
            "endpoint__default_2fhello__noise__GET_20_2fa__n",
        ),
        (
            Metric::Endpoint { mirror: mirror(), class: Class::Noise, endpoint: Named::Other },
            "endpoint__default_2fhello__noise___other__n",
        ),
        (
            Metric::Place {
                mirror: mirror(),
                kind: Kind::Value,
                tally: Tally::Secondary,
                place: Named::One(Text::new("/a/*")),
            },
            "place__default_2fhello__value__secondary___2fa_2f_2a__n",
        ),
        (Metric::Status { mirror: mirror(), statuses: Named::One((200, 404)) }, "status__default_2fhello__200__404__n"),
        (Metric::Status { mirror: mirror(), statuses: Named::Other }, "status__default_2fhello___other__n"),
        (
            Metric::Latency { mirror: mirror(), side: Side::Candidate, bucket: 7 },
            "latency__default_2fhello__candidate__7__n",
        ),
        (Metric::Diagnostic { what: Diagnostic::Stray, mirror: None }, "diagnostic__stray__n"),
        (Metric::Alive { slot: 3 }, "alive__3__n"),
        (Metric::Build { version: Text::new("0.1.0") }, "build__0_2e1_2e0__n"),
    ] {
        assert_eq!(metric.encode(), format!("{PREFIX}{name}"));
    }
}

#[test]
fn a_text_that_is_too_long_is_cut_and_stays_distinct() {
    let long = |end: &str| Text::new(&format!("{}{end}", "ä".repeat(100)));
    let (one, two) = (long("1"), long("2"));
    assert_ne!(one, two);
    assert!(one.as_str().len() <= Text::MOST, "{one:?}");
    let (_, mark) = one.as_str().rsplit_once('~').expect("a mark");
    assert!(mark.len() == 8 && mark.bytes().all(|b| b.is_ascii_hexdigit()), "{mark}");
    assert_eq!(Text::new(one.as_str()), one);
    assert_eq!(Text::new(&"x".repeat(Text::MOST)).as_str().len(), Text::MOST);
}

#[test]
fn what_is_not_written_here_is_not_read() {
    let long = format!("build__{}__n", "a".repeat(Text::MOST + 1));
    for name in [
        "",
        "n",
        "pairs__m__match",
        "pairs__m__match__",
        "pairs__m__match__n__n",
        "pairs__m__match__too_large__n",
        "pairs__m__skipped__n",
        "pairs__m__nope__n",
        "pairs__match__n",
        "Pairs__m__match__n",
        "triples__m_2__n",
        "triples__m_2F__n",
        "triples__m_61__n",
        "triples__m_ff__n",
        "triples__m_c3__n",
        "triples__m-__n",
        "triples__m_n",
        "triples__ä__n",
        "status__m__200__n",
        "status__m__0200__503__n",
        "status__m__+200__503__n",
        "status__m__200__65536__n",
        "status__m___other___other__n",
        "endpoint__m__match__n",
        "endpoint__m__match___Other__n",
        "place__m__value__match__x__n",
        "latency__m__secondary__1__n",
        "alive__-1__n",
        "alive____n",
        "diagnostic__nope__n",
        &long,
    ] {
        assert_eq!(Metric::decode(&format!("{PREFIX}{name}")), None, "{name}");
        assert_eq!(Metric::decode(name), None, "{name}");
    }
    assert_eq!(Metric::decode("wasmcustom.wasmcustom.mirror_v1__alive__1__n"), None);
}

#[cfg(not(target_arch = "wasm32"))]
mod properties {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_text_survives(mirror in any::<String>(), text in "(?s).{0,200}") {
            families(&mirror, &text).iter().for_each(check);
        }

        #[test]
        fn reading_never_fails_badly(name in any::<String>()) {
            let _ = Metric::decode(&name);
            let _ = Metric::decode(&format!("{PREFIX}{name}"));
        }

        /// Names that are nearly right: what is read at all is written back as it was.
        #[test]
        fn what_is_read_is_written_back(
            family in "pairs|endpoint|place|status|latency|triples|diagnostic|alive|build",
            rest in "(__(match|value|diverged|primary|stray|_other|[a-c0-9]{0,4}|(_[0-9a-f]{2}){0,2}|_?_?[A-F0-9]{2})){0,5}",
            end in "__n|_n|__",
        ) {
            let name = format!("{PREFIX}{family}{rest}{end}");
            if let Some(metric) = Metric::decode(&name) {
                prop_assert_eq!(metric.encode(), name);
            }
        }
    }
}
