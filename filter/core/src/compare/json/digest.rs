//! Digests of whole values by the rules: equal values share one, whatever the order of their members.

use std::collections::BinaryHeap;

use super::hash::{self, mix};
use super::lex::{self, Fault, Span, Type};
use super::members::Members;
use super::path::Step;
use super::rules::Scope;
use super::walk::Walk;

impl<'t> Walk<'t, '_> {
    /// The digest of the value at `at`, which was checked before (and so is not too deep for this recursion), and the
    /// value's end. What `scope` ignores is left out; unless `exact`, so are numbers that have a tolerance, and the order
    /// of arrays to which it does not matter.
    pub fn digest(&mut self, text: &'t [u8], at: usize, scope: &Scope, exact: bool) -> Result<(u64, usize), Fault> {
        let first = lex::byte(text, at);
        let kind = Type::begun_by(first).ok_or(Fault::Syntax)?;
        let (sum, end) = match kind {
            Type::Object => self.object_digest(text, at, scope, exact)?,
            Type::Array => self.array_digest(text, at, scope, exact)?,
            scalar => {
                let end = lex::scalar(text, at, first)?;
                let any = scalar == Type::Number && !exact && self.rules.bounds(scope).next().is_some();
                let lexeme = Span { start: at, end }.of(text);
                (if any { 0 } else { hash::scalar(lexeme).unwrap_or_default() }, end)
            }
        };
        Ok((if scope.ignored { 0 } else { mix(sum, kind as u64) }, end))
    }

    fn array_digest(&mut self, text: &'t [u8], at: usize, scope: &Scope, exact: bool) -> Result<(u64, usize), Fault> {
        let any_order = self.rules.unordered(scope).is_some();
        let mut at = lex::space(text, lex::after(at));
        let mut sum = 0_u64;
        let mut index = 0_usize;
        while lex::byte(text, at) != b']' {
            let below = self.rules.step(scope, Step::Index(index));
            let (digest, end) = self.digest(text, at, &below, exact)?;
            sum = if any_order { sum.wrapping_add(mix(digest, 1)) } else { mix(sum, digest) };
            index = index.wrapping_add(1);
            at = next(text, end);
        }
        Ok((sum, lex::after(at)))
    }

    fn object_digest(&mut self, text: &'t [u8], at: usize, scope: &Scope, exact: bool) -> Result<(u64, usize), Fault> {
        let begin = lex::space(text, lex::after(at));
        let outer = self.key_hashes.len();
        let mut at = begin;
        let mut sum = 0_u64;
        while lex::byte(text, at) != b'}' {
            let key = Span { start: at, end: lex::string(text, at)?.0 };
            let hash = hash::string(key.of(text));
            self.key_hashes.push(hash);
            let below = self.rules.step(scope, Step::Key(key.of(text)));
            let (digest, end) = self.digest(text, lex::colon(text, key.end)?, &below, exact)?;
            if !below.ignored {
                sum = sum.wrapping_add(mix(hash, digest));
            }
            at = next(text, end);
        }
        let end = lex::after(at);
        if has_repeats(self.key_hashes.get(outer..).unwrap_or_default()) {
            self.spend(end.wrapping_sub(begin))?;
            sum = self.members_digest(text, begin, scope, exact)?;
        }
        self.key_hashes.truncate(outer);
        Ok((sum, end))
    }

    /// The digest of an object with repeated keys, by its last values and the numbers of repetitions.
    fn members_digest(&mut self, text: &'t [u8], begin: usize, scope: &Scope, exact: bool) -> Result<u64, Fault> {
        // The nesting was checked before.
        let members = Members::read(text, begin, 0, self.budget)?;
        self.spend(members.work())?;
        let mut sum = 0_u64;
        for (_, member) in members.iter() {
            let below = self.rules.step(scope, Step::Key(member.key.of(text)));
            let (digest, _) = self.digest(text, member.value.start, &below, exact)?;
            if !below.ignored {
                let repetitions = u64::from(member.count.saturating_sub(1));
                sum = sum.wrapping_add(mix(member.hash, digest).wrapping_add(repetitions));
            }
        }
        Ok(sum)
    }
}

/// Where the next member or element begins, or the closing bracket stands, behind a value that ends at `end`.
fn next(text: &[u8], end: usize) -> usize {
    let at = lex::space(text, end);
    if lex::byte(text, at) == b',' { lex::space(text, lex::after(at)) } else { at }
}

/// Whether a hash is among them twice.
pub fn has_repeats(hashes: &[u64]) -> bool {
    const FEW: usize = 16;
    if hashes.len() <= FEW {
        let behind = |place: usize| hashes.iter().skip(place.wrapping_add(1));
        return hashes.iter().enumerate().any(|(place, hash)| behind(place).any(|other| other == hash));
    }
    // A heap sorts more slowly than `sort`, in a tenth of its code; this is rare.
    let sorted = BinaryHeap::from(hashes.to_vec()).into_sorted_vec();
    sorted.iter().zip(sorted.iter().skip(1)).any(|(one, other)| one == other)
}
