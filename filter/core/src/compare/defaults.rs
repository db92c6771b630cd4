//! The headers whose differences do not count unless a rule's `include` asks for them, each with the reason why.

/// Headers that are ignored for one reason.
#[derive(Debug)]
pub struct Group {
    /// Why a difference says nothing about the version under test.
    pub reason: &'static str,
    /// Their names, lower case; a trailing `*` stands for any ending.
    pub names: &'static [&'static str],
}

/// All headers (and trailers) that are ignored by default. `Rules.include` brings single ones back.
pub const IGNORED_BY_DEFAULT: &[Group] = &[
    Group {
        reason: "tell the time at which the answer was made or how long it lay in a cache",
        names: &["date", "age"],
    },
    Group {
        reason: "name the program, host or proxy that answered, not the answer",
        names: &["server", "via", "x-powered-by", "x-served-by", "x-cache", "x-cache-hits", "x-timer", "server-timing"],
    },
    Group { reason: "are written by Envoy itself", names: &["x-envoy-*"] },
    Group {
        reason: "name the request, which is another one for each copy",
        names: &[
            "x-request-id",
            "x-correlation-id",
            "request-id",
            "x-amz-request-id",
            "x-amz-id-2",
            "x-amz-cf-id",
            "cf-ray",
        ],
    },
    Group {
        reason: "carry the trace, which is another one for each copy",
        names: &[
            "traceparent",
            "tracestate",
            "traceresponse",
            "baggage",
            "b3",
            "x-b3-*",
            "uber-trace-id",
            "x-cloud-trace-context",
            "x-amzn-trace-id",
            "x-amzn-requestid",
            "x-ot-span-context",
            "x-datadog-*",
            "grpc-trace-bin",
            "sw8",
        ],
    },
    Group {
        reason: "concern the connection and end at the next hop (RFC 9110, section 7.6.1)",
        names: &[
            "connection",
            "keep-alive",
            "proxy-connection",
            "te",
            "trailer",
            "transfer-encoding",
            "upgrade",
            "alt-svc",
        ],
    },
    Group {
        reason: "follow from the body and its encoding; the decoded bodies are compared themselves",
        names: &["content-length", "content-encoding", "content-md5", "content-digest", "repr-digest", "digest"],
    },
    Group {
        reason: "name a version of the body, often by the server's file times or build; the body is compared itself",
        names: &["etag", "last-modified"],
    },
    Group {
        reason: "say how the bytes of gRPC messages were packed; the unpacked messages are compared themselves",
        names: &["grpc-encoding", "grpc-accept-encoding"],
    },
    Group { reason: "are set by kubectl-mirror", names: &["x-mirror*"] },
];

/// Whether the list names `name`, in any case.
pub(super) fn ignores(name: &[u8]) -> bool {
    IGNORED_BY_DEFAULT.iter().flat_map(|group| group.names).any(|pattern| names(pattern, name))
}

/// Whether `pattern` (lower case, `*` at most at its end) names the header or trailer `name`, in any case.
pub(super) fn names(pattern: &str, name: &[u8]) -> bool {
    match pattern.strip_suffix('*') {
        Some(stem) => name.get(..stem.len()).is_some_and(|head| head.eq_ignore_ascii_case(stem.as_bytes())),
        None => name.eq_ignore_ascii_case(pattern.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_lower_case_and_names_nothing_twice() {
        let mut seen = std::collections::HashSet::new();
        for group in IGNORED_BY_DEFAULT {
            assert!(!group.reason.is_empty());
            for name in group.names {
                assert_eq!(*name, name.to_ascii_lowercase());
                assert!(!name.trim_end_matches('*').contains('*'), "{name}");
                assert!(seen.insert(name), "{name} twice");
            }
        }
    }

    #[test]
    fn names_are_found_in_any_case_and_prefixes_by_their_stem() {
        for name in ["date", "Date", "x-envoy-upstream-service-time", "X-B3-TraceId", "x-mirror", "x-mirror-role"] {
            assert!(ignores(name.as_bytes()), "{name}");
        }
        for name in ["dates", "x-envoy", "vary", "content-type", "x-b3", "location", "cache-control", ""] {
            assert!(!ignores(name.as_bytes()), "{name}");
        }
    }
}
