//! The members of an object, found by key.

use super::hash;
use super::lex::{self, Fault, Span};
use super::string;

/// One member. Where its key is repeated, the last value counts, as most parsers have it.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    /// The hash of the key.
    pub hash: u64,
    /// The key's lexeme.
    pub key: Span,
    /// The value's lexeme.
    pub value: Span,
    /// How often the key is there; 0 for a repetition, which the first one with this key stands for.
    pub count: u32,
}

/// Members of one object, in their order.
#[derive(Debug)]
pub struct Members {
    list: Vec<Member>,
    /// A hash table with open addressing: one more than the place in `list`, 0 where free. Twice as many as members,
    /// and a power of two.
    slots: Vec<u32>,
    end: usize,
    work: usize,
}

impl Members {
    /// The most members of an object that are put in a table.
    const MOST: usize = 1 << 18;

    /// Reads the members from `at`, where a key or the closing brace stands, up to that brace. `depth` is the number of
    /// objects and arrays that are open there; no more than `budget` bytes of work are spent.
    pub fn read(text: &[u8], at: usize, depth: usize, budget: usize) -> Result<Self, Fault> {
        let mut members = Self { list: Vec::new(), slots: Vec::new(), end: at, work: 0 };
        members.end = members.collect(text, at, depth)?;
        members.work = members.end.wrapping_sub(at);
        members.build(text, budget)?;
        Ok(members)
    }

    fn collect(&mut self, text: &[u8], mut at: usize, depth: usize) -> Result<usize, Fault> {
        if lex::byte(text, at) == b'}' {
            return Ok(lex::after(at));
        }
        loop {
            if lex::byte(text, at) != b'"' {
                return Err(Fault::Syntax);
            }
            if self.list.len() == Self::MOST {
                return Err(Fault::Complex);
            }
            let key = Span { start: at, end: lex::string(text, at)?.0 };
            let start = lex::colon(text, key.end)?;
            let value = Span { start, end: lex::value(text, start, depth)? };
            self.list.push(Member { hash: hash::string(key.of(text)), key, value, count: 1 });
            at = lex::space(text, value.end);
            match lex::byte(text, at) {
                b',' => at = lex::space(text, lex::after(at)),
                b'}' => return Ok(lex::after(at)),
                _ => return Err(Fault::Syntax),
            }
        }
    }

    fn build(&mut self, text: &[u8], budget: usize) -> Result<(), Fault> {
        self.slots = vec![0; self.list.len().saturating_mul(2).next_power_of_two()];
        for place in 0..self.list.len() {
            let Some(member) = self.list.get(place).copied() else {
                break;
            };
            let (slot, found) = self.probe(text, member.hash, member.key.of(text), budget)?;
            if let Some(first) = found.and_then(|found| self.list.get_mut(found)) {
                first.value = member.value;
                first.count = first.count.saturating_add(1);
                if let Some(repetition) = self.list.get_mut(place) {
                    repetition.count = 0;
                }
            } else if let Some(slot) = self.slots.get_mut(slot) {
                *slot = u32::try_from(place).unwrap_or(u32::MAX).saturating_add(1);
            }
        }
        Ok(())
    }

    /// Looks for a key: the slot where the search ended, and the place of the member that has it.
    fn probe(&mut self, text: &[u8], hash: u64, key: &[u8], budget: usize) -> Result<(usize, Option<usize>), Fault> {
        let mask = self.slots.len().wrapping_sub(1);
        let mut slot = hash as usize & mask;
        loop {
            let Some(place) = self.slots.get(slot).and_then(|filled| filled.checked_sub(1)) else {
                return Ok((slot, None));
            };
            let place = place as usize;
            let known = self.list.get(place).filter(|known| known.hash == hash);
            if known.is_some_and(|known| string::equal(known.key.of(text), key)) {
                return Ok((slot, Some(place)));
            }
            // Keys made to collide must not cost more than others.
            self.work = self.work.saturating_add(key.len());
            if self.work > budget {
                return Err(Fault::Complex);
            }
            slot = slot.wrapping_add(1) & mask;
        }
    }

    /// The place in the list of the member with this key. `text` is the one that the members were read from.
    pub fn find(&mut self, text: &[u8], hash: u64, key: &[u8], budget: usize) -> Result<Option<usize>, Fault> {
        self.probe(text, hash, key, budget).map(|(_, found)| found)
    }

    /// The members, each key once.
    pub fn iter(&self) -> impl Iterator<Item = (usize, Member)> {
        self.list.iter().copied().enumerate().filter(|(_, member)| member.count > 0)
    }

    /// The member at a place of the list.
    pub fn get(&self, place: usize) -> Option<Member> {
        self.list.get(place).copied()
    }

    /// How many there are, repetitions included.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// The position behind the closing brace.
    pub fn end(&self) -> usize {
        self.end
    }

    /// The work that was spent, in bytes scanned.
    pub fn work(&self) -> usize {
        self.work
    }
}
