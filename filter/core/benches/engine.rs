//! How fast bodies are compared: MB/s of one document's bytes, beside two parses into trees and beside memcmp.

#![allow(clippy::arithmetic_side_effects, clippy::expect_used, clippy::panic, reason = "no traffic passes here")]

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

use mirror_core::compare::Sink;
use mirror_core::compare::json::{BodyRules, compare};
use mirror_core::config::Rules;

/// How long each row is measured.
const MEASURED: Duration = Duration::from_millis(400);
/// How long one sample of a row takes, unless one run takes longer.
const SAMPLE: Duration = Duration::from_micros(50);

fn main() {
    let document = catalogue(false, "");
    let two = document.replacen("\"sku\":\"K-00041\"", "\"sku\":\"K-OOO41\"", 1);
    let two = two.replacen("\"stock\":173,", "\"stock\":9173,", 1);
    let reversed = catalogue(true, "");
    let pretty = catalogue(false, "\n    ");
    let stamped = document.replace("T10:", "T11:");
    let shuffled = swapped_halves();
    let rules = |json: &str| BodyRules::new(&serde_json::from_str::<Rules>(json).expect("rules"));
    let none = BodyRules::default();
    let some = rules(r#"{"ignore":["/items/*/updated"],"redact":["/items/*/owner"],"subset":["/items"]}"#);
    let unordered = rules(r#"{"unordered":[{"path":"/items","key":"/id"}]}"#);

    println!("one document: {} bytes", document.len());
    println!("{:<38}{:>10}{:>12}", "", "MB/s", "µs");
    let engine = |name: &str, shadow: &str, rules: &BodyRules, expected: usize| {
        let mut found = 0;
        row(name, document.len(), || {
            let mut sink = Sink::default();
            compare(document.as_bytes(), shadow.as_bytes(), rules, &mut sink).expect("both are JSON");
            found = black_box(sink.into_parts()).0.len();
        });
        assert_eq!(found, expected, "{name}");
    };
    let copy = document.clone();
    row("memcmp", document.len(), || {
        black_box(black_box(document.as_bytes()) == black_box(copy.as_bytes()));
    });
    engine("the same bytes", &copy, &none, 0);
    engine("two fields differ", &two, &none, 2);
    engine("two fields differ, rules", &two, &some, 2);
    engine("one field of each element differs", &stamped, &none, 1);
    engine("the same, ignored", &stamped, &some, 0);
    engine("other white space", &pretty, &none, 0);
    engine("keys in reverse order", &reversed, &none, 0);
    engine("elements in another order", &shuffled, &none, 1);
    engine("the same, unordered by key", &shuffled, &unordered, 0);
    row("two serde_json parses, two fields differ", document.len(), || {
        let parse = |text: &str| serde_json::from_slice::<serde_json::Value>(text.as_bytes()).expect("JSON");
        black_box(parse(&document) == parse(&two));
    });
}

/// Runs `work` for a while and prints what one run takes and how many bytes a second that is. An argument of the program
/// selects rows by a part of their name.
fn row(name: &str, bytes: usize, mut work: impl FnMut()) {
    if std::env::args().nth(1).is_some_and(|part| part != "--bench" && !name.contains(&part)) {
        return work();
    }
    // Short samples, of which the best counts: other programs take the processor away from long ones.
    let start = Instant::now();
    work();
    let runs = (SAMPLE.as_nanos() / start.elapsed().as_nanos().max(1)).clamp(1, 1000) as u32;
    let mut best = Duration::MAX;
    let begin = Instant::now();
    while begin.elapsed() < MEASURED {
        let start = Instant::now();
        for _ in 0..runs {
            work();
        }
        best = best.min(start.elapsed() / runs);
    }
    let seconds = best.as_secs_f64();
    println!("{name:<38}{:>10.0}{:>12.1}", bytes as f64 / seconds / 1e6, seconds * 1e6);
}

/// A catalogue such as shops serve it, 73 KB: every item with numbers, texts, a time, a list and an object.
fn catalogue(reverse: bool, space: &str) -> String {
    wrapped((0..ITEMS).map(|number| item(number, reverse, space)).collect(), reverse)
}

/// The catalogue with the second half of its items first.
fn swapped_halves() -> String {
    let order = (ITEMS / 2..ITEMS).chain(0..ITEMS / 2);
    wrapped(order.map(|number| item(number, false, "")).collect(), false)
}

const ITEMS: u32 = 260;

fn wrapped(items: Vec<String>, reverse: bool) -> String {
    let members =
        [format!("\"total\":{ITEMS}"), "\"next\":null".to_owned(), format!("\"items\":[{}]", items.join(","))];
    object(members.to_vec(), reverse, "")
}

fn item(number: u32, reverse: bool, space: &str) -> String {
    let mut tags = String::new();
    for tag in 0..number % 4 {
        let comma = if tag == 0 { "" } else { "," };
        let _ = write!(tags, "{comma}\"tag-{}\"", (number + tag) % 17);
    }
    let members = vec![
        format!("\"id\":{number}"),
        format!("\"sku\":\"K-{number:05}\""),
        format!("\"name\":\"Item number {number} of the catalogue, in blue\""),
        format!("\"description\":\"A thing that is {} by {} cm and \\\"very\\\" useful\"", number % 90, number % 70),
        format!("\"price\":{}.{:02}", number % 400, number % 100),
        format!("\"stock\":{}", number * 7 % 1000 + 5),
        format!("\"active\":{}", number.is_multiple_of(3)),
        format!("\"updated\":\"2026-03-{:02}T10:{:02}:00Z\"", number % 28 + 1, number % 60),
        format!("\"tags\":[{tags}]"),
        object(vec![format!("\"w\":{}", number % 50), format!("\"h\":{}", number % 30)], reverse, space).replacen(
            '{',
            "\"size\":{",
            1,
        ),
        format!("\"owner\":\"team-{}\"", number % 9),
    ];
    object(members, reverse, space)
}

fn object(mut members: Vec<String>, reverse: bool, space: &str) -> String {
    if reverse {
        members.reverse();
    }
    format!("{{{space}{}{space}}}", members.join(&format!(",{space}")))
}
