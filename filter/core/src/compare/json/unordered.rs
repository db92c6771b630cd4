//! Arrays whose order does not matter: equal elements, or those with equal keys, belong together.

use std::collections::BinaryHeap;

use super::array::elements;
use super::hash::mix;
use super::lex::{self, Fault, Span};
use super::pair::{Pair, Spans};
use super::path::{Path, Step};
use super::rules::{Scope, is_index};
use super::string;
use super::walk::Walk;
use crate::divergence::Kind;

/// An element that is not where the other side has the same.
#[derive(Clone, Copy)]
struct Element {
    /// Equal for elements that belong together.
    identity: u64,
    /// Whether it has the key that the rule names.
    keyed: bool,
    index: usize,
    span: Span,
    /// The other side's element that belongs to it, by place among those that moved.
    partner: Option<usize>,
}

impl<'t> Walk<'t, '_> {
    /// Compares the arrays at `pair`, whatever the order of their elements, and passes them. `key` is the way to what
    /// identifies an element; empty where only its whole value does.
    pub fn unordered(
        &mut self,
        pair: &mut Pair<'t>,
        path: &Path<'_>,
        scope: &Scope,
        key: &[String],
    ) -> Result<(), Fault> {
        let depth = path.depth().saturating_add(1);
        pair.pass();
        pair.space();
        let (ours, end) = elements(pair.primary, pair.at, depth)?;
        let (theirs, shadow_end) = elements(pair.shadow, pair.shadow_at, depth)?;
        self.spend(end.wrapping_sub(pair.at).saturating_add(shadow_end.wrapping_sub(pair.shadow_at)))?;
        pair.jump(end, shadow_end);

        // Where nothing moved, most elements are settled here.
        let moved = |place: &usize| match (ours.get(*place), theirs.get(*place)) {
            (Some(one), Some(other)) => one.of(self.primary) != other.of(self.shadow),
            _ => true,
        };
        let moved: Vec<usize> = (0..ours.len().max(theirs.len())).filter(moved).collect();
        let mut ours = self.identify(self.primary, &ours, &moved, scope, key)?;
        let mut theirs = self.identify(self.shadow, &theirs, &moved, scope, key)?;
        pair_equal(&mut ours, &mut theirs);
        pair_changed(&mut ours, &mut theirs);

        for element in &ours {
            let below = path.then(Step::Index(element.index));
            match element.partner.and_then(|place| theirs.get(place)) {
                Some(partner) => self.spans(Spans { primary: element.span, shadow: partner.span }, &below)?,
                None => self.report(&below, Kind::Missing, Some(element.span.of(self.primary)), None),
            }
        }
        for element in theirs.iter().filter(|element| element.partner.is_none()) {
            let below = path.then(Step::Index(element.index));
            self.report(&below, Kind::Added, None, Some(element.span.of(self.shadow)));
        }
        Ok(())
    }

    /// The elements at `places` of `list`, with what identifies them.
    fn identify(
        &mut self,
        text: &'t [u8],
        list: &[Span],
        places: &[usize],
        scope: &Scope,
        key: &[String],
    ) -> Result<Vec<Element>, Fault> {
        let mut elements = Vec::with_capacity(places.len().min(list.len()));
        for (index, span) in places.iter().filter_map(|place| Some((*place, *list.get(*place)?))) {
            self.spend(span.len())?;
            let identity = if key.is_empty() { None } else { find(text, span.start, key)? };
            let keyed = identity.is_some();
            let digest = match identity {
                Some(at) => self.digest(text, at, &Scope::default(), true)?.0,
                None => self.digest(text, span.start, &self.rules.step(scope, Step::Index(index)), false)?.0,
            };
            elements.push(Element { identity: mix(digest, u64::from(keyed)), keyed, index, span, partner: None });
        }
        Ok(elements)
    }
}

/// Pairs elements of equal identity, in order.
fn pair_equal(ours: &mut [Element], theirs: &mut [Element]) {
    let by_identity = |list: &[Element]| {
        // Sorted by a heap for its small code.
        let order: BinaryHeap<(u64, usize)> = list.iter().map(|element| element.identity).zip(0..).collect();
        order.into_sorted_vec()
    };
    let mut candidates = by_identity(theirs).into_iter().peekable();
    for (identity, place) in by_identity(ours) {
        while candidates.next_if(|(other, _)| *other < identity).is_some() {}
        if let Some((_, other_place)) = candidates.next_if(|(other, _)| *other == identity) {
            join(ours, place, theirs, other_place);
        }
    }
}

/// Takes what is left over without a key for changed elements, and pairs it in order.
fn pair_changed(ours: &mut [Element], theirs: &mut [Element]) {
    let left = |list: &[Element]| -> Vec<usize> {
        let is_left = |element: &Element| element.partner.is_none() && !element.keyed;
        list.iter().enumerate().filter(|(_, element)| is_left(element)).map(|(place, _)| place).collect()
    };
    for (place, other_place) in left(ours).into_iter().zip(left(theirs)) {
        join(ours, place, theirs, other_place);
    }
}

fn join(ours: &mut [Element], place: usize, theirs: &mut [Element], other_place: usize) {
    if let (Some(one), Some(other)) = (ours.get_mut(place), theirs.get_mut(other_place)) {
        one.partner = Some(other_place);
        other.partner = Some(place);
    }
}

/// Where the value begins to which `way` leads from the value at `at`; `None` where there is none.
fn find(text: &[u8], mut at: usize, way: &[String]) -> Result<Option<usize>, Fault> {
    for name in way {
        match below(text, at, name)? {
            Some(found) => at = found,
            None => return Ok(None),
        }
    }
    Ok(Some(at))
}

/// Where the member or element `name` of the value at `at` begins.
fn below(text: &[u8], at: usize, name: &str) -> Result<Option<usize>, Fault> {
    let open = lex::byte(text, at);
    let mut found = None;
    let mut index = 0_usize;
    let mut at = lex::space(text, lex::after(at));
    if !matches!((open, lex::byte(text, at)), (b'{', b'"') | (b'[', _)) || lex::byte(text, at) == b']' {
        return Ok(None);
    }
    loop {
        let (is_it, value) = if open == b'{' {
            let key = Span { start: at, end: lex::string(text, at)?.0 };
            (string::says(key.of(text), name.as_bytes()), lex::key(text, at)?)
        } else {
            (is_index(name, index), at)
        };
        if is_it {
            // Of repeated keys the last one counts.
            found = Some(value);
        }
        index = index.wrapping_add(1);
        at = lex::space(text, lex::value(text, value, 0)?);
        if lex::byte(text, at) != b',' {
            return Ok(found);
        }
        at = lex::space(text, lex::after(at));
    }
}
