//! Rounding: numbers that differ by less than what one of the sides shows of them. A price that is rounded to whole units is
//! not that: at least hundredths must be left.

use super::{Bound, Noise, Pair, Rule, Value, examples};

/// How many decimals the side that shows fewer of them must show.
const DECIMALS: usize = 2;
/// What binary fractions are off by, as a share: no number of a person's is given that exactly.
const BINARY: f64 = 1e-9;

pub(super) fn judge(pairs: &[Pair<'_>]) -> Option<Noise> {
    let mut numbers = Vec::new();
    for pair in pairs {
        if !(pair.primary.is_number && pair.candidate.is_number) {
            return None;
        }
        numbers.push((pair.primary.text.parse::<f64>().ok()?, pair.candidate.text.parse::<f64>().ok()?));
    }
    let apart = |(ours, theirs): &(f64, f64)| (ours - theirs).abs();
    let share = |(ours, theirs): &(f64, f64)| (ours - theirs).abs() / ours.abs().max(theirs.abs());
    let widest = numbers.iter().map(apart).fold(0.0, f64::max);
    let largest_share = numbers.iter().map(share).fold(0.0, f64::max);
    if !(widest.is_finite() && largest_share.is_finite()) {
        return None;
    }
    let (bound, said, is_unmistakable) = if largest_share <= BINARY {
        (Bound::Relative(BINARY), "so much are binary fractions off".to_owned(), true)
    } else {
        let decimals = rounded_to(pairs)?;
        let unit = 10_f64.powi(-i32::try_from(decimals).ok()?);
        // What was cut off instead of rounded differs by almost a unit; binary fractions may make it a little more.
        if widest > unit * (1.0 + BINARY) {
            return None;
        }
        (Bound::Absolute(unit), format!("one side is rounded to {decimals} decimals"), false)
    };
    let evidence = format!(
        "In {} the numbers differ by {} at most ({} % of the larger one): {said}, for example {}.",
        examples(pairs.len()),
        about(widest),
        about(largest_share * 100.0),
        pairs.first()?
    );
    Some(Noise { rule: Rule::Tolerance(bound), is_unmistakable, evidence })
}

/// A number in two digits.
fn about(number: f64) -> String {
    format!("{number:.1e}").parse::<f64>().map_or_else(|_| number.to_string(), |number| number.to_string())
}

/// How many decimals that side shows which shows fewer of them. `None` where both show as many, or too few are left: then
/// it is no rounding, or one that matters.
fn rounded_to(pairs: &[Pair<'_>]) -> Option<usize> {
    let ours = most_decimals(pairs.iter().map(|pair| &pair.primary))?;
    let theirs = most_decimals(pairs.iter().map(|pair| &pair.candidate))?;
    let fewer = ours.min(theirs);
    (ours != theirs && fewer >= DECIMALS).then_some(fewer)
}

/// The most decimals that a side shows: zeros at the end are not always written.
fn most_decimals<'a>(mut side: impl Iterator<Item = &'a Value>) -> Option<usize> {
    side.try_fold(0, |most, value| Some(decimals(&value.text)?.max(most)))
}

/// How many digits stand behind the point; `None` where the number has an exponent.
fn decimals(number: &str) -> Option<usize> {
    if number.contains(['e', 'E']) {
        return None;
    }
    Some(number.split_once('.').map_or(0, |(_, decimals)| decimals.len()))
}
