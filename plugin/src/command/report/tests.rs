//! The command against fake Envoys.

use clap::Parser;
use mirror_core::stats::names::{Metric, Text};
use serde_json::json;

use super::*;
use crate::admin::testing::FakeEnvoy;
use crate::report::model::Missing;
use crate::source::baseline::Store;
use crate::source::{Module, Way};
use mirror_core::outcome::Outcome;

#[derive(Parser)]
struct Program {
    #[command(flatten)]
    args: Args,
}

fn parse(arguments: &[&str]) -> Result<Args, String> {
    let program = Program::try_parse_from(["report"].iter().chain(arguments));
    program.map(|program| program.args).map_err(|error| error.to_string())
}

/// Lets an Envoy have counted so many matching pairs of a mirror.
fn count(envoy: &FakeEnvoy, counts: &[(&str, u64)]) {
    envoy.module(Way::Observing, Module::Running);
    let stats: Vec<_> = counts
        .iter()
        .map(|(mirror, n)| {
            let name = Metric::Pairs { mirror: Text::new(mirror), outcome: Outcome::Match }.encode();
            json!({ "name": format!("wasmcustom.{name}"), "value": n })
        })
        .collect();
    envoy.page("/stats", json!({ "stats": stats }));
}

/// Names and pairs of the mirrors that are reported.
async fn read(reader: &mut Reader) -> Vec<(String, u64)> {
    let report = reader.read().await.expect("a report");
    report.mirrors.iter().map(|mirror| (mirror.name.clone(), mirror.pairs())).collect()
}

fn rows(rows: &[(&str, u64)]) -> Vec<(String, u64)> {
    rows.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect()
}

#[tokio::test]
async fn what_was_counted_before_the_baseline_is_left_out() {
    let envoy = FakeEnvoy::start().await;
    let address = envoy.address().to_string();
    let folder = tempfile::tempdir().expect("a folder");
    let open = async |arguments: &[&str]| {
        let args = parse(&[&["--admin", &address], arguments].concat()).expect("good arguments");
        let reader = Reader::open(&args, Examples::default()).await.expect("a reader");
        reader.with_baselines(Store::within(folder.path(), &address))
    };
    count(&envoy, &[("shop/hello", 10), ("shop/world", 5)]);
    let error = open(&["--since", "reset"]).await.read().await.expect_err("none is stored").to_string();
    assert_eq!(error, "no baseline of * is stored for this source; store one with --reset");

    open(&["--reset"]).await.reset().await.expect("stored");
    assert_eq!(read(&mut open(&["--since", "reset"]).await).await, []);
    // A mirror that is known and has counted nothing since is no unknown one.
    assert_eq!(read(&mut open(&["hello", "--since", "reset"]).await).await, []);
    count(&envoy, &[("shop/hello", 12), ("shop/world", 9)]);
    let report = open(&["--since", "reset"]).await.read().await.expect("a report");
    assert!(report.span.since.is_some() && report.span.began_anew.is_empty());
    assert_eq!(read(&mut open(&["--since", "reset"]).await).await, rows(&[("shop/hello", 2), ("shop/world", 4)]));

    // A later baseline of one mirror is its own; the others keep theirs.
    open(&["shop/hello", "--reset"]).await.reset().await.expect("stored");
    count(&envoy, &[("shop/hello", 13), ("shop/world", 9)]);
    assert_eq!(read(&mut open(&["shop/world", "--since", "reset"]).await).await, rows(&[("shop/world", 4)]));
    // The module was replaced: all is new.
    count(&envoy, &[("shop/hello", 3)]);
    let report = open(&["--since", "reset"]).await.read().await.expect("a report");
    assert_eq!((report.mirrors[0].pairs(), report.span.began_anew.as_slice()), (3, &[address.clone()][..]));
}

#[tokio::test]
async fn saved_reports_are_shown_and_selected_from() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("report.json");
    let report = crate::report::samples::full().report();
    std::fs::write(&file, Format::Json.render(&report, &[])).expect("a file");
    let file = file.to_str().expect("a path");
    let open = async |arguments: &[&str]| {
        let args = parse(&[&["--from", file], arguments].concat()).expect("good arguments");
        Reader::open(&args, Examples::default()).await
    };
    assert_eq!(open(&[]).await.expect("a reader").read().await.expect("a report"), report);
    let pairs = report.mirrors[0].pairs();
    for selection in [&["hello"][..], &["default/hello"], &["-n", "default"], &["-n", "default", "hello"]] {
        let mut reader = open(selection).await.expect("a reader");
        assert_eq!(read(&mut reader).await, rows(&[("default/hello", pairs)]), "{selection:?}");
    }
    let error = open(&["jello"]).await.expect("a reader").read().await.expect_err("unknown").to_string();
    assert_eq!(error, "no mirror `jello` has counted anything here; there is default/hello");
    let args = parse(&["--from", "/nowhere/report.json"]).expect("good arguments");
    let error = Reader::open(&args, Examples::default()).await.err().expect("no file");
    assert!(format!("{error:#}").starts_with("cannot read the report /nowhere/report.json: "), "{error:#}");
}

#[tokio::test]
async fn times_that_a_source_cannot_know_are_refused_with_what_to_do() {
    for (arguments, said) in [
        (&["--since", "10m", "--admin", "127.0.0.1:1"][..], "--since 10m needs --prometheus URL"),
        (&["--since", "reset", "--prometheus", "http://127.0.0.1:1"], "pass a time, for example --since 2h"),
    ] {
        let args = parse(arguments).expect("good arguments");
        let error = Reader::open(&args, Examples::default()).await.err().expect(said).to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn options_that_exclude_each_other_are_refused() {
    for arguments in [
        &["--from", "a", "--admin", "127.0.0.1:1"][..],
        &["--from", "a", "--watch"],
        &["--reset", "--since", "reset"],
        &["--reset", "-o", "json"],
        &["--watch", "--fail-on", "diverged>0"],
        &["--watch", "--compare", "a"],
        &["--interval", "1s"],
        &["--until", "2026-11-30T14:00:00Z"],
        &["--prometheus-token-file", "a"],
        &["--since", "yesterday"],
    ] {
        assert!(parse(arguments).is_err(), "{arguments:?}");
    }
    let args = parse(&["hello", "-w", "--interval", "5s"]).expect("good arguments");
    assert_eq!((args.watch, args.interval), (true, Duration::from_secs(5)));
}

#[test]
fn comparisons_have_formats_of_their_own() {
    let report = crate::report::samples::full().report();
    let comparison = compare::compare(&report, &report);
    for format in Format::value_variants() {
        let shown = format.render_comparison(&comparison);
        let is_known = !matches!(format, Format::Html | Format::Junit | Format::Name);
        assert_eq!(shown.is_ok_and(|text| !text.is_empty()), is_known, "{format:?}");
    }
}

#[test]
fn every_format_says_what_is_missing_and_which_time_it_covers() {
    let mut report = crate::report::samples::full().report();
    report.span.since = Some(1_796_047_652);
    report.missing = vec![Missing { name: "gw-1".to_owned(), reason: "no answer".to_owned() }];
    for format in Format::value_variants().iter().filter(|format| **format != Format::Name) {
        let text = format.render(&report, &[]);
        assert!(text.contains("gw-1") && text.contains("no answer"), "{format:?}: {text}");
        assert!(text.contains("2026-11-30"), "{format:?}: {text}");
    }
}
