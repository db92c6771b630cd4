//! A Route that changes while it is mirrored: users get what the Route says, and what the candidate itself answers is not
//! compared with it.

use mirror_tests::client::Request;
use mirror_tests::cluster::Traffic;
use mirror_tests::wait;

use super::hello::{Hello, SHADOW, send, with_filter};

/// How many of [`REQUESTS`] that are sent through each gateway are users' requests that v2 answers.
async fn served_by_v2(hello: &Hello, path: &str) -> usize {
    for gateway in hello.cluster.gateways() {
        for _ in 0..REQUESTS {
            send(gateway, false, &Request::get(path).host(&hello.service.host())).await;
        }
    }
    let seen = hello.v2.seen();
    seen.iter().filter(|seen| seen.path == path && seen.header("x-mirror-role").is_empty()).count()
}

const REQUESTS: usize = 50;

/// 100 is expected of 200, with a standard deviation of 7.
fn assert_half(hello: &Hello, served: usize) {
    let all = REQUESTS * hello.cluster.gateways().len();
    assert!((all / 5..all - all / 5).contains(&served), "{served} of {all}");
}

fn split(v1: u32, v2: u32) -> [Traffic; 2] {
    [Traffic::percent("v1", v1), Traffic::percent("v2", v2).tagged("v2")]
}

/// Waits until the report counts as many pairs as there were copies, and gives how many were not compared since v2 had
/// answered the user too.
async fn same_revision(hello: &Hello) -> u64 {
    let counted = hello.counted().await;
    assert!(
        counted.iter().all(|(outcome, _)| outcome == "match" || outcome == "skipped (same_revision)"),
        "{counted:?}"
    );
    counted.iter().find(|(outcome, _)| outcome.starts_with("skipped")).map_or(0, |(_, pairs)| *pairs)
}

#[test]
fn an_overlay_follows_the_split_at_once() {
    with_filter(async |cluster| {
        let mut hello = Hello::start(cluster).await;
        hello.enable(&[]);
        assert_eq!(served_by_v2(&hello, "/before").await, 0);
        hello.service.traffic(&split(50, 50)).await;
        let served = served_by_v2(&hello, "/half").await;
        assert_half(&hello, served);
        assert_eq!(hello.status()["state"], "Live");
        hello.stop_steady().await;
        let skipped = same_revision(&hello).await;
        assert!(skipped >= served as u64, "{skipped} of {served}");

        hello.start_steady();
        hello.service.traffic(&split(0, 100)).await;
        assert_eq!(served_by_v2(&hello, "/all").await, REQUESTS * cluster.gateways().len());
        hello.stop_steady().await;
        same_revision(&hello).await;
        hello.mirror_ok(&["disable", "hello"]);
    });
}

#[test]
fn a_virtual_service_follows_the_split_when_it_is_synced() {
    with_filter(async |cluster| {
        let mut hello = Hello::start(cluster).await;
        hello.enable(&["--strategy", "virtualservice"]);
        hello.service.traffic(&split(50, 50)).await;
        assert_eq!(served_by_v2(&hello, "/stale").await, 0);
        let status = hello.until_state("Stale").await;
        assert_eq!(status["stale"][0], "the Route's split has changed since");
        let said = hello.mirror_ok(&["sync", "hello"]);
        assert_eq!(said.stdout, "mirror.kubectl-mirror/hello configured\n");
        hello.until_state("Live").await;
        let served = served_by_v2(&hello, "/synced").await;
        assert_half(&hello, served);
        hello.stop_steady().await;
        let skipped = same_revision(&hello).await;
        assert!(skipped >= served as u64, "{skipped} of {served}");
        hello.mirror_ok(&["disable", "hello"]);
    });
}

#[test]
fn a_mirror_goes_on_while_a_new_revision_takes_over() {
    with_filter(async |cluster| {
        let mut hello = Hello::start(cluster).await;
        hello.enable(&[]);
        hello.until_copied().await;
        // The candidate stays what it is; users go to a third version.
        hello.service.revision("v3", hello.v1.address()).await;
        hello.service.traffic(&[Traffic::percent("v3", 100), Traffic::tag("v2", "v2")]).await;
        assert_eq!(hello.status()["state"], "Live");
        let is_v3 = |seen: &mirror_tests::backend::Seen| seen.header("knative-serving-revision") == "hello-v3";
        wait::until("users to be served by v3", async || hello.v1.seen().iter().any(is_v3).then_some(())).await;
        hello.until_copied().await;
        hello.stop_steady().await;
        let copies = hello.seen_as(SHADOW).len() as u64;
        assert_eq!(hello.counted().await, [("match".to_owned(), copies)]);
        hello.mirror_ok(&["disable", "hello"]);
    });
}
