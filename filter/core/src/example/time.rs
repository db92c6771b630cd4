//! Times as text.

const DAY: u64 = 86_400;
const MONTHS: [u64; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/// Nanoseconds since the epoch as RFC 3339 in UTC with milliseconds: `2026-11-30T14:04:24.123Z`.
pub fn rfc3339(ns: u64) -> String {
    let (seconds, millis) = (ns / 1_000_000_000, ns / 1_000_000 % 1000);
    let (year, month, day) = date(seconds / DAY);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// Year, month and day of a day since the epoch. Nanoseconds in 64 bits end in 2554, so the years can be walked.
fn date(mut day: u64) -> (u64, u64, u64) {
    let mut year = 1970_u64;
    loop {
        let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
        for (month, length) in (1..).zip(MONTHS) {
            let length = if leap && month == 2 { 29 } else { length };
            match day.checked_sub(length) {
                Some(later) => day = later,
                None => return (year, month, day.saturating_add(1)),
            }
        }
        year = year.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_times() {
        for (seconds, millis, text) in [
            (0, 0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, 999, "2000-02-28T23:59:59.999Z"),
            (951_782_400, 0, "2000-02-29T00:00:00.000Z"),
            (951_868_800, 1, "2000-03-01T00:00:00.001Z"),
            (1_704_067_199, 20, "2023-12-31T23:59:59.020Z"),
            (1_709_208_000, 0, "2024-02-29T12:00:00.000Z"),
            (4_107_542_399, 0, "2100-02-28T23:59:59.000Z"),
            (4_107_542_400, 0, "2100-03-01T00:00:00.000Z"),
            (u64::MAX / 1_000_000_000, 709, "2554-07-21T23:34:33.709Z"),
        ] {
            assert_eq!(rfc3339(seconds * 1_000_000_000 + millis * 1_000_000), text);
        }
    }
}
