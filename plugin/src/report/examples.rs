//! Examples of divergences: one for each place and kind, taken from the lines that the module logs.

use std::collections::BTreeMap;
use std::io::{self, BufRead};

use mirror_core::divergence::Kind;
use mirror_core::example::Line;

use super::model::Example;
use crate::source::logs;

/// Examples by mirror, place and kind. The latest one wins: it is what the candidate does now.
#[derive(Clone, Debug, Default)]
pub struct Examples(BTreeMap<(String, String, Kind), Example>);

impl Examples {
    /// Takes all examples from a log of Envoy's; other lines are passed over.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn read(&mut self, log: impl BufRead) -> io::Result<()> {
        logs::read(log, |line| self.insert(line))
    }

    /// Keeps an example.
    pub fn insert(&mut self, line: Line) {
        let Line { mirror, pair, endpoint, place, kind, primary, candidate, .. } = line;
        let example = Example { primary, candidate, endpoint, pair };
        self.0.insert((mirror, place.as_str().to_owned(), kind), example);
    }

    /// The example of a place and kind.
    pub fn find(&self, mirror: &str, place: &str, kind: Kind) -> Option<&Example> {
        self.0.get(&(mirror.to_owned(), place.to_owned(), kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_example_of_a_place_is_taken_from_a_log() {
        let line = |n: u32| {
            format!(
                r#"[x][warning] wasm log: kubectl-mirror example {{"v":1,"time":"t","mirror":"a/b","pair":"p{n}","endpoint":"GET /","place":"/x","kind":"value","primary":"{n}","candidate":null,"statuses":null,"latencies_us":null}}"#
            )
        };
        let long = "y".repeat(3 * 64 * 1024);
        let log = format!("{}\nsomething else\n{long}\n{}\n\u{fffd}", line(1), line(2));
        let mut examples = Examples::default();
        examples.read(log.as_bytes()).expect("a log");
        let expected =
            Example { primary: Some("2".into()), candidate: None, endpoint: "GET /".into(), pair: "p2".into() };
        assert_eq!(examples.find("a/b", "/x", Kind::Value), Some(&expected));
        assert_eq!(examples.find("a/b", "/x", Kind::Type), None);
        assert_eq!(examples.find("a/c", "/x", Kind::Value), None);
    }
}
