//! The comparison, and which rules took effect: those without which, or with which alone, something else would come of it.

use mirror_core::answer::Answer;
use mirror_core::compare::{Comparison, Plan, compare};
use mirror_core::config::{Mirror, Rules, Target, VERSION, safe_methods};
use mirror_core::divergence::Divergence;
use mirror_core::outcome::Skip;

/// What comes of a check.
#[derive(Debug)]
pub struct Checked {
    /// What the comparison found.
    pub comparison: Comparison,
    /// All rules, with whether they took effect.
    pub rules: Vec<(Rule, bool)>,
}

/// Whether two answers are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// As far as the rules go.
    Equal,
    /// At some place.
    Differs,
    /// Nothing is known to differ, but the bodies were not compared.
    NotCompared(Skip),
}

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The list that it stands in: `ignore`.
    pub list: &'static str,
    /// What it names.
    pub path: String,
    /// What it says beyond that: `absolute 0.01`.
    pub more: Option<String>,
}

impl Checked {
    /// What is to be said of the two.
    pub fn verdict(&self) -> Verdict {
        match self.comparison.skipped {
            _ if !self.comparison.divergences.is_empty() => Verdict::Differs,
            Some(reason) => Verdict::NotCompared(reason),
            None => Verdict::Equal,
        }
    }
}

/// Compares two answers to a GET by these rules.
pub fn check(rules: &Rules, primary: &Answer, candidate: &Answer) -> Checked {
    let by = |rules: &Rules| compare(&Plan::new(&mirror(rules)), "GET", primary, candidate);
    let (comparison, bare) = (by(rules), by(&Rules::default()));
    let took_effect = |without: &Rules, alone: &Rules| {
        let (without, alone) = (by(without), by(alone));
        !are_same(&without, &comparison) || !are_same(&alone, &bare)
    };
    let rules = each(rules).into_iter().map(|(rule, without, alone)| (rule, took_effect(&without, &alone))).collect();
    Checked { comparison, rules }
}

fn are_same(a: &Comparison, b: &Comparison) -> bool {
    let found = |comparison: &Comparison| (comparison.divergences.clone(), comparison.dropped, comparison.skipped);
    let (a, b): ((Vec<Divergence>, usize, Option<Skip>), _) = (found(a), found(b));
    a == b
}

/// The rules of a mirror that is none: no request is ever copied by it.
fn mirror(rules: &Rules) -> Mirror {
    Mirror {
        version: VERSION,
        name: "check/check".to_owned(),
        candidate: Target { cluster: "candidate".to_owned(), knative: None },
        secondary: None,
        hosts: vec!["check".to_owned()],
        methods: safe_methods(),
        sampling: Default::default(),
        split: false,
        rules: rules.clone(),
        caps: Default::default(),
    }
}

/// All rules in words.
pub fn words(rules: &Rules) -> Vec<Rule> {
    each(rules).into_iter().map(|(rule, ..)| rule).collect()
}

/// Each rule in words, with all rules but it, and with it alone.
fn each(rules: &Rules) -> Vec<(Rule, Rules, Rules)> {
    let mut found = Vec::new();
    let plain = |path: &dyn ToString| (path.to_string(), None);
    split(rules, "ignore", |rules| &mut rules.ignore, |path| plain(path), &mut found);
    split(rules, "include", |rules| &mut rules.include, |path| plain(path), &mut found);
    split(
        rules,
        "tolerance",
        |rules| &mut rules.tolerance,
        |rule| {
            let bounds = [("absolute", rule.absolute), ("relative", rule.relative)];
            let bounds = bounds.into_iter().filter_map(|(name, bound)| Some(format!("{name} {}", bound?)));
            (rule.path.to_string(), Some(bounds.collect::<Vec<_>>().join(", ")))
        },
        &mut found,
    );
    split(
        rules,
        "unordered",
        |rules| &mut rules.unordered,
        |rule| (rule.path.to_string(), rule.key.as_ref().map(|key| format!("key {key}"))),
        &mut found,
    );
    split(rules, "subset", |rules| &mut rules.subset, |path| plain(path), &mut found);
    split(rules, "redact", |rules| &mut rules.redact, |path| plain(path), &mut found);
    split(rules, "endpoints", |rules| &mut rules.endpoints, |path| plain(&path.as_str()), &mut found);
    found
}

/// Takes one list of rules apart.
fn split<T: Clone>(
    rules: &Rules,
    list: &'static str,
    of: fn(&mut Rules) -> &mut Vec<T>,
    words: impl Fn(&T) -> (String, Option<String>),
    found: &mut Vec<(Rule, Rules, Rules)>,
) {
    let all = of(&mut rules.clone()).clone();
    for (i, rule) in all.iter().enumerate() {
        let (mut without, mut alone) = (rules.clone(), Rules::default());
        of(&mut without).remove(i);
        of(&mut alone).push(rule.clone());
        let (path, more) = words(rule);
        found.push((Rule { list, path, more }, without, alone));
    }
}
