//! `status` tells the truth about a mirror in each state that is not the filter's affair, and what it advises mends it.

use mirror_tests::cluster::Traffic;
use serde_json::json;

use super::hello::{Hello, SAFE, SHADOW, with_filter};

#[test]
fn a_live_mirror_is_live_in_each_gateway_pod() {
    with_filter(async |cluster| {
        let hello = Hello::start(cluster).await;
        hello.enable(&["--percent", "12.5"]);
        let status = hello.status();
        assert_eq!(status["state"], "Live");
        assert_eq!(status["candidate"], hello.service.envoy_cluster("v2"));
        assert_eq!(status["hosts"], json!([hello.service.host()]));
        for (pod, gateway) in status["pods"].as_array().expect("a list").iter().zip(cluster.gateways()) {
            assert_eq!(pod["pod"], gateway.pod());
            assert_eq!(pod["envoy"], gateway.envoy().version());
            let said = [&pod["state"], &pod["module"], &pod["route"], &pod["candidate"]];
            assert_eq!(said, ["live", "running", "live", "1 endpoint"]);
        }
        let table = hello.mirror_ok(&["status", "hello"]).stdout;
        let row = table.lines().nth(1).expect("a row").split_whitespace().collect::<Vec<_>>();
        assert_eq!(row[..7], ["hello", "v2", "12.5", "%", "overlay", "2/2", "Live"], "{table}");
        hello.mirror_ok(&["disable", "hello"]);
        let gone = hello.mirror(&["status", "hello"]);
        let said = format!(
            "error: mirror.kubectl-mirror \"hello\" not found in namespace {}; see `kubectl mirror list -A`\n",
            hello.service.namespace()
        );
        assert_eq!((gone.status, gone.stderr), (Some(2), said));
        hello.finish().await;
    });
}

#[test]
fn a_candidate_that_is_gone_or_has_nobody_gets_nothing() {
    with_filter(async |cluster| {
        let mut hello = Hello::start(cluster).await;
        hello.enable(&[]);
        hello.assert_copied("/live", &SAFE).await;

        // A revision without pods.
        let host = format!("hello-v2.{}.svc.cluster.local", hello.service.namespace());
        cluster
            .objects()
            .apply(json!({
                "apiVersion": "networking.istio.io/v1",
                "kind": "ServiceEntry",
                "metadata": {"name": "hello-v2", "namespace": hello.service.namespace()},
                "spec": {
                    "hosts": [host],
                    "ports": [{"number": 80, "name": "http", "protocol": "HTTP"}],
                    "resolution": "STATIC",
                    "workloadSelector": {"labels": {"nobody": "has this"}},
                },
            }))
            .await;
        let status = hello.until_pods(&["no-endpoints running"; 2]).await;
        assert_eq!(status["state"], "Degraded");

        let namespace = hello.service.namespace();
        cluster.admin().kubectl_ok(&["delete", "serviceentries.networking.istio.io", "hello-v2", "-n", namespace]);
        let status = hello.until_pods(&["no-target running"; 2]).await;
        assert_eq!(status["state"], "Degraded");
        assert!(status["pods"][0]["advice"].as_str().is_some_and(|advice| advice.contains("nothing is copied")));

        hello.service.answered_by("v2", hello.v2.address()).await;
        hello.until_state("Live").await;
        hello.assert_copied("/again", &SAFE).await;
        hello.finish().await;
    });
}

#[test]
fn a_mirror_that_was_edited_is_stale_until_it_is_synced() {
    with_filter(async |cluster| {
        let mut hello = Hello::start(cluster).await;
        hello.enable(&[]);
        // To a cluster that does not exist.
        let name = format!("mirror.{}.hello.ingressgateway", hello.service.namespace());
        let get = ["get", "envoyfilter", "-n", "istio-system", &name, "-o", "json"];
        let edited = cluster.admin().kubectl_ok(&get).replace("outbound|80||hello-v2.", "outbound|80||hello-v9.");
        let replaced = cluster.admin().kubectl_with(&["replace", "--filename=-"], &edited);
        assert_eq!(replaced.status, Some(0), "{replaced:#?}");
        let status = hello.until_pods(&["no-target running"; 2]).await;
        assert_eq!(status["state"], "Stale");
        let said = hello.mirror_ok(&["sync", "hello", "--force-conflicts"]);
        assert_eq!(said.stdout, "mirror.kubectl-mirror/hello configured\n");
        hello.until_state("Live").await;
        hello.assert_copied("/synced", &SAFE).await;
        hello.finish().await;
    });
}

#[test]
fn a_tag_that_moves_makes_both_strategies_stale_until_they_are_synced() {
    with_filter(async |cluster| {
        for strategy in ["overlay", "virtualservice"] {
            let mut hello = Hello::start(cluster).await;
            hello.enable(&["--strategy", strategy]);
            hello.assert_copied("/v2", &SAFE).await;
            hello.stop_steady().await;
            // A third version, which answers as the second one did.
            hello.service.revision("v3", hello.v2.address()).await;
            hello.service.traffic(&[Traffic::percent("v1", 100), Traffic::tag("v3", "v2")]).await;
            let status = hello.until_state("Stale").await;
            assert_eq!(status["stale"][0], "v2 now points to hello-v3, it was hello-v2", "{status:#}");
            let said = hello.mirror_ok(&["sync", "hello"]);
            assert_eq!(said.stdout, "mirror.kubectl-mirror/hello configured\n");
            assert!(said.stderr.ends_with("v2 now points to hello-v3, it was hello-v2\n"), "{}", said.stderr);
            let status = hello.until_state("Live").await;
            assert_eq!(status["candidate"], hello.service.envoy_cluster("v3"));
            let before = hello.seen_as(SHADOW).len();
            hello.start_steady();
            hello.until_copied().await;
            for seen in &hello.seen_as(SHADOW)[before..] {
                assert_eq!(seen.header("knative-serving-revision"), "hello-v3");
            }
            hello.finish().await;
        }
    });
}
