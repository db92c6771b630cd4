//! `--tag`: the one change to a user's object, a tag without traffic in the Service's spec, and its undoing.

use kubectl_mirror::cluster::Connection;
use kubectl_mirror::kinds;
use kubectl_mirror::steps::tagging;
use mirror_tests::cluster::{Cluster, Kind, Service, Traffic, on_cluster};
use serde_json::{Value, json};

use crate::hello::with_filter;
use crate::shop::{self, done, refused};

/// The Service's split as its owner wants it.
async fn wanted(cluster: &Cluster, hello: &Service) -> Value {
    let service = cluster.objects().get(Kind::KNATIVE_SERVICE, hello.namespace(), "hello").await;
    service.expect("the Service")["spec"]["traffic"].clone()
}

#[test]
fn a_tag_comes_and_goes_with_the_mirror() {
    with_filter(async |cluster| {
        let hello = shop::open(cluster, "tagged").await;
        let (admin, namespace) = (cluster.admin(), hello.namespace());
        for strategy in ["overlay", "virtualservice"] {
            let before = wanted(cluster, &hello).await;
            let wish = ["enable", "hello", "--to", "hello-v3", "--tag", "trial", "--strategy", strategy];
            let enable = |options: &[&str]| admin.mirror(&[&wish, &["-n", namespace][..], options].concat());
            for mode in ["--dry-run=client", "--dry-run=server"] {
                done(&enable(&[mode]));
                assert_eq!(wanted(cluster, &hello).await, before);
            }
            let enabled = enable(&[]);
            assert_eq!(done(&enabled), "mirror.kubectl-mirror/hello created\n");
            assert!(enabled.stderr.starts_with("revision hello-v3 has the tag trial now\n"), "{enabled:#?}");
            let mut tagged = before.clone();
            tagged
                .as_array_mut()
                .expect("a list")
                .push(json!({"tag": "trial", "revisionName": "hello-v3", "percent": 0}));
            assert_eq!(wanted(cluster, &hello).await, tagged);

            // Knative follows; the mirror stays as it is, with the tag that it added.
            hello
                .traffic(&[Traffic::percent("v1", 100), Traffic::tag("v2", "next"), Traffic::tag("v3", "trial")])
                .await;
            assert_eq!(done(&enable(&[])), "mirror.kubectl-mirror/hello unchanged\n");
            done(&admin.mirror(&["disable", "hello", "-n", namespace]));
            hello.traffic(&[Traffic::percent("v1", 100), Traffic::tag("v2", "next")]).await;
            assert_eq!(wanted(cluster, &hello).await, before);
        }
    });
}

#[test]
fn a_tag_goes_when_the_mirror_turns_to_another_revision() {
    with_filter(async |cluster| {
        let hello = shop::open(cluster, "turned").await;
        let (admin, namespace) = (cluster.admin(), hello.namespace());
        let before = wanted(cluster, &hello).await;
        let enable = |to: &[&str]| {
            let wish = ["enable", "hello", "--wait=false", "--strategy", "virtualservice", "-n", namespace];
            admin.mirror(&[&wish, to].concat())
        };
        done(&enable(&["--to", "hello-v3", "--tag", "trial"]));
        assert_ne!(wanted(cluster, &hello).await, before);
        done(&enable(&["--to", "next"]));
        assert_eq!(wanted(cluster, &hello).await, before);
        done(&admin.mirror(&["disable", "hello", "-n", namespace]));
    });
}

#[test]
fn a_tag_that_means_another_revision_is_refused() {
    on_cluster(async |cluster| {
        let hello = shop::open(cluster, "taken").await;
        let (admin, namespace) = (cluster.admin(), hello.namespace());
        let before = wanted(cluster, &hello).await;
        let ended = admin.mirror(&["enable", "hello", "--to", "hello-v3", "--tag", "next", "-n", namespace]);
        let expected = format!("--tag next: Service {namespace}/hello has this tag for hello-v2 already");
        assert!(refused(&ended).contains(&expected), "{ended:#?}");
        assert_eq!(wanted(cluster, &hello).await, before);
        assert_eq!(done(&admin.mirror(&["list", "-n", namespace])), "");
    });
}

#[test]
fn a_change_by_somebody_else_is_not_lost() {
    on_cluster(async |cluster| {
        let hello = shop::open(cluster, "raced").await;
        let connection =
            Connection { kubeconfig: Some(cluster.admin().kubeconfig().to_owned()), ..Connection::default() };
        let reached = connection.connect().await.expect("a cluster");
        let seen: kinds::Service = reached.get(hello.namespace(), "hello").await.expect("the Service");
        // After it was read, and before it is written.
        hello.traffic(&[Traffic::percent("v1", 60), Traffic::percent("v2", 40).tagged("next")]).await;
        let theirs = wanted(cluster, &hello).await;
        let error = tagging::add(&reached, &seen, "trial", "hello-v3", false).await.expect_err("it was changed");
        assert_eq!(
            error.to_string(),
            "services.serving.knative.dev \"hello\" has been changed by somebody else in the meantime; please run the \
             command again"
        );
        assert_eq!(wanted(cluster, &hello).await, theirs);
    });
}
