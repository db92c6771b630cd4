//! The two roles of `examples/rbac`: each can do what it is for, nothing else, and needs every right that it has.

use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::Api;
use kube::api::PostParams;
use kubectl_mirror::cluster::Right;
use mirror_tests::cluster::{Cluster, ISTIO_SYSTEM, Kind, Traffic, alone_on_cluster, on_cluster};
use mirror_tests::program::Ended;
use mirror_tests::wait;
use serde_json::{Value, json};

use crate::hello::{WASM_PLUGIN, module_options, with_filter};
use crate::shop::{self, done, refused};

const ENVOY_FILTERS: &str = "envoyfilters.networking.istio.io";
const VIRTUAL_SERVICES: &str = "virtualservices.networking.istio.io";
const SERVICES: &str = "services.serving.knative.dev";

/// An example's roles and bindings.
#[derive(Clone)]
struct Roles(Vec<Value>);

/// Somebody of a group, who has what the roles that are bound to it grant.
struct Member {
    cluster: &'static Cluster,
    group: String,
}

impl Roles {
    /// Those of a file, which `options` go with when kubectl applies it.
    fn of(cluster: &Cluster, file: &str, options: &[&str]) -> Self {
        let file = format!("{}/../examples/rbac/{file}", env!("CARGO_MANIFEST_DIR"));
        // The file as a user would apply it, read by kubectl.
        let apply = ["apply", "--dry-run=client", "-o", "json", "-f", &file];
        let list = cluster.admin().kubectl_ok(&[&apply, options].concat());
        let list: Value = serde_json::from_str(&list).expect("JSON");
        let mut objects = list["items"].as_array().expect("a list").clone();
        for object in &mut objects {
            // Without what is known of one that is there already.
            let of_file = |field: &String, _: &mut Value| field == "name" || field == "namespace";
            object["metadata"].as_object_mut().expect("metadata").retain(of_file);
        }
        Self(objects)
    }

    /// The rights that they grant, one by one.
    fn rights(&self) -> Vec<Right> {
        let texts = |value: &Value| -> Vec<String> {
            value.as_array().into_iter().flatten().map(|text| text.as_str().expect("a text").to_owned()).collect()
        };
        let mut rights = Vec::new();
        for role in &self.0 {
            let namespace = role["metadata"]["namespace"].as_str().map(str::to_owned);
            for rule in role["rules"].as_array().into_iter().flatten() {
                let mut names: Vec<Option<String>> = texts(&rule["resourceNames"]).into_iter().map(Some).collect();
                if names.is_empty() {
                    names.push(None);
                }
                for group in texts(&rule["apiGroups"]) {
                    for (resource, verb) in product(&texts(&rule["resources"]), &texts(&rule["verbs"])) {
                        let (resource, part) =
                            resource.split_once('/').map_or((&*resource, None), |(a, b)| (a, Some(b)));
                        rights.extend(names.iter().map(|name| Right {
                            verb: verb.clone(),
                            group: group.clone(),
                            resource: resource.to_owned(),
                            subresource: part.map(str::to_owned),
                            namespace: namespace.clone(),
                            name: name.clone(),
                        }));
                    }
                }
            }
        }
        rights
    }

    /// The same without one of their rights, for another group.
    fn without(&self, missing: &Right, group: &str) -> Self {
        let rights = self.rights();
        let mut objects = self.0.clone();
        for object in &mut objects {
            let name = format!("{}-{group}", object["metadata"]["name"].as_str().expect("a name"));
            object["metadata"]["name"] = json!(name);
            if object.get("rules").is_some() {
                let namespace = object["metadata"]["namespace"].as_str().map(str::to_owned);
                let left = rights.iter().filter(|right| right.namespace == namespace && *right != missing);
                object["rules"] = left.map(rule).collect();
            } else {
                object["roleRef"]["name"] =
                    json!(format!("{}-{group}", object["roleRef"]["name"].as_str().expect("a role")));
                object["subjects"][0]["name"] = json!(group);
            }
        }
        Self(objects)
    }

    /// Applies them, and gives a member of `group` once all is granted.
    async fn grant(self, cluster: &'static Cluster, group: &str) -> Member {
        for object in &self.0 {
            cluster.objects().apply(object.clone()).await;
        }
        let member = Member { cluster, group: group.to_owned() };
        for right in self.rights() {
            wait::until(&format!("{group} to have the right: {right}"), async || {
                member.has(&right).await.then_some(())
            })
            .await;
        }
        member
    }
}

fn product(some: &[String], others: &[String]) -> Vec<(String, String)> {
    some.iter().flat_map(|a| others.iter().map(move |b| (a.clone(), b.clone()))).collect()
}

fn rule(right: &Right) -> Value {
    let resource = match &right.subresource {
        Some(part) => format!("{}/{part}", right.resource),
        None => right.resource.clone(),
    };
    let mut rule = json!({"apiGroups": [right.group], "resources": [resource], "verbs": [right.verb]});
    if let Some(name) = &right.name {
        rule["resourceNames"] = json!([name]);
    }
    rule
}

impl Member {
    /// `kubectl mirror` with these arguments.
    fn mirror(&self, arguments: &[&str]) -> Ended {
        let whom = ["--as", "somebody", "--as-group", &self.group];
        self.cluster.admin().mirror(&[arguments, &whom].concat())
    }

    /// Whether the API server would let him.
    async fn has(&self, right: &Right) -> bool {
        let some = |text: &str| Some(text.to_owned());
        let review = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: some("somebody"),
                groups: Some(vec![self.group.clone()]),
                resource_attributes: Some(ResourceAttributes {
                    verb: some(&right.verb),
                    group: some(&right.group),
                    resource: some(&right.resource),
                    subresource: right.subresource.clone(),
                    namespace: right.namespace.clone(),
                    name: right.name.clone(),
                    ..ResourceAttributes::default()
                }),
                ..SubjectAccessReviewSpec::default()
            },
            ..SubjectAccessReview::default()
        };
        let api: Api<SubjectAccessReview> = Api::all(self.cluster.objects().client());
        let answer = api.create(&PostParams::default(), &review).await.expect("an answer");
        answer.status.is_some_and(|status| status.allowed)
    }

    /// Asserts that he may do none of these things.
    async fn may_not(&self, verbs: &[&str], resource: &str, namespace: &str) {
        for verb in verbs {
            let right = Right::new(verb, resource, namespace);
            assert!(!self.has(&right).await, "{} may {right}", self.group);
        }
    }
}

/// Asserts that of these rights none is superfluous: without it some command says that this very one is missing.
async fn each_is_needed<'a>(
    cluster: &'static Cluster,
    roles: &Roles,
    group: &str,
    commands: impl Fn(&Right) -> Vec<Vec<&'a str>>,
) {
    for (index, right) in roles.rights().iter().enumerate() {
        // Which of the two verbs is asked for depends on the API server's version.
        if right.subresource.as_deref() == Some("portforward") && right.verb == "create" {
            continue;
        }
        let group = format!("{group}-{index}");
        let member = roles.without(right, &group).grant(cluster, &group).await;
        assert!(!member.has(right).await, "{group} still has {right}");
        // A right to all namespaces is missed in one of them.
        let told = Right { name: None, ..right.clone() }.to_string();
        let told = told.trim_end_matches(" in all namespaces");
        let name = right.name.clone().unwrap_or_default();
        let tells = |ended: &Ended| {
            let text = format!("{}{}", ended.stdout, ended.stderr);
            text.contains(told) && text.contains(&name)
        };
        let ended: Vec<_> = commands(right).iter().map(|command| member.mirror(command)).collect();
        assert!(ended.iter().any(tells), "nobody misses {right}: {ended:#?}");
    }
}

#[test]
fn an_application_team_mirrors_its_own_services() {
    on_cluster(async |cluster| {
        let hello = shop::open(cluster, "team").await;
        let elsewhere = shop::open(cluster, "elsewhere").await;
        let namespace = hello.namespace();
        let team =
            Roles::of(cluster, "application-team.yaml", &["-n", namespace]).grant(cluster, "application-team").await;
        let rules = cluster.folder().join("rules-of-a-team.yaml");
        std::fs::write(&rules, "ignore: [/time]\n").expect("the rules are written");
        let rules = rules.to_str().expect("UTF-8");
        let by_virtual_service = ["-n", namespace, "--strategy", "virtualservice"];
        let enable = |arguments: &[&str]| team.mirror(&[&["enable", "hello"], arguments, &by_virtual_service].concat());

        let enabled = enable(&["--to", "hello-v3", "--tag", "trial", "--rules", rules]);
        assert_eq!(done(&enabled), "mirror.kubectl-mirror/hello created\n");
        assert!(enabled.stderr.contains("revision hello-v3 has the tag trial now"), "{enabled:#?}");
        assert!(
            enabled.stderr.contains("note: whether the gateways have the filter could not be checked"),
            "{enabled:#?}"
        );
        // What Knative makes of the Service's spec.
        hello.traffic(&[Traffic::percent("v1", 100), Traffic::tag("v2", "next"), Traffic::tag("v3", "trial")]).await;
        assert_eq!(done(&enable(&["--to", "trial", "--rules", rules])), "mirror.kubectl-mirror/hello configured\n");
        assert!(done(&team.mirror(&["list", "-n", namespace])).contains("hello  trial"));
        let status = team.mirror(&["status", "hello", "-n", namespace]);
        assert!(done(&status).contains("The gateways cannot be looked into"), "{status:#?}");
        hello.traffic(&[Traffic::percent("v1", 60), Traffic::percent("v2", 40), Traffic::tag("v3", "trial")]).await;
        assert_eq!(done(&team.mirror(&["sync", "-n", namespace])), "mirror.kubectl-mirror/hello configured\n");
        done(&team.mirror(&["generate", "hello", "--to", "trial", "-n", namespace]));
        assert_eq!(done(&team.mirror(&["disable", "hello", "-n", namespace])), "mirror.kubectl-mirror/hello deleted\n");
        let service = cluster.objects().get(Kind::KNATIVE_SERVICE, namespace, "hello").await.expect("a Service");
        assert!(!service["spec"].to_string().contains("trial"), "{service:#}");

        let refused_for = |arguments: &[&str], right: &str| {
            let ended = team.mirror(arguments);
            assert!(refused(&ended).contains(right), "{right}: {ended:#?}");
        };
        refused_for(
            &["enable", "hello", "--to", "trial", "-n", namespace],
            "get configmaps in namespace knative-serving",
        );
        refused_for(&["install"], "get configmaps in namespace knative-serving");
        let theirs = ["enable", "hello", "--to", "next", "--strategy", "virtualservice", "-n", elsewhere.namespace()];
        // One of those that are asked for at once.
        let ended = team.mirror(&theirs);
        let is_told =
            ["routes.serving.knative.dev", "services.serving.knative.dev", "ingresses.networking.internal.knative.dev"]
                .map(|resource| Right::new("get", resource, elsewhere.namespace()).to_string());
        assert!(is_told.iter().any(|right| refused(&ended).contains(right)), "{ended:#?}");
    });
}

#[test]
fn an_application_team_needs_all_of_its_rights() {
    with_filter(async |cluster| {
        let hello = shop::open(cluster, "rights").await;
        let namespace = hello.namespace();
        let to_next = ["enable", "hello", "--to", "next", "--strategy", "virtualservice", "-n", namespace];
        done(&cluster.admin().mirror(&[&to_next[..], &["--wait=false"]].concat()));
        let roles = Roles::of(cluster, "application-team.yaml", &["-n", namespace]);
        let server = ["--strategy", "virtualservice", "--dry-run=server", "-n", namespace];
        each_is_needed(cluster, &roles, "lean-team", |_| {
            vec![
                [&["enable", "hello", "--to", "hello-v3", "--tag", "trial"], &server[..]].concat(),
                [&["enable", "helo", "--to", "next"], &server[..]].concat(),
                vec!["disable", "hello", "--dry-run=server", "-n", namespace],
            ]
        })
        .await;
        // A mirror that stays would keep the filter of others.
        done(&cluster.admin().mirror(&["disable", "hello", "-n", namespace]));
    });
}

#[test]
fn a_platform_team_runs_the_filter_and_mirrors_any_service() {
    alone_on_cluster(async |cluster| {
        let hello = shop::open(cluster, "platform").await;
        let namespace = hello.namespace();
        let team = Roles::of(cluster, "platform-team.yaml", &[]).grant(cluster, "platform-team").await;
        let module = module_options();
        let module = module.iter().map(String::as_str);
        let install: Vec<_> = ["install", "--strategy", WASM_PLUGIN].into_iter().chain(module).collect();
        for command in [
            &install[..],
            &["enable", "hello", "--to", "next", "--strategy", WASM_PLUGIN, "-n", namespace],
            &["sync", "hello", "-n", namespace],
            &["disable", "hello", "-n", namespace],
            &["install"],
            &["enable", "hello", "--to", "next", "-n", namespace],
            &["status", "hello", "-n", namespace],
            &["list", "-A"],
            &["report", "hello", "-n", namespace],
            &["diffs", "hello", "-n", namespace],
            &["rules", "hello", "-n", namespace],
            &["repair"],
            &["disable", "hello", "-n", namespace],
            &["version"],
        ] {
            let ended = team.mirror(command);
            done(&ended);
            assert!(!ended.stderr.contains("note:"), "{ended:#?}");
        }
        let checks = team.mirror(&["doctor", "-o", "json"]);
        done(&checks);
        for check in checks.json().as_array().expect("a list") {
            // Mirrors of the other strategy are not a platform team's.
            let is_ok = check["health"] == "ok" || check["what"] == "rights in this namespace";
            assert!(is_ok, "{check:#}");
        }
        let gone = "filter.kubectl-mirror/ingressgateway deleted\n";
        assert_eq!(done(&team.mirror(&["uninstall"])), gone.repeat(2));

        for (arguments, right) in [
            (
                ["--to", "next", "--strategy", "virtualservice"],
                format!("create {VIRTUAL_SERVICES} in namespace {namespace}"),
            ),
            (["--to", "hello-v3", "--tag", "trial"], format!("patch {SERVICES} in namespace {namespace}")),
        ] {
            let ended = team.mirror(&[&["enable", "hello", "-n", namespace], &arguments[..]].concat());
            assert!(refused(&ended).contains(&right), "{right}: {ended:#?}");
        }
        let all = ["get", "list", "create", "update", "patch", "delete"];
        for namespace in [namespace, ISTIO_SYSTEM, "knative-serving"] {
            team.may_not(&all, "secrets", namespace).await;
            team.may_not(&["create", "update", "patch", "delete"], VIRTUAL_SERVICES, namespace).await;
            team.may_not(&["create", "update", "patch", "delete"], SERVICES, namespace).await;
            team.may_not(&["create"], "pods/exec", namespace).await;
            team.may_not(&["create", "update", "patch", "delete"], "pods", namespace).await;
        }
        team.may_not(&all, ENVOY_FILTERS, namespace).await;
    });
}

#[test]
fn a_platform_team_needs_all_of_its_rights() {
    alone_on_cluster(async |cluster| {
        let hello = shop::open(cluster, "rights").await;
        let namespace = hello.namespace();
        done(&cluster.admin().mirror(&["enable", "hello", "--to", "next", "-n", namespace]));
        let roles = Roles::of(cluster, "platform-team.yaml", &[]);
        each_is_needed(cluster, &roles, "lean-platform", |right| match (&*right.resource, right.name.as_deref()) {
            ("deployments" | "wasmplugins", _) | (_, Some("config-network")) => vec![vec!["doctor"]],
            _ if right.group == "gateway.networking.k8s.io" => {
                let strategy = ["--strategy", "wasmplugin", "--waypoint", "waypoint"];
                vec![[&["enable", "hello", "--to", "next", "-n", namespace], &strategy[..]].concat()]
            }
            _ => vec![
                vec!["enable", "hello", "--to", "next", "--dry-run=server", "-n", namespace],
                vec!["enable", "helo", "--to", "next", "-n", namespace],
                vec!["list", "-A"],
                vec!["diffs", "hello", "-n", namespace],
                vec!["disable", "hello", "--dry-run=server", "-n", namespace],
            ],
        })
        .await;
    });
}
