//! What is equal by which rules, as text and for programs.

use clap::Parser;
use mirror_core::config::Rules;

use super::show::Shown;
use super::*;
use crate::report::table::Look;

fn rules(yaml: &str) -> Rules {
    rules::parse("rules.yaml", yaml).expect("good rules")
}

fn checked(yaml: &str, ours: &str, theirs: &str) -> engine::Checked {
    let [ours, theirs] = [ours, theirs].map(|text| saved::parse(text.into()).expect(text).answer);
    engine::check(&rules(yaml), &ours, &theirs)
}

fn text(yaml: &str, ours: &str, theirs: &str) -> String {
    Shown::of(&checked(yaml, ours, theirs)).text(Look { width: 80, colour: false, wide: false })
}

#[test]
fn rules_that_take_effect_are_told_from_those_that_do_not() {
    const RULES: &str = "ignore: [/at, /nothing, header:x-build]\n\
        tolerance: [{path: /price, absolute: 0.01}]\n\
        unordered: [{path: /tags}]\n\
        subset: [/user]\n\
        endpoints: ['/users/{id}']\n";
    let ours = r#"{"at": 1, "price": 1.00, "tags": [1, 2], "user": {}, "name": "a"}"#;
    let theirs = r#"{"at": 2, "price": 1.01, "tags": [2, 1], "user": {"id": 1}, "name": "b"}"#;
    insta::assert_snapshot!("differs", text(RULES, ours, theirs));
    let all = format!("{RULES}redact: [/name]\n");
    insta::assert_snapshot!("redacted", Shown::of(&checked(&all, ours, theirs)).render(Format::Json).expect("JSON"));
    insta::assert_snapshot!("equal", text(RULES, ours, &theirs.replace("\"b\"", "\"a\"")));
}

#[test]
fn a_rule_takes_effect_even_where_another_says_the_same() {
    let checked = checked("ignore: [/a, /*]", r#"{"a": 1}"#, r#"{"a": 2}"#);
    assert_eq!(checked.verdict(), Verdict::Equal);
    assert!(checked.rules.iter().all(|(_, took_effect)| *took_effect), "{checked:?}");
}

#[test]
fn whole_responses_are_compared_with_status_and_headers() {
    let response = |status: &str, build: &str| {
        format!("HTTP/1.1 {status}\r\nx-build: {build}\r\ncontent-type: application/json\r\n\r\n{{\"a\": 1}}")
    };
    let (ours, theirs) = (response("200 OK", "1"), response("201 Created", "2"));
    insta::assert_snapshot!(text("", &ours, &theirs), @r"
    2 places differ.
      status  value
        200 │ 201
          ^ │   ^
      header:x-build  value
        1 │ 2
    ");
    assert_eq!(checked("ignore: [status, 'header:x-*']", &ours, &theirs).verdict(), Verdict::Equal);
}

#[test]
fn what_cannot_be_compared_is_neither() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
    let checked = checked("", &format!("{head}data: 1\n\n"), &format!("{head}data: 2\n\n"));
    assert_eq!(checked.verdict(), Verdict::NotCompared(mirror_core::outcome::Skip::Streaming));
}

/// How the command ends with files of this content.
async fn ended(rules: Option<&str>, files: &[&str]) -> Result<ExitStatus> {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("written");
        path
    };
    let rules = rules.map(|text| write("rules.yaml", text));
    let mut files = files.iter().enumerate().map(|(i, text)| write(&i.to_string(), text));
    run(Args { rules, primary: files.next(), candidate: files.next(), output: Format::Yaml }).await
}

#[tokio::test]
async fn the_exit_status_tells() {
    assert_eq!(ended(Some("ignore: [/a]"), &[]).await.expect("good rules"), ExitStatus::Success);
    assert_eq!(ended(None, &["[1.0]", "[1]"]).await.expect("equal"), ExitStatus::Success);
    assert_eq!(ended(None, &["[1]", "[2]"]).await.expect("compared"), ExitStatus::Differs);
    for (rules, files, said) in [
        (Some("ignored: []"), &[][..], "rules.yaml"),
        (None, &["HTTP/1.1 200 OK\n\n1", "1"], "is a whole response and"),
        (None, &["HTTP/1.1 200 OK\nx\n\n1", "1"], "line 2 is no header"),
    ] {
        let error = format!("{:#}", ended(rules, files).await.expect_err(said));
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn one_file_or_nothing_is_refused() {
    #[derive(clap::Parser)]
    struct Program {
        #[command(flatten)]
        _args: Args,
    }
    for arguments in [&["check"][..], &["check", "a"], &["check", "a", "b", "c"], &["check", "--rules", "r", "a"]] {
        assert!(Program::try_parse_from(arguments).is_err(), "{arguments:?}");
    }
    for arguments in [&["check", "--rules", "r"][..], &["check", "a", "b"]] {
        assert!(Program::try_parse_from(arguments).is_ok(), "{arguments:?}");
    }
}
