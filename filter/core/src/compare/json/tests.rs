//! What a comparison of two documents says, case by case.

use super::*;
use crate::divergence::REDACTED;

/// Compares by rules that are written as the configuration has them; each finding as `place kind primary → shadow`.
fn compared(rules: &str, primary: &str, shadow: &str) -> Result<Vec<String>, NotCompared> {
    compared_bytes(rules, primary.as_bytes(), shadow.as_bytes())
}

fn compared_bytes(rules: &str, primary: &[u8], shadow: &[u8]) -> Result<Vec<String>, NotCompared> {
    let rules: crate::config::Rules = serde_json::from_str(rules).expect("rules");
    let mut sink = Sink::default();
    compare(primary, shadow, &BodyRules::new(&rules), &mut sink)?;
    let (found, dropped) = sink.into_parts();
    let value = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    let line = |found: crate::divergence::Divergence| {
        format!("{} {} {} → {}", found.place, found.kind, value(found.primary), value(found.shadow))
    };
    let more = (dropped > 0).then(|| format!("{dropped} more"));
    Ok(found.into_iter().map(line).chain(more).collect())
}

/// Checks cases of (primary, shadow, findings) under one set of rules.
fn check(rules: &str, cases: &[(&str, &str, &[&str])]) {
    for (primary, shadow, expected) in cases {
        let found = compared(rules, primary, shadow).expect("both are JSON");
        assert_eq!(found, *expected, "{primary}   {shadow}   {rules}");
    }
}

#[test]
fn values_are_compared_by_what_they_mean() {
    check(
        "{}",
        &[
            ("1", "1", &[]),
            ("1", "1.0", &[]),
            ("1", "10e-1", &[]),
            ("0", "-0.0e9", &[]),
            ("9007199254740993", "9007199254740992", &["body value 9007199254740993 → 9007199254740992"]),
            ("1", "12", &["body value 1 → 12"]),
            ("12", "1", &["body value 12 → 1"]),
            ("true", "false", &["body value true → false"]),
            ("null", "null ", &[]),
            ("\"a\"", "\"\\u0061\"", &[]),
            ("\"a\"", "\"b\"", &["body value \"a\" → \"b\""]),
            ("\"1\"", "1", &["body type \"1\" → 1"]),
            ("null", "{\"a\":[1]}", &["body type null → {\"a\":[1]}"]),
            ("[]", "{}", &["body type [] → {}"]),
            ("\u{feff} [1]", "[ 1 ]\n", &[]),
            ("{\"a\":1}", " { \"a\" : 1 } ", &[]),
        ],
    );
}

#[test]
fn members_are_found_by_key() {
    check(
        "{}",
        &[
            (r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#, &[]),
            (r#"{"a":1,"b":2,"c":3}"#, r#"{"a":1,"c":4,"b":2}"#, &["/c value 3 → 4"]),
            (r#"{"a":1,"b":2}"#, r#"{"a":1}"#, &["/b missing 2 → -"]),
            (r#"{"a":1}"#, r#"{"a":1,"b":{"c":2}}"#, &["/b added - → {\"c\":2}"]),
            (r#"{}"#, r#"{"a":1}"#, &["/a added - → 1"]),
            (r#"{"a":1}"#, r#"{ }"#, &["/a missing 1 → -"]),
            (r#"{"a":1,"x":0}"#, r#"{"x":0,"b":1}"#, &["/a missing 1 → -", "/b added - → 1"]),
            (r#"{"a":{"b":{"c":1}}}"#, r#"{"a":{"b":{"c":2}}}"#, &["/a/b/c value 1 → 2"]),
            (r#"{"\u0061":1,"b":2}"#, r#"{"b":2,"a":1}"#, &[]),
            (r#"{"a/b":{"~":1}}"#, r#"{"a/b":{"~":2}}"#, &["/a~1b/~0 value 1 → 2"]),
            (r#"{"*":[1]}"#, r#"{"*":[2]}"#, &["/~2/* value 1 → 2"]),
            (r#"{"":1}"#, r#"{"":2}"#, &["/ value 1 → 2"]),
            (
                r#"{"\ud800":1}"#,
                r#"{"\ud801":1}"#,
                &["/\u{fffd}\u{fffd}\u{fffd} missing 1 → -", "/\u{fffd}\u{fffd}\u{fffd} added - → 1"],
            ),
        ],
    );
}

#[test]
fn the_last_of_repeated_keys_counts() {
    check(
        "{}",
        &[
            (r#"{"a":1,"a":2}"#, r#"{"a":3,"a":2}"#, &[]),
            (r#"{"a":1,"a":2}"#, r#"{"a":2,"a":1}"#, &["/a value 2 → 1"]),
            (r#"{"a":1,"a":2}"#, r#"{"a":2}"#, &["/a missing duplicate key → -"]),
            (r#"{"a":2}"#, r#"{"a":1,"a":2}"#, &["/a added - → duplicate key"]),
            (r#"{"a":1,"b":0,"a":2}"#, r#"{"b":0,"a":5,"a":2}"#, &[]),
            (r#"{"a":1,"b":0,"\u0061":2}"#, r#"{"a":7,"b":0,"a":2}"#, &[]),
            (r#"{"a":1,"b":0,"c":1,"a":2}"#, r#"{"a":7,"b":0,"a":2,"c":1}"#, &[]),
            (r#"{"a":7,"b":0,"c":1}"#, r#"{"a":1,"b":0,"a":7,"c":1}"#, &["/a added - → duplicate key"]),
            (r#"{"x":{"a":1,"a":2}}"#, r#"{"x":{"a":{},"a":2}}"#, &[]),
            (
                r#"[{"a":1,"a":2},{"b":1}]"#,
                r#"[{"b":1},{"a":3,"a":2}]"#,
                &["body order [{\"a\":1,\"a\":2},{\"b\":1}] → [{\"b\":1},{\"a\":3,\"a\":2}]"],
            ),
        ],
    );
}

#[test]
fn many_keys_are_handled_as_few_are() {
    let object = |keys: &mut dyn Iterator<Item = usize>| {
        let members: Vec<String> = keys.map(|key| format!("\"key {key}\":{}", key % 7)).collect();
        format!("{{{}}}", members.join(","))
    };
    let (ahead, back) = (object(&mut (0..100_000)), object(&mut (0..100_000).rev()));
    assert_eq!(compared("{}", &ahead, &back), Ok(vec![]));
    let changed = back.replace("\"key 77\":0", "\"key 77\":9");
    assert_eq!(compared("{}", &ahead, &changed), Ok(vec!["/key 77 value 0 → 9".to_owned()]));
    let repeated = ahead.replace("\"key 99999\":", "\"key 3\":");
    assert_eq!(
        compared("{}", &ahead, &repeated),
        Ok(vec![
            "/key 3 added - → duplicate key".to_owned(),
            "/key 3 value 3 → 4".into(),
            "/key 99999 missing 4 → -".into()
        ])
    );
}

#[test]
fn the_order_of_arrays_matters() {
    check(
        "{}",
        &[
            ("[1,2,3]", "[1,2,3.0]", &[]),
            ("[1,2,3]", "[3,1,2]", &["body order [1,2,3] → [3,1,2]"]),
            ("[1,2,3]", "[1,2,4]", &["/* value 3 → 4"]),
            ("[1,2]", "[2,3]", &["/* value 1 → 2"]),
            ("[1,1,2]", "[1,2,2]", &["/* value 1 → 2"]),
            (
                r#"{"a":[{"x":1,"y":2},0]}"#,
                r#"{"a":[0.0,{"y":2,"x":1}]}"#,
                &["/a order [{\"x\":1,\"y\":2},0] → [0.0,{\"y\":2,\"x\":1}]"],
            ),
            (r#"[[1,2],[3,4]]"#, r#"[[2,1],[4,3]]"#, &["/* order [1,2] → [2,1]"]),
            (r#"[[1,2],[3,4]]"#, r#"[[3,4],[1,2]]"#, &["body order [[1,2],[3,4]] → [[3,4],[1,2]]"]),
            (r#"[[1,2],[3,4],5]"#, r#"[[1,2],[3,4],6]"#, &["/* value 5 → 6"]),
        ],
    );
}

#[test]
fn elements_put_in_or_left_out_shift_nothing() {
    check(
        "{}",
        &[
            ("[]", "[1,2]", &["/* added - → 1"]),
            ("[1]", "[]", &["/* missing 1 → -"]),
            ("[1,2]", "[1,2,3]", &["/* added - → 3"]),
            ("[1,2,3]", "[0,1,2,3]", &["/* added - → 0"]),
            ("[1,2,3]", "[1,3.0]", &["/* missing 2 → -"]),
            (r#"[{"a":1},{"b":2},{"c":3}]"#, r#"[{"a":1},{"c":3}]"#, &["/* missing {\"b\":2} → -"]),
            ("[1,2,3]", "[9,2]", &["/* value 1 → 9", "/* missing 3 → -"]),
            ("[1,2,3,4]", "[9,3,4]", &["/* value 1 → 9", "/* missing 2 → -"]),
            ("[[1,2],[3]]", "[[0],[1,2],[3]]", &["/* added - → [0]"]),
        ],
    );
}

#[test]
fn ignored_places_do_not_count() {
    check(
        r#"{"ignore":["/a","/items/*/t","/x/*/y","/list/1"]}"#,
        &[
            (r#"{"a":1}"#, r#"{"a":{"b":2}}"#, &[]),
            (r#"{"a":{"b":1}}"#, r#"{"a":{"b":2}}"#, &[]),
            (r#"{"a":1}"#, r#"{}"#, &[]),
            (r#"{}"#, r#"{"a":1}"#, &[]),
            (r#"{"aa":1}"#, r#"{"aa":2}"#, &["/aa value 1 → 2"]),
            (r#"{"\u0061":1}"#, r#"{"\u0061":2}"#, &[]),
            (r#"{"items":[{"t":1,"n":1},{"t":2,"n":2}]}"#, r#"{"items":[{"t":3,"n":1},{"t":4,"n":2}]}"#, &[]),
            (
                r#"{"items":[{"t":1,"n":1},{"t":2,"n":2}]}"#,
                r#"{"items":[{"t":3,"n":2},{"n":1}]}"#,
                &["/items order [{\"t\":1,\"n\":1},{\"t\":2,\"n\":2}] → [{\"t\":3,\"n\":2},{\"n\":1}]"],
            ),
            (
                r#"{"items":[{"t":1,"n":1}]}"#,
                r#"{"items":[{"t":7,"n":0},{"t":3,"n":1}]}"#,
                &["/items/* added - → {\"t\":7,\"n\":0}"],
            ),
            (r#"{"x":{"k":{"y":1,"z":1}}}"#, r#"{"x":{"k":{"y":2,"z":2}}}"#, &["/x/k/z value 1 → 2"]),
            (r#"{"list":[1,2,3]}"#, r#"{"list":[1,9,3]}"#, &[]),
            (r#"{"list":[1,2,3]}"#, r#"{"list":[9,9,3]}"#, &["/list/* value 1 → 9"]),
        ],
    );
    check(r#"{"ignore":["body"]}"#, &[("[1]", "{}", &[])]);
}

#[test]
fn numbers_may_differ_within_their_tolerance() {
    let rules =
        r#"{"tolerance":[{"path":"/a","absolute":0.1},{"path":"/r","relative":0.01},{"path":"/l/*","absolute":1}]}"#;
    check(
        rules,
        &[
            (r#"{"a":1.0}"#, r#"{"a":1.1}"#, &[]),
            (r#"{"a":1.0}"#, r#"{"a":1.11}"#, &["/a value 1.0 → 1.11"]),
            (r#"{"a":"1.0"}"#, r#"{"a":"1.1"}"#, &["/a value \"1.0\" → \"1.1\""]),
            (
                r#"{"a":9007199254740993}"#,
                r#"{"a":9007199254740992}"#,
                &["/a value 9007199254740993 → 9007199254740992"],
            ),
            (r#"{"r":100}"#, r#"{"r":99}"#, &[]),
            (r#"{"r":-100e300}"#, r#"{"r":-99e300}"#, &[]),
            (r#"{"r":100}"#, r#"{"r":98.9}"#, &["/r value 100 → 98.9"]),
            (r#"{"r":1}"#, r#"{"r":-1}"#, &["/r value 1 → -1"]),
            (r#"{"r":0}"#, r#"{"r":1e-400}"#, &["/r value 0 → 1e-400"]),
            (r#"{"l":[1,5]}"#, r#"{"l":[2,4]}"#, &[]),
            (r#"{"l":[1,5]}"#, r#"{"l":[2,7]}"#, &["/l/* value 5 → 7"]),
        ],
    );
}

#[test]
fn order_does_not_matter_where_a_rule_says_so() {
    check(
        r#"{"unordered":[{"path":"/a"}],"ignore":["/a/*/t"],"tolerance":[{"path":"/a/*/n","absolute":1}]}"#,
        &[
            (r#"{"a":[1,2,3]}"#, r#"{"a":[3,1.0,2]}"#, &[]),
            (r#"{"a":[1,2,3]}"#, r#"{"a":[3,4,1]}"#, &["/a/* value 2 → 4"]),
            (r#"{"a":[1,2]}"#, r#"{"a":[2,1,3]}"#, &["/a/* added - → 3"]),
            (r#"{"a":[1,1,2]}"#, r#"{"a":[2,1]}"#, &["/a/* missing 1 → -"]),
            (r#"{"a":[]}"#, r#"{"a":[1]}"#, &["/a/* added - → 1"]),
            (r#"{"a":[{"i":1,"t":5},{"i":2,"t":6}]}"#, r#"{"a":[{"t":8,"i":2},{"i":1}]}"#, &[]),
            (r#"{"a":[{"i":1,"n":5},{"i":2,"n":7}]}"#, r#"{"a":[{"n":8,"i":2},{"n":4,"i":1}]}"#, &[]),
            (
                r#"{"a":[{"i":1,"n":5},{"i":2,"n":7}]}"#,
                r#"{"a":[{"n":9,"i":2},{"n":4,"i":1}]}"#,
                &["/a/*/n value 7 → 9"],
            ),
            (r#"{"a":[[1,2]]}"#, r#"{"a":[[2,1]]}"#, &["/a/* order [1,2] → [2,1]"]),
            (r#"{"a":{"b":1}}"#, r#"{"a":[1]}"#, &["/a type {\"b\":1} → [1]"]),
            (r#"{"b":[1,2]}"#, r#"{"b":[2,1]}"#, &["/b order [1,2] → [2,1]"]),
        ],
    );
    check(r#"{"unordered":[{"path":"body"},{"path":"/*"}]}"#, &[("[[1,2],[3]]", "[[3],[2,1]]", &[])]);
}

#[test]
fn elements_with_equal_keys_belong_together() {
    check(
        r#"{"unordered":[{"path":"/a","key":"/m/id"}]}"#,
        &[
            (
                r#"{"a":[{"m":{"id":1},"v":1},{"m":{"id":2},"v":2}]}"#,
                r#"{"a":[{"v":3,"m":{"id":2.0}},{"m":{"id":1},"v":1}]}"#,
                &["/a/*/v value 2 → 3"],
            ),
            (
                r#"{"a":[{"m":{"id":1}},{"m":{"id":2}}]}"#,
                r#"{"a":[{"m":{"id":3}},{"m":{"id":1}}]}"#,
                &["/a/* missing {\"m\":{\"id\":2}} → -", "/a/* added - → {\"m\":{\"id\":3}}"],
            ),
            (r#"{"a":[{"m":{"id":1,"id":2}},7,8]}"#, r#"{"a":[8,7,{"m":{"id":9,"id":2}}]}"#, &[]),
            (r#"{"a":[1,{"m":{"id":1}}]}"#, r#"{"a":[{"m":{"id":1}},2]}"#, &["/a/* value 1 → 2"]),
            (r#"{"a":[{"m":[]},{"m":{}}]}"#, r#"{"a":[{"m":{}},{"m":[]}]}"#, &[]),
        ],
    );
    check(
        r#"{"unordered":[{"path":"body","key":"/0"}]}"#,
        &[(r#"[["x",1],["y",2]]"#, r#"[["y",2],["x",3]]"#, &["/*/* value 1 → 3"])],
    );
}

#[test]
fn a_subset_may_have_more_fields() {
    check(
        r#"{"subset":["/a"]}"#,
        &[
            (r#"{"a":{"b":{}}}"#, r#"{"a":{"b":{"x":1},"y":1}}"#, &[]),
            (r#"{"a":{"b":1}}"#, r#"{"a":{"c":1}}"#, &["/a/b missing 1 → -"]),
            (r#"{}"#, r#"{"a":1}"#, &["/a added - → 1"]),
            (r#"{"a":[1]}"#, r#"{"a":[1,2]}"#, &["/a/* added - → 2"]),
            (r#"{"a":[{}]}"#, r#"{"a":[{"n":2}]}"#, &[]),
        ],
    );
    check(r#"{"subset":["body"]}"#, &[("{}", r#"{"a":1}"#, &[])]);
}

#[test]
fn what_rules_redact_is_never_shown() {
    let rules = r#"{"redact":["/s","/u/*/token"]}"#;
    let cases = [
        (r#"{"s":"secret"}"#, r#"{"s":"hidden"}"#, "/s value"),
        (r#"{"s":{"x":"secret"}}"#, r#"{"s":{"x":"hidden"}}"#, "/s/x value"),
        (r#"{"s":"secret"}"#, r#"{}"#, "/s missing"),
        (r#"{}"#, r#"{"\u0073":["hidden"]}"#, "/s added"),
        (r#"{"s":["secret"]}"#, r#"{"s":"hidden"}"#, "/s type"),
        (r#"{"s":["secret","hidden"]}"#, r#"{"s":["hidden","secret"]}"#, "/s order"),
        (r#"{"u":[{"token":"secret"}]}"#, r#"{"u":[{"token":"hidden"}]}"#, "/u/*/token value"),
        (r#"{"u":[{"token":"secret"}]}"#, r#"{"u":[]}"#, "/u/* missing"),
        (r#"{"u":[{"token":"secret"}]}"#, r#"{}"#, "/u missing"),
        (r#"[{"u":[{"token":"secret"}]}]"#, r#"{"u":[{"token":"hidden"}]}"#, "body type"),
        (
            r#"{"u":[{"token":"secret"},{"token":"hidden"}]}"#,
            r#"{"u":[{"token":"hidden"},{"token":"secret"}]}"#,
            "/u order",
        ),
    ];
    for (primary, shadow, what) in cases {
        let found = compared(rules, primary, shadow).expect("both are JSON");
        assert_eq!(found.len(), 1, "{primary} {shadow}: {found:?}");
        let line = found.join("\n");
        assert!(line.starts_with(what) && line.contains(REDACTED), "{primary} {shadow}: {line}");
        assert!(!line.contains("hidden"), "{line}");
        assert!(!line.contains("secret") || what == "body type", "{line}");
    }
    check(rules, &[(r#"{"u":"shown"}"#, r#"{"u":1}"#, &["/u type \"shown\" → 1"])]);
}

#[test]
fn what_is_not_json_is_said_of_each_side() {
    let not_json = |primary, shadow| Err(NotCompared::NotJson { primary, shadow });
    for (primary, shadow, expected) in [
        ("", "{}", not_json(true, false)),
        ("{}", "", not_json(false, true)),
        (" ", "", not_json(true, true)),
        ("[1,]", "[1,2]", not_json(true, false)),
        ("[1,2", "[1,2]", not_json(true, false)),
        ("{\"a\":1,}", "{\"b\":1}", not_json(true, false)),
        ("{\"a\":1}", "{\"a\":1,}", not_json(false, true)),
        ("{\"a\":1 \"b\"}", "{\"a\" 1}", not_json(true, true)),
        ("[01]", "[1]", not_json(true, false)),
        ("[1] x", "[1]", not_json(true, false)),
        ("[{},[]] ", "[[],{}}", not_json(false, true)),
        ("\"a\tb\"", "\"a\\tb\"", not_json(true, false)),
        ("[truth]", "[true]", not_json(true, false)),
        ("{\"a\":1}", "{\"b\":nope}", not_json(false, true)),
    ] {
        assert_eq!(compared("{}", primary, shadow), expected, "{primary}   {shadow}");
    }
}

#[test]
fn a_failure_leaves_the_sink_as_it_was() {
    let mut sink = Sink::default();
    let rules = BodyRules::default();
    compare(b"[1]", b"[2]", &rules, &mut sink).expect("both are JSON");
    let failed = compare(b"{\"a\":1,\"b\":1}", b"{\"a\":2,\"b\":}", &rules, &mut sink);
    assert_eq!(failed, Err(NotCompared::NotJson { primary: false, shadow: true }));
    assert_eq!(sink.into_parts().0.len(), 1);
}

#[test]
fn depth_is_bounded() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let nested = |depth: usize, inner: &str| format!("{}{inner}{}", open.repeat(depth), close.repeat(depth));
        let found = compared("{}", &nested(MAX_DEPTH, "1"), &nested(MAX_DEPTH, "2"));
        assert_eq!(found.map(|found| found.len()), Ok(1), "{open}");
        for (primary, shadow) in [(MAX_DEPTH + 1, 1), (1, MAX_DEPTH + 1), (MAX_DEPTH + 1, MAX_DEPTH + 1)] {
            let found = compared("{}", &nested(primary, "1"), &nested(shadow, "2"));
            assert_eq!(found, Err(NotCompared::TooDeep), "{open} {primary} {shadow}");
        }
        assert_eq!(compared("{}", &open.repeat(1_000_000), &open.repeat(999_999)), Err(NotCompared::TooDeep));
    }
}

#[test]
fn bytes_that_are_no_utf8_are_compared_and_shown() {
    assert_eq!(compared_bytes("{}", b"[\"\xff\"]", b"[ \"\xff\"]"), Ok(vec![]));
    assert_eq!(
        compared_bytes("{}", b"{\"\xff\":\"\xff\"}", b"{\"\xff\":\"\xfe\"}"),
        Ok(vec!["/\u{fffd} value \"\u{fffd}\" → \"\u{fffd}\"".to_owned()])
    );
}

#[test]
fn work_is_bounded() {
    // Each level is compared twice, in step and by key, since its keys are repeated.
    let nested = |inner: &str| format!("{}{inner}{}", "{\"a\":0,\"a\":".repeat(100), "}".repeat(100));
    assert_eq!(compared("{}", &nested("1"), &nested("2")), Err(NotCompared::TooComplex));
    // Each level is read again once, which is little where the nesting is that of real documents.
    let turned = |levels: usize, inner: &str, back: bool| {
        let (open, close) = if back { ("{\"b\":0,\"a\":", "}") } else { ("{\"a\":", ",\"b\":0}") };
        format!("{}{inner}{}", open.repeat(levels), close.repeat(levels))
    };
    let found = compared("{}", &turned(30, "1", false), &turned(30, "2", true));
    assert_eq!(found, Ok(vec![format!("{} value 1 → 2", "/a".repeat(30))]));
}

#[test]
fn the_deepest_documents_need_little_stack() {
    const STACK: usize = 1024 * 1024;
    let rules = r#"{"unordered":[{"path":"body"}],"ignore":["/*/x"]}"#;
    let wrapped = |(open, close): (&str, &str), inner: &str| {
        format!("[{}{inner}{},0]", open.repeat(MAX_DEPTH - 1), close.repeat(MAX_DEPTH - 1))
    };
    for (ours, theirs) in [
        (("[", "]"), ("[ ", "]")),
        (("[0,", "]"), ("[0, 1,", "]")),
        (("{\"a\":", "}"), ("{ \"a\":", "}")),
        (("{\"a\":", ",\"b\":1}"), ("{\"b\":2,\"a\":", "}")),
    ] {
        let (primary, shadow) = (wrapped(ours, "1"), wrapped(theirs, "2"));
        let run = move || compared("{}", &primary, &shadow).map(|_| compared(rules, &primary, &shadow)).is_ok();
        let thread = std::thread::Builder::new().stack_size(STACK).spawn(run).expect("a thread");
        assert!(thread.join().expect("no overflow"), "{ours:?}");
    }
}

#[test]
fn long_keys_are_cut_in_places() {
    let object = |value: u32| format!("{{\"{}\":{value}}}", "ä".repeat(1000));
    assert_eq!(compared("{}", &object(1), &object(2)), Ok(vec![format!("/{}… value 1 → 2", "ä".repeat(64))]));
}

#[test]
fn a_place_is_found_once_however_often_it_differs() {
    let list = |value: u32| format!("[{}0]", format!("{{\"t\":{value}}},").repeat(1000));
    assert_eq!(compared("{}", &list(1), &list(2)), Ok(vec!["/*/t value 1 → 2".to_owned()]));
}

#[test]
fn moved_elements_are_known_beside_tolerance_and_repeated_keys() {
    check(
        r#"{"tolerance":[{"path":"/*/n","absolute":1}]}"#,
        &[
            (
                "[{\"n\":1},{\"n\":2},{\"n\":9}]",
                "[{\"n\":2},{\"n\":9},{\"n\":1}]",
                &["body order [{\"n\":1},{\"n\":2},{\"n\":9}] → [{\"n\":2},{\"n\":9},{\"n\":1}]"],
            ),
            (
                r#"[{"n":0,"i":0},{"n":1,"i":1}]"#,
                r#"[{"n":50,"i":1}]"#,
                &["/*/n value 1 → 50", "/* missing {\"n\":0,\"i\":0} → -"],
            ),
            (r#"[{"n":0,"i":0},{"n":1,"i":1}]"#, r#"[{"n":2,"i":1}]"#, &["/* missing {\"n\":0,\"i\":0} → -"]),
        ],
    );
    let found =
        compared("{}", r#"[{"a":1,"a":2,"x":1},{"a":5,"a":2,"x":2}]"#, r#"[{"a":7,"a":2,"x":2},{"a":9,"a":2,"x":1}]"#)
            .expect("both are JSON");
    assert!(found.len() == 1 && found.iter().all(|line| line.starts_with("body order ")), "{found:?}");
}
