//! The report for a browser: one page that needs nothing else, neither network nor script. The answer comes first, then
//! what differs, then what one may want to know beside it.
//!
//! Everything is escaped by the templates; a policy in the page's head forbids scripts and requests even so. Whatever a
//! colour says stands there in words as well, and every chart has its numbers beside it.

mod bar;
mod endpoints;
mod gateways;
mod latency;
mod outcomes;
mod places;
mod said;
mod statuses;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::math::Share;
use super::model::{Mirror, Report};
use super::text::{percent, percent_range, printable};
use super::verdict::{NO_PAIRS, Warning, span, verdict, warnings};

const STYLE: &str = include_str!("html/style.css");
/// What the page may do: apply its own styles.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/// Writes a report as a page of HTML.
pub fn render(report: &Report) -> String {
    let (of_mirrors, general): (Vec<Warning>, Vec<Warning>) = warnings(report)
        .into_iter()
        .partition(|warning| report.mirrors.iter().any(|mirror| mirror.name == warning.about));
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content="kubectl-mirror";
                title { (title(report)) }
                // Else a browser asks the server for one.
                link rel="icon" href="data:,";
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { "Mirror report" }
                    p { "How a candidate's answers differ from those of the primary, the version that users are served by." }
                    @if let Some(span) = span(report) { p { (span) } }
                    @if report.mirrors.len() > 1 { (index(report)) }
                }
                main {
                    (said::warnings(&general))
                    @if report.mirrors.is_empty() { p.lead { (NO_PAIRS) } }
                    @for (number, mirror) in report.mirrors.iter().enumerate() {
                        (section(number, mirror, &of_mirrors))
                    }
                    (gateways::section(&report.gateways))
                }
                footer { p { "Written by kubectl mirror. Intervals are Wilson's, of 95 % confidence." } }
            }
        }
    };
    page.into_string()
}

fn title(report: &Report) -> String {
    match report.mirrors.as_slice() {
        [mirror] => format!("{}: {}", name(mirror), verdict(mirror).headline),
        mirrors => format!("Mirror report: {} mirrors", mirrors.len()),
    }
}

/// Where several mirrors are reported: what became of each, and the way to it.
fn index(report: &Report) -> Markup {
    html! {
        nav aria-label="Mirrors" {
            ul.index {
                @for (number, mirror) in report.mirrors.iter().enumerate() {
                    @let verdict = verdict(mirror);
                    li {
                        (said::badge(verdict.answer))
                        a href={ "#" (anchor(number)) } { (name(mirror)) }
                        span { (verdict.headline) }
                    }
                }
            }
        }
    }
}

/// A mirror's place in the page; its name comes from outside and may hold anything.
fn anchor(number: usize) -> String {
    format!("mirror-{}", number + 1)
}

fn section(number: usize, mirror: &Mirror, warnings: &[Warning]) -> Markup {
    let anchor = anchor(number);
    let warnings: Vec<Warning> = warnings.iter().filter(|warning| warning.about == mirror.name).cloned().collect();
    html! {
        section.mirror aria-labelledby=(anchor) {
            h2 id=(anchor) tabindex="-1" { (name(mirror)) }
            (said::verdict_of(mirror))
            (said::warnings(&warnings))
            (said::tiles(mirror))
            (outcomes::section(mirror))
            (places::differing(mirror))
            (places::noisy(mirror))
            (endpoints::section(mirror))
            div.columns {
                (statuses::section(mirror))
                (latency::section(mirror, &anchor))
            }
        }
    }
}

fn name(mirror: &Mirror) -> String {
    match &mirror.candidate {
        Some(candidate) => format!("{} → {}", printable(&mirror.name), printable(candidate)),
        None => printable(&mirror.name),
    }
}

/// Text that came over the wire, as code.
fn code(text: &str) -> Markup {
    html! { code { (printable(text)) } }
}

/// A share as a rate; a dash of nothing.
fn rate(share: Share) -> String {
    share.rate().map_or_else(|| "–".to_owned(), percent)
}

/// Where the true rate of a share lies.
fn interval(share: Share) -> String {
    share.interval().map(percent_range).unwrap_or_default()
}

/// A number (0 to 1) as a position in a drawing, in tenths of a percent at most.
fn position(part: f64) -> String {
    format!("{:.1}", (part * 100.0).clamp(0.0, 100.0))
}

#[cfg(test)]
mod tests;
