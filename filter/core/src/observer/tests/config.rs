//! Configurations: where they come from, when the host is asked, what is refused, and changes in mid-flight.

use super::*;

fn ask(host: &mut Host, mark: &str) -> (bool, usize) {
    let facts = &mut Stream { cluster: "v1".into(), ..host.primary_facts() };
    let admission = host.request(&[("x-mirror", mark), ("x-mirror-pair", mark)], facts);
    (ignored(&admission), facts.asked.get())
}

#[test]
fn the_host_is_asked_where_the_mark_does_not_tell() {
    let mut host = Host::with(r#""split":false"#);
    let mark = host.mark.clone();
    assert_eq!(ask(&mut host, &mark), (false, 1), "it is new");
    assert_eq!(ask(&mut host, &format!("{NAME}/0000abcd")), (false, 1), "the mark is wrong, the route is right");
    assert_eq!(ask(&mut host, NAME), (false, 1), "the mark says nothing");
    assert_eq!(host.observer.mirrors.by_name(NAME), Some(0));
}

#[test]
fn a_configuration_that_is_refused_is_counted_and_logged_once() {
    let mut host = Host::new();
    let good = host.mark.clone();
    ask(&mut host, &good);
    host.json = r#"{"version":1,"name":"default/hello","candidate":{"cluster":""},"hosts":["h"]}"#.into();
    let mark = format!("{NAME}/{}", crate::config::fingerprint(host.json.as_bytes()));
    assert_eq!(ask(&mut host, &mark), (true, 1));
    assert_eq!(ask(&mut host, &mark), (true, 0), "it is known to be of no use");
    assert_eq!(ask(&mut host, NAME), (true, 1));
    let kept = host.flush();
    assert_eq!(kept.lines.len(), 1, "{kept:?}");
    assert!(kept.lines[0].contains(NAME) && kept.lines[0].contains("candidate.cluster"), "{kept:?}");
    assert_eq!(kept.counts, [("mirror_v1__diagnostic__config_rejected__n".to_owned(), 3)]);
    assert_eq!(host.flush().counts, []);
}

#[test]
fn a_mark_that_names_another_mirror_than_the_route_is_refused_and_does_the_others_no_harm() {
    let mut host = Host::new();
    let mark = host.mark.clone();
    let forged = mark.replace("hello", "other");
    assert_eq!(ask(&mut host, &forged), (true, 1));
    assert_eq!(ask(&mut host, "default/third"), (true, 1));
    assert_eq!(host.flush().lines.len(), 1, "once for each configuration, not for each name that a client makes up");
    assert!(!ask(&mut host, &mark).0);
}

#[test]
fn a_pair_keeps_the_configuration_that_it_began_with() {
    let mut host = Host::with(r#""caps":{"body_bytes":10}"#);
    let (primary, shadow) = (host.primary("1"), host.shadow("1"));
    host.configure(r#""caps":{"body_bytes":1000}"#);
    let (second, second_shadow) = (host.primary("2"), host.shadow("2"));
    let long = "more than ten bytes";
    host.answer_with(primary, "200", &[], long);
    host.answer_with(shadow, "200", &[], long);
    host.answer_with(second, "200", &[], long);
    host.answer_with(second_shadow, "200", &[], long);
    assert_eq!(host.outcomes(), [Outcome::Skipped(Skip::TooLarge), Outcome::Match]);
}

/// The configuration of the mirror `ns/r<n>`.
fn numbered(n: usize) -> (String, String) {
    let json = format!(r#"{{"version":1,"name":"ns/r{n}","candidate":{{"cluster":"v2"}},"hosts":["h"]}}"#);
    (format!("ns/r{n}"), json)
}

#[test]
fn the_mirror_that_rested_longest_makes_room_unless_it_has_open_pairs() {
    let mut host = Host::new();
    let admit = |host: &mut Host, n: usize| {
        let (name, json) = numbered(n);
        let facts = &mut Stream { config: Some(json), ..host.primary_facts() };
        host.pass(MS);
        let pair = host.now.to_string();
        ignored(&host.request(&[("x-mirror", &name), ("x-mirror-pair", &pair)], facts))
    };
    for n in 0..64 {
        assert!(!admit(&mut host, n));
    }
    assert!(admit(&mut host, 64), "all have open pairs");
    assert_eq!(host.diagnostics().config_rejected, 1);
    assert!(host.flush().lines[0].contains("64 mirrors"));

    host.pass(60 * SECOND);
    host.tick();
    assert_eq!(host.open(), 0);
    assert!(admit(&mut host, 64), "their counts were not handed over yet");
    host.flush();
    assert!(!admit(&mut host, 0), "it is used again");
    assert!(!admit(&mut host, 64));
    let known = |n: usize| host.observer.mirrors.by_name(&numbered(n).0).is_some();
    assert!(known(0) && known(64) && known(2) && !known(1));
}
