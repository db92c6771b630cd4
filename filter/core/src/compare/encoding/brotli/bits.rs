//! Reads bits, the lowest of each byte first.

use super::Fault;

pub(super) struct Bits<'a> {
    input: &'a [u8],
    /// How many bytes of it were taken into `held`.
    at: usize,
    held: u64,
    /// How many bits of `held` are of the input; those above are 0.
    count: u32,
}

impl<'a> Bits<'a> {
    pub(super) fn new(input: &'a [u8]) -> Self {
        Self { input, at: 0, held: 0, count: 0 }
    }

    /// The next 32 bits, with zeros where the input ends before.
    pub(super) fn peek(&mut self) -> u32 {
        if self.count < 32 {
            let rest = self.input.get(self.at..).unwrap_or_default();
            if let Some(bytes) = rest.first_chunk() {
                self.held |= u64::from(u32::from_le_bytes(*bytes)) << self.count;
                self.count += 32;
                self.at += 4;
            } else {
                for byte in rest {
                    self.held |= u64::from(*byte) << self.count;
                    self.count += 8;
                    self.at += 1;
                }
            }
        }
        self.held as u32
    }

    /// Takes `n` bits, at most 32, that [`Bits::peek`] showed.
    pub(super) fn skip(&mut self, n: u32) -> Result<(), Fault> {
        self.count = self.count.checked_sub(n).ok_or(Fault::Broken)?;
        self.held >>= n;
        Ok(())
    }

    /// Takes a number of `n` bits, at most 31.
    pub(super) fn read(&mut self, n: u32) -> Result<u32, Fault> {
        let number = self.peek() & ((1 << n) - 1);
        self.skip(n)?;
        Ok(number)
    }

    pub(super) fn flag(&mut self) -> Result<bool, Fault> {
        Ok(self.read(1)? == 1)
    }

    /// Passes over the bits up to the next byte, which must be 0.
    pub(super) fn align(&mut self) -> Result<(), Fault> {
        match self.read(self.count % 8)? {
            0 => Ok(()),
            _ => Err(Fault::Broken),
        }
    }

    /// Takes `n` bytes; only after [`Bits::align`].
    pub(super) fn bytes(&mut self, n: usize) -> Result<&'a [u8], Fault> {
        let start = self.at - (self.count / 8) as usize;
        let bytes = self.input.get(start..start + n).ok_or(Fault::Broken)?;
        *self = Self { input: self.input, at: start + n, held: 0, count: 0 };
        Ok(bytes)
    }

    /// Whether nothing is left.
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0 && self.at == self.input.len()
    }
}
