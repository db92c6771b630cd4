//! Examples for people. What is of one pair stands below one heading:
//!
//! ```text
//! 2026-11-30T17:42:10.143Z  GET /orders/{id}  200 → 500
//!   shop/cart  pair 4f6d-1  1.8 ms → 3.0 ms  istio-system/gw-0
//!   status  value
//!     200 │ 500
//!     ^   │ ^
//! ```

use super::{Example, values};
use crate::grid::{Paint, cut_end};
use crate::report::table::Look;
use crate::report::text::{duration, printable};

/// Writes examples one after the other.
#[derive(Debug)]
pub struct Text {
    look: Look,
    /// The pair that the last heading is of.
    pair: Option<(String, String, Option<String>)>,
}

impl Text {
    /// Begins with the first heading.
    pub fn new(look: Look) -> Self {
        Self { look, pair: None }
    }

    /// One example, with a heading where it is of another pair than the one before.
    pub fn add(&mut self, example: &Example) -> String {
        let line = &example.line;
        let pair = Some((line.time.clone(), line.pair.clone(), example.gateway.clone()));
        let mut text = String::new();
        if self.pair != pair {
            if self.pair.is_some() {
                text.push('\n');
            }
            self.pair = pair;
            text.push_str(&self.heading(example));
        }
        let place = cut_end(&format!("  {}", printable(line.place.as_str())), self.look.width.saturating_sub(9));
        text.push_str(&format!("{}  {}\n", Paint::Bold.on(&place, self.look.colour), line.kind));
        text.push_str(&values::render(line.primary.as_deref(), line.candidate.as_deref(), self.look));
        text
    }

    fn heading(&self, example: &Example) -> String {
        let line = &example.line;
        let mut first = format!("{}  {}", line.time, line.endpoint);
        if let Some((primary, candidate)) = line.statuses {
            first += &format!("  {primary} → {candidate}");
        }
        let mut second = format!("  {}  pair {}", line.mirror, line.pair);
        if let Some((primary, candidate)) = line.latencies_us {
            let shown = |micros: u64| duration(micros as f64 * 1e3);
            second += &format!("  {} → {}", shown(primary), shown(candidate));
        }
        if let Some(gateway) = &example.gateway {
            second += &format!("  {gateway}");
        }
        let [first, second] = [first, second].map(|text| cut_end(&printable(&text), self.look.width));
        let colour = self.look.colour;
        format!("{}\n{}\n", Paint::Bold.on(&first, colour), Paint::Dim.on(&second, colour))
    }
}

#[cfg(test)]
mod tests {
    use mirror_core::divergence::Kind;
    use mirror_core::example::Line;

    use super::super::testing::{example, line};
    use super::*;

    fn examples() -> Vec<Example> {
        let missing = Line { kind: Kind::Missing, candidate: None, ..line("/state", "\"shipped\"", "") };
        let items =
            |rest: &str| format!("[{{\"id\": 0, \"name\": \"lamp\"}}, {{\"id\": 1, \"name\": \"chair\"}}, {rest}…");
        let order = Line {
            time: "2026-11-30T17:42:11.000Z".into(),
            pair: "\u{1b}[2Jpair".into(),
            kind: Kind::Order,
            statuses: None,
            latencies_us: None,
            ..line("/items", &items("{\"id\": 2, \"name\": \"desk\"}"), &items("{\"id\": 3, \"name\": \"shelf\"}"))
        };
        vec![
            example("/price", "19.99", "20"),
            Example { line: missing, ..example("", "", "") },
            Example { gateway: None, line: order },
        ]
    }

    fn shown(width: usize, colour: bool) -> String {
        let mut text = Text::new(Look { width, colour, wide: false });
        examples().iter().map(|example| text.add(example)).collect()
    }

    #[test]
    fn on_a_narrow_and_on_a_wide_terminal() {
        insta::assert_snapshot!("80_columns", shown(80, false));
        insta::assert_snapshot!("200_columns", shown(200, false));
        insta::assert_snapshot!("in_colour", shown(80, true).replace('\u{1b}', "ESC"));
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for width in [60, 80, 120, 200] {
            let text = shown(width, false);
            let widest = text.lines().map(crate::grid::width).max();
            assert!(widest <= Some(width), "{width}: {text}");
        }
    }
}
