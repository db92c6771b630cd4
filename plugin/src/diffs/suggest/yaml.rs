//! Suggestions as a rules file: what is suggested as rules, why and what not as comments.

use std::fmt::Write as _;

use super::{Bound, Confidence, Rule, Suggestion, Suggestions};
use crate::grid;
use crate::report::text::{plural, printable};

/// The width that comments are broken at.
const WIDTH: usize = 100;

/// A rules file, with its evidence.
pub fn render(suggestions: &Suggestions) -> String {
    let mut text = String::new();
    let from = plural(suggestions.examples as u64, "example");
    comment(
        &mut text,
        "",
        &format!(
            "Suggested from {from} of differences. Read it before you use it: what a rule covers is not compared any more."
        ),
    );
    for (section, is) in [
        ("ignore", (|rule| matches!(rule, Rule::Ignore)) as fn(&Rule) -> bool),
        ("tolerance", |rule| matches!(rule, Rule::Tolerance(_))),
        ("unordered", |rule| matches!(rule, Rule::Unordered)),
    ] {
        let rules: Vec<_> = suggestions.rules.iter().filter(|suggestion| is(&suggestion.rule)).collect();
        if !rules.is_empty() {
            let _ = writeln!(text, "\n{section}:");
            rules.into_iter().for_each(|suggestion| rule(&mut text, suggestion));
        }
    }
    if suggestions.rules.is_empty() {
        comment(&mut text, "", "Nothing of it looks like noise for certain.");
    }
    if !suggestions.left.is_empty() {
        text.push('\n');
        comment(&mut text, "", "No rule is suggested for what may be a real difference:");
        for left in &suggestions.left {
            comment(&mut text, "", &format!("* {}: {}", left.place, left.reason));
        }
    }
    text
}

fn rule(text: &mut String, suggestion: &Suggestion) {
    let confidence = match suggestion.confidence {
        Confidence::High => "High confidence.",
        Confidence::Medium => "Medium confidence: have somebody who knows the service look at it.",
    };
    comment(text, "  ", &format!("{} {confidence}", suggestion.evidence.join(" ")));
    let place = quoted(&suggestion.place.to_string());
    let _ = match suggestion.rule {
        Rule::Ignore => writeln!(text, "  - {place}"),
        Rule::Unordered => writeln!(text, "  - path: {place}"),
        Rule::Tolerance(Bound::Absolute(bound)) => writeln!(text, "  - path: {place}\n    absolute: {bound}"),
        Rule::Tolerance(Bound::Relative(bound)) => writeln!(text, "  - path: {place}\n    relative: {bound}"),
    };
}

/// Adds lines that YAML passes over, whatever the text holds.
fn comment(text: &mut String, indent: &str, said: &str) {
    for line in grid::wrap(&printable(said), WIDTH - indent.len() - 2, 2).lines() {
        let _ = writeln!(text, "{indent}# {line}");
    }
}

/// A place as YAML reads it back: as it is where nothing in it means anything to YAML, else in quotes.
fn quoted(place: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '-' | '.' | '~' | '*' | '$' | '@');
    let rest = ["header:", "trailer:", "cookie:"].iter().find_map(|prefix| place.strip_prefix(prefix));
    if rest.unwrap_or(place).chars().all(is_plain) && rest != Some("") {
        return place.to_owned();
    }
    // YAML's double quotes take all escapes of JSON's. Those of JSON leave C1 and line separators as they are.
    let mut json = String::new();
    for c in serde_json::Value::from(place).to_string().chars() {
        if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}') {
            let _ = write!(json, "\\u{:04x}", u32::from(c));
        } else {
            json.push(c);
        }
    }
    json
}
