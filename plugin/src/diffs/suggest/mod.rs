//! Rules for what looks like noise. A place gets a rule only where every example of it looks like the same sort of noise, and
//! there are enough of them; what may be a real difference gets none, with the reason.
//!
//! | looks like | by | rule |
//! |---|---|---|
//! | the time of the answer | `moment` | ignore |
//! | an id made for the answer | `id` | ignore |
//! | rounding | `number` | tolerance |
//! | an order that means nothing | the kind of the difference | unordered |
//!
//! That something is missing, added or of another type is never noise. A place that is also missing is ignored nevertheless
//! where that comes with another status, which tells of it.

mod id;
mod moment;
mod number;
pub mod yaml;

use std::collections::BTreeMap;

use mirror_core::divergence::{Kind, REDACTED};
use mirror_core::example::Line;
use mirror_core::place::Pattern;

use crate::report::text::plural;

/// How many examples of a place are needed.
pub const LEAST: usize = 3;
/// From how many examples on what is unmistakable is taken for certain.
const CERTAIN: usize = 5;

/// What is suggested, by place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Suggestions {
    /// How many examples were looked at.
    pub examples: usize,
    /// Rules for what looks like noise.
    pub rules: Vec<Suggestion>,
    /// What may be a real difference.
    pub left: Vec<Left>,
}

/// A rule for one place.
#[derive(Clone, Debug, PartialEq)]
pub struct Suggestion {
    /// The place.
    pub place: Pattern,
    /// The rule.
    pub rule: Rule,
    /// How sure it is that this is noise.
    pub confidence: Confidence,
    /// What speaks for it, in sentences.
    pub evidence: Vec<String>,
}

/// What a rule says about its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// It does not count.
    Ignore,
    /// Numbers may differ by so much.
    Tolerance(Bound),
    /// Its order means nothing.
    Unordered,
}

/// How far numbers may lie apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// By this.
    Absolute(f64),
    /// By this share of the larger one.
    Relative(f64),
}

/// How sure a suggestion is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confidence {
    /// Its shape leaves little doubt, and there are many examples.
    High,
    /// Somebody who knows the service should look at it.
    Medium,
}

/// A place that gets no rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The place.
    pub place: String,
    /// Why.
    pub reason: String,
}

/// What speaks for noise at a place.
struct Noise {
    rule: Rule,
    is_unmistakable: bool,
    evidence: String,
}

/// Suggests rules for these examples.
pub fn suggest<'a>(lines: impl IntoIterator<Item = &'a Line>) -> Suggestions {
    let mut places: BTreeMap<&str, Vec<&Line>> = BTreeMap::new();
    let mut suggestions = Suggestions::default();
    for line in lines {
        suggestions.examples += 1;
        places.entry(line.place.as_str()).or_default().push(line);
    }
    for (place, lines) in &places {
        let below = places.keys().any(|other| other.strip_prefix(place).is_some_and(|rest| rest.starts_with('/')));
        match judge(place, lines, below) {
            Ok(suggestion) => suggestions.rules.push(suggestion),
            Err(reason) => suggestions.left.push(Left { place: (*place).to_owned(), reason }),
        }
    }
    suggestions
}

/// The rule for a place, or why there is none. `below` tells that there are differences below the place, too.
fn judge(place: &str, lines: &[&Line], below: bool) -> Result<Suggestion, String> {
    let pattern: Pattern = match place.parse() {
        // A place that was cut names nothing.
        Ok(pattern) if !place.ends_with('…') => pattern,
        _ => return Err("its name is too long to be written down".to_owned()),
    };
    match &pattern {
        Pattern::Status => return Err("another status is a difference".to_owned()),
        Pattern::Body(path) if path.is_empty() && lines.iter().any(|line| line.kind != Kind::Order) => {
            return Err("a rule would cover the whole body".to_owned());
        }
        _ => {}
    }
    // Where the status differs as well, the whole answer is another one, and the status tells of it.
    let (other_answer, lines): (Vec<_>, Vec<_>) = lines.iter().copied().partition(|line| is_another_answer(line));
    for kind in [Kind::Missing, Kind::Added, Kind::Type] {
        let many = lines.iter().filter(|line| line.kind == kind).count();
        if many > 0 {
            let what = match kind {
                Kind::Missing => "the candidate lacks it",
                Kind::Added => "only the candidate has it",
                _ => "it is of another type",
            };
            return Err(format!("{what} ({})", examples(many)));
        }
    }
    let Some(first) = lines.first() else {
        return Err(format!("it comes with another status ({})", examples(other_answer.len())));
    };
    if lines.iter().any(|line| line.kind != first.kind) {
        return Err("it differs in more than one way".to_owned());
    }
    let noise = if first.kind == Kind::Order { order(&lines) } else { values(&pattern, &lines, below) };
    let noise = noise.map_err(|reason| format!("{reason} ({})", examples(lines.len())))?;
    if lines.len() < LEAST {
        return Err(format!("too few examples to tell: {} of at least {LEAST}", lines.len()));
    }
    let is_certain = noise.is_unmistakable && lines.len() >= CERTAIN;
    let mut evidence = vec![noise.evidence];
    if !other_answer.is_empty() {
        let many = examples(other_answer.len());
        evidence
            .push(format!("In {many} more it is missing or added; there the status differs too, and still counts."));
    }
    Ok(Suggestion {
        place: pattern,
        rule: noise.rule,
        confidence: if is_certain { Confidence::High } else { Confidence::Medium },
        evidence,
    })
}

/// Whether this only tells once more that the two have different statuses.
fn is_another_answer(line: &Line) -> bool {
    let differs = line.statuses.is_some_and(|(primary, candidate)| primary != candidate);
    differs && matches!(line.kind, Kind::Missing | Kind::Added)
}

fn order(lines: &[&Line]) -> Result<Noise, String> {
    let evidence = format!(
        "The same elements stand in another order in {}. That may be on purpose: take this only where the order means \
         nothing to clients.",
        examples(lines.len())
    );
    Ok(Noise { rule: Rule::Unordered, is_unmistakable: false, evidence })
}

/// What speaks for noise in values that differ.
fn values(place: &Pattern, lines: &[&Line], below: bool) -> Result<Noise, String> {
    if below {
        return Err("a rule would cover what differs below it".to_owned());
    }
    let mut pairs = Vec::new();
    for line in lines {
        let (Some(primary), Some(candidate)) = (&line.primary, &line.candidate) else {
            return Err("a value is not shown".to_owned());
        };
        if [primary, candidate].iter().any(|value| value.contains(REDACTED)) {
            return Err("its values are redacted".to_owned());
        }
        if [primary, candidate].iter().any(|value| value.ends_with('…')) {
            return Err("its values are too long to be judged".to_owned());
        }
        let is_json = matches!(place, Pattern::Body(_));
        pairs.push(Pair {
            time: &line.time,
            primary: Value::of(primary, is_json),
            candidate: Value::of(candidate, is_json),
        });
    }
    let noise = moment::judge(&pairs).or_else(|| id::judge(&pairs)).or_else(|| number::judge(&pairs));
    noise.ok_or_else(|| format!("looks like a real difference, for example {}", pairs[0]))
}

/// What both sides say, and when it was found.
struct Pair<'a> {
    time: &'a str,
    primary: Value,
    candidate: Value,
}

/// A value, without the quotes of JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Value {
    text: String,
    /// A number of JSON.
    is_number: bool,
}

impl Value {
    fn of(text: &str, is_json: bool) -> Self {
        let json: Option<serde_json::Value> = is_json.then(|| serde_json::from_str(text).ok()).flatten();
        match json {
            Some(serde_json::Value::String(text)) => Self { text, is_number: false },
            Some(serde_json::Value::Number(_)) => Self { text: text.trim().to_owned(), is_number: true },
            _ => Self { text: text.to_owned(), is_number: false },
        }
    }
}

impl std::fmt::Display for Pair<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} → {}", self.primary.text, self.candidate.text)
    }
}

/// `3 examples`
fn examples(many: usize) -> String {
    plural(many as u64, "example")
}

#[cfg(test)]
mod tests;
