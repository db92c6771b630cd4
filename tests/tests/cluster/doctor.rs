//! `doctor` and `version`: all is well where all is well, and what is not is told with how to mend it.

use mirror_tests::cluster::{Cluster, ISTIO_SYSTEM, alone_on_cluster, on_cluster};
use mirror_tests::program::Ended;
use serde_json::{Value, json};

use crate::shop::{self, done};

/// Runs `doctor` while `change` stands in place of `object`, if that is there; afterwards all is as before.
async fn doctor_while(cluster: &Cluster, object: &[&str], change: &Value) -> Ended {
    let admin = cluster.admin();
    let before = admin.kubectl(&[&["get", "-o", "json"], object].concat());
    // Nothing that may fail stands between the change and its undoing.
    let changed = admin.kubectl_with(&["apply", "--server-side", "--force-conflicts", "-f", "-"], &change.to_string());
    let ended = admin.mirror(&["doctor"]);
    let removed = admin.kubectl(&[&["delete", "--now"], object].concat());
    if before.status == Some(0) {
        let mut before = before.json();
        let of_file = |field: &String, _: &mut Value| ["name", "namespace", "labels"].contains(&&**field);
        before["metadata"].as_object_mut().expect("metadata").retain(of_file);
        cluster.objects().apply(before).await;
    }
    done(&changed);
    done(&removed);
    ended
}

/// Asserts that one check has failed, with this line and this advice, and all others have not.
fn assert_one_failed(ended: &Ended, line: &str, mend: &str) {
    assert_eq!(ended.status, Some(1), "{ended:#?}");
    // Lines are as wide as a terminal.
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = words(&ended.stdout);
    assert!(text.contains(&format!("✗ {line}")), "{ended:#?}");
    assert!(text.contains(&format!("→ {mend}")), "{ended:#?}");
    assert_eq!(text.matches('✗').count(), 1, "{ended:#?}");
    assert_eq!(ended.stderr, "1 check failed\n");
}

#[test]
fn nothing_is_wrong_with_a_good_cluster() {
    alone_on_cluster(async |cluster| {
        let hello = shop::open(cluster, "healthy").await;
        let admin = cluster.admin();
        let healthy = || {
            let ended = admin.mirror(&["doctor"]);
            let is_well = |line: &str| line.starts_with("✓ ");
            assert!(done(&ended).lines().all(is_well), "{ended:#?}");
            assert_eq!(ended.stderr, "");
            ended.stdout
        };
        assert!(healthy().contains("✓ filter: not installed on"));
        done(&admin.mirror(&["install"]));
        assert!(healthy().contains("of this version"));
        done(&admin.mirror(&["enable", "hello", "--to", "next", "-n", hello.namespace()]));
        let told = healthy();
        assert!(told.contains(&format!("✓ mirrors: {}/hello", hello.namespace())), "{told}");
        let checks = admin.mirror(&["doctor", "-o", "json"]).json();
        let checks = checks.as_array().expect("a list");
        assert_eq!(checks.len(), told.lines().count());
        assert!(checks.iter().all(|check| check["health"] == "ok" && check["mend"].is_null()), "{checks:#?}");
    });
}

#[test]
fn an_old_control_plane_is_told() {
    alone_on_cluster(async |cluster| {
        let pod = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "istiod-old", "namespace": ISTIO_SYSTEM, "labels": {"app": "istiod"}},
            "spec": {"containers": [{"name": "discovery", "image": "istio/pilot:1.27.3"}]},
        });
        let ended = doctor_while(cluster, &["pod", "istiod-old", "-n", ISTIO_SYSTEM], &pod).await;
        let line = "Istio's control plane: Istio 1.27.3 on istiod is too old: mirrors need Istio 1.28 or newer";
        assert_one_failed(&ended, line, "update Istio");
    });
}

#[test]
fn another_ingress_class_is_told() {
    alone_on_cluster(async |cluster| {
        let config = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "config-network", "namespace": "knative-serving"},
            "data": {"ingress-class": "kourier.ingress.networking.knative.dev"},
        });
        let ended = doctor_while(cluster, &["configmap", "config-network", "-n", "knative-serving"], &config).await;
        let line =
            "ingress class: Knative uses kourier.ingress.networking.knative.dev where a service does not say otherwise";
        assert_one_failed(&ended, line, "only services with the annotation networking.knative.dev/ingress.class");
    });
}

#[test]
fn gateways_that_are_not_there_are_told() {
    alone_on_cluster(async |cluster| {
        let config = |name: &str| {
            let gateways =
                format!("- name: {name}\n  namespace: knative-serving\n  service: gw.istio-system.svc.cluster.local\n");
            json!({
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "config-istio", "namespace": "knative-serving"},
                "data": {"external-gateways": gateways, "local-gateways": gateways},
            })
        };
        let config_istio = ["configmap", "config-istio", "-n", "knative-serving"];
        let ended = doctor_while(cluster, &config_istio, &config("elsewhere")).await;
        let mend = "mend ConfigMap knative-serving/config-istio";
        assert_one_failed(&ended, "gateways: there is no Istio Gateway knative-serving/elsewhere", mend);

        let nonsense = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "config-istio", "namespace": "knative-serving"},
            "data": {"external-gateways": "none"},
        });
        let ended = doctor_while(cluster, &config_istio, &nonsense).await;
        let line = "gateways: ConfigMap knative-serving/config-istio, key external-gateways: not a list of gateways";
        assert_one_failed(&ended, line, mend);

        // A Gateway whose selector chooses no pods.
        let gateway = json!({
            "apiVersion": "networking.istio.io/v1",
            "kind": "Gateway",
            "metadata": {"name": "knative-ingress-gateway", "namespace": "knative-serving"},
            "spec": {
                "selector": {"istio": "nobody"},
                "servers": [{"hosts": ["*"], "port": {"name": "http", "number": 80, "protocol": "HTTP"}}],
            },
        });
        let object = ["gateway.networking.istio.io", "knative-ingress-gateway", "-n", "knative-serving"];
        let ended = doctor_while(cluster, &object, &gateway).await;
        assert_one_failed(
            &ended,
            "gateways: no pods of istio-system/istio=nobody run",
            "start them, or mend ConfigMap",
        );
    });
}

#[test]
fn versions_are_shown_of_all_that_runs() {
    alone_on_cluster(async |cluster| {
        let admin = cluster.admin();
        let client = admin.mirror(&["version", "--client", "-o", "json"]);
        done(&client);
        assert_eq!(client.stderr, "");
        assert_eq!(client.json()["plugin"], env!("CARGO_PKG_VERSION"));
        assert_eq!(client.json()["gateways"], Value::Null);
        let on_gateways = || {
            let ended = admin.mirror(&["version", "-o", "json"]);
            done(&ended);
            ended.json()["gateways"].as_array().expect("a list").clone()
        };
        let bare = on_gateways();
        assert_eq!(bare.len(), cluster.gateways().len());
        assert!(bare.iter().all(|pod| pod["installed"].is_null() && pod["filter"] == json!([])), "{bare:#?}");
        done(&admin.mirror(&["install"]));
        for (pod, gateway) in on_gateways().iter().zip(cluster.gateways()) {
            assert_eq!(pod["pod"], format!("{ISTIO_SYSTEM}/{}", gateway.pod()));
            assert_eq!((&pod["filter"], &pod["same"]), (&json!([env!("CARGO_PKG_VERSION")]), &json!(true)));
            assert_eq!(pod["envoy"], gateway.envoy().version());
        }
        assert!(done(&admin.mirror(&["version"])).starts_with("kubectl-mirror "));
    });
}

#[test]
fn a_version_is_known_without_a_cluster() {
    on_cluster(async |cluster| {
        let mut command = cluster.admin().command("kubectl-mirror");
        let ended = Ended::of(command.env_remove("KUBECONFIG").env("HOME", "/nonexistent").arg("version"));
        assert!(done(&ended).starts_with("kubectl-mirror "), "{ended:#?}");
        assert!(
            ended.stderr.starts_with("note: the gateways could not be asked: there is no kubeconfig"),
            "{ended:#?}"
        );
    });
}
