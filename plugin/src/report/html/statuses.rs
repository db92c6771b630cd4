//! The pairs of status codes.

use maud::{Markup, html};

use super::rate;
use crate::report::math::Share;
use crate::report::model::{Mirror, Statuses};
use crate::report::text::thousands;

/// All pairs of status codes, differing ones first.
pub fn section(mirror: &Mirror) -> Markup {
    if mirror.statuses.is_empty() {
        return html! {};
    }
    let all = mirror.differing_status().of;
    html! {
        section {
            h3 { "Status codes" }
            table {
                thead {
                    tr {
                        th scope="col" { "Primary → candidate" }
                        th.number scope="col" { "Pairs" }
                        th.number scope="col" { "Share" }
                    }
                }
                tbody { @for row in &mirror.statuses { (self::row(row, all)) } }
            }
        }
    }
}

fn row(row: &Statuses, all: u64) -> Markup {
    let differs = row.primary != row.candidate;
    html! {
        tr {
            th scope="row" {
                @if differs {
                    strong.differs { (row.primary) " → " (row.candidate) }
                } @else {
                    (row.primary) " on both sides"
                }
            }
            td.number { (thousands(row.pairs)) }
            td.number { (rate(Share::new(row.pairs, all))) }
        }
    }
}
