//! The report for a pull request, in Markdown as GitHub and GitLab show it: the answer and what differs at once, the rest
//! folded away.

use std::fmt::Write as _;

use mirror_core::stats::names::Class;

use super::math::Share;
use super::model::{Mirror, Place, Report};
use super::text::{change, duration, percent, plural, printable, thousands};
use super::verdict::{Answer, NO_PAIRS, outcome_words, span, verdict, warnings};

/// The most rows of one table: a comment has room for so many.
const MOST_ROWS: usize = 25;
/// The most characters of a value.
const LONGEST_VALUE: usize = 60;

/// Writes a report as Markdown.
pub fn render(report: &Report) -> String {
    let mut text = String::new();
    if report.mirrors.is_empty() {
        let _ = writeln!(text, "{}\n", escaped(NO_PAIRS));
    }
    for warning in warnings(report) {
        let _ = writeln!(text, "> ⚠️ **{}**: {}\n", escaped(&printable(&warning.about)), escaped(&warning.text));
    }
    for mirror in &report.mirrors {
        text.push_str(&said(mirror));
        text.push_str(&what_differs(mirror));
        text.push_str(&folded(mirror));
    }
    if let Some(span) = span(report) {
        let _ = writeln!(text, "{}", escaped(&span));
    }
    text
}

fn said(mirror: &Mirror) -> String {
    let verdict = verdict(mirror);
    let sign = match verdict.answer {
        Answer::Differs => "🔴",
        Answer::Same => "🟢",
        Answer::TooFew | Answer::Nothing => "🟡",
    };
    let mut name = escaped(&printable(&mirror.name));
    if let Some(candidate) = &mirror.candidate {
        let _ = write!(name, " → {}", escaped(&printable(candidate)));
    }
    let mut text = format!("### {sign} {name}: {}\n\n", escaped(&verdict.headline));
    for note in verdict.notes {
        let _ = writeln!(text, "- {}", escaped(&note));
    }
    text.push('\n');
    text
}

fn what_differs(mirror: &Mirror) -> String {
    let rows = mirror.on_their_own().into_iter().map(|place| {
        let share = place.share();
        [code(&place.place), place.kind.to_string(), thousands(share.count), rate(share), example(place)]
    });
    table(["What differs", "How", "Pairs", "Share", "Primary → candidate"], "llrrl", rows)
}

/// What one may want to know beside it.
fn folded(mirror: &Mirror) -> String {
    let noise = mirror.noisy().map(|place| {
        let share = place.share();
        let itself = rate(Share::new(place.secondary, mirror.triples));
        [code(&place.place), place.kind.to_string(), thousands(share.count), rate(share), itself]
    });
    let outcomes = mirror.outcomes.iter().map(|&(outcome, pairs)| {
        [escaped(&outcome_words(outcome)), thousands(pairs), rate(Share::new(pairs, mirror.pairs()))]
    });
    let endpoints = mirror.endpoints.iter().map(|endpoint| {
        let diverged = endpoint.diverged();
        let noise = thousands(endpoint.class(Class::Noise));
        let [total, compared] = [endpoint.total(), endpoint.compared()].map(thousands);
        [code(&endpoint.name), total, compared, thousands(diverged.count), rate(diverged), noise]
    });
    let all = mirror.differing_status().of;
    let statuses = mirror.statuses.iter().map(|row| {
        [row.primary.to_string(), row.candidate.to_string(), thousands(row.pairs), rate(Share::new(row.pairs, all))]
    });
    let latency = mirror.latency.iter().flat_map(|latency| {
        [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)].into_iter().filter_map(|(name, q)| {
            let (primary, candidate) = latency.quantile(q)?;
            let (primary, candidate) = (primary as f64, candidate as f64);
            let by = change(primary, candidate).unwrap_or_default();
            Some([name.to_owned(), duration(primary), duration(candidate), by])
        })
    });
    let sections = [
        table(["Differs by itself, not counted", "How", "Pairs", "Share", "Vs itself"], "llrrr", noise),
        table(["What became of the pairs", "Pairs", "Share"], "lrr", outcomes),
        table(["Endpoint", "Pairs", "Compared", "Diverged", "Share", "Noise"], "lrrrrr", endpoints),
        table(["Status of primary", "Of candidate", "Pairs", "Share"], "rrrr", statuses),
        table(["Latency", "Primary", "Candidate", "Change"], "lrrr", latency),
    ];
    let details: String = sections.concat();
    if details.is_empty() {
        return String::new();
    }
    let summary = format!("{}: outcomes, endpoints, status codes, latency", plural(mirror.pairs(), "pair"));
    format!("<details><summary>{summary}</summary>\n\n{details}</details>\n\n")
}

/// A table, or nothing where it has no rows. `align` has a letter for each column: `l` or `r`.
pub(super) fn table<const N: usize>(
    heading: [&str; N],
    align: &str,
    rows: impl Iterator<Item = [String; N]>,
) -> String {
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        return String::new();
    }
    let mut text = format!("| {} |\n|", heading.join(" | "));
    for column in align.chars() {
        text.push_str(if column == 'r' { "--:|" } else { ":--|" });
    }
    text.push('\n');
    for row in rows.iter().take(MOST_ROWS) {
        let _ = writeln!(text, "| {} |", row.join(" | "));
    }
    let hidden = rows.len().saturating_sub(MOST_ROWS);
    if hidden > 0 {
        let _ = writeln!(text, "\n… and {} more", plural(hidden as u64, "row"));
    }
    text.push('\n');
    text
}

fn rate(share: Share) -> String {
    share.rate().map_or_else(|| "-".to_owned(), percent)
}

fn example(place: &Place) -> String {
    let Some(example) = &place.example else { return String::new() };
    let value = |value: &Option<String>| value.as_deref().map_or_else(|| "(absent)".to_owned(), short);
    format!("{} → {}", value(&example.primary), value(&example.candidate))
}

fn short(value: &str) -> String {
    let mut shown: String = printable(value).chars().take(LONGEST_VALUE).collect();
    if shown.chars().count() < value.chars().count() {
        shown.push('…');
    }
    code(&shown)
}

/// A code span that holds this text and nothing else, inside a table's cell.
pub(super) fn code(text: &str) -> String {
    let text = printable(text).replace('|', "\\|");
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// Plain text, none of which is taken for Markdown or HTML.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' => {
                escaped.push('\\');
                escaped.push(c);
            }
            _ => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples::{full, many_places, no_pairs, stopped};

    #[test]
    fn reports_are_written_like_this() {
        insta::assert_snapshot!("full", render(&full().report()));
        insta::assert_snapshot!("stopped", render(&stopped().report()));
        insta::assert_snapshot!("no_pairs", render(&no_pairs().report()));
        let many = render(&many_places().report());
        assert!(many.contains("\n… and 5 rows more\n"), "{many}");
    }

    #[test]
    fn what_comes_from_traffic_is_never_markup() {
        assert_eq!(code("/a|b"), "`/a\\|b`");
        assert_eq!(code("a`b"), "``a`b``");
        assert_eq!(code("`a"), "`` `a ``");
        assert_eq!(escaped("<b>*x*</b> [a](b)"), "&lt;b&gt;\\*x\\*&lt;/b&gt; \\[a\\](b)");
    }
}
