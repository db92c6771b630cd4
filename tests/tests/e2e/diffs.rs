//! `kubectl mirror diffs` on the demo's log: what differs there, and which of it looks like noise.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use mirror_tests::envoy::Binary;
use mirror_tests::on_each_envoy;
use mirror_tests::program::{self, Ended, Local, run};

/// One version of the demo's shop. Dropping it ends it.
struct Shop {
    child: Child,
    url: String,
}

impl Shop {
    fn start(version: &str) -> Self {
        let mut command = Command::new("python3");
        command.arg(demo("shop.py")).args(["--version", version, "--port", "0"]);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("python3 runs");
        let mut port = String::new();
        BufReader::new(child.stdout.take().expect("it is piped")).read_line(&mut port).expect("a port");
        Self { child, url: format!("http://127.0.0.1:{}", port.trim()) }
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn demo(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/demo").join(file)
}

/// Runs the demo's traffic through a mirror; its log is kept as long as what is returned.
async fn mirror(binary: &'static Binary, more: &[&str]) -> (Local, String) {
    let (primary, candidate) = (Shop::start("1"), Shop::start("2"));
    let traffic = demo("traffic.py").to_string_lossy().into_owned();
    let servers = ["--name", "demo/shop", "--primary", &primary.url, "--candidate", &candidate.url];
    let mut local = Local::start(binary, &[&servers[..], more, &["--", "python3", &traffic]].concat());
    let ended = local.output().await;
    assert_eq!(ended.status, Some(0), "{ended:#?}");
    let log = local.file("envoy.log").to_string_lossy().into_owned();
    (local, log)
}

fn found(ended: &Ended) -> BTreeSet<String> {
    let document = ended.json();
    assert_eq!(document["schema"], "kubectl-mirror.diffs/v1");
    let examples = document["examples"].as_array().expect("examples");
    let text = |value: &serde_json::Value| value.as_str().expect("a text").to_owned();
    examples.iter().map(|example| format!("{} {}", text(&example["place"]), text(&example["kind"]))).collect()
}

fn set(found: &[&str]) -> BTreeSet<String> {
    found.iter().map(|found| (*found).to_owned()).collect()
}

/// What the shop's version 2 does otherwise.
const FAILED: [&str; 6] =
    ["status value", "/error added", "/id missing", "/state missing", "/served_at missing", "/trace missing"];
const PLANNED: [&str; 2] = ["/stock added", "/items order"];

#[test]
fn the_demos_log_tells_each_difference_and_nothing_else() {
    on_each_envoy(async |binary| {
        let (_local, log) = mirror(binary, &[]).await;
        let stamps = ["/served_at value", "/trace value"];
        let all = [&FAILED[..], &PLANNED, &stamps, &["/price value"]].concat();
        assert_eq!(found(&run(&["diffs", "--file", &log, "-o", "json"])), set(&all));
        // What is asked for, and nothing else.
        for (arguments, expected) in [
            (&["--place", "/price"][..], &["/price value"][..]),
            (&["--kind", "order"], &["/items order"]),
            (&["--endpoint", "/orders/{id}", "--kind", "missing", "--place", "/id"], &["/id missing"]),
            (&["demo/shop", "--place", "status"], &["status value"]),
            (&["other", "--place", "status"], &[]),
            (&["--since", "2099-01-01T00:00:00Z"], &[]),
        ] {
            let ended = run(&[&["diffs", "--file", &log, "-o", "json"], arguments].concat());
            assert_eq!(found(&ended), set(expected), "{arguments:?}");
        }
        let last = run(&["diffs", "--file", &log, "-o", "json", "--last", "3"]).json();
        assert_eq!(last["examples"].as_array().map(Vec::len), Some(3));

        suggestions(&log);
        shown(&log);
    });
}

/// Only the stamps look like noise, and with the rules that are suggested for them they are gone.
fn suggestions(log: &str) {
    let suggested = run(&["diffs", "--file", log, "--suggest-rules"]);
    let rules = kubectl_mirror::rules::parse("suggested.yaml", &suggested.stdout).expect("good rules");
    let ignored: Vec<_> = rules.ignore.iter().map(ToString::to_string).collect();
    assert_eq!(ignored, ["/served_at", "/trace"], "{}", suggested.stdout);
    assert!(rules.tolerance.is_empty() && rules.subset.is_empty(), "{}", suggested.stdout);
    // Whether there are enough examples of the order depends on how requests fall to workers.
    assert!(rules.unordered.iter().all(|rule| rule.path.to_string() == "/items"), "{}", suggested.stdout);
    assert!(suggested.stdout.contains("* /price: looks like a real difference"), "{}", suggested.stdout);
}

/// As text: without a terminal never in colour, with one unless it is not wanted; nothing is wider than the terminal.
fn shown(log: &str) {
    let show = |columns: &str, colour: &[(&str, &str)], on_terminal: bool| {
        let mut command = Command::new(if on_terminal { "python3".as_ref() } else { program::path().as_os_str() });
        if on_terminal {
            command.args(["-c", "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)"]).arg(program::path());
        }
        command.args(["diffs", "--file", log]).env("COLUMNS", columns).env_remove("NO_COLOR");
        let output = command.envs(colour.iter().copied()).stdin(Stdio::null()).output().expect("it runs");
        assert!(output.status.success());
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    for columns in [80, 200] {
        let width = columns.to_string();
        let plain = show(&width, &[], false);
        assert!(!plain.contains('\u{1b}') && plain.contains("/price  value\n"), "{plain}");
        assert!(plain.lines().all(|line| line.chars().count() <= columns), "{plain}");
        let coloured = show(&width, &[], true);
        assert!(coloured.contains("\u{1b}[31m"), "{coloured}");
        let without = show(&width, &[("NO_COLOR", "1")], true);
        assert_eq!(without.replace("\r\n", "\n"), plain);
    }
    // A reader that has had enough is no error.
    let long = tempfile::NamedTempFile::new().expect("a file");
    let text = std::fs::read(log).expect("the log");
    std::fs::write(long.path(), text.repeat(50)).expect("written");
    let mut command = Command::new(program::path());
    command.args(["diffs", "-o", "json", "--file"]).arg(long.path());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    let mut stdout = child.stdout.take().expect("it is piped");
    stdout.read_exact(&mut [0; 10]).expect("some of it");
    drop(stdout);
    let output = child.wait_with_output().expect("a child of ours");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn with_a_secondary_and_rules_only_what_is_left_is_told() {
    on_each_envoy(async |binary| {
        let secondary = Shop::start("1");
        let rules = demo("rules.yaml").to_string_lossy().into_owned();
        let (_local, log) = mirror(binary, &["--secondary", &secondary.url, "--rules", &rules]).await;
        let left: Vec<_> =
            FAILED.into_iter().filter(|failed| *failed != "/error added").chain(["/price value"]).collect();
        assert_eq!(found(&run(&["diffs", "--file", &log, "-o", "json"])), set(&left));
        let suggested = run(&["diffs", "--file", &log, "--suggest-rules"]);
        let rules = kubectl_mirror::rules::parse("suggested.yaml", &suggested.stdout).expect("good rules");
        assert!(rules.is_empty(), "{}", suggested.stdout);
    });
}
