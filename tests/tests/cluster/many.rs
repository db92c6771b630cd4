//! Several mirrors in the same gateways, of services whose names are as long as they may be.

use mirror_tests::cluster::{Service, Traffic};
use serde_json::Value;

use crate::hello::with_filter;
use crate::shop::done;

#[test]
fn mirrors_of_many_services_with_long_names_are_seen() {
    with_filter(async |cluster| {
        let nobody = ([127, 0, 0, 1], 9).into();
        let namespace = cluster.namespace(&"namespace-".repeat(5)).await;
        let admin = cluster.admin();
        // What differs is at the end: a name's beginning alone does not tell them apart.
        let services: Vec<_> = (1..=4).map(|i| format!("{}{i}", "service-".repeat(6))).collect();
        for name in &services {
            let mut service = Service::new(cluster, &namespace, name);
            for revision in ["v1", "v2"] {
                service.revision(revision, nobody).await;
            }
            service.traffic(&[Traffic::percent("v1", 100), Traffic::tag("v2", "v2")]).await;
            let enabled = admin.mirror(&["enable", name, "--to", "v2", "-n", &namespace]);
            done(&enabled);
            assert!(enabled.stderr.contains("Live on 2 of 2 gateway pods."), "{enabled:#?}");
        }
        let status = admin.mirror(&["status", "-n", &namespace, "-o", "json"]);
        done(&status);
        let mirrors = status.json()["mirrors"].as_array().expect("a list").clone();
        assert_eq!(mirrors.len(), services.len());
        for mirror in mirrors {
            let pods = mirror["pods"].as_array().expect("a list");
            let is_live = |pod: &Value| pod["state"] == "live" && pod["candidate"] == "1 endpoint";
            assert!(mirror["state"] == "Live" && pods.len() == 2 && pods.iter().all(is_live), "{mirror:#}");
        }
        done(&admin.mirror(&["disable", "--all", "-n", &namespace]));
    });
}
