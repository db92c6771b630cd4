//! Against a fake Prometheus, which answers as the real one does.

use std::convert::Infallible;
use std::io::Write;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use mirror_core::outcome::Outcome;
use mirror_core::stats::names::Text;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::*;
use crate::source::Module;

const RANGE: Range = Range { since: 1_796_000_000, until: 1_796_003_600 };

/// A request: its URI and who asked.
type Asked = Arc<Mutex<Vec<(String, Option<String>)>>>;

/// A Prometheus on loopback that answers range queries with one text and others with another. It ends with the test's runtime.
async fn fake(status: u16, range: String, instant: String) -> (String, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let asked = Asked::default();
    let kept = asked.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (asked, range, instant) = (kept.clone(), range.clone(), instant.clone());
            let service = service_fn(move |request: Request<Incoming>| {
                let uri = request.uri().to_string();
                let body = if uri.contains("/query_range?") { range.clone() } else { instant.clone() };
                let by = request.headers().get(AUTHORIZATION).and_then(|by| by.to_str().ok()).map(str::to_owned);
                asked.lock().expect("no test has panicked in here").push((uri, by));
                let response = Response::builder().status(status).body(Full::new(Bytes::from(body)));
                async move { Ok::<_, Infallible>(response.expect("a response")) }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    (url, asked)
}

fn matrix(series: &[Value]) -> String {
    json!({ "status": "success", "data": { "resultType": "matrix", "result": series } }).to_string()
}

/// A series of one gateway, with a value at the beginning, half-way and at the end of the time.
fn series(pod: &str, name: &str, values: [u64; 3]) -> Value {
    let at = [RANGE.since, RANGE.since + 1800, RANGE.until];
    let values: Vec<_> = at.into_iter().zip(values).map(|(at, value)| json!([at, value.to_string()])).collect();
    json!({
        "metric": { "__name__": name, "pod": pod, "job": "kubectl-mirror", "instance": "10.0.0.1:15090" },
        "values": values,
    })
}

fn with(mut series: Value, labels: &[(&str, &str)]) -> Value {
    for (name, value) in labels {
        series["metric"][*name] = (*value).into();
    }
    series
}

const MATCHING: &str = "mirror_v1__pairs__shop_2fhello__match__n";

async fn read_from(url: &str, token: Option<&std::path::Path>) -> Result<Gathered, PrometheusError> {
    read(&Prometheus::at(url.parse()?, token)?, RANGE).await
}

fn pairs(gathered: &Gathered, outcome: Outcome) -> u64 {
    let metric = Metric::Pairs { mirror: Text::new("shop/hello"), outcome };
    gathered.sum().counters.get(&metric).copied().unwrap_or(0)
}

#[tokio::test]
async fn gateways_are_summed_whichever_form_their_metrics_have() {
    let relabelled = [("mirror", "shop/hello"), ("outcome", "match")];
    let tick = |pod, slot: u32, tick: u64| {
        let mut series = series(pod, &format!("mirror_v1__alive__{slot}__n"), [0; 3]);
        series["values"] = json!([[1_796_003_590.5, tick.to_string()]]);
        series
    };
    let range = [
        series("gw-0", MATCHING, [10, 20, 30]),
        series("gw-0", "mirror_v1__pairs__shop_2fhello__diverged__n", [1, 1, 2]),
        // The same gateway, scraped once more.
        with(series("gw-0", "mirror_pairs_total", [10, 20, 30]), &[&relabelled[..], &[("job", "other")]].concat()),
        // Another one, of which only this form is there, and which restarts half-way.
        with(series("gw-1", "mirror_pairs_total", [50, 5, 7]), &relabelled),
        series("gw-0", "go_goroutines", [1, 2, 3]),
    ];
    let ticks = [
        tick("gw-0", 1, 1_796_003_590),
        tick("gw-0", 2, 1_796_003_589),
        tick("gw-0", 3, 0),
        tick("gw-1", 1, 1_796_000_000),
    ];
    let (url, asked) = fake(200, matrix(&range), matrix(&ticks)).await;
    let gathered = read_from(&url, None).await.expect("numbers");
    assert_eq!((pairs(&gathered, Outcome::Match), pairs(&gathered, Outcome::Diverged)), (20 + 7, 1));
    assert_eq!((gathered.since, gathered.until), (Some(RANGE.since), Some(RANGE.until)));
    assert_eq!((gathered.began_anew.as_slice(), gathered.missing.len()), (&["gw-1".to_owned()][..], 0));
    let instances: Vec<_> = gathered.sum().instances;
    let states: Vec<_> =
        instances.iter().map(|instance| (instance.name.as_str(), instance.module(), instance.workers)).collect();
    assert_eq!(states, [("gw-0", Module::Running, 1), ("gw-1", Module::Stopped, 0)]);
    let asked = asked.lock().expect("no panic").clone();
    let [(range, nobody), (instant, _)] = asked.as_slice() else { panic!("two queries: {asked:?}") };
    assert!(range.starts_with("/api/v1/query_range?query=%7B%5F%5Fname%5F%5F%3D%7E%22mirror%5Fv1"), "{range}");
    assert!(range.ends_with("&start=1796000000&end=1796003600&step=15"), "{range}");
    assert!(instant.ends_with("&time=1796003600") && nobody.is_none(), "{instant}");
}

#[tokio::test]
async fn a_time_has_about_as_many_samples_however_long_it_is() {
    for (seconds, step) in [(1, 1), (60, 1), (3600, 15), (7 * 24 * 3600, 2520)] {
        assert_eq!(Range { since: 1000, until: 1000 + seconds }.step(), step);
    }
}

#[tokio::test]
async fn it_is_told_who_asks() {
    let answer = || matrix(&[series("gw-0", MATCHING, [1, 2, 3])]);
    let (url, asked) = fake(200, answer(), matrix(&[])).await;
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    writeln!(file, "secret").expect("a token");
    read_from(&format!("{url}/prom"), Some(file.path())).await.expect("numbers");
    read_from(&url.replace("//", "//me:pw@"), None).await.expect("numbers");
    let asked = asked.lock().expect("no panic").clone();
    assert!(asked[0].0.starts_with("/prom/api/v1/query_range?"), "{asked:?}");
    let by: Vec<_> = asked.iter().step_by(2).map(|(_, by)| by.as_deref()).collect();
    assert_eq!(by, [Some("Bearer secret"), Some("Basic bWU6cHc=")]);
}

#[tokio::test]
async fn what_went_wrong_is_said_with_where_and_what_to_do() {
    let error = json!({ "status": "error", "errorType": "bad_data", "error": "query too long" }).to_string();
    for (status, body, said) in [
        (400, error.as_str(), "refused the query: query too long"),
        (401, "who?", "answered 401 Unauthorized: pass a token by --prometheus-token-file"),
        (200, "<html>", "is no Prometheus: it answered 200 OK"),
        (404, "", "is no Prometheus: it answered 404 Not Found"),
        (
            200,
            &matrix(&[]),
            "has nothing that the module counted from 2026-11-30 00:53:20 UTC to 2026-11-30 01:53:20 UTC",
        ),
    ] {
        let (url, _) = fake(status, body.to_owned(), body.to_owned()).await;
        let error = read_from(&url, None).await.expect_err(said).to_string();
        assert!(error.contains(said) && error.contains(&url), "{error}");
    }
    let gone = TcpListener::bind("127.0.0.1:0").await.expect("a free port").local_addr().expect("an address");
    let error = read_from(&format!("http://{gone}"), None).await.expect_err("nobody there").to_string();
    assert!(error.starts_with(&format!("cannot reach Prometheus at http://{gone}: ")), "{error}");
    let missing = Some(std::path::Path::new("/nowhere/token"));
    let error = read_from(&format!("http://{gone}"), missing).await.expect_err("no token").to_string();
    assert!(error.starts_with("cannot read the token of --prometheus-token-file: /nowhere/token: "), "{error}");
}
