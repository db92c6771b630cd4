//! What is said in words: the verdict with its notes, warnings, and the few numbers that one looks for first.

use maud::{Markup, html};

use super::{interval, rate};
use crate::report::math::Share;
use crate::report::model::Mirror;
use crate::report::text::{plural, printable, thousands};
use crate::report::verdict::{Answer, Warning, verdict};

/// An answer as a sign and a word.
pub fn badge(answer: Answer) -> Markup {
    let (sign, word) = match answer {
        Answer::Differs => ("≠", "Differs"),
        Answer::Same => ("=", "Same"),
        Answer::TooFew => ("?", "Too few pairs"),
        Answer::Nothing => ("–", "Nothing compared"),
    };
    html! {
        span class={ "badge " (answer.as_str()) } { span aria-hidden="true" { (sign) " " } (word) }
    }
}

/// The verdict on a mirror.
pub fn verdict_of(mirror: &Mirror) -> Markup {
    let verdict = verdict(mirror);
    html! {
        div class={ "verdict " (verdict.answer.as_str()) } {
            p.lead { (badge(verdict.answer)) " " strong { (capitalised(&verdict.headline)) } }
            @if !verdict.notes.is_empty() {
                ul { @for note in &verdict.notes { li { (note) } } }
            }
        }
    }
}

/// Reasons not to take the numbers at their face.
pub fn warnings(warnings: &[Warning]) -> Markup {
    html! {
        @for warning in warnings {
            p.warning {
                span aria-hidden="true" { "⚠ " } strong { "Warning: " (printable(&warning.about)) ": " } (warning.text)
            }
        }
    }
}

/// The numbers that one looks for first.
pub fn tiles(mirror: &Mirror) -> Markup {
    let of_all = |n| Share::new(n, mirror.pairs());
    let diverged = mirror.diverged();
    let range = interval(diverged);
    html! {
        dl.tiles {
            (tile("Pairs", &thousands(mirror.pairs()), "requests that were copied"))
            (tile("Compared", &thousands(mirror.compared()), &format!("{} of all pairs", rate(of_all(mirror.compared())))))
            (tile("Diverged", &rate(diverged), &diverged_of(diverged, &range)))
            (tile("Not compared", &thousands(mirror.not_compared()), &format!("{} of all pairs", rate(of_all(mirror.not_compared())))))
        }
    }
}

fn diverged_of(diverged: Share, range: &str) -> String {
    if diverged.of == 0 {
        return "no pair was compared".to_owned();
    }
    format!("{} ({range})", plural(diverged.count, "pair"))
}

fn tile(name: &str, value: &str, beside: &str) -> Markup {
    html! {
        div { dt { (name) } dd.value { (value) } dd { (beside) } }
    }
}

/// A sentence's beginning.
fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
