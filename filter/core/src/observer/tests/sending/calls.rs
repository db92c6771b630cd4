//! What is sent, and what becomes of calls that the host refuses.

use super::*;
use crate::config::fingerprint;

/// Name and value of each header, in their order.
fn texts(headers: &HeaderBlock) -> Vec<(String, String)> {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    headers.iter().map(|(name, value)| (text(name), text(value))).collect()
}

#[test]
fn a_copy_is_the_request_without_what_is_not_for_the_candidate() {
    let json = r#""candidate":{"cluster":"v2","knative":{"revision":"r2","namespace":"ns"}}"#;
    let json = format!(r#"{{"version":1,"name":"{NAME}",{json},"hosts":["hello"]}}"#);
    let mut proxy = Proxy::of(vec![(NAME.to_owned(), told(&json, ""))]);
    let ticket = proxy.follow(&[
        ("connection", "close, X-Hop"),
        ("x-hop", "1"),
        ("X-Hop", "2"),
        ("connection", "x-hop-too"),
        ("x-hop-too", "1"),
        ("content-length", "0"),
        ("expect", "100-continue"),
        ("http2-settings", "a"),
        ("keep-alive", "5"),
        ("proxy-authenticate", "a"),
        ("proxy-authorization", "a"),
        ("proxy-connection", "close"),
        ("te", "gzip"),
        ("te", "Trailers"),
        ("trailer", "x-t"),
        ("transfer-encoding", "chunked"),
        ("x-envoy-retry-on", "5xx"),
        ("X-Envoy-Anything", "1"),
        ("x-envoy", "kept"),
        ("knative-serving-revision", "forged"),
        ("Knative-Serving-Namespace", "forged"),
        ("x-mirror", "forged"),
        ("x-mirror-role", "forged"),
        ("x-mirror-role", "forged again"),
        ("x-mirror-pair", "forged"),
        ("x-mirror-config", "forged"),
        ("authorization", "Bearer t"),
        ("x-own", "1"),
        ("x-own", ""),
    ]);
    let sent = proxy.end(ticket);
    let [Sent { call, .. }] = &*sent else { panic!("one call") };
    let id = call.headers.get_str("x-mirror-pair").expect("an id");
    let mark = format!("{NAME}/{}", fingerprint(json.as_bytes()));
    let expected = [
        (":method", "GET"),
        (":authority", "hello"),
        (":path", "/a?x=1"),
        ("x-request-id", ID),
        ("te", "Trailers"),
        ("x-envoy", "kept"),
        ("authorization", "Bearer t"),
        ("x-own", "1"),
        ("x-own", ""),
        ("x-mirror-pair", id),
        ("x-mirror", &mark),
        ("x-mirror-role", "shadow"),
        ("x-mirror-to-0123abcd", "v2"),
        ("knative-serving-revision", "r2"),
        ("knative-serving-namespace", "ns"),
    ];
    assert_eq!(texts(&call.headers), expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert_eq!((call.cluster.as_str(), call.body.len(), call.trailers.len()), ("v2", 0, 0));
    assert_eq!(call.timeout_ms, 15_000);
}

#[test]
fn without_knative_a_copy_has_none_of_its_headers() {
    let mut proxy = Proxy::new();
    let ticket = proxy.follow(&[("knative-serving-revision", "forged"), ("knative-serving-namespace", "forged")]);
    let headers = texts(&proxy.end(ticket)[0].call.headers);
    assert!(headers.iter().all(|(name, _)| !name.starts_with("knative")), "{headers:?}");
}

#[test]
fn body_and_trailers_are_copied() {
    let mut proxy = Proxy::with(r#""secondary":{"cluster":"v1"},"caps":{"copy_timeout_ms":700}"#);
    let ticket = proxy.follow(&[("content-length", "7")]);
    assert!(proxy.upload(ticket, b"a b") && proxy.upload(ticket, b"") && proxy.upload(ticket, b" c d"));
    let sent = proxy.end_with(ticket, &[("x-t", "1")], ROOT);
    for (Sent { call, .. }, cluster) in sent.iter().zip(["v2", "v1"]) {
        assert_eq!((call.cluster.as_str(), call.body.as_slice()), (cluster, &b"a b c d"[..]));
        assert_eq!((texts(&call.trailers), call.timeout_ms), (vec![("x-t".to_owned(), "1".to_owned())], 700));
        assert_eq!(call.headers.get("content-length"), None, "the host sets it anew");
    }
    assert!(proxy.end(ticket).is_empty(), "a request ends once");
}

#[test]
fn the_secondary_gets_a_copy_where_the_primary_is_of_its_version() {
    for (split, cluster, copies) in [(true, "v1", 2), (true, "v0", 1), (false, "v0", 2)] {
        let mut proxy = Proxy::with(&format!(r#""secondary":{{"cluster":"v1"}},"split":{split}"#));
        let facts = &mut Stream { cluster: cluster.into(), ..proxy.host.primary_facts() };
        let ticket = proxy.pass_by(&[], facts).ticket.expect("it is followed");
        let sent = proxy.end(ticket);
        assert_eq!(sent.len(), copies, "{split} {cluster}");
        let Some(Sent { call, .. }) = sent.get(1) else { continue };
        assert_eq!(call.headers.get_str("x-mirror-role"), Some("secondary"));
        assert_eq!(call.headers.get_str("x-mirror-also-0123abcd"), Some("v1"));
        assert_eq!(call.headers.get("x-mirror-to-0123abcd"), None);
        assert_eq!(call.headers.get("x-mirror-pair"), sent[0].call.headers.get("x-mirror-pair"));
    }
}

#[test]
fn each_request_has_an_id_of_its_own_that_tells_the_requests() {
    let long = "\u{e4}";
    let mut proxy = Proxy::new();
    let mut seen = std::collections::HashSet::new();
    for (request_id, end) in [(ID, ID), (ID, ID), ("", "-"), (&long.repeat(100), &long.repeat(26))] {
        let ticket = proxy.follow(&[("x-request-id", request_id)]);
        let sent = proxy.end(ticket);
        let id = sent[0].call.headers.get_str("x-mirror-pair").expect("a text").to_owned();
        assert!(id.ends_with(end) && id.len() <= 64, "{id}");
        assert!(seen.insert(id));
    }
    assert_eq!(proxy.host.open(), seen.len());
}

#[test]
fn an_example_names_the_pair_as_its_copy_did() {
    for request_id in [&b"an id"[..], "\u{e4}".repeat(100).as_bytes(), b"\xff"] {
        let mut proxy = Proxy::new();
        let headers: [(&str, &[u8]); 4] =
            [(":method", b"GET"), (":authority", b"hello"), (":path", b"/"), ("x-request-id", request_id)];
        let facts = &mut proxy.host.primary_facts();
        let headers = HeaderBlock::from_pairs(&headers);
        let passing = proxy.host.observer.on_passing(proxy.host.now, &proxy.roster, headers, facts);
        let ticket = passing.ticket.expect("it is followed");
        let sent = proxy.end(ticket);
        proxy.answer(ticket, "200");
        proxy.copy_answer(sent[0].token, "404");
        let line = proxy.host.flush().lines.remove(0);
        let example: serde_json::Value =
            serde_json::from_str(line.strip_prefix("kubectl-mirror example ").expect("an example")).expect("JSON");
        let id = sent[0].call.headers.get("x-mirror-pair").expect("an id");
        assert_eq!(example["pair"].as_str().map(str::as_bytes), Some(id), "{line}");
    }
}

#[test]
fn a_candidate_that_cannot_be_called_is_absent() {
    let mut proxy = Proxy::with(r#""secondary":{"cluster":"v1"}"#);
    proxy.nowhere = "v2";
    let ticket = proxy.follow(&[]);
    assert!(proxy.end(ticket).is_empty(), "then the secondary is not called either");
    proxy.answer(ticket, "200");
    assert_eq!(proxy.host.outcomes(), incomplete(Incomplete::ShadowAbsent));
    proxy.assert_empty();
}

#[test]
fn a_secondary_that_cannot_be_called_is_done_without() {
    let mut proxy = Proxy::with(r#""secondary":{"cluster":"v1"}"#);
    proxy.nowhere = "v1";
    let (primary, copy) = proxy.request();
    proxy.copy_answer(copy, "200");
    proxy.answer(primary, "200");
    assert_eq!(proxy.host.outcomes(), [Outcome::Match]);
    proxy.assert_empty();
}

#[test]
fn calls_are_counted_for_the_context_that_hears_of_them() {
    let mut proxy = Proxy::new();
    let tickets = [proxy.follow(&[]), proxy.follow(&[]), proxy.follow(&[])];
    let tokens: Vec<_> =
        tickets.into_iter().zip([1, 1, 2]).map(|(t, root)| proxy.end_with(t, &[], root)[0].token).collect();
    let calls = |proxy: &Proxy| [1, 2, 3].map(|root| proxy.host.observer.calls_of(root));
    assert_eq!(calls(&proxy), [2, 1, 0]);
    proxy.copy_answer(tokens[0], "200");
    proxy.copy_cut(tokens[2]);
    assert_eq!(calls(&proxy), [1, 0, 0]);
}
