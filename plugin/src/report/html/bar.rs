//! Bars: a stacked one of what became of pairs, and a share with the interval that holds the true rate.

use maud::{Markup, html};
use mirror_core::stats::names::{Class, Word};

use super::position;
use crate::report::math::Share;

/// A whole, in parts by class. It has no text of its own: the numbers stand beside it.
pub fn stacked(parts: &[(Class, u64)]) -> Markup {
    html! {
        span.bar aria-hidden="true" {
            @for (class, n) in parts.iter().filter(|(_, n)| *n > 0) {
                span class=(class.word()) style={ "flex-grow:" (n) } {}
            }
        }
    }
}

/// A share as a bar from zero, and its interval as whiskers, on a scale that ends at `most` (0 to 1).
pub fn whiskers(share: Share, most: f64) -> Markup {
    let (Some(rate), Some((low, high))) = (share.rate(), share.interval()) else { return html! {} };
    let [rate, low, high] = [rate, low, high].map(|part| position(part / most));
    html! {
        svg.whiskers aria-hidden="true" focusable="false" {
            rect.track width="100%" height="100%" {}
            rect.rate width={ (rate) "%" } height="100%" {}
            line x1={ (low) "%" } x2={ (high) "%" } y1="50%" y2="50%" {}
            @for end in [&low, &high] {
                line x1={ (end) "%" } x2={ (end) "%" } y1="20%" y2="80%" {}
            }
        }
    }
}

/// Where a scale ends that has room for all of these shares' intervals: at a round number.
pub fn scale(shares: impl Iterator<Item = Share>) -> f64 {
    const ENDS: [f64; 9] = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5];
    let most = shares.filter_map(|share| share.interval()).map(|(_, high)| high).fold(0.0, f64::max);
    ENDS.into_iter().find(|end| most <= *end).unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_end_at_round_numbers_above_all_intervals() {
        let one_of = |of| [Share::new(1, of)].into_iter();
        for (shares, end) in [(one_of(1), 1.0), (one_of(10), 0.5), (one_of(100), 0.1), (one_of(100_000), 0.001)] {
            assert_eq!(scale(shares), end);
        }
        assert_eq!(scale([Share::new(0, 0)].into_iter()), 0.001);
    }
}
