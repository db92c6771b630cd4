//! Times that are about that of the request: when an answer was made says nothing about what made it.

use k8s_openapi::jiff::Timestamp;

use super::{Noise, Pair, Rule, Value, examples};

/// How far a time may lie from that of the request: clocks differ, and answers take their time.
const NEAR: f64 = 300.0;

/// Digits of a Unix time of today, what it counts, and how many of those make a second.
const UNITS: &[(usize, &str, f64)] = &[
    (10, "Unix times in seconds", 1.0),
    (13, "Unix times in milliseconds", 1e3),
    (16, "Unix times in microseconds", 1e6),
    (19, "Unix times in nanoseconds", 1e9),
];

pub(super) fn judge(pairs: &[Pair<'_>]) -> Option<Noise> {
    let mut farthest = 0.0_f64;
    let mut of = None;
    for pair in pairs {
        let found = seconds(pair.time)?;
        for value in [&pair.primary, &pair.candidate] {
            let (time, what) = read(value)?;
            // All are to be of one form.
            if *of.get_or_insert(what) != what {
                return None;
            }
            farthest = farthest.max((time - found).abs());
        }
    }
    if farthest > NEAR {
        return None;
    }
    let evidence = format!(
        "In {} both values are {}, {farthest:.1} s or less from the request, for example {}.",
        examples(pairs.len()),
        of?,
        pairs.first()?
    );
    Some(Noise { rule: Rule::Ignore, is_unmistakable: true, evidence })
}

/// Seconds since the epoch, and the form in which they are written.
fn read(value: &Value) -> Option<(f64, &'static str)> {
    let text = value.text.as_str();
    let digits = text.split_once('.').map_or(text, |(whole, _)| whole);
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let (_, what, unit) = UNITS.iter().find(|(length, ..)| *length == digits.len())?;
        return Some((text.parse::<f64>().ok()? / unit, what));
    }
    // A bare number is none of the others, and these are no numbers.
    if value.is_number { None } else { Some((seconds(text)?, "times as in RFC 3339")) }
}

/// Seconds since the epoch of a time as in RFC 3339; without an offset it is taken for UTC.
fn seconds(text: &str) -> Option<f64> {
    // Dates alone, weeks and the like are no times of an answer.
    if text.len() < "2026-11-30T17:42:10".len() {
        return None;
    }
    let time = text.parse::<Timestamp>().or_else(|_| format!("{text}Z").parse::<Timestamp>()).ok()?;
    Some(time.as_millisecond() as f64 / 1e3)
}
