//! Numbers and values as people read them: thousands separators, percentages that do not lie at their ends, plurals,
//! durations, points in time, and foreign text that is safe on a terminal.

use std::time::{Duration, UNIX_EPOCH};

/// `1203` → `1,203`.
pub fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 pair`, `1,203 pairs`. `one` is the singular of a word whose plural ends in `s`.
pub fn plural(n: u64, one: &str) -> String {
    format!("{} {one}{}", thousands(n), if n == 1 { "" } else { "s" })
}

/// A rate (0 to 1) in percent: `12.4 %`, `0.30 %`. Neither `0 %` nor `100 %` is said of what is not exactly that.
pub fn percent(rate: f64) -> String {
    format!("{} %", percent_number(rate))
}

/// Two rates as a range in percent: `10.6–14.4 %`.
pub fn percent_range((low, high): (f64, f64)) -> String {
    format!("{}–{} %", percent_number(low), percent_number(high))
}

fn percent_number(rate: f64) -> String {
    let percent = rate * 100.0;
    match percent {
        p if p <= 0.0 => "0".to_owned(),
        p if p < 0.01 => "<0.01".to_owned(),
        p if p < 0.995 => format!("{p:.2}"),
        p if p >= 100.0 => "100".to_owned(),
        p if p > 99.9 => ">99.9".to_owned(),
        p => format!("{p:.1}"),
    }
}

/// Nanoseconds: `850 µs`, `12.3 ms`, `1.20 s`.
pub fn duration(ns: f64) -> String {
    match ns {
        ns if ns < 1e3 => format!("{ns:.0} ns"),
        ns if ns < 999.5e3 => format!("{:.0} µs", ns / 1e3),
        ns if ns < 99.95e6 => format!("{:.1} ms", ns / 1e6),
        ns if ns < 999.5e6 => format!("{:.0} ms", ns / 1e6),
        ns => format!("{:.2} s", ns / 1e9),
    }
}

/// How `new` compares with `old`, in percent with a sign: `+15 %`, `-3 %`, `±0 %`; `None` where `old` is zero.
pub fn change(old: f64, new: f64) -> Option<String> {
    if old <= 0.0 {
        return None;
    }
    let percent = ((new / old - 1.0) * 100.0).round();
    Some(if percent == 0.0 { "±0 %".to_owned() } else { format!("{percent:+.0} %") })
}

/// Seconds since the Unix epoch as RFC 3339 writes them, UTC: `2026-11-30T14:07:32Z`. What lies beyond the year 9999 is
/// shown as its end.
pub fn timestamp(seconds: u64) -> String {
    const LAST: u64 = 253_402_300_799;
    let time = UNIX_EPOCH + Duration::from_secs(seconds.min(LAST));
    humantime::format_rfc3339_seconds(time).to_string()
}

/// The same for people: `2026-11-30 14:07:32 UTC`.
pub fn moment(seconds: u64) -> String {
    timestamp(seconds).replace('T', " ").replace('Z', " UTC")
}

/// A word of metrics and JSON as people write it: `shadow_slow` → `shadow slow`.
pub fn words(word: &str) -> String {
    word.replace('_', " ")
}

/// Text that came over the wire, made safe to print on one line: control characters, and those that turn the direction
/// of writing, are shown as escapes.
pub fn printable(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        let breaks = matches!(c, '\u{2028}' | '\u{2029}');
        if c.is_control() || turns || breaks {
            safe.extend(c.escape_default());
        } else {
            safe.push(c);
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        for (n, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345, "12,345"), (1_234_567, "1,234,567")] {
            assert_eq!(thousands(n), text);
        }
        assert_eq!(thousands(u64::MAX), "18,446,744,073,709,551,615");
    }

    #[test]
    fn one_pair_two_pairs() {
        assert_eq!(plural(0, "pair"), "0 pairs");
        assert_eq!(plural(1, "pair"), "1 pair");
        assert_eq!(plural(1203, "pair"), "1,203 pairs");
    }

    #[test]
    fn percentages_are_whole_only_where_they_are() {
        for (rate, text) in [
            (0.0, "0 %"),
            (1.0, "100 %"),
            (0.1238, "12.4 %"),
            (0.003, "0.30 %"),
            (0.0003, "0.03 %"),
            (0.00094, "0.09 %"),
            (0.0099, "0.99 %"),
            (0.00996, "1.0 %"),
            (0.00001, "<0.01 %"),
            (0.99999, ">99.9 %"),
            (0.999, "99.9 %"),
        ] {
            assert_eq!(percent(rate), text, "{rate}");
        }
        assert_eq!(percent_range((0.106, 0.144)), "10.6–14.4 %");
    }

    #[test]
    fn durations_take_the_unit_that_fits() {
        for (ns, text) in [
            (12.0, "12 ns"),
            (850_400.0, "850 µs"),
            (999_700.0, "1.0 ms"),
            (12_340_000.0, "12.3 ms"),
            (99_960_000.0, "100 ms"),
            (999_600_000.0, "1.00 s"),
            (61.5e9, "61.50 s"),
        ] {
            assert_eq!(duration(ns), text, "{ns}");
        }
    }

    #[test]
    fn changes_have_a_sign() {
        assert_eq!(change(100.0, 115.2).as_deref(), Some("+15 %"));
        assert_eq!(change(100.0, 97.0).as_deref(), Some("-3 %"));
        assert_eq!(change(100.0, 100.1).as_deref(), Some("±0 %"));
        assert_eq!(change(0.0, 1.0), None);
    }

    #[test]
    fn points_in_time() {
        assert_eq!(timestamp(1_796_047_652), "2026-11-30T14:07:32Z");
        assert_eq!(moment(1_796_047_652), "2026-11-30 14:07:32 UTC");
        assert_eq!(timestamp(u64::MAX), "9999-12-31T23:59:59Z");
    }

    #[test]
    fn what_could_command_a_terminal_is_escaped() {
        assert_eq!(printable("a\u{1b}[31mb\nc"), "a\\u{1b}[31mb\\nc");
        assert_eq!(printable("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(printable("Äpfel 苹果 🍎"), "Äpfel 苹果 🍎");
    }
}
