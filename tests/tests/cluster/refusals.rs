//! What cannot work is refused before anything is applied, with the next step.

use mirror_tests::cluster::{ISTIO_SYSTEM, Kind, on_cluster};
use serde_json::json;

use crate::shop::{self, done, refused};

#[test]
fn what_cannot_work_is_refused_before_anything_is_applied() {
    on_cluster(async |cluster| {
        let hello = shop::open(cluster, "refused").await;
        let (admin, namespace) = (cluster.admin(), hello.namespace());
        for (arguments, expected) in [
            (
                &["helo", "--to", "next"][..],
                format!("there is no Knative Service helo in namespace {namespace}; did you mean hello?"),
            ),
            (
                &["hello", "--to", "nxt"],
                format!(
                    "`nxt` is neither a tag nor a revision of Route {namespace}/hello; did you mean next?\n\
                     there are: tags next; revisions hello-v1, hello-v2, hello-v3"
                ),
            ),
            (
                &["hello", "--to", "ksvc/helo"],
                format!("there is no Knative Service helo in namespace {namespace}; did you mean hello?"),
            ),
            (&["hello", "--to", "ksvc/hello"], "--to: ksvc/hello is the mirrored Service itself".to_owned()),
            (
                &["hello", "--to", "hello-v3"],
                "revision hello-v3 cannot be reached: Knative routes nothing to it; give it a tag: add --tag NAME"
                    .to_owned(),
            ),
            (
                &["hello", "--to", "hello-v1"],
                format!("revision hello-v1 serves all users of {namespace}/hello already"),
            ),
        ] {
            for command in [&["enable"][..], &["enable", "--dry-run=server"], &["generate"]] {
                let ended = admin.mirror(&[command, arguments, &["-n", namespace]].concat());
                assert!(refused(&ended).starts_with(&format!("error: {expected}")), "{expected}\n{ended:#?}");
            }
        }
        let nothing = |names: Vec<String>| assert_eq!(names, Vec::<String>::new());
        let labels = format!("kubectl-mirror/namespace={namespace}");
        nothing(cluster.objects().names(Kind::VIRTUAL_SERVICE, namespace, &labels).await);
        nothing(cluster.objects().names(Kind::ENVOY_FILTER, ISTIO_SYSTEM, &labels).await);
    });
}

#[test]
fn a_revision_that_is_not_ready_is_refused() {
    on_cluster(async |cluster| {
        let hello = shop::open(cluster, "unready").await;
        let (admin, namespace) = (cluster.admin(), hello.namespace());
        let condition =
            json!({"type": "Ready", "status": "False", "reason": "ImagePullBackOff", "message": "no such image"});
        let patch = json!({"status": {"conditions": [condition]}}).to_string();
        let status = ["patch", "revision.serving.knative.dev", "hello-v2", "--subresource=status", "--type=merge"];
        admin.kubectl_ok(&[&status[..], &["-p", &patch, "-n", namespace]].concat());
        let ended = admin.mirror(&["enable", "hello", "--to", "next", "-n", namespace]);
        let message = refused(&ended);
        assert!(message.contains(&format!("revision {namespace}/hello-v2 is not ready: ")), "{message}");
        assert!(message.contains("no such image"), "{message}");
        assert!(message.contains(&format!("`kubectl describe revision hello-v2 -n {namespace}`")), "{message}");
    });
}

#[test]
fn a_service_of_another_ingress_class_is_refused() {
    on_cluster(async |cluster| {
        let hello = shop::open(cluster, "classes").await;
        let (admin, namespace) = (cluster.admin(), hello.namespace());
        let class = "networking.knative.dev/ingress.class=kourier.ingress.networking.knative.dev";
        admin.kubectl_ok(&["annotate", "kingress", "hello", class, "--overwrite", "-n", namespace]);
        let ended = admin.mirror(&["enable", "hello", "--to", "next", "-n", namespace]);
        let expected = format!(
            "error: Route {namespace}/hello is served by ingress class kourier.ingress.networking.knative.dev, not by Istio"
        );
        assert!(refused(&ended).starts_with(&expected), "{ended:#?}");
        assert_eq!(done(&admin.mirror(&["list", "-n", namespace])), "");
    });
}
