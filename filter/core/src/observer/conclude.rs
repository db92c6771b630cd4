//! When a pair is over, and what became of it: exactly one outcome each.

use super::{Observer, log};
use crate::compare::{Comparison, compare};
use crate::config::Sampling;
use crate::divergence::{Divergence, Kind};
use crate::example::Example;
use crate::noise;
use crate::outcome::{Incomplete, Outcome, Skip};
use crate::pair::{Pair, Phase};
use crate::place::Place;
use crate::stats::endpoint::endpoint;
use crate::stats::{Record, Tally};

/// How long a pair whose primary failed waits for Envoy to try again, in nanoseconds. Envoy's back-off before a first
/// retry is 25 ms at most, unless configured otherwise.
const RETRY_GRACE: u64 = 1_000_000_000;

/// What a pair that is over comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// Primary and candidate are there to be compared.
    Compare,
    /// This, without comparing.
    Outcome(Outcome),
}

/// Whether a pair is over; `expired` tells that its time to live is.
fn verdict(pair: &Pair, now: u64, expired: bool) -> Option<Verdict> {
    let incomplete = |reason| Some(Verdict::Outcome(Outcome::Incomplete(reason)));
    let streaming = pair.is_streaming();
    let primary = &pair.primary;
    if !primary.is_enough(streaming) {
        return if expired { incomplete(Incomplete::PrimarySlow) } else { None };
    }
    if !pair.is_final && primary.may_be_retried() && !expired && now.saturating_sub(primary.ended) < RETRY_GRACE {
        return None;
    }
    if !primary.is_usable(streaming) {
        let failed = primary.phase == Phase::Failed;
        return incomplete(if failed { Incomplete::PrimaryFailed } else { Incomplete::PrimaryCut });
    }
    match &pair.candidate {
        None if pair.outgoing.is_some() => {
            return if expired { incomplete(Incomplete::RequestCut) } else { None };
        }
        None if primary.has_ended() || expired => return incomplete(Incomplete::ShadowAbsent),
        None => return None,
        Some(side) if !side.is_enough(streaming) => {
            return if expired { incomplete(Incomplete::ShadowSlow) } else { None };
        }
        Some(side) if side.phase == Phase::Failed => return incomplete(Incomplete::ShadowFailed),
        Some(side) if !side.is_usable(streaming) => return incomplete(Incomplete::ShadowCut),
        Some(_) => {}
    }
    match &pair.secondary {
        Some(side) if !side.is_enough(streaming) && !expired => None,
        _ => Some(Verdict::Compare),
    }
}

impl Observer {
    /// Ends what has run out of time.
    pub(super) fn tick(&mut self, slot: usize, now: u64) {
        let Some(pair) = self.table.get(slot) else { return };
        let ttl = pair.setting.mirror.caps.pair_ttl_ms.saturating_mul(1_000_000);
        let expired = now.saturating_sub(pair.started) >= ttl;
        let unsampled = !pair.has_copies() && pair.setting.mirror.sampling == Sampling::Envoy;
        if expired && (pair.poison.is_some() || unsampled) {
            self.table.remove(slot);
        } else if expired && !pair.has_copies() && !pair.verified {
            self.forget_stray(slot);
        } else {
            self.settle(slot, now, expired);
        }
    }

    /// Concludes the pair in `slot` if it is over.
    pub(super) fn settle(&mut self, slot: usize, now: u64, expired: bool) {
        let pair = self.table.get(slot).filter(|pair| pair.poison.is_none());
        match pair.and_then(|pair| verdict(pair, now, expired)) {
            None => {}
            Some(Verdict::Outcome(outcome)) => self.conclude(slot, outcome),
            Some(Verdict::Compare) => self.compare(slot),
        }
    }

    /// Ends a pair that is not compared.
    pub(super) fn conclude(&mut self, slot: usize, outcome: Outcome) {
        if let Some(pair) = self.table.remove(slot)
            && let Some(state) = self.mirrors.get_mut(pair.mirror)
        {
            state.record_outcome(outcome, pair.method(), pair.path());
        }
    }

    /// Ends a pair that is.
    fn compare(&mut self, slot: usize) {
        let Some(pair) = self.table.remove(slot) else { return };
        let (plan, primary, method) = (&pair.setting.plan, &pair.primary, pair.method());
        let Some(candidate) = &pair.candidate else { return };
        let streaming = pair.is_streaming();
        let against = |shadow| {
            let mut found = compare(plan, method, &primary.answer, shadow);
            if streaming {
                heads_only(&mut found);
            }
            found
        };
        let found = against(&candidate.answer);
        let secondary = pair.secondary.as_ref().filter(|side| side.is_usable(streaming));
        let secondary = secondary.map(|side| against(&side.answer));
        let Some(state) = self.mirrors.get_mut(pair.mirror) else { return };

        // A body that was not compared would count as one that does not differ: only whole comparisons make a triple.
        let triple = secondary.as_ref().filter(|other| found.skipped.is_none() && other.skipped.is_none());
        if let Some(other) = triple {
            let most = pair.setting.mirror.caps.places;
            state.tracker.record(&found.divergences, &other.divergences, most);
        }
        let known_noise = secondary.as_ref().map_or(&[][..], |other| &other.divergences);
        let is_noise = |found: &Divergence| noise::explains(known_noise, found) || state.tracker.is_noise(found);
        let (noisy, real): (Vec<_>, Vec<_>) = found.divergences.iter().partition(|found| is_noise(found));

        // What did not fit into the list of divergences is noise only if the secondary has as much of it.
        let unexplained = found.dropped > secondary.as_ref().map_or(0, |other| other.dropped);
        let outcome = match found.skipped {
            _ if !real.is_empty() || unexplained => Outcome::Diverged,
            Some(reason) => Outcome::Skipped(reason),
            None if !noisy.is_empty() || found.dropped > 0 => Outcome::Noise,
            None => Outcome::Match,
        };
        let mut places = Vec::new();
        tally(&mut places, real.iter().copied(), Tally::Diverged);
        tally(&mut places, noisy.iter().copied(), Tally::Noise);
        tally(&mut places, triple.into_iter().flat_map(|other| &other.divergences), Tally::Secondary);
        let whole = primary.phase == Phase::Whole && candidate.phase == Phase::Whole;
        let statuses = Some((primary.answer.status, candidate.answer.status));
        let latencies = whole.then(|| (primary.latency(), candidate.latency()));
        state.record(&Record {
            outcome,
            method,
            path: pair.path(),
            statuses,
            latencies,
            places: &places,
            secondary: triple.is_some(),
        });
        if real.is_empty() {
            return;
        }
        let endpoint = endpoint(method, pair.path(), &pair.setting.mirror.rules.endpoints);
        for divergence in real {
            let line = state.writer.write(
                self.clock.wall,
                &Example {
                    mirror: &pair.setting.mirror.name,
                    pair: pair.id(),
                    endpoint: &endpoint,
                    statuses,
                    latencies_ns: latencies,
                    divergence,
                    request: &pair.request,
                },
            );
            if let Some(line) = line {
                log(&mut self.lines, line);
            }
        }
    }
}

fn tally<'a>(places: &mut Vec<(Place, Kind, Tally)>, divergences: impl Iterator<Item = &'a Divergence>, tally: Tally) {
    places.extend(divergences.map(|found| (found.place.clone(), found.kind, tally)));
}

/// Keeps what statuses and headers said. Bodies and trailers of an answer that has no end say nothing.
fn heads_only(comparison: &mut Comparison) {
    comparison.divergences.retain(|found| {
        let place = found.place.as_str();
        !(place == "body" || place.starts_with('/') || place.starts_with("trailer:"))
    });
    comparison.skipped = Some(Skip::Streaming);
}
