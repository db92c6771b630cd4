//! Mirrors that are generated, kept as files and applied by others.

use std::path::Path;

use mirror_tests::cluster::{Cluster, ISTIO_SYSTEM, Kind, User};
use mirror_tests::program::Ended;
use serde_json::{Value, json};

use crate::hello::with_filter;
use crate::shop::{self, done};

const STRATEGIES: [&str; 2] = ["overlay", "virtualservice"];

/// The object of a mirror of a [`shop`], without what only the server knows.
async fn stored(cluster: &Cluster, namespace: &str, strategy: &str) -> Option<Value> {
    let overlay = format!("mirror.{namespace}.hello.ingressgateway");
    let (kind, namespace, name) = match strategy {
        "overlay" => (Kind::ENVOY_FILTER, ISTIO_SYSTEM, &*overlay),
        _ => (Kind::VIRTUAL_SERVICE, namespace, "hello-mirror"),
    };
    let mut object = cluster.objects().get(kind, namespace, name).await?;
    let of_file = |field: &String, _: &mut Value| ["name", "namespace", "labels", "annotations"].contains(&&**field);
    object["metadata"].as_object_mut().expect("metadata").retain(of_file);
    Some(object)
}

#[test]
fn what_is_generated_is_what_enable_applies() {
    with_filter(async |cluster| {
        let hello = shop::open(cluster, "generated").await;
        let (admin, namespace) = (cluster.admin(), hello.namespace());
        for strategy in STRATEGIES {
            let wish = ["hello", "--to", "next", "--percent", "5", "--strategy", strategy, "-n", namespace];
            let generate = |options: &[&str]| admin.mirror(&[&["generate"], &wish[..], options].concat());
            let enable = |options: &[&str]| admin.mirror(&[&["enable"], &wish[..], options].concat());
            let printed = generate(&[]);
            assert_eq!(printed.stderr, "");
            assert_eq!(done(&printed), done(&generate(&[])), "it is stable");
            assert_eq!(done(&printed), done(&enable(&["--dry-run=client", "-o", "yaml"])));
            done(&enable(&[]));
            let enabled = stored(cluster, namespace, strategy).await.expect("the mirror");
            done(&admin.mirror(&["disable", "hello", "-n", namespace]));
            assert_eq!(stored(cluster, namespace, strategy).await, None);
            done(&admin.kubectl_with(&["create", "-f", "-"], done(&printed)));
            let created = stored(cluster, namespace, strategy).await.expect("the mirror");
            assert_eq!(created, enabled);
            done(&admin.mirror(&["disable", "hello", "-n", namespace]));
        }
    });
}

#[test]
fn what_is_generated_applies_and_is_a_mirror_as_any_other() {
    with_filter(async |cluster| {
        let hello = shop::open(cluster, "gitops").await;
        let (admin, namespace) = (cluster.admin(), hello.namespace());
        for strategy in STRATEGIES {
            for how in [&["apply", "-f", "-"][..], &["apply", "--server-side", "-f", "-"]] {
                let wish = ["generate", "hello", "--to", "next", "--percent", "5", "--strategy", strategy];
                let printed = admin.mirror(&[&wish[..], &["-n", namespace]].concat());
                // Twice, as GitOps does: the second time nothing changes.
                done(&admin.kubectl_with(how, done(&printed)));
                let applied = stored(cluster, namespace, strategy).await;
                let again = admin.kubectl_with(how, done(&printed));
                assert_eq!(again.stderr, "", "{how:?}");
                done(&again);
                assert_eq!(stored(cluster, namespace, strategy).await, applied);

                assert!(done(&admin.mirror(&["list", "-n", namespace])).contains("hello  next"));
                let status = admin.mirror(&["status", "hello", "-n", namespace, "-o", "json"]);
                done(&status);
                let mirror = &status.json()["mirrors"][0];
                assert_eq!(mirror["strategy"], strategy);
                assert_eq!((&mirror["stale"], &mirror["impossible"]), (&json!([]), &Value::Null));
                let disabled = admin.mirror(&["disable", "hello", "-n", namespace]);
                assert_eq!(done(&disabled), "mirror.kubectl-mirror/hello deleted\n");
                assert_eq!(stored(cluster, namespace, strategy).await, None);
            }
        }
    });
}

/// The plugin with these arguments where there is no cluster to be found.
fn without_cluster(user: &User, arguments: &[&str]) -> Ended {
    let mut command = user.command("kubectl-mirror");
    Ended::of(command.env_remove("KUBECONFIG").env("HOME", "/nonexistent").args(arguments))
}

#[test]
fn a_route_in_a_file_is_enough() {
    with_filter(async |cluster| {
        let hello = shop::open(cluster, "files").await;
        let (admin, namespace) = (cluster.admin(), hello.namespace());
        let file = cluster.folder().join(format!("{namespace}.yaml"));
        let save = |file: &Path, kinds: &str| {
            let yaml = admin.kubectl_ok(&["get", kinds, "hello", "-n", namespace, "-o", "yaml"]);
            std::fs::write(file, yaml).expect("the file is written");
        };
        save(&file, "route.serving.knative.dev");
        let path = file.to_str().expect("UTF-8");
        for strategy in STRATEGIES {
            let wish = ["generate", "hello", "--to", "next", "--percent", "5", "--strategy", strategy];
            let online = admin.mirror(&[&wish[..], &["-n", namespace]].concat());
            let offline = without_cluster(admin, &[&wish[..], &["-f", path]].concat());
            assert_eq!(done(&offline), done(&online));
            assert_eq!(offline.stderr, "");
        }
        let ended = without_cluster(admin, &["generate", "helo", "--to", "next", "-f", path]);
        assert_eq!((ended.status, &*ended.stdout), (Some(2), ""));
        assert!(ended.stderr.contains("the files hold no Route helo; there are: hello"), "{ended:#?}");
        let ended = without_cluster(admin, &["generate", "hello", "--to", "next"]);
        assert!(ended.stderr.starts_with("error: there is no kubeconfig"), "{ended:#?}");
    });
}
