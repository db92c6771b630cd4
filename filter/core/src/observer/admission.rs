//! What a stream is, told by its marks and by what the host vouches for: a primary, a copy, or none of our business.

use std::rc::Rc;

use super::mark::{KNATIVE_NAMESPACE, KNATIVE_REVISION, Marks, PAIR, ROLE};
use super::mirrors::{Found, State};
use super::{Admission, Facts, Observer, log};
use crate::config::{Sampling, Target, carried};
use crate::headers::HeaderBlock;
use crate::outcome::{Outcome, Skip};
use crate::pair::{KeyKind, Pair, Role, Setting, Side, Ticket, copy_word};
use crate::stats::names::Diagnostic;

/// How many live primaries a poisoned pair remembers. Further ones are counted but not waited for.
const MOST_SHARING: usize = 64;

impl Observer {
    /// Decides what to do with a stream.
    pub(super) fn admit(&mut self, headers: HeaderBlock, facts: &mut dyn Facts) -> Admission {
        let Some(marks) = Marks::read(&headers) else { return Admission::Ignore };
        if let Some(role) = marks.role {
            // Only a mirror policy may say so, and what it copies has no connection.
            if facts.has_connection() {
                return Admission::Ignore;
            }
            let Some(mirror) = self.mirrors.by_name(marks.name) else {
                self.diagnostics.add(Diagnostic::Orphan);
                return Admission::Ignore;
            };
            if self.mirrors.get(mirror).is_some_and(State::is_carried) {
                // Its mirror policy tags nothing: a client wrote this, and somebody else's policy copied it.
                return Admission::Ignore;
            }
            return match self.join(mirror, role, &marks, &headers) {
                Some((ticket, setting)) => observe(ticket, knative_headers(&setting, role, &marks)),
                None => Admission::Ignore,
            };
        }
        let lines = &mut self.lines;
        let found = self.mirrors.find(&marks, &self.table, facts, &mut |line| log(lines, line));
        match found {
            Found::OnRoute(mirror) => self.admit_primary(mirror, true, &marks, &headers, facts),
            Found::Cached(mirror) if self.is_primary(mirror, facts) => {
                self.admit_primary(mirror, false, &marks, &headers, facts)
            }
            Found::NotOnRoute(Some(mirror)) if self.is_primary(mirror, facts) => self.stray(),
            Found::Cached(mirror) | Found::NotOnRoute(Some(mirror)) => {
                self.admit_untagged(mirror, &marks, &headers, facts)
            }
            Found::NotOnRoute(None) => self.stray(),
            Found::Refused => {
                self.diagnostics.add(Diagnostic::ConfigRejected);
                Admission::Ignore
            }
        }
    }

    /// Whether a stream without a role is a primary. Where Envoy draws the sample a copy has no role either.
    fn is_primary(&self, mirror: usize, facts: &mut dyn Facts) -> bool {
        self.sampling(mirror) == Sampling::Selector || facts.has_connection()
    }

    fn sampling(&self, mirror: usize) -> Sampling {
        self.mirrors.get(mirror).map_or(Sampling::Selector, |state| state.setting.mirror.sampling)
    }

    /// A primary on a route that does not carry the mirror that it is marked with.
    fn stray(&mut self) -> Admission {
        self.diagnostics.add(Diagnostic::Stray);
        Admission::Ignore
    }

    fn admit_primary(
        &mut self,
        mirror: usize,
        verified: bool,
        marks: &Marks<'_>,
        headers: &HeaderBlock,
        facts: &mut dyn Facts,
    ) -> Admission {
        let Some(state) = self.mirrors.get(mirror) else { return Admission::Ignore };
        let setting = Rc::clone(&state.setting);
        let sampling = setting.mirror.sampling;
        let keys = marks.keys(mirror, sampling);
        let Some((kind, key)) = keys.first() else { return Admission::Ignore };
        if let Some(slot) = self.table.find(key) {
            if !(verified || self.mirrors.vouched(mirror, facts)) {
                return self.stray();
            }
            return self.admit_again(slot, headers);
        }
        let identity = self.table.identity(&keys);
        if self.table.had_outcome(identity) {
            // A retry that came late, or one of a request that was skipped.
            return Admission::Ignore;
        }
        let same_revision = is_same_revision(&setting, marks, facts);
        if same_revision && sampling == Sampling::Selector {
            self.table.remember(identity);
            return self.skip(mirror, verified, Skip::SameRevision, headers, facts);
        }
        let mut pair = Pair::new(mirror, Rc::clone(&setting), Rc::clone(key), *kind, self.clock.steady);
        pair.identity = identity;
        pair.verified = verified;
        pair.same_revision = same_revision;
        pair.like_secondary = is_like_secondary(&setting, marks, facts);
        // The configuration is known, and would be most of what the pair holds.
        pair.request = if marks.config.is_some() { headers.without(carried::HEADER) } else { headers.clone() };
        match self.table.insert(pair) {
            Some((slot, generation)) => {
                observe(Ticket { slot, generation, role: Role::Primary, attempt: 0 }, Vec::new())
            }
            // Whether Envoy sampled this request is not known yet; its copy, if there is one, counts it.
            None if sampling == Sampling::Envoy => Admission::Ignore,
            None => {
                self.table.remember(identity);
                self.skip(mirror, verified, Skip::Overload, headers, facts)
            }
        }
    }

    /// Counts a primary that opens no pair.
    fn skip(
        &mut self,
        mirror: usize,
        verified: bool,
        reason: Skip,
        headers: &HeaderBlock,
        facts: &mut dyn Facts,
    ) -> Admission {
        if !(verified || self.mirrors.vouched(mirror, facts)) {
            return self.stray();
        }
        self.record_skip(mirror, reason, headers);
        Admission::Ignore
    }

    pub(super) fn record_skip(&mut self, mirror: usize, reason: Skip, request: &HeaderBlock) {
        if let Some(state) = self.mirrors.get_mut(mirror) {
            let text = |name| request.get_str(name).unwrap_or_default();
            state.record_outcome(Outcome::Skipped(reason), text(":method"), text(":path"));
        }
    }

    /// A primary whose key is open already: a retry, or another request that shares the key.
    fn admit_again(&mut self, slot: usize, headers: &HeaderBlock) -> Admission {
        let generation = self.table.generation(slot);
        let Some(pair) = self.table.get_mut(slot) else { return Admission::Ignore };
        let ticket = |attempt| Ticket { slot, generation, role: Role::Primary, attempt };
        if pair.poison.is_none() && (pair.kind == KeyKind::Pair || pair.primary.may_be_retried()) {
            pair.verified = true;
            let attempt = pair.retry();
            self.table.account(slot);
            return observe(ticket(attempt), Vec::new());
        }
        self.poison(slot, 1);
        let Some(pair) = self.table.get_mut(slot) else { return Admission::Ignore };
        let mirror = pair.mirror;
        let sampled = pair.setting.mirror.sampling == Sampling::Selector;
        let attempt = pair.share(MOST_SHARING);
        self.table.account(slot);
        if sampled {
            self.record_skip(mirror, Skip::DuplicateId, headers);
        }
        attempt.map_or(Admission::Ignore, |attempt| observe(ticket(attempt), Vec::new()))
    }

    /// Gives a pair up because several live requests, `requests` so far, share its key. Counts each of them once; where
    /// Envoy draws the sample only those whose copy shows that they were sampled.
    fn poison(&mut self, slot: usize, requests: u64) {
        let Some(pair) = self.table.get_mut(slot) else { return };
        if pair.poison.is_some() {
            return;
        }
        let sampled = pair.setting.mirror.sampling == Sampling::Selector || pair.candidate.is_some();
        let (mirror, request) = (pair.mirror, std::mem::take(&mut pair.request));
        pair.poison();
        self.table.account(slot);
        if sampled {
            for _ in 0..requests {
                self.record_skip(mirror, Skip::DuplicateId, &request);
            }
        }
    }

    /// A shadow that Envoy's mirror policy could not tag. It gets its tags in any case; people may rely on them.
    fn admit_untagged(
        &mut self,
        mirror: usize,
        marks: &Marks<'_>,
        headers: &HeaderBlock,
        facts: &mut dyn Facts,
    ) -> Admission {
        let Some(state) = self.mirrors.get(mirror) else { return Admission::Ignore };
        let setting = Rc::clone(&state.setting);
        let Some(cluster) = facts.cluster() else { return Admission::Ignore };
        let goes_to = |target: &Target| cluster == target.cluster.as_bytes();
        let role = if goes_to(&setting.mirror.candidate) {
            Role::Candidate
        } else if setting.mirror.secondary.as_ref().is_some_and(goes_to) {
            Role::Secondary
        } else {
            // A copy that someone else's mirror policy made, or one for a target whose cluster has another name by now.
            self.diagnostics.add(Diagnostic::Orphan);
            return Admission::Ignore;
        };
        let (ticket, setting) = self.join(mirror, role, marks, headers).unwrap_or((Ticket::stale(role), setting));
        let mut tags = vec![(ROLE, copy_word(role).to_owned())];
        tags.extend(marks.request_id().map(|id| (PAIR, id.to_owned())));
        tags.extend(knative_headers(&setting, role, marks));
        observe(ticket, tags)
    }

    /// A copy joins its primary's pair. `None` where it has no place there.
    fn join(
        &mut self,
        mirror: usize,
        role: Role,
        marks: &Marks<'_>,
        headers: &HeaderBlock,
    ) -> Option<(Ticket, Rc<Setting>)> {
        let keys = marks.keys(mirror, Sampling::Selector);
        let Some(slot) = keys.iter().find_map(|(_, key)| self.table.find(key)) else {
            if !self.table.had_outcome(self.table.identity(&keys)) {
                self.orphan(mirror, role, headers);
            }
            return None;
        };
        let generation = self.table.generation(slot);
        let started = self.clock.steady;
        let pair = self.table.get_mut(slot)?;
        let setting = Rc::clone(&pair.setting);
        let sampling = setting.mirror.sampling;
        target(&setting, role)?;
        if pair.poison.is_some() {
            if sampling == Sampling::Envoy && role == Role::Candidate {
                self.record_skip(mirror, Skip::DuplicateId, headers);
            }
            return None;
        }
        pair.verified = true;
        if pair.same_revision {
            self.record_skip(mirror, Skip::SameRevision, headers);
            self.table.remove(slot);
            return None;
        }
        if role == Role::Secondary && !pair.like_secondary {
            return None;
        }
        let place = if role == Role::Secondary { &mut pair.secondary } else { &mut pair.candidate };
        if place.is_none() {
            *place = Some(Side::new(0, started));
            return Some((Ticket { slot, generation, role, attempt: 0 }, setting));
        }
        if pair.kind == KeyKind::RequestId {
            // What was taken for a retry was another request, or else there would not be a second copy.
            let requests = if pair.attempts > 0 { 2 } else { 1 };
            self.poison(slot, requests);
            self.forget_if_unshared(slot);
        }
        None
    }

    /// A copy without a pair.
    fn orphan(&mut self, mirror: usize, role: Role, headers: &HeaderBlock) {
        let Some(state) = self.mirrors.get(mirror) else { return };
        let sampled = state.setting.mirror.sampling == Sampling::Envoy && role == Role::Candidate;
        if sampled && !self.table.takes_one_more(mirror, &state.setting.mirror.caps, headers.size()) {
            // There was no room for its primary either.
            self.record_skip(mirror, Skip::Overload, headers);
        } else {
            self.diagnostics.add(Diagnostic::Orphan);
        }
    }
}

fn observe(ticket: Ticket, set_headers: Vec<(&'static str, String)>) -> Admission {
    Admission::Observe { ticket, set_headers }
}

fn target(setting: &Setting, role: Role) -> Option<&Target> {
    match role {
        Role::Secondary => setting.mirror.secondary.as_ref(),
        Role::Primary | Role::Candidate => Some(&setting.mirror.candidate),
    }
}

/// The headers by which Knative's activator sends a copy to its target, where the request does not have them: it still
/// has the primary's.
fn knative_headers(setting: &Setting, role: Role, marks: &Marks<'_>) -> Vec<(&'static str, String)> {
    match target(setting, role).and_then(|target| target.knative.as_ref()) {
        Some(knative) if !marks.goes_to(knative) => {
            vec![(KNATIVE_REVISION, knative.revision.clone()), (KNATIVE_NAMESPACE, knative.namespace.clone())]
        }
        _ => Vec::new(),
    }
}

/// Whether the primary goes to the candidate's own version, so that the pair would say nothing.
fn is_same_revision(setting: &Setting, marks: &Marks<'_>, facts: &mut dyn Facts) -> bool {
    let candidate = &setting.mirror.candidate;
    match &candidate.knative {
        Some(knative) => marks.goes_to(knative),
        None => setting.mirror.split && facts.cluster().is_some_and(|cluster| cluster == candidate.cluster.as_bytes()),
    }
}

/// Whether the primary goes to the secondary's version, so that what differs between the two differs by itself.
fn is_like_secondary(setting: &Setting, marks: &Marks<'_>, facts: &mut dyn Facts) -> bool {
    match &setting.mirror.secondary {
        None => false,
        Some(Target { knative: Some(knative), .. }) => marks.goes_to(knative),
        Some(target) => {
            !setting.mirror.split || facts.cluster().is_some_and(|cluster| cluster == target.cluster.as_bytes())
        }
    }
}
