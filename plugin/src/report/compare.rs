//! Compares two reports on the same mirrors: what has become better or worse from one to the other. A rate has changed where
//! the difference is beyond chance, by 95 % confidence; a quantile of the latency where its ratio to the primary's is.

pub mod json;
pub mod markdown;
pub mod table;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use mirror_core::divergence::Kind;
use mirror_core::outcome::Outcome;
use mirror_core::stats::histogram;

use super::math::Share;
use super::model::{Latency, Mirror, Report};

/// What has become of the mirrors of two reports.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Mirrors of both, by name.
    pub mirrors: Vec<Change>,
    /// Mirrors of the later report alone.
    pub only_now: Vec<String>,
    /// Mirrors of the earlier report alone.
    pub only_before: Vec<String>,
}

/// What has become of one mirror.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// `<namespace>/<route>`.
    pub name: String,
    /// The diverged pairs, out of those compared.
    pub diverged: Rate,
    /// What can be counted beside that: what is worse first, then what is better, then what may be chance.
    pub rates: Vec<(Subject, Rate)>,
    /// The latency's quantiles that both have.
    pub latency: Vec<Slowness>,
}

/// What a rate is of. The order is that in which they are shown.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// A place that differs, out of the compared pairs.
    Place(String, Kind),
    /// A pair of different status codes, out of the pairs that both sides answered.
    Status(u16, u16),
    /// Pairs that were not compared, out of all.
    Outcome(Outcome),
    /// The diverged pairs of an endpoint, out of those compared.
    Endpoint(String),
}

/// A rate before and now. All of them are better where they are lower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// In the earlier report.
    pub before: Share,
    /// In the later one.
    pub now: Share,
}

/// A quantile of the candidate's latency and of the primary's, before and now, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slowness {
    /// Which quantile, 0 to 1.
    pub q: f64,
    /// The primary's and the candidate's, in the earlier report.
    pub before: (u64, u64),
    /// The same in the later one.
    pub now: (u64, u64),
    /// What has become of the candidate's against the primary's.
    pub trend: Trend,
}

/// What has become of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trend {
    /// It is worse, beyond chance.
    Worse,
    /// It is better, beyond chance.
    Better,
    /// It may be as it was.
    Unclear,
}

impl Trend {
    /// The word that JSON uses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Worse => "worse",
            Self::Better => "better",
            Self::Unclear => "unclear",
        }
    }
}

impl Rate {
    /// What has become of it.
    pub fn trend(self) -> Trend {
        match self.difference() {
            Some((low, _)) if low > 0.0 => Trend::Worse,
            Some((_, high)) if high < 0.0 => Trend::Better,
            _ => Trend::Unclear,
        }
    }

    /// Where the difference of the two true rates lies with 95 % confidence: Newcombe's interval, which is made of Wilson's of
    /// both. `None` where one of them is of nothing.
    pub fn difference(self) -> Option<(f64, f64)> {
        let (before, now) = (self.before.rate()?, self.now.rate()?);
        let ((before_low, before_high), (now_low, now_high)) = (self.before.interval()?, self.now.interval()?);
        let difference = now - before;
        let low = difference - (now - now_low).hypot(before_high - before);
        let high = difference + (now_high - now).hypot(before - before_low);
        Some((low, high))
    }
}

/// Compares two reports.
pub fn compare(before: &Report, now: &Report) -> Comparison {
    let names = |report: &Report| report.mirrors.iter().map(|mirror| mirror.name.clone()).collect::<BTreeSet<_>>();
    let (earlier, later) = (names(before), names(now));
    let mirrors = now.mirrors.iter().filter_map(|now| {
        let before = before.mirrors.iter().find(|before| before.name == now.name)?;
        Some(change(before, now))
    });
    Comparison {
        mirrors: mirrors.collect(),
        only_now: later.difference(&earlier).cloned().collect(),
        only_before: earlier.difference(&later).cloned().collect(),
    }
}

fn change(before: &Mirror, now: &Mirror) -> Change {
    let (counts_before, counts_now) = (counts(before), counts(now));
    let subjects: BTreeSet<&Subject> = counts_before.keys().chain(counts_now.keys()).collect();
    let rates = subjects.into_iter().map(|subject| {
        let share = |counts: &BTreeMap<Subject, Share>, mirror: &Mirror| {
            counts.get(subject).copied().unwrap_or_else(|| Share::new(0, of(mirror, subject)))
        };
        let rate = Rate { before: share(&counts_before, before), now: share(&counts_now, now) };
        (subject.clone(), rate)
    });
    let mut rates: Vec<_> = rates.collect();
    rates.sort_by_key(|(_, rate)| rate.trend());
    let latency = before.latency.iter().zip(&now.latency).flat_map(|(before, now)| slowness(before, now)).collect();
    Change { name: now.name.clone(), diverged: Rate { before: before.diverged(), now: now.diverged() }, rates, latency }
}

/// What differs or was not compared in a mirror, and how often.
fn counts(mirror: &Mirror) -> BTreeMap<Subject, Share> {
    let mut counts = BTreeMap::new();
    for place in mirror.differing() {
        counts.insert(Subject::Place(place.place.clone(), place.kind), place.share());
    }
    for row in mirror.statuses.iter().filter(|row| row.primary != row.candidate) {
        let subject = Subject::Status(row.primary, row.candidate);
        counts.insert(subject, Share::new(row.pairs, mirror.differing_status().of));
    }
    for (outcome, pairs) in mirror.outcomes.iter().filter(|(outcome, _)| outcome.reason().is_some()) {
        counts.insert(Subject::Outcome(*outcome), Share::new(*pairs, mirror.pairs()));
    }
    for endpoint in mirror.endpoints.iter().filter(|endpoint| endpoint.diverged().count > 0) {
        counts.insert(Subject::Endpoint(endpoint.name.clone()), endpoint.diverged());
    }
    counts
}

/// Out of how many there are none of a subject in a mirror.
fn of(mirror: &Mirror, subject: &Subject) -> u64 {
    match subject {
        Subject::Place(..) => mirror.compared(),
        Subject::Status(..) => mirror.differing_status().of,
        Subject::Outcome(_) => mirror.pairs(),
        Subject::Endpoint(name) => {
            mirror.endpoints.iter().find(|endpoint| endpoint.name == *name).map_or(0, |endpoint| endpoint.compared())
        }
    }
}

fn slowness(before: &Latency, now: &Latency) -> impl Iterator<Item = Slowness> {
    [0.5, 0.9, 0.99].into_iter().filter_map(|q| {
        let trend = match (ratio(before, q)?, ratio(now, q)?) {
            ((_, before_high), (now_low, _)) if now_low > before_high => Trend::Worse,
            ((before_low, _), (_, now_high)) if now_high < before_low => Trend::Better,
            _ => Trend::Unclear,
        };
        Some(Slowness { q, before: before.quantile(q)?, now: now.quantile(q)?, trend })
    })
}

/// Where the candidate's true quantile lies, as a multiple of the primary's.
fn ratio(latency: &Latency, q: f64) -> Option<(f64, f64)> {
    let (primary, candidate) = (interval(&latency.primary, q)?, interval(&latency.candidate, q)?);
    Some((candidate.0 / primary.1, candidate.1 / primary.0))
}

/// Where a true quantile lies with 95 % confidence, in nanoseconds: between the bounds of the buckets of those ranks between
/// which it falls by chance (the normal approximation of the binomial distribution).
fn interval(counts: &BTreeMap<u16, u64>, q: f64) -> Option<(f64, f64)> {
    let n = counts.values().sum::<u64>() as f64;
    let by_chance = 1.96 * (q * (1.0 - q) / n).sqrt();
    let bucket = |q: f64| histogram::quantile(counts, q.clamp(0.0, 1.0)).map(histogram::bucket_of);
    let (low, _) = histogram::bounds(bucket(q - by_chance)?);
    let (_, high) = histogram::bounds(bucket(q + by_chance)?);
    // A bucket that begins at zero is no divisor.
    Some((low.max(1) as f64, high as f64))
}

#[cfg(test)]
mod tests;
