//! What counters have counted, out of samples of their values. Unlike PromQL's `increase`, nothing is extrapolated, and what a
//! counter says first counts where it was not there before: the module's come into being with the first pair that they
//! count.

use std::collections::BTreeSet;

use mirror_core::stats::names::Metric;

/// What the counters of one gateway have counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// By how much each has grown; of a gauge its last value.
    pub increases: Vec<(Metric, u64)>,
    /// Whether they began anew within the time.
    pub began_anew: bool,
}

/// A sample: when, in seconds since the Unix epoch, and which value.
type Sample = (f64, f64);

/// Adds up what the counters of one gateway have counted since `since`, in seconds since the Unix epoch. All of them are scraped
/// together, and all begin anew where one does.
pub fn increases(series: &[(Metric, Vec<Sample>)], since: u64) -> Counted {
    let counters = || series.iter().filter(|(metric, _)| !is_gauge(metric));
    let resets: BTreeSet<u64> = counters()
        .flat_map(|(_, samples)| {
            samples.windows(2).filter(|pair| pair[1].1 < pair[0].1).map(|pair| pair[1].0.to_bits())
        })
        .collect();
    // The bits of positive numbers are in their order.
    let is_reset_between = |from: Sample, to: Sample| {
        let (from, to) = (from.0.to_bits(), to.0.to_bits());
        resets.range(from.saturating_add(1)..=to).next().is_some()
    };
    let first =
        series.iter().filter_map(|(_, samples)| samples.first()).map(|sample| sample.0).fold(f64::MAX, f64::min);
    let appeared = first > since as f64 && first < f64::MAX;
    let increases = series.iter().filter_map(|(metric, samples)| {
        if is_gauge(metric) {
            return Some((metric.clone(), whole(samples.last()?.1)));
        }
        let (at, value) = *samples.first()?;
        // At the beginning of the time it says what was counted before.
        let at_first = if at > since as f64 { whole(value) } else { 0 };
        let grown = samples.windows(2).map(|pair| {
            let before = if is_reset_between(pair[0], pair[1]) { 0 } else { whole(pair[0].1) };
            whole(pair[1].1).saturating_sub(before)
        });
        Some((metric.clone(), grown.fold(at_first, u64::saturating_add)))
    });
    Counted { increases: increases.collect(), began_anew: appeared || !resets.is_empty() }
}

fn is_gauge(metric: &Metric) -> bool {
    matches!(metric, Metric::Alive { .. } | Metric::Build { .. })
}

/// A count that came as a floating-point number; what is none is nothing.
fn whole(value: f64) -> u64 {
    value.round() as u64
}

#[cfg(test)]
mod tests {
    use mirror_core::outcome::Outcome;
    use mirror_core::stats::names::Text;

    use super::*;

    fn pairs(outcome: Outcome) -> Metric {
        Metric::Pairs { mirror: Text::new("a/b"), outcome }
    }

    /// Samples a minute apart from second 1000 on; NaN stands for none.
    fn samples(values: &[f64]) -> Vec<Sample> {
        let at = |i: usize| 1000.0 + 60.0 * i as f64;
        values.iter().enumerate().filter(|(_, value)| !value.is_nan()).map(|(i, value)| (at(i), *value)).collect()
    }

    #[test]
    fn counters_are_added_up_over_their_resets() {
        const NONE: f64 = f64::NAN;
        for (name, one, other, counted, anew) in [
            ("they grow", &[5.0, 6.0, 9.0][..], &[0.0, 0.0, 2.0][..], (4, 2), false),
            ("one comes into being", &[5.0, 6.0, 9.0], &[NONE, NONE, 2.0], (4, 2), false),
            ("one is not scraped for a while", &[5.0, NONE, 9.0], &[1.0, 1.0, 2.0], (4, 1), false),
            ("a restart", &[5.0, 7.0, 3.0, 4.0], &[1.0, 1.0, 1.0, 1.0], (2 + 4, 1), true),
            ("a restart after which one has more", &[5.0, 2.0], &[1.0, 8.0], (2, 8), true),
            ("a restart after which one is gone", &[5.0, 2.0], &[1.0, NONE], (2, 0), true),
            ("a gateway appears", &[NONE, 3.0, 4.0], &[NONE, 1.0, 1.0], (4, 1), true),
            ("nothing happens", &[5.0, 5.0], &[5.0, 5.0], (0, 0), false),
        ] {
            let series = [(pairs(Outcome::Match), samples(one)), (pairs(Outcome::Diverged), samples(other))];
            let found = increases(&series, 1000);
            let of =
                |outcome| found.increases.iter().find(|(metric, _)| *metric == pairs(outcome)).map_or(0, |(_, n)| *n);
            assert_eq!((of(Outcome::Match), of(Outcome::Diverged)), counted, "{name}");
            assert_eq!(found.began_anew, anew, "{name}");
        }
    }

    #[test]
    fn gauges_are_what_they_said_last() {
        let alive = Metric::Alive { slot: 1 };
        let found = increases(&[(alive.clone(), samples(&[900.0, 960.0, 0.0]))], 1000);
        assert_eq!(found, Counted { increases: vec![(alive, 0)], began_anew: false });
    }
}
