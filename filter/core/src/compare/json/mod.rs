//! JSON bodies, compared by value in one pass over both texts, without building trees.
//!
//! ```text
//! walk ─┬→ object → members      in step while the keys come in the same order, by key from there on
//!       ├→ array → unordered     element by element; by likeness where a rule says that order does not matter
//!       ├→ string, number        by value where the bytes differ
//!       └→ report → Sink         here, and only here, rules are asked and pointers built
//! pair → lex                     the position in both texts; where they run through the same bytes one is read
//! ```
//!
//! Every byte of both texts is checked against the grammar once, also in parts that rules ignore. Parts that are read
//! again (members in another order, arrays whose elements moved) are counted as work, which is bounded; nesting is
//! bounded by [`MAX_DEPTH`], and with it the recursion that follows it.

mod array;
mod digest;
mod hash;
pub(crate) mod lex;
mod members;
pub(crate) mod number;
mod object;
mod pair;
mod path;
#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod properties;
mod rules;
pub(crate) mod string;
#[cfg(test)]
mod tests;
mod unordered;
mod walk;

use lex::Fault;
pub use rules::BodyRules;
use walk::Walk;

use super::Sink;

/// Why two texts were not compared as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotCompared {
    /// Which of the two is not JSON.
    NotJson {
        /// The primary's text is not JSON.
        primary: bool,
        /// The shadow's text is not JSON.
        shadow: bool,
    },
    /// Nested more deeply than [`MAX_DEPTH`].
    TooDeep,
    /// More work than a worker may spend.
    TooComplex,
}

/// The deepest nesting that is read.
pub const MAX_DEPTH: usize = 128;

/// Compares two JSON texts by value and adds what differs to `sink`. Texts that are the same byte for byte are not read
/// at all, JSON or not.
///
/// # Errors
/// Where either text is no JSON or the work is too much; `sink` then is as it was.
pub fn compare(primary: &[u8], shadow: &[u8], rules: &BodyRules, sink: &mut Sink) -> Result<(), NotCompared> {
    if primary == shadow {
        return Ok(());
    }
    let mark = sink.mark();
    Walk::new(primary, shadow, rules, sink).documents().map_err(|fault| {
        sink.rewind(mark);
        why(fault, primary, shadow)
    })
}

/// What `fault`, met somewhere in the two, says about each of them.
fn why(fault: Fault, primary: &[u8], shadow: &[u8]) -> NotCompared {
    if fault == Fault::Complex {
        return NotCompared::TooComplex;
    }
    let [primary, shadow] = [primary, shadow].map(|text| lex::document(text) == Err(Fault::Syntax));
    if primary || shadow { NotCompared::NotJson { primary, shadow } } else { NotCompared::TooDeep }
}
