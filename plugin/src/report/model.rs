//! The report: what the statistics say about each mirror, sorted so that what matters comes first. It holds numbers and
//! words of the domain; how they look is the formats' business.

use std::collections::BTreeMap;

use mirror_core::divergence::Kind;
use mirror_core::outcome::Outcome;
use mirror_core::stats::histogram;
use mirror_core::stats::names::{Class, Diagnostic};

use super::math::Share;
use crate::source::Module;

/// All mirrors of all Envoys that were asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The time that the counts cover.
    pub span: Span,
    /// The Envoys.
    pub gateways: Vec<Gateway>,
    /// Those whose counts are not in it; where there are any, the report is partial.
    pub missing: Vec<Missing>,
    /// The mirrors, by name.
    pub mirrors: Vec<Mirror>,
    /// What happened outside of any mirror, and how often.
    pub diagnostics: Vec<(Diagnostic, u64)>,
    /// Whether mirrors that were counted were left out, since nobody asked for them.
    pub narrowed: bool,
}

/// The time that a report covers, in seconds since the Unix epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Where it begins; `None` where all is in it that each Envoy has counted since its module started.
    pub since: Option<u64>,
    /// Where it ends; `None` where that is not known.
    pub until: Option<u64>,
    /// The Envoys that began to count anew within it: they, or their modules, started then. What such a one had counted
    /// before is lost.
    pub began_anew: Vec<String>,
}

/// An Envoy whose counts are not in a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The pod's name, or the address of its admin page.
    pub name: String,
    /// Why it is missing.
    pub reason: String,
}

/// One Envoy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gateway {
    /// The pod's name, or the address of its admin page.
    pub name: String,
    /// Envoy's version; empty where it is not known.
    pub envoy: String,
    /// How long it has been running, in seconds.
    pub uptime: u64,
    /// How many worker threads it has.
    pub workers: u32,
    /// How many of them compare.
    pub alive: u32,
    /// What became of the module there.
    pub module: Module,
    /// The module's versions that run there.
    pub builds: Vec<String>,
}

/// One mirror.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mirror {
    /// `<namespace>/<route>`.
    pub name: String,
    /// What the copies go to, where the caller knows it.
    pub candidate: Option<String>,
    /// What became of the pairs, in the order of [`Outcome::all`], without zeros. Their sum is the number of pairs.
    pub outcomes: Vec<(Outcome, u64)>,
    /// Pairs whose secondary's answer was compared too.
    pub triples: u64,
    /// Where they differ: what matters before what differs by itself, each the most frequent first.
    pub places: Vec<Place>,
    /// Pairs by endpoint, those that differ most often first; the rest by number of pairs.
    pub endpoints: Vec<Endpoint>,
    /// Pairs of status codes, differing ones first, each the most frequent first.
    pub statuses: Vec<Statuses>,
    /// How long the answers took; `None` where no pair has both.
    pub latency: Option<Latency>,
    /// What had no room for a name of its own.
    pub other: Other,
    /// What happened outside of pairs, and how often.
    pub diagnostics: Vec<(Diagnostic, u64)>,
}

/// One place and kind of difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where, in the syntax of [`mirror_core::place`].
    pub place: String,
    /// How.
    pub kind: Kind,
    /// Pairs in which it differs and the noise does not explain it.
    pub diverged: u64,
    /// Pairs in which it differs and the noise explains it.
    pub noise: u64,
    /// Triples in which the primary's own version differs from itself there.
    pub secondary: u64,
    /// Whether all pairs together show it to be noise: it differs from the candidate no more often than from the
    /// primary's own version.
    pub is_noise: bool,
    /// Out of how many compared pairs.
    pub compared: u64,
    /// One pair in which it differs, where examples were given.
    pub example: Option<Example>,
}

/// The values of one pair at one place; `None` where a side has nothing there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// What the primary has.
    pub primary: Option<String>,
    /// What the candidate has.
    pub candidate: Option<String>,
    /// The request's method and folded path.
    pub endpoint: String,
    /// The pair's id.
    pub pair: String,
}

/// Pairs of one endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Method and folded path: `GET /users/{id}`.
    pub name: String,
    /// Pairs by the class of their outcome, in the order of [`CLASSES`].
    pub pairs: [u64; 5],
}

/// The classes of outcomes, in the order in which reports list them.
pub const CLASSES: [Class; 5] = [Class::Match, Class::Diverged, Class::Noise, Class::Incomplete, Class::Skipped];

/// Pairs of which both sides answered, by their status codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statuses {
    /// The primary's.
    pub primary: u16,
    /// The candidate's.
    pub candidate: u16,
    /// How many pairs.
    pub pairs: u64,
}

/// How long the answers of both sides took: how many by bucket, as [`histogram`] numbers them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// The primary's.
    pub primary: BTreeMap<u16, u64>,
    /// The candidate's.
    pub candidate: BTreeMap<u16, u64>,
}

impl Latency {
    /// The times in nanoseconds that the share `q` (0 to 1) of the primary's and of the candidate's answers did not
    /// exceed; `None` where a side has none.
    pub fn quantile(&self, q: f64) -> Option<(u64, u64)> {
        Some((histogram::quantile(&self.primary, q)?, histogram::quantile(&self.candidate, q)?))
    }
}

/// Counts of what had no room for a name of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Other {
    /// Differences at places without a name (a pair may have several) that the noise does not explain.
    pub places: u64,
    /// Pairs at endpoints without a name.
    pub endpoints: u64,
    /// Pairs whose status codes have no name.
    pub statuses: u64,
}

impl Mirror {
    /// All pairs.
    pub fn pairs(&self) -> u64 {
        self.outcomes.iter().map(|(_, n)| n).sum()
    }

    /// Pairs of one class.
    pub fn class(&self, class: Class) -> u64 {
        self.outcomes.iter().filter(|(outcome, _)| Class::of(*outcome) == class).map(|(_, n)| n).sum()
    }

    /// Pairs that were compared: they match, diverge, or differ by noise alone.
    pub fn compared(&self) -> u64 {
        self.class(Class::Match) + self.class(Class::Diverged) + self.class(Class::Noise)
    }

    /// Pairs that were not compared: incomplete or skipped.
    pub fn not_compared(&self) -> u64 {
        self.pairs() - self.compared()
    }

    /// Diverged pairs, out of those compared.
    ///
    /// The module counts some pairs as diverged before it has seen enough to know that what differs in them differs by
    /// itself. A pair that really diverges does so at some other place, so there are no more of those than differences
    /// at such places.
    pub fn diverged(&self) -> Share {
        let counted = self.class(Class::Diverged);
        let at_places = self.differing().map(|place| place.diverged).sum::<u64>().saturating_add(self.other.places);
        let has_places = !self.places.is_empty() || self.other.places > 0;
        Share::new(if has_places { counted.min(at_places) } else { counted }, self.compared())
    }

    /// Pairs that were counted as diverged and are not; see [`Mirror::diverged`].
    pub fn late_noise(&self) -> u64 {
        self.class(Class::Diverged) - self.diverged().count
    }

    /// Places where the two differ and the noise does not explain it.
    pub fn differing(&self) -> impl Iterator<Item = &Place> {
        self.places.iter().filter(|place| !place.is_noise)
    }

    /// Places of the body that are missing, added or of another type in no more pairs than the status differs in. Probably they
    /// are what an error's body lacks, or has instead, and no differences of their own; counts alone cannot tell for certain.
    /// None where there is only one: it may as well stand for itself.
    pub fn with_status(&self) -> Vec<&Place> {
        let status = self.differing().find(|place| place.place == "status").map_or(0, |place| place.diverged);
        let is_of_body = |place: &Place| place.place.starts_with('/') || place.place == "body";
        let with_it = self.differing().filter(|place| place.kind.is_of_shape() && is_of_body(place));
        let with_it: Vec<_> = with_it.filter(|place| place.diverged <= status).collect();
        if with_it.len() > 1 { with_it } else { Vec::new() }
    }

    /// Places that differ, but for those that do where the status does.
    pub fn on_their_own(&self) -> Vec<&Place> {
        let with_status = self.with_status();
        self.differing().filter(|place| !with_status.iter().any(|with_it| std::ptr::eq(*with_it, *place))).collect()
    }

    /// Places that differ by themselves.
    pub fn noisy(&self) -> impl Iterator<Item = &Place> {
        self.places.iter().filter(|place| place.is_noise)
    }

    /// Pairs with different status codes, out of those of which both sides answered.
    pub fn differing_status(&self) -> Share {
        let all: u64 = self.statuses.iter().map(|row| row.pairs).sum();
        let differing = self.statuses.iter().filter(|row| row.primary != row.candidate).map(|row| row.pairs).sum();
        Share::new(differing, all + self.other.statuses)
    }
}

impl Place {
    /// The pairs in which it differs, out of those compared. Of a place that is noise all count; of any other those
    /// that the noise does not explain.
    pub fn share(&self) -> Share {
        let count = if self.is_noise { self.diverged + self.noise } else { self.diverged };
        Share::new(count, self.compared)
    }
}

impl Endpoint {
    /// Pairs of one class.
    pub fn class(&self, class: Class) -> u64 {
        CLASSES.iter().zip(self.pairs).find(|(known, _)| **known == class).map_or(0, |(_, n)| n)
    }

    /// All pairs.
    pub fn total(&self) -> u64 {
        self.pairs.iter().sum()
    }

    /// Pairs that were compared.
    pub fn compared(&self) -> u64 {
        self.class(Class::Match) + self.class(Class::Diverged) + self.class(Class::Noise)
    }

    /// Diverged pairs, out of those compared.
    pub fn diverged(&self) -> Share {
        Share::new(self.class(Class::Diverged), self.compared())
    }
}

impl Report {
    /// Whether some worker of some gateway does not compare.
    pub fn has_stopped(&self) -> bool {
        self.gateways.iter().any(|gateway| gateway.module != Module::Running)
    }
}
