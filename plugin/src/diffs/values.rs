//! What two sides say at one place, side by side or one below the other, with the part that differs marked: by colour, or by
//! a line of carets where there is none.

use std::ops::Range;

use crate::grid::{Paint, width};
use crate::report::table::Look;
use crate::report::text::printable;

/// Stands before each line.
const INDENT: usize = 4;
/// Between two sides.
const BETWEEN: &str = " │ ";
/// From this width on, sides that do not fit beside each other are broken into lines rather than put below each other.
const WIDE: usize = 120;
/// A longer value most of which differs is not marked, but by colour.
const SHORT: usize = 20;
/// The narrowest that is laid out for.
const NARROWEST: usize = 40;

/// One side's value, fit for a terminal.
struct Side {
    text: String,
    /// The characters that differ from the other side's.
    differs: Range<usize>,
    paint: Paint,
    /// Whether carets tell more than the value does.
    is_marked: bool,
}

/// Lays out what primary and candidate say; `None` is said of a side that has nothing there. Ends with a newline.
pub fn render(primary: Option<&str>, candidate: Option<&str>, look: Look) -> String {
    let [primary, candidate] = sides(primary, candidate);
    let room = look.width.max(NARROWEST) - INDENT;
    let half = (room - columns(BETWEEN)) / 2;
    let fits = columns(&primary.text) <= half && columns(&candidate.text) <= half;
    if fits || look.width >= WIDE {
        return beside(&primary.lines(half, look.colour), &candidate.lines(half, look.colour), half);
    }
    let mut text = String::new();
    for (sign, side) in [("- ", &primary), ("+ ", &candidate)] {
        let mut sign = sign;
        for line in side.lines(room - sign.len(), look.colour) {
            text.push_str(&format!("{:INDENT$}{sign}{}\n", "", line.text));
            sign = "  ";
        }
    }
    text
}

/// How many columns a text takes, character by character, as it is broken.
fn columns(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

fn columns_of(c: char) -> usize {
    width(c.encode_utf8(&mut [0; 4]))
}

fn sides(primary: Option<&str>, candidate: Option<&str>) -> [Side; 2] {
    let [Some(ours), Some(theirs)] = [primary, candidate].map(|value| value.map(printable)) else {
        return [(primary, Paint::Red), (candidate, Paint::Green)].map(|(value, paint)| match value {
            Some(value) => Side::all(printable(value), paint),
            None => Side::all("(absent)".to_owned(), Paint::Dim),
        });
    };
    let (differs, differs_there) = differing(&ours, &theirs);
    let says_more = |text: &str, differs: &Range<usize>| {
        let length = text.chars().count();
        differs.len() < length && (length <= SHORT || differs.len() * 2 <= length)
    };
    let is_marked = says_more(&ours, &differs) && says_more(&theirs, &differs_there);
    [
        Side { text: ours, differs, paint: Paint::Red, is_marked },
        Side { text: theirs, differs: differs_there, paint: Paint::Green, is_marked },
    ]
}

/// The characters of each text that are neither in their common beginning nor in their common end.
fn differing(ours: &str, theirs: &str) -> (Range<usize>, Range<usize>) {
    let [our_length, their_length] = [ours, theirs].map(|text| text.chars().count());
    let begin = ours.chars().zip(theirs.chars()).take_while(|(ours, theirs)| ours == theirs).count();
    let most = our_length.min(their_length) - begin;
    let same_end = ours.chars().rev().zip(theirs.chars().rev()).take_while(|(ours, theirs)| ours == theirs).count();
    let end = same_end.min(most);
    (begin..our_length - end, begin..their_length - end)
}

/// One line of a side, with its width.
struct Row {
    text: String,
    width: usize,
}

impl Side {
    fn all(text: String, paint: Paint) -> Self {
        let differs = 0..text.chars().count();
        Self { text, differs, paint, is_marked: false }
    }

    /// Broken into lines of at most `most` columns. Without colour, lines of carets mark the part that differs.
    fn lines(&self, most: usize, colour: bool) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut rest: Vec<(bool, char)> =
            self.text.chars().enumerate().map(|(i, c)| (self.differs.contains(&i), c)).collect();
        loop {
            let mut taken = 0;
            let mut width = 0;
            while let Some((_, c)) = rest.get(taken)
                && width + columns_of(*c) <= most
            {
                width += columns_of(*c);
                taken += 1;
            }
            // A column that is too narrow for a single character gets it all the same.
            let line: Vec<(bool, char)> = rest.drain(..taken.max(1).min(rest.len())).collect();
            rows.push(Row { text: self.painted(&line, colour), width });
            if !colour && self.is_marked && line.iter().any(|(differs, _)| *differs) {
                let carets = carets(&line);
                rows.push(Row { width: carets.len(), text: carets });
            }
            if rest.is_empty() {
                return rows;
            }
        }
    }

    fn painted(&self, line: &[(bool, char)], colour: bool) -> String {
        line.chunk_by(|(a, _), (b, _)| a == b)
            .map(|part| {
                let text: String = part.iter().map(|(_, c)| c).collect();
                let differs = part.first().is_some_and(|(differs, _)| *differs);
                self.paint.on(&text, colour && differs)
            })
            .collect()
    }
}

fn carets(line: &[(bool, char)]) -> String {
    let marks: String =
        line.iter().map(|(differs, c)| (if *differs { "^" } else { " " }).repeat(columns_of(*c))).collect();
    marks.trim_end().to_owned()
}

fn beside(ours: &[Row], theirs: &[Row], half: usize) -> String {
    // No wider than it must be, so that short values stand close to each other.
    let column = ours.iter().map(|row| row.width).max().unwrap_or(0).min(half);
    let empty = Row { text: String::new(), width: 0 };
    let mut text = String::new();
    for i in 0..ours.len().max(theirs.len()) {
        let (our, their) = (ours.get(i).unwrap_or(&empty), theirs.get(i).unwrap_or(&empty));
        let gap = " ".repeat(column.saturating_sub(our.width));
        let line = format!("{:INDENT$}{}{gap}{BETWEEN}{}", "", our.text, their.text);
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn plain(primary: Option<&str>, candidate: Option<&str>, width: usize) -> String {
        render(primary, candidate, Look { width, colour: false, wide: false })
    }

    #[test]
    fn short_values_stand_beside_each_other() {
        assert_eq!(plain(Some("32.49"), Some("32"), 80), "    32.49 │ 32\n      ^^^ │\n");
        assert_eq!(plain(Some("1"), None, 80), "    1 │ (absent)\n");
        assert_eq!(plain(None, Some("3"), 80), "    (absent) │ 3\n");
        assert_eq!(plain(Some("苹a"), Some("苹b"), 80), "    苹a │ 苹b\n      ^ │   ^\n");
    }

    #[test]
    fn long_values_stand_below_each_other_unless_there_is_room() {
        let (ours, theirs) = (format!("\"{}x\"", "a".repeat(60)), format!("\"{}yy\"", "a".repeat(60)));
        let below = plain(Some(&ours), Some(&theirs), 80);
        let expected = format!("    - {ours}\n      {0:61}^\n    + {theirs}\n      {0:61}^^\n", "");
        assert_eq!(below, expected);
        assert_eq!(plain(Some(&ours), Some(&theirs), 200).lines().count(), 2);
        let broken = plain(Some(&ours), Some(&theirs), 120);
        assert!(broken.lines().all(|line| columns(line) <= 120 && line.contains('│')), "{broken}");
    }

    #[test]
    fn the_part_that_differs_is_coloured() {
        let text = render(Some("a1c"), Some("a2c"), Look { width: 80, colour: true, wide: false });
        assert_eq!(text, "    a\u{1b}[31m1\u{1b}[39mc │ a\u{1b}[32m2\u{1b}[39mc\n");
    }

    proptest! {
        #[test]
        fn no_line_is_too_wide_and_no_value_commands_the_terminal(
            ours in "\\PC{0,90}|[\\x00-\\x20\u{9b}\u{202e}a]{0,30}", theirs in "\\PC{0,90}", most in 40..200_usize,
        ) {
            let text = plain(Some(&ours), Some(&theirs), most);
            for line in text.lines() {
                prop_assert!(columns(line) <= most.max(NARROWEST), "{most}: {line:?}");
                prop_assert!(!line.chars().any(char::is_control), "{line:?}");
            }
        }
    }
}
