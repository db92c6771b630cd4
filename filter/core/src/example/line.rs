//! The line that carries one example through Envoy's log, written by the module and read by the plugin.

use serde::{Deserialize, Serialize};

use crate::divergence::Kind;
use crate::place::Place;

/// What stands before the JSON in the log.
pub const PREFIX: &str = "kubectl-mirror example ";

/// The version of the format; a reader passes over any other.
pub const VERSION: u32 = 1;

/// One example. A reader ignores fields that it does not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// [`VERSION`].
    pub v: u32,
    /// When it was found: RFC 3339, UTC, with milliseconds.
    pub time: String,
    /// The mirror's name.
    pub mirror: String,
    /// The pair's id.
    pub pair: String,
    /// The endpoint: `GET /users/{id}`.
    pub endpoint: String,
    /// Where primary and candidate differ.
    pub place: Place,
    /// How.
    pub kind: Kind,
    /// What the primary has there, cut and redacted; null for nothing.
    pub primary: Option<String>,
    /// What the candidate has there, cut and redacted; null for nothing.
    pub candidate: Option<String>,
    /// Status of primary and candidate, where both answered.
    pub statuses: Option<(u16, u16)>,
    /// Time to the response's end of primary and candidate, in microseconds, where both are known.
    pub latencies_us: Option<(u64, u64)>,
}

impl Line {
    /// The text for the log: [`PREFIX`] and JSON, without any line break or other control character.
    pub fn to_log(&self) -> String {
        // These types hold nothing that JSON cannot say.
        let json = serde_json::to_string(self).unwrap_or_default();
        let mut text = String::with_capacity(PREFIX.len().saturating_add(json.len()));
        text.push_str(PREFIX);
        for c in json.chars() {
            // JSON escapes C0 only; terminals and line readers mind the others too. All are inside strings and below
            // U+10000, so this escape is right.
            if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') {
                text.push_str(&format!("\\u{:04x}", u32::from(c)));
            } else {
                text.push(c);
            }
        }
        text
    }

    /// The example in a line of Envoy's log, wherever it stands in it. Logs that are JSON themselves are read too.
    pub fn parse(log_line: &str) -> Option<Self> {
        Self::parse_text(log_line).or_else(|| {
            let entry: serde_json::Map<String, serde_json::Value> = serde_json::from_str(log_line).ok()?;
            entry.values().filter_map(serde_json::Value::as_str).find_map(Self::parse_text)
        })
    }

    fn parse_text(text: &str) -> Option<Self> {
        let (_, json) = text.split_once(PREFIX)?;
        // What follows the JSON is the log's own.
        let line: Self = serde_json::Deserializer::from_str(json).into_iter().next()?.ok()?;
        (line.v == VERSION).then_some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> Line {
        Line {
            v: VERSION,
            time: "2026-11-30T14:00:00.000Z".into(),
            mirror: "default/hello".into(),
            pair: "p\u{1b}[31m\n\u{85}\u{2028}".into(),
            endpoint: "GET /users/{id}".into(),
            place: Place::from("/items/*/price".to_owned()),
            kind: Kind::Value,
            primary: Some("\"1 \\\" kubectl-mirror example {\"".into()),
            candidate: None,
            statuses: Some((200, 503)),
            latencies_us: Some((1234, 5678)),
        }
    }

    #[test]
    fn a_line_is_found_in_the_log_and_read_back() {
        let text = line().to_log();
        assert!(!text.contains(|c: char| c.is_control() || c == '\u{2028}'), "{text:?}");
        let json_log = serde_json::json!({"level": "warning", "n": 1, "msg": format!("wasm log x: {text}")});
        for log in [
            text.clone(),
            format!("[2026-11-30 14:00:00.000][12][warning][wasm] [a.cc:1] wasm log mirror vm: {text}"),
            format!("2026-11-30T14:00:00.000000Z\twarning\tenvoy wasm a.cc:1\twasm log: {text}\tthread=12"),
            json_log.to_string(),
        ] {
            assert_eq!(Line::parse(&log), Some(line()), "{log}");
        }
    }

    #[test]
    fn fields_are_named_like_this() {
        let plain = Line { pair: "p".into(), primary: None, ..line() };
        let json = r#"{"v":1,"time":"2026-11-30T14:00:00.000Z","mirror":"default/hello","pair":"p","endpoint":"GET /users/{id}","place":"/items/*/price","kind":"value","primary":null,"candidate":null,"statuses":[200,503],"latencies_us":[1234,5678]}"#;
        assert_eq!(plain.to_log(), format!("{PREFIX}{json}"));
    }

    #[test]
    fn anything_else_is_passed_over() {
        let text = line().to_log();
        for log in [
            "",
            PREFIX,
            "{}",
            "[1]",
            &text.replace("\"v\":1", "\"v\":2"),
            &text.replace("\"kind\":\"value\"", "\"kind\":\"x\""),
            text.trim_end_matches('}'),
            text.trim_start_matches(PREFIX),
        ] {
            assert_eq!(Line::parse(log), None, "{log}");
        }
        assert_eq!(Line::parse(&text.replace("\"v\":1", "\"v\":1,\"new\":[]")), Some(line()));
    }
}
