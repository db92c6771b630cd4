//! A comparison for people.

use super::words::{against_primary, alone, headline, rate, subject, unclear, word};
use super::{Change, Comparison, Trend};
use crate::grid::{Column, Grid, Paint, cut_start, wrap};
use crate::report::table::Look;
use crate::report::text::{duration, printable};

/// Writes a comparison as text. What may be as it was is listed where the look is wide.
pub fn render(comparison: &Comparison, look: Look) -> String {
    let mut text = String::new();
    for change in &comparison.mirrors {
        let line = wrap(&format!("{}: {}", printable(&change.name), headline(change)), look.width, 2);
        text.push_str(&paint(overall(change)).on(&line, look.colour));
        text.push_str("\n\n");
        for section in [rates(change, look), latency(change, look)].into_iter().flatten() {
            text.push_str(&section);
            text.push('\n');
        }
    }
    for line in alone(comparison) {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// The worst that has become of anything.
fn overall(change: &Change) -> Trend {
    let trends = change.rates.iter().map(|(_, rate)| rate.trend()).chain(change.latency.iter().map(|row| row.trend));
    trends.min().unwrap_or(Trend::Unclear)
}

fn paint(trend: Trend) -> Paint {
    match trend {
        Trend::Worse => Paint::Red,
        Trend::Better => Paint::Green,
        Trend::Unclear => Paint::Plain,
    }
}

fn rates(change: &Change, look: Look) -> Option<String> {
    let shown: Vec<_> = change.rates.iter().filter(|(_, rate)| look.wide || rate.trend() != Trend::Unclear).collect();
    let mut grid = Grid::new([
        ("WHAT", Column::Left),
        ("HOW", Column::Left),
        ("BEFORE", Column::Right),
        ("NOW", Column::Right),
        ("TREND", Column::Left),
    ]);
    for (of, share) in &shown {
        let [_, how] = subject(of);
        let [before, now, trend] = rate(*share);
        grid.row(paint(share.trend()), [String::new(), how, before, now, trend]);
    }
    let free = if look.wide { usize::MAX } else { look.width.saturating_sub(grid.width_without(&[0])) };
    grid.fill(0, shown.iter().map(|(of, _)| cut_start(&subject(of)[0], free)));
    let listed = if shown.is_empty() { String::new() } else { grid.render(look.colour) };
    let rest = unclear(change).filter(|_| !look.wide).map_or_else(String::new, |rest| rest + "\n");
    Some(listed + &rest).filter(|text| !text.is_empty())
}

fn latency(change: &Change, look: Look) -> Option<String> {
    let mut grid = Grid::new([
        ("CANDIDATE'S LATENCY", Column::Left),
        ("BEFORE", Column::Right),
        ("NOW", Column::Right),
        ("AGAINST PRIMARY", Column::Right),
        ("TREND", Column::Left),
    ]);
    for row in &change.latency {
        let quantile = format!("p{:.0}", row.q * 100.0);
        let [before, now] = [row.before.1, row.now.1].map(|ns| duration(ns as f64));
        let [was, is] = [row.before, row.now].map(against_primary);
        grid.row(paint(row.trend), [quantile, before, now, format!("{was} → {is}"), word(row.trend).to_owned()]);
    }
    (!change.latency.is_empty()).then(|| grid.render(look.colour))
}
