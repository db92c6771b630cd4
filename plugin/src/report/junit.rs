//! The report for continuous integration, as JUnit's XML: a suite for each mirror, a case for the answers as a whole, one for
//! each place that differs, and one for each `--fail-on` that was given.

use std::fmt::Write as _;

use super::fail_on::{Conditions, Finding};
use super::model::{Mirror, Report};
use super::text::{percent, printable, thousands};
use super::verdict::{Answer, NO_PAIRS, span, verdict, warnings};

/// Writes a report as JUnit's XML. Where conditions are given, they decide what fails; without any, each difference does.
pub fn render(report: &Report, conditions: &[Conditions]) -> String {
    let mut suites: Vec<Suite> = report.mirrors.iter().map(|mirror| suite(mirror, conditions.is_empty())).collect();
    if report.mirrors.is_empty() {
        let case = Case { name: "pairs".to_owned(), end: End::Failed(NO_PAIRS.to_owned()) };
        suites.push(Suite { name: "kubectl-mirror".to_owned(), cases: vec![case] });
    }
    let gateways = warnings(report).into_iter().map(|warning| Case {
        name: format!("warning {} {}", warning.code, printable(&warning.about)),
        end: End::Skipped(warning.text),
    });
    let gates = conditions.iter().flat_map(|conditions| &conditions.0).map(|condition| {
        let found = condition.check(report);
        let texts = |wanted: fn(&Finding) -> bool| {
            let texts: Vec<String> = found.iter().filter(|finding| wanted(finding)).map(ToString::to_string).collect();
            texts.join("; ")
        };
        let holds = texts(|finding| matches!(finding, Finding::Holds(_)));
        let untested = texts(|finding| matches!(finding, Finding::Untested(_)));
        let end = match (holds.is_empty(), untested.is_empty()) {
            (false, _) => End::Failed(holds),
            (true, false) => End::Skipped(untested),
            (true, true) => End::Passed,
        };
        Case { name: format!("--fail-on {condition}"), end }
    });
    let beside: Vec<Case> = gates.chain(gateways).collect();
    if !beside.is_empty() {
        suites.push(Suite { name: "conditions and warnings".to_owned(), cases: beside });
    }
    document(&suites, span(report).as_deref())
}

struct Suite {
    name: String,
    cases: Vec<Case>,
}

struct Case {
    name: String,
    end: End,
}

/// How a case ended, with what is said of it.
enum End {
    Passed,
    Failed(String),
    Skipped(String),
}

fn suite(mirror: &Mirror, differences_fail: bool) -> Suite {
    let failed = |text: String| if differences_fail { End::Failed(text) } else { End::Skipped(text) };
    let said = verdict(mirror);
    let text = std::iter::once(said.headline).chain(said.notes).collect::<Vec<_>>().join("\n");
    let whole = match said.answer {
        Answer::Same => End::Passed,
        Answer::Differs => failed(text),
        Answer::TooFew | Answer::Nothing => End::Skipped(text),
    };
    let mut cases = vec![Case { name: "answers".to_owned(), end: whole }];
    for place in mirror.differing() {
        let share = place.share();
        let mut text = format!(
            "{} in {} of {} pairs ({})",
            place.kind,
            thousands(share.count),
            thousands(share.of),
            share.rate().map_or_else(|| "-".to_owned(), percent),
        );
        if let Some(example) = &place.example {
            let value = |value: &Option<String>| value.as_deref().map_or_else(|| "(absent)".to_owned(), printable);
            let _ = write!(text, ": {} → {}", value(&example.primary), value(&example.candidate));
        }
        cases.push(Case { name: format!("{} {}", printable(&place.place), place.kind), end: failed(text) });
    }
    Suite { name: printable(&mirror.name), cases }
}

fn document(suites: &[Suite], span: Option<&str>) -> String {
    let count = |cases: &[Case], wanted: fn(&End) -> bool| cases.iter().filter(|case| wanted(&case.end)).count();
    let numbers = |cases: &[Case]| {
        let failures = count(cases, |end| matches!(end, End::Failed(_)));
        let skipped = count(cases, |end| matches!(end, End::Skipped(_)));
        format!(r#"tests="{}" failures="{failures}" errors="0" skipped="{skipped}""#, cases.len())
    };
    let mut text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"kubectl-mirror\">\n".to_owned();
    for suite in suites {
        let name = escaped(&suite.name);
        let _ = writeln!(text, "  <testsuite name=\"{name}\" {}>", numbers(&suite.cases));
        if let Some(span) = span {
            let property = format!("<property name=\"span\" value=\"{}\"/>", escaped(span));
            let _ = writeln!(text, "    <properties>{property}</properties>");
        }
        for case in &suite.cases {
            let open = format!("    <testcase classname=\"{name}\" name=\"{}\"", escaped(&case.name));
            let (element, said) = match &case.end {
                End::Passed => {
                    let _ = writeln!(text, "{open}/>");
                    continue;
                }
                End::Failed(said) => ("failure", said),
                End::Skipped(said) => ("skipped", said),
            };
            let _ = writeln!(text, "{open}>\n      <{element} message=\"{}\"/>\n    </testcase>", escaped(said));
        }
        text.push_str("  </testsuite>\n");
    }
    text.push_str("</testsuites>\n");
    text
}

/// Text in an attribute's value; what XML cannot hold at all is left out.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples::{all_match, full, no_pairs, stopped};

    #[test]
    fn reports_are_written_like_this() {
        insta::assert_snapshot!("full", render(&full().report(), &[]));
        insta::assert_snapshot!("stopped", render(&stopped().report(), &[]));
        insta::assert_snapshot!("no_pairs", render(&no_pairs().report(), &[]));
    }

    #[test]
    fn conditions_decide_where_there_are_any() {
        let conditions: Vec<Conditions> = ["diverged>50%", "p99>+1%,pairs<10"].map(|c| c.parse().expect("good")).into();
        let text = render(&full().report(), &conditions);
        assert_eq!(text.matches("<failure").count(), 1, "p99 alone: {text}");
        assert!(text.contains(r#"name="--fail-on p99&gt;+1%""#), "{text}");
        let text = render(&all_match(1000).report(), &[]);
        assert!(!text.contains("<failure") && !text.contains("<skipped"), "{text}");
    }

    #[test]
    fn nothing_that_xml_cannot_hold_is_written() {
        assert_eq!(escaped("a<\"&>\n\u{1b}b"), "a&lt;&quot;&amp;&gt;&#10;b");
    }
}
