//! The demo, as `make demo` runs it: its reports are right to the last count.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use mirror_tests::{on_each_envoy, program};
use serde_json::{Deserializer, Value};

/// Place and kind of what differs, with the number of pairs; either what counts or what is noise.
fn places(mirror: &Value, noise: bool) -> BTreeMap<String, u64> {
    let rows = mirror["places"].as_array().expect("places").iter().filter(|row| row["noise"] == noise);
    rows.map(|row| {
        let (place, kind) = (row["place"].as_str().expect("a place"), row["kind"].as_str().expect("a kind"));
        (format!("{place} {kind}"), row["pairs"]["count"].as_u64().expect("a count"))
    })
    .collect()
}

/// Outcomes that some pair had.
fn outcomes(mirror: &Value) -> BTreeMap<&str, u64> {
    let rows = mirror["outcomes"].as_array().expect("outcomes").iter();
    let rows = rows.map(|row| (row["outcome"].as_str().expect("a word"), row["pairs"].as_u64().expect("a count")));
    rows.filter(|(_, pairs)| *pairs > 0).collect()
}

fn expected(rows: &[(&str, u64)]) -> BTreeMap<String, u64> {
    rows.iter().map(|(row, n)| ((*row).to_owned(), *n)).collect()
}

#[test]
fn the_demos_reports_are_right_to_the_last_count() {
    on_each_envoy(async |binary| {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/demo/run.sh");
        let mut command = Command::new(script);
        command.args(["-o", "json", "--envoy"]).arg(&binary.path);
        command.env("KUBECTL_MIRROR", program::path()).stdin(Stdio::null());
        let output = command.output().expect("the demo runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        let reports: Vec<Value> = Deserializer::from_slice(&output.stdout)
            .into_iter()
            .collect::<Result<_, _>>()
            .unwrap_or_else(|error| panic!("{error}: {stderr}"));
        let [everything, what_is_left] = reports.as_slice() else { panic!("two reports: {reports:#?}") };

        // Of 400 GETs 160 are for products (32 of them with a wrong price), 120 for orders (12 of them fail), 40 for the
        // list, 40 searches and 40 for the daily report, which is the same but for its encoding.
        let mirror = &everything["mirrors"][0];
        assert_eq!(mirror["pairs"], 400);
        assert_eq!(outcomes(mirror), BTreeMap::from([("match", 40), ("diverged", 360)]));
        let failed = [("status value", 12), ("/error added", 12), ("/id missing", 12), ("/state missing", 12)];
        let stamps_lost = [("/served_at missing", 12), ("/trace missing", 12)];
        let stamps = [("/served_at value", 348), ("/trace value", 348)];
        let planned = [("/stock added", 160), ("/items order", 40)];
        let price = [("/price value", 32)];
        // A 500 has neither a time stamp nor a trace; what the others have of both always differs.
        let all = [&failed[..], &stamps_lost, &stamps, &planned, &price].concat();
        assert_eq!(places(mirror, false), expected(&all));

        let headline =
            "5 fields and the status differ in 90.0 % of 400 pairs; not enough pairs on GET /reports/daily to say";
        assert_eq!(mirror["verdict"]["headline"], headline);

        // The secondary explains the stamps, the rules the new field and the order.
        let mirror = &what_is_left["mirrors"][0];
        assert_eq!(outcomes(mirror), BTreeMap::from([("match", 40), ("diverged", 44), ("noise", 316)]));
        let left = [&failed[..1], &failed[2..], &stamps_lost, &price].concat();
        assert_eq!(places(mirror, false), expected(&left));
        assert_eq!(places(mirror, true), expected(&stamps));
        // What a 500 lacks is not counted once more.
        let headline = "1 field and the status differ in 11.0 % of 400 pairs; noise explains 2 more fields; not enough pairs on 3 \
                        endpoints to say";
        assert_eq!(mirror["verdict"]["headline"], headline);
        assert!(stderr.contains("that version 2 has seen: 0."), "{stderr}");
    });
}
