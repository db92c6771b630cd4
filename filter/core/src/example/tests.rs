//! The rate, its fairness, and that no secret gets into a line.

use super::*;
use crate::divergence::{Kind, REDACTED};

const SECOND: u64 = 1_000_000_000;
const START: u64 = 1_700_000_000 * SECOND;

fn divergence(place: &str) -> Divergence {
    let value = |text: &str| Some(text.to_owned());
    Divergence { place: Place::from(place.to_owned()), kind: Kind::Value, primary: value("1"), shadow: value("2") }
}

fn example<'a>(divergence: &'a Divergence, request: &'a HeaderBlock) -> Example<'a> {
    Example {
        mirror: "default/hello",
        pair: "4f6d-1",
        endpoint: "GET /users/{id}",
        statuses: Some((200, 503)),
        latencies_ns: Some((1_234_567, 2_000_000)),
        divergence,
        request,
    }
}

/// How many of `times` tries, one each `step` nanoseconds from `now` on, give a line.
fn written(writer: &mut Writer, now: u64, step: u64, times: u64, place: impl Fn(u64) -> String) -> usize {
    let request = HeaderBlock::default();
    let tries = (0..times).map(|i| (now + i * step, divergence(&place(i))));
    tries.filter(|(now, divergence)| writer.write(*now, &example(divergence, &request)).is_some()).count()
}

#[test]
fn a_line_says_what_is_needed() {
    let line = Writer::new(1).write(START, &example(&divergence("/a"), &HeaderBlock::default())).expect("a line");
    let expected = Line {
        v: VERSION,
        time: "2023-11-14T22:13:20.000Z".into(),
        mirror: "default/hello".into(),
        pair: "4f6d-1".into(),
        endpoint: "GET /users/{id}".into(),
        place: Place::from("/a".to_owned()),
        kind: Kind::Value,
        primary: Some("1".into()),
        candidate: Some("2".into()),
        statuses: Some((200, 503)),
        latencies_us: Some((1234, 2000)),
    };
    assert_eq!(Line::parse(&line), Some(expected));
}

#[test]
fn the_rate_holds_in_the_long_run_and_what_is_held_back_is_counted() {
    for per_minute in [1, 2, 12, 600] {
        let mut writer = Writer::new(per_minute);
        // Ten minutes, a try each tenth of a second, a new place each time.
        let lines = written(&mut writer, START, SECOND / 10, 6000, |i| format!("/{i}"));
        let (least, most) = (10 * per_minute as usize, 10 * per_minute as usize + BURST as usize);
        assert!((least.min(6000)..=most).contains(&lines), "{per_minute}: {lines}");
        assert_eq!((writer.dropped(), writer.dropped()), (6000 - lines as u64, 0));
    }
}

#[test]
fn a_rate_of_nothing_writes_nothing_and_misses_nothing() {
    let mut writer = Writer::new(0);
    assert_eq!(written(&mut writer, START, SECOND, 100, |i| format!("/{i}")), 0);
    assert_eq!(writer.dropped(), 0);
    writer.set_rate(60);
    assert!(written(&mut writer, START + 100 * SECOND, SECOND, 10, |_| "/a".into()) > 5);
    writer.set_rate(0);
    assert_eq!(written(&mut writer, START + 200 * SECOND, SECOND, 10, |_| "/b".into()), 0);
}

#[test]
fn a_chatty_place_leaves_room_for_others() {
    let mut writer = Writer::new(12);
    // At one instant, then for an hour: whatever the chatty place takes, five new ones at once still get through.
    for (now, step) in [(START, 0), (START + 60 * SECOND, SECOND)] {
        let lines = written(&mut writer, now, step, 3600, |_| "/chatty".into());
        assert!(lines >= 5, "{lines}");
        let after = now + 3600 * step;
        assert_eq!(written(&mut writer, after, 0, 5, |i| format!("/{now}/{i}")), 5);
        assert_eq!(written(&mut writer, after, 0, 5, |_| "/chatty".into()), 0);
    }
}

#[test]
fn what_was_shown_is_remembered_in_bounds() {
    let mut writer = Writer::new(600);
    written(&mut writer, START, SECOND, 5000, |i| format!("/{i}"));
    assert!((1..=SHOWN_MOST).contains(&writer.shown.len()));
    assert!(writer.shown.is_sorted());
}

#[test]
fn a_clock_that_runs_backwards_gives_nothing_away() {
    let mut writer = Writer::new(600);
    let lines = (0..100).map(|i| written(&mut writer, START - i * SECOND, 0, 1, |_| format!("/{i}"))).sum::<usize>();
    assert_eq!(lines, BURST as usize);
}

#[test]
fn long_texts_are_cut() {
    let long = "ä".repeat(1000);
    let (divergence, request) = (divergence(&long), HeaderBlock::default());
    let example = Example { pair: &long, endpoint: &long, ..example(&divergence, &request) };
    let line = Line::parse(&Writer::new(1).write(START, &example).expect("a line")).expect("readable");
    for (text, most) in [(&*line.pair, PAIR_BYTES), (&line.endpoint, TEXT_BYTES), (line.place.as_str(), TEXT_BYTES)] {
        assert_eq!(text, format!("{}…", "ä".repeat(most / 2)));
    }
}

#[test]
fn a_request_s_secrets_are_hidden_wherever_they_turn_up() {
    let request = HeaderBlock::from_pairs(&[("authorization", "Bearer s3cr3t-token"), ("cookie", "a=s3ss1on")]);
    let divergence = Divergence {
        place: Place::from("/by/s3cr3t-token".to_owned()),
        kind: Kind::Value,
        primary: Some("\"Bearer s3cr3t-token\"".into()),
        shadow: Some("\"s3ss1on and s3cr3t…".into()),
    };
    let example = Example { pair: "id-s3ss1on", endpoint: "GET /s3cr3t-token/x", ..example(&divergence, &request) };
    let line = Line::parse(&Writer::new(1).write(START, &example).expect("a line")).expect("readable");
    assert_eq!(line.place.as_str(), format!("/by/{REDACTED}"));
    assert_eq!(line.primary, Some(format!("\"{REDACTED}\"")));
    assert_eq!(line.candidate, Some(format!("\"{REDACTED} and {REDACTED}…")));
    assert_eq!((&*line.pair, &*line.endpoint), (&*format!("id-{REDACTED}"), &*format!("GET /{REDACTED}/x")));
}

#[cfg(not(target_arch = "wasm32"))]
mod properties {
    use proptest::prelude::*;

    use super::*;
    use crate::divergence::shown;

    /// Where a secret is planted, and around what.
    fn planted(secret: &str, json: bool, before: &str, after: &str) -> String {
        let value = if json { serde_json::to_string(secret).expect("JSON") } else { secret.to_owned() };
        shown(format!("{before}{value}{after}").as_bytes())
    }

    /// Secrets of characters that nothing else in a line has, but for what JSON escapes.
    fn secret() -> impl Strategy<Value = String> {
        prop_oneof!["[Q-Z]{6,80}", "[Q-Z][Q-Z\"\\\\/🦀ß]{24,80}[QZ]"]
    }

    /// What of a secret may not be seen, as it is and as JSON: its first six bytes. Where it has characters that JSON
    /// escapes, more: one backslash too many at a cut makes a beginning look longer than it is.
    fn telling(secret: &str) -> [String; 2] {
        let least = if secret.bytes().all(|b| b.is_ascii_uppercase()) { 6 } else { 24 };
        let beginning = secret.get(..secret.floor_char_boundary(least)).expect("a beginning");
        [beginning.to_owned(), planted(beginning, true, "", "").trim_matches('"').to_owned()]
    }

    proptest! {
        #[test]
        fn no_secret_is_written(
            token in secret(),
            cookie in secret(),
            scheme in "Bearer|Basic|x",
            json: bool,
            before in "[a-p{}:,]{0,130}",
            after in "[a-p{}:,]{0,130}",
        ) {
            let request = HeaderBlock::from_pairs(&[
                ("authorization", format!("{scheme} {token}")),
                ("cookie", format!("a=b; c={cookie}; d=e")),
            ]);
            for secret in [token, cookie] {
                let value = |json| planted(&secret, json, &before, &after);
                let divergence = Divergence {
                    place: Place::from(value(json)),
                    kind: Kind::Value,
                    primary: Some(value(json)),
                    shadow: Some(value(!json)),
                };
                let (pair, endpoint) = (value(json), value(false));
                let example = Example { pair: &pair, endpoint: &endpoint, ..example(&divergence, &request) };
                let text = Writer::new(1).write(START, &example).expect("a line");
                prop_assert!(!text.contains(char::is_control));
                let line = Line::parse(&text).expect("readable");
                let values = [line.primary, line.candidate].map(Option::unwrap_or_default);
                let written = [&text, &line.pair, &line.endpoint, line.place.as_str(), &values[0], &values[1]];
                for form in telling(&secret) {
                    prop_assert!(!written.iter().any(|text| text.contains(&form)), "{form} in {written:#?}");
                }
            }
        }
    }
}
