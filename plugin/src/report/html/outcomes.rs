//! What became of the pairs: one bar, and its legend with the numbers.

use maud::{Markup, html};
use mirror_core::stats::names::{Class, Word};

use super::bar;
use super::rate;
use crate::report::math::Share;
use crate::report::model::{CLASSES, Mirror};
use crate::report::text::thousands;
use crate::report::verdict::outcome_words;

/// The outcomes of all pairs.
pub fn section(mirror: &Mirror) -> Markup {
    if mirror.outcomes.is_empty() {
        return html! {};
    }
    let parts = CLASSES.map(|class| (class, mirror.class(class)));
    html! {
        section {
            h3 { "What became of the pairs" }
            (bar::stacked(&parts))
            table {
                thead {
                    tr { th scope="col" { "Outcome" } th.number scope="col" { "Pairs" } th.number scope="col" { "Share" } }
                }
                tbody {
                    @for (outcome, pairs) in &mirror.outcomes {
                        tr {
                            th scope="row" { (swatch(Class::of(*outcome))) (outcome_words(*outcome)) }
                            td.number { (thousands(*pairs)) }
                            td.number { (rate(Share::new(*pairs, mirror.pairs()))) }
                        }
                    }
                }
            }
        }
    }
}

/// A class' colour in bars.
pub fn swatch(class: Class) -> Markup {
    html! { span class={ "swatch " (class.word()) } aria-hidden="true" {} }
}
