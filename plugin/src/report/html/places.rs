//! Where the two differ: a list that opens by place, and what differs by itself, folded away.

use maud::{Markup, html};
use mirror_core::divergence::Kind;

use super::{bar, code, interval, rate};
use crate::report::math::Share;
use crate::report::model::{Example, Mirror, Place};
use crate::report::text::{percent, plural, printable, thousands};

/// The places that matter, each with what is known of it inside.
pub fn differing(mirror: &Mirror) -> Markup {
    let places: Vec<&Place> = mirror.differing().collect();
    if places.is_empty() {
        return html! {};
    }
    let most = bar::scale(places.iter().map(|place| place.share()));
    html! {
        section {
            h3 { "What differs" }
            p.hint {
                "Each place with its share of the compared pairs; bars end at " (percent(most))
                ", whiskers hold the true rate. Open one for an example."
            }
            ul.places {
                @for place in places { li { (one(mirror, place, most)) } }
            }
        }
    }
}

fn one(mirror: &Mirror, place: &Place, most: f64) -> Markup {
    let share = place.share();
    html! {
        details {
            summary {
                span.place { (code(&place.place)) }
                span.kind { (place.kind) }
                span.share { strong { (rate(share)) } " (" (interval(share)) ")" }
                (bar::whiskers(share, most))
            }
            div.inside {
                p { (plural(share.count, "pair")) " of " (thousands(share.of)) ": " (explained(place.kind)) }
                @match &place.example {
                    Some(example) => (sides(example)),
                    None => p.hint { "No example of it was given with the statistics." },
                }
                (tallies(mirror, place))
            }
        }
    }
}

/// A kind of difference, seen from the primary.
fn explained(kind: Kind) -> &'static str {
    match kind {
        Kind::Missing => "the primary has it, the candidate does not.",
        Kind::Added => "the candidate has it, the primary does not.",
        Kind::Type => "both have it, with values of different types.",
        Kind::Value => "both have it, with different values.",
        Kind::Order => "both have the same elements, in another order.",
    }
}

/// One pair's values side by side.
fn sides(example: &Example) -> Markup {
    let values = [&example.primary, &example.candidate].map(|value| value.as_deref().map(printable));
    let common = match &values {
        [Some(primary), Some(candidate)] => Some(alike(primary, candidate)),
        _ => None,
    };
    html! {
        div.sides {
            @for (side, value) in ["Primary", "Candidate"].into_iter().zip(&values) {
                figure {
                    figcaption { (side) }
                    @match (value, common) {
                        (Some(value), Some(common)) => pre { (marked(value, common)) },
                        (Some(value), None) => pre { (value) },
                        (None, _) => p.absent { "(absent)" },
                    }
                }
            }
        }
        p.hint { "Seen at " (code(&example.endpoint)) ", pair " (code(&example.pair)) "." }
    }
}

/// How many characters two texts have in common at their beginning, and how many of the rest at their end.
fn alike(a: &str, b: &str) -> (usize, usize) {
    let start = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let room = a.chars().count().min(b.chars().count()) - start;
    let end = a.chars().rev().zip(b.chars().rev()).take(room).take_while(|(a, b)| a == b).count();
    (start, end)
}

/// A text with what lies between its common ends marked.
fn marked(text: &str, (start, end): (usize, usize)) -> Markup {
    let chars: Vec<char> = text.chars().collect();
    let part = |range: std::ops::Range<usize>| chars.get(range).unwrap_or_default().iter().collect::<String>();
    let end = chars.len().saturating_sub(end).max(start);
    html! { (part(0..start)) mark { (part(start..end)) } (part(end..chars.len())) }
}

fn tallies(mirror: &Mirror, place: &Place) -> Markup {
    html! {
        dl.tallies {
            div { dt { "Counted as diverged" } dd { (plural(place.diverged, "pair")) } }
            div { dt { "Explained by noise" } dd { (plural(place.noise, "pair")) } }
            div { dt { "Primary's version against itself" } dd { (against_itself(mirror, place)) } }
        }
    }
}

fn against_itself(mirror: &Mirror, place: &Place) -> String {
    let share = Share::new(place.secondary, mirror.triples);
    match share.of {
        0 => "not compared".to_owned(),
        of => format!("differs in {} of {} ({})", thousands(share.count), thousands(of), rate(share)),
    }
}

/// The places that differ by themselves.
pub fn noisy(mirror: &Mirror) -> Markup {
    let places: Vec<&Place> = mirror.noisy().collect();
    if places.is_empty() {
        return html! {};
    }
    html! {
        section {
            h3 { "What differs by itself" }
            details {
                summary { span { (plural(places.len() as u64, "place")) ", not counted as diverged" } }
                div.inside {
                    p {
                        "The primary's own version differs from itself at these about as often as the candidate does: time \
                         stamps, ids, an order that is left to chance."
                    }
                    div.scroll role="region" aria-label="Places that differ by themselves" tabindex="0" {
                        table {
                            thead {
                                tr {
                                    th scope="col" { "Place" }
                                    th.number scope="col" { "Candidate" }
                                    th.number scope="col" { "Itself" }
                                }
                            }
                            tbody {
                                @for place in places {
                                    tr {
                                        th scope="row" { (code(&place.place)) " " small { (place.kind) } }
                                        td.number { (rate(place.share())) }
                                        td.number { (rate(Share::new(place.secondary, mirror.triples))) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_values_have_in_common_is_not_marked() {
        for (a, b, shown) in [
            ("10", "12", "1<mark>0</mark>"),
            ("between 10 and 12", "between 14 and 12", "between 1<mark>0</mark> and 12"),
            ("aa", "aaa", "aa<mark></mark>"),
            ("aaa", "aa", "aa<mark>a</mark>"),
            ("x", "y", "<mark>x</mark>"),
            ("", "y", "<mark></mark>"),
            ("苹果", "苹菓", "苹<mark>果</mark>"),
            ("<b>", "<i>", "&lt;<mark>b</mark>&gt;"),
        ] {
            assert_eq!(marked(a, alike(a, b)).into_string(), shown, "{a} against {b}");
        }
    }
}
