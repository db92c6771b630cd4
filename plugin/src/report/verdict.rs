//! What a report says in words: per mirror one line that answers the question, then what explains it. And warnings,
//! where the numbers cannot be taken at their face.

use mirror_core::outcome::Outcome;
use mirror_core::stats::names::{Class, Diagnostic, Word};

use super::math::Share;
use super::model::{Gateway, Mirror, Report};
use super::text::{percent, percent_range, plural, thousands, words};
use crate::source::Module;

/// Where no pair differs and yet more than this share of all might, by 95 % confidence, there were too few (fewer than
/// 73) to say anything.
const MIGHT_DIFFER: f64 = 0.05;
/// The share of pairs that are not compared from which on it is a warning.
const MANY_NOT_COMPARED: f64 = 0.05;

/// The answer, as programs read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Some pairs differ.
    Differs,
    /// No pair differs, and there were enough of them.
    Same,
    /// No pair differs, but there were too few to say.
    TooFew,
    /// No pair was compared.
    Nothing,
}

impl Answer {
    /// The word that JSON uses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Differs => "differs",
            Self::Same => "same",
            Self::TooFew => "too_few",
            Self::Nothing => "nothing_compared",
        }
    }
}

/// What is said of one mirror.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// In one word.
    pub answer: Answer,
    /// In one line, without the mirror's name: `3 places differ in 12.4 % of 1,203 pairs`.
    pub headline: String,
    /// What one needs to know beside it, a sentence each.
    pub notes: Vec<String>,
}

/// Says what a mirror's numbers mean.
pub fn verdict(mirror: &Mirror) -> Verdict {
    let answer = answer(mirror);
    let notes = [noise_note(mirror), not_compared_note(mirror), unnamed_note(mirror)];
    Verdict { answer, headline: headline(mirror, answer), notes: notes.into_iter().flatten().collect() }
}

fn answer(mirror: &Mirror) -> Answer {
    match (mirror.compared(), mirror.class(Class::Diverged)) {
        (0, _) => Answer::Nothing,
        (_, 1..) if !late_noise(mirror) => Answer::Differs,
        _ if ceiling(mirror) > MIGHT_DIFFER => Answer::TooFew,
        _ => Answer::Same,
    }
}

/// Whether all diverged pairs differ at places that turned out to be noise only after they had been counted.
fn late_noise(mirror: &Mirror) -> bool {
    mirror.differing().next().is_none() && mirror.noisy().any(|place| place.diverged > 0) && mirror.other.places == 0
}

/// The share of all pairs that might differ although none did.
fn ceiling(mirror: &Mirror) -> f64 {
    Share::new(0, mirror.compared()).interval().map_or(1.0, |(_, high)| high)
}

fn headline(mirror: &Mirror, answer: Answer) -> String {
    let compared = plural(mirror.compared(), "pair");
    match answer {
        Answer::Nothing if mirror.pairs() == 0 => "no pairs yet".to_owned(),
        Answer::Nothing => format!("nothing compared: {} and no comparison", plural(mirror.pairs(), "pair")),
        Answer::TooFew => format!("not enough pairs to say ({}): none differs so far", thousands(mirror.compared())),
        Answer::Same => {
            format!("no difference found in {compared} (at most {} may differ, 95 %)", percent(ceiling(mirror)))
        }
        Answer::Differs => {
            let share = mirror.diverged();
            let rate = percent(share.rate().unwrap_or(0.0));
            let range = share.interval().map_or_else(String::new, |range| format!(" ({}, 95 %)", percent_range(range)));
            match mirror.differing().count() {
                0 => format!("{rate} of {compared} differ{range}"),
                1 => format!("1 place differs in {rate} of {compared}{range}"),
                n => format!("{n} places differ in {rate} of {compared}{range}"),
            }
        }
    }
}

fn noise_note(mirror: &Mirror) -> Option<String> {
    let pairs = mirror.class(Class::Noise);
    match (mirror.noisy().count(), pairs) {
        (0, 0) => None,
        (1, 0) => Some("1 place differs by itself and is not counted.".to_owned()),
        (n, 0) => Some(format!("{n} places differ by themselves and are not counted.")),
        (n, _) => Some(format!(
            "{} differ only where the primary's own version differs from itself{}.",
            plural(pairs, "pair"),
            if n > 0 { format!(" ({})", plural(n as u64, "place")) } else { String::new() },
        )),
    }
}

fn not_compared_note(mirror: &Mirror) -> Option<String> {
    let share = Share::new(mirror.not_compared(), mirror.pairs());
    if share.count == 0 {
        return None;
    }
    let mut reasons: Vec<(Outcome, u64)> =
        mirror.outcomes.iter().copied().filter(|(outcome, _)| outcome.reason().is_some()).collect();
    reasons.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let reasons: Vec<String> =
        reasons.iter().map(|(outcome, n)| format!("{} {}", thousands(*n), reason(*outcome))).collect();
    Some(format!(
        "Not compared: {} of {} ({}): {}.",
        thousands(share.count),
        plural(share.of, "pair"),
        percent(share.rate().unwrap_or(0.0)),
        reasons.join(", "),
    ))
}

/// An outcome's reason as people say it.
pub fn reason(outcome: Outcome) -> String {
    outcome.reason().map(words).unwrap_or_default()
}

fn unnamed_note(mirror: &Mirror) -> Option<String> {
    let other = mirror.other;
    let parts: Vec<String> = [
        (other.places, "difference", "at further places"),
        (other.endpoints, "pair", "at further endpoints"),
        (other.statuses, "pair", "with further status codes"),
    ]
    .into_iter()
    .filter(|(n, ..)| *n > 0)
    .map(|(n, what, where_)| format!("{} {where_}", plural(n, what)))
    .collect();
    (!parts.is_empty())
        .then(|| format!("Beyond the caps of the mirror, so not listed one by one: {}.", parts.join(", ")))
}

/// What is said where no mirror has counted anything.
pub const NO_PAIRS: &str = "No pairs have been counted.";

/// A reason not to take the numbers at their face.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// In one word, for programs.
    pub code: &'static str,
    /// What it is about: a gateway's or a mirror's name.
    pub about: String,
    /// What is wrong and what to do.
    pub text: String,
}

/// All warnings of a report: of gateways first.
pub fn warnings(report: &Report) -> Vec<Warning> {
    let gateways = report.gateways.iter().filter_map(gateway_warning);
    let outside = report.diagnostics.iter().filter_map(|(what, n)| diagnostic_warning("the module", *what, *n));
    let mirrors = report.mirrors.iter().flat_map(|mirror| {
        let counted = mirror.diagnostics.iter().filter_map(|(what, n)| diagnostic_warning(&mirror.name, *what, *n));
        not_compared_warning(mirror).into_iter().chain(counted)
    });
    let mut warnings: Vec<Warning> = gateways.chain(outside).chain(mirrors).collect();
    if report.mirrors.is_empty() && !report.has_stopped() {
        let text = "no mirrored request has been seen: is a mirror set up on this Envoy, and does traffic for its hosts \
                    and methods pass it?";
        warnings.push(Warning { code: "no_pairs", about: "the module is running".to_owned(), text: text.to_owned() });
    }
    warnings
}

fn gateway_warning(gateway: &Gateway) -> Option<Warning> {
    let (code, text) = match gateway.module {
        Module::Running => return None,
        Module::Stopped if gateway.alive > 0 => (
            "stopped",
            format!(
                "comparison has stopped on {} of {} workers: the counts are too low from then on. Envoy's log says why \
                 (look for `wasm`); a change of the module's configuration starts it again",
                gateway.workers.saturating_sub(gateway.alive),
                gateway.workers
            ),
        ),
        Module::Stopped => (
            "stopped",
            "comparison has stopped: no worker has the module running, and the counts are those until then. Envoy's \
             log says why (look for `wasm`); a change of the module's configuration starts it again"
                .to_owned(),
        ),
        Module::Rejected => (
            "module_rejected",
            "Envoy refused the module, so nothing is compared. Its log says why (look for `wasm`)".to_owned(),
        ),
        Module::Waiting => (
            "module_waiting",
            "Envoy has not got the module yet, so nothing is compared; if this lasts, its source of configuration does \
             not deliver it"
                .to_owned(),
        ),
        Module::Missing => {
            ("module_missing", "this Envoy does not have the module, so nothing is compared".to_owned())
        }
    };
    Some(Warning { code, about: gateway.name.clone(), text })
}

fn diagnostic_warning(about: &str, what: Diagnostic, n: u64) -> Option<Warning> {
    let text = match what {
        Diagnostic::ConfigRejected => format!(
            "the module refused a configuration {}: it is probably older than this plugin",
            if n == 1 { "once".to_owned() } else { format!("{} times", thousands(n)) }
        ),
        Diagnostic::Orphan => format!("{} belonged to no mirror that the module knows", plural(n, "marked request")),
        // A shadow that outlives its pair is counted with that pair already; dropped examples are by design.
        Diagnostic::Stray | Diagnostic::ExamplesDropped => return None,
    };
    Some(Warning { code: what.word(), about: about.to_owned(), text })
}

fn not_compared_warning(mirror: &Mirror) -> Option<Warning> {
    let share = Share::new(mirror.not_compared(), mirror.pairs());
    let rate = share.rate().filter(|rate| *rate >= MANY_NOT_COMPARED)?;
    let (outcome, _) = mirror.outcomes.iter().filter(|(o, _)| o.reason().is_some()).max_by_key(|(_, n)| *n)?;
    let text = format!("{} of the pairs were not compared, mostly for this: {}", percent(rate), explain(*outcome));
    Some(Warning { code: "not_compared", about: mirror.name.clone(), text })
}

/// What a reason means and what one can do about it.
fn explain(outcome: Outcome) -> &'static str {
    use mirror_core::outcome::{Incomplete as I, Skip as S};
    match outcome {
        Outcome::Match | Outcome::Diverged | Outcome::Noise => "",
        Outcome::Incomplete(reason) => match reason {
            I::ShadowAbsent => "no copy was sent: does the candidate exist, and has it endpoints?",
            I::ShadowFailed => "the candidate gave no answer: it cannot be reached, resets, or times out",
            I::ShadowCut => "the candidate's answers were cut short",
            I::ShadowSlow => "the candidate was still answering when the pair's time ran out (caps.pair_ttl_ms)",
            I::PrimaryFailed => "the primary gave no answer",
            I::PrimaryCut => "the primary's answers were cut short, by the server or by the client",
            I::PrimarySlow => "the primary was still answering when the pair's time ran out (caps.pair_ttl_ms)",
        },
        Outcome::Skipped(reason) => match reason {
            S::TooLarge => "bodies are larger than what is kept (caps.body_bytes, caps.decoded_bytes)",
            S::Undecodable => {
                "bodies cannot be decoded: an unknown or broken content encoding, or one that expands too far"
            }
            S::Streaming => "event streams have no end to compare",
            S::SameRevision => "the primary itself was served by the candidate (a canary split)",
            S::Overload => "more pairs were open at once than fit (caps.pairs, caps.pair_bytes): sample fewer requests",
            S::DuplicateId => "several live requests carried one x-request-id",
            S::TooDeep => "JSON bodies are nested too deeply",
            S::TooComplex => "comparing would have taken more work than a worker may spend",
        },
    }
}
