//! Headers and trailers as the host hands them over: one block of bytes, read in place.
//!
//! The layout is proxy-wasm's (ABI 0.2.1, "serialized header map"): a little-endian `u32` count, then a pair of `u32`
//! lengths for each header, then for each header its name, a NUL, its value, a NUL.

/// All headers (or trailers) of one message, in order, names as they came (Envoy's are lower case).
#[derive(Clone, Default, PartialEq, Eq)]
pub struct HeaderBlock {
    block: Vec<u8>,
    count: usize,
}

/// Bytes of one header's two lengths.
const LENGTHS: usize = 8;
/// Bytes of the count.
const COUNT: usize = 4;

impl HeaderBlock {
    /// Takes a block from the host. `None` where its lengths do not add up.
    pub fn parse(block: Vec<u8>) -> Option<Self> {
        if block.is_empty() {
            return Some(Self::default());
        }
        let count = usize::try_from(read_u32(&block, 0)?).ok()?;
        let mut end = count.checked_mul(LENGTHS)?.checked_add(COUNT)?;
        let lengths = block.get(COUNT..end)?;
        for pair in lengths.chunks_exact(LENGTHS) {
            let name = usize::try_from(read_u32(pair, 0)?).ok()?;
            let value = usize::try_from(read_u32(pair, 4)?).ok()?;
            end = end.checked_add(name)?.checked_add(value)?.checked_add(2)?;
        }
        (end <= block.len()).then_some(Self { block, count })
    }

    /// Builds a block of names and values.
    pub fn from_pairs<N: AsRef<[u8]>, V: AsRef<[u8]>>(pairs: &[(N, V)]) -> Self {
        let word = |n: usize| u32::try_from(n).unwrap_or(u32::MAX).to_le_bytes();
        let mut block = word(pairs.len()).to_vec();
        for (name, value) in pairs {
            block.extend(word(name.as_ref().len()));
            block.extend(word(value.as_ref().len()));
        }
        for (name, value) in pairs {
            block.extend(name.as_ref());
            block.push(0);
            block.extend(value.as_ref());
            block.push(0);
        }
        Self { block, count: pairs.len() }
    }

    /// The block, as the host takes it too; nothing where there are no headers.
    pub fn as_bytes(&self) -> &[u8] {
        &self.block
    }

    /// How many headers there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes held, for budgets.
    pub fn size(&self) -> usize {
        self.block.len()
    }

    /// The same without the header `name` (lower case).
    pub fn without(&self, name: &str) -> Self {
        let others: Vec<_> = self.iter().filter(|(n, _)| !n.eq_ignore_ascii_case(name.as_bytes())).collect();
        Self::from_pairs(&others)
    }

    /// Name and value of each header, in order.
    pub fn iter(&self) -> Iter<'_> {
        let data = self.count.saturating_mul(LENGTHS).saturating_add(COUNT);
        Iter {
            lengths: self.block.get(COUNT..data).unwrap_or_default(),
            data: self.block.get(data..).unwrap_or_default(),
        }
    }

    /// The first value of the header `name` (lower case).
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.iter().find(|(n, _)| n.eq_ignore_ascii_case(name.as_bytes())).map(|(_, value)| value)
    }

    /// All values of the header `name` (lower case), joined by commas.
    pub fn get_all(&self, name: &str) -> Option<Vec<u8>> {
        let mut all: Option<Vec<u8>> = None;
        for (_, value) in self.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name.as_bytes())) {
            match &mut all {
                None => all = Some(value.to_vec()),
                Some(all) => {
                    all.push(b',');
                    all.extend_from_slice(value);
                }
            }
        }
        all
    }

    /// The first value of the header `name` (lower case), where it is UTF-8.
    pub fn get_str(&self, name: &str) -> Option<&str> {
        std::str::from_utf8(self.get(name)?).ok()
    }
}

impl std::fmt::Debug for HeaderBlock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = |bytes| String::from_utf8_lossy(bytes);
        f.debug_map().entries(self.iter().map(|(name, value)| (text(name), text(value)))).finish()
    }
}

/// Iterates over a [`HeaderBlock`].
#[derive(Clone)]
pub struct Iter<'a> {
    lengths: &'a [u8],
    data: &'a [u8],
}

impl<'a> Iterator for Iter<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let name = usize::try_from(read_u32(self.lengths, 0)?).ok()?;
        let value = usize::try_from(read_u32(self.lengths, 4)?).ok()?;
        self.lengths = self.lengths.get(LENGTHS..)?;
        let after_name = name.checked_add(1)?;
        let after_value = after_name.checked_add(value)?;
        let item = (self.data.get(..name)?, self.data.get(after_name..after_value)?);
        self.data = self.data.get(after_value.checked_add(1)?..)?;
        Some(item)
    }
}

fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(word.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_read_back_as_it_was_built() {
        let pairs = [("a", "1"), ("b", ""), ("a", "2")];
        let built = HeaderBlock::from_pairs(&pairs);
        let read = HeaderBlock::parse(built.block.clone()).expect("a well-formed block");
        let seen: Vec<_> = read.iter().map(|(n, v)| (String::from_utf8_lossy(n), String::from_utf8_lossy(v))).collect();
        assert_eq!(seen, pairs.map(|(n, v)| (n.into(), v.into())));
        assert_eq!(read.get("a"), Some(&b"1"[..]));
        assert_eq!(read.get("c"), None);
        assert_eq!(read.without("c"), read);
        assert_eq!(read.without("a"), HeaderBlock::from_pairs(&[("b", "")]));
    }

    #[test]
    fn a_block_whose_lengths_lie_is_refused() {
        let good = HeaderBlock::from_pairs(&[("name", "value")]).block;
        for cut in 1..good.len() {
            assert!(HeaderBlock::parse(good[..cut].to_vec()).is_none(), "cut at {cut}");
        }
        assert!(HeaderBlock::parse(vec![0xff; 64]).is_none());
        assert!(HeaderBlock::parse(Vec::new()).is_some());
    }
}
