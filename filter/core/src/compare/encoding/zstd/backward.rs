//! Reads bits from the end of a stream to its beginning; the highest 1 of the last byte marks where they start.

use super::Fault;

pub(super) struct Backward<'a> {
    input: &'a [u8],
    /// How many bits are left; negative where more were taken than there are.
    left: isize,
}

impl<'a> Backward<'a> {
    pub(super) fn new(input: &'a [u8]) -> Result<Self, Fault> {
        let padding = input.last().filter(|last| **last != 0).ok_or(Fault::Broken)?.leading_zeros() + 1;
        Ok(Self { input, left: (input.len() * 8) as isize - padding as isize })
    }

    /// The next `n` bits, at most 32, as a number; zeros where there are none left.
    pub(super) fn peek(&self, n: u32) -> u32 {
        let mask = (1_u64 << n) - 1;
        let at = self.left - n as isize;
        let bits = match usize::try_from(at) {
            Ok(at) => self.word(at / 8) >> (at % 8),
            Err(_) if self.left <= 0 => 0,
            // Fewer than `n` are left: the first bytes hold them, below the marker and what was taken.
            Err(_) => (self.word(0) & ((1 << self.left) - 1)) << at.unsigned_abs(),
        };
        (bits & mask) as u32
    }

    pub(super) fn skip(&mut self, n: u32) {
        self.left -= n as isize;
    }

    pub(super) fn read(&mut self, n: u32) -> u32 {
        let bits = self.peek(n);
        self.skip(n);
        bits
    }

    /// Whether more was taken than there is.
    pub(super) fn is_overdrawn(&self) -> bool {
        self.left < 0
    }

    /// Whether all was taken and not more.
    pub(super) fn is_spent(&self) -> bool {
        self.left == 0
    }

    /// Eight bytes from `at` on, with zeros after the end.
    fn word(&self, at: usize) -> u64 {
        let rest = self.input.get(at..).unwrap_or_default();
        match rest.first_chunk() {
            Some(bytes) => u64::from_le_bytes(*bytes),
            None => rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
        }
    }
}
