//! Zstandard (RFC 8878): frames one after the other, skippable ones passed over. Dictionaries are refused.
//!
//! A decoder of our own for the reasons that brotli's has: the well-known one costs the module 115 KB and this one 12,
//! and it holds a window beside the output and reads through unchecked pointers. The checksum is not looked at: both
//! bodies are compared byte for byte anyway.

// Every number here is bounded by the format (sizes by 2^18, lengths by 2^17, offsets by 2^32), indices are checked by
// `get`, and nothing is divided by what the input says.
#![allow(clippy::arithmetic_side_effects)]

mod backward;
mod fse;
mod literals;
mod sequences;

use super::Fault;

/// The most bytes that a block may hold.
const MAX_BLOCK: usize = 128 * 1024;

/// Decodes all frames of `input`.
pub(super) fn decode(mut input: &[u8], allowed: usize) -> Result<Vec<u8>, Fault> {
    let mut output = Vec::new();
    while !input.is_empty() {
        let magic = take_number(&mut input, 4)?;
        if magic & !15 == 0x184d_2a50 {
            let size = take_number(&mut input, 4)?;
            take(&mut input, size)?;
        } else if magic == 0xfd2f_b528 {
            decode_frame(&mut input, &mut output, allowed)?;
        } else {
            return Err(Fault::Broken);
        }
    }
    Ok(output)
}

fn decode_frame(input: &mut &[u8], output: &mut Vec<u8>, allowed: usize) -> Result<(), Fault> {
    let descriptor = take_number(input, 1)?;
    let (is_single, has_checksum) = (descriptor & 0x20 != 0, descriptor & 4 != 0);
    if descriptor & 8 != 0 {
        return Err(Fault::Broken);
    }
    let mut block_max = MAX_BLOCK;
    if !is_single {
        let window = take_number(input, 1)?;
        block_max = block_max.min((8 + (window & 7)) << (7 + (window >> 3).min(10)));
    }
    let dictionary = take_number(input, [0, 1, 2, 4].into_iter().nth(descriptor & 3).unwrap_or(0))?;
    if dictionary != 0 {
        return Err(Fault::Broken);
    }
    let size = match descriptor >> 6 {
        0 if !is_single => None,
        0 => Some(take_number(input, 1)?),
        1 => Some(take_number(input, 2)? + 256),
        2 => Some(take_number(input, 4)?),
        _ => Some(take_number(input, 8)?),
    };
    if size.is_some_and(|size| size > allowed - output.len()) {
        return Err(Fault::TooLong);
    }
    let start = output.len();
    let mut frame = Frame { start, block_max, allowed, literals: Default::default(), sequences: Default::default() };
    loop {
        let header = take_number(input, 3)?;
        let size = header >> 3;
        if size > block_max {
            return Err(Fault::Broken);
        }
        match header >> 1 & 3 {
            0 => {
                let bytes = take(input, size)?;
                check_room(allowed, output, bytes.len())?;
                output.extend_from_slice(bytes);
            }
            1 => {
                let byte = take_number(input, 1)? as u8;
                check_room(allowed, output, size)?;
                output.resize(output.len() + size, byte);
            }
            2 => frame.decode_block(take(input, size)?, output)?,
            _ => return Err(Fault::Broken),
        }
        if header & 1 != 0 {
            break;
        }
    }
    if has_checksum {
        take(input, 4)?;
    }
    if size.is_some_and(|size| size != output.len() - start) { Err(Fault::Broken) } else { Ok(()) }
}

/// What the blocks of one frame share.
struct Frame {
    /// Where the frame's content begins in the output; nothing before it may be referred to.
    start: usize,
    block_max: usize,
    allowed: usize,
    literals: literals::State,
    sequences: sequences::State,
}

impl Frame {
    fn decode_block(&mut self, block: &[u8], output: &mut Vec<u8>) -> Result<(), Fault> {
        let (start, allowed, end) = (self.start, self.allowed, output.len() + self.block_max);
        let mut rest = block;
        let all = self.literals.read(&mut rest, self.block_max)?;
        let mut literals = all.as_slice();
        let mut sequences = self.sequences.read(rest)?;
        while let Some(sequence) = sequences.next()? {
            let more = sequence.literals + sequence.length;
            check_room(allowed, output, more)?;
            if more > end.saturating_sub(output.len()) {
                return Err(Fault::Broken);
            }
            output.extend_from_slice(take(&mut literals, sequence.literals)?);
            if sequence.offset == 0 || sequence.offset > output.len() - start {
                return Err(Fault::Broken);
            }
            super::append_copy(output, sequence.offset, sequence.length);
        }
        check_room(allowed, output, literals.len())?;
        if literals.len() > end.saturating_sub(output.len()) {
            return Err(Fault::Broken);
        }
        output.extend_from_slice(literals);
        Ok(())
    }
}

fn check_room(allowed: usize, output: &[u8], more: usize) -> Result<(), Fault> {
    if more > allowed.saturating_sub(output.len()) { Err(Fault::TooLong) } else { Ok(()) }
}

/// Takes the first `n` bytes of `input`.
fn take<'a>(input: &mut &'a [u8], n: usize) -> Result<&'a [u8], Fault> {
    let (bytes, rest) = input.split_at_checked(n).ok_or(Fault::Broken)?;
    *input = rest;
    Ok(bytes)
}

/// Takes a little-endian number of `n` bytes, at most 8. One that is larger than the memory is cut to the largest size.
fn take_number(input: &mut &[u8], n: usize) -> Result<usize, Fault> {
    let number = take(input, n)?.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    Ok(usize::try_from(number).unwrap_or(usize::MAX))
}
