//! The observer: the module as an extension configuration, and the place in the router that asks for it.
//!
//! The module sees both streams of a pair because it stands in the router's upstream filters. A match wrapper lets only
//! marked requests in; a proxy that lacks the wrapper gets the bare module, which looks at every request. It comes by
//! extension discovery with a harmless default: a module that is missing or rejected leaves traffic as it was.

use std::path::Path;

use serde_json::{Value, json};

use super::{NAME, mark, type_url};

const HEADER_MUTATION: &str = "envoy.extensions.filters.http.header_mutation.v3.HeaderMutation";
const MATCHER: &str = "envoy.extensions.common.matching.v3.ExtensionWithMatcher";
const WASM: &str = "envoy.extensions.filters.http.wasm.v3.Wasm";

/// Where Envoy gets the module's bytes.
#[derive(Clone, Copy, Debug)]
pub enum Code<'a> {
    /// From a file on its machine.
    File(&'a Path),
    /// From the configuration itself, in base64.
    Inline(&'a str),
}

/// Whether a match wrapper keeps unmarked requests out of the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrapping {
    /// It does.
    Matched,
    /// There is none: for proxies that were built without it. The module ignores unmarked requests by itself, which
    /// costs more.
    Bare,
}

/// The module as an Envoy is to run it.
#[derive(Clone, Copy, Debug)]
pub struct Module<'a> {
    /// Its bytes.
    pub code: Code<'a>,
    /// What stands around it.
    pub wrapping: Wrapping,
    /// Any number. The module does not read it, but Envoy starts a module whose configuration changes, also one that
    /// has trapped: another number brings it back.
    pub generation: u64,
}

/// Where Envoy gets the extension configuration.
#[derive(Clone, Copy, Debug)]
pub enum Discovery<'a> {
    /// From a file that holds a `DiscoveryResponse`.
    File(&'a Path),
    /// From its management server.
    Ads,
}

/// The extension configuration (a `TypedExtensionConfig`): the module, behind its match wrapper where it has one.
pub fn extension(module: Module<'_>) -> Value {
    let config = match module.wrapping {
        Wrapping::Matched => matched(filter(module)),
        Wrapping::Bare => filter(module),
    };
    json!({ "name": NAME, "typed_config": config })
}

/// A filter that only marked requests enter.
fn matched(filter: Value) -> Value {
    json!({
        "@type": type_url(MATCHER),
        "xds_matcher": { "matcher_list": { "matchers": [{
            "predicate": { "not_matcher": { "single_predicate": {
                "input": {
                    "name": "request-headers",
                    "typed_config": {
                        "@type": type_url("envoy.type.matcher.v3.HttpRequestHeaderMatchInput"),
                        "header_name": mark::MIRROR,
                    },
                },
                "value_match": { "contains": "/" },
            } } },
            "on_match": { "action": {
                "name": "skip",
                "typed_config": {
                    "@type": type_url("envoy.extensions.filters.common.matcher.action.v3.SkipFilter"),
                },
            } },
        }] } },
        "extension_config": { "name": NAME, "typed_config": filter },
    })
}

fn filter(module: Module<'_>) -> Value {
    let code = match module.code {
        Code::File(path) => json!({ "filename": path }),
        Code::Inline(base64) => json!({ "inline_bytes": base64 }),
    };
    json!({
        "@type": type_url(WASM),
        "config": {
            "name": NAME,
            "root_id": NAME,
            // After a trap, all later requests pass. FAIL_RELOAD would answer 503 to most of them.
            "failure_policy": "FAIL_OPEN",
            "configuration": {
                "@type": type_url("google.protobuf.StringValue"),
                "value": json!({ "generation": module.generation }).to_string(),
            },
            "vm_config": {
                "vm_id": NAME,
                "runtime": "envoy.wasm.runtime.v8",
                "code": { "local": code },
            },
        },
    })
}

/// The router's `upstream_http_filters`.
pub fn upstream_filters(discovery: Discovery<'_>) -> Value {
    let mut source = match discovery {
        Discovery::File(path) => json!({ "path_config_source": { "path": path } }),
        Discovery::Ads => json!({ "ads": {}, "initial_fetch_timeout": "5s" }),
    };
    source["resource_api_version"] = json!("V3");
    json!([
        {
            "name": NAME,
            "config_discovery": {
                "config_source": source,
                "apply_default_config_without_warming": true,
                "default_config": { "@type": type_url(HEADER_MUTATION) },
                "type_urls": [type_url(HEADER_MUTATION), type_url(WASM), type_url(MATCHER)],
            },
        },
        {
            "name": "envoy.filters.http.upstream_codec",
            "typed_config": { "@type": type_url("envoy.extensions.filters.http.upstream_codec.v3.UpstreamCodec") },
        },
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn for_one_machine() {
        let code = Code::File(Path::new("/run/module.wasm"));
        insta::assert_json_snapshot!([
            extension(Module { code, wrapping: Wrapping::Matched, generation: 0 }),
            upstream_filters(Discovery::File(Path::new("/run/observer.json"))),
        ]);
    }

    #[test]
    fn for_a_mesh() {
        let module = Module { code: Code::Inline("AGFzbQ=="), wrapping: Wrapping::Matched, generation: 0 };
        insta::assert_json_snapshot!([extension(module), upstream_filters(Discovery::Ads)]);
    }

    #[test]
    fn without_the_wrapper() {
        let module = Module { code: Code::Inline("AGFzbQ=="), wrapping: Wrapping::Bare, generation: 7 };
        insta::assert_json_snapshot!(extension(module));
    }
}
