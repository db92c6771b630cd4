//! The mirrors that a worker knows, each with its configuration and its counts. A configuration is parsed once; a mark
//! with its fingerprint then costs no host call.

use std::rc::Rc;

use super::Facts;
use crate::config::{self, Mirror};
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

/// One mirror.
#[derive(Debug)]
pub(super) struct State {
    pub(super) setting: Rc<Setting>,
    json: Vec<u8>,
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
    fn new(json: Vec<u8>, fingerprint: String, mirror: Mirror) -> Self {
        Self {
            json,
            fingerprint,
            stats: Stats::new(&mirror),
            tracker: Tracker::default(),
            writer: Writer::new(mirror.caps.examples_per_minute),
            setting: Rc::new(Setting::new(mirror)),
            dirty: false,
            used: 0,
            #[cfg(test)]
            journal: Vec::new(),
        }
    }

    fn reconfigure(&mut self, json: Vec<u8>, fingerprint: String, mirror: Mirror) {
        self.stats.reconfigure(&mirror);
        self.writer.set_rate(mirror.caps.examples_per_minute);
        self.setting = Rc::new(Setting::new(mirror));
        self.json = json;
        self.fingerprint = fingerprint;
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
    /// This one, by the metadata of the stream's own route.
    OnRoute(usize),
    /// The route carries no mirror. This one has the name.
    NotOnRoute(Option<usize>),
    /// The route's configuration is of no use.
    Refused,
}

/// A configuration that was refused, by its fingerprint.
#[derive(Debug)]
struct Refused {
    fingerprint: String,
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
        name: &str,
        fingerprint: Option<&str>,
        table: &Table,
        facts: &mut dyn Facts,
        log: &mut dyn FnMut(String),
    ) -> Found {
        self.clock = self.clock.saturating_add(1);
        let known = self.by_name(name);
        if let Some(mirror) = known
            && let Some(state) = self.states.get_mut(mirror)
        {
            state.used = self.clock;
            if fingerprint == Some(state.fingerprint.as_str()) {
                return Found::Cached(mirror);
            }
        }
        if fingerprint.is_some_and(|mark| self.refused.iter().any(|old| old.unreadable && old.fingerprint == mark)) {
            return Found::Refused;
        }
        let Some(json) = facts.mirror_config() else { return Found::NotOnRoute(known) };
        if let Some(mirror) = known
            && self.states.get(mirror).is_some_and(|state| state.json == json)
        {
            return Found::OnRoute(mirror);
        }
        match self.load(name, known, json, table, log) {
            Some(mirror) => Found::OnRoute(mirror),
            None => Found::Refused,
        }
    }

    /// Takes over a configuration that is new here.
    fn load(
        &mut self,
        name: &str,
        known: Option<usize>,
        json: Vec<u8>,
        table: &Table,
        log: &mut dyn FnMut(String),
    ) -> Option<usize> {
        let fingerprint = config::fingerprint(&json);
        if self.refused.iter().any(|old| old.unreadable && old.fingerprint == fingerprint) {
            return None;
        }
        let mirror = match Mirror::from_json(&json) {
            Ok(mirror) => mirror,
            Err(error) => {
                self.refuse(fingerprint, true, &format!("mirror {name}: configuration refused: {error}"), log);
                return None;
            }
        };
        if mirror.name != name {
            let reason = format!("mirror {name}: configuration refused: name: the route carries `{}`", mirror.name);
            self.refuse(fingerprint, false, &reason, log);
            return None;
        }
        if let Some(at) = known {
            self.states.get_mut(at)?.reconfigure(json, fingerprint, mirror);
            return Some(at);
        }
        let mut state = State::new(json, fingerprint, mirror);
        state.used = self.clock;
        if self.states.len() < MOST_MIRRORS {
            self.by_name.insert(name.to_owned(), self.states.len());
            self.states.push(state);
            return self.by_name(name);
        }
        let Some(at) = self.idle(table) else {
            let reason = format!("mirror {name}: not observed: {MOST_MIRRORS} mirrors are in use already");
            self.refuse(state.fingerprint, false, &reason, log);
            return None;
        };
        let place = self.states.get_mut(at)?;
        self.by_name.remove(&place.setting.mirror.name);
        *place = state;
        self.by_name.insert(name.to_owned(), at);
        Some(at)
    }

    /// The mirror that was not asked for longest, among those with no open pair and no counts left to hand over.
    fn idle(&self, table: &Table) -> Option<usize> {
        let states = self.states.iter().enumerate();
        let idle = states.filter(|(at, state)| !state.dirty && table.usage(*at).pairs == 0);
        idle.min_by_key(|(_, state)| state.used).map(|(at, _)| at)
    }

    fn refuse(&mut self, fingerprint: String, unreadable: bool, reason: &str, log: &mut dyn FnMut(String)) {
        if self.refused.iter().any(|old| old.fingerprint == fingerprint) {
            return;
        }
        if self.refused.len() >= MOST_REFUSED {
            self.refused.remove(0);
        }
        self.refused.push(Refused { fingerprint, unreadable });
        log(reason.to_owned());
    }

    /// Whether the stream's own route carries this mirror, so that no client wrote the mark.
    pub(super) fn vouched(&self, mirror: usize, facts: &mut dyn Facts) -> bool {
        let (Some(state), Some(json)) = (self.get(mirror), facts.mirror_config()) else { return false };
        // Other bytes are a configuration that is being changed just now: then the name decides.
        state.json == json || Mirror::from_json(&json).is_ok_and(|other| other.name == state.setting.mirror.name)
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
