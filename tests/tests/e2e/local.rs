//! `kubectl mirror local` as a user runs it: its traffic, its report, its exit status, and nothing left behind.

use std::net::SocketAddr;

use mirror_tests::backend::{Backend, Reply};
use mirror_tests::client::{Answer, Protocol, Request, crowd, once};
use mirror_tests::envoy::Binary;
use mirror_tests::mirror::Setup;
use mirror_tests::program::{Ended, Local, run};
use mirror_tests::{on_each_envoy, wait};
use serde_json::{Value, json};

/// A command that tells the address for clients and ends when the test has sent its requests.
const COMMAND: [&str; 4] = [
    "--",
    "sh",
    "-c",
    r#"echo "$MIRROR_URL" > FOLDER/url.new && mv FOLDER/url.new FOLDER/url
       while [ ! -e FOLDER/done ]; do sleep 0.05; done; exit $(cat FOLDER/done)"#,
];

/// Answers with a price that is another one on each tenth path where `other` is set, and with a time of its own.
async fn shop(other: bool, name: &'static str) -> Backend {
    Backend::start(move |seen| answer(&seen.path, other, name)).await
}

fn answer(path: &str, other: bool, name: &str) -> Reply {
    let number: u64 = path.rsplit('/').next().and_then(|number| number.parse().ok()).unwrap_or(0);
    let price = if other && number.is_multiple_of(10) { 1 } else { 7 };
    Reply::json(&json!({"price": price, "at": name}))
}

fn url(backend: &Backend) -> String {
    format!("http://{}", backend.address())
}

async fn address(local: &Local) -> SocketAddr {
    let file = local.file("url");
    let url = wait::until("the address for clients", async || std::fs::read_to_string(&file).ok()).await;
    url.trim().strip_prefix("http://").expect("a URL").parse().expect("an address")
}

/// Sends 100 requests through it, then lets the command end with `status`.
async fn traffic(mut local: Local, status: &str) -> (Ended, Local) {
    let address = address(&local).await;
    let requests = (0..100).map(|i| Request::get(format!("/items/{i}"))).collect();
    let right = |request: &Request| Answer::of(&answer(&request.path, false, "primary"));
    crowd(address, Protocol::Http1, 16, requests, right).await.assert_all_right();
    assert!(local.envoy().is_some(), "Envoy runs while the command does");
    std::fs::write(local.file("done"), status).expect("written");
    let ended = local.output().await;
    assert!(once(address, Protocol::Http1, &Request::get("/")).await.is_err(), "something still listens");
    assert_eq!(local.envoy(), None);
    (ended, local)
}

async fn compare(binary: &'static Binary, arguments: &[&str], status: &str) -> Ended {
    let (primary, candidate) = (shop(false, "primary").await, shop(true, "candidate").await);
    let (primary_url, candidate_url) = (url(&primary), url(&candidate));
    let servers = ["--primary", &primary_url, "--candidate", &candidate_url];
    let local = Local::start(binary, &[&servers[..], arguments, &COMMAND].concat());
    let ended = traffic(local, status).await.0;
    assert_eq!((primary.seen().len(), candidate.seen().len()), (100, 100));
    ended
}

fn share(mirror: &Value, field: &str) -> (u64, u64) {
    let number = |of: &str| mirror[field][of].as_u64().expect(field);
    (number("count"), number("of"))
}

#[test]
fn a_command_runs_behind_it_and_the_report_is_right_to_the_last_count() {
    on_each_envoy(async |binary| {
        let ended = compare(binary, &["-o", "json"], "0").await;
        assert_eq!(ended.status, Some(0), "{ended:#?}");
        let report = ended.json();
        assert_eq!(report["gateways"][0]["module"], "running", "{report:#}");
        let mirror = &report["mirrors"][0];
        assert_eq!(mirror["pairs"], 100, "{report:#}");
        assert_eq!(share(mirror, "diverged"), (100, 100));
        let places = mirror["places"].as_array().expect("places");
        let count = |place: &str| places.iter().find(|row| row["place"] == place).map(|row| share(row, "pairs"));
        assert_eq!((count("/at"), count("/price")), (Some((100, 100)), Some((10, 100))), "{report:#}");
        assert!(places.iter().all(|row| row["example"].is_object()), "{report:#}");
    });
}

#[test]
fn with_a_secondary_and_rules_only_what_matters_is_left() {
    on_each_envoy(async |binary| {
        let rules = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(rules.path(), "ignore:\n  - /at\n").expect("written");
        let ended = compare(binary, &["-o", "json", "--rules", &rules.path().to_string_lossy()], "0").await;
        assert_eq!(share(&ended.json()["mirrors"][0], "diverged"), (10, 100), "{}", ended.stdout);

        let secondary = shop(false, "secondary").await;
        let ended = compare(binary, &["-o", "json", "--secondary", &url(&secondary)], "0").await;
        let report = ended.json();
        let mirror = &report["mirrors"][0];
        assert_eq!(secondary.seen().len(), 100);
        assert_eq!((share(mirror, "diverged"), &mirror["triples"]), ((10, 100), &json!(100)), "{report:#}");
    });
}

#[test]
fn the_exit_status_says_how_it_ended() {
    on_each_envoy(async |binary| {
        let ended = compare(binary, &["--fail-on", "place:/price>5%"], "0").await;
        assert_eq!(ended.status, Some(1), "{ended:#?}");
        assert!(ended.stdout.contains("/price"), "{}", ended.stdout);
        let ended = compare(binary, &["--fail-on", "place:/price>50%"], "0").await;
        assert_eq!(ended.status, Some(0), "{ended:#?}");
        // The command's own failure; the report is shown all the same.
        let ended = compare(binary, &[], "3").await;
        assert_eq!(ended.status, Some(2), "{ended:#?}");
        assert!(ended.stdout.contains("/price") && ended.stderr.contains("command failed"), "{ended:#?}");
    });
}

#[test]
fn it_ends_after_its_time_or_by_a_signal_and_envoy_with_it() {
    on_each_envoy(async |binary| {
        let (primary, candidate) = (shop(false, "same").await, shop(false, "same").await);
        let (primary, candidate) = (url(&primary), url(&candidate));
        let servers = ["--primary", &primary, "--candidate", &candidate];
        let mut local = Local::start(binary, &[&servers[..], &["--for", "100ms"]].concat());
        let ended = local.output().await;
        assert_eq!((ended.status, local.envoy()), (Some(0), None), "{ended:#?}");

        for signal in ["INT", "TERM"] {
            let mut local = Local::start(binary, &[&servers[..], &["-o", "json"], &COMMAND].concat());
            let address = address(&local).await;
            once(address, Protocol::Http1, &Request::get("/items/1")).await.expect("an answer");
            local.signal(signal);
            let ended = local.output().await;
            assert_eq!(ended.status, Some(0), "{signal}: {ended:#?}");
            assert_eq!(ended.json()["mirrors"][0]["pairs"], 1, "{signal}");
            assert_eq!(local.envoy(), None, "{signal}");
        }

        // Even where it cannot clean up.
        let mut local = Local::start(binary, &[&servers[..], &COMMAND].concat());
        address(&local).await;
        assert!(local.envoy().is_some());
        local.signal("KILL");
        // The command is left behind, and would hold on to the output.
        std::fs::write(local.file("done"), "0").expect("written");
        assert_eq!(local.output().await.status, None);
        wait::until("Envoy's end", async || local.envoy().is_none().then_some(())).await;
    });
}

#[test]
fn mistakes_end_with_status_2_and_say_what_is_wrong() {
    let rules = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(rules.path(), "ignore:\n  - /at\ntolerance:\n  - path: /price\n").expect("written");
    let rules = rules.path().to_string_lossy().into_owned();
    let servers = ["local", "--primary", "http://127.0.0.1:1", "--candidate", "http://127.0.0.1:2"];
    let cases: [(&[&str], &str); 6] = [
        (&["--rules", &rules], "absolute"),
        (&["--rules", "/nowhere/rules.yaml"], "/nowhere/rules.yaml"),
        (&["--envoy", "/nowhere/envoy"], "/nowhere/envoy"),
        (&["--percent", "101"], "101"),
        (&["--fail-on", "diverged>"], "diverged>"),
        (&["--unknown"], "--unknown"),
    ];
    for (arguments, said) in cases {
        let ended = run(&[&servers[..], arguments].concat());
        assert_eq!(ended.status, Some(2), "{arguments:?}: {ended:#?}");
        assert!(ended.stderr.contains(said) && ended.stdout.is_empty(), "{arguments:?}: {ended:#?}");
    }
    let ended = run(&["local", "--primary", "127.0.0.1:1", "--candidate", "http://127.0.0.1:2"]);
    assert!(ended.status == Some(2) && ended.stderr.contains("expected a URL"), "{ended:#?}");
}

#[test]
fn report_reads_any_envoy_that_runs() {
    on_each_envoy(async |binary| {
        let (primary, candidate) = (shop(false, "same").await, shop(true, "same").await);
        let mirror = Setup::new(primary.address(), candidate.address()).start(binary).await;
        for i in 0..20 {
            mirror.get(&format!("/items/{i}")).await;
        }
        mirror.settled(20).await;
        let admin = format!("http://{}", mirror.envoy().admin());
        let log = mirror.envoy().file("envoy.log").to_string_lossy().into_owned();
        let report = |more: &[&str]| run(&[&["report", "--admin", &admin, "--examples", &log], more].concat());
        let ended = report(&["test/hello", "-o", "json"]);
        assert_eq!(ended.status, Some(0), "{ended:#?}");
        assert_eq!(share(&ended.json()["mirrors"][0], "diverged"), (2, 20));
        let ended = report(&["--fail-on", "diverged>0.1%"]);
        assert_eq!(ended.status, Some(1), "{ended:#?}");
        for shown in ["test/hello", "/price", "GET /items/{id}"] {
            assert!(ended.stdout.contains(shown), "{shown}: {}", ended.stdout);
        }
        assert_eq!(report(&["no/such"]).status, Some(2));
        assert_eq!(run(&["report", "--admin", &url(&primary)]).status, Some(2));
    });
}
