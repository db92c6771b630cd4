//! A cursor over both texts at once. While both run through the same bytes only one of them is read.

use super::lex::{self, Fault, Span};

/// The same lexeme, or what stands there, in both texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spans {
    /// In the primary's text.
    pub primary: Span,
    /// In the shadow's text.
    pub shadow: Span,
}

/// A position in both texts.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'t> {
    /// The primary's text; nothing behind its end is read.
    pub primary: &'t [u8],
    /// The shadow's text; nothing behind its end is read.
    pub shadow: &'t [u8],
    /// The position in the primary's text.
    pub at: usize,
    /// The position in the shadow's text.
    pub shadow_at: usize,
    /// Up to this position of the primary's text the shadow's text goes on with the same bytes.
    same: usize,
}

impl<'t> Pair<'t> {
    /// A cursor at the beginning of `spans` that sees nothing behind their ends.
    pub fn new(primary: &'t [u8], shadow: &'t [u8], spans: Spans) -> Self {
        Self {
            primary: primary.get(..spans.primary.end).unwrap_or(primary),
            shadow: shadow.get(..spans.shadow.end).unwrap_or(shadow),
            at: spans.primary.start,
            shadow_at: spans.shadow.start,
            same: 0,
        }
    }

    /// Jumps to other positions.
    pub fn jump(&mut self, at: usize, shadow_at: usize) {
        (self.at, self.shadow_at, self.same) = (at, shadow_at, 0);
    }

    /// The next byte of both; 0 at an end.
    #[inline]
    pub fn next(&self) -> (u8, u8) {
        (lex::byte(self.primary, self.at), lex::byte(self.shadow, self.shadow_at))
    }

    /// Passes one byte in both.
    #[inline]
    pub fn pass(&mut self) {
        self.at = lex::after(self.at);
        self.shadow_at = lex::after(self.shadow_at);
    }

    /// Passes white space in both.
    #[inline]
    pub fn space(&mut self) {
        let at = lex::space(self.primary, self.at);
        if at < self.same {
            self.both_to(at);
        } else {
            self.at = at;
            self.shadow_at = lex::space(self.shadow, self.shadow_at);
        }
    }

    /// Looks ahead how far the texts are the same from here, unless that is known.
    #[inline]
    pub fn look(&mut self) {
        if self.at >= self.same {
            let rest = self.primary.get(self.at..).unwrap_or_default();
            let shadow_rest = self.shadow.get(self.shadow_at..).unwrap_or_default();
            self.same = self.at.wrapping_add(common_prefix(rest, shadow_rest));
        }
    }

    /// Passes a string in both; gives it where its bytes differ.
    #[inline]
    pub fn string(&mut self) -> Result<Option<Spans>, Fault> {
        let (end, _) = lex::string(self.primary, self.at)?;
        if end <= self.same {
            self.both_to(end);
            return Ok(None);
        }
        let (shadow_end, _) = lex::string(self.shadow, self.shadow_at)?;
        Ok(self.both_end(end, shadow_end))
    }

    /// Passes a number, `true`, `false` or `null` in both; gives it where its bytes differ.
    #[inline]
    pub fn word(&mut self) -> Result<Option<Spans>, Fault> {
        let (first, shadow_first) = self.next();
        let end = lex::scalar(self.primary, self.at, first)?;
        // The byte behind it must be the same too, or the shadow's may be longer.
        if end < self.same {
            self.both_to(end);
            return Ok(None);
        }
        let shadow_end = lex::scalar(self.shadow, self.shadow_at, shadow_first)?;
        Ok(self.both_end(end, shadow_end))
    }

    /// Passes an object or array in both if it is small and the same on both sides. Reading one text with no thought of the
    /// other is twice as fast; where a difference comes after all, no more than what is small was read in vain.
    #[inline]
    pub fn small_and_same(&mut self, depth: usize) -> bool {
        const SMALL: usize = 1024;
        let end = self.same.min(self.at.saturating_add(SMALL));
        let passed = self.primary.get(..end).and_then(|text| lex::value(text, self.at, depth).ok());
        if let Some(end) = passed {
            self.both_to(end);
        }
        passed.is_some()
    }

    /// Passes any value in both.
    pub fn value(&mut self, depth: usize) -> Result<Spans, Fault> {
        let end = lex::value(self.primary, self.at, depth)?;
        let shadow_end = lex::value(self.shadow, self.shadow_at, depth)?;
        Ok(self.to(end, shadow_end))
    }

    /// What lies between an earlier position of both and this one.
    pub fn since(&self, earlier: &Self) -> Spans {
        Spans {
            primary: Span { start: earlier.at, end: self.at },
            shadow: Span { start: earlier.shadow_at, end: self.shadow_at },
        }
    }

    fn both_to(&mut self, at: usize) {
        self.shadow_at = self.shadow_at.wrapping_add(at.wrapping_sub(self.at));
        self.at = at;
    }

    fn both_end(&mut self, end: usize, shadow_end: usize) -> Option<Spans> {
        let spans = self.to(end, shadow_end);
        (spans.primary.of(self.primary) != spans.shadow.of(self.shadow)).then_some(spans)
    }

    fn to(&mut self, end: usize, shadow_end: usize) -> Spans {
        let before = *self;
        self.jump(end, shadow_end);
        self.since(&before)
    }
}

/// How many bytes at the beginning of both are the same.
fn common_prefix(one: &[u8], other: &[u8]) -> usize {
    const STRIDE: usize = 16;
    // As integers: comparing the bytes would be a call of memcmp for each stride where size counts.
    let strides = |text| <[u8]>::as_chunks::<STRIDE>(text).0.iter().map(|bytes| u128::from_ne_bytes(*bytes));
    let same = strides(one).zip(strides(other)).take_while(|(a, b)| a == b).count().wrapping_mul(STRIDE);
    let (rest, other_rest) = (one.get(same..).unwrap_or_default(), other.get(same..).unwrap_or_default());
    let more = rest.iter().zip(other_rest).take_while(|(a, b)| a == b).count();
    same.wrapping_add(more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_prefixes_end_at_the_first_difference() {
        let text = [b'x'; 200];
        for length in [0, 1, 7, 31, 32, 33, 64, 100, 199] {
            let mut other = text;
            other[length] = b'y';
            assert_eq!(common_prefix(&text, &other), length);
            assert_eq!(common_prefix(&text, &text[..length]), length);
        }
        assert_eq!(common_prefix(&text, &text), 200);
    }
}
