//! A comparison for a pull request, in Markdown.

use std::fmt::Write as _;

use super::words::{against_primary, alone, headline, rate, subject, unclear, word};
use super::{Comparison, Trend};
use crate::report::markdown::{code, escaped, table};
use crate::report::text::{duration, printable};

/// Writes a comparison as Markdown.
pub fn render(comparison: &Comparison) -> String {
    let mut text = String::new();
    for change in &comparison.mirrors {
        let _ = writeln!(text, "### {}: {}\n", escaped(&printable(&change.name)), escaped(&headline(change)));
        let changed = change.rates.iter().filter(|(_, rate)| rate.trend() != Trend::Unclear);
        let rows = changed.map(|(of, share)| {
            let [what, how] = subject(of);
            let [before, now, trend] = rate(*share);
            [code(&what), escaped(&how), before, now, trend]
        });
        text.push_str(&table(["What", "How", "Before", "Now", "Trend"], "llrrl", rows));
        if let Some(rest) = unclear(change) {
            let _ = writeln!(text, "{rest}\n");
        }
        let rows = change.latency.iter().map(|row| {
            let quantile = format!("p{:.0}", row.q * 100.0);
            let [before, now] = [row.before.1, row.now.1].map(|ns| duration(ns as f64));
            let [was, is] = [row.before, row.now].map(against_primary);
            [quantile, before, now, format!("{was} → {is}"), word(row.trend).to_owned()]
        });
        let heading = ["Candidate's latency", "Before", "Now", "Against primary", "Trend"];
        text.push_str(&table(heading, "lrrrl", rows));
    }
    for line in alone(comparison) {
        let _ = writeln!(text, "- {}", escaped(&line));
    }
    text
}
