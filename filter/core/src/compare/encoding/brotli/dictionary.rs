//! The words that every brotli decoder knows, and how streams change them (RFC 7932, section 8 and appendices A and B).

use std::sync::OnceLock;

use super::super::deflate;
use super::Fault;
use Change::{DropFirst, DropLast, Keep, UpperAll, UpperFirst};

/// All words, as `build.rs` packed them: half the size.
const PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/brotli-dictionary.deflate"));

/// Bytes of all words.
const SIZE: usize = 122_784;

/// For each length of words, the binary logarithm of how many there are; 0 for none.
const SIZE_BITS: [u8; 25] = [0, 0, 0, 0, 10, 10, 11, 11, 10, 10, 10, 10, 10, 9, 9, 8, 7, 7, 8, 7, 7, 6, 6, 5, 5];

/// What becomes of a word between what goes before and after it.
#[derive(Clone, Copy)]
enum Change {
    Keep,
    DropFirst(usize),
    DropLast(usize),
    UpperFirst,
    UpperAll,
}

#[rustfmt::skip]
const TRANSFORMS: [(&str, Change, &str); 121] = [
    ("", Keep, ""), ("", Keep, " "), (" ", Keep, " "), ("", DropFirst(1), ""), ("", UpperFirst, " "),
    ("", Keep, " the "), (" ", Keep, ""), ("s ", Keep, " "), ("", Keep, " of "), ("", UpperFirst, ""),
    ("", Keep, " and "), ("", DropFirst(2), ""), ("", DropLast(1), ""), (", ", Keep, " "), ("", Keep, ", "),
    (" ", UpperFirst, " "), ("", Keep, " in "), ("", Keep, " to "), ("e ", Keep, " "), ("", Keep, "\""),
    ("", Keep, "."), ("", Keep, "\">"), ("", Keep, "\n"), ("", DropLast(3), ""), ("", Keep, "]"), ("", Keep, " for "),
    ("", DropFirst(3), ""), ("", DropLast(2), ""), ("", Keep, " a "), ("", Keep, " that "), (" ", UpperFirst, ""),
    ("", Keep, ". "), (".", Keep, ""), (" ", Keep, ", "), ("", DropFirst(4), ""), ("", Keep, " with "),
    ("", Keep, "'"), ("", Keep, " from "), ("", Keep, " by "), ("", DropFirst(5), ""), ("", DropFirst(6), ""),
    (" the ", Keep, ""), ("", DropLast(4), ""), ("", Keep, ". The "), ("", UpperAll, ""), ("", Keep, " on "),
    ("", Keep, " as "), ("", Keep, " is "), ("", DropLast(7), ""), ("", DropLast(1), "ing "), ("", Keep, "\n\t"),
    ("", Keep, ":"), (" ", Keep, ". "), ("", Keep, "ed "), ("", DropFirst(9), ""), ("", DropFirst(7), ""),
    ("", DropLast(6), ""), ("", Keep, "("), ("", UpperFirst, ", "), ("", DropLast(8), ""), ("", Keep, " at "),
    ("", Keep, "ly "), (" the ", Keep, " of "), ("", DropLast(5), ""), ("", DropLast(9), ""), (" ", UpperFirst, ", "),
    ("", UpperFirst, "\""), (".", Keep, "("), ("", UpperAll, " "), ("", UpperFirst, "\">"), ("", Keep, "=\""),
    (" ", Keep, "."), (".com/", Keep, ""), (" the ", Keep, " of the "), ("", UpperFirst, "'"), ("", Keep, ". This "),
    ("", Keep, ","), (".", Keep, " "), ("", UpperFirst, "("), ("", UpperFirst, "."), ("", Keep, " not "),
    (" ", Keep, "=\""), ("", Keep, "er "), (" ", UpperAll, " "), ("", Keep, "al "), (" ", UpperAll, ""),
    ("", Keep, "='"), ("", UpperAll, "\""), ("", UpperFirst, ". "), (" ", Keep, "("), ("", Keep, "ful "),
    (" ", UpperFirst, ". "), ("", Keep, "ive "), ("", Keep, "less "), ("", UpperAll, "'"), ("", Keep, "est "),
    (" ", UpperFirst, "."), ("", UpperAll, "\">"), (" ", Keep, "='"), ("", UpperFirst, ","), ("", Keep, "ize "),
    ("", UpperAll, "."), ("\u{a0}", Keep, ""), (" ", Keep, ","), ("", UpperFirst, "=\""), ("", UpperAll, "=\""),
    ("", Keep, "ous "), ("", UpperAll, ", "), ("", UpperFirst, "='"), (" ", UpperFirst, ","), (" ", UpperAll, "=\""),
    (" ", UpperAll, ", "), ("", UpperAll, ","), ("", UpperAll, "("), ("", UpperAll, ". "), (" ", UpperAll, "."),
    ("", UpperAll, "='"), (" ", UpperAll, ". "), (" ", UpperFirst, "=\""), (" ", UpperAll, "='"),
    (" ", UpperFirst, "='"),
];

/// Appends the word of `length` bytes that `id` names, changed as it says.
pub(super) fn append(length: usize, id: usize, output: &mut Vec<u8>) -> Result<(), Fault> {
    let bits = SIZE_BITS.get(length).copied().filter(|bits| *bits > 0).ok_or(Fault::Broken)?;
    let (before, change, after) = TRANSFORMS.get(id >> bits).ok_or(Fault::Broken)?;
    let shorter = (0..length).zip(SIZE_BITS).filter(|(_, bits)| *bits > 0).map(|(length, bits)| length << bits);
    let start = shorter.sum::<usize>() + (id & ((1 << bits) - 1)) * length;
    let word = words().get(start..start + length).ok_or(Fault::Broken)?;

    output.extend_from_slice(before.as_bytes());
    let at = output.len();
    output.extend_from_slice(match change {
        DropFirst(n) => word.get(*n..).unwrap_or_default(),
        DropLast(n) => word.get(..length.saturating_sub(*n)).unwrap_or_default(),
        Keep | UpperFirst | UpperAll => word,
    });
    let word = output.get_mut(at..).unwrap_or_default();
    match change {
        UpperFirst => _ = upper_first(word),
        UpperAll => upper_all(word),
        Keep | DropFirst(_) | DropLast(_) => {}
    }
    output.extend_from_slice(after.as_bytes());
    Ok(())
}

/// The unpacked words, which are unpacked when they are first needed.
fn words() -> &'static [u8] {
    static WORDS: OnceLock<Vec<u8>> = OnceLock::new();
    WORDS.get_or_init(|| deflate::bare(PACKED, SIZE).unwrap_or_default())
}

fn upper_all(mut word: &mut [u8]) {
    while let Some(rest) = upper_first(word) {
        word = rest;
    }
}

/// Makes the first character of `word` upper case, in the way of this format; returns what follows it.
fn upper_first(word: &mut [u8]) -> Option<&mut [u8]> {
    let (size, at, flip) = match word.first()? {
        b'a'..=b'z' => (1, 0, 32),
        ..192 => (1, 0, 0),
        192..224 => (2, 1, 32),
        224.. => (3, 2, 5),
    };
    if let Some(byte) = word.get_mut(at) {
        *byte ^= flip;
    }
    word.get_mut(size..)
}

#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests {
    use super::*;
    use brotli_decompressor::transform::TransformDictionaryWord;

    #[test]
    fn the_words_are_those_of_the_rfc() {
        assert_eq!(words(), brotli_decompressor::dictionary::kBrotliDictionary);
    }

    #[test]
    fn every_word_is_changed_as_the_well_known_decoder_does() {
        let mut start = 0;
        for (length, bits) in SIZE_BITS.into_iter().enumerate().filter(|(_, bits)| *bits > 0) {
            for index in 0..1 << bits {
                for transform in 0..TRANSFORMS.len() {
                    let mut expected = [0; 64];
                    let word = &words()[start..start + length];
                    let size = TransformDictionaryWord(&mut expected, word, length as i32, transform as i32);
                    let mut output = b"before".to_vec();
                    append(length, transform << bits | index, &mut output).unwrap();
                    assert_eq!(output[6..], expected[..size as usize], "{length} {index} {transform}");
                }
                start += length;
            }
        }
        assert_eq!(start, SIZE);
    }

    #[test]
    fn words_that_do_not_exist_are_broken() {
        for (length, id) in [(3, 0), (25, 0), (4, TRANSFORMS.len() << 10)] {
            assert_eq!(append(length, id, &mut Vec::new()), Err(Fault::Broken));
        }
    }
}
