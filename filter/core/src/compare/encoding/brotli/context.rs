//! Contexts: which prefix code a literal or a distance uses, by what came before it (RFC 7932, section 7).

use super::Fault;
use super::bits::Bits;
use super::prefix::PrefixCode;

/// The class of a byte before a literal, for text: its kind of letter, digit or sign.
#[rustfmt::skip]
const CLASSES: [u8; 128] = [
    0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    2, 3, 4, 3, 3, 5, 3, 4, 6, 7, 3, 3, 8, 3, 9, 3, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 8, 8, 6, 10, 7, 3,
    3, 12, 13, 13, 13, 12, 13, 13, 13, 12, 13, 13, 13, 13, 13, 12, 13, 13, 13, 13, 13, 12, 13, 13, 13, 13, 13, 6, 3, 7, 3, 3,
    3, 14, 15, 15, 15, 14, 15, 15, 15, 14, 15, 15, 15, 15, 15, 14, 15, 15, 15, 15, 15, 14, 15, 15, 15, 15, 15, 6, 3, 7, 3, 0,
];

/// The context of a literal, below 64, by the mode of its block and the two bytes before it.
pub(super) fn of_literal(mode: u32, last: u8, before: u8) -> usize {
    usize::from(match mode {
        0 => last & 0x3f,
        1 => last >> 2,
        2 => text_class(last) | text_class_before(before),
        _ => magnitude(last) << 3 | magnitude(before),
    })
}

fn text_class(byte: u8) -> u8 {
    match CLASSES.get(usize::from(byte)) {
        Some(class) => class << 2,
        None => (byte >> 6 & 1) << 1 | byte & 1,
    }
}

fn text_class_before(byte: u8) -> u8 {
    match byte {
        b'a'..=b'z' => 3,
        b'0'..=b'9' | b'A'..=b'Z' | 224.. => 2,
        33..=126 => 1,
        _ => 0,
    }
}

fn magnitude(byte: u8) -> u8 {
    match byte {
        0 => 0,
        1..16 => 1,
        16..64 => 2,
        64..128 => 3,
        128..192 => 4,
        192..240 => 5,
        240..255 => 6,
        255 => 7,
    }
}

/// Reads which of `trees` codes each of `size` contexts uses (section 7.3).
pub(super) fn map(bits: &mut Bits<'_>, size: usize, trees: usize) -> Result<Vec<u8>, Fault> {
    let mut map = Vec::with_capacity(size);
    if trees == 1 {
        map.resize(size, 0);
        return Ok(map);
    }
    let longest_run = if bits.flag()? { bits.read(4)? as usize + 1 } else { 0 };
    let code = PrefixCode::read(bits, trees + longest_run)?;
    while map.len() < size {
        let (value, times) = match code.symbol(bits)? {
            0 => (0, 1),
            symbol if symbol <= longest_run => (0, (1 << symbol) + bits.read(symbol as u32)? as usize),
            symbol => ((symbol - longest_run) as u8, 1),
        };
        if times > size - map.len() {
            return Err(Fault::Broken);
        }
        map.resize(map.len() + times, value);
    }
    if bits.flag()? {
        undo_move_to_front(&mut map);
    }
    Ok(map)
}

fn undo_move_to_front(map: &mut [u8]) {
    let mut order: [u8; 256] = std::array::from_fn(|i| i as u8);
    for slot in map {
        let index = usize::from(*slot);
        if let Some(front) = order.get_mut(..=index) {
            front.rotate_right(1);
        }
        *slot = order[0];
    }
}
