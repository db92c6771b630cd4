//! What every page must be, whatever it reports: one that a browser reads as meant, alone, and everybody can use. And that
//! no text from outside becomes a part of it. How it looks in a browser is tested in `tests/browser`.

mod tags;

use std::collections::BTreeSet;

use proptest::prelude::*;

use self::tags::{Tag, tags};
use super::*;
use crate::report::samples::{all_match, full, many_places, no_pairs, stopped};

fn two_mirrors() -> Report {
    let (mut one, other) = (full().report(), many_places().report());
    one.mirrors.extend(other.mirrors);
    one
}

/// A page of everything that a report can be.
fn pages() -> Vec<(&'static str, String)> {
    [
        ("full", full().report()),
        ("many places", many_places().report()),
        ("all match", all_match(5_000).report()),
        ("too few", all_match(3).report()),
        ("no pairs", no_pairs().report()),
        ("stopped", stopped().report()),
        ("two mirrors", two_mirrors()),
        ("nothing", Report::default()),
    ]
    .map(|(name, report)| (name, render(&report)))
    .into()
}

#[test]
fn a_page_is_written_like_this() {
    let page = render(&full().report()).replace(STYLE, "").replace("><", ">\n<");
    insta::assert_snapshot!("full", page);
}

#[test]
fn elements_are_nested_and_ids_unique() {
    const VOID: [&str; 3] = ["meta", "link", "br"];
    for (name, page) in pages() {
        let (mut open, mut ids) = (Vec::new(), BTreeSet::new());
        for tag in tags(&page) {
            if let Some(closed) = tag.name.strip_prefix('/') {
                assert_eq!(open.pop().as_deref(), Some(closed), "{name}");
            } else if !VOID.contains(&tag.name.as_str()) {
                open.push(tag.name.clone());
            }
            if let Some(id) = tag.get("id") {
                assert!(ids.insert(id.to_owned()), "{name}: {id} twice");
            }
        }
        assert_eq!(open, Vec::<String>::new(), "{name}");
    }
}

#[test]
fn a_page_asks_for_nothing_and_runs_nothing() {
    for word in ["url(", "@import", "http:", "https:", "//"] {
        assert!(!STYLE.contains(word), "{word} in the styles");
    }
    for (name, page) in pages() {
        for tag in tags(&page) {
            assert!(
                !["script", "iframe", "object", "embed", "img", "form", "base", "use"].contains(&tag.name.as_str())
            );
            for (attribute, value) in &tag.attributes {
                assert!(!attribute.starts_with("on") && attribute != "src", "{name}: {tag:?}");
                assert!(attribute != "href" || value.starts_with('#') || value == "data:,", "{name}: {tag:?}");
            }
        }
    }
}

#[test]
fn everybody_can_use_a_page() {
    for (name, page) in pages() {
        let tags = tags(&page);
        let all = |wanted: &str| tags.iter().filter(|tag| tag.name == wanted).collect::<Vec<&Tag>>();
        assert_eq!(all("html")[0].get("lang"), Some("en"), "{name}");
        assert_eq!([all("main").len(), all("h1").len(), all("header").len(), all("footer").len()], [1; 4], "{name}");
        assert!(all("th").iter().all(|th| th.get("scope").is_some()), "{name}: a heading of nothing");
        assert!(all("nav").iter().all(|nav| nav.get("aria-label").is_some()), "{name}");

        let mut level = 0;
        for tag in &tags {
            if let Some(next) = tag.name.strip_prefix('h').and_then(|level| level.parse::<u32>().ok()) {
                assert!(next <= level + 1, "{name}: h{next} after h{level}");
                level = next;
            }
        }

        let ids: BTreeSet<&str> = tags.iter().filter_map(|tag| tag.get("id")).collect();
        for tag in &tags {
            for reference in ["aria-labelledby", "aria-describedby"].iter().filter_map(|name| tag.get(name)) {
                assert!(ids.contains(reference), "{name}: no {reference}");
            }
            assert!(tag.get("href").is_none_or(|to| !to.starts_with('#') || ids.contains(&to[1..])), "{name}: {tag:?}");
        }
        // A drawing has a name and a description, or its numbers stand beside it in words.
        let outer = all("svg").into_iter().filter(|svg| svg.get("viewBox").is_none());
        for svg in outer {
            let described = svg.get("role") == Some("img")
                && svg.get("aria-labelledby").is_some()
                && svg.get("aria-describedby").is_some();
            assert!(described || svg.get("aria-hidden") == Some("true"), "{name}: {svg:?}");
        }
    }
}

#[test]
fn the_answer_comes_first() {
    for (name, page, first) in [
        ("full", full(), "3 fields, 1 header and the status differ in 12.4 % of 1,203 pairs"),
        ("all match", all_match(5_000), "No difference found in 5,000 pairs"),
        ("no pairs", no_pairs(), NO_PAIRS),
        ("stopped", stopped(), "None of 15 pairs could be compared"),
    ]
    .map(|(name, sample, first)| (name, render(&sample.report()), first))
    {
        let (_, main) = page.split_once("<main>").expect("a main part");
        let (before, _) = main.split_once(first).unwrap_or_else(|| panic!("{name}: {first} is not there"));
        assert!(!before.contains("<table"), "{name}");
    }
}

#[test]
fn an_index_leads_to_each_of_several_mirrors() {
    let page = render(&two_mirrors());
    let links: Vec<String> = tags(&page)
        .iter()
        .filter(|tag| tag.name == "a")
        .map(|tag| tag.get("href").expect("a link").to_owned())
        .collect();
    assert_eq!(links, ["#mirror-1", "#mirror-2"]);
    assert!(!render(&full().report()).contains("<nav"));
}

/// Puts `text` wherever a report holds text from outside.
fn everywhere(mut report: Report, text: &str) -> Report {
    let put = |slot: &mut String| text.clone_into(slot);
    for gateway in &mut report.gateways {
        put(&mut gateway.name);
        put(&mut gateway.envoy);
        gateway.builds.iter_mut().for_each(put);
    }
    for mirror in &mut report.mirrors {
        put(&mut mirror.name);
        mirror.candidate = Some(text.to_owned());
        mirror.endpoints.iter_mut().for_each(|endpoint| put(&mut endpoint.name));
        for place in &mut mirror.places {
            put(&mut place.place);
            if let Some(example) = &mut place.example {
                put(&mut example.endpoint);
                put(&mut example.pair);
                example.primary.iter_mut().chain(&mut example.candidate).for_each(put);
            }
        }
    }
    report
}

#[track_caller]
fn is_only_text(text: &str) {
    let page = render(&everywhere(full().report(), text));
    assert_eq!(tags(&page), tags(&render(&everywhere(full().report(), "x"))), "{text:?}");
    assert!(!page.contains('\u{1b}') && !page.contains('\u{202e}') && !page.contains('\0'), "{text:?}");
}

#[test]
fn what_comes_from_traffic_is_never_markup() {
    for text in [
        "",
        "<script>alert(1)</script>",
        "</title><script>alert(1)</script>",
        "</style><script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "' onmouseover='alert(1)",
        "<!--",
        "-->",
        "]]><svg/onload=alert(1)>",
        "&lt;b&gt;&amp;#60;",
        "</pre></details></main>",
        "javascript:alert(1)",
        "a\u{0}b\u{1b}[31m\u{202e}c\u{2028}d",
        "{{7*7}} ${7*7} <%= 7 %>",
        "＜b＞ ‹b›",
    ] {
        is_only_text(text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_text_becomes_markup(text in "[<>\"'&/!=a-z \\-\u{0}-\u{20}]{0,40}|\\PC{0,40}") {
        is_only_text(&text);
    }
}

#[test]
fn pages_of_one_report_are_the_same() {
    assert_eq!(render(&two_mirrors()), render(&two_mirrors()));
}
