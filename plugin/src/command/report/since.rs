//! `--since`: which time a report is to cover.

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
    }
}
