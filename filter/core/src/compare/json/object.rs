//! Objects: in step as long as the keys come in the same order, by key from the first that does not.

use super::digest::has_repeats;
use super::hash;
use super::lex::{self, Fault, Span};
use super::members::{Member, Members};
use super::pair::{Pair, Spans};
use super::path::{Path, Step};
use super::string;
use super::walk::{Mark, Walk};
use crate::divergence::Kind;

/// What is shown where a key is repeated on one side more often than on the other.
const DUPLICATE: &[u8] = b"duplicate key";

/// What it takes to compare an object once more from its beginning.
struct Begun<'t> {
    pair: Pair<'t>,
    mark: Mark,
    /// How many keys of outer objects there are.
    keys: usize,
}

impl<'t> Walk<'t, '_> {
    /// Compares the objects at `pair` and passes them.
    pub fn object(&mut self, pair: &mut Pair<'t>, path: &Path<'_>) -> Result<(), Fault> {
        self.enter(path)?;
        pair.pass();
        pair.space();
        let begun = Begun { pair: *pair, mark: self.mark(), keys: self.keys.len() };
        let in_step = self.members_in_step(pair, path)?;
        let changed = self.differences != begun.mark.differences;
        let redo = match in_step {
            true => changed && self.keys_repeat(&begun)?,
            false => !self.members_by_key(pair, path, &begun)?,
        };
        if redo {
            self.rewind(begun.mark);
            self.keys.truncate(begun.keys);
            *pair = begun.pair;
            self.members_by_key(pair, path, &begun)?;
        }
        self.keys.truncate(begun.keys);
        Ok(())
    }

    /// Compares members while the keys are the same on both sides. Whether that went well to the closing braces, which
    /// then are passed; otherwise `pair` is where keys (or a closing brace) begin to differ.
    fn members_in_step(&mut self, pair: &mut Pair<'t>, path: &Path<'_>) -> Result<bool, Fault> {
        match pair.next() {
            (b'}', b'}') => {
                pair.pass();
                return Ok(true);
            }
            (b'"', b'"') => {}
            _ => return Ok(false),
        }
        loop {
            pair.look();
            let before = *pair;
            if let Some(keys) = pair.string()?
                && !string::equal(keys.primary.of(self.primary), keys.shadow.of(self.shadow))
            {
                *pair = before;
                return Ok(false);
            }
            let key = pair.since(&before).primary;
            self.keys.push(key.start);
            pair.space();
            if pair.next() != (b':', b':') {
                return Err(Fault::Syntax);
            }
            pair.pass();
            pair.space();
            self.value(pair, &path.then(Step::Key(key.of(self.primary))))?;
            pair.space();
            match pair.next() {
                (b',', b',') => {
                    pair.pass();
                    pair.space();
                    if pair.next() != (b'"', b'"') {
                        return Err(Fault::Syntax);
                    }
                }
                (b'}', b'}') => {
                    pair.pass();
                    return Ok(true);
                }
                (first, shadow_first) => {
                    let at = next_key(pair.primary, pair.at, first)?;
                    let shadow_at = next_key(pair.shadow, pair.shadow_at, shadow_first)?;
                    pair.jump(at, shadow_at);
                    return Ok(false);
                }
            }
        }
    }

    /// Compares the members from `pair` on by their keys and passes the closing braces. False, with work half done,
    /// where keys that were compared in step since `begun` are repeated: the whole object has to be compared by key then.
    fn members_by_key(&mut self, pair: &mut Pair<'t>, path: &Path<'_>, begun: &Begun<'t>) -> Result<bool, Fault> {
        let depth = path.depth().saturating_add(1);
        let mut ours = Members::read(self.primary, pair.at, depth, self.budget)?;
        let mut theirs = Members::read(self.shadow, pair.shadow_at, depth, self.budget)?;
        self.spend(ours.work().saturating_add(theirs.work()))?;
        pair.jump(ours.end(), theirs.end());

        if self.keys_repeat(begun)? {
            return Ok(false);
        }
        for place in begun.keys..self.keys.len() {
            let key = self.key(place);
            let hash = hash::string(key);
            let again = ours.find(self.primary, hash, key, self.budget)?.is_some()
                || theirs.find(self.shadow, hash, key, self.budget)?.is_some();
            if again {
                return Ok(false);
            }
        }

        let mut paired = vec![false; theirs.len()];
        for (_, member) in ours.iter() {
            let key = member.key.of(self.primary);
            let below = path.then(Step::Key(key));
            let found = theirs.find(self.shadow, member.hash, key, self.budget)?;
            if let Some(flag) = found.and_then(|place| paired.get_mut(place)) {
                *flag = true;
            }
            match found.and_then(|place| theirs.get(place)) {
                Some(other) => self.member(member, other, &below)?,
                None => self.report(&below, Kind::Missing, Some(member.value.of(self.primary)), None),
            }
        }
        for (place, member) in theirs.iter() {
            if paired.get(place) == Some(&false) {
                let below = path.then(Step::Key(member.key.of(self.shadow)));
                self.report(&below, Kind::Added, None, Some(member.value.of(self.shadow)));
            }
        }
        Ok(true)
    }

    /// Compares what both sides have under one key.
    fn member(&mut self, ours: Member, theirs: Member, path: &Path<'_>) -> Result<(), Fault> {
        if ours.count > theirs.count {
            self.report(path, Kind::Missing, Some(DUPLICATE), None);
        } else if ours.count < theirs.count {
            self.report(path, Kind::Added, None, Some(DUPLICATE));
        }
        self.spans(Spans { primary: ours.value, shadow: theirs.value }, path)
    }

    /// Whether a key that was compared in step is among them twice.
    fn keys_repeat(&mut self, begun: &Begun<'t>) -> Result<bool, Fault> {
        let mut hashes = Vec::with_capacity(self.keys.len().saturating_sub(begun.keys));
        let mut bytes = 0_usize;
        for place in begun.keys..self.keys.len() {
            let key = self.key(place);
            bytes = bytes.saturating_add(key.len());
            hashes.push(hash::string(key));
        }
        self.spend(bytes)?;
        Ok(has_repeats(&hashes))
    }

    /// The lexeme of the key at a place of `keys`.
    fn key(&self, place: usize) -> &'t [u8] {
        let start = self.keys.get(place).copied().unwrap_or_default();
        let end = lex::string(self.primary, start).map_or(start, |(end, _)| end);
        Span { start, end }.of(self.primary)
    }
}

/// Where the next key begins behind the comma at `at`, or the closing brace there; `first` is the byte there.
fn next_key(text: &[u8], at: usize, first: u8) -> Result<usize, Fault> {
    if first == b'}' {
        return Ok(at);
    }
    let key = lex::space(text, lex::after(at));
    if first == b',' && lex::byte(text, key) == b'"' { Ok(key) } else { Err(Fault::Syntax) }
}
