//! Finite state entropy: tables that turn a state into a symbol and the next state (RFC 8878, section 4.1).

use super::super::bits::Bits;
use super::Fault;
use super::backward::Backward;

/// What one state means.
#[derive(Clone, Copy, Default)]
struct Entry {
    symbol: u8,
    /// How many bits lead to the next state, and from where they count.
    bits: u8,
    base: u16,
}

pub(super) struct Table {
    /// Binary logarithm of the number of states.
    log: u32,
    entries: Vec<Entry>,
}

impl Table {
    /// Reads a table of at most 2^`max_log` states for `symbols` symbols.
    pub(super) fn read(input: &mut &[u8], max_log: u32, symbols: usize) -> Result<Self, Fault> {
        let mut bits = Bits::new(input);
        let log = bits.read(4)? + 5;
        if log > max_log {
            return Err(Fault::Broken);
        }
        let mut shares = Vec::with_capacity(symbols);
        let mut left = 1_i32 << log;
        while left > 0 {
            let share = read_share(&mut bits, left)?;
            left -= i32::from(share.abs());
            shares.push(share);
            if share == 0 {
                loop {
                    let zeros = bits.read(2)?;
                    shares.resize(shares.len() + zeros as usize, 0);
                    if zeros < 3 {
                        break;
                    }
                }
            }
            if shares.len() > symbols {
                return Err(Fault::Broken);
            }
        }
        *input = input.get(bits.position()..).ok_or(Fault::Broken)?;
        Self::of_shares(log, &shares)
    }

    /// The table of one symbol that always comes.
    pub(super) fn of_one(symbol: u8) -> Self {
        Self { log: 0, entries: vec![Entry { symbol, bits: 0, base: 0 }] }
    }

    /// Spreads symbols over 2^`log` states by their shares; −1 is a share below one state. The shares make up the whole.
    pub(super) fn of_shares(log: u32, shares: &[i16]) -> Result<Self, Fault> {
        let size = 1_usize << log;
        let mut entries = vec![Entry::default(); size];
        // The next state of each symbol, counted from its share on.
        let mut next: Vec<u16> = shares.iter().map(|share| share.unsigned_abs()).collect();
        let mut end = size;
        for (symbol, _) in (0_u8..).zip(shares).filter(|(_, share)| **share == -1) {
            end = end.checked_sub(1).ok_or(Fault::Broken)?;
            entries.get_mut(end).ok_or(Fault::Broken)?.symbol = symbol;
        }
        let step = (size >> 1) + (size >> 3) + 3;
        let mut at = 0;
        for (symbol, share) in (0_u8..).zip(shares) {
            for _ in 0..(*share).max(0) {
                entries.get_mut(at).ok_or(Fault::Broken)?.symbol = symbol;
                at = (at + step) & (size - 1);
                while at >= end {
                    at = (at + step) & (size - 1);
                }
            }
        }
        for entry in &mut entries {
            let state = next.get_mut(usize::from(entry.symbol)).ok_or(Fault::Broken)?;
            let bits = log.checked_sub(state.checked_ilog2().ok_or(Fault::Broken)?).ok_or(Fault::Broken)?;
            entry.bits = bits as u8;
            entry.base = ((usize::from(*state) << bits) - size) as u16;
            *state += 1;
        }
        Ok(Self { log, entries })
    }

    /// The first state, read from `bits`.
    pub(super) fn first(&self, bits: &mut Backward<'_>) -> usize {
        bits.read(self.log) as usize
    }

    /// The symbol of a state.
    pub(super) fn symbol(&self, state: usize) -> Result<u8, Fault> {
        Ok(self.entries.get(state).ok_or(Fault::Broken)?.symbol)
    }

    /// The state after `state`.
    pub(super) fn next(&self, state: usize, bits: &mut Backward<'_>) -> Result<usize, Fault> {
        let entry = self.entries.get(state).ok_or(Fault::Broken)?;
        Ok(usize::from(entry.base) + bits.read(u32::from(entry.bits)) as usize)
    }
}

/// The share of the next symbol, where `left` is not given away yet: a number from −1 to `left`, in as few bits as that
/// allows.
fn read_share(bits: &mut Bits<'_>, left: i32) -> Result<i16, Fault> {
    let range = left as u32 + 1;
    let width = range.ilog2() + 1;
    let next = bits.peek() & ((1 << width) - 1);
    let low = next & ((1 << (width - 1)) - 1);
    let short = (1 << width) - 1 - range;
    let value = if low < short {
        bits.skip(width - 1)?;
        low
    } else {
        bits.skip(width)?;
        if next > low { next - short } else { next }
    };
    i16::try_from(value as i32 - 1).map_err(|_| Fault::Broken)
}
