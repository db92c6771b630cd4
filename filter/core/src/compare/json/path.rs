//! The way from the document's root to a value: a list on the stack that costs nothing until something is reported.

use std::cell::{Cell, OnceCell};

use super::rules::Scope;
use super::{hash, string};
use crate::place::{self, Place};

/// The most bytes of one key that a place shows.
const KEY_BYTES: usize = 128;

/// One step down.
#[derive(Clone, Copy)]
pub enum Step<'p> {
    /// Into an object, by the lexeme of the member's key.
    Key(&'p [u8]),
    /// Into an array.
    Index(usize),
}

/// The way to a value.
pub struct Path<'p> {
    parent: Option<(&'p Self, Step<'p>)>,
    depth: usize,
    /// Once it is known.
    fingerprint: Cell<Option<u64>>,
    /// Once it is known.
    scope: OnceCell<Scope>,
}

impl<'p> Path<'p> {
    /// The way to the document's root.
    pub const fn root() -> Self {
        Self { parent: None, depth: 0, fingerprint: Cell::new(None), scope: OnceCell::new() }
    }

    /// The way one step further.
    #[inline]
    pub const fn then(&'p self, step: Step<'p>) -> Self {
        Self {
            parent: Some((self, step)),
            depth: self.depth.wrapping_add(1),
            fingerprint: Cell::new(None),
            scope: OnceCell::new(),
        }
    }

    /// The number of steps.
    pub const fn depth(&self) -> usize {
        self.depth
    }

    /// What rules say here: at the root what `root` says, below what `step` makes of what holds one step before. Asked
    /// once for each path.
    pub fn scope(&self, root: &impl Fn() -> Scope, step: &impl Fn(&Scope, Step<'_>) -> Scope) -> &Scope {
        self.scope.get_or_init(|| match self.parent {
            None => root(),
            Some((parent, last)) => step(parent.scope(root, step), last),
        })
    }

    /// The steps, from the root on.
    fn steps(&self) -> Vec<Step<'p>> {
        let mut steps = Vec::with_capacity(self.depth);
        let mut parent = self.parent;
        while let Some((path, step)) = parent {
            steps.push(step);
            parent = path.parent;
        }
        steps.reverse();
        steps
    }

    /// A hash that paths of one place share.
    pub fn fingerprint(&self) -> u64 {
        if let Some(known) = self.fingerprint.get() {
            return known;
        }
        let fingerprint = match self.parent {
            None => 0,
            Some((parent, Step::Key(lexeme))) => hash::mix(parent.fingerprint(), hash::string(lexeme)),
            Some((parent, Step::Index(_))) => hash::mix(parent.fingerprint(), 1),
        };
        self.fingerprint.set(Some(fingerprint));
        fingerprint
    }

    /// The place that a divergence names.
    pub fn place(&self) -> Place {
        let mut pointer = String::new();
        for step in self.steps() {
            match step {
                Step::Key(lexeme) => place::push_key(&mut pointer, &key_text(lexeme)),
                Step::Index(_) => place::push_index(&mut pointer),
            }
        }
        Place::pointer(pointer)
    }
}

/// A key as text; very long ones are cut.
fn key_text(lexeme: &[u8]) -> String {
    let mut text = String::from_utf8_lossy(&string::unescape(lexeme)).into_owned();
    if text.len() > KEY_BYTES {
        text.truncate(text.floor_char_boundary(KEY_BYTES));
        text.push('…');
    }
    text
}
