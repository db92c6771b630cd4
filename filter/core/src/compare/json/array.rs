//! Arrays in which order matters: element by element, then a second look at what differed.

use super::lex::{self, Fault, Span};
use super::pair::{Pair, Spans};
use super::path::{Path, Step};
use super::walk::{Mark, Walk};
use crate::divergence::Kind;

/// The most elements of an array that are listed.
const MOST: usize = 1 << 20;

/// The elements that differed, pairwise, so far.
#[derive(Default)]
struct Differing {
    first: Option<First>,
    count: usize,
}

/// Where the first pair of elements that differed begins.
#[derive(Clone, Copy)]
struct First {
    at: usize,
    shadow_at: usize,
    index: usize,
    /// What was found before it.
    mark: Mark,
}

impl<'t> Walk<'t, '_> {
    /// Compares the arrays at `pair` and passes them.
    pub fn array(&mut self, pair: &mut Pair<'t>, path: &Path<'_>) -> Result<(), Fault> {
        self.enter(path)?;
        if self.rules.has_unordered() {
            let scope = self.rules.at(path);
            let rules = self.rules;
            if let Some(key) = rules.unordered(&scope) {
                return self.unordered(pair, path, &scope, key);
            }
        }
        let (begun, mark) = (*pair, self.mark());
        let mut differing = Differing::default();
        let mut index = 0_usize;
        pair.pass();
        pair.space();
        match pair.next() {
            (b']', b']') => {
                pair.pass();
                return Ok(());
            }
            (b']', _) | (_, b']') => return self.uneven(pair, path, index, &differing),
            _ => {}
        }
        loop {
            let first = First { at: pair.at, shadow_at: pair.shadow_at, index, mark: self.mark() };
            self.value(pair, &path.then(Step::Index(index)))?;
            if self.differences != first.mark.differences {
                differing.first = differing.first.or(Some(first));
                differing.count = differing.count.wrapping_add(1);
            }
            index = index.wrapping_add(1);
            pair.space();
            match pair.next() {
                (b',', b',') => {
                    pair.pass();
                    pair.space();
                }
                (b']', b']') => {
                    pair.pass();
                    // One pair alone cannot have changed places.
                    if differing.count > 1 && self.may_be_moves_since(mark) {
                        self.reordered(path, pair.since(&begun), mark)?;
                    }
                    return Ok(());
                }
                (first, shadow_first) => {
                    let at = next_element(pair.primary, pair.at, first)?;
                    let shadow_at = next_element(pair.shadow, pair.shadow_at, shadow_first)?;
                    pair.jump(at, shadow_at);
                    return self.uneven(pair, path, index, &differing);
                }
            }
        }
    }

    /// Where the elements of arrays of one length only changed places, says that instead of what was found since `mark`:
    /// how each differs from the one in its place.
    fn reordered(&mut self, path: &Path<'_>, arrays: Spans, mark: Mark) -> Result<(), Fault> {
        self.spend_spans(arrays)?;
        let depth = path.depth().saturating_add(1);
        let first = |text: &[u8], array: Span| lex::space(text, lex::after(array.start));
        let (ours, _) = elements(self.primary, first(self.primary, arrays.primary), depth)?;
        let (theirs, _) = elements(self.shadow, first(self.shadow, arrays.shadow), depth)?;
        let mut sum = 0_u64;
        for ((primary, shadow), index) in ours.into_iter().zip(theirs).zip(0..) {
            let spans = Spans { primary, shadow };
            if !self.same_bytes(spans) {
                self.spend_spans(spans)?;
                let scope = self.rules.at(&path.then(Step::Index(index)));
                sum = sum.wrapping_add(self.digest(self.primary, primary.start, &scope, true)?.0);
                sum = sum.wrapping_sub(self.digest(self.shadow, shadow.start, &scope, true)?.0);
            }
        }
        if sum == 0 {
            self.rewind(mark);
            self.report_spans(path, Kind::Order, arrays);
        }
        Ok(())
    }

    /// Compares arrays of different lengths, of which the first `index` elements have been compared; `pair` is at the
    /// next element or, where there is none, at the closing bracket.
    ///
    /// An element that was put in or left out shifts all behind it. So where elements differed, those at the end that
    /// are the same again are set aside, and what lies between is compared once more.
    fn uneven(
        &mut self,
        pair: &mut Pair<'t>,
        path: &Path<'_>,
        index: usize,
        differing: &Differing,
    ) -> Result<(), Fault> {
        let depth = path.depth().saturating_add(1);
        let (at, shadow_at, index) = match differing.first {
            Some(first) => (first.at, first.shadow_at, first.index),
            None => (pair.at, pair.shadow_at, index),
        };
        let (ours, end) = elements(pair.primary, at, depth)?;
        let (theirs, shadow_end) = elements(pair.shadow, shadow_at, depth)?;
        self.spend(end.wrapping_sub(at).saturating_add(shadow_end.wrapping_sub(shadow_at)))?;
        pair.jump(end, shadow_end);

        let mut tail = 0_usize;
        let last = index.wrapping_add(ours.len()).wrapping_sub(1);
        for (primary, shadow) in ours.iter().rev().copied().zip(theirs.iter().rev().copied()) {
            if !self.alike(Spans { primary, shadow }, &path.then(Step::Index(last.wrapping_sub(tail))))? {
                break;
            }
            tail = tail.wrapping_add(1);
        }
        let (ours, our_tail) = split_tail(&ours, tail);
        let (theirs, their_tail) = split_tail(&theirs, tail);
        if let Some(first) = differing.first.filter(|_| tail > 0) {
            self.rewind(first.mark);
            self.pairwise(ours, theirs, path, index)?;
            // Alike to rules; numbers with a tolerance have not been compared yet.
            self.pairwise(our_tail, their_tail, path, index.wrapping_add(ours.len()))?;
        }
        let both = ours.len().min(theirs.len());
        for (place, element) in ours.iter().enumerate().skip(both) {
            let below = path.then(Step::Index(index.wrapping_add(place)));
            self.report(&below, Kind::Missing, Some(element.of(self.primary)), None);
        }
        for (place, element) in theirs.iter().enumerate().skip(both) {
            let below = path.then(Step::Index(index.wrapping_add(place)));
            self.report(&below, Kind::Added, None, Some(element.of(self.shadow)));
        }
        Ok(())
    }

    /// Compares elements one by one; `index` is the first one's.
    fn pairwise(&mut self, ours: &[Span], theirs: &[Span], path: &Path<'_>, index: usize) -> Result<(), Fault> {
        for ((primary, shadow), index) in ours.iter().copied().zip(theirs.iter().copied()).zip(index..) {
            self.spans(Spans { primary, shadow }, &path.then(Step::Index(index)))?;
        }
        Ok(())
    }

    /// Whether two values are equal, numbers with a tolerance left out.
    fn alike(&mut self, spans: Spans, path: &Path<'_>) -> Result<bool, Fault> {
        if self.same_bytes(spans) {
            return Ok(true);
        }
        self.spend_spans(spans)?;
        let scope = self.rules.at(path);
        let digest = self.digest(self.primary, spans.primary.start, &scope, false)?.0;
        Ok(digest == self.digest(self.shadow, spans.shadow.start, &scope, false)?.0)
    }
}

/// The elements from `at`, where one begins or the array ends, and the position behind the closing bracket.
pub fn elements(text: &[u8], mut at: usize, depth: usize) -> Result<(Vec<Span>, usize), Fault> {
    let mut list = Vec::new();
    if lex::byte(text, at) == b']' {
        return Ok((list, lex::after(at)));
    }
    loop {
        if list.len() == MOST {
            return Err(Fault::Complex);
        }
        let element = Span { start: at, end: lex::value(text, at, depth)? };
        list.push(element);
        at = lex::space(text, element.end);
        match lex::byte(text, at) {
            b',' => at = lex::space(text, lex::after(at)),
            b']' => return Ok((list, lex::after(at))),
            _ => return Err(Fault::Syntax),
        }
    }
}

/// Where the next element begins behind the comma at `at`, or the closing bracket there; `first` is the byte there.
fn next_element(text: &[u8], at: usize, first: u8) -> Result<usize, Fault> {
    match first {
        b']' => Ok(at),
        b',' => {
            let element = lex::space(text, lex::after(at));
            if lex::byte(text, element) == b']' { Err(Fault::Syntax) } else { Ok(element) }
        }
        _ => Err(Fault::Syntax),
    }
}

fn split_tail(list: &[Span], tail: usize) -> (&[Span], &[Span]) {
    list.split_at_checked(list.len().wrapping_sub(tail)).unwrap_or((list, &[]))
}
