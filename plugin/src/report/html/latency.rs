//! How long the answers of both sides took: a chart of the shares of answers over time, and its quantiles as a table.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use maud::{Markup, html};
use mirror_core::stats::histogram::{self, LAST, bounds};

use super::position;
use crate::report::model::{Latency, Mirror};
use crate::report::text::{change, duration};

/// Chart and table. `anchor` is what the mirror's ids begin with.
pub fn section(mirror: &Mirror, anchor: &str) -> Markup {
    let Some(latency) = &mirror.latency else { return html! {} };
    html! {
        section {
            h3 { "Latency" }
            @if let Some(axis) = Axis::of(latency) { (chart(latency, axis, anchor)) }
            table {
                thead {
                    tr {
                        th scope="col" { "Quantile" }
                        th.number scope="col" { "Primary" }
                        th.number scope="col" { "Candidate" }
                        th.number scope="col" { "Change" }
                    }
                }
                tbody {
                    @for (name, q) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)] {
                        @if let Some((primary, candidate)) = latency.quantile(q) { (row(name, primary as f64, candidate as f64)) }
                    }
                }
            }
        }
    }
}

fn row(name: &str, primary: f64, candidate: f64) -> Markup {
    html! {
        tr {
            th scope="row" { (name) }
            td.number { (duration(primary)) }
            td.number { (duration(candidate)) }
            td.number { (change(primary, candidate).unwrap_or_default()) }
        }
    }
}

/// Where the plot lies in the drawing, from top to bottom, as parts of its height. Beneath are the times.
const PLOT: (f64, f64) = (0.06, 0.88);
/// The share of answers at which a curve's name stands left of it, in the empty corner at the top.
const NAME_LEFT_AT: f64 = 0.85;
/// The share at which a name stands right of its curve, in the empty corner at the bottom.
const NAME_RIGHT_AT: f64 = 0.15;
/// The part of the width that a name needs on a phone.
const NAME_ROOM: f64 = 0.26;

/// The part of the width that the text of a tick needs on a phone.
const TICK_ROOM: f64 = 0.17;

/// How far down a share of the answers is, as a part of the height.
fn height(share: f64) -> f64 {
    PLOT.1 - share * (PLOT.1 - PLOT.0)
}

fn chart(latency: &Latency, axis: Axis, anchor: &str) -> Markup {
    let sides = [("primary", &latency.primary), ("candidate", &latency.candidate)];
    let faster = usize::from(faster(latency));
    let percent = |part: f64| format!("{}%", position(part));
    html! {
        figure.latency {
            svg.chart role="img" aria-labelledby={ (anchor) "-latency-title" } aria-describedby={ (anchor) "-latency-desc" } {
                title id={ (anchor) "-latency-title" } { "Latency of the primary and of the candidate" }
                desc id={ (anchor) "-latency-desc" } { (described(latency)) }
                @for share in [0.0, 0.5, 0.9, 1.0] {
                    @let y = percent(height(share));
                    line.grid x1="0" x2="100%" y1=(y) y2=(y) {}
                    @if share > 0.0 { text x="0" y=(y) dx="-0.6em" dy="0.35em" text-anchor="end" { (share * 100.0) " %" } }
                }
                @for tick in axis.ticks() {
                    @let x = percent(axis.part(tick));
                    line.grid x1=(x) x2=(x) y1=(percent(PLOT.0)) y2=(percent(PLOT.1)) {}
                    text x=(x) y="97%" text-anchor="middle" { (tick_text(tick)) }
                }
                svg x="0" y=(percent(PLOT.0)) width="100%" height=(percent(PLOT.1 - PLOT.0)) viewBox="0 0 1000 1000"
                    preserveAspectRatio="none" {
                    @for (side, counts) in sides { path class=(side) d=(curve(counts, axis)) {} }
                }
                @for (i, (side, counts)) in sides.into_iter().enumerate() {
                    @let (at, end, dx, dy) =
                        if i == faster { (NAME_LEFT_AT, "end", "-0.6em", "0") } else { (NAME_RIGHT_AT, "start", "0.6em", "0.6em") };
                    @if let Some(time) = histogram::quantile(counts, at) {
                        text.name.(side) x=(percent(axis.part(time))) y=(percent(height(at))) dx=(dx) dy=(dy) text-anchor=(end) {
                            (side)
                        }
                    }
                }
            }
            figcaption {
                "The share of answers that took no longer than a time. Times are to scale by their ratios; the primary's line \
                 is dashed."
            }
        }
    }
}

/// Whether the candidate (rather than the primary) has the curve at the left.
fn faster(latency: &Latency) -> bool {
    latency.quantile(NAME_LEFT_AT).is_some_and(|(primary, candidate)| candidate < primary)
}

fn described(latency: &Latency) -> String {
    let at = |name: &str, q| {
        let (primary, candidate) = latency.quantile(q)?;
        Some(format!("{name}: {} and {}.", duration(primary as f64), duration(candidate as f64)))
    };
    let quantiles = [("Half of the answers", 0.5), ("90 percent", 0.9), ("99 percent", 0.99)];
    let sentences: Vec<String> = quantiles.into_iter().filter_map(|(name, q)| at(name, q)).collect();
    format!("The longest that it took the primary and the candidate. {}", sentences.join(" "))
}

/// Times from left to right, by their ratios.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Axis {
    /// The logarithm of the earliest time, in nanoseconds.
    low: f64,
    /// That of the latest.
    high: f64,
}

impl Axis {
    /// One with room for all answers and for the names beside the curves; `None` where a side has no answers.
    fn of(latency: &Latency) -> Option<Self> {
        let counted = |counts: &BTreeMap<u16, u64>| -> Vec<u16> {
            counts.iter().filter(|(_, n)| **n > 0).map(|(bucket, _)| *bucket).collect()
        };
        let buckets = [counted(&latency.primary), counted(&latency.candidate)].concat();
        let (first, last) = (*buckets.iter().min()?, *buckets.iter().max()?);
        let fast = {
            let (primary, candidate) = latency.quantile(NAME_LEFT_AT)?;
            logarithm(primary.min(candidate))
        };
        let slow = {
            let (primary, candidate) = latency.quantile(NAME_RIGHT_AT)?;
            logarithm(if faster(latency) { primary } else { candidate })
        };
        let mut axis = Self { low: logarithm(begin(first)), high: logarithm(end(last)) };
        // Whatever is too near to a side moves that side away, little by little.
        let step = (axis.high - axis.low) / 20.0;
        for _ in 0..100 {
            let width = axis.high - axis.low;
            if (fast - axis.low) / width < NAME_ROOM {
                axis.low -= step;
            } else if (axis.high - slow) / width < NAME_ROOM {
                axis.high += step;
            } else {
                break;
            }
        }
        Some(axis)
    }

    /// Where a time is, 0 to 1 from left to right.
    fn part(self, ns: u64) -> f64 {
        ((logarithm(ns) - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    /// Round times along the axis, so many that their texts find room on a phone.
    fn ticks(self) -> Vec<u64> {
        let ticks = |steps: &[u64], decades: usize| -> Vec<u64> {
            let decades = (3..13).step_by(decades).map(|exponent| 10_u64.pow(exponent));
            let all = decades.flat_map(|decade| steps.iter().map(move |step| decade * step));
            all.filter(|ns| (self.low..=self.high).contains(&logarithm(*ns))).collect()
        };
        let has_room =
            |ticks: &Vec<u64>| ticks.windows(2).all(|two| self.part(two[1]) - self.part(two[0]) >= TICK_ROOM);
        let sets: [(&[u64], usize); 5] = [(&[1, 2, 5], 1), (&[1, 3], 1), (&[1], 1), (&[1], 2), (&[1], 3)];
        sets.into_iter().map(|(steps, decades)| ticks(steps, decades)).find(has_room).unwrap_or_default()
    }
}

fn logarithm(ns: u64) -> f64 {
    (ns.max(1) as f64).ln()
}

/// Where a bucket begins in the chart. There is no zero on this axis, so the first one is drawn an octave wide.
fn begin(bucket: u16) -> u64 {
    match bounds(bucket) {
        (0, high) => high / 2,
        (low, _) => low,
    }
}

/// Where it ends. The last one has no end and is drawn an octave wide too.
fn end(bucket: u16) -> u64 {
    let (low, high) = bounds(bucket);
    if bucket >= LAST { low.saturating_mul(2) } else { high }
}

/// The shares of answers over time, as a path in a plot of 1000 by 1000.
fn curve(counts: &BTreeMap<u16, u64>, axis: Axis) -> String {
    let total: f64 = counts.values().map(|n| *n as f64).sum();
    let mut path = "M0,1000".to_owned();
    let mut below = 0.0;
    for (bucket, n) in counts.iter().filter(|(_, n)| **n > 0) {
        let mut point = |ns, count: f64| {
            let (x, y) = (axis.part(ns) * 1000.0, (1.0 - count / total) * 1000.0);
            let _ = write!(path, " {x:.0},{y:.0}");
        };
        point(begin(*bucket), below);
        below += *n as f64;
        point(end(*bucket), below);
    }
    path.push_str(" 1000,0");
    path
}

/// A round time without decimals.
fn tick_text(ns: u64) -> String {
    match ns {
        ns if ns < 1_000_000 => format!("{} µs", ns / 1000),
        ns if ns < 1_000_000_000 => format!("{} ms", ns / 1_000_000),
        ns => format!("{} s", ns / 1_000_000_000),
    }
}

#[cfg(test)]
mod tests {
    use mirror_core::stats::histogram::bucket_of;

    use super::*;

    const MS: u64 = 1_000_000;

    fn latency(primary: &[(u16, u64)], candidate: &[(u16, u64)]) -> Latency {
        let counts = |counts: &[(u16, u64)]| counts.iter().copied().collect();
        Latency { primary: counts(primary), candidate: counts(candidate) }
    }

    #[test]
    fn axes_leave_room_for_all_answers_and_both_names() {
        let (fast, slow) = (bucket_of(MS), bucket_of(1000 * MS));
        for latency in [
            latency(&[(fast, 10)], &[(slow, 10)]),
            latency(&[(slow, 10)], &[(fast, 10)]),
            latency(&[(fast, 10)], &[(fast, 10)]),
            latency(&[(0, 10)], &[(LAST, 10)]),
            latency(&[(LAST, 1)], &[(LAST, 1)]),
            latency(&[(fast, 5), (slow, 5)], &[(fast, 1), (slow, 9)]),
        ] {
            let axis = Axis::of(&latency).expect("answers");
            assert!(axis.low < axis.high, "{latency:?}");
            let (primary, candidate) = latency.quantile(NAME_LEFT_AT).expect("answers");
            assert!(axis.part(primary.min(candidate)) >= NAME_ROOM - 1e-9, "{latency:?}: {axis:?}");
            assert!((1..=6).contains(&axis.ticks().len()), "{latency:?}: {:?}", axis.ticks());
        }
        assert_eq!(Axis::of(&latency(&[], &[])), None);
    }

    #[test]
    fn curves_rise_from_nothing_to_all() {
        let counts = latency(&[(bucket_of(MS), 3), (bucket_of(10 * MS), 0), (bucket_of(100 * MS), 1)], &[(9, 1)]);
        let axis = Axis::of(&counts).expect("answers");
        let path = curve(&counts.primary, axis);
        let points: Vec<(u32, u32)> = path
            .trim_start_matches('M')
            .split(' ')
            .map(|point| point.split_once(',').expect("a point"))
            .map(|(x, y)| (x.parse().expect("a number"), y.parse().expect("a number")))
            .collect();
        assert!(points.is_sorted_by(|a, b| a.0 <= b.0 && a.1 >= b.1), "{path}");
        let heights: Vec<u32> = points.iter().map(|point| point.1).collect();
        assert_eq!(heights, [1000, 1000, 250, 250, 0, 0]);
    }

    #[test]
    fn ticks_are_round() {
        for (ns, text) in [(100_000, "100 µs"), (MS, "1 ms"), (500 * MS, "500 ms"), (20_000 * MS, "20 s")] {
            assert_eq!(tick_text(ns), text);
        }
    }
}
