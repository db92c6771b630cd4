//! Examples of differences, for people and programs.
//!
//! ```text
//! logs (source::logs) → filter ─┬→ text, json        what differs
//!                               └→ suggest → yaml    rules for what looks like noise
//! ```
//!
//! `values` shows what the two sides say, with the part that differs marked. Values have been cut and redacted by the module;
//! nothing here could show more.

pub mod filter;
pub mod json;
pub mod suggest;
#[cfg(test)]
pub(crate) mod testing;
pub mod text;
pub mod values;

use mirror_core::example::Line;

/// One place where a pair differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// The gateway pod that found it, `<namespace>/<name>`; `None` where it was read from a file.
    pub gateway: Option<String>,
    /// What the module said.
    pub line: Line,
}

/// Sorts examples by time, the newest last; what is of one pair stays together.
pub fn sort(examples: &mut [Example]) {
    // Times are all of one form, so that they sort as text.
    examples.sort_by(|a, b| (&a.line.time, &a.line.pair).cmp(&(&b.line.time, &b.line.pair)));
}
