//! Ids that are made for each answer: both sides have one of the same shape, and none comes twice. An id that comes again
//! names something, and that another thing is named may well be a real difference.

use std::collections::BTreeSet;

use super::{Noise, Pair, Rule, examples};

/// The shortest that is taken for an id of any shape.
const SHORTEST: usize = 16;

/// What ids look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// 8-4-4-4-12 hexadecimal digits.
    Uuid,
    /// So many hexadecimal digits.
    Hex(usize),
    /// So many letters and digits.
    Token(usize),
}

pub(super) fn judge(pairs: &[Pair<'_>]) -> Option<Noise> {
    let mut seen = BTreeSet::new();
    let mut shape = None;
    for pair in pairs {
        let (primary, candidate) = (&pair.primary.text, &pair.candidate.text);
        let is = Shape::of(primary)?;
        if Shape::of(candidate) != Some(is) || *shape.get_or_insert(is) != is || !are_unlike(primary, candidate) {
            return None;
        }
        if !(seen.insert(primary) && seen.insert(candidate)) {
            return None;
        }
    }
    let (what, is_unmistakable) = match shape? {
        Shape::Uuid => ("UUIDs".to_owned(), true),
        Shape::Hex(digits) => (format!("{digits} hexadecimal digits"), digits >= 32),
        Shape::Token(length) => (format!("{length} letters and digits"), false),
    };
    let evidence = format!(
        "In {} both values are {what}, all of them different, for example {}.",
        examples(pairs.len()),
        pairs.first()?
    );
    Some(Noise { rule: Rule::Ignore, is_unmistakable, evidence })
}

impl Shape {
    fn of(text: &str) -> Option<Self> {
        let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let parts: Vec<usize> = text.split('-').map(str::len).collect();
        if parts == [8, 4, 4, 4, 12] && is_hex(&text.replace('-', "")) {
            return Some(Self::Uuid);
        }
        let has = |is: fn(&u8) -> bool| text.bytes().any(|byte| is(&byte));
        // Digits alone are numbers, letters alone words.
        if text.len() < SHORTEST || !has(u8::is_ascii_digit) || !has(u8::is_ascii_alphabetic) {
            return None;
        }
        if is_hex(text) {
            return Some(Self::Hex(text.len()));
        }
        let is_token =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'+' | b'/' | b'=' | b'.');
        text.bytes().all(is_token).then_some(Self::Token(text.len()))
    }
}

/// Whether two ids of one length have little in common: names and versions that only look like ids differ in few characters.
/// Ids that begin with the time have up to half.
fn are_unlike(ours: &str, theirs: &str) -> bool {
    let differ = ours.bytes().zip(theirs.bytes()).filter(|(ours, theirs)| ours != theirs).count();
    differ * 3 >= ours.len()
}
