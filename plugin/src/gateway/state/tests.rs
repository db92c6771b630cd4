//! Every way in which a mirror can stand in a pod.

use std::collections::BTreeMap;

use super::*;
use crate::admin::{AdminError, Place};
use crate::gateway::{Carrier, Modules};
use crate::source::{Instance, Snapshot};

fn mirror(json: &str) -> Mirror {
    Mirror::from_json(json.as_bytes()).expect("a good mirror")
}

fn hello() -> Mirror {
    mirror(r#"{"version":1,"name":"shop/hello","candidate":{"cluster":"v2"},"hosts":["hello.shop","hello.shop.svc"]}"#)
}

fn live(mirror: &Mirror) -> LiveMirror {
    LiveMirror {
        name: mirror.name.clone(),
        mirror: Some(mirror.clone()),
        carrier: Carrier::Metadata,
        drawn: Some(Drawn::Script("here".to_owned())),
        flaws: BTreeSet::new(),
        ports: ["http.8080".to_owned()].into(),
        domains: ["hello.shop".to_owned()].into(),
        routes: 2,
    }
}

/// The module in the same state, whichever way it stands.
fn both(module: Module) -> Modules {
    Modules { observing: module, sending: module }
}

const WAY: Way = Way::Observing;

/// A gateway in which all is well.
fn good() -> View {
    let instance = Instance { envoy: "1.36.2".into(), istio: Some("1.28.3".into()), ..Instance::default() };
    View {
        snapshot: Snapshot { instances: vec![instance], ..Snapshot::default() },
        modules: both(Module::Running),
        mirrors: vec![live(&hello())],
        endpoints: BTreeMap::from([("v2".to_owned(), Endpoints::Ready(2))]),
    }
}

fn judge(view: View, wanted: &Wanted) -> PodState {
    PodState::judge(&PodView { pod: "gw-0".into(), view: Ok(view) }, wanted)
}

#[test]
fn each_fault_has_its_word_and_its_advice() {
    let with_flaw = |flaw| View { mirrors: vec![LiveMirror { flaws: [flaw].into(), ..live(&hello()) }], ..good() };
    let endpoints = |found| View { endpoints: BTreeMap::from([("v2".to_owned(), found)]), ..good() };
    let module = |module| View { modules: both(module), ..good() };
    let in_header = |module| View {
        modules: both(module),
        mirrors: vec![LiveMirror { carrier: Carrier::Header, ..live(&hello()) }],
        ..good()
    };
    let other = Mirror { split: !hello().split, ..hello() };
    let unknown = LiveMirror { mirror: None, ..live(&hello()) };
    for (view, word, advice) in [
        (good(), "live", "it copies and compares"),
        (View { mirrors: vec![], ..good() }, "absent", "does the gateway serve its hosts?"),
        (View { mirrors: vec![live(&other)], ..good() }, "outdated", "another state"),
        (View { mirrors: vec![live(&hello()), live(&other)], ..good() }, "outdated", "another state"),
        (View { mirrors: vec![unknown], ..good() }, "outdated", "another version of this program"),
        (with_flaw(Flaw::Policy), "incomplete", "lack the mirror policy: another configuration replaces it"),
        (with_flaw(Flaw::Selector), "incomplete", "lack the selector"),
        (with_flaw(Flaw::Mutations), "incomplete", "1.28 or later is needed (this proxy is 1.28.3)"),
        (endpoints(Endpoints::Absent), "no-target", "no cluster for the candidate's service"),
        (View { endpoints: BTreeMap::new(), ..good() }, "no-target", "no cluster for the candidate's service"),
        (endpoints(Endpoints::NoEndpoints), "no-endpoints", "is the candidate ready?"),
        (module(Module::Stopped), "module-stopped", "kubectl mirror repair"),
        (module(Module::Rejected), "module-rejected", "refused"),
        (module(Module::Waiting), "module-waiting", "not got the module yet"),
        (module(Module::Missing), "module-missing", "nothing is copied: the module is not installed"),
        (in_header(Module::Missing), "module-missing", "requests are copied without tags, and not compared"),
        (in_header(Module::Rejected), "module-rejected", "requests are copied without tags, and not compared"),
    ] {
        let state = judge(view, &Wanted::mirror(&hello(), WAY));
        assert_eq!(state.summary().to_string(), word);
        assert!(state.advice().contains(advice), "{word}: {}", state.advice());
        assert_eq!((state.is_live(), state.is_gone()), (word == "live", word == "absent"), "{word}");
    }
}

#[test]
fn a_secondary_needs_its_cluster_as_well() {
    let json =
        r#"{"version":1,"name":"shop/hello","candidate":{"cluster":"v2"},"secondary":{"cluster":"v1"},"hosts":["a"]}"#;
    let both = mirror(json);
    let state = judge(View { mirrors: vec![live(&both)], ..good() }, &Wanted::mirror(&both, WAY));
    assert_eq!(state.summary(), Summary::NoTarget);
    assert!(state.advice().contains("the secondary's"), "{}", state.advice());
    assert_eq!(Wanted::mirror(&both, WAY).clusters(), ["v2", "v1"]);
}

#[test]
fn any_state_of_a_mirror_is_good_enough_where_only_its_name_is_known() {
    let state = judge(good(), &Wanted::any_state_of("shop/hello"));
    assert!(state.is_live());
    let found = state.found.expect("found");
    assert_eq!((found.route, found.candidate), (Route::Live(2), Endpoints::Ready(2)));
    assert_eq!(found.missing_hosts, ["hello.shop.svc"]);
    assert!(judge(good(), &Wanted::any_state_of("shop/other")).is_gone());
}

#[test]
fn a_mirror_that_draws_another_sample_is_outdated() {
    let spec = MirrorSpec { mirror: hello(), ..crate::envoy::fixture::smallest() };
    let with = |drawn| {
        judge(View { mirrors: vec![LiveMirror { drawn, ..live(&hello()) }], ..good() }, &Wanted::spec(&spec, WAY))
            .is_live()
    };
    assert!(with(Some(Drawn::of(&spec, WAY))) && with(None), "a route that does not say is not another");
    assert!(!with(Some(Drawn::Script("an earlier one".to_owned()))));
    let share = Drawn::Share(5_700);
    assert!(share.is(&Drawn::Share(5_699)) && !share.is(&Drawn::Share(5_000)) && !share.is(&Drawn::of(&spec, WAY)));
}

#[test]
fn a_host_is_unserved_where_no_gateway_has_it() {
    let on = |domain: &str| {
        let mirrors = vec![LiveMirror { domains: [domain.to_owned()].into(), ..live(&hello()) }];
        judge(View { mirrors, ..good() }, &Wanted::mirror(&hello(), WAY))
    };
    let (one, other) = (on("hello.shop"), on("hello.shop.svc"));
    let without = judge(View { mirrors: vec![], ..good() }, &Wanted::mirror(&hello(), WAY));
    assert_eq!(unserved_hosts(&[one.clone(), without.clone()]), ["hello.shop.svc"]);
    assert_eq!(unserved_hosts(&[one, other]), Vec::<String>::new());
    assert_eq!(unserved_hosts(&[without]), Vec::<String>::new(), "nothing is copied at all, which is another matter");
}

#[test]
fn the_module_is_judged_alone() {
    let state = judge(View { mirrors: vec![], ..good() }, &Wanted::module(WAY));
    assert!(state.module_runs() && !state.module_is_rejected());
    assert!(judge(View { modules: both(Module::Rejected), ..good() }, &Wanted::module(WAY)).module_is_rejected());
}

#[test]
fn a_pod_that_cannot_be_asked_is_neither_live_nor_gone() {
    let place = Place::Pod { namespace: "istio-system".into(), name: "gw-0".into() };
    let view = Err(AdminError::Unreachable { place, reason: "no".into() });
    let state = PodState::judge(&PodView { pod: "gw-0".into(), view }, &Wanted::mirror(&hello(), WAY));
    assert_eq!(state.summary().to_string(), "unreachable");
    assert!(!state.is_live() && !state.is_gone() && !state.module_runs());
    assert!(state.advice().contains("pod istio-system/gw-0: no"), "{}", state.advice());
}

#[test]
fn a_mirror_that_the_module_sends_is_judged_by_what_the_module_was_told() {
    let spec = MirrorSpec { mirror: hello(), ..crate::envoy::fixture::smallest() };
    let told = |drawn: Drawn| LiveMirror { carrier: Carrier::Plugin, drawn: Some(drawn), ..live(&hello()) };
    let of = |way| Drawn::of(&spec, way);
    let wanted = Wanted::spec(&spec, Way::Sending);
    let just = View { mirrors: vec![told(of(Way::Sending))], ..good() };
    let with_module = |sending| View { modules: Modules { sending, ..both(Module::Running) }, ..just.clone() };
    let without = |sending| View { mirrors: Vec::new(), ..with_module(sending) };
    for (view, word, advice) in [
        (just.clone(), "live", "it copies and compares"),
        (View { mirrors: vec![told(Drawn::Told("{}".into()))], ..good() }, "outdated", "another state"),
        // The same mirror in the routes is another way.
        (good(), "outdated", "another state"),
        (View { endpoints: BTreeMap::new(), ..just.clone() }, "no-target", "PILOT_FILTER_GATEWAY_CLUSTER_CONFIG"),
        (with_module(Module::Stopped), "module-stopped", "nothing is copied: the module has stopped"),
        (without(Module::Unfetched), "absent", "nothing is copied: Istio's agent could not fetch the module"),
        (without(Module::Running), "absent", "has not been told of the mirror"),
    ] {
        let state = judge(view, &wanted);
        assert_eq!(state.summary().to_string(), word);
        assert!(state.advice().contains(advice), "{word}: {}", state.advice());
    }
    assert!(judge(just, &Wanted::any_state_of("shop/hello")).is_live());
}
