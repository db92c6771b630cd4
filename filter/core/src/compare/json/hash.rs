//! Hashes of values: equal values share one, whatever their form. Hashes only tell what may be equal; whoever needs
//! certainty compares.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::FixedState;

use super::string as strings;

/// Mixes a further part into a hash; the order of parts matters.
pub fn mix(sum: u64, part: u64) -> u64 {
    let mut hasher = FixedState::with_seed(sum).build_hasher();
    hasher.write_u64(part);
    hasher.finish()
}

/// The hash of what a string lexeme says.
pub fn string(lexeme: &[u8]) -> u64 {
    if strings::has_escapes(lexeme) { bytes(&strings::unescape(lexeme)) } else { bytes(strings::inside(lexeme)) }
}

fn bytes(bytes: &[u8]) -> u64 {
    let mut hasher = FixedState::with_seed(0).build_hasher();
    hasher.write(bytes);
    hasher.finish()
}
