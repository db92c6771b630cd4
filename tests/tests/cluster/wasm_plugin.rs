//! The strategy `wasmplugin`: the module selects requests and sends the copies itself, told by a WasmPlugin that all mirrors share.

mod facts;

use mirror_tests::backend::Reply;
use mirror_tests::client::{Protocol, Request, once};
use mirror_tests::cluster::{Cluster, ISTIO_SYSTEM, Kind, alone_on_cluster};
use mirror_tests::wait;
use serde_json::{Value, json};

use super::hello::{Hello, SAFE, SHADOW, WASM_PLUGIN, assert_ok, module_options, send, with_plugin};
use super::stories;

const NAME: &str = "kubectl-mirror-ingressgateway";

#[test]
fn safe_requests_from_outside_are_copied_and_each_pair_is_counted() {
    with_plugin(async |cluster| stories::safe_requests(Hello::start(cluster).await.by(WASM_PLUGIN)).await);
}

#[test]
fn calls_from_inside_the_cluster_are_copied_where_asked_for() {
    with_plugin(async |cluster| stories::calls_from_inside(Hello::start(cluster).await.by(WASM_PLUGIN)).await);
}

#[test]
fn a_share_of_the_requests_is_copied() {
    with_plugin(async |cluster| stories::share(Hello::start(cluster).await.by(WASM_PLUGIN)).await);
}

#[test]
fn a_sticky_share_is_always_the_same_users() {
    with_plugin(async |cluster| stories::sticky_share(Hello::start(cluster).await.by(WASM_PLUGIN)).await);
}

#[test]
fn a_secondary_is_one_more_copy_to_the_primarys_version() {
    with_plugin(async |cluster| stories::secondary(Hello::start(cluster).await.by(WASM_PLUGIN)).await);
}

#[test]
fn other_methods_are_copied_where_asked_for() {
    with_plugin(async |cluster| stories::other_methods(Hello::start(cluster).await.by(WASM_PLUGIN)).await);
}

#[test]
fn what_clients_forge_gains_nothing() {
    with_plugin(async |cluster| {
        let hello = Hello::start(cluster).await.by(WASM_PLUGIN);
        // Requests for other hosts are none of the module's business.
        let hosts = [hello.service.host()];
        stories::forged_marks(hello, &hosts).await;
    });
}

#[test]
fn a_mirror_ends_by_itself_when_its_time_is_over() {
    with_plugin(async |cluster| stories::ending(Hello::start(cluster).await.by(WASM_PLUGIN)).await);
}

#[test]
fn rules_are_changed_while_the_mirror_runs() {
    with_plugin(async |cluster| {
        let reply = |price: u32| Reply::json(&json!({"name": "tea", "price": price}));
        let mut hello = Hello::answering(cluster, reply(3), reply(4)).await.by(WASM_PLUGIN);
        hello.enable(&[]);
        hello.until_copied().await;
        hello.stop_steady().await;
        let differing = hello.seen_as(SHADOW).len() as u64;
        assert_eq!(hello.counted().await, [("diverged".to_owned(), differing)]);
        let report = hello.report();
        assert_eq!(report["places"][0]["place"], "/price");
        let diffs = hello.mirror_ok(&["diffs", "hello"]);
        assert!(diffs.stdout.contains("/price  value"), "{diffs:#?}");

        let rules = cluster.folder().join(format!("rules-{}.yaml", hello.service.namespace()));
        std::fs::write(&rules, "ignore:\n- /price\n").expect("the rules are written");
        hello.mirror_ok(&["rules", "hello", "-f", rules.to_str().expect("UTF-8")]);
        hello.assert_copied("/ignored", &SAFE).await;
        let is_match = |entry: &Value| entry["outcome"] == "match" && entry["pairs"].as_u64() > Some(0);
        wait::until("a match", async || {
            hello.report()["outcomes"].as_array().is_some_and(|all| all.iter().any(is_match)).then_some(())
        })
        .await;
        hello.finish().await;
    });
}

/// The names of the mirrors that the gateways' WasmPlugin holds, and of those whose wishes it keeps.
async fn held(cluster: &Cluster) -> Option<(Vec<String>, Vec<String>)> {
    let plugin = cluster.objects().get(Kind::WASM_PLUGIN, ISTIO_SYSTEM, NAME).await?;
    let names = |of: &Value| of.as_object().map(|of| of.keys().cloned().collect()).unwrap_or_default();
    let kept = plugin["metadata"]["annotations"]["kubectl-mirror/mirrors"].as_str().expect("an annotation");
    let kept: Value = serde_json::from_str(kept).expect("JSON");
    Some((names(&plugin["spec"]["pluginConfig"]["mirrors"]), names(&kept)))
}

/// How many users work at once.
const USERS: usize = 6;

#[test]
fn users_who_work_at_once_lose_nothing() {
    alone_on_cluster(async |cluster| {
        let mut hellos = Vec::new();
        for _ in 0..USERS {
            hellos.push(Hello::start(cluster).await.by(WASM_PLUGIN));
        }
        let names = |hellos: &[Hello]| {
            let mut names: Vec<_> = hellos.iter().map(|hello| format!("{}/hello", hello.service.namespace())).collect();
            names.sort();
            names
        };
        // All at once, none of whom finds a WasmPlugin.
        let module = module_options();
        let module: Vec<_> = module.iter().map(String::as_str).collect();
        std::thread::scope(|scope| {
            for hello in &hellos {
                scope.spawn(|| hello.enable(&module));
            }
        });
        let all = names(&hellos);
        assert_eq!(held(cluster).await, Some((all.clone(), all)));
        for hello in &hellos {
            assert_eq!(hello.status()["state"], "Live");
            hello.until_copied().await;
        }
        // Half of them end, while the others change theirs.
        let (leaving, staying) = hellos.split_at(USERS / 2);
        std::thread::scope(|scope| {
            for hello in leaving {
                scope.spawn(|| hello.mirror_ok(&["disable", "hello"]));
            }
            for hello in staying {
                scope.spawn(|| hello.enable(&["--percent", "50"]));
            }
        });
        let left = names(staying);
        assert_eq!(held(cluster).await, Some((left.clone(), left)));
        for hello in staying {
            let status = hello.status();
            assert_eq!((&status["state"], &status["intent"]["millionths"]), (&json!("Live"), &json!(500_000)));
        }
        // All of them end; with the last one, nothing is left.
        std::thread::scope(|scope| {
            for hello in staying {
                scope.spawn(|| hello.mirror_ok(&["disable", "hello"]));
            }
        });
        assert_eq!(held(cluster).await, None);
        for mut hello in hellos {
            hello.stop_steady().await;
        }
    });
}

#[test]
fn a_mirror_changes_its_strategy_in_place_and_leaves_nothing() {
    alone_on_cluster(async |cluster| {
        let mut hello = Hello::start(cluster).await;
        let objects = async || {
            let labels = format!("kubectl-mirror/namespace={}", hello.service.namespace());
            let overlays = cluster.objects().names(Kind::ENVOY_FILTER, ISTIO_SYSTEM, &labels).await;
            let held = held(cluster).await.map(|(names, _)| names.len());
            (overlays.len(), held)
        };
        hello.enable(&[]);
        assert_eq!(objects().await, (1, None));
        hello.assert_copied("/overlay", &SAFE).await;
        let module = module_options();
        let module: Vec<_> = module.iter().map(String::as_str).collect();
        let said = hello.enable(&[&["--strategy", WASM_PLUGIN], &module[..]].concat());
        assert_eq!(
            said.stdout,
            "filter.kubectl-mirror/ingressgateway created\nmirror.kubectl-mirror/hello configured\n"
        );
        let labels = format!("kubectl-mirror/namespace={}", hello.service.namespace());
        assert!(cluster.objects().names(Kind::ENVOY_FILTER, ISTIO_SYSTEM, &labels).await.is_empty());
        hello.assert_copied("/wasm-plugin", &SAFE).await;
        hello.enable(&["--strategy", "overlay"]);
        assert_eq!(held(cluster).await.map(|(names, _)| names.len()), Some(0));
        hello.assert_copied("/overlay-again", &SAFE).await;
        hello.mirror_ok(&["disable", "hello"]);
        for kind in [Kind::ENVOY_FILTER, Kind::WASM_PLUGIN] {
            assert_eq!(cluster.objects().names(kind, ISTIO_SYSTEM, "").await, Vec::<String>::new());
        }
        hello.finish().await;
    });
}

#[test]
fn both_ways_stand_beside_each_other() {
    with_plugin(async |cluster| {
        let mut overlay = Hello::start(cluster).await;
        let mut told = Hello::start(cluster).await.by(WASM_PLUGIN);
        overlay.enable(&[]);
        told.enable(&[]);
        for hello in [&mut overlay, &mut told] {
            hello.assert_copied("/both", &SAFE).await;
            hello.stop_steady().await;
            let copies = hello.seen_as(SHADOW).len() as u64;
            assert_eq!(hello.counted().await, [("match".to_owned(), copies)]);
            assert_eq!(hello.status()["state"], "Live");
        }
        for hello in [overlay, told] {
            hello.finish().await;
        }
    });
}

#[test]
fn a_candidate_without_a_cluster_is_refused() {
    with_plugin(async |cluster| {
        let hello = Hello::start(cluster).await.by(WASM_PLUGIN);
        hello.enable(&[]);
        // Nobody but its own namespace sees the candidate any more.
        let revision = hello.service.revision_name("v2");
        let hidden = r#"{"spec":{"exportTo":["."]}}"#;
        let namespace = hello.service.namespace();
        let patch = ["patch", "serviceentry", &revision, "-n", namespace, "--type=merge", "-p", hidden];
        cluster.admin().kubectl_ok(&patch);
        let status = hello.until_pods(&["no-target running", "no-target running"]).await;
        let advice = status["pods"][0]["advice"].as_str().expect("an advice");
        assert!(advice.contains("no cluster for the candidate's service"), "{advice}");
        hello.mirror_ok(&["disable", "hello"]);
        let refused = hello.mirror(&["enable", "hello", "--to", "v2", "--strategy", WASM_PLUGIN]);
        assert_eq!(refused.status, Some(2), "{refused:#?}");
        assert!(
            refused.stderr.contains("has no cluster") && refused.stderr.contains("Nothing was applied"),
            "{refused:#?}"
        );
        for gateway in cluster.gateways() {
            send(gateway, false, &Request::get("/").host(&hello.service.host())).await;
        }
    });
}

#[test]
fn a_module_that_has_stopped_is_repaired() {
    alone_on_cluster(async |cluster| {
        let path = mirror_tests::module::trapping();
        let url = format!("file://{}", path.display());
        let sha256 = mirror_tests::module::sha256(path);
        let mut hello = Hello::start(cluster).await.by(WASM_PLUGIN);
        hello.enable(&["--module-url", &url, "--module-sha256", &sha256]);
        hello.until_copied().await;
        hello.stop_steady().await;
        for gateway in cluster.gateways() {
            // Until each worker has met one.
            wait::until("all workers to trap", async || {
                let trap = Request::get("/").host(&hello.service.host()).header(mirror_tests::module::TRAP_HEADER, "1");
                let answer = once(gateway.external(), Protocol::Http1, &trap).await;
                answer.is_ok_and(|answer| answer.status == 200).then_some(())
            })
            .await;
        }
        hello.until_pods(&["module-stopped stopped", "module-stopped stopped"]).await;
        assert_ok(&cluster.admin().mirror(&["repair"]));
        hello.until_state("Live").await;
        hello.start_steady();
        hello.until_copied().await;
        hello.stop_steady().await;
        hello.mirror_ok(&["disable", "hello"]);
    });
}
