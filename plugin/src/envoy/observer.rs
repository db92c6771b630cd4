//! The observer: the module as an extension configuration, and the place in the router that asks for it.
//!
//! The module sees both streams of a pair because it stands in the router's upstream filters. A match wrapper lets only
//! requests with the selector's mark in. It comes by extension discovery with a harmless default: a module that is
//! missing or rejected leaves traffic as it was.

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

/// Where Envoy gets the extension configuration.
#[derive(Clone, Copy, Debug)]
pub enum Discovery<'a> {
    /// From a file that holds a `DiscoveryResponse`.
    File(&'a Path),
    /// From its management server.
    Ads,
}

/// The extension configuration (a `TypedExtensionConfig`): the module behind its match wrapper.
pub fn extension(code: Code<'_>) -> Value {
    json!({
        "name": NAME,
        "typed_config": {
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
            "extension_config": { "name": NAME, "typed_config": module(code) },
        },
    })
}

fn module(code: Code<'_>) -> Value {
    let code = match code {
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
            "configuration": { "@type": type_url("google.protobuf.StringValue"), "value": "{}" },
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
        let file = Path::new("/run/module.wasm");
        insta::assert_json_snapshot!([
            extension(Code::File(file)),
            upstream_filters(Discovery::File(Path::new("/run/observer.json"))),
        ]);
    }

    #[test]
    fn for_a_mesh() {
        insta::assert_json_snapshot!([extension(Code::Inline("AGFzbQ==")), upstream_filters(Discovery::Ads)]);
    }
}
