//! Kubectl's habits: which cluster, namespace and user are meant, what goes to stdout and to stderr, exit statuses, and
//! completion.

use mirror_tests::cluster::{Cluster, User, on_cluster};
use mirror_tests::program::Ended;
use serde_json::{Value, json};

use crate::hello::with_filter;
use crate::shop::{self, done, refused};

/// A copy of the admin's kubeconfig, changed.
fn kubeconfig(cluster: &Cluster, name: &str, change: impl Fn(&mut Value)) -> String {
    let text = std::fs::read_to_string(cluster.admin().kubeconfig()).expect("a kubeconfig");
    let mut config: Value = serde_json::from_str(&text).expect("the harness writes JSON");
    change(&mut config);
    let file = cluster.folder().join(name);
    std::fs::write(&file, config.to_string()).expect("the kubeconfig is written");
    file.to_str().expect("UTF-8").to_owned()
}

/// `kubectl` with these arguments and this kubeconfig alone.
fn kubectl(user: &User, kubeconfig: &str, arguments: &[&str]) -> Ended {
    Ended::of(user.command("kubectl").env("KUBECONFIG", kubeconfig).args(arguments))
}

#[test]
fn the_namespace_is_the_contexts_unless_it_is_said() {
    with_filter(async |cluster| {
        let (hello, other) = (shop::open(cluster, "mine").await, shop::open(cluster, "theirs").await);
        let admin = cluster.admin();
        for service in [&hello, &other] {
            let wish = ["mirror", "enable", "hello", "--to", "next", "--strategy", "virtualservice", "--wait=false"];
            done(&admin.kubectl(&[&wish[..], &["-n", service.namespace()]].concat()));
        }
        let config = kubeconfig(cluster, "two-contexts", |config| {
            config["contexts"][0]["context"]["namespace"] = json!(hello.namespace());
            let mut second = config["contexts"][0].clone();
            second["name"] = json!("second");
            second["context"]["namespace"] = json!(other.namespace());
            config["contexts"].as_array_mut().expect("a list").push(second);
        });
        let list = |options: &[&str]| {
            let ended = kubectl(admin, &config, &[&["mirror", "list", "-o", "json"], options].concat());
            done(&ended);
            let mirrors = ended.json()["mirrors"].as_array().expect("a list").clone();
            mirrors.iter().map(|mirror| mirror["namespace"].as_str().expect("a text").to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(list(&[]), [hello.namespace()]);
        assert_eq!(list(&["-n", other.namespace()]), [other.namespace()]);
        assert_eq!(list(&["--context", "second"]), [other.namespace()]);
        assert_eq!(list(&["--kubeconfig", admin.kubeconfig().to_str().expect("UTF-8")]), Vec::<String>::new());
        let all = list(&["-A"]);
        assert!([&hello, &other].iter().all(|service| all.contains(&service.namespace().to_owned())), "{all:?}");
        let table = kubectl(admin, &config, &["mirror", "list", "-A"]);
        assert!(done(&table).starts_with("NAMESPACE "), "{table:#?}");

        // Another user.
        let refused = kubectl(admin, &config, &["mirror", "enable", "hello", "--to", "next", "--as", "nobody"]);
        assert!(refused.stderr.contains("User \"nobody\" cannot "), "{refused:#?}");
        for service in [&hello, &other] {
            done(&admin.kubectl(&["mirror", "disable", "--all", "-n", service.namespace()]));
        }
    });
}

#[test]
fn data_goes_to_stdout_and_all_else_to_stderr() {
    with_filter(async |cluster| {
        let hello = shop::open(cluster, "streams").await;
        let (admin, namespace) = (cluster.admin(), hello.namespace());
        let mirror = |arguments: &[&str]| admin.kubectl(&[&["mirror"], arguments, &["-n", namespace]].concat());
        let is = |ended: &Ended, status: i32, stdout: &str, stderr: &str| {
            assert_eq!((ended.status, &*ended.stdout, &*ended.stderr), (Some(status), stdout, stderr));
        };
        is(&mirror(&["list"]), 0, "", &format!("No mirrors found in namespace {namespace}.\n"));
        is(
            &mirror(&["status", "hello"]),
            2,
            "",
            &format!(
                "error: mirror.kubectl-mirror \"hello\" not found in namespace {namespace}; see `kubectl mirror list -A`\n"
            ),
        );
        is(
            &mirror(&["disable", "hello"]),
            2,
            "",
            &format!(
                "error: mirror.kubectl-mirror \"hello\" not found in namespace {namespace}; see `kubectl mirror list -A`\n"
            ),
        );
        is(&mirror(&["disable", "--all"]), 0, "", &format!("No mirrors found in namespace {namespace}.\n"));
        let host = hello.host();
        let enabled = "mirror.kubectl-mirror/hello created\n";
        let told = format!(
            "5 % of the GET, HEAD, OPTIONS requests to {host} are copied to hello-v2.\n\
             Live on 2 of 2 gateway pods. See what differs: kubectl mirror report hello\n"
        );
        is(&mirror(&["enable", "hello", "--to", "next", "--percent", "5"]), 0, enabled, &told);
        is(&mirror(&["list", "-o", "name"]), 0, "mirror.kubectl-mirror/hello\n", "");
        let status = mirror(&["status", "hello"]);
        assert!(
            done(&status)
                .starts_with("NAME   TO    PERCENT  STRATEGY  GATEWAYS  STATE  AGE\nhello  next      5 %  overlay ")
        );
        assert_eq!(status.stderr, "");
        let shown = mirror(&["list", "-o", "name", "-v=6"]);
        assert_eq!(done(&shown), "mirror.kubectl-mirror/hello\n");
        assert!(shown.stderr.lines().all(|line| line.starts_with("GET https://127.0.0.1:")), "{shown:#?}");
        assert!(shown.stderr.contains("/virtualservices?labelSelector="), "{shown:#?}");
        // A report with a condition that holds.
        let report = mirror(&["report", "hello", "--fail-on", "pairs<1"]);
        assert_eq!(report.status, Some(1), "{report:#?}");
        assert!(report.stdout.contains("No pairs have been counted."), "{report:#?}");
        assert!(report.stderr.contains("pairs<1"), "{report:#?}");
        is(&mirror(&["disable", "hello"]), 0, "mirror.kubectl-mirror/hello deleted\n", "");
        // Wrong usage.
        let wrong = mirror(&["enable", "hello"]);
        assert!(refused(&wrong).contains("--to <TARGET>"), "{wrong:#?}");
        let wrong = mirror(&["enable", "hello", "--to", "next", "--percent", "500"]);
        assert!(refused(&wrong).contains("expected more than 0 and at most 100"), "{wrong:#?}");
    });
}

#[test]
fn a_cluster_that_cannot_be_asked_is_told() {
    on_cluster(async |cluster| {
        let admin = cluster.admin();
        let told = |config: &str, options: &[&str], expected: &str| {
            let ended = kubectl(admin, config, &[&["mirror", "list"], options].concat());
            let message = refused(&ended);
            assert!(message.starts_with(&format!("error: {expected}")), "{expected}\n{message}");
        };
        let good = admin.kubeconfig().to_str().expect("UTF-8");
        told(good, &["--context", "nope"], "context \"nope\" does not exist in the kubeconfig; there are: rig\n");
        told(good, &["--kubeconfig", "/nonexistent"], "cannot read the kubeconfig /nonexistent: no such file\n");
        told("/nonexistent", &[], "there is no kubeconfig: /nonexistent does not exist\n");
        // Nobody listens on port 1.
        let nobody = kubeconfig(cluster, "nobody", |config| {
            config["clusters"][0]["cluster"]["server"] = json!("https://127.0.0.1:1");
        });
        told(&nobody, &[], "Unable to connect to the server: https://127.0.0.1:1: Connection refused");
        let stranger = kubeconfig(cluster, "stranger", |config| config["users"][0]["user"]["token"] = json!("wrong"));
        told(&stranger, &[], "You must be logged in to the server: https://127.0.0.1:");
        let broken = cluster.folder().join("broken");
        std::fs::write(&broken, "a: [").expect("the file is written");
        let broken = broken.to_str().expect("UTF-8");
        told(broken, &[], &format!("cannot read the kubeconfig {broken}: "));
    });
}

/// What kubectl completes the last of these words with.
fn completed(ended: &Ended) -> Vec<&str> {
    let mut lines: Vec<_> = done(ended).lines().map(|line| line.split('\t').next().unwrap_or_default()).collect();
    assert!(lines.pop().is_some_and(|directive| directive.starts_with(':')), "{ended:#?}");
    lines
}

#[test]
fn kubectl_completes_what_is_in_the_cluster() {
    on_cluster(async |cluster| {
        let hello = shop::open(cluster, "completed").await;
        let (admin, namespace) = (cluster.admin(), hello.namespace());
        let wish = ["enable", "hello", "--to", "next", "--strategy", "virtualservice", "--wait=false"];
        let complete = |words: &[&str]| admin.kubectl(&[&["__complete", "mirror"], words].concat());
        let in_namespace = |words: &[&str], last: &str| {
            let (command, rest) = words.split_first().expect("a command");
            complete(&[&[command, "-n", namespace], rest, &[last]].concat())
        };
        let none: [&str; 0] = [];
        assert_eq!(completed(&in_namespace(&["disable"], "h")), none);
        done(&admin.mirror(&[&wish[..], &["-n", namespace]].concat()));
        for command in ["enable", "generate", "status", "report", "diffs", "rules", "disable", "sync"] {
            assert_eq!(completed(&in_namespace(&[command], "h")), ["hello"], "{command}");
            assert_eq!(completed(&in_namespace(&[command], "x")), none, "{command}");
        }
        assert_eq!(
            completed(&in_namespace(&["enable", "hello", "--to"], "")),
            ["next", "hello-v1", "hello-v2", "hello-v3"]
        );
        assert_eq!(completed(&in_namespace(&["generate", "hello", "--to"], "n")), ["next"]);
        assert_eq!(completed(&in_namespace(&["enable", "hello"], "--to=hello-v2")), ["--to=hello-v2"]);
        assert_eq!(completed(&in_namespace(&["enable", "other", "--to"], "")), none);
        assert_eq!(completed(&complete(&["list", "-n", namespace])), [namespace]);
        assert_eq!(completed(&complete(&["list", "--context", ""])), ["rig"]);
        // Nobody's word that has no rights, or no cluster, is an error.
        for options in [&["--as", "nobody"][..], &["--kubeconfig", "/nonexistent"]] {
            let ended = in_namespace(&[&["enable"], options].concat(), "h");
            assert_eq!(completed(&ended), none);
            assert!(!ended.stderr.contains("error"), "{ended:#?}");
        }
        let folder = cluster.folder().to_str().expect("UTF-8");
        let rules = format!("{folder}/rules-to-complete.yaml");
        std::fs::write(&rules, "").expect("a file");
        assert_eq!(completed(&in_namespace(&["enable", "hello", "--rules"], &rules[..rules.len() - 6])), [&*rules]);
        done(&admin.mirror(&["disable", "hello", "-n", namespace]));
    });
}
