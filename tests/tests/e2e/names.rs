//! Metric names: whatever a place or an endpoint is called, all of Envoy's pages show it so that it can be read back.

use std::collections::BTreeMap;

use mirror_core::stats::names::Metric;
use mirror_tests::backend::{Backend, Reply};
use mirror_tests::mirror::{Running, Setup};
use mirror_tests::on_each_envoy;
use serde_json::{Map, Value};

/// Keys that Envoy or Prometheus might stumble over.
const KEYS: [&str; 22] = [
    "plain",
    "with space",
    "with_underscore",
    "with__two",
    "_other",
    "n",
    "",
    "*",
    "~",
    "a/b",
    "dots.and.dots",
    "quote\"quote",
    "back\\slash",
    "new\nline",
    "Ümläut",
    "日本語",
    "🦀",
    "x_rq_200",
    "a.response_code=200",
    "{label=\"1\"}",
    "wasm_filter.x.y",
    "%41",
];

/// Paths of requests that a router might fold or mangle.
const PATHS: [&str; 5] = ["/x_rq_200", "/a.b/c:d;e=f,g/'h'/$i/!j/(k)/~l", "/%C3%A4/%22", "/a__b", "/UPPER"];

fn all(n: u64) -> Value {
    KEYS.iter().map(|key| ((*key).to_owned(), Value::from(n))).collect::<Map<_, _>>().into()
}

type Metrics = BTreeMap<Metric, u64>;

/// Decodes `NAME VALUE` pairs. The clock's metric moves between pages and is left out.
fn decoded<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Metrics {
    let read = pairs.filter_map(|(name, value)| Some((Metric::decode(name)?, value.trim().parse().ok()?)));
    read.filter(|(metric, _)| !matches!(metric, Metric::Alive { .. })).collect()
}

async fn text_page(mirror: &Running) -> Metrics {
    let page = mirror.envoy().get("/stats?filter=mirror_").await;
    decoded(page.lines().filter_map(|line| line.split_once(": ")))
}

async fn json_page(mirror: &Running) -> Metrics {
    let stats = mirror.envoy().stats("mirror_").await;
    let texts: Vec<_> = stats.iter().map(|(name, value)| (name.clone(), value.to_string())).collect();
    decoded(texts.iter().map(|(name, value)| (name.as_str(), value.as_str())))
}

/// `NAME{LABELS} VALUE`, as Prometheus scrapes it.
async fn prometheus_page(mirror: &Running) -> Metrics {
    let page = mirror.envoy().get("/stats/prometheus?filter=mirror_").await;
    let samples = page.lines().filter(|line| !line.starts_with('#'));
    decoded(samples.filter_map(|line| {
        let (name, rest) = line.split_once('{')?;
        assert!(rest.starts_with('}'), "Envoy took a part of the name for a label: {line}");
        Some((name, rest.strip_prefix('}')?))
    }))
}

#[test]
fn nasty_names_survive_all_of_envoys_pages() {
    on_each_envoy(async |binary| {
        let primary = Backend::constant(Reply::json(&all(1))).await;
        let candidate = Backend::constant(Reply::json(&all(2))).await;
        let mirror = Setup::new(primary.address(), candidate.address()).start(binary).await;
        for path in PATHS {
            mirror.get(path).await;
        }
        let pairs = u64::try_from(PATHS.len()).expect("few");
        let counts = mirror.settled(pairs).await;
        let expected: BTreeMap<_, _> = KEYS
            .iter()
            .map(|key| {
                let mut pointer = String::new();
                mirror_core::place::push_key(&mut pointer, key);
                (format!("{pointer} value"), pairs)
            })
            .collect();
        assert_eq!(counts.diverged(), expected);
        assert_eq!(counts.endpoints.values().sum::<u64>(), pairs);
        assert_eq!(counts.endpoints.len(), PATHS.len(), "{:?}", counts.endpoints);

        let text = text_page(&mirror).await;
        assert!(text.len() >= KEYS.len() + PATHS.len(), "{text:?}");
        assert_eq!(json_page(&mirror).await, text);
        assert_eq!(prometheus_page(&mirror).await, text);
    });
}
