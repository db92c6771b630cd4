//! Random interleavings: whatever order events come in, each request that is followed ends once and nothing is left.

use std::collections::VecDeque;

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;

/// How a primary goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Primary {
    Never,
    Local,
    Failed,
    Cut,
    Whole(&'static str),
}

/// How a copy goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It cannot be sent.
    Absent,
    /// It is sent, and its end is never told.
    Lost,
    Refused,
    Late,
    Cut,
    Whole(&'static str),
}

fn primary() -> impl Strategy<Value = Primary> {
    use Primary::{Cut, Failed, Local, Never, Whole};
    prop::sample::select(vec![Never, Local, Failed, Cut, Whole("200"), Whole("200"), Whole("404"), Whole("503")])
}

fn copy() -> impl Strategy<Value = Fate> {
    use Fate::{Absent, Cut, Late, Lost, Refused, Whole};
    prop::sample::select(vec![Absent, Lost, Refused, Late, Cut, Whole("200"), Whole("200"), Whole("404"), Whole("504")])
}

/// What a request may come to when all the time in the world has passed: where both its primary and its copy fail, the one
/// that did so first decides.
fn expected(primary: Primary, candidate: Fate, secondary: Fate) -> Vec<Outcome> {
    let failed = match primary {
        Primary::Never => Some(Incomplete::PrimarySlow),
        Primary::Local | Primary::Failed => Some(Incomplete::PrimaryFailed),
        Primary::Cut => Some(Incomplete::PrimaryCut),
        Primary::Whole(_) => None,
    };
    let copy_failed = match candidate {
        Fate::Absent => Some(Incomplete::ShadowAbsent),
        Fate::Refused => Some(Incomplete::ShadowFailed),
        Fate::Lost | Fate::Late => Some(Incomplete::ShadowSlow),
        Fate::Cut => Some(Incomplete::ShadowCut),
        Fate::Whole(_) => None,
    };
    let failures: Vec<_> = failed.into_iter().chain(copy_failed).map(Outcome::Incomplete).collect();
    match (primary, candidate, secondary) {
        _ if !failures.is_empty() => failures,
        (Primary::Whole(one), Fate::Whole(other), _) if one == other => vec![Outcome::Match],
        (Primary::Whole(one), _, Fate::Whole(again)) if one != again => vec![Outcome::Noise],
        _ => vec![Outcome::Diverged],
    }
}

/// One step of a request.
#[derive(Clone, Copy, Debug)]
enum Step {
    Upload,
    End,
    Local,
    Headers(&'static str),
    Body,
    Complete,
    Gone,
    Copy(usize, Fate),
}

/// A request's own steps, its primary's and its copies', each in their order.
fn steps(primary: Primary, copies: [Fate; 2]) -> Vec<VecDeque<Step>> {
    use Step::{Body, Complete, End, Gone, Headers, Local, Upload};
    let answer = match primary {
        Primary::Never => vec![],
        Primary::Local => vec![Local, Gone],
        Primary::Failed => vec![Gone],
        Primary::Cut => vec![Headers("200"), Body, Gone],
        Primary::Whole(status) => vec![Headers(status), Body, Body, Complete, Gone],
    };
    let copy = |n: usize| if copies[n] == Fate::Lost { vec![] } else { vec![Step::Copy(n, copies[n])] };
    [vec![Upload, Upload, End], answer, copy(0), copy(1)].map(VecDeque::from).into()
}

/// A request on its way.
struct Course {
    ticket: Ticket,
    copies: [Fate; 2],
    primary: Primary,
    rest: Vec<VecDeque<Step>>,
    sent: [Option<u32>; 2],
    is_whole: bool,
}

impl Course {
    /// Takes the next step of one of its streams, if it may come by now.
    fn step(&mut self, proxy: &mut Proxy, stream: usize) {
        let Some(step) = self.rest[stream].front().copied() else { return };
        let early = match step {
            Step::Copy(..) => true,
            // A stream whose answer is whole goes with its request.
            Step::Gone => matches!(self.primary, Primary::Whole(_)),
            _ => false,
        };
        if early && !self.is_whole {
            return;
        }
        self.rest[stream].pop_front();
        match step {
            Step::Upload => drop(proxy.upload(self.ticket, b"part")),
            Step::End => self.end(proxy),
            Step::Local => {
                let facts = &mut Stream { local: true, ..proxy.host.primary_facts() };
                let headers = HeaderBlock::from_pairs(&[(":status", "503")]);
                proxy.host.observer.on_primary_headers(self.ticket, headers, facts);
            }
            Step::Headers(status) => proxy.primary_headers(self.ticket, &[(":status", status)]),
            Step::Body => drop(proxy.host.body(self.ticket, b"hello")),
            Step::Complete => proxy.host.complete(self.ticket),
            Step::Gone => proxy.primary_gone(self.ticket),
            Step::Copy(n, copy) => self.hear(proxy, n, copy),
        }
    }

    fn end(&mut self, proxy: &mut Proxy) {
        self.is_whole = true;
        let observer = &mut proxy.host.observer;
        for (n, call) in observer.on_request_end(proxy.host.now, self.ticket, HeaderBlock::default()).iter().enumerate()
        {
            if !observer.may_send(call) {
                continue;
            }
            if self.copies[n] == Fate::Absent {
                observer.on_unsent(call);
                continue;
            }
            proxy.token += 1;
            observer.on_sent(proxy.host.now, call, proxy.token, ROOT);
            self.sent[n] = Some(proxy.token);
        }
    }

    fn hear(&self, proxy: &mut Proxy, n: usize, copy: Fate) {
        let Some(token) = self.sent[n] else { return };
        match copy {
            Fate::Absent | Fate::Lost => {}
            Fate::Refused => proxy.copy_refused(token, "503"),
            Fate::Late => proxy.copy_refused(token, "504"),
            Fate::Cut => proxy.copy_cut(token),
            Fate::Whole(status) => {
                let ticket = proxy.hear(token, Some(&[(":status", status), FROM_UPSTREAM]));
                if let Some(ticket) = ticket {
                    proxy.host.body(ticket, b"hellohello");
                    proxy.host.complete(ticket);
                }
            }
        }
    }
}

fn accounts_are_right(proxy: &Proxy) -> Result<(), TestCaseError> {
    let Observer { table, flights, .. } = &proxy.host.observer;
    prop_assert_eq!(table.total(), table.measured());
    prop_assert_eq!(flights.total(), flights.measured());
    Ok(())
}

/// Until all has run out of time, calls whose end was never told too.
fn wait_for_all(proxy: &mut Proxy) {
    // The first tick after a jump only learns what time it is.
    proxy.host.tick();
    proxy.pass_time(700 * SECOND);
}

proptest! {
    #[test]
    fn each_request_ends_once_in_whatever_order_its_streams_do(
        courses in prop::collection::vec((primary(), copy(), copy()), 1..12),
        picks in prop::collection::vec((any::<Index>(), 0..4_usize, 0..100 * MS), 1..300),
    ) {
        let mut proxy = Proxy::with(r#""secondary":{"cluster":"v1"}"#);
        let mut open: Vec<_> = courses
            .iter()
            .enumerate()
            .map(|(n, (primary, candidate, secondary))| {
                let copies = [*candidate, *secondary];
                Course {
                    ticket: proxy.follow(&[(":path", &format!("/{n}"))]),
                    copies,
                    primary: *primary,
                    rest: steps(*primary, copies),
                    sent: [None; 2],
                    is_whole: false,
                }
            })
            .collect();
        for (pick, stream, time) in picks {
            let at = pick.index(open.len());
            open[at].step(&mut proxy, stream);
            proxy.pass_time(time);
            accounts_are_right(&proxy)?;
        }
        for course in &mut open {
            for stream in 0..4 {
                while !course.rest[stream].is_empty() {
                    course.step(&mut proxy, stream);
                }
            }
        }
        wait_for_all(&mut proxy);
        prop_assert_eq!(proxy.host.outcomes().len(), courses.len());
        for entry in proxy.host.journal() {
            let (primary, candidate, secondary) = courses[entry.path.trim_start_matches('/').parse::<usize>()?];
            let expected = expected(primary, candidate, secondary);
            prop_assert!(expected.contains(&entry.outcome), "{}: {} of {expected:?}", entry.path, entry.outcome);
        }
        proxy.assert_empty();
    }

    #[test]
    fn no_sequence_of_calls_leaves_anything_behind(
        extra in prop::sample::select(vec![
            r#""caps":{"pairs":3,"pair_bytes":9000,"body_bytes":50,"copies":2,"copy_bytes":1024}"#,
            r#""secondary":{"cluster":"v1"},"caps":{"pairs":3,"pair_bytes":9000,"body_bytes":50,"copies":2}"#,
            r#""secondary":{"cluster":"v1"}"#,
        ]),
        calls in prop::collection::vec((0..16_u8, any::<Index>(), any::<bool>(), 0..2 * SECOND), 1..200),
    ) {
        let mut proxy = Proxy::with(extra);
        let mut tickets = vec![Ticket::stale(crate::pair::Role::Primary)];
        let (mut tokens, mut requests) = (vec![0], 0);
        for (call, pick, flag, time) in calls {
            let ticket = tickets[pick.index(tickets.len())];
            let token = tokens[pick.index(tokens.len())];
            match call {
                0 | 1 => {
                    requests += 1;
                    tickets.extend(proxy.pass(&[("x-long", if flag { "x" } else { "" })]).ticket);
                }
                2 => drop(proxy.upload(ticket, &[b'a'; 20])),
                3 if flag => proxy.host.observer.on_request_body_lost(ticket),
                3..=5 => {
                    proxy.nowhere = if pick.index(8) == 0 { "v2" } else { "" };
                    tokens.extend(proxy.end(ticket).iter().map(|sent| sent.token));
                }
                6 => {
                    let facts = &mut Stream { local: pick.index(4) == 0, ..proxy.host.primary_facts() };
                    let kind = if flag { "text/event-stream" } else { "text/plain" };
                    let headers = HeaderBlock::from_pairs(&[(":status", "200"), ("content-type", kind)]);
                    proxy.host.observer.on_primary_headers(ticket, headers, facts);
                }
                7 => proxy.host.observer.on_body(ticket, &[b'a'; 20]),
                8 => proxy.host.complete(ticket),
                9 if flag => proxy.host.gone(ticket),
                9 => proxy.primary_gone(ticket),
                10 if flag => proxy.copy_cut(token),
                10 => proxy.copy_refused(token, if pick.index(2) == 0 { "503" } else { "504" }),
                11 | 12 => tickets.extend(proxy.hear(token, Some(&[(":status", "200"), FROM_UPSTREAM]))),
                13 => proxy.copy_answer(token, "200"),
                14 if flag => proxy.host.now -= time,
                _ => proxy.pass_time(time),
            }
            accounts_are_right(&proxy)?;
            prop_assert!(proxy.host.open() <= 3 || !extra.contains("pairs"));
            prop_assert!(proxy.host.bytes() <= 9000 || !extra.contains("pairs"));
            prop_assert!(proxy.host.observer.flights.total().count <= 2 || !extra.contains("copies"));
            prop_assert!(proxy.host.outcomes().len() + proxy.host.open() == requests);
        }
        wait_for_all(&mut proxy);
        prop_assert_eq!(proxy.host.outcomes().len(), requests);
        proxy.assert_empty();
    }
}
