//! Secrets: what users send and get must not show up in Envoy's log or statistics.

use mirror_tests::backend::{Backend, Reply};
use mirror_tests::client::Request;
use mirror_tests::mirror::Setup;
use mirror_tests::on_each_envoy;
use serde_json::json;

/// Every secret begins like this, so that one search finds them all.
const SECRET: &str = "s3cr3t";

/// All of it differs between the two sides, so that all of it is a candidate for an example.
fn reply(side: &str) -> Reply {
    let secret = |what: &str| format!("{SECRET}-{what}-{side}");
    let body = json!({
        "shown": format!("visible-{side}"),
        "token": secret("field"),
        "users": [{"password": secret("nested"), "name": "n"}],
        "card": {"number": secret("below")},
    });
    Reply::json(&body)
        .header("set-cookie", &format!("session={}; Path=/; HttpOnly", secret("cookie")))
        .header("set-cookie", &format!("other={}; Path=/{side}", secret("cookie2")))
        .header("x-api-key", &secret("header"))
        .header("authorization", &secret("authorization"))
        .header("www-authenticate", &secret("challenge"))
}

#[test]
fn secrets_never_reach_the_log_or_the_statistics() {
    on_each_envoy(async |binary| {
        let (primary, candidate) = (Backend::constant(reply("p")).await, Backend::constant(reply("c")).await);
        let mirror = Setup::new(primary.address(), candidate.address())
            .rules(json!({
                "redact": ["/token", "/users/*/password", "/card", "header:x-api-key"],
                "include": ["header:www-authenticate"],
            }))
            .start(binary)
            .await;
        let request = Request::get(format!("/account?token={SECRET}-query"))
            .header("authorization", &format!("Bearer {SECRET}-bearer"))
            .header("cookie", &format!("session={SECRET}-sent"))
            .header("proxy-authorization", &format!("{SECRET}-proxy"));
        mirror.send(&request).await;
        let counts = mirror.settled(1).await;
        counts.assert_outcomes(&[("diverged", 1)]);
        let places = counts.diverged();
        for place in ["/token value", "/users/*/password value", "/card/number value", "header:x-api-key value"] {
            assert!(places.contains_key(place), "{place}: {places:?}");
        }

        let log = mirror.envoy().log();
        assert!(log.contains("visible-p") && log.contains("visible-c"), "no example was logged:\n{log}");
        for (what, text) in [
            ("log", log),
            ("stats", mirror.envoy().get("/stats").await),
            ("prometheus", mirror.envoy().get("/stats/prometheus").await),
        ] {
            let lines: Vec<_> = text.lines().filter(|line| line.contains(SECRET)).collect();
            assert!(lines.is_empty(), "{what}: {lines:#?}");
        }
    });
}

#[test]
fn bodies_that_are_no_json_are_not_shown_where_a_rule_redacts() {
    on_each_envoy(async |binary| {
        let text = |side: &str| Reply::ok(format!("token: {SECRET}-{side}\n")).header("content-type", "text/plain");
        let (primary, candidate) = (Backend::constant(text("p")).await, Backend::constant(text("c")).await);
        let mirror =
            Setup::new(primary.address(), candidate.address()).rules(json!({"redact": ["/token"]})).start(binary).await;
        mirror.get("/").await;
        mirror.settled(1).await.assert_outcomes(&[("diverged", 1)]);
        let log = mirror.envoy().log();
        assert!(log.contains("body"), "no example was logged:\n{log}");
        assert!(!log.contains(SECRET), "{log}");
    });
}
