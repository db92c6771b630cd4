//! Hashes of values: equal values share one, whatever their form. Hashes only tell what may be equal; whoever needs
//! certainty compares.

use super::lex::Type;
use super::{number, string as strings};

/// Mixes a further part into a hash; the order of parts matters. Not inlined: it is called in many places, none of them
/// hot, and the module's size counts.
#[inline(never)]
pub fn mix(sum: u64, part: u64) -> u64 {
    // The finalizer of SplitMix64, fed with both: sums of such hashes are compared, so every bit has to count.
    let mut hash = (sum.rotate_left(23) ^ part).wrapping_add(0x9e37_79b9_7f4a_7c15);
    hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ hash >> 31
}

/// The hash of what a string lexeme says.
pub fn string(lexeme: &[u8]) -> u64 {
    if strings::has_escapes(lexeme) { bytes(&strings::unescape(lexeme)) } else { bytes(strings::inside(lexeme)) }
}

/// The hash of a string, number, `true`, `false` or `null` by its value; `None` for other lexemes.
pub fn scalar(lexeme: &[u8]) -> Option<u64> {
    let first = *lexeme.first()?;
    let kind = Type::begun_by(first)?;
    let hash = match kind {
        Type::String => string(lexeme),
        Type::Number => number::hash(lexeme),
        Type::Bool | Type::Null => u64::from(first),
        Type::Array | Type::Object => return None,
    };
    Some(mix(hash, kind as u64))
}

fn bytes(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let sum = words.iter().fold(bytes.len() as u64, |sum, word| mix(sum, u64::from_le_bytes(*word)));
    mix(sum, rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)))
}
