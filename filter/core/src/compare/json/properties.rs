//! What must hold for any documents: beside a simple comparison of trees, and under changes of form that mean nothing.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::sample::select;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::*;
use crate::divergence::Kind;
use crate::place::{Place, push_index, push_key};

type Found = BTreeSet<(String, Kind)>;

fn compared(rules: &BodyRules, primary: &[u8], shadow: &[u8]) -> Result<Found, NotCompared> {
    let mut sink = Sink::default();
    compare(primary, shadow, rules, &mut sink)?;
    Ok(sink.into_parts().0.into_iter().map(|found| (found.place.as_str().to_owned(), found.kind)).collect())
}

/// A small source of choices: a seed is all that proptest has to shrink.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }

    fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            list.swap(last, self.below(last + 1));
        }
    }
}

/// Documents small enough to collide: few keys, few numbers, few texts.
fn document() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3..4_i64).prop_map(Value::from),
        (any::<i64>(), 0..3_u32).prop_map(|(number, shift)| Value::from(number >> (shift * 20))),
        select(vec!["", "a", "b", "é/\"\n", "😀 and more text behind it", "1"]).prop_map(Value::from),
        // Longer than what is passed as small.
        Just(Value::from("long ".repeat(300))),
    ];
    scalar.prop_recursive(4, 40, 6, |inner| {
        let key = select(vec!["a", "b", "c", "d", "é\"", "/~", "*", "a long key with many letters"]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((key.prop_map(str::to_owned), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// How a document may be written without changing what it means.
#[derive(Clone, Copy)]
struct Form {
    /// White space, escapes and forms of numbers.
    loose: bool,
    /// Members in any order.
    members: bool,
    /// Elements in any order.
    elements: bool,
}

const PLAIN: Form = Form { loose: false, members: false, elements: false };
const FREE: Form = Form { loose: true, members: true, elements: false };

fn write(value: &Value, form: Form, dice: &mut Dice, out: &mut String) {
    space(form, dice, out);
    match value {
        Value::Number(number) => write_number(number.as_i64().expect("whole numbers"), form, dice, out),
        Value::String(text) => write_string(text, form, dice, out),
        Value::Array(list) => {
            let mut list: Vec<&Value> = list.iter().collect();
            if form.elements {
                dice.shuffle(&mut list);
            }
            out.push('[');
            for (place, value) in list.into_iter().enumerate() {
                out.push_str(if place == 0 { "" } else { "," });
                write(value, form, dice, out);
            }
            space(form, dice, out);
            out.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            if form.members {
                dice.shuffle(&mut members);
            }
            out.push('{');
            for (place, (key, value)) in members.into_iter().enumerate() {
                out.push_str(if place == 0 { "" } else { "," });
                space(form, dice, out);
                write_string(key, form, dice, out);
                space(form, dice, out);
                out.push(':');
                write(value, form, dice, out);
            }
            space(form, dice, out);
            out.push('}');
        }
        Value::Null | Value::Bool(_) => out.push_str(&value.to_string()),
    }
    space(form, dice, out);
}

fn space(form: Form, dice: &mut Dice, out: &mut String) {
    if form.loose {
        out.push_str(["", "", "", " ", "\n", "\t\r ", "            "][dice.below(7)]);
    }
}

fn write_number(number: i64, form: Form, dice: &mut Dice, out: &mut String) {
    let text = number.to_string();
    let written = match if form.loose { dice.below(6) } else { 0 } {
        1 => format!("{text}.0"),
        2 => format!("{text}e0"),
        3 if number != 0 => format!("{text}000E-3"),
        4 if number == 0 => "-0.00e7".to_owned(),
        4 => {
            let digits = text.trim_start_matches('-');
            format!("{}0.{digits}e+{}", if number < 0 { "-" } else { "" }, digits.len())
        }
        _ => text,
    };
    out.push_str(&written);
}

fn write_string(text: &str, form: Form, dice: &mut Dice, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        if form.loose && dice.below(4) == 0 {
            for unit in character.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            let quoted = Value::from(character.to_string()).to_string();
            out.extend(quoted.chars().skip(1).take(quoted.chars().count() - 2));
        }
    }
    out.push('"');
}

fn written(value: &Value, form: Form, seed: u64) -> Vec<u8> {
    let mut out = String::new();
    write(value, form, &mut Dice(seed), &mut out);
    out.into_bytes()
}

/// The comparison as one would write it with trees.
fn reference(primary: &Value, shadow: &Value, at: &str, found: &mut Found) {
    let mut report = |at: &str, kind: Kind| {
        found.insert((Place::pointer(at.to_owned()).as_str().to_owned(), kind));
    };
    match (primary, shadow) {
        (Value::Object(ours), Value::Object(theirs)) => {
            for key in ours.keys().chain(theirs.keys()) {
                let mut below = at.to_owned();
                push_key(&mut below, key);
                match (ours.get(key), theirs.get(key)) {
                    (Some(one), Some(other)) => reference(one, other, &below, found),
                    (Some(_), None) => {
                        found.insert((below, Kind::Missing));
                    }
                    _ => {
                        found.insert((below, Kind::Added));
                    }
                }
            }
        }
        (Value::Array(ours), Value::Array(theirs)) => {
            let first = ours.iter().zip(theirs).position(|(one, other)| one != other);
            if ours.len() == theirs.len() && sorted(ours) == sorted(theirs) {
                if first.is_some() {
                    report(at, Kind::Order);
                }
                return;
            }
            let mut below = at.to_owned();
            push_index(&mut below);
            let first = first.unwrap_or(ours.len().min(theirs.len()));
            let (mut ours, mut theirs) = (&ours[first..], &theirs[first..]);
            if ours.len() != theirs.len() {
                while let (Some((one, our_rest)), Some((other, their_rest))) = (ours.split_last(), theirs.split_last())
                {
                    if one != other {
                        break;
                    }
                    (ours, theirs) = (our_rest, their_rest);
                }
            }
            if ours.len() > theirs.len() {
                report(&below, Kind::Missing);
            } else if ours.len() < theirs.len() {
                report(&below, Kind::Added);
            }
            for (one, other) in ours.iter().zip(theirs) {
                reference(one, other, &below, found);
            }
        }
        _ if std::mem::discriminant(primary) != std::mem::discriminant(shadow) => report(at, Kind::Type),
        _ if primary != shadow => report(at, Kind::Value),
        _ => {}
    }
}

fn sorted(list: &[Value]) -> Vec<String> {
    // Members of a map are sorted already.
    let mut texts: Vec<String> = list.iter().map(Value::to_string).collect();
    texts.sort();
    texts
}

/// Changes a document in a few places.
fn changed(value: &Value, dice: &mut Dice) -> Value {
    match value {
        Value::Array(list) => {
            let mut list: Vec<Value> = list.iter().map(|value| changed(value, dice)).collect();
            match dice.below(8) {
                0 => dice.shuffle(&mut list),
                1 => list.insert(dice.below(list.len() + 1), Value::from("put in")),
                2 if !list.is_empty() => drop(list.remove(dice.below(list.len()))),
                _ => {}
            }
            Value::from(list)
        }
        Value::Object(members) => {
            let mut members: Map<String, Value> =
                members.iter().map(|(key, value)| (key.clone(), changed(value, dice))).collect();
            match dice.below(8) {
                0 => drop(members.insert("a".to_owned(), Value::from(7))),
                1 => drop(members.remove("b")),
                _ => {}
            }
            Value::Object(members)
        }
        _ if dice.below(10) == 0 => Value::from(42),
        _ => value.clone(),
    }
}

fn swapped(found: Found) -> Found {
    let kind = |kind| match kind {
        Kind::Missing => Kind::Added,
        Kind::Added => Kind::Missing,
        same => same,
    };
    found.into_iter().map(|(place, found)| (place, kind(found))).collect()
}

/// Checks what must hold for any two texts: no panic, the right verdict on what is JSON, and symmetry.
fn check_bytes(primary: &[u8], shadow: &[u8]) -> Result<(), TestCaseError> {
    let rules = BodyRules::default();
    let is_json = |text: &[u8]| {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        serde_json::from_slice::<IgnoredAny>(text).is_ok()
    };
    let found = compared(&rules, primary, shadow);
    let (ours, theirs) = (is_json(primary), is_json(shadow));
    if primary == shadow {
        prop_assert_eq!(found, Ok(Found::new()));
    } else if ours && theirs {
        prop_assert!(found.is_ok());
        prop_assert_eq!(compared(&rules, shadow, primary), found.map(swapped));
    } else {
        prop_assert_eq!(found, Err(NotCompared::NotJson { primary: !ours, shadow: !theirs }));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_form_of_a_document_means_nothing(value in document(), seed: u64) {
        let (plain, free) = (written(&value, PLAIN, 0), written(&value, FREE, seed));
        let read: Value = serde_json::from_slice(&plain).expect("JSON");
        prop_assert_eq!(&read, &value, "the test itself writes what it means");
        prop_assert_eq!(compared(&BodyRules::default(), &plain, &free), Ok(Found::new()));
        prop_assert_eq!(compared(&BodyRules::default(), &free, &plain), Ok(Found::new()));
    }

    #[test]
    fn any_two_documents_differ_as_their_trees_do(one in document(), other in document(), seed: u64, free: bool) {
        let form = if free { FREE } else { PLAIN };
        let mut expected = Found::new();
        reference(&one, &other, "", &mut expected);
        let found = compared(&BodyRules::default(), &written(&one, PLAIN, 0), &written(&other, form, seed));
        prop_assert_eq!(found, Ok(expected));
    }

    #[test]
    fn changes_are_found_where_they_are(one in document(), seed: u64, free: bool) {
        let form = if free { FREE } else { PLAIN };
        let other = changed(&one, &mut Dice(seed));
        let mut expected = Found::new();
        reference(&one, &other, "", &mut expected);
        let (primary, shadow) = (written(&one, PLAIN, 0), written(&other, form, seed));
        let found = compared(&BodyRules::default(), &primary, &shadow);
        prop_assert_eq!(compared(&BodyRules::default(), &shadow, &primary), found.clone().map(swapped));
        prop_assert_eq!(found, Ok(expected));
    }

    #[test]
    fn order_means_nothing_where_a_rule_says_so(value in document(), seed: u64) {
        let rules = r#"{"unordered":[{"path":"body"},{"path":"/*"},{"path":"/*/*"},{"path":"/*/*/*"},{"path":"/*/*/*/*"}]}"#;
        let rules = BodyRules::new(&serde_json::from_str(rules).expect("rules"));
        let any_order = written(&value, Form { elements: true, ..FREE }, seed);
        prop_assert_eq!(compared(&rules, &written(&value, PLAIN, 0), &any_order), Ok(Found::new()));
    }

    #[test]
    fn what_is_ignored_is_never_found(one in document(), seed: u64) {
        let rules = BodyRules::new(&serde_json::from_str(r#"{"ignore":["/a","/*/b"]}"#).expect("rules"));
        let other = changed(&one, &mut Dice(seed));
        let found = compared(&rules, &written(&one, PLAIN, 0), &written(&other, FREE, seed)).expect("JSON");
        for (place, _) in found {
            let steps: Vec<&str> = place.split('/').collect();
            prop_assert!(steps.get(1) != Some(&"a") && steps.get(2) != Some(&"b"), "{}", place);
        }
    }

    #[test]
    fn damaged_documents_are_told_from_sound_ones(one in document(), seed: u64, at: usize, byte: u8, damage in 0..4) {
        let (sound, plain) = (written(&one, FREE, seed), written(&one, PLAIN, seed));
        for form in [&sound, &plain] {
            let mut damaged = form.clone();
            let at = at % damaged.len();
            match damage {
                0 => damaged.truncate(at),
                1 => damaged[at] = byte,
                2 => damaged.insert(at, byte),
                _ => drop(damaged.remove(at)),
            }
            for other in [&sound, &plain] {
                check_bytes(other, &damaged)?;
                check_bytes(&damaged, other)?;
            }
        }
    }

    #[test]
    fn any_bytes_are_safe(one in "[\\[\\]{}:,\"\\\\0-9eE.+\\- a-u\u{80}]{0,40}", other: Vec<u8>) {
        check_bytes(one.as_bytes(), &other)?;
        check_bytes(one.as_bytes(), &[one.as_bytes(), b" "].concat())?;
    }
}
