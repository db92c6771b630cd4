//! Latency histograms: eight buckets an octave, so a bucket is at most 9.1 % wide, from 50 µs to 14 minutes.
//!
//! A histogram is a count for each bucket; adding counts merges histograms exactly, whichever worker, gateway or minute
//! they come from. Bucket 0 holds what is faster, the last one what is slower.

use std::collections::BTreeMap;

/// Where the buckets of the first octave begin: 50 µs · 2^(i/8), in nanoseconds.
const OCTAVE: [u64; 8] = [50_000, 54_525, 59_460, 64_842, 70_711, 77_111, 84_090, 91_700];
/// The fastest that has a bucket of its own.
const FIRST: u64 = 50_000;
const PER_OCTAVE: u16 = 8;
const OCTAVES: u16 = 24;

/// The last bucket, for all that is slower than the others reach.
pub const LAST: u16 = PER_OCTAVE * OCTAVES + 1;

/// The bucket of a time in nanoseconds.
pub fn bucket_of(ns: u64) -> u16 {
    let Some(octave) = (ns / FIRST).checked_ilog2() else {
        return 0;
    };
    // Within its octave: `reduced` is at least FIRST and less than twice that.
    let reduced = ns.checked_shr(octave).unwrap_or_default();
    let within = OCTAVE.partition_point(|low| *low <= reduced);
    let before = u16::try_from(octave).unwrap_or(u16::MAX).saturating_mul(PER_OCTAVE);
    before.saturating_add(u16::try_from(within).unwrap_or(u16::MAX)).min(LAST)
}

/// Where a bucket begins and where the next one does, in nanoseconds. The last one (and any above it) has no end.
pub fn bounds(bucket: u16) -> (u64, u64) {
    if bucket >= LAST { (low(LAST), u64::MAX) } else { (low(bucket), low(bucket.saturating_add(1))) }
}

fn low(bucket: u16) -> u64 {
    let Some(index) = bucket.checked_sub(1) else {
        return 0;
    };
    let first = OCTAVE.get(usize::from(index % PER_OCTAVE)).copied().unwrap_or(FIRST);
    first.checked_shl(u32::from(index / PER_OCTAVE)).unwrap_or(u64::MAX)
}

/// The time that a share `q` (0 to 1) of all answers did not exceed, in nanoseconds: within its bucket, counts are taken
/// to lie evenly. From the last bucket only its beginning is known. `None` where nothing was counted or `q` is no number.
pub fn quantile(counts: &BTreeMap<u16, u64>, q: f64) -> Option<u64> {
    let total = counts.values().fold(0_u128, |sum, count| sum.saturating_add(u128::from(*count)));
    if total == 0 || q.is_nan() {
        return None;
    }
    // The nearest rank: the smallest that has a share of at least `q` at or below it.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    let rank = ((q.clamp(0.0, 1.0) * total as f64).ceil() as u128).clamp(1, total);
    let mut below = 0_u128;
    for (bucket, count) in counts {
        let count = u128::from(*count);
        let within = rank.saturating_sub(below);
        if within <= count {
            let (low, high) = bounds(*bucket);
            if *bucket >= LAST {
                return Some(low);
            }
            // The middle of this one's even share of the bucket.
            let part = u128::from(high.saturating_sub(low)).saturating_mul(within.saturating_mul(2).saturating_sub(1));
            let offset = part.checked_div(count.saturating_mul(2)).unwrap_or_default();
            return Some(low.saturating_add(u64::try_from(offset).unwrap_or_default()));
        }
        below = below.saturating_add(count);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn buckets_follow_each_other_without_gaps_and_are_narrow() {
        assert_eq!(bounds(0), (0, FIRST));
        for bucket in 0..LAST {
            let (low, high) = bounds(bucket);
            assert_eq!(bounds(bucket + 1).0, high);
            assert_eq!((bucket_of(low), bucket_of(high - 1), bucket_of(high)), (bucket, bucket, bucket + 1));
            assert!(bucket == 0 || (high - low) as f64 / low as f64 <= 0.091, "{bucket}: {low} to {high}");
        }
        let (last, end) = bounds(LAST);
        assert!((600_000 * MS..=900_000 * MS).contains(&last), "{last}");
        assert_eq!(end, u64::MAX);
        assert_eq!(bounds(u16::MAX), bounds(LAST));
        assert_eq!(bucket_of(u64::MAX), LAST);
    }

    #[test]
    fn quantiles_of_known_counts() {
        let even: BTreeMap<_, _> = [(bucket_of(MS), 50), (bucket_of(100 * MS), 50)].into();
        for (counts, q, low, high) in [
            (&even, 0.0, MS * 9 / 10, MS * 11 / 10),
            (&even, 0.5, MS * 9 / 10, MS * 11 / 10),
            (&even, 0.51, 90 * MS, 110 * MS),
            (&even, 1.0, 90 * MS, 110 * MS),
            (&even, 7.0, 90 * MS, 110 * MS),
            (&[(LAST, 3)].into(), 0.5, bounds(LAST).0, bounds(LAST).0),
            (&[(0, 1)].into(), 0.5, FIRST / 2, FIRST / 2),
            (&[(0, u64::MAX), (1, u64::MAX)].into(), 1.0, FIRST, OCTAVE[1]),
        ] {
            let quantile = quantile(counts, q).expect("some");
            assert!((low..=high).contains(&quantile), "{q} of {counts:?}: {quantile}");
        }
        assert_eq!(quantile(&BTreeMap::new(), 0.5), None);
        assert_eq!(quantile(&[(3, 0)].into(), 0.5), None);
        assert_eq!(quantile(&even, f64::NAN), None);
    }

    #[cfg(not(target_arch = "wasm32"))]
    mod properties {
        use proptest::prelude::*;

        use super::*;

        /// Times of every magnitude.
        fn time() -> impl Strategy<Value = u64> {
            (0_u32..64, any::<u64>()).prop_map(|(shift, bits)| bits >> shift)
        }

        proptest! {
            #[test]
            fn slower_is_never_in_a_lower_bucket(a in time(), b in time()) {
                prop_assert_eq!(bucket_of(a.min(b)), bucket_of(a).min(bucket_of(b)));
            }

            #[test]
            fn a_bucket_holds_its_times(ns in time()) {
                let (low, high) = bounds(bucket_of(ns));
                prop_assert!(low <= ns && (ns < high || high == u64::MAX));
            }

            #[test]
            fn a_quantile_lies_in_the_bucket_of_the_exact_one(
                mut times in prop::collection::vec(time(), 1..200),
                q in 0.0_f64..=1.0,
            ) {
                let mut counts = BTreeMap::new();
                for ns in &times {
                    *counts.entry(bucket_of(*ns)).or_default() += 1;
                }
                times.sort_unstable();
                let rank = (q * times.len() as f64).ceil().max(1.0) as usize;
                let estimate = quantile(&counts, q).expect("some");
                prop_assert_eq!(bucket_of(estimate), bucket_of(times[rank - 1]));
            }
        }
    }
}
