//! A service to try commands on, and how their ends are judged.

use mirror_tests::cluster::{Cluster, Service, Traffic};
use mirror_tests::program::Ended;

/// The Service `hello` in a namespace of its own: v1 serves its users, v2 has the tag `next`, and nothing leads to v3.
/// Nobody answers for it.
pub async fn open(cluster: &'static Cluster, prefix: &str) -> Service {
    let namespace = cluster.namespace(prefix).await;
    let nobody = ([127, 0, 0, 1], 9).into();
    let mut hello = Service::new(cluster, &namespace, "hello");
    for revision in ["v1", "v2", "v3"] {
        hello.revision(revision, nobody).await;
    }
    hello.traffic(&[Traffic::percent("v1", 100), Traffic::tag("v2", "next")]).await;
    // As Knative labels a revision that no Route refers to.
    let unrouted = ["label", "revision.serving.knative.dev", "hello-v3", "-n", &namespace, "--overwrite"];
    cluster.admin().kubectl_ok(&[&unrouted[..], &["serving.knative.dev/routingState=reserve"]].concat());
    hello
}

/// What a command wrote to stdout that has done what it was asked for.
pub fn done(ended: &Ended) -> &str {
    assert_eq!(ended.status, Some(0), "{ended:#?}");
    &ended.stdout
}

/// What a command wrote to stderr that has refused, without any data.
pub fn refused(ended: &Ended) -> &str {
    assert_eq!(ended.status, Some(2), "{ended:#?}");
    assert_eq!(ended.stdout, "", "{ended:#?}");
    &ended.stderr
}
