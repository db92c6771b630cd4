//! The endpoints, each with a bar of what became of its pairs.

use maud::{Markup, html};
use mirror_core::stats::names::Word;

use super::{bar, code, interval, outcomes, rate};
use crate::report::model::{CLASSES, Endpoint, Mirror};
use crate::report::text::thousands;

/// All endpoints, those that differ most often first.
pub fn section(mirror: &Mirror) -> Markup {
    if mirror.endpoints.is_empty() {
        return html! {};
    }
    let all = CLASSES.into_iter().filter(|class| mirror.class(*class) > 0);
    html! {
        section {
            h3 { "Endpoints" }
            p.hint.legend {
                @for class in all { span { (outcomes::swatch(class)) (class.word()) } " " }
            }
            div.scroll role="region" aria-label="Endpoints" tabindex="0" {
                table {
                    thead {
                        tr {
                            th scope="col" { "Endpoint" }
                            th.number scope="col" { "Pairs" }
                            th.number scope="col" { "Diverged" }
                        }
                    }
                    tbody { @for endpoint in &mirror.endpoints { (row(endpoint)) } }
                }
            }
        }
    }
}

fn row(endpoint: &Endpoint) -> Markup {
    let diverged = endpoint.diverged();
    let parts = CLASSES.map(|class| (class, endpoint.class(class)));
    html! {
        tr {
            th scope="row" { (code(&endpoint.name)) (bar::stacked(&parts)) }
            td.number {
                (thousands(endpoint.total()))
                @if endpoint.compared() < endpoint.total() { br; small { (thousands(endpoint.compared())) " compared" } }
            }
            td.number {
                (rate(diverged))
                @if diverged.count > 0 { br; small { (interval(diverged)) } }
            }
        }
    }
}
