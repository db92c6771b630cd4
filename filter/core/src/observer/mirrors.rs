//! The mirrors that a worker knows, each with its configuration and its counts. A configuration is parsed once; a mark
//! with its fingerprint then costs no host call, or one where the configuration came in a header.

use std::rc::Rc;

use super::Facts;
use super::mark::Marks;
use super::sending::Listed;
use crate::config::{self, ConfigError, Mirror, Sampling, carried};
use crate::example::Writer;
use crate::noise::Tracker;
use crate::outcome::Outcome;
use crate::pair::{Setting, Table};
use crate::sorted::Sorted;
use crate::stats::{Record, Stats};

/// The most mirrors that a worker knows at once.
pub(super) const MOST_MIRRORS: usize = 64;
/// How many refused configurations are remembered, so that each is logged once and parsed once.
const MOST_REFUSED: usize = 64;
/// The most characters that are logged of why a configuration was refused.
const MOST_REASON: usize = 500;

/// A configuration as it came with a request; nothing where a plugin configuration lists it.
#[derive(Debug, Default)]
struct Source {
    json: Vec<u8>,
    /// Where it came in a header: what the route that vouched for it was made from.
    origin: Option<Vec<u8>>,
}

/// One mirror.
#[derive(Debug)]
pub(super) struct State {
    pub(super) setting: Rc<Setting>,
    source: Source,
    fingerprint: String,
    stats: Stats,
    pub(super) tracker: Tracker,
    pub(super) writer: Writer,
    /// Whether anything was counted since the last flush.
    dirty: bool,
    /// When it was last asked for, on the mirrors' own clock.
    used: u64,
    /// Every outcome, for tests.
    #[cfg(test)]
    pub(super) journal: Vec<super::tests::Entry>,
}

impl State {
    fn new(source: Source, fingerprint: String, setting: Rc<Setting>) -> Self {
        Self {
            source,
            fingerprint,
            stats: Stats::new(&setting.mirror),
            tracker: Tracker::default(),
            writer: Writer::new(setting.mirror.caps.examples_per_minute),
            setting,
            dirty: false,
            used: 0,
            #[cfg(test)]
            journal: Vec::new(),
        }
    }

    fn reconfigure(&mut self, source: Source, fingerprint: String, setting: Rc<Setting>) {
        self.stats.reconfigure(&setting.mirror);
        self.writer.set_rate(setting.mirror.caps.examples_per_minute);
        self.setting = setting;
        self.source = source;
        self.fingerprint = fingerprint;
    }

    /// Whether the configuration came in a header.
    pub(super) fn is_carried(&self) -> bool {
        self.source.origin.is_some()
    }

    /// Counts one finished pair.
    pub(super) fn record(&mut self, record: &Record<'_>) {
        self.dirty = true;
        self.stats.record(record);
        #[cfg(test)]
        self.journal.push(super::tests::Entry::from(record));
    }

    /// Counts a request of which nothing but the outcome is known.
    pub(super) fn record_outcome(&mut self, outcome: Outcome, method: &str, path: &str) {
        let (statuses, latencies, places, secondary) = (None, None, &[][..], false);
        self.record(&Record { outcome, method, path, statuses, latencies, places, secondary });
    }
}

/// What is known of the mirror that a mark names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// This one, by the mark alone: a client may have written it.
    Cached(usize),
    /// This one, by the stream's own route: by its metadata, or because it vouches for the header.
    OnRoute(usize),
    /// The route carries no mirror, and vouches for none. This one has the name.
    NotOnRoute(Option<usize>),
    /// The route's configuration is of no use.
    Refused,
}

/// A configuration that was refused, by its fingerprint.
#[derive(Debug)]
struct Refused {
    fingerprint: String,
    /// The only mirror that it is refused for: where it came in a header, another's may have the same fingerprint, be it
    /// made to have it.
    mirror: Option<String>,
    /// Whether it can be used under no name; else it was only asked for under a wrong one.
    unreadable: bool,
}

/// All mirrors of one worker. A mirror keeps its place as long as it has open pairs.
#[derive(Debug, Default)]
pub(super) struct Mirrors {
    states: Vec<State>,
    by_name: Sorted<String, usize>,
    refused: Vec<Refused>,
    clock: u64,
}

impl Mirrors {
    pub(super) fn get(&self, mirror: usize) -> Option<&State> {
        self.states.get(mirror)
    }

    pub(super) fn get_mut(&mut self, mirror: usize) -> Option<&mut State> {
        self.states.get_mut(mirror)
    }

    pub(super) fn by_name(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// Finds the mirror that a mark names, and asks the host where the mark alone does not tell. `log` takes what has to
    /// be said of a configuration that is refused.
    pub(super) fn find(
        &mut self,
        marks: &Marks<'_>,
        table: &Table,
        facts: &mut dyn Facts,
        log: &mut dyn FnMut(String),
    ) -> Found {
        self.clock = self.clock.saturating_add(1);
        let known = self.by_name(marks.name);
        if let Some(mirror) = known
            && let Some(state) = self.states.get_mut(mirror)
        {
            state.used = self.clock;
            if marks.fingerprint == Some(state.fingerprint.as_str()) {
                let Some(origin) = &state.source.origin else { return Found::Cached(mirror) };
                // The VirtualService that vouched for it before; its routes are all written by the same people.
                if facts.route_origin().as_ref() == Some(origin) {
                    return Found::OnRoute(mirror);
                }
                if marks.config.is_none() {
                    return Found::NotOnRoute(known);
                }
            }
        }
        if marks.fingerprint.is_some_and(|mark| self.is_unreadable(marks.name, mark)) {
            return Found::Refused;
        }
        let source = match facts.mirror_config() {
            Some(json) => Some(Source { json, origin: None }),
            None => vouched_for(marks, facts),
        };
        let Some(source) = source else { return Found::NotOnRoute(known) };
        match self.load(marks, known, source, table, log) {
            Some(mirror) => Found::OnRoute(mirror),
            None => Found::Refused,
        }
    }

    fn is_unreadable(&self, name: &str, fingerprint: &str) -> bool {
        let concerns = |old: &Refused| old.mirror.as_ref().is_none_or(|mirror| mirror == name);
        self.refused.iter().any(|old| old.unreadable && old.fingerprint == fingerprint && concerns(old))
    }

    /// Takes over a configuration, if it is not the one that is there already.
    fn load(
        &mut self,
        marks: &Marks<'_>,
        known: Option<usize>,
        source: Source,
        table: &Table,
        log: &mut dyn FnMut(String),
    ) -> Option<usize> {
        let fingerprint = config::fingerprint(&source.json);
        let is_marked = marks.fingerprint == Some(fingerprint.as_str());
        if let Some(at) = known
            && let Some(state) = self.states.get_mut(at)
            && state.source.json == source.json
            && (is_marked || source.origin.is_none())
        {
            state.source = source;
            return Some(at);
        }
        if self.is_unreadable(marks.name, &fingerprint) {
            return None;
        }
        let concerns = source.origin.as_ref().map(|_| marks.name.to_owned());
        let refused = |unreadable| Refused { fingerprint: fingerprint.clone(), mirror: concerns, unreadable };
        let mirror = match read(marks.name, is_marked, &source) {
            Ok(mirror) => mirror,
            Err((unreadable, error)) => {
                let reason = format!("mirror {}: configuration refused: {error}", marks.name);
                self.refuse(refused(unreadable), &reason, log);
                return None;
            }
        };
        let mirror = Rc::new(Setting::new(mirror));
        if let Some(at) = known {
            self.states.get_mut(at)?.reconfigure(source, fingerprint, mirror);
            return Some(at);
        }
        let Some(at) = self.place(table) else {
            self.refuse(refused(false), &no_place(marks.name), log);
            return None;
        };
        self.put(at, State::new(source, fingerprint, mirror));
        Some(at)
    }

    /// The place of a mirror that a plugin configuration lists. It gets one where it has none; `renew` tells that the
    /// configuration is new. `None` where all places are taken.
    pub(super) fn enlist(&mut self, listed: &Listed, renew: bool, table: &Table) -> Option<usize> {
        self.clock = self.clock.saturating_add(1);
        let known = self.by_name(listed.name());
        if let Some(at) = known
            && let Some(state) = self.states.get_mut(at)
        {
            state.used = self.clock;
            if renew {
                state.reconfigure(Source::default(), listed.fingerprint.clone(), Rc::clone(&listed.setting));
            }
            return known;
        }
        let at = self.place(table)?;
        self.put(at, State::new(Source::default(), listed.fingerprint.clone(), Rc::clone(&listed.setting)));
        Some(at)
    }

    fn put(&mut self, at: usize, mut state: State) {
        state.used = self.clock;
        let name = state.setting.mirror.name.clone();
        match self.states.get_mut(at) {
            Some(place) => {
                self.by_name.remove(&place.setting.mirror.name);
                *place = state;
            }
            None => self.states.push(state),
        }
        self.by_name.insert(name, at);
    }

    /// Where a new mirror finds room: behind the others, or else in the place of the one that was not asked for longest
    /// among those with no open pair and no counts left to hand over.
    fn place(&self, table: &Table) -> Option<usize> {
        if self.states.len() < MOST_MIRRORS {
            return Some(self.states.len());
        }
        let states = self.states.iter().enumerate();
        let idle = states.filter(|(at, state)| !state.dirty && table.usage(*at).count == 0);
        idle.min_by_key(|(_, state)| state.used).map(|(at, _)| at)
    }

    fn refuse(&mut self, refused: Refused, reason: &str, log: &mut dyn FnMut(String)) {
        let is_it = |old: &Refused| old.fingerprint == refused.fingerprint && old.mirror == refused.mirror;
        if self.refused.iter().any(is_it) {
            return;
        }
        if self.refused.len() >= MOST_REFUSED {
            self.refused.remove(0);
        }
        self.refused.push(refused);
        log(printable(reason));
    }

    /// Whether the stream's own route carries this mirror, so that no client wrote the mark.
    pub(super) fn vouched(&self, mirror: usize, facts: &mut dyn Facts) -> bool {
        let (Some(state), Some(json)) = (self.get(mirror), facts.mirror_config()) else { return false };
        // Other bytes are a configuration that is being changed just now: then the name decides.
        state.source.json == json || Mirror::from_json(&json).is_ok_and(|other| other.name == state.setting.mirror.name)
    }

    /// Hands over what was counted since the last time.
    pub(super) fn flush(&mut self, count: &mut dyn FnMut(&str, u64)) {
        for state in self.states.iter_mut().filter(|state| state.dirty) {
            state.dirty = false;
            state.stats.flush(count);
        }
    }

    /// How many examples their rate held back since this was asked last.
    pub(super) fn examples_dropped(&mut self) -> u64 {
        self.states.iter_mut().map(|state| state.writer.dropped()).fold(0, u64::saturating_add)
    }
}

/// What is logged of a mirror that found all places taken.
pub(super) fn no_place(name: &str) -> String {
    format!("mirror {name}: not observed: {MOST_MIRRORS} mirrors are in use already")
}

/// What is logged of why a configuration was refused: it quotes the configuration, which must not make a line of its own.
pub(super) fn printable(reason: &str) -> String {
    reason.chars().filter(|character| !character.is_control()).take(MOST_REASON).collect()
}

/// Reads the configuration of the mirror `name`; `is_marked` tells that the mark has its fingerprint. Where it is refused,
/// tells also whether it can be used under no name.
fn read(name: &str, is_marked: bool, source: &Source) -> Result<Mirror, (bool, ConfigError)> {
    let carried = source.origin.is_some();
    let wrong = |path, reason: String| Err((false, ConfigError::new(path, reason)));
    if carried && !is_marked {
        return wrong(".", "its fingerprint is not the mark's".to_owned());
    }
    let mirror = Mirror::from_json(&source.json).map_err(|error| (true, error))?;
    if mirror.name != name {
        return wrong("name", format!("the route carries `{}`", mirror.name));
    }
    if carried && mirror.sampling != Sampling::Envoy {
        return wrong("sampling", "must be `envoy` where a header carries it".to_owned());
    }
    if carried {
        mirror.caps.check_modest().map_err(|error| (false, error))?;
    }
    Ok(mirror)
}

/// The configuration in the request's header, where the stream's route vouches for it.
fn vouched_for(marks: &Marks<'_>, facts: &mut dyn Facts) -> Option<Source> {
    let json = marks.config.filter(|json| json.len() <= carried::MOST_BYTES)?;
    let (route, origin) = (facts.route_name()?, facts.route_origin()?);
    carried::vouches(marks.name, &route, &origin).then(|| Source { json: json.to_vec(), origin: Some(origin) })
}
