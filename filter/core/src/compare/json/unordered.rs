//! Arrays whose order does not matter: equal elements, or those with equal keys, belong together.

use super::array::elements;
use super::hash::mix;
use super::lex::{self, Fault, Span};
use super::pair::{Pair, Spans};
use super::path::{Path, Step};
use super::rules::{Scope, is_index};
use super::string;
use super::walk::Walk;
use crate::divergence::Kind;

/// An element that has no partner yet.
#[derive(Clone, Copy)]
struct Element {
    /// Equal for elements that belong together.
    identity: u64,
    index: usize,
    span: Span,
    /// Whether it has the key that the rule names.
    keyed: bool,
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
        let ours = self.identify(self.primary, &ours, &moved, scope, key)?;
        let theirs = self.identify(self.shadow, &theirs, &moved, scope, key)?;

        let (mut pairs, mut ours, mut theirs) = partners(ours, theirs);
        // Without keys what is left over is taken for changed elements, in order.
        let (our_rest, their_rest) = (take_unkeyed(&mut ours), take_unkeyed(&mut theirs));
        let both = our_rest.len().min(their_rest.len());
        pairs.extend(our_rest.iter().copied().zip(their_rest.iter().copied()));
        ours.extend(our_rest.into_iter().skip(both));
        theirs.extend(their_rest.into_iter().skip(both));

        pairs.sort_unstable_by_key(|(one, _)| one.index);
        for (one, other) in pairs {
            let spans = Spans { primary: one.span, shadow: other.span };
            self.spans(spans, &path.then(Step::Index(one.index)))?;
        }
        for element in ours {
            let below = path.then(Step::Index(element.index));
            self.report(&below, Kind::Missing, Some(element.span.of(self.primary)), None);
        }
        for element in theirs {
            let below = path.then(Step::Index(element.index));
            self.report(&below, Kind::Added, None, Some(element.span.of(self.shadow)));
        }
        Ok(())
    }

    /// The elements at `places`, with what identifies them, sorted by that.
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
            elements.push(Element { identity: mix(digest, u64::from(keyed)), index, span, keyed });
        }
        elements.sort_unstable_by_key(|element| (element.identity, element.index));
        Ok(elements)
    }
}

/// Pairs elements of equal identity; both lists are sorted by it. What is left over follows, sorted by index.
fn partners(ours: Vec<Element>, theirs: Vec<Element>) -> (Vec<(Element, Element)>, Vec<Element>, Vec<Element>) {
    let (mut pairs, mut our_rest, mut their_rest) = (Vec::new(), Vec::new(), Vec::new());
    let mut theirs = theirs.into_iter().peekable();
    for one in ours {
        while let Some(other) = theirs.next_if(|other| other.identity < one.identity) {
            their_rest.push(other);
        }
        match theirs.next_if(|other| other.identity == one.identity) {
            Some(other) => pairs.push((one, other)),
            None => our_rest.push(one),
        }
    }
    their_rest.extend(theirs);
    our_rest.sort_unstable_by_key(|element| element.index);
    their_rest.sort_unstable_by_key(|element| element.index);
    (pairs, our_rest, their_rest)
}

fn take_unkeyed(list: &mut Vec<Element>) -> Vec<Element> {
    let unkeyed = list.iter().copied().filter(|element| !element.keyed).collect();
    list.retain(|element| element.keyed);
    unkeyed
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
