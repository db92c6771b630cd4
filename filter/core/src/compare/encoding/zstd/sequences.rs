//! Sequences: how many literals to insert, how much to copy and from where (RFC 8878, section 3.1.1.3.2).

use super::backward::Backward;
use super::fse::Table;
use super::{Fault, take_number};

/// A number that a code stands for: from a base on, with some more bits.
type Range = (u32, u32);

/// Lengths of literals from code 16 on; those below are the code itself.
#[rustfmt::skip]
const LITERALS: [Range; 20] = [
    (16, 1), (18, 1), (20, 1), (22, 1), (24, 2), (28, 2), (32, 3), (40, 3), (48, 4), (64, 6), (128, 7), (256, 8), (512, 9),
    (1024, 10), (2048, 11), (4096, 12), (8192, 13), (16384, 14), (32768, 15), (65536, 16),
];

/// Lengths of matches from code 32 on; those below are the code and 3.
#[rustfmt::skip]
const MATCHES: [Range; 21] = [
    (35, 1), (37, 1), (39, 1), (41, 1), (43, 2), (47, 2), (51, 3), (59, 3), (67, 4), (83, 4), (99, 5), (131, 7), (259, 8),
    (515, 9), (1027, 10), (2051, 11), (4099, 12), (8195, 13), (16387, 14), (32771, 15), (65539, 16),
];

/// The shares of codes where a block brings none (section 3.1.1.3.2.2).
#[rustfmt::skip]
const LITERALS_SHARES: [i16; 36] = [
    4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1,
];
#[rustfmt::skip]
const MATCHES_SHARES: [i16; 53] = [
    1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
];
const OFFSETS_SHARES: [i16; 29] =
    [1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1];

/// One step of a block.
pub(super) struct Sequence {
    /// How many literals to append.
    pub literals: usize,
    /// How many bytes to copy then.
    pub length: usize,
    /// From how far back.
    pub offset: usize,
}

/// The tables of the last blocks that brought some, and the last three offsets.
pub(super) struct State {
    literals: Option<Table>,
    offsets: Option<Table>,
    matches: Option<Table>,
    recent: [usize; 3],
}

impl Default for State {
    fn default() -> Self {
        Self { literals: None, offsets: None, matches: None, recent: [1, 4, 8] }
    }
}

impl State {
    /// Reads the header of the sequences section, which is all of `input`.
    pub(super) fn read<'a>(&'a mut self, mut input: &'a [u8]) -> Result<Sequences<'a>, Fault> {
        let count = match take_number(&mut input, 1)? {
            0 if input.is_empty() => return Ok(Sequences { left: 0, run: None }),
            0 => return Err(Fault::Broken),
            255 => take_number(&mut input, 2)? + 0x7f00,
            high @ 128.. => ((high - 128) << 8) + take_number(&mut input, 1)?,
            low => low,
        };
        let modes = take_number(&mut input, 1)?;
        if modes & 3 != 0 {
            return Err(Fault::Broken);
        }
        read_table(&mut self.literals, modes >> 6, &mut input, (9, 36), (6, &LITERALS_SHARES))?;
        read_table(&mut self.offsets, modes >> 4 & 3, &mut input, (8, 32), (5, &OFFSETS_SHARES))?;
        read_table(&mut self.matches, modes >> 2 & 3, &mut input, (9, 53), (6, &MATCHES_SHARES))?;
        let tables = (self.literals.as_ref(), self.offsets.as_ref(), self.matches.as_ref());
        let (Some(literals), Some(offsets), Some(matches)) = tables else { return Err(Fault::Broken) };
        let mut bits = Backward::new(input)?;
        let states = [literals.first(&mut bits), offsets.first(&mut bits), matches.first(&mut bits)];
        let run = Run { literals, offsets, matches, states, bits, recent: &mut self.recent };
        Ok(Sequences { left: count, run: Some(run) })
    }
}

/// Reads one table: the predefined one, one of a single code, one that is described, or the last one again.
fn read_table(
    table: &mut Option<Table>,
    mode: usize,
    input: &mut &[u8],
    (max_log, codes): (u32, usize),
    (log, shares): (u32, &[i16]),
) -> Result<(), Fault> {
    match mode {
        0 => *table = Some(Table::of_shares(log, shares)?),
        1 => *table = Some(Table::of_one(take_number(input, 1)? as u8)),
        2 => *table = Some(Table::read(input, max_log, codes)?),
        _ => {}
    }
    Ok(())
}

/// The sequences of a block.
pub(super) struct Sequences<'a> {
    left: usize,
    /// None where there are no sequences.
    run: Option<Run<'a>>,
}

struct Run<'a> {
    literals: &'a Table,
    offsets: &'a Table,
    matches: &'a Table,
    /// Of literals, offsets and matches.
    states: [usize; 3],
    bits: Backward<'a>,
    recent: &'a mut [usize; 3],
}

impl Sequences<'_> {
    /// The next sequence; `None` after the last.
    pub(super) fn next(&mut self) -> Result<Option<Sequence>, Fault> {
        let Some(run) = &mut self.run else { return Ok(None) };
        if self.left == 0 {
            return if run.bits.is_spent() { Ok(None) } else { Err(Fault::Broken) };
        }
        self.left -= 1;
        let sequence = run.sequence()?;
        if self.left > 0 {
            run.advance()?;
        }
        if run.bits.is_overdrawn() { Err(Fault::Broken) } else { Ok(Some(sequence)) }
    }
}

impl Run<'_> {
    fn sequence(&mut self) -> Result<Sequence, Fault> {
        let [literals, offset, length] = self.states;
        let offset_code = u32::from(self.offsets.symbol(offset)?);
        let length_code = u32::from(self.matches.symbol(length)?);
        let literals_code = u32::from(self.literals.symbol(literals)?);
        // Farther back than any output allowed here.
        if offset_code > 30 {
            return Err(Fault::Broken);
        }
        let value = (1_u32 << offset_code) as usize + self.bits.read(offset_code) as usize;
        let length = if length_code < 32 { length_code as usize + 3 } else { self.number(&MATCHES, length_code - 32)? };
        let literals =
            if literals_code < 16 { literals_code as usize } else { self.number(&LITERALS, literals_code - 16)? };
        Ok(Sequence { literals, length, offset: self.offset(value, literals) })
    }

    fn number(&mut self, ranges: &[Range], code: u32) -> Result<usize, Fault> {
        let (base, more) = ranges.get(code as usize).ok_or(Fault::Broken)?;
        Ok((base + self.bits.read(*more)) as usize)
    }

    /// The offset that a value means: one of the last three, or a new one; 0 for none.
    fn offset(&mut self, value: usize, literals: usize) -> usize {
        let [first, second, third] = *self.recent;
        // Without literals the last offset would go on with the last match, so it stands for another one.
        let (offset, rest) = match value + usize::from(literals == 0) {
            1 => return first,
            2 => (second, [first, third]),
            3 => (third, [first, second]),
            4 if literals == 0 => (first - 1, [first, second]),
            _ => (value - 3, [first, second]),
        };
        *self.recent = [offset, rest[0], rest[1]];
        offset
    }

    fn advance(&mut self) -> Result<(), Fault> {
        let [literals, offset, length] = &mut self.states;
        *literals = self.literals.next(*literals, &mut self.bits)?;
        *length = self.matches.next(*length, &mut self.bits)?;
        *offset = self.offsets.next(*offset, &mut self.bits)?;
        Ok(())
    }
}
