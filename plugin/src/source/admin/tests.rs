//! The admin source against a small server that plays Envoy.

use std::convert::Infallible;

use bytes::Bytes;
use http::header::DATE;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use mirror_core::outcome::Outcome;
use mirror_core::stats::names::Text;
use tokio::net::TcpListener;

use super::*;
use crate::source::Module;

const SERVER_INFO: &str = r#"{
 "version": "9e5580933739775e8bce696a57a2e1bc99368f23/1.40.0/Clean/RELEASE/BoringSSL",
 "state": "LIVE",
 "uptime_current_epoch": "5s",
 "uptime_all_epochs": "75s",
 "command_line_options": { "base_id": "88", "concurrency": 2 },
 "node": { "id": "n", "metadata": { "ISTIO_VERSION": "1.32.0" } }
}"#;

/// As Envoy 1.40 writes it, shortened; the histograms stand among the rest.
const STATS: &str = r#"{"stats":[
 {"name":"extension_config_discovery.upstream_http_filter.kubectl-mirror.version_text","value":""},
 {"name":"extension_config_discovery.upstream_http_filter.kubectl-mirror.config_fail","value":0},
 {"name":"extension_config_discovery.upstream_http_filter.kubectl-mirror.update_rejected","value":1},
 {"name":"extension_config_discovery.upstream_http_filter.kubectl-mirror.update_success","value":2},
 {"name":"wasm.kubectl-mirror.vm_reload","value":0},
 {"name":"wasmcustom.mirror_v1__pairs__default_2fhello__match__n","value":28},
 {"name":"wasmcustom.mirror_v1__pairs__default_2fhello__nonsense__n","value":1},
 {"name":"wasmcustom.mirror_v1__alive__0__n","value":1796047652},
 {"name":"wasmcustom.mirror_v1__alive__1__n","value":1796047000},
 {"name":"wasmcustom.mirror_v1__alive__2__n","value":1796047651},
 {"name":"wasmcustom.mirror_v1__alive__3__n","value":0},
 {"name":"wasmcustom.mirror_v1__build__0_2e1_2e0__n","value":1},
 {"histograms":{"supported_quantiles":[0,100],"computed_quantiles":[]}}]}"#;

/// Starts a server that answers every path by `answer`, and gives its address. It ends with the test's runtime.
async fn serve(answer: fn(&str) -> (u16, &'static str)) -> Address {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address").to_string();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let service = service_fn(move |request: Request<Incoming>| async move {
                let (status, body) = answer(&request.uri().to_string());
                let response = Response::builder().status(status).header(DATE, "Mon, 30 Nov 2026 14:07:32 GMT");
                Ok::<_, Infallible>(response.body(Full::new(Bytes::from(body))).expect("a response"))
            });
            let server = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
            tokio::spawn(async move { server.serve_connection(TokioIo::new(stream), service).await.map_err(drop) });
        }
    });
    address.parse().expect("an address")
}

#[tokio::test]
async fn both_pages_are_read() {
    let address = serve(|path| match path {
        "/stats?format=json&filter=%5E%28wasmcustom%5C.mirror_v1__%7Cextension_config_discovery%5C.upstream_http_filter%5C.kubectl-mirror%7Cwasm%5C..*kubectl-mirror%29" => {
            (200, STATS)
        }
        "/server_info" => (200, SERVER_INFO),
        other => panic!("{other} was asked for"),
    })
    .await;
    let snapshot = read(&address).await.expect("a snapshot");
    let matching = Metric::Pairs { mirror: Text::new("default/hello"), outcome: Outcome::Match };
    assert_eq!(snapshot.counters.into_iter().collect::<Vec<_>>(), [(matching, 28)]);
    let [instance] = snapshot.instances.as_slice() else { panic!("{:?}", snapshot.instances) };
    let expected = Instance {
        name: address.to_string().trim_start_matches("http://").to_owned(),
        envoy: "1.40.0".to_owned(),
        istio: Some("1.32.0".to_owned()),
        loaded: [Way::Observing].into(),
        workers: 2,
        uptime: 75,
        clock: 1_796_047_652,
        ticks: [(0, 1_796_047_652), (1, 1_796_047_000), (2, 1_796_047_651)].into(),
        builds: vec!["0.1.0".to_owned()],
        delivery: Some(Delivery { accepted: 2, rejected: 1, failed: 0 }),
    };
    assert_eq!(instance, &expected);
    assert_eq!((instance.alive(), instance.module()), (1, Module::Stopped));
}

#[tokio::test]
async fn what_is_not_an_admin_page_is_said_so() {
    for (answer, said) in [
        ((|_| (404, "no")) as fn(&str) -> (u16, &'static str), "it answered 404 Not Found"),
        (|_| (200, "<html>"), "expected value"),
        (|_| (200, "{}"), "missing field"),
    ] {
        let address = serve(answer).await;
        let error = read(&address).await.expect_err(said).to_string();
        assert!(error.contains(said) && error.contains(&address.to_string()), "{error}");
    }
}

#[tokio::test]
async fn a_closed_port_is_said_so() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address: Address = listener.local_addr().expect("an address").to_string().parse().expect("an address");
    drop(listener);
    let error = read(&address).await.expect_err("nobody listens").to_string();
    assert!(error.contains(&format!("at {address}: Connection refused")), "{error}");
}
