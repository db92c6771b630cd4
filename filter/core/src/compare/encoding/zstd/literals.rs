//! The literals of a block, as they stand or Huffman-coded (RFC 8878, sections 3.1.1.3.1 and 4.2).

use super::backward::Backward;
use super::fse::Table;
use super::{Fault, take, take_number};

/// The longest Huffman code, in bits.
const LONGEST: u32 = 11;

/// The Huffman code of the last block that brought one.
#[derive(Default)]
pub(super) struct State {
    code: Option<Huffman>,
}

impl State {
    /// Takes the literals section from `input`.
    pub(super) fn read(&mut self, input: &mut &[u8], most: usize) -> Result<Vec<u8>, Fault> {
        let first = usize::from(*input.first().ok_or(Fault::Broken)?);
        let (kind, format) = (first & 3, first >> 2 & 3);
        if kind < 2 {
            let size = match format {
                1 => take_number(input, 2)? >> 4,
                3 => take_number(input, 3)? >> 4,
                _ => take_number(input, 1)? >> 3,
            };
            if size > most {
                return Err(Fault::Broken);
            }
            return match kind {
                0 => Ok(take(input, size)?.to_vec()),
                _ => Ok(vec![take_number(input, 1)? as u8; size]),
            };
        }
        let (bytes, bits) = match format {
            0 | 1 => (3, 10),
            2 => (4, 14),
            _ => (5, 18),
        };
        let header = take(input, bytes)?.iter().rev().fold(0_u64, |header, byte| header << 8 | u64::from(*byte));
        let size = (header >> 4) as usize & ((1 << bits) - 1);
        let packed_size = (header >> (4 + bits)) as usize & ((1 << bits) - 1);
        if size > most {
            return Err(Fault::Broken);
        }
        let mut packed = take(input, packed_size)?;
        if kind == 2 {
            self.code = Some(Huffman::read(&mut packed)?);
        }
        let code = self.code.as_ref().ok_or(Fault::Broken)?;
        let mut literals = Vec::with_capacity(size);
        if format == 0 {
            code.decode(packed, size, &mut literals)?;
            return Ok(literals);
        }
        let sizes = [take_number(&mut packed, 2)?, take_number(&mut packed, 2)?, take_number(&mut packed, 2)?];
        let part = size.div_ceil(4);
        for size in sizes {
            code.decode(take(&mut packed, size)?, part, &mut literals)?;
        }
        code.decode(packed, size.checked_sub(3 * part).ok_or(Fault::Broken)?, &mut literals)?;
        Ok(literals)
    }
}

struct Huffman {
    /// The longest code in use, in bits.
    bits: u32,
    /// For each value of the next `bits` bits: the symbol and the length of its code.
    table: Vec<(u8, u8)>,
}

impl Huffman {
    /// Takes the description of a code from `input`.
    fn read(input: &mut &[u8]) -> Result<Self, Fault> {
        let header = take_number(input, 1)?;
        let mut weights = if header < 128 {
            read_packed_weights(take(input, header)?)?
        } else {
            let number = header - 127;
            let bytes = take(input, number.div_ceil(2))?;
            let mut weights: Vec<_> = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).collect();
            weights.truncate(number);
            weights
        };
        // The last weight is the one that completes the code.
        let mut sum = 0_u32;
        for weight in &weights {
            if u32::from(*weight) > LONGEST {
                return Err(Fault::Broken);
            }
            sum += 1 << weight >> 1;
        }
        let bits = sum.checked_ilog2().ok_or(Fault::Broken)? + 1;
        let rest = (1 << bits) - sum;
        if bits > LONGEST || !rest.is_power_of_two() || weights.len() > 255 {
            return Err(Fault::Broken);
        }
        weights.push(rest.ilog2() as u8 + 1);

        let mut table = Vec::with_capacity(1 << bits);
        for weight in 1..=bits as u8 {
            for (symbol, _) in (0_u8..=255).zip(&weights).filter(|(_, its)| **its == weight) {
                let length = (bits + 1) as u8 - weight;
                table.resize(table.len() + (1 << weight >> 1), (symbol, length));
            }
        }
        if table.len() == 1 << bits { Ok(Self { bits, table }) } else { Err(Fault::Broken) }
    }

    /// Appends the `size` symbols of a stream.
    fn decode(&self, stream: &[u8], size: usize, literals: &mut Vec<u8>) -> Result<(), Fault> {
        let mut bits = Backward::new(stream)?;
        for _ in 0..size {
            let (symbol, length) = *self.table.get(bits.peek(self.bits) as usize).ok_or(Fault::Broken)?;
            bits.skip(u32::from(length));
            literals.push(symbol);
        }
        if bits.is_spent() { Ok(()) } else { Err(Fault::Broken) }
    }
}

/// Weights in FSE code: two states take turns until the bits are used up.
fn read_packed_weights(mut input: &[u8]) -> Result<Vec<u8>, Fault> {
    let table = Table::read(&mut input, 6, 256)?;
    let mut bits = Backward::new(input)?;
    let (mut state, mut other) = (table.first(&mut bits), table.first(&mut bits));
    let mut weights = Vec::new();
    while weights.len() < 255 {
        weights.push(table.symbol(state)?);
        let next = table.next(state, &mut bits)?;
        if bits.is_overdrawn() {
            weights.push(table.symbol(other)?);
            return Ok(weights);
        }
        (state, other) = (other, next);
    }
    Err(Fault::Broken)
}
