//! Random interleavings: whatever order events come in, each pair ends once and nothing is left.

use std::collections::VecDeque;

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;

/// How a stream goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Course {
    Absent,
    Never,
    Failed,
    Cut,
    Whole(&'static str),
}

fn course(of_primary: bool) -> impl Strategy<Value = Course> {
    use Course::{Absent, Cut, Failed, Never, Whole};
    let first = if of_primary { Never } else { Absent };
    prop::sample::select(vec![first, Never, Failed, Cut, Whole("200"), Whole("200"), Whole("404"), Whole("503")])
}

/// What the courses of primary, candidate and secondary come to when all the time in the world has passed. A primary
/// that neither answers nor has a copy is not believed to be one.
fn expected(courses: (Course, Course, Course)) -> Option<Outcome> {
    use Course::{Absent, Cut, Failed, Never, Whole};
    let incomplete = |reason| Some(Outcome::Incomplete(reason));
    match courses {
        (Never, Absent, Absent) => None,
        (Never | Absent, ..) => incomplete(Incomplete::PrimarySlow),
        (Failed, ..) => incomplete(Incomplete::PrimaryFailed),
        (Cut, ..) => incomplete(Incomplete::PrimaryCut),
        (Whole(_), Absent, _) => incomplete(Incomplete::ShadowAbsent),
        (Whole(_), Never, _) => incomplete(Incomplete::ShadowSlow),
        (Whole(_), Failed, _) => incomplete(Incomplete::ShadowFailed),
        (Whole(_), Cut, _) => incomplete(Incomplete::ShadowCut),
        (Whole(one), Whole(other), _) if one == other => Some(Outcome::Match),
        (Whole(one), Whole(_), Whole(again)) if one != again => Some(Outcome::Noise),
        (Whole(_), Whole(_), _) => Some(Outcome::Diverged),
    }
}

/// One step of a stream.
#[derive(Clone, Copy, Debug)]
enum Step {
    Headers(&'static str),
    Body,
    Trailers,
    Complete,
    Gone,
}

fn steps(course: Course) -> VecDeque<Step> {
    use Step::{Body, Complete, Gone, Headers, Trailers};
    match course {
        Course::Absent | Course::Never => vec![],
        Course::Failed => vec![Gone],
        Course::Cut => vec![Headers("200"), Body, Gone],
        Course::Whole(status) => vec![Headers(status), Body, Body, Trailers, Complete, Gone],
    }
    .into()
}

fn take(host: &mut Host, ticket: Ticket, step: Step) {
    match step {
        Step::Headers(status) => host.headers(ticket, &[(":status", status)]),
        Step::Body => drop(host.body(ticket, b"part")),
        Step::Trailers => host.observer.on_trailers(ticket, HeaderBlock::from_pairs(&[("x-t", "1")])),
        Step::Complete => host.complete(ticket),
        Step::Gone => host.gone(ticket),
    }
}

fn accounts_are_right(host: &Host) -> Result<(), TestCaseError> {
    prop_assert_eq!(host.observer.table.total(), host.observer.table.measured());
    Ok(())
}

proptest! {
    #[test]
    fn each_pair_ends_once_in_whatever_order_its_streams_do(
        courses in prop::collection::vec((course(true), course(false), course(false)), 1..12),
        picks in prop::collection::vec((any::<Index>(), 0..100 * MS), 1..200),
    ) {
        let mut host = Host::with(r#""secondary":{"cluster":"v1"}"#);
        // The host is asked about the first of all primaries, and so vouches for it.
        let first = host.primary("first");
        let first_shadow = host.shadow("first");
        host.answer(first, "200");
        host.answer(first_shadow, "200");
        let mut streams = Vec::new();
        for (n, (primary, shadow, secondary)) in courses.iter().enumerate() {
            let key = n.to_string();
            streams.push((host.primary(&key), steps(*primary)));
            if *shadow != Course::Absent {
                streams.push((host.shadow(&key), steps(*shadow)));
            }
            if *secondary != Course::Absent {
                streams.push((host.copy("secondary", &key), steps(*secondary)));
            }
        }
        for (pick, time) in picks {
            let at = pick.index(streams.len());
            if let Some(step) = streams[at].1.pop_front() {
                take(&mut host, streams[at].0, step);
            }
            host.pass(time);
            host.tick();
            accounts_are_right(&host)?;
        }
        for (ticket, rest) in streams {
            for step in rest {
                take(&mut host, ticket, step);
            }
        }
        host.pass(60 * SECOND);
        host.tick();
        let mut found = host.outcomes().split_off(1);
        let mut wanted: Vec<_> = courses.iter().copied().filter_map(expected).collect();
        found.sort();
        wanted.sort();
        prop_assert_eq!(&found, &wanted);
        prop_assert_eq!(found.len() + usize::try_from(host.diagnostics().stray)?, courses.len());
        prop_assert_eq!((host.open(), host.bytes()), (0, 0));
    }

    #[test]
    fn no_sequence_of_calls_leaves_anything_behind(
        extra in prop::sample::select(vec![
            r#""caps":{"pairs":3,"pair_bytes":9000,"body_bytes":50}"#,
            r#""sampling":"envoy","caps":{"pairs":3,"pair_bytes":9000,"body_bytes":50}"#,
            r#""secondary":{"cluster":"v1"}"#,
            r#""secondary":{"cluster":"v1"},"sampling":"envoy""#,
        ]),
        calls in prop::collection::vec((0..12_u8, 0..3_u8, any::<Index>(), any::<bool>(), 0..2 * SECOND), 1..150),
    ) {
        let mut host = Host::with(extra);
        let mut tickets = vec![Ticket::stale(crate::pair::Role::Primary)];
        let mut requests = 0;
        for (call, key, pick, flag, time) in calls {
            let ticket = tickets[pick.index(tickets.len())];
            let key = ["a", "b", "c"][usize::from(key)];
            let key = [(if flag { "x-mirror-pair" } else { "x-request-id" }, key)];
            let config = if pick.index(8) == 0 { None } else { Some(host.json.clone()) };
            let facts = &mut Stream { config, ..host.primary_facts() };
            let admission = match call {
                0 | 1 => {
                    requests += 1;
                    host.request(&key, facts)
                }
                2 => host.request(&key, &mut Host::shadow_facts(if flag { "v1" } else { "v2" })),
                3 => host.request(&[key[0], ("x-mirror-role", "shadow")], &mut Host::shadow_facts("v2")),
                4 => host.request(&[key[0], ("x-mirror-role", "secondary")], &mut Host::shadow_facts("v1")),
                _ => Admission::Ignore,
            };
            if let Admission::Observe { ticket, .. } = admission {
                tickets.push(ticket);
            }
            match call {
                5 => {
                    let kind = if flag { "text/event-stream" } else { "text/plain" };
                    let headers = HeaderBlock::from_pairs(&[(":status", "200"), ("content-type", kind)]);
                    host.observer.on_response_headers(ticket, headers, facts);
                }
                6 => take(&mut host, ticket, Step::Headers("503")),
                7 => host.observer.on_body(ticket, &[b'a'; 20]),
                8 => take(&mut host, ticket, Step::Trailers),
                9 => take(&mut host, ticket, Step::Complete),
                10 => host.observer.on_gone(host.now, ticket, facts),
                11 if flag => host.now -= time,
                11 => {
                    host.pass(time);
                    host.tick();
                }
                _ => {}
            }
            accounts_are_right(&host)?;
            prop_assert!(host.open() <= 3 || !extra.contains("pairs"));
            prop_assert!(host.bytes() <= 9000 || !extra.contains("pairs"));
        }
        // The first tick after a jump only learns what time it is.
        host.tick();
        host.pass(60 * SECOND);
        host.tick();
        prop_assert_eq!((host.open(), host.bytes()), (0, 0));
        // A copy may count where its primary could not; otherwise no outcome comes from nothing.
        let copies = tickets.len();
        prop_assert!(host.outcomes().len() <= requests + copies);
    }
}
