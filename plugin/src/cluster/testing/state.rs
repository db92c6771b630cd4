//! The objects of the fake API server, and what requests do to them.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde_json::{Value, json};

use super::{Controller, Key, Refusal, Target, Write, named, status};

#[derive(Debug, Default)]
pub(super) struct State {
    pub objects: BTreeMap<Key, Value>,
    pub refusals: Vec<Refusal>,
    /// Resources that the server does not know.
    pub unknown: Vec<String>,
    pub writes: Vec<Write>,
    /// All requests, reads as well.
    pub calls: Vec<String>,
    pub controller: Option<Controller>,
    /// What appears with the next write.
    pub appearing: Vec<Value>,
    /// What somebody else writes before the next write to it, with this verb where one is said.
    pub racing: Vec<(Option<String>, Value)>,
    /// Where those listen that play pods, by namespace and name.
    pub pods: BTreeMap<(String, String), SocketAddr>,
    /// What pods have written, by namespace and name.
    pub logs: BTreeMap<(String, String), String>,
    pub logs_asked: Vec<String>,
    /// Pods whose nodes do not answer.
    pub unreachable: Vec<(String, String)>,
    /// The last resource version that was given.
    version: u64,
}

impl State {
    pub fn refusal(&self, target: &Target) -> Option<Value> {
        let is_new = !self.objects.contains_key(&target.key());
        let needs = |verb: &str| match target.verb {
            // An apply needs the right to patch, and where it creates, that as well.
            "apply" => verb == "apply" || verb == "patch" || (verb == "create" && is_new),
            asked => verb == asked,
        };
        let refusal = self.refusals.iter().find(|refusal| {
            needs(&refusal.verb)
                && refusal.resource == target.resource
                && refusal.namespace.as_ref().is_none_or(|namespace| *namespace == target.namespace)
                && refusal.name.as_ref().is_none_or(|name| *name == target.name)
        });
        refusal.map(|refusal| refusal.status.clone())
    }

    /// Tells the controller of all objects.
    pub fn tell(&self) {
        if let Some(Controller(told)) = &self.controller {
            told(&self.objects.values().cloned().collect::<Vec<_>>());
        }
    }

    /// A SelfSubjectAccessReview, answered by what is forbidden.
    pub fn review(&self, mut review: Value) -> Value {
        let asked = &review["spec"]["resourceAttributes"];
        let text = |field: &str| asked[field].as_str().unwrap_or_default().to_owned();
        let mut plural = text("resource");
        if let Some(part) = asked["subresource"].as_str() {
            plural = format!("{plural}/{part}");
        }
        let resource = named(&plural, &text("group"));
        let is_forbidden = self.refusals.iter().any(|refusal| {
            refusal.status["code"] == 403
                && refusal.verb == text("verb")
                && refusal.resource == resource
                && refusal.namespace.as_ref().is_none_or(|namespace| *namespace == text("namespace"))
        });
        review["status"] = json!({ "allowed": !is_forbidden });
        review
    }

    pub fn get(&self, target: &Target) -> (u16, Value) {
        match self.objects.get(&target.key()) {
            Some(object) => (200, object.clone()),
            None => target.not_found(),
        }
    }

    /// A pod's log, all of it or its last lines.
    pub fn log(&mut self, target: &Target, query: &BTreeMap<String, String>) -> (u16, Value) {
        let pod = Target { resource: "pods".to_owned(), ..target.clone() };
        if !self.objects.contains_key(&pod.key()) {
            return pod.not_found();
        }
        let of = (target.namespace.clone(), target.name.clone());
        if self.unreachable.contains(&of) {
            return (500, status(500, "InternalError", "dial tcp 10.0.0.7:10250: i/o timeout", json!({})));
        }
        let parameters: Vec<_> = query.iter().map(|(key, value)| format!("{key}={value}")).collect();
        self.logs_asked.push(format!("{}/{} {}", target.namespace, target.name, parameters.join("&")));
        let text = self.logs.get(&of).cloned().unwrap_or_default();
        let lines: Vec<_> = text.split_inclusive('\n').collect();
        let most = query.get("tailLines").map_or(lines.len(), |most| most.parse().expect("a number"));
        (200, Value::String(lines[lines.len().saturating_sub(most)..].concat()))
    }

    pub fn list(&self, target: &Target, selector: &str) -> (u16, Value) {
        let is_there =
            |key: &Key| key.0 == target.resource && (target.namespace.is_empty() || key.1 == target.namespace);
        let chosen = self.objects.iter().filter(|(key, object)| is_there(key) && selects(selector, object));
        let items: Vec<_> = chosen.map(|(_, object)| object.clone()).collect();
        let metadata = json!({ "resourceVersion": self.version.to_string() });
        (200, json!({ "kind": "List", "apiVersion": "v1", "metadata": metadata, "items": items }))
    }

    pub fn apply(&mut self, target: &Target, mut object: Value, is_dry: bool) -> (u16, Value) {
        let before = self.objects.get(&target.key()).cloned();
        object["metadata"]["namespace"] = json!(target.namespace);
        if let Some(status) = before.as_ref().and_then(|before| before.get("status")) {
            object["status"] = status.clone();
        }
        let code = if before.is_some() { 200 } else { 201 };
        (code, self.store(target.key(), object, before, is_dry))
    }

    /// Lets somebody else be a little faster.
    pub fn race(&mut self, target: &Target) {
        let is_now = |(verb, object): &(Option<String>, Value)| {
            super::key_of(object) == target.key() && verb.as_ref().is_none_or(|verb| verb == target.verb)
        };
        let Some(i) = self.racing.iter().position(is_now) else { return };
        let (_, mut object) = self.racing.remove(i);
        let before = self.objects.get(&target.key()).cloned();
        self.stamp(&mut object, before.as_ref());
        self.objects.insert(target.key(), object);
    }

    pub fn create(&mut self, target: &Target, mut object: Value, is_dry: bool) -> (u16, Value) {
        if self.objects.contains_key(&target.key()) {
            return changed(target);
        }
        object["metadata"]["namespace"] = json!(target.namespace);
        (201, self.store(target.key(), object, None, is_dry))
    }

    pub fn patch(&mut self, target: &Target, patch: &Value, is_dry: bool) -> (u16, Value) {
        let Some(before) = self.objects.get(&target.key()).cloned() else { return target.not_found() };
        let expected = &patch["metadata"]["resourceVersion"];
        if !expected.is_null() && *expected != before["metadata"]["resourceVersion"] {
            return changed(target);
        }
        let mut object = before.clone();
        merge(&mut object, patch);
        (200, self.store(target.key(), object, Some(before), is_dry))
    }

    pub fn delete(&mut self, target: &Target, options: &Value, is_dry: bool) -> (u16, Value) {
        let Some(object) = self.objects.get(&target.key()) else { return target.not_found() };
        let preconditions = &options["preconditions"];
        let fails = |field: &str| !preconditions[field].is_null() && preconditions[field] != object["metadata"][field];
        if fails("uid") || fails("resourceVersion") {
            return changed(target);
        }
        if !is_dry {
            self.objects.remove(&target.key());
        }
        (200, json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success" }))
    }

    /// Gives an object what the server adds to it: that of `before`, and a new version where it has changed.
    pub fn stamp(&mut self, object: &mut Value, before: Option<&Value>) {
        let version = match before {
            Some(before) => {
                for field in ["uid", "creationTimestamp", "resourceVersion"] {
                    object["metadata"][field] = before["metadata"][field].clone();
                }
                before != object
            }
            None => true,
        };
        if version {
            self.version += 1;
            object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        }
        if before.is_none() {
            let given = |object: &Value, field: &str| !object["metadata"][field].is_null();
            if !given(object, "uid") {
                object["metadata"]["uid"] = json!(format!("uid-{}", self.version));
            }
            if !given(object, "creationTimestamp") {
                object["metadata"]["creationTimestamp"] = json!("2026-11-30T12:00:00Z");
            }
        }
    }

    fn store(&mut self, key: Key, mut object: Value, before: Option<Value>, is_dry: bool) -> Value {
        self.stamp(&mut object, before.as_ref());
        if !is_dry {
            self.objects.insert(key, object.clone());
        }
        object
    }
}

/// A write to an object that is not the one that was meant.
fn changed(target: &Target) -> (u16, Value) {
    let message = format!("Operation cannot be fulfilled on {} \"{}\"", target.resource, target.name);
    (409, status(409, "Conflict", &message, json!({ "name": target.name, "group": target.group })))
}

/// RFC 7386.
fn merge(object: &mut Value, patch: &Value) {
    let Some(fields) = patch.as_object() else {
        *object = patch.clone();
        return;
    };
    if !object.is_object() {
        *object = json!({});
    }
    for (field, value) in fields {
        if value.is_null() {
            object.as_object_mut().expect("an object").remove(field);
        } else {
            merge(&mut object[field], value);
        }
    }
}

/// Label selectors of equality: `a=b,c!=d,e`.
fn selects(selector: &str, object: &Value) -> bool {
    let label = |key: &str| object["metadata"]["labels"][key].as_str();
    selector.split(',').filter(|term| !term.is_empty()).all(|term| match term.split_once('=') {
        Some((key, value)) if key.ends_with('!') => label(key.trim_end_matches('!')) != Some(value),
        Some((key, value)) => label(key) == Some(value.trim_start_matches('=')),
        None => label(term).is_some(),
    })
}
