//! What a report says in words: per mirror one line that answers the question, then what explains it. And warnings,
//! where the numbers cannot be taken at their face.

mod subject;

use std::collections::BTreeSet;
use std::time::Duration;

use mirror_core::outcome::Outcome;
use mirror_core::stats::names::{Class, Diagnostic, Word};

use self::subject::{What, subject};
use super::math::Share;
use super::model::{Endpoint, Gateway, Mirror, Place, Report};
use super::text::{moment, percent, percent_range, plural, printable, thousands, words};
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
    /// In one line, without the mirror's name: `2 fields and the status differ in 12.4 % of 1,203 pairs`.
    pub headline: String,
    /// What one needs to know beside it, a sentence each.
    pub notes: Vec<String>,
}

/// Says what a mirror's numbers mean.
pub fn verdict(mirror: &Mirror) -> Verdict {
    let answer = answer(mirror);
    let notes = [
        interval_note(mirror, answer),
        with_status_note(mirror),
        secondary_note(mirror, answer),
        noise_note(mirror),
        late_noise_note(mirror),
        not_compared_note(mirror),
        unnamed_note(mirror),
    ];
    Verdict { answer, headline: headline(mirror, answer), notes: notes.into_iter().flatten().collect() }
}

fn answer(mirror: &Mirror) -> Answer {
    match (mirror.compared(), mirror.diverged().count) {
        (0, _) => Answer::Nothing,
        (_, 1..) => Answer::Differs,
        (compared, 0) if ceiling(compared) > MIGHT_DIFFER => Answer::TooFew,
        _ => Answer::Same,
    }
}

/// The share of all pairs that might differ although none of those compared did.
fn ceiling(compared: u64) -> f64 {
    Share::new(0, compared).interval().map_or(1.0, |(_, high)| high)
}

fn headline(mirror: &Mirror, answer: Answer) -> String {
    let compared = plural(mirror.compared(), "pair");
    match answer {
        Answer::Nothing if mirror.pairs() == 0 => "no pairs yet".to_owned(),
        Answer::Nothing if mirror.pairs() == 1 => "the only pair could not be compared".to_owned(),
        Answer::Nothing => format!("none of {} could be compared", plural(mirror.pairs(), "pair")),
        Answer::TooFew => format!("not enough pairs to say ({}): none differs so far", thousands(mirror.compared())),
        Answer::Same => {
            let ceiling = percent(ceiling(mirror.compared()));
            let said = format!("no difference found in {compared} (with 95 % confidence, at most {ceiling} differ)");
            said + &beside(mirror)
        }
        Answer::Differs => {
            let rate = percent(mirror.diverged().rate().unwrap_or(0.0));
            let said = match subject(&mirror.on_their_own()) {
                None => format!("{rate} of {compared} differ"),
                Some((what, false)) => format!("{what} differs in {rate} of {compared}"),
                Some((what, true)) => format!("{what} differ in {rate} of {compared}"),
            };
            said + &beside(mirror)
        }
    }
}

/// What a headline says beside its answer: what noise explains, and of which endpoints too little is known.
fn beside(mirror: &Mirror) -> String {
    let noisy: Vec<&Place> = mirror.noisy().collect();
    let names: BTreeSet<&str> = noisy.iter().map(|place| place.place.as_str()).collect();
    let kinds: BTreeSet<What> = noisy.iter().map(|place| What::of(place)).collect();
    let mut said = String::new();
    if !names.is_empty() {
        let what = kinds.first().filter(|_| kinds.len() == 1).map_or("place", |what| what.word());
        said.push_str(&format!("; noise explains {}", plural(names.len() as u64, &format!("more {what}"))));
    }
    let is_unsure =
        |endpoint: &&Endpoint| endpoint.diverged().count == 0 && ceiling(endpoint.compared()) > MIGHT_DIFFER;
    let unsure: Vec<&Endpoint> = mirror.endpoints.iter().filter(is_unsure).collect();
    let on = match unsure.as_slice() {
        [] => return said,
        [one] => printable(&one.name),
        [one, other] => format!("{} and {}", printable(&one.name), printable(&other.name)),
        more => plural(more.len() as u64, "endpoint"),
    };
    said + &format!("; not enough pairs on {on} to say")
}

fn with_status_note(mirror: &Mirror) -> Option<String> {
    const MOST_NAMES: usize = 5;
    let places = mirror.with_status();
    let names: BTreeSet<&str> = places.iter().map(|place| place.place.as_str()).collect();
    if names.is_empty() {
        return None;
    }
    let shown: Vec<String> = names.iter().take(MOST_NAMES).map(|name| printable(name)).collect();
    let more = names.len().saturating_sub(MOST_NAMES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(format!(
        "Where the status differs, so probably does the rest of the body: {}{more} come and go in no more pairs than that.",
        shown.join(", ")
    ))
}

fn interval_note(mirror: &Mirror, answer: Answer) -> Option<String> {
    let range = mirror.diverged().interval().filter(|_| answer == Answer::Differs)?;
    Some(format!("With 95 % confidence, {} of all pairs differ.", percent_range(range)))
}

fn secondary_note(mirror: &Mirror, answer: Answer) -> Option<String> {
    let note = "No secondary was compared, so places that differ by themselves (time stamps, ids) are counted too.";
    (answer == Answer::Differs && mirror.triples == 0).then(|| note.to_owned())
}

fn noise_note(mirror: &Mirror) -> Option<String> {
    let places = mirror.noisy().count() as u64;
    let pairs = mirror.class(Class::Noise);
    match (places, pairs) {
        (0, 0) => None,
        (1, 0) => Some("1 place differs by itself and is not counted.".to_owned()),
        (_, 0) => Some(format!("{} differ by themselves and are not counted.", plural(places, "place"))),
        (_, pairs) => Some(format!(
            "{} only where the primary's own version differs from itself{}.",
            if pairs == 1 {
                "1 more pair differs".to_owned()
            } else {
                format!("{} more pairs differ", thousands(pairs))
            },
            if places > 0 { format!(" ({})", plural(places, "place")) } else { String::new() },
        )),
    }
}

fn late_noise_note(mirror: &Mirror) -> Option<String> {
    let subject = match mirror.late_noise() {
        0 => return None,
        1 => "1 pair was".to_owned(),
        n => format!("{} pairs were", thousands(n)),
    };
    Some(format!("{subject} counted as diverged before it was known that what differs there differs by itself."))
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

/// An outcome as people say it.
pub fn outcome_words(outcome: Outcome) -> String {
    match outcome.reason() {
        None if outcome == Outcome::Noise => "noise alone".to_owned(),
        None => outcome.class().to_owned(),
        Some(_) => format!("{}: {}", outcome.class(), reason(outcome)),
    }
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
    /// What is wrong and what to do: whole sentences.
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
    let partial = partial_warnings(report);
    let mut warnings: Vec<Warning> = partial.chain(gateways).chain(outside).chain(mirrors).collect();
    if report.mirrors.is_empty() && !report.narrowed && !report.has_stopped() && !report.gateways.is_empty() {
        let text = match report.span.since {
            None => {
                "the module is running and has seen no mirrored request. Is a mirror set up on this Envoy, and does traffic \
                 for its hosts and methods pass it?"
            }
            Some(_) => "the module is running and has seen no mirrored request in this time.",
        };
        warnings.push(Warning {
            code: "no_pairs",
            about: report.gateways.iter().map(|gateway| gateway.name.as_str()).collect::<Vec<_>>().join(", "),
            text: text.to_owned(),
        });
    }
    warnings
}

/// What is not in the report although it should be.
fn partial_warnings(report: &Report) -> impl Iterator<Item = Warning> {
    let missing = report.missing.iter().map(|missing| Warning {
        code: "partial",
        about: missing.name.clone(),
        text: format!("not in this report, which is partial: {}", printable(&missing.reason)),
    });
    let anew = report.span.began_anew.iter().map(|name| Warning {
        code: "began_anew",
        about: name.clone(),
        text: "it began to count anew in this time: it was started, or its module was replaced. What it had counted before is \
               not in the report."
            .to_owned(),
    });
    missing.chain(anew)
}

/// The time that a report covers; `None` where that is as long as its gateways run.
pub fn span(report: &Report) -> Option<String> {
    let since = report.span.since?;
    Some(match report.span.until {
        Some(until) => {
            let length = humantime::format_duration(Duration::from_secs(until.saturating_sub(since)));
            format!("Counted from {} to {} ({length}).", moment(since), moment(until))
        }
        None => format!("Counted from {} on.", moment(since)),
    })
}

fn gateway_warning(gateway: &Gateway) -> Option<Warning> {
    const WHY: &str = "The counts are too low from then on. Envoy's log says why (look for `wasm`); a change of the \
                       module's configuration starts it again.";
    let (code, text) = match gateway.module {
        Module::Running => return None,
        Module::Stopped if gateway.alive > 0 => {
            let workers = plural(gateway.workers.into(), "worker");
            let stopped = gateway.workers.saturating_sub(gateway.alive);
            ("stopped", format!("comparison has stopped on {stopped} of {workers}. {WHY}"))
        }
        Module::Stopped => ("stopped", format!("comparison has stopped: no worker runs the module. {WHY}")),
        Module::Rejected => (
            "module_rejected",
            "Envoy refused the module, so nothing is compared. Its log says why (look for `wasm`).".to_owned(),
        ),
        Module::Unfetched => (
            "module_unfetched",
            "Istio's agent could not fetch the module, so nothing is copied. The pod's log says why.".to_owned(),
        ),
        Module::Waiting => (
            "module_waiting",
            "Envoy has not got the module yet, so nothing is compared. If this lasts, its source of configuration does \
             not deliver it."
                .to_owned(),
        ),
        Module::Missing => {
            ("module_missing", "this Envoy does not have the module, so nothing is compared.".to_owned())
        }
    };
    Some(Warning { code, about: gateway.name.clone(), text })
}

fn diagnostic_warning(about: &str, what: Diagnostic, n: u64) -> Option<Warning> {
    let text = match what {
        Diagnostic::ConfigRejected => format!(
            "a configuration was refused {}. The module is probably older than what wrote it.",
            if n == 1 { "once".to_owned() } else { format!("{} times", thousands(n)) }
        ),
        Diagnostic::Orphan => format!("{} belonged to no mirror that the module knows.", plural(n, "marked request")),
        // A shadow that outlives its pair is counted with that pair already; dropped examples are by design.
        Diagnostic::Stray | Diagnostic::ExamplesDropped => return None,
    };
    Some(Warning { code: what.word(), about: about.to_owned(), text })
}

fn not_compared_warning(mirror: &Mirror) -> Option<Warning> {
    let share = Share::new(mirror.not_compared(), mirror.pairs());
    let rate = share.rate().filter(|rate| *rate >= MANY_NOT_COMPARED)?;
    let reasons = mirror.outcomes.iter().filter(|(outcome, _)| outcome.reason().is_some());
    let (outcome, _) = reasons.max_by_key(|(_, n)| *n)?;
    let text = format!("{} of the pairs were not compared, mostly because {}", percent(rate), because(*outcome));
    Some(Warning { code: "not_compared", about: mirror.name.clone(), text })
}

/// What a reason means, and what one can do about it.
fn because(outcome: Outcome) -> &'static str {
    use mirror_core::outcome::{Incomplete as I, Skip as S};
    match outcome {
        Outcome::Match | Outcome::Diverged | Outcome::Noise => "",
        Outcome::Incomplete(reason) => match reason {
            I::ShadowAbsent => "no copy was sent. Does the candidate exist, and does it have endpoints?",
            I::ShadowFailed => "the candidate gave no answer: it cannot be reached, resets, or times out.",
            I::ShadowCut => "the candidate's answers were cut short.",
            I::ShadowSlow => "the candidate was still answering when the pair's time ran out (caps.pair_ttl_ms).",
            I::PrimaryFailed => "the primary gave no answer.",
            I::PrimaryCut => "the primary's answers were cut short, by the server or by the client.",
            I::PrimarySlow => "the primary was still answering when the pair's time ran out (caps.pair_ttl_ms).",
            I::RequestCut => "the primary answered before the request was whole, so that it could not be copied.",
        },
        Outcome::Skipped(reason) => match reason {
            S::TooLarge => "bodies are larger than what is kept (caps.body_bytes, caps.decoded_bytes).",
            S::Undecodable => {
                "bodies cannot be decoded: their content encoding is unknown, broken, or expands too far."
            }
            S::Streaming => "event streams have no end to compare.",
            S::SameRevision => "the primary itself was served by the candidate (a canary split).",
            S::Overload => {
                "more pairs were open, or copies under way, at once than there is room for. Sample fewer requests, or raise \
                 caps.pairs, caps.pair_bytes, caps.copies and caps.copy_bytes."
            }
            S::DuplicateId => "several live requests carried the same x-request-id.",
            S::TooDeep => "JSON bodies are nested too deeply.",
            S::TooComplex => "comparing would have taken more work than a worker may spend.",
        },
    }
}

#[cfg(test)]
mod tests;
