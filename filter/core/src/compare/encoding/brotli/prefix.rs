//! Prefix codes (RFC 7932, section 3): read from the stream, then decoded by a table for short codes and canonically for
//! long ones.

use super::Fault;
use super::bits::Bits;

/// The longest code, in bits.
const LONGEST: usize = 15;

/// Codes up to this many bits are decoded by the table.
const SHORT: usize = 8;

/// Stands in the table where the code is longer.
const LONG: u16 = u16::MAX;

pub(super) struct PrefixCode {
    /// For each value of the next [`SHORT`] bits: the symbol, and in the lowest four bits the length of its code.
    table: [u16; 1 << SHORT],
    /// How many codes there are of each length.
    counts: [u16; LONGEST + 1],
    /// All symbols, by the length of their codes, then by value.
    symbols: Vec<u16>,
}

impl PrefixCode {
    /// Reads the code of an alphabet of `alphabet` symbols, at most 1128.
    pub(super) fn read(bits: &mut Bits<'_>, alphabet: usize) -> Result<Self, Fault> {
        match bits.read(2)? {
            1 => Self::read_simple(bits, alphabet),
            skipped => Self::read_complex(bits, alphabet, skipped as usize),
        }
    }

    /// The next symbol.
    pub(super) fn symbol(&self, bits: &mut Bits<'_>) -> Result<usize, Fault> {
        let next = bits.peek();
        match self.table.get((next & ((1 << SHORT) - 1)) as usize) {
            Some(&entry) if entry != LONG => {
                bits.skip(u32::from(entry & 15))?;
                Ok(usize::from(entry >> 4))
            }
            _ => self.long_symbol(bits, next),
        }
    }

    fn long_symbol(&self, bits: &mut Bits<'_>, next: u32) -> Result<usize, Fault> {
        let (mut code, mut first, mut index) = (0_u32, 0_u32, 0_u32);
        for (length, count) in (1..).zip(self.counts.iter().skip(1)) {
            code |= (next >> (length - 1)) & 1;
            let count = u32::from(*count);
            let nth = code.wrapping_sub(first);
            if nth < count {
                bits.skip(length)?;
                let symbol = self.symbols.get((index + nth) as usize).ok_or(Fault::Broken)?;
                return Ok(usize::from(*symbol));
            }
            index += count;
            first = (first + count) << 1;
            code <<= 1;
        }
        Err(Fault::Broken)
    }

    /// A code with one symbol, which takes no bits.
    fn of_one(symbol: u16) -> Self {
        Self { table: [symbol << 4; 1 << SHORT], counts: [0; LONGEST + 1], symbols: Vec::new() }
    }

    /// The canonical code with these lengths, which must be complete; 0 for a symbol that does not occur.
    fn of_lengths(lengths: &[u8]) -> Self {
        let mut code = Self { table: [LONG; 1 << SHORT], counts: [0; LONGEST + 1], symbols: Vec::new() };
        for length in lengths {
            if let Some(count) = code.counts.get_mut(usize::from(*length)).filter(|_| *length > 0) {
                *count += 1;
            }
        }
        // Where the next symbol of each length belongs.
        let mut places = [0_usize; LONGEST + 1];
        let mut total = 0;
        for (place, count) in places.iter_mut().zip(code.counts) {
            *place = total;
            total += usize::from(count);
        }
        code.symbols = vec![0; total];
        for (symbol, length) in (0_u16..).zip(lengths) {
            if let Some(place) = places.get_mut(usize::from(*length)).filter(|_| *length > 0) {
                if let Some(slot) = code.symbols.get_mut(*place) {
                    *slot = symbol;
                }
                *place += 1;
            }
        }
        code.fill_table();
        code
    }

    fn fill_table(&mut self) {
        let mut symbols = self.symbols.iter();
        let mut next = 0_u16;
        for (length, count) in self.counts.iter().enumerate().take(SHORT + 1).skip(1) {
            for symbol in symbols.by_ref().take(usize::from(*count)) {
                // Codes come with their highest bit first, numbers with their lowest.
                let start = usize::from(next.reverse_bits() >> (16 - length));
                let entry = symbol << 4 | length as u16;
                self.table.iter_mut().skip(start).step_by(1 << length).for_each(|slot| *slot = entry);
                next += 1;
            }
            next <<= 1;
        }
    }

    /// One to four symbols, listed (section 3.4).
    fn read_simple(bits: &mut Bits<'_>, alphabet: usize) -> Result<Self, Fault> {
        let width = alphabet.next_power_of_two().ilog2();
        let number = bits.read(2)? as usize + 1;
        let mut symbols = [0_usize; 4];
        for slot in symbols.iter_mut().take(number) {
            *slot = bits.read(width)? as usize;
        }
        let lengths: [u8; 4] = match number {
            1 => return if symbols[0] < alphabet { Ok(Self::of_one(symbols[0] as u16)) } else { Err(Fault::Broken) },
            2 => [1, 1, 0, 0],
            3 => [1, 2, 2, 0],
            _ if bits.flag()? => [1, 2, 3, 3],
            _ => [2; 4],
        };
        let mut all = vec![0; alphabet];
        for (symbol, length) in symbols.into_iter().zip(lengths).take(number) {
            match all.get_mut(symbol) {
                Some(slot @ 0) => *slot = length,
                // Beyond the alphabet, or there already.
                _ => return Err(Fault::Broken),
            }
        }
        Ok(Self::of_lengths(&all))
    }

    /// All lengths, themselves in a prefix code (section 3.5).
    fn read_complex(bits: &mut Bits<'_>, alphabet: usize, skipped: usize) -> Result<Self, Fault> {
        let lengths_code = Self::read_lengths_code(bits, skipped)?;
        let mut lengths = Vec::with_capacity(alphabet);
        let mut space = 1_usize << LONGEST;
        let mut last = 8_u8;
        // The length that is being repeated and how often it was so far.
        let mut run = (0_u8, 0_usize);
        while lengths.len() < alphabet && space > 0 {
            let symbol = lengths_code.symbol(bits)?;
            let (length, times) = match symbol {
                0..=15 => {
                    let length = symbol as u8;
                    run = (0, 0);
                    if length != 0 {
                        last = length;
                    }
                    (length, 1)
                }
                _ => {
                    let (length, more) = if symbol == 16 { (last, 2) } else { (0, 3) };
                    let before = if run.0 == length { run.1 } else { 0 };
                    let times = (before.saturating_sub(2) << more) + bits.read(more)? as usize + 3;
                    run = (length, times);
                    (length, times - before)
                }
            };
            if times > alphabet - lengths.len() {
                return Err(Fault::Broken);
            }
            if length != 0 {
                let taken = times << (LONGEST - usize::from(length));
                space = space.checked_sub(taken).ok_or(Fault::Broken)?;
            }
            lengths.resize(lengths.len() + times, length);
        }
        if space == 0 { Ok(Self::of_lengths(&lengths)) } else { Err(Fault::Broken) }
    }

    /// The code of the lengths 0 to 15, of "the last one again" and of "zeros".
    fn read_lengths_code(bits: &mut Bits<'_>, skipped: usize) -> Result<Self, Fault> {
        const ORDER: [usize; 18] = [1, 2, 3, 4, 0, 5, 17, 6, 16, 7, 8, 9, 10, 11, 12, 13, 14, 15];
        let mut lengths = [0_u8; 18];
        let mut space = 32_usize;
        for symbol in ORDER.into_iter().skip(skipped) {
            let (width, length) = match bits.peek() & 15 {
                0b0111 => (4, 1),
                0b1111 => (4, 5),
                low if low & 7 == 0b011 => (3, 2),
                low => match low & 3 {
                    0b00 => (2, 0),
                    0b01 => (2, 4),
                    _ => (2, 3),
                },
            };
            bits.skip(width)?;
            if let Some(slot) = lengths.get_mut(symbol).filter(|_| length > 0) {
                *slot = length;
                space = space.checked_sub(32 >> length).ok_or(Fault::Broken)?;
                if space == 0 {
                    break;
                }
            }
        }
        let mut used = (0_u16..).zip(lengths).filter(|(_, length)| *length > 0);
        match (used.next(), used.next()) {
            (Some((symbol, _)), None) => Ok(Self::of_one(symbol)),
            _ if space == 0 => Ok(Self::of_lengths(&lengths)),
            _ => Err(Fault::Broken),
        }
    }
}
