//! How objects are applied: by server-side apply, beside others who write them, and not at all where that is wished.

use mirror_tests::cluster::{Cluster, ISTIO_SYSTEM, Kind, Service, alone_on_cluster};
use serde_json::{Value, json};

use crate::hello::with_filter;
use crate::shop::{self, done, refused};

/// A strategy, and the object that it makes of a mirror of a [`shop`].
struct Strategy {
    name: &'static str,
    kind: Kind,
    namespace: String,
    object: String,
}

fn strategies(hello: &Service) -> [Strategy; 2] {
    let namespace = hello.namespace();
    [
        Strategy {
            name: "overlay",
            kind: Kind::ENVOY_FILTER,
            namespace: ISTIO_SYSTEM.to_owned(),
            object: format!("mirror.{namespace}.hello.ingressgateway"),
        },
        Strategy {
            name: "virtualservice",
            kind: Kind::VIRTUAL_SERVICE,
            namespace: namespace.to_owned(),
            object: "hello-mirror".to_owned(),
        },
    ]
}

impl Strategy {
    async fn stored(&self, cluster: &Cluster) -> Option<Value> {
        cluster.objects().get(self.kind, &self.namespace, &self.object).await
    }

    /// An object of that name with these fields, for kubectl.
    fn manifest(&self, labels: &Value, spec: &Value) -> String {
        let (version, kind) = match self.name {
            "overlay" => ("networking.istio.io/v1alpha3", "EnvoyFilter"),
            _ => ("networking.istio.io/v1", "VirtualService"),
        };
        let metadata = json!({"name": self.object, "namespace": self.namespace, "labels": labels});
        json!({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}).to_string()
    }

    /// What kubectl calls it.
    fn kubectl_name(&self) -> String {
        let kind = if self.name == "overlay" { "envoyfilter" } else { "virtualservice" };
        format!("{kind}.networking.istio.io/{}", self.object)
    }
}

/// The managers of an object's fields, each with how it wrote them.
fn managers(object: &Value) -> Vec<String> {
    let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    let name = |entry: &Value| format!("{} {}", entry["manager"], entry["operation"]).replace('"', "");
    entries.map(name).collect()
}

#[test]
fn fields_of_another_manager_are_taken_over_only_by_force() {
    with_filter(async |cluster| {
        let hello = shop::open(cluster, "owned").await;
        let admin = cluster.admin();
        for strategy in strategies(&hello) {
            let enable = |options: &[&str]| {
                let wish = ["enable", "hello", "--to", "next", "-n", hello.namespace(), "--strategy", strategy.name];
                admin.mirror(&[&wish, options].concat())
            };
            done(&enable(&[]));
            let stored = strategy.stored(cluster).await.expect("the mirror");
            assert_eq!(managers(&stored), ["kubectl-mirror Apply"]);

            let (field, other) = match strategy.name {
                "overlay" => ("configPatches", json!({"configPatches": []})),
                _ => ("exportTo", json!({"exportTo": ["*"]})),
            };
            let take = ["apply", "--server-side", "--force-conflicts", "--field-manager=argocd", "-f", "-"];
            let taken = admin.kubectl_with(&take, &strategy.manifest(&json!({}), &other));
            done(&taken);
            let taken = strategy.stored(cluster).await.expect("the mirror");

            // As kubectl says it of the same object.
            let conflict = format!("Apply failed with 1 conflict: conflict with \"argocd\": .spec.{field}");
            let generate = ["generate", "hello", "--to", "next", "-n", hello.namespace(), "--strategy", strategy.name];
            let manifest = admin.mirror(&generate);
            let apply = ["apply", "--server-side", "--field-manager=kubectl-mirror", "-f", "-"];
            let by_kubectl = admin.kubectl_with(&apply, done(&manifest));
            assert!(by_kubectl.stderr.contains(&conflict), "{by_kubectl:#?}");
            for options in [&[][..], &["--percent", "7"], &["--dry-run=server"]] {
                let ended = enable(options);
                assert!(refused(&ended).contains(&conflict), "{ended:#?}");
                assert!(ended.stderr.contains("--force-conflicts"), "{ended:#?}");
                assert_eq!(strategy.stored(cluster).await.as_ref(), Some(&taken));
            }
            assert_eq!(done(&enable(&["--force-conflicts"])), "mirror.kubectl-mirror/hello configured\n");
            let again = strategy.stored(cluster).await.expect("the mirror");
            assert_eq!(again["spec"], stored["spec"]);
            assert_eq!(done(&enable(&[])), "mirror.kubectl-mirror/hello unchanged\n");
        }
        done(&admin.mirror(&["disable", "hello", "-n", hello.namespace()]));
    });
}

#[test]
fn a_dry_run_keeps_nothing() {
    with_filter(async |cluster| {
        let hello = shop::open(cluster, "dry").await;
        let admin = cluster.admin();
        for strategy in strategies(&hello) {
            let wish = ["enable", "hello", "--to", "next", "-n", hello.namespace(), "--strategy", strategy.name];
            let enable = |options: &[&str]| admin.mirror(&[&wish, options].concat());
            let name = strategy.kubectl_name() + "\n";
            for (mode, said) in [("--dry-run=client", "(dry run)"), ("--dry-run=server", "(server dry run)")] {
                let created = enable(&[mode, "-v=6"]);
                assert_eq!(done(&created), format!("mirror.kubectl-mirror/hello created {said}\n"));
                writes_nothing(&created.stderr);
                assert_eq!(done(&enable(&[mode, "-o", "name"])), name);
                let object = enable(&[mode, "-o", "json"]).json();
                assert_eq!(object["metadata"]["name"], strategy.object);
                let yaml = enable(&[mode, "-o", "yaml"]);
                let read = admin.kubectl_with(&["create", "--dry-run=client", "-o", "name", "-f", "-"], done(&yaml));
                assert_eq!(done(&read), name);
                assert_eq!(strategy.stored(cluster).await, None, "{mode}");
            }
            done(&enable(&["--wait=false"]));
            let stored = strategy.stored(cluster).await;
            for (mode, said) in [("--dry-run=client", "(dry run)"), ("--dry-run=server", "(server dry run)")] {
                let configured = enable(&[mode, "--percent", "7"]);
                assert_eq!(done(&configured), format!("mirror.kubectl-mirror/hello configured {said}\n"));
                let deleted = admin.mirror(&["disable", "hello", "-n", hello.namespace(), mode, "-v=6"]);
                assert_eq!(done(&deleted), format!("mirror.kubectl-mirror/hello deleted {said}\n"));
                writes_nothing(&deleted.stderr);
                assert_eq!(strategy.stored(cluster).await, stored, "{mode}");
            }
            done(&admin.mirror(&["disable", "hello", "-n", hello.namespace()]));
        }
    });
}

/// Asserts that of the requests that `-v=6` shows each is a question, or is marked as a dry run.
fn writes_nothing(shown: &str) {
    assert!(shown.contains("GET https://"), "{shown}");
    let asks = |line: &&str| line.starts_with("POST ") && line.contains("/selfsubjectaccessreviews ");
    let writes = |line: &&str| ["POST ", "PATCH ", "PUT "].iter().any(|verb| line.starts_with(verb));
    for line in shown.lines().filter(|line| writes(line) && !asks(line)) {
        assert!(line.contains("dryRun=All"), "{line}");
    }
}

#[test]
fn objects_of_somebody_else_are_left_alone() {
    with_filter(async |cluster| {
        let hello = shop::open(cluster, "foreign").await;
        let admin = cluster.admin();
        for strategy in strategies(&hello) {
            let spec = match strategy.name {
                "overlay" => json!({"configPatches": []}),
                _ => json!({"hosts": ["foreign.example.com"], "http": [{"directResponse": {"status": 404}}]}),
            };
            let manifest = strategy.manifest(&json!({"app.kubernetes.io/managed-by": "Helm"}), &spec);
            done(&admin.kubectl_with(&["create", "-f", "-"], &manifest));
            let stored = strategy.stored(cluster).await;
            let wish = ["enable", "hello", "--to", "next", "-n", hello.namespace(), "--strategy", strategy.name];
            for options in [&[][..], &["--force-conflicts"], &["--dry-run=client"]] {
                let ended = admin.mirror(&[&wish, options].concat());
                let expected =
                    format!("{}/{} is in the way: it is managed by Helm", strategy.namespace, strategy.object);
                assert!(refused(&ended).contains(&expected), "{ended:#?}");
                assert_eq!(strategy.stored(cluster).await, stored);
            }
            cluster.objects().delete(strategy.kind, &strategy.namespace, &strategy.object).await;
        }
    });
}

#[test]
fn a_host_has_one_mirror() {
    with_filter(async |cluster| {
        let hello = shop::open(cluster, "hosts").await;
        let (admin, namespace) = (cluster.admin(), hello.namespace());
        // The mirror of another Route, which has the same host.
        let twin = admin.mirror(&["generate", "hello", "--to", "next", "-n", namespace, "-o", "json"]);
        let mut twin = twin.json();
        twin["metadata"]["name"] = json!("twin-mirror");
        twin["metadata"]["labels"]["kubectl-mirror/route"] = json!("twin");
        cluster.objects().apply(twin).await;
        for strategy in strategies(&hello) {
            let wish = ["enable", "hello", "--to", "next", "-n", namespace, "--strategy", strategy.name];
            let ended = admin.mirror(&wish);
            let expected = format!("is mirrored already, by mirror {namespace}/twin: disable that first");
            assert!(refused(&ended).contains(&expected), "{ended:#?}");
            assert_eq!(strategy.stored(cluster).await, None);
        }
        done(&admin.mirror(&["disable", "twin", "-n", namespace]));
        assert_eq!(cluster.objects().get(Kind::VIRTUAL_SERVICE, namespace, "twin-mirror").await, None);
    });
}

/// What etcd takes of one object, by default.
const ETCD_LIMIT: usize = 1_572_864;

#[test]
fn the_filter_is_small_enough_to_be_stored() {
    alone_on_cluster(async |cluster| {
        let hello = shop::open(cluster, "small").await;
        let admin = cluster.admin();
        // Objects alone are on stdout, also where the filter would be installed with them.
        let wish = ["enable", "hello", "--to", "next", "-n", hello.namespace(), "--dry-run=server", "-o", "yaml"];
        let yaml = admin.mirror(&wish);
        let read = admin.kubectl_with(&["create", "--dry-run=client", "-o", "name", "-f", "-"], done(&yaml));
        assert_eq!(done(&read), strategies(&hello)[0].kubectl_name() + "\n");

        assert_eq!(done(&admin.mirror(&["install"])), "filter.kubectl-mirror/ingressgateway created\n");
        assert_eq!(done(&admin.mirror(&["install"])), "filter.kubectl-mirror/ingressgateway unchanged\n");
        let name = "kubectl-mirror-ingressgateway";
        let stored = cluster.objects().get(Kind::ENVOY_FILTER, ISTIO_SYSTEM, name).await.expect("the filter");
        assert_eq!(managers(&stored), ["kubectl-mirror Apply"]);
        let size = stored.to_string().len();
        assert!(size < ETCD_LIMIT / 2, "{size} bytes");
    });
}
