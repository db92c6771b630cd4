//! Configurations, and which requests are followed.

use super::*;

/// The mirror that a request for this host is copied for.
fn mirror_of(proxy: &mut Proxy, authority: &str) -> Option<String> {
    let ticket = proxy.pass(&[(":authority", authority)]).ticket?;
    let sent = proxy.end(ticket);
    let mark = sent[0].call.headers.get_str("x-mirror").expect("a mark");
    mark.rsplit_once('/').map(|(name, _)| name.to_owned())
}

#[test]
fn a_mirror_is_found_by_the_requests_host() {
    let mut proxy = Proxy::of(vec![
        named("ns/one", r#"["one.test","Both.test"]"#),
        named("ns/two", r#"["two.test","both.test"]"#),
        named("ns/any", r#"["*"]"#),
        named("ns/late", r#"["*","late.test"]"#),
    ]);
    for (authority, name) in [
        ("one.test", "ns/one"),
        ("ONE.test:8080", "ns/one"),
        ("two.test", "ns/two"),
        ("both.test", "ns/one"),
        ("late.test", "ns/late"),
        ("other.test", "ns/any"),
        ("one.test:x", "ns/any"),
        ("", "ns/any"),
    ] {
        assert_eq!(mirror_of(&mut proxy, authority).as_deref(), Some(name), "{authority}");
    }
    proxy.configure(vec![named("ns/any", r#"["*"]"#)]);
    assert_eq!(mirror_of(&mut proxy, "one.test").as_deref(), Some("ns/any"));
}

#[test]
fn a_host_that_is_not_mirrored_costs_no_question() {
    for mirrors in [vec![], vec![named(NAME, r#"["hello"]"#)]] {
        let mut proxy = Proxy::of(mirrors);
        let facts = &mut proxy.host.primary_facts();
        let passing = proxy.pass_by(&[(":authority", "other"), ("x-mirror", NAME)], facts);
        assert_eq!((passing.remove.len(), passing.ticket, facts.asked.get()), (0, None, 0));
    }
}

#[test]
fn a_configuration_names_mirrors_or_none() {
    let mut host = Host::new();
    for text in ["", "{}", r#"{"generation":3}"#] {
        assert!(host.observer.on_configuration(text.as_bytes()).is_none(), "{text}");
    }
    assert!(host.observer.on_configuration(br#"{"version":1,"mirrors":{}}"#).is_some(), "it is before the router");
    assert_eq!(host.diagnostics(), Diagnostics::default());
}

#[test]
fn what_is_of_no_use_is_said_once_and_keeps_nothing_else_from_working() {
    let good = named(NAME, r#"["hello"]"#);
    let bad = |name: &str, json: &str| (name.to_owned(), json.to_owned());
    for (bad, reason) in [
        (bad("ns/bad", "{"), "mirror ns/bad: configuration refused: .: is not JSON"),
        (bad("ns/bad", "{}"), "mirror ns/bad: configuration refused: .: missing field `mirror`"),
        (named("ns/bad", "[]"), "mirror ns/bad: configuration refused: hosts: at least one host"),
        (bad("ns/bad", &good.1), "mirror ns/bad: configuration refused: it calls itself default/hello"),
        (bad("ns/a\nb", "{"), "mirror ns/ab: configuration refused: .: is not JSON"),
    ] {
        let mut proxy = Proxy::of(vec![bad, good.clone()]);
        let kept = proxy.host.flush();
        assert_eq!(kept.counts, [("mirror_v1__diagnostic__config_rejected__n".to_owned(), 1)]);
        assert!(matches!(&*kept.lines, [line] if line.starts_with(reason)), "{:?}", kept.lines);
        assert!(proxy.host.flush().lines.is_empty());
        proxy.request();
    }
    for text in ["{", r#"{"version":2,"mirrors":{}}"#, r#"{"version":1,"mirrors":[]}"#] {
        let mut proxy = Proxy::new();
        let roster = proxy.host.observer.on_configuration(text.as_bytes());
        proxy.roster = roster.expect("it was meant to name mirrors");
        assert!(proxy.pass(&[]).ticket.is_none(), "{text}");
        assert_eq!(proxy.host.diagnostics().config_rejected, 1, "{text}");
        assert!(proxy.host.flush().lines[0].starts_with("plugin configuration refused: "), "{text}");
    }
}

#[test]
fn no_more_mirrors_are_taken_than_there_is_room_for() {
    let numbered = |n: usize| named(&format!("ns/r{n:02}"), &format!(r#"["h{n:02}"]"#));
    let mut proxy = Proxy::of((0..66).map(numbered).collect());
    assert_eq!(proxy.host.diagnostics().config_rejected, 2);
    assert!(proxy.host.flush().lines[1].ends_with("there are 64 mirrors before it already"));
    for n in 0..66 {
        assert_eq!(proxy.pass(&[(":authority", &format!("h{n:02}"))]).ticket.is_some(), n < 64, "{n}");
    }

    // All of them have open pairs.
    proxy.configure(vec![numbered(70)]);
    let kept = proxy.host.flush();
    assert_eq!(kept.lines, ["mirror ns/r70: not observed: 64 mirrors are in use already"]);
    assert!(proxy.pass(&[(":authority", "h70")]).ticket.is_none());
    proxy.pass_time(60 * SECOND);
    proxy.host.flush();
    assert!(proxy.pass(&[(":authority", "h70")]).ticket.is_some());
}

#[test]
fn a_changed_configuration_holds_for_the_next_request_and_keeps_the_counts() {
    let mut proxy = Proxy::new();
    let (primary, copy) = proxy.request();
    let ignoring = mirror(r#""rules":{"ignore":["status"]}"#).to_json();
    proxy.configure(vec![(NAME.to_owned(), told(&ignoring, ""))]);
    let (next, next_copy) = proxy.request();
    for (primary, copy) in [(primary, copy), (next, next_copy)] {
        proxy.answer(primary, "200");
        proxy.copy_answer(copy, "404");
    }
    assert_eq!(proxy.host.outcomes(), [Outcome::Diverged, Outcome::Match]);
    proxy.assert_empty();
}

#[test]
fn what_is_not_selected_passes_and_counts_nothing() {
    let mut proxy = Proxy::selecting("", r#","paths":["/a"],"expires":1002"#);
    let facts = &mut proxy.host.primary_facts();
    for headers in
        [[(":method", "POST")], [(":path", "/b")], [("k-network-probe", "queue")], [("upgrade", "websocket")]]
    {
        assert!(proxy.pass_by(&headers, facts).ticket.is_none(), "{headers:?}");
    }
    assert_eq!(facts.asked.get(), 0);
    proxy.host.pass(1999 * MS);
    proxy.follow(&[]);
    proxy.host.pass(MS);
    assert!(proxy.pass(&[]).ticket.is_none(), "its time is over");
    assert_eq!((proxy.host.outcomes(), proxy.host.open()), (vec![], 1));
}

#[test]
fn a_request_that_goes_to_nobody_is_no_pair() {
    let mut proxy = Proxy::new();
    let facts = &mut Stream { connection: true, ..Stream::default() };
    assert!(proxy.pass_by(&[], facts).ticket.is_none());
    assert_eq!(proxy.host.outcomes(), []);
}

#[test]
fn a_request_that_goes_to_the_candidate_is_skipped() {
    for extra in ["", r#""split":false"#] {
        let mut proxy = Proxy::with(extra);
        let facts = &mut Stream { cluster: "v2".into(), ..proxy.host.primary_facts() };
        assert!(proxy.pass_by(&[], facts).ticket.is_none());
        assert_eq!(proxy.host.outcomes(), skipped(Skip::SameRevision));
        proxy.assert_empty();
    }
}

#[test]
fn marks_that_a_client_wrote_are_taken_away() {
    let mut proxy = Proxy::new();
    let forged = [("x-mirror", NAME), ("x-mirror-role", "shadow"), ("x-mirror-pair", "1"), ("x-mirror-config", "{}")];
    let names = forged.map(|(name, _)| name);
    let passing = proxy.pass(&forged);
    assert_eq!(passing.remove, names);
    let sent = proxy.end(passing.ticket.expect("it is followed"));
    for name in names {
        assert!(sent[0].call.headers.iter().filter(|(other, _)| *other == name.as_bytes()).count() <= 1, "{name}");
    }
    assert_eq!(sent[0].call.headers.get("x-mirror-config"), None);

    let passing = proxy.pass(&[forged[1], (":method", "POST")]);
    assert_eq!((passing.remove, passing.ticket), (vec!["x-mirror-role"], None), "not selected");
    assert_eq!(proxy.pass(&[]).remove, [""; 0]);
}

#[test]
fn a_copy_that_comes_round_is_left_as_it_is() {
    let mut proxy = Proxy::new();
    for header in ["x-mirror-to-0123abcd", "x-mirror-also-0123abcd"] {
        let passing = proxy.pass(&[(header, "v2"), ("x-mirror-role", "shadow")]);
        assert_eq!((passing.remove.len(), passing.ticket), (0, None), "{header}");
    }
    assert_eq!(proxy.pass(&[("x-mirror-to-ffffffff", "v2"), ("x-mirror-role", "shadow")]).remove, ["x-mirror-role"]);
    assert_eq!(proxy.host.outcomes(), []);
}
