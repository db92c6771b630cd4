//! The objects of one Knative Service, in the shapes in which Knative's controllers and net-istio write them.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde_json::{Value, json};

use super::{DOMAIN, EXTERNAL_GATEWAY, LOCAL_GATEWAY, SYSTEM};

/// The class of Ingresses that net-istio serves.
pub const INGRESS_CLASS: &str = "istio.ingress.networking.knative.dev";

/// An entry of a Route's traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traffic {
    revision: String,
    percent: u32,
    tag: Option<String>,
}

impl Traffic {
    /// A share of the traffic for a revision.
    pub fn percent(revision: &str, percent: u32) -> Self {
        Self { revision: revision.to_owned(), percent, tag: None }
    }

    /// A tag for a revision, without any share.
    pub fn tag(revision: &str, tag: &str) -> Self {
        Self::percent(revision, 0).tagged(tag)
    }

    /// The same with a tag.
    pub fn tagged(mut self, tag: &str) -> Self {
        self.tag = Some(tag.to_owned());
        self
    }
}

/// What a Service and its parts are called.
#[derive(Clone, Debug)]
pub struct Names {
    pub namespace: String,
    pub service: String,
    pub local_only: bool,
}

impl Names {
    /// The full name of a revision.
    pub fn revision(&self, revision: &str) -> String {
        format!("{}-{revision}", self.service)
    }

    /// The host of a revision's own Kubernetes Service.
    pub fn revision_host(&self, revision: &str) -> String {
        format!("{}.{}.svc.cluster.local", self.revision(revision), self.namespace)
    }

    /// The hosts by which a name is known in the cluster, the shortest first.
    fn local_hosts(&self, name: &str) -> Vec<String> {
        let short = format!("{name}.{}", self.namespace);
        vec![short.clone(), format!("{short}.svc"), format!("{short}.svc.cluster.local")]
    }

    fn external_host(&self, name: &str) -> String {
        format!("{name}.{}.{DOMAIN}", self.namespace)
    }

    fn url(&self, name: &str) -> String {
        let local = format!("{name}.{}.svc.cluster.local", self.namespace);
        format!("http://{}", if self.local_only { local } else { self.external_host(name) })
    }

    fn metadata(&self, name: &str, mut labels: Value, owner: Option<&Value>) -> Value {
        if self.local_only {
            labels["networking.knative.dev/visibility"] = json!("cluster-local");
        }
        let mut metadata = json!({"name": name, "namespace": self.namespace, "labels": labels});
        if let Some(owner) = owner {
            metadata["ownerReferences"] = json!([{
                "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
                "uid": owner["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true,
            }]);
        }
        metadata
    }
}

fn serving(kind: &str, metadata: Value, spec: Value, status: Value) -> Value {
    json!({"apiVersion": "serving.knative.dev/v1", "kind": kind, "metadata": metadata, "spec": spec, "status": status})
}

fn conditions(kinds: &[&str]) -> Value {
    let all = kinds.iter();
    all.map(|kind| json!({"type": kind, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"})).collect()
}

fn template(names: &Names, revision: &str) -> Value {
    json!({
        "metadata": {"name": names.revision(revision)},
        "spec": {"containers": [{"name": "user-container", "image": format!("example.com/{}:{revision}", names.service)}]},
    })
}

/// The Configuration after these revisions.
pub fn configuration(names: &Names, revisions: &[String]) -> Value {
    let latest = revisions.last().map(String::as_str).unwrap_or_default();
    let labels = json!({"serving.knative.dev/service": names.service});
    serving(
        "Configuration",
        names.metadata(&names.service, labels, None),
        json!({"template": template(names, latest)}),
        json!({
            "conditions": conditions(&["Ready"]),
            "latestCreatedRevisionName": names.revision(latest),
            "latestReadyRevisionName": names.revision(latest),
            "observedGeneration": 0,
        }),
    )
}

/// A ready Revision, the `generation`-th of its Configuration.
pub fn revision(names: &Names, revision: &str, configuration: &Value, generation: usize) -> Value {
    let labels = json!({
        "serving.knative.dev/configuration": names.service,
        "serving.knative.dev/configurationGeneration": generation.to_string(),
        "serving.knative.dev/routingState": "active",
        "serving.knative.dev/service": names.service,
    });
    serving(
        "Revision",
        names.metadata(&names.revision(revision), labels, Some(configuration)),
        template(names, revision)["spec"].clone(),
        json!({
            "conditions": conditions(&["Active", "ContainerHealthy", "Ready", "ResourcesAvailable"]),
            "actualReplicas": 1,
            "desiredReplicas": 1,
            "observedGeneration": 0,
        }),
    )
}

/// What stands for a revision's own Kubernetes Service, whose endpoints could not be on loopback.
pub fn service_entry(names: &Names, revision: &str, address: SocketAddr) -> Value {
    json!({
        "apiVersion": "networking.istio.io/v1",
        "kind": "ServiceEntry",
        "metadata": {"name": names.revision(revision), "namespace": names.namespace},
        "spec": {
            "hosts": [names.revision_host(revision)],
            "ports": [{"number": 80, "name": "http", "protocol": "HTTP"}],
            "resolution": "STATIC",
            "endpoints": [{"address": address.ip().to_string(), "ports": {"http": address.port()}}],
        },
    })
}

fn spec_traffic(names: &Names, traffic: &[Traffic]) -> Vec<Value> {
    let entry = |entry: &Traffic| {
        let revision = names.revision(&entry.revision);
        let mut json = json!({"latestRevision": false, "percent": entry.percent, "revisionName": revision});
        if let Some(tag) = &entry.tag {
            json["tag"] = json!(tag);
        }
        json
    };
    traffic.iter().map(entry).collect()
}

fn status_traffic(names: &Names, traffic: &[Traffic]) -> Vec<Value> {
    let mut entries = spec_traffic(names, traffic);
    for entry in &mut entries {
        if let Some(tag) = entry.get("tag").and_then(Value::as_str) {
            entry["url"] = json!(names.url(&format!("{tag}-{}", names.service)));
        }
    }
    entries
}

fn reached(names: &Names, conditions: Value, traffic: &[Traffic]) -> Value {
    let local = format!("http://{}.{}.svc.cluster.local", names.service, names.namespace);
    json!({
        "address": {"url": local},
        "conditions": conditions,
        "observedGeneration": 0,
        "traffic": status_traffic(names, traffic),
        "url": names.url(&names.service),
    })
}

/// The Knative Service.
pub fn service(names: &Names, latest: &str, traffic: &[Traffic]) -> Value {
    let mut status = reached(names, conditions(&["ConfigurationsReady", "Ready", "RoutesReady"]), traffic);
    status["latestCreatedRevisionName"] = json!(names.revision(latest));
    status["latestReadyRevisionName"] = json!(names.revision(latest));
    let spec = json!({"template": template(names, latest), "traffic": spec_traffic(names, traffic)});
    serving("Service", names.metadata(&names.service, json!({}), None), spec, status)
}

/// The Route.
pub fn route(names: &Names, traffic: &[Traffic], service: &Value) -> Value {
    let labels = json!({"serving.knative.dev/service": names.service});
    let conditions = conditions(&["AllTrafficAssigned", "CertificateProvisioned", "IngressReady", "Ready"]);
    serving(
        "Route",
        names.metadata(&names.service, labels, Some(service)),
        json!({"traffic": spec_traffic(names, traffic)}),
        reached(names, conditions, traffic),
    )
}

/// The Kubernetes Service of the Route's own name: it leads to the local gateway, never to a revision.
pub fn placeholder(names: &Names, route: &Value) -> Value {
    let labels = json!({"serving.knative.dev/route": names.service, "serving.knative.dev/service": names.service});
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": names.metadata(&names.service, labels, Some(route)),
        "spec": {
            "type": "ExternalName",
            "externalName": "knative-local-gateway.istio-system.svc.cluster.local",
            "ports": [{"name": "http2", "port": 80, "targetPort": 80, "appProtocol": "kubernetes.io/h2c"}],
        },
    })
}

/// The hosts of one visibility, and the revisions behind them with their percentages, 0 left out.
struct Rule {
    hosts: Vec<String>,
    external: bool,
    splits: Vec<(String, u32)>,
}

/// For the Route itself and then for each tag: the local hosts, and the external one.
fn rules(names: &Names, traffic: &[Traffic]) -> Vec<Rule> {
    let shares = traffic.iter().filter(|entry| entry.percent > 0);
    let mut targets =
        vec![(names.service.clone(), shares.map(|entry| (entry.revision.clone(), entry.percent)).collect())];
    let tags: BTreeMap<_, _> =
        traffic.iter().filter_map(|entry| Some((entry.tag.as_ref()?, &entry.revision))).collect();
    for (tag, revision) in tags {
        targets.push((format!("{tag}-{}", names.service), vec![(revision.clone(), 100)]));
    }
    let mut rules = Vec::new();
    for (name, splits) in targets {
        rules.push(Rule { hosts: names.local_hosts(&name), external: false, splits: splits.clone() });
        if !names.local_only {
            rules.push(Rule { hosts: vec![names.external_host(&name)], external: true, splits });
        }
    }
    rules
}

fn headers(names: &Names, revision: &str) -> Value {
    json!({"Knative-Serving-Namespace": names.namespace, "Knative-Serving-Revision": names.revision(revision)})
}

fn annotations(names: &Names, traffic: &[Traffic]) -> Value {
    let tags: BTreeMap<_, _> = traffic
        .iter()
        .filter_map(|entry| {
            let tag = entry.tag.as_ref()?;
            let name = format!("{tag}-{}", names.service);
            let mut hosts = vec![format!("{name}.{}.svc.cluster.local", names.namespace)];
            hosts.extend((!names.local_only).then(|| names.external_host(&name)));
            Some((tag, hosts))
        })
        .collect();
    json!({
        "networking.internal.knative.dev/rollout": "{}",
        "networking.internal.knative.dev/tag-to-host": json!(tags).to_string(),
        "networking.knative.dev/ingress.class": INGRESS_CLASS,
    })
}

/// Knative's internal Ingress.
pub fn ingress(names: &Names, traffic: &[Traffic], route: &Value) -> Value {
    let rule = |rule: Rule| {
        let split = |(revision, percent): &(String, u32)| {
            json!({
                "appendHeaders": headers(names, revision), "percent": percent,
                "serviceName": names.revision(revision), "serviceNamespace": names.namespace, "servicePort": 80,
            })
        };
        let splits: Vec<_> = rule.splits.iter().map(split).collect();
        let visibility = if rule.external { "ExternalIP" } else { "ClusterLocal" };
        json!({"hosts": rule.hosts, "http": {"paths": [{"splits": splits}]}, "visibility": visibility})
    };
    let rules: Vec<_> = rules(names, traffic).into_iter().map(rule).collect();
    let labels = json!({
        "serving.knative.dev/route": names.service,
        "serving.knative.dev/routeNamespace": names.namespace,
        "serving.knative.dev/service": names.service,
    });
    let mut metadata = names.metadata(&names.service, labels, Some(route));
    metadata["annotations"] = annotations(names, traffic);
    let balancer =
        |service: &str| json!({"ingress": [{"domainInternal": format!("{service}.istio-system.svc.cluster.local")}]});
    json!({
        "apiVersion": "networking.internal.knative.dev/v1alpha1",
        "kind": "Ingress",
        "metadata": metadata,
        "spec": {"httpOption": "Enabled", "rules": rules},
        "status": {
            "conditions": conditions(&["LoadBalancerReady", "NetworkConfigured", "Ready"]),
            "observedGeneration": 0,
            "privateLoadBalancer": balancer("knative-local-gateway"),
            "publicLoadBalancer": balancer("istio-ingressgateway"),
        },
    })
}

/// The VirtualService of the gateways. `hash` is what probes are recognised by.
pub fn ingress_virtual_service(names: &Names, traffic: &[Traffic], ingress: &Value, hash: &str) -> Value {
    let gateway = |name: &str| format!("{SYSTEM}/{name}");
    let gateway_of = |rule: &Rule| gateway(if rule.external { EXTERNAL_GATEWAY } else { LOCAL_GATEWAY });
    let mut gateways = vec![gateway(EXTERNAL_GATEWAY), gateway(LOCAL_GATEWAY)];
    if names.local_only {
        gateways.remove(0);
    }
    let name = format!("{}-ingress", names.service);
    let rules = rules(names, traffic);
    virtual_service(names, &name, gateways, &rules, gateway_of, (ingress, annotations(names, traffic)), hash)
}

/// The VirtualService of sidecars.
pub fn mesh_virtual_service(names: &Names, traffic: &[Traffic], ingress: &Value, hash: &str) -> Value {
    let rules: Vec<_> = rules(names, traffic).into_iter().filter(|rule| !rule.external).collect();
    let name = format!("{}-mesh", names.service);
    let of = |_: &Rule| "mesh".to_owned();
    virtual_service(names, &name, vec!["mesh".to_owned()], &rules, of, (ingress, annotations(names, traffic)), hash)
}

fn virtual_service(
    names: &Names,
    name: &str,
    gateways: Vec<String>,
    rules: &[Rule],
    gateway_of: impl Fn(&Rule) -> String,
    (ingress, annotations): (&Value, Value),
    hash: &str,
) -> Value {
    let mut hosts: Vec<_> = rules.iter().flat_map(|rule| rule.hosts.clone()).collect();
    hosts.sort();
    let mut http = Vec::new();
    for rule in rules {
        let destination = |(revision, percent): &(String, u32)| {
            json!({
                "destination": {"host": names.revision_host(revision), "port": {"number": 80}},
                "headers": {"request": {"set": headers(names, revision)}},
                "weight": percent,
            })
        };
        let route: Vec<_> = rule.splits.iter().map(destination).collect();
        // The first host is a prefix of the others.
        let matched = json!({"authority": {"prefix": rule.hosts[0]}, "gateways": [gateway_of(rule)]});
        let mut probe = matched.clone();
        probe["headers"] = json!({"K-Network-Hash": {"exact": "override"}});
        http.push(json!({
            "headers": {"request": {"set": {"K-Network-Hash": hash}}},
            "match": [probe], "retries": {}, "route": route,
        }));
        http.push(json!({"match": [matched], "retries": {}, "route": route}));
    }
    let labels = json!({
        "networking.internal.knative.dev/ingress": names.service,
        "serving.knative.dev/route": names.service,
        "serving.knative.dev/routeNamespace": names.namespace,
    });
    let mut metadata = names.metadata(name, labels, Some(ingress));
    metadata["annotations"] = annotations;
    json!({
        "apiVersion": "networking.istio.io/v1",
        "kind": "VirtualService",
        "metadata": metadata,
        "spec": {"gateways": gateways, "hosts": hosts, "http": http},
    })
}
