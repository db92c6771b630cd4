//! What is written for Envoy: one generator for a static Envoy on one machine and for patches to a mesh's gateways.
//!
//! A mirror needs five pieces, each made by one file here as JSON in the shape of Envoy's API:
//!
//! | piece | file | where it goes |
//! |---|---|---|
//! | selector: marks the requests to copy | `selector.rs` | the route's `typed_per_filter_config` |
//! | policies: copy what is marked | `policy.rs` | the route's `request_mirror_policies` |
//! | metadata: the mirror's configuration for the module | `metadata.rs` | the route's `metadata` |
//! | observer: the module behind its match wrapper | `observer.rs` | an extension configuration (ECDS) |
//! | hook: asks for the observer, safely | `observer.rs` | the router's `upstream_http_filters` |
//!
//! `static_config.rs` and `cluster.rs` make a whole Envoy of them. Where only a VirtualService may be written, `carried.rs`
//! takes the place of the first three: Istio's own mirroring copies, and headers carry what the metadata would.

pub mod carried;
pub mod cluster;
pub mod endpoint;
pub mod lua;
pub mod metadata;
pub mod observer;
pub mod policy;
pub mod selector;
pub mod static_config;

pub use endpoint::Endpoint;
pub use mirror_core::config::{HeaderMatch, MirrorSpec, PathMatch, Selection, ValueMatch};

/// The name of the module's filter, its root context, its VM and of the metadata namespace.
pub const NAME: &str = "kubectl-mirror";

/// The name of the selector's filter.
pub const SELECT: &str = "kubectl-mirror.select";

/// Request headers that mark a copied request. What a client sends of them is removed, or set anew.
pub mod mark {
    pub use mirror_core::config::carried::HEADER as CONFIG;

    /// `<namespace>/<route>/<fingerprint>`: the mirror, and which version of its configuration.
    pub const MIRROR: &str = "x-mirror";
    /// `shadow` or `secondary`; absent on the primary.
    pub const ROLE: &str = "x-mirror-role";
    /// The same on all streams of one pair and on no others that are alive.
    pub const PAIR: &str = "x-mirror-pair";
}

/// The `@type` of a message in Envoy's API.
fn type_url(message: &str) -> String {
    format!("type.googleapis.com/{message}")
}

#[cfg(test)]
pub(crate) mod fixture {
    use mirror_core::config::Mirror;

    use super::{MirrorSpec, Selection};

    /// A mirror with all that a mirror can have.
    pub fn full() -> MirrorSpec {
        let json = r#"{"version":1,"name":"default/hello",
            "candidate":{"cluster":"outbound|80||hello-v2","knative":{"revision":"hello-v2","namespace":"default"}},
            "secondary":{"cluster":"outbound|80||hello-v1"},
            "hosts":["hello.example.com","Hello.default.svc"],"rules":{"ignore":["/at"]}}"#;
        MirrorSpec {
            mirror: Mirror::from_json(json.as_bytes()).expect("a good mirror"),
            selection: Selection {
                millionths: 50_000,
                sticky: Some("x-user".into()),
                headers: vec![
                    "x-beta".parse().expect("a match"),
                    "x-plan=gold".parse().expect("a match"),
                    "accept=application/*".parse().expect("a match"),
                ],
                paths: vec!["/v1/*".parse().expect("a match"), "/health".parse().expect("a match")],
                expires: Some(1_767_225_600),
                token: "5f3a9c01".into(),
            },
            candidate_host: None,
            secondary_host: None,
        }
    }

    /// A mirror with nothing that can be left out.
    pub fn smallest() -> MirrorSpec {
        let json = r#"{"version":1,"name":"local/local","candidate":{"cluster":"candidate"},"hosts":["*"]}"#;
        MirrorSpec {
            mirror: Mirror::from_json(json.as_bytes()).expect("a good mirror"),
            selection: Selection { token: "5f3a9c01".into(), ..Selection::everything() },
            candidate_host: None,
            secondary_host: None,
        }
    }
}
