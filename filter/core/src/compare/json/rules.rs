//! The rules that name places in JSON bodies, as a tree of path segments. What holds at a place is found by walking the
//! tree along the place's path; with no rules that is no work at all.

use super::number::Bounds;
use super::path::{Path, Step};
use super::string;
use crate::config::Rules;
use crate::place::{Pattern, Segment};

/// The rules that concern JSON bodies, made ready.
#[derive(Debug, Default)]
pub struct BodyRules {
    /// The root is the first; empty where there are no rules.
    nodes: Vec<Node>,
    any_unordered: bool,
}

/// What the patterns that end at one place say, and where longer ones go on.
#[derive(Debug, Default)]
struct Node {
    any: Option<usize>,
    keys: Vec<(String, usize)>,
    ignore: bool,
    subset: bool,
    redact: bool,
    redacts_below: bool,
    bounds: Option<Bounds>,
    unordered: Option<Vec<String>>,
}

/// What the rules say about one place.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Nodes of the tree whose patterns match this place's path so far.
    nodes: Vec<usize>,
    /// Differences here do not count.
    pub ignored: bool,
    /// Fields that are added in here do not count.
    subset: bool,
    /// This is a field that may be added.
    pub may_be_added: bool,
    /// Values here are not shown.
    pub redacted: bool,
}

impl BodyRules {
    /// Makes the rules ready.
    pub fn new(rules: &Rules) -> Self {
        let mut ready = Self::default();
        for pattern in &rules.ignore {
            ready.at_end_of(pattern, |node| node.ignore = true);
        }
        for pattern in &rules.subset {
            ready.at_end_of(pattern, |node| node.subset = true);
        }
        for pattern in &rules.redact {
            ready.at_end_of(pattern, |node| node.redact = true);
        }
        for rule in &rules.tolerance {
            let bounds = Bounds { absolute: rule.absolute, relative: rule.relative };
            ready.at_end_of(&rule.path, |node| node.bounds = Some(bounds));
        }
        for rule in &rules.unordered {
            let key = match &rule.key {
                Some(Pattern::Body(segments)) => segments.iter().filter_map(name).collect(),
                _ => Vec::new(),
            };
            ready.any_unordered = true;
            ready.at_end_of(&rule.path, |node| node.unordered = Some(key));
        }
        ready.mark_redactions();
        ready
    }

    /// Changes the node at the end of `pattern`, made where it is not there yet.
    fn at_end_of(&mut self, pattern: &Pattern, change: impl FnOnce(&mut Node)) {
        let Pattern::Body(segments) = pattern else {
            return;
        };
        if self.nodes.is_empty() {
            self.nodes.push(Node::default());
        }
        let end = segments.iter().fold(0, |at, segment| self.child(at, segment));
        if let Some(node) = self.nodes.get_mut(end) {
            change(node);
        }
    }

    fn child(&mut self, at: usize, segment: &Segment) -> usize {
        let fresh = self.nodes.len();
        let Some(node) = self.nodes.get_mut(at) else {
            return fresh;
        };
        let known = match segment {
            Segment::Any => node.any,
            Segment::Key(key) => node.keys.iter().find(|(known, _)| known == key).map(|(_, child)| *child),
        };
        if let Some(known) = known {
            return known;
        }
        match segment {
            Segment::Any => node.any = Some(fresh),
            Segment::Key(key) => node.keys.push((key.clone(), fresh)),
        }
        self.nodes.push(Node::default());
        fresh
    }

    /// Tells every node whether a `redact` rule ends below it. Children always stand behind their parents.
    fn mark_redactions(&mut self) {
        for at in (0..self.nodes.len()).rev() {
            let hides = |child: &usize| self.nodes.get(*child).is_some_and(|child| child.redact || child.redacts_below);
            let hidden = self
                .nodes
                .get(at)
                .is_some_and(|node| node.any.iter().any(hides) || node.keys.iter().any(|(_, child)| hides(child)));
            if let Some(node) = self.nodes.get_mut(at) {
                node.redacts_below = hidden;
            }
        }
    }

    /// Whether there is any rule on the order of arrays.
    pub fn has_unordered(&self) -> bool {
        self.any_unordered
    }

    /// What holds at `path`.
    pub fn at(&self, path: &Path<'_>) -> Scope {
        if self.nodes.is_empty() {
            return Scope::default();
        }
        let mut scope = Scope::default();
        self.enter(&mut scope, 0);
        for step in path.steps() {
            scope = self.step(&scope, step);
        }
        scope
    }

    /// What holds one step further.
    pub fn step(&self, scope: &Scope, step: Step<'_>) -> Scope {
        let may_be_added = scope.subset && matches!(step, Step::Key(_));
        let next = Scope { nodes: Vec::new(), may_be_added, ..*scope };
        if scope.nodes.is_empty() { next } else { self.children(scope, step, next) }
    }

    fn children(&self, scope: &Scope, step: Step<'_>, mut next: Scope) -> Scope {
        for node in scope.nodes.iter().filter_map(|at| self.nodes.get(*at)) {
            if let Some(child) = node.any {
                self.enter(&mut next, child);
            }
            if let Some((_, child)) = node.keys.iter().find(|(key, _)| is_step(key, step)) {
                self.enter(&mut next, *child);
            }
        }
        next
    }

    fn enter(&self, scope: &mut Scope, at: usize) {
        if let Some(node) = self.nodes.get(at) {
            scope.nodes.push(at);
            scope.ignored |= node.ignore;
            scope.subset |= node.subset;
            scope.redacted |= node.redact;
        }
    }

    fn nodes<'r>(&'r self, scope: &'r Scope) -> impl Iterator<Item = &'r Node> {
        scope.nodes.iter().filter_map(|at| self.nodes.get(*at))
    }

    /// How far numbers here may lie apart: within one of these.
    pub fn bounds<'r>(&'r self, scope: &'r Scope) -> impl Iterator<Item = Bounds> {
        self.nodes(scope).filter_map(|node| node.bounds)
    }

    /// Whether the order of an array here does not matter; the way to the key inside its elements, empty where they have
    /// none.
    pub fn unordered<'r>(&'r self, scope: &'r Scope) -> Option<&'r [String]> {
        self.nodes(scope).find_map(|node| node.unordered.as_deref())
    }

    /// Whether something below this place must not be shown.
    pub fn redacts_below(&self, scope: &Scope) -> bool {
        self.nodes(scope).any(|node| node.redacts_below)
    }
}

fn name(segment: &Segment) -> Option<String> {
    match segment {
        Segment::Key(key) => Some(key.clone()),
        Segment::Any => None,
    }
}

fn is_step(key: &str, step: Step<'_>) -> bool {
    match step {
        Step::Key(lexeme) => string::says(lexeme, key.as_bytes()),
        Step::Index(index) => is_index(key, index),
    }
}

/// Whether `key` is `index` in decimal.
pub fn is_index(key: &str, index: usize) -> bool {
    key.parse() == Ok(index) && (key == "0" || !key.starts_with(['0', '+']))
}
