//! Brotli (RFC 7932).
//!
//! A decoder of our own, for two reasons that weigh in a gateway: the well-known one costs the module 205 KB, this one
//! 77 (55 of them the packed dictionary), and it writes straight into the output, where a general one holds a window of
//! up to 16 MiB whatever the body's size. It keeps to RFC 7932: the "large window" extension is refused.

// Every number here is bounded by the format (lengths by 2^25, indices by a few thousand), indices are checked by `get`,
// and nothing is divided by what the input says.
#![allow(clippy::arithmetic_side_effects)]

mod context;
mod dictionary;
mod prefix;

use prefix::PrefixCode;

use super::Fault;
use super::bits::Bits;

/// Decodes a whole stream.
pub(super) fn decode(input: &[u8], allowed: usize) -> Result<Vec<u8>, Fault> {
    let mut bits = Bits::new(input);
    let mut output = Vec::new();
    let window = (1 << window_bits(&mut bits)?) - 16;
    let mut distances = Distances::default();
    loop {
        let is_last = bits.flag()?;
        if is_last && bits.flag()? {
            break;
        }
        match meta_block_length(&mut bits)? {
            Length::Metadata(length) => {
                bits.align()?;
                bits.bytes(length)?;
            }
            Length::Data(length) => {
                if length > allowed - output.len() {
                    return Err(Fault::TooLong);
                }
                if !is_last && bits.flag()? {
                    bits.align()?;
                    output.extend_from_slice(bits.bytes(length)?);
                } else {
                    MetaBlock::read(&mut bits)?.decode(&mut bits, length, window, &mut distances, &mut output)?;
                }
            }
        }
        if is_last {
            break;
        }
    }
    bits.align()?;
    if bits.is_empty() { Ok(output) } else { Err(Fault::Broken) }
}

/// The binary logarithm of the window (section 9.1).
fn window_bits(bits: &mut Bits<'_>) -> Result<u32, Fault> {
    if !bits.flag()? {
        return Ok(16);
    }
    match bits.read(3)? {
        0 => match bits.read(3)? {
            0 => Ok(17),
            1 => Err(Fault::Broken),
            n => Ok(8 + n),
        },
        n => Ok(17 + n),
    }
}

/// How long a meta-block is, in bytes.
enum Length {
    Data(usize),
    Metadata(usize),
}

fn meta_block_length(bits: &mut Bits<'_>) -> Result<Length, Fault> {
    let (digits, width) = match bits.read(2)? {
        3 if bits.flag()? => return Err(Fault::Broken),
        3 => (bits.read(2)?, 8),
        n => (n + 4, 4),
    };
    if digits == 0 {
        return Ok(Length::Metadata(0));
    }
    let length = bits.read(digits * width)?;
    // The last digit may be zero only where the number could not be shorter.
    let least = if width == 8 { 1 } else { 4 };
    if digits > least && length >> ((digits - 1) * width) == 0 {
        return Err(Fault::Broken);
    }
    let length = length as usize + 1;
    Ok(if width == 8 { Length::Metadata(length) } else { Length::Data(length) })
}

/// A number that a prefix code's symbol stands for: from a base on, with some more bits.
type Range = (u32, u32);

/// Numbers up to 2^25, as block counts (section 6).
#[rustfmt::skip]
const BLOCK_COUNTS: [Range; 26] = [
    (1, 2), (5, 2), (9, 2), (13, 2), (17, 3), (25, 3), (33, 3), (41, 3), (49, 4), (65, 4), (81, 4), (97, 4), (113, 5),
    (145, 5), (177, 5), (209, 5), (241, 6), (305, 6), (369, 7), (497, 8), (753, 9), (1265, 10), (2289, 11), (4337, 12),
    (8433, 13), (16625, 24),
];

/// How many literals to insert (section 5).
#[rustfmt::skip]
const INSERTS: [Range; 24] = [
    (0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 1), (8, 1), (10, 2), (14, 2), (18, 3), (26, 3), (34, 4), (50, 4),
    (66, 5), (98, 5), (130, 6), (194, 7), (322, 8), (578, 9), (1090, 10), (2114, 12), (6210, 14), (22594, 24),
];

/// How many bytes to copy (section 5).
#[rustfmt::skip]
const COPIES: [Range; 24] = [
    (2, 0), (3, 0), (4, 0), (5, 0), (6, 0), (7, 0), (8, 0), (9, 0), (10, 1), (12, 1), (14, 2), (18, 2), (22, 3), (30, 3),
    (38, 4), (54, 4), (70, 5), (102, 5), (134, 6), (198, 7), (326, 8), (582, 9), (1094, 10), (2118, 24),
];

/// Where in [`INSERTS`] and [`COPIES`] each run of 64 command symbols begins (section 5).
const COMMANDS: [(usize, usize); 11] =
    [(0, 0), (0, 8), (0, 0), (0, 8), (8, 0), (8, 8), (0, 16), (16, 0), (8, 16), (16, 8), (16, 16)];

/// Symbols below this one use the last distance again.
const FIRST_WITH_DISTANCE: usize = 128;

fn number(bits: &mut Bits<'_>, ranges: &[Range], symbol: usize) -> Result<usize, Fault> {
    let (base, more) = ranges.get(symbol).ok_or(Fault::Broken)?;
    Ok((base + bits.read(*more)?) as usize)
}

/// The count of something, from 1 to 256 (section 9.2, "NBLTYPES").
fn count(bits: &mut Bits<'_>) -> Result<usize, Fault> {
    if !bits.flag()? {
        return Ok(1);
    }
    let more = bits.read(3)?;
    Ok((1 << more) + 1 + bits.read(more)? as usize)
}

/// Which block of its category (literals, commands or distances) a symbol belongs to (section 6).
struct Blocks {
    types: usize,
    current: usize,
    previous: usize,
    left: usize,
    /// Codes of the next block's type and its length; none where there is one type.
    codes: Option<(PrefixCode, PrefixCode)>,
}

impl Blocks {
    fn read(bits: &mut Bits<'_>) -> Result<Self, Fault> {
        let types = count(bits)?;
        let mut blocks = Self { types, current: 0, previous: 1, left: 1 << 24, codes: None };
        if types > 1 {
            let type_code = PrefixCode::read(bits, types + 2)?;
            let length_code = PrefixCode::read(bits, BLOCK_COUNTS.len())?;
            let length = length_code.symbol(bits)?;
            blocks.left = number(bits, &BLOCK_COUNTS, length)?;
            blocks.codes = Some((type_code, length_code));
        }
        Ok(blocks)
    }

    /// The type of the block that the next symbol belongs to.
    fn next(&mut self, bits: &mut Bits<'_>) -> Result<usize, Fault> {
        if self.left == 0 {
            let (type_code, length_code) = self.codes.as_ref().ok_or(Fault::Broken)?;
            let next = match type_code.symbol(bits)? {
                0 => self.previous,
                1 if self.current + 1 == self.types => 0,
                1 => self.current + 1,
                symbol => symbol - 2,
            };
            let length = length_code.symbol(bits)?;
            self.left = number(bits, &BLOCK_COUNTS, length)?;
            self.previous = self.current;
            self.current = next;
        }
        self.left -= 1;
        Ok(self.current)
    }
}

/// The last four distances, the latest first (section 4).
struct Distances([usize; 4]);

impl Default for Distances {
    fn default() -> Self {
        Self([4, 11, 15, 16])
    }
}

impl Distances {
    /// The distance that a symbol below 16 names; `None` where there can be none.
    fn recent(&self, symbol: usize) -> Option<usize> {
        let [last, second, third, fourth] = self.0;
        let (base, step) = match symbol {
            0 => return Some(last),
            1 => return Some(second),
            2 => return Some(third),
            3 => return Some(fourth),
            4..10 => (last, symbol - 4),
            _ => (second, symbol - 10),
        };
        let by = step / 2 + 1;
        let distance = if step % 2 == 0 { base.checked_sub(by)? } else { base + by };
        (distance > 0).then_some(distance)
    }

    fn push(&mut self, distance: usize) {
        let [last, second, third, _] = self.0;
        self.0 = [distance, last, second, third];
    }
}

/// The header of a compressed meta-block: all codes and which one each symbol uses.
struct MetaBlock {
    literals: Blocks,
    commands: Blocks,
    distances: Blocks,
    postfix: u32,
    direct: usize,
    modes: Vec<u32>,
    literal_map: Vec<u8>,
    distance_map: Vec<u8>,
    literal_codes: Vec<PrefixCode>,
    command_codes: Vec<PrefixCode>,
    distance_codes: Vec<PrefixCode>,
}

impl MetaBlock {
    fn read(bits: &mut Bits<'_>) -> Result<Self, Fault> {
        let (literals, commands, distances) = (Blocks::read(bits)?, Blocks::read(bits)?, Blocks::read(bits)?);
        let postfix = bits.read(2)?;
        let direct = (bits.read(4)? << postfix) as usize;
        let modes = (0..literals.types).map(|_| bits.read(2)).collect::<Result<_, _>>()?;
        let literal_trees = count(bits)?;
        let literal_map = context::map(bits, literals.types * 64, literal_trees)?;
        let distance_trees = count(bits)?;
        let distance_map = context::map(bits, distances.types * 4, distance_trees)?;
        let mut codes =
            |number: usize, symbols| (0..number).map(|_| PrefixCode::read(bits, symbols)).collect::<Result<_, _>>();
        Ok(Self {
            literal_codes: codes(literal_trees, 256)?,
            command_codes: codes(commands.types, 704)?,
            distance_codes: codes(distance_trees, 16 + direct + (48 << postfix))?,
            literals,
            commands,
            distances,
            postfix,
            direct,
            modes,
            literal_map,
            distance_map,
        })
    }

    /// Appends the `length` bytes of this meta-block to `output`.
    fn decode(
        mut self,
        bits: &mut Bits<'_>,
        length: usize,
        window: usize,
        recent: &mut Distances,
        output: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let end = output.len() + length;
        while output.len() < end {
            let block = self.commands.next(bits)?;
            let command = self.command_codes.get(block).ok_or(Fault::Broken)?.symbol(bits)?;
            let (inserts, copies) = COMMANDS.get(command >> 6).ok_or(Fault::Broken)?;
            let insert = number(bits, &INSERTS, inserts + (command >> 3 & 7))?;
            let copy = number(bits, &COPIES, copies + (command & 7))?;
            if insert > end - output.len() {
                return Err(Fault::Broken);
            }
            self.literals(bits, insert, output)?;
            if output.len() == end {
                break;
            }
            let symbol = if command < FIRST_WITH_DISTANCE { 0 } else { self.distance_symbol(bits, copy)? };
            let distance = self.distance(bits, symbol, recent)?;
            let farthest = window.min(output.len());
            if distance > farthest {
                dictionary::append(copy, distance - farthest - 1, output)?;
            } else {
                super::append_copy(output, distance, copy);
                if symbol != 0 {
                    recent.push(distance);
                }
            }
            if output.len() > end {
                return Err(Fault::Broken);
            }
        }
        Ok(())
    }

    fn literals(&mut self, bits: &mut Bits<'_>, insert: usize, output: &mut Vec<u8>) -> Result<(), Fault> {
        let mut newest_first = output.iter().rev().copied();
        let (mut last, mut before) = (newest_first.next().unwrap_or(0), newest_first.next().unwrap_or(0));
        for _ in 0..insert {
            let block = self.literals.next(bits)?;
            let mode = self.modes.get(block).ok_or(Fault::Broken)?;
            let context = context::of_literal(*mode, last, before);
            let tree = self.literal_map.get(block * 64 + context).ok_or(Fault::Broken)?;
            let literal = self.literal_codes.get(usize::from(*tree)).ok_or(Fault::Broken)?.symbol(bits)?;
            (last, before) = (literal as u8, last);
            output.push(last);
        }
        Ok(())
    }

    fn distance_symbol(&mut self, bits: &mut Bits<'_>, copy: usize) -> Result<usize, Fault> {
        let context = copy.clamp(2, 5) - 2;
        let block = self.distances.next(bits)?;
        let tree = self.distance_map.get(block * 4 + context).ok_or(Fault::Broken)?;
        self.distance_codes.get(usize::from(*tree)).ok_or(Fault::Broken)?.symbol(bits)
    }

    fn distance(&self, bits: &mut Bits<'_>, symbol: usize, recent: &Distances) -> Result<usize, Fault> {
        if symbol < 16 {
            return recent.recent(symbol).ok_or(Fault::Broken);
        }
        let Some(long) = symbol.checked_sub(16 + self.direct) else { return Ok(symbol - 15) };
        let (high, low) = (long >> self.postfix, long & ((1 << self.postfix) - 1));
        let more = (high >> 1) as u32 + 1;
        let offset = ((2 + (high & 1)) << more) - 4;
        Ok(((offset + bits.read(more)? as usize) << self.postfix) + low + self.direct + 1)
    }
}
