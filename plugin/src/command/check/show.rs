//! What comes of a check, for people and programs. The fields of a published schema stay; new ones may come.
//!
//! `kubectl-mirror.check/v1`:
//!
//! | field | is |
//! |---|---|
//! | `schema` | `kubectl-mirror.check/v1` |
//! | `verdict` | `equal`, `differs` or `not_compared`; null where rules alone were checked |
//! | `not_compared` | why the bodies were not compared (`undecodable`, …), or null |
//! | `differences[]` | `place`, `kind` (`missing`, `added`, `type`, `value`, `order`), `primary` and `candidate` as text, null for nothing |
//! | `dropped` | how many more differences there are |
//! | `rules[]` | `list` (`ignore`, …), `path`, `more` (`absolute 0.01`, or null), `effective`: whether it changed what came of it, null where nothing was compared |

use anyhow::Result;
use mirror_core::config::Rules;
use mirror_core::divergence::Kind;
use mirror_core::outcome::Skip;
use serde::Serialize;

use super::engine::{self, Checked, Rule, Verdict};
use crate::command::common::Format;
use crate::diffs::values;
use crate::grid::Paint;
use crate::output;
use crate::report::table::Look;
use crate::report::text::{self, plural, printable};

/// The schema's name and version.
const SCHEMA: &str = "kubectl-mirror.check/v1";

/// What is shown.
#[derive(Serialize)]
pub struct Shown<'a> {
    schema: &'static str,
    verdict: Option<&'static str>,
    not_compared: Option<&'static str>,
    differences: Vec<Difference<'a>>,
    dropped: usize,
    rules: Vec<Tried>,
}

#[derive(Serialize)]
struct Difference<'a> {
    place: &'a str,
    kind: Kind,
    primary: Option<&'a str>,
    candidate: Option<&'a str>,
}

#[derive(Serialize)]
struct Tried {
    list: &'static str,
    path: String,
    more: Option<String>,
    effective: Option<bool>,
}

impl<'a> Shown<'a> {
    /// What came of comparing.
    pub fn of(checked: &'a Checked) -> Self {
        let differences = checked.comparison.divergences.iter().map(|found| Difference {
            place: found.place.as_str(),
            kind: found.kind,
            primary: found.primary.as_deref(),
            candidate: found.shadow.as_deref(),
        });
        let verdict = match checked.verdict() {
            Verdict::Equal => "equal",
            Verdict::Differs => "differs",
            Verdict::NotCompared(_) => "not_compared",
        };
        Self {
            schema: SCHEMA,
            verdict: Some(verdict),
            not_compared: checked.comparison.skipped.map(Skip::as_str),
            differences: differences.collect(),
            dropped: checked.comparison.dropped,
            rules: checked.rules.iter().map(|(rule, effective)| Tried::new(rule, Some(*effective))).collect(),
        }
    }

    /// Rules that are right, without anything to compare.
    pub fn rules_alone(rules: &Rules) -> Self {
        let rules = engine::words(rules).iter().map(|rule| Tried::new(rule, None)).collect();
        Self { schema: SCHEMA, verdict: None, not_compared: None, differences: Vec::new(), dropped: 0, rules }
    }

    /// In one of the formats.
    ///
    /// # Errors
    /// None that these types could cause.
    pub fn render(&self, format: Format) -> Result<String> {
        format.render(self, || self.text(output::look()))
    }

    /// For people.
    pub(super) fn text(&self, look: Look) -> String {
        let mut text = match (self.verdict, self.differences.len() + self.dropped) {
            (None, _) => return format!("The rules are right: {}.\n", plural(self.rules.len() as u64, "rule")),
            (Some("equal"), _) => Paint::Green.on("Equal.", look.colour) + "\n",
            (Some("not_compared"), _) => "Not compared.\n".to_owned(),
            (_, 1) => Paint::Red.on("1 place differs.", look.colour) + "\n",
            (_, many) => Paint::Red.on(&format!("{many} places differ."), look.colour) + "\n",
        };
        for difference in &self.differences {
            let place = Paint::Bold.on(&printable(difference.place), look.colour);
            text += &format!("  {place}  {}\n", difference.kind);
            text += &values::render(difference.primary, difference.candidate, look);
        }
        if self.dropped > 0 {
            text += &format!("  and {} more\n", self.dropped);
        }
        if let (Some("differs"), Some(reason)) = (self.verdict, self.not_compared) {
            text += &format!("The bodies were not compared: {}.\n", text::words(reason));
        }
        for (is, heading) in [(true, "Rules that took effect:"), (false, "Rules without effect here:")] {
            let rules: Vec<_> = self.rules.iter().filter(|rule| rule.effective == Some(is)).collect();
            if !rules.is_empty() {
                text += &format!("{heading}\n");
                text.extend(rules.into_iter().map(|rule| format!("  {}\n", printable(&rule.to_string()))));
            }
        }
        text
    }
}

/// A reason as people write it.
pub fn words(reason: Skip) -> String {
    text::words(reason.as_str())
}

impl Tried {
    fn new(rule: &Rule, effective: Option<bool>) -> Self {
        let Rule { list, path, more } = rule.clone();
        Self { list, path, more, effective }
    }
}

impl std::fmt::Display for Tried {
    /// `tolerance /price (absolute 0.01)`
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.list, self.path)?;
        self.more.as_ref().map_or(Ok(()), |more| write!(f, " ({more})"))
    }
}
