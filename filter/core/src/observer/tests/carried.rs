//! Configurations that come in a request header: who may send one, what it costs, and what is refused.

use super::*;
use crate::config::{carried, fingerprint};

const ORIGIN: &str = "/apis/networking.istio.io/v1/namespaces/default/virtual-service/hello-mirror";

/// A worker that knows no mirror yet, one of whose routes a VirtualService made.
fn host() -> Host {
    Host::with(r#""sampling":"envoy""#)
}

/// A primary on the VirtualService's route.
fn on_route() -> Stream {
    Stream {
        connection: true,
        route: Some(carried::route_name(NAME)),
        origin: Some(ORIGIN.into()),
        cluster: "v1".into(),
        ..Stream::default()
    }
}

/// A request with the configuration and, beside its own, an id of its own.
fn send(host: &mut Host, id: &str, facts: &mut Stream) -> Admission {
    let json = host.json.clone();
    host.request(&[(carried::HEADER, &json), ("x-request-id", id)], facts)
}

/// The same after the module has taken the header away: a further try, or a copy.
fn send_bare(host: &mut Host, id: &str, facts: &mut Stream) -> Admission {
    host.request(&[("x-request-id", id)], facts)
}

fn knows(host: &Host) -> bool {
    host.observer.mirrors.by_name(NAME).is_some()
}

#[test]
fn a_pair_is_compared_by_the_rules_that_its_primary_carried() {
    let mut host = Host::with(r#""sampling":"envoy","rules":{"ignore":["status"]}"#);
    let (primary, set) = observed(send(&mut host, "1", &mut on_route()));
    assert!(set.is_empty(), "a primary gets nothing");
    let (shadow, tags) = observed(send_bare(&mut host, "1", &mut Host::shadow_facts("v2")));
    assert_eq!(tags, [("x-mirror-role", "shadow".to_owned()), ("x-mirror-pair", "1".to_owned())]);
    host.answer(primary, "200");
    host.answer(shadow, "404");
    assert_eq!(host.outcomes(), [Outcome::Match]);
    assert_eq!(host.diagnostics(), Diagnostics::default());
}

#[test]
fn the_host_is_asked_less_once_the_configuration_is_known() {
    let mut host = Host::with(r#""sampling":"envoy","split":false"#);
    for (id, asked) in [("1", 3), ("2", 1)] {
        let facts = &mut on_route();
        observed(send(&mut host, id, facts));
        assert_eq!(facts.asked.get(), asked);
    }
    let facts = &mut Host::shadow_facts("v2");
    observed(send_bare(&mut host, "2", facts));
    assert_eq!(facts.asked.get(), 3, "no origin, no connection, the cluster");
}

#[test]
fn a_pair_does_not_hold_the_configuration_that_its_primary_carried() {
    let mut host = host();
    observed(send(&mut host, "1", &mut on_route()));
    let with = host.bytes();
    host.tick();
    let mut other = self::host();
    other.request(&[("x-request-id", "1")], &mut other.primary_facts());
    assert_eq!(with, other.bytes());
}

#[test]
fn a_header_that_the_route_does_not_vouch_for_is_worth_nothing() {
    let other = ORIGIN.replace("default", "other");
    let cases = [
        ("no route's", Stream { route: None, origin: None, ..on_route() }),
        ("a route that Istio did not make", Stream { origin: None, ..on_route() }),
        (
            "a route of another name",
            Stream {
                route: Some("kubectl-mirror:default/other".into()),
                origin: Some(ORIGIN.replace("hello", "other")),
                ..on_route()
            },
        ),
        ("another namespace's", Stream { origin: Some(other), ..on_route() }),
    ];
    for known in [false, true] {
        for (what, facts) in &cases {
            let mut host = host();
            if known {
                let (genuine, _) = observed(send(&mut host, "0", &mut on_route()));
                host.gone(genuine);
            }
            let facts = || Stream {
                route: facts.route.clone(),
                origin: facts.origin.clone(),
                config: facts.config.clone(),
                ..on_route()
            };
            assert!(ignored(&send(&mut host, "1", &mut facts())), "{what}");
            assert_eq!(knows(&host), known, "{what}");
            assert_eq!(host.diagnostics().stray, 1, "{what}");
            assert_eq!(host.open(), 0, "{what}");
            // What somebody else's mirror policy made of it.
            let copy = send(&mut host, "1", &mut Host::shadow_facts("elsewhere"));
            assert!(ignored(&copy), "{what}: {copy:?}");
            assert_eq!(host.outcomes(), [], "{what}");
            assert_eq!(host.flush().lines, [""; 0], "clients write no log");
        }
    }
}

#[test]
fn the_mark_alone_is_worth_nothing_on_another_route() {
    let mut host = host();
    observed(send(&mut host, "1", &mut on_route()));
    let elsewhere = [
        Stream { origin: Some(ORIGIN.replace("hello-mirror", "other")), ..on_route() },
        Stream { origin: None, route: None, ..on_route() },
    ];
    for (n, mut facts) in elsewhere.into_iter().enumerate() {
        assert!(ignored(&send_bare(&mut host, &format!("forged {n}"), &mut facts)));
    }
    assert_eq!((host.diagnostics().stray, host.open()), (2, 1));
}

#[test]
fn a_role_on_a_copy_is_a_clients() {
    let mut host = host();
    let (primary, _) = observed(send(&mut host, "1", &mut on_route()));
    let forged = [("x-request-id", "1"), ("x-mirror-role", "shadow")];
    assert!(ignored(&host.request(&forged, &mut Host::shadow_facts("v2"))));
    host.answer(primary, "200");
    assert_eq!((host.outcomes(), host.open()), (vec![], 0), "not sampled");
}

#[test]
fn the_routes_metadata_takes_precedence() {
    let mut host = host();
    let json = host.json.clone();
    host.configure(r#""sampling":"envoy","rules":{"ignore":["status"]}"#);
    let facts = &mut Stream { config: Some(host.json.clone()), ..on_route() };
    let headers = [(carried::HEADER, json.as_str()), ("x-request-id", "1")];
    let (primary, _) = observed(host.request(&headers, facts));
    let (shadow, _) = observed(send_bare(&mut host, "1", &mut Host::shadow_facts("v2")));
    host.answer(primary, "200");
    host.answer(shadow, "404");
    assert_eq!(host.outcomes(), [Outcome::Match]);
}

#[test]
fn a_change_of_the_header_is_a_change_of_the_mirror() {
    let mut host = host();
    observed(send(&mut host, "1", &mut on_route()));
    host.configure(r#""sampling":"envoy","rules":{"ignore":["status"]}"#);
    let renamed = &mut Stream { origin: Some(ORIGIN.replace("hello-mirror", "renamed")), ..on_route() };
    let (primary, _) = observed(send(&mut host, "2", renamed));
    let (shadow, _) = observed(send_bare(&mut host, "2", &mut Host::shadow_facts("v2")));
    host.answer(primary, "200");
    host.answer(shadow, "404");
    assert_eq!(host.outcomes(), [Outcome::Match]);
    // The same configuration from another VirtualService of the namespace.
    observed(send(&mut host, "3", &mut on_route()));
    let facts = &mut on_route();
    observed(send_bare(&mut host, "4", facts));
    assert_eq!(host.diagnostics(), Diagnostics::default());
}

#[test]
fn a_configuration_that_the_route_vouches_for_is_refused_for_its_own_mistakes() {
    let good = host().json;
    let marked = |json: String| (format!("{NAME}/{}", fingerprint(json.as_bytes())), json);
    let long = "h".repeat(carried::MOST_BYTES);
    for ((mark, json), reason) in [
        (marked(good.replace("v2", "")), "candidate.cluster"),
        (marked(good.replace("v2", r"\nkubectl-mirror example {}\n")), "candidate.cluster"),
        (marked(good.replace(NAME, "default/other")), "the route carries `default/other`"),
        (marked(good.replace("envoy", "selector")), "sampling"),
        (marked(good.replace(r#""sampling""#, r#""caps":{"places":129},"sampling""#)), "caps.places: may not exceed"),
        ((format!("{NAME}/00000000"), good.clone()), "fingerprint"),
        ((NAME.to_owned(), good.clone()), "fingerprint"),
    ] {
        let mut host = host();
        for id in ["1", "2"] {
            let headers = [("x-mirror", mark.as_str()), (carried::HEADER, json.as_str()), ("x-request-id", id)];
            assert!(ignored(&host.request(&headers, &mut on_route())), "{json}");
        }
        let kept = host.flush();
        assert_eq!(kept.lines.len(), 1, "once: {kept:?}");
        assert!(kept.lines[0].contains(reason) && !kept.lines[0].contains('\n'), "{kept:?}");
        assert_eq!(host.diagnostics(), Diagnostics::default(), "flushed");
        assert!(!knows(&host));
        // It does not stand in the way of a good one.
        observed(send(&mut host, "3", &mut on_route()));
    }
    let (mark, json) = marked(good.replace(r#""hello""#, &format!("\"{long}\"")));
    let mut host = host();
    let headers = [("x-mirror", mark.as_str()), (carried::HEADER, json.as_str()), ("x-request-id", "1")];
    assert!(ignored(&host.request(&headers, &mut on_route())), "too long to be read");
    assert!(!knows(&host));
}

/// A text that is no configuration but has this fingerprint. The hash is no secret: anybody can make one.
fn unreadable(wanted: &str) -> String {
    const PRIME: u32 = 0x0100_0193;
    // Undo a last byte `b`, and see whether the hash before it is that of a text that counts up.
    let wanted = u32::from_str_radix(wanted, 16).expect("hex");
    let inverse = (0..5).fold(PRIME, |x, _| x.wrapping_mul(2_u32.wrapping_sub(PRIME.wrapping_mul(x))));
    let mut before: std::collections::HashMap<u32, [u8; 2]> = Default::default();
    for a in b' '..=b'~' {
        for b in b' '..=b'~' {
            let hash = wanted.wrapping_mul(inverse) ^ u32::from(b);
            before.insert(hash.wrapping_mul(inverse) ^ u32::from(a), [a, b]);
        }
    }
    let found = (0..u32::MAX).find_map(|n| {
        let text = n.to_string();
        let hash = u32::from_str_radix(&fingerprint(text.as_bytes()), 16).expect("hex");
        before.get(&hash).map(|end| format!("{text}{}", String::from_utf8_lossy(end)))
    });
    found.expect("one in half a million has such a hash")
}

#[test]
fn a_namespace_cannot_get_anothers_configuration_refused() {
    let mut host = host();
    let (json, mark) = (host.json.clone(), host.mark.clone());
    let wanted = fingerprint(json.as_bytes());
    let evil = unreadable(&wanted);
    assert_eq!(fingerprint(evil.as_bytes()), wanted);
    let facts = &mut Stream {
        route: Some(carried::route_name("evil/evil")),
        origin: Some(ORIGIN.replace("default", "evil")),
        ..on_route()
    };
    let evil_mark = format!("evil/evil/{wanted}");
    let headers = [("x-mirror", evil_mark.as_str()), (carried::HEADER, &evil), ("x-request-id", "1")];
    assert!(ignored(&host.request(&headers, facts)));
    assert_eq!(host.diagnostics().config_rejected, 1);
    let headers = [("x-mirror", mark.as_str()), (carried::HEADER, &json), ("x-request-id", "2")];
    observed(host.request(&headers, &mut on_route()));
}
