//! `--since` and `--until`: which time a report is to cover.

use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Where the time begins that a report is to cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// With the baseline that --reset stored.
    Reset,
    /// So long before its end.
    Before(Duration),
}

impl FromStr for Since {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "reset" {
            return Ok(Self::Reset);
        }
        match humantime::parse_duration(text) {
            Ok(duration) if duration.as_secs() > 0 => Ok(Self::Before(duration)),
            Ok(_) => Err("it must be a second at least".to_owned()),
            Err(_) => Err("expected a time such as 10m or 2h, or `reset`".to_owned()),
        }
    }
}

/// Reads a moment as seconds since the Unix epoch: `2026-11-30T14:00:00Z`, or with a space, without the `Z`; always UTC.
///
/// # Errors
/// Anything else.
pub fn parse_until(text: &str) -> Result<u64, String> {
    let time = humantime::parse_rfc3339_weak(text).ok();
    let seconds = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).map(|since| since.as_secs());
    seconds.ok_or_else(|| "expected a time such as 2026-11-30T14:00:00Z (UTC)".to_owned())
}

/// This machine's clock, in seconds since the Unix epoch.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (text, since) in [
            ("reset", Some(Since::Reset)),
            ("90s", Some(Since::Before(Duration::from_secs(90)))),
            ("1h 30m", Some(Since::Before(Duration::from_secs(5400)))),
            ("0s", None),
            ("10", None),
            ("yesterday", None),
        ] {
            assert_eq!(text.parse().ok(), since, "{text}");
        }
        for (text, until) in [
            ("2026-11-30T14:07:32Z", Some(1_796_047_652)),
            ("2026-11-30 14:07:32", Some(1_796_047_652)),
            ("14:07", None),
            ("1969-01-01T00:00:00Z", None),
        ] {
            assert_eq!(parse_until(text).ok(), until, "{text}");
        }
    }
}
