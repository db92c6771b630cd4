//! The statistics behind a report: shares, with the interval that holds the true rate.

/// So many out of so many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// How many.
    pub count: u64,
    /// Out of how many; at least `count`.
    pub of: u64,
}

/// The normal distribution's 97.5 % quantile: two-sided intervals of 95 %.
const Z: f64 = 1.959_963_984_540_054;

impl Share {
    /// `count` out of `of`.
    pub fn new(count: u64, of: u64) -> Self {
        Self { count, of }
    }

    /// The share, 0 to 1; `None` of nothing.
    pub fn rate(self) -> Option<f64> {
        (self.of > 0).then(|| self.count as f64 / self.of as f64)
    }

    /// Where the true rate lies with 95 % confidence: Wilson's score interval, which stays honest near 0 and 1 and for
    /// small numbers. `None` of nothing.
    pub fn interval(self) -> Option<(f64, f64)> {
        let p = self.rate()?.min(1.0);
        let n = self.of as f64;
        let scale = 1.0 + Z * Z / n;
        let centre = p + Z * Z / (2.0 * n);
        let half = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
        // At the ends the exact bound is the end itself; rounding must not say otherwise.
        let low = if self.count == 0 { 0.0 } else { ((centre - half) / scale).max(0.0) };
        let high = if self.count >= self.of { 1.0 } else { ((centre + half) / scale).min(1.0) };
        Some((low, high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_wilsons() {
        for (count, of, low, high) in [
            (0, 10, 0.0, 0.277_533),
            (1, 10, 0.017_876, 0.404_150),
            (5, 10, 0.236_593, 0.763_407),
            (10, 10, 0.722_467, 1.0),
            (0, 1203, 0.0, 0.003_183),
            (149, 1203, 0.106_430, 0.143_678),
        ] {
            let (l, h) = Share::new(count, of).interval().expect("not of nothing");
            assert!((l - low).abs() < 1e-6 && (h - high).abs() < 1e-6, "{count} of {of}: {l} {h}");
        }
        assert_eq!(Share::new(0, 0).interval(), None);
        assert_eq!(Share::new(0, 0).rate(), None);
    }

    #[test]
    fn intervals_hold_the_rate() {
        for of in 1..60 {
            for count in 0..=of {
                let share = Share::new(count, of);
                let (low, high) = share.interval().expect("not of nothing");
                let rate = share.rate().expect("not of nothing");
                assert!(0.0 <= low && low <= rate && rate <= high && high <= 1.0, "{share:?}: {low} {rate} {high}");
            }
        }
    }
}
