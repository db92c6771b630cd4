//! What a comparison says in words, for people.

use super::{Change, Comparison, Rate, Subject, Trend};
use crate::report::math::Share;
use crate::report::text::{change, percent, plural, printable};
use crate::report::verdict::outcome_words;

/// One line on a mirror, without its name: `2 rates are worse, 1 is better: 20.0 % of 1,000 pairs differ, 30.0 % of 900 did`.
pub fn headline(change: &Change) -> String {
    let count = |wanted: Trend| {
        let rates = change.rates.iter().filter(|(_, rate)| rate.trend() == wanted).count();
        let latency = change.latency.iter().filter(|row| row.trend == wanted).count();
        rates + latency
    };
    let verb = |n: usize| if n == 1 { "is" } else { "are" };
    let said = match (count(Trend::Worse), count(Trend::Better)) {
        (0, 0) => "nothing has changed beyond chance".to_owned(),
        (worse, 0) => format!("{worse} {} worse", verb(worse)),
        (0, better) => format!("{better} {} better", verb(better)),
        (worse, better) => format!("{worse} {} worse, {better} {} better", verb(worse), verb(better)),
    };
    let of = |share: Share| match share.rate() {
        Some(rate) => format!("{} of {}", percent(rate), plural(share.of, "pair")),
        None => "none of 0 pairs".to_owned(),
    };
    let Rate { before, now } = change.diverged;
    format!("{said}: {} differ, before {}", of(now), of(before))
}

/// What a rate is of, in two words: what and how.
pub fn subject(subject: &Subject) -> [String; 2] {
    match subject {
        Subject::Place(place, kind) => [printable(place), kind.to_string()],
        Subject::Status(primary, candidate) => ["status".to_owned(), format!("{primary} → {candidate}")],
        Subject::Outcome(outcome) => ["pairs".to_owned(), outcome_words(*outcome)],
        Subject::Endpoint(endpoint) => [printable(endpoint), "diverged".to_owned()],
    }
}

/// A rate before and now, and what that means.
pub fn rate(rate: Rate) -> [String; 3] {
    let shown = |share: Share| share.rate().map_or_else(|| "-".to_owned(), percent);
    let trend = match (rate.trend(), rate.before.count, rate.now.count) {
        (Trend::Worse, 0, _) => "worse: new",
        (Trend::Better, _, 0) => "better: gone",
        (trend, ..) => word(trend),
    };
    [shown(rate.before), shown(rate.now), trend.to_owned()]
}

/// How a quantile of the candidate compares with the primary's.
pub fn against_primary((primary, candidate): (u64, u64)) -> String {
    change(primary as f64, candidate as f64).unwrap_or_else(|| "-".to_owned())
}

/// A trend in words.
pub const fn word(trend: Trend) -> &'static str {
    match trend {
        Trend::Worse => "worse",
        Trend::Better => "better",
        Trend::Unclear => "as before, or by chance",
    }
}

/// How many rates are not listed, since they may be as they were.
pub fn unclear(change: &Change) -> Option<String> {
    let n = change.rates.iter().filter(|(_, rate)| rate.trend() == Trend::Unclear).count() as u64;
    (n > 0).then(|| {
        format!("{} as before, or changed by chance.", plural(n, "more rate") + if n == 1 { " is" } else { " are" })
    })
}

/// Mirrors that cannot be compared.
pub fn alone(comparison: &Comparison) -> Vec<String> {
    let alone =
        [(&comparison.only_now, "was not in the earlier report."), (&comparison.only_before, "is not in this report.")];
    let lines =
        alone.into_iter().flat_map(|(names, what)| names.iter().map(move |name| format!("{} {what}", printable(name))));
    let none = comparison.mirrors.is_empty() && comparison.only_now.is_empty() && comparison.only_before.is_empty();
    lines.chain(none.then(|| "There is no mirror in either report.".to_owned())).collect()
}
