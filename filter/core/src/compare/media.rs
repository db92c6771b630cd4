//! What kind of body an answer carries, by its content type and, where that says little, by its look.

use crate::headers::HeaderBlock;

/// Kinds of bodies that are compared in ways of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Media {
    /// A JSON document.
    Json,
    /// JSON documents, one a line.
    JsonLines,
    /// Text in lines.
    Text,
    /// gRPC messages, each behind its length.
    Grpc,
    /// Anything else.
    Bytes,
}

/// Whether the answer is a stream of server-sent events, which has no end to compare.
pub(super) fn is_event_stream(headers: &HeaderBlock) -> bool {
    essence(headers).eq_ignore_ascii_case(b"text/event-stream")
}

const JSON: &[&str] = &["application/json", "text/json"];

const JSON_LINES: &[&str] = &[
    "application/x-ndjson",
    "application/ndjson",
    "application/jsonl",
    "application/x-jsonlines",
    "application/jsonlines",
];

/// Types that do not begin with `text/` and are text all the same.
const TEXT: &[&str] = &[
    "application/xml",
    "application/javascript",
    "application/x-javascript",
    "application/ecmascript",
    "application/x-www-form-urlencoded",
    "application/yaml",
    "application/x-yaml",
    "application/toml",
    "application/graphql",
    "application/sql",
    "application/json-seq",
    "application/grpc-web-text",
    "application/grpc-web-text+proto",
];

/// What `body` (decoded) is.
pub(super) fn of(headers: &HeaderBlock, body: &[u8]) -> Media {
    let essence = essence(headers).to_ascii_lowercase();
    let is_one_of = |types: &[&str]| types.iter().any(|known| known.as_bytes() == essence);
    let is_open = essence.is_empty() || essence == b"text/plain";
    if is_one_of(JSON) || (is_open && looks_like_json(body)) {
        Media::Json
    } else if is_one_of(JSON_LINES) {
        Media::JsonLines
    } else if essence.starts_with(b"text/") || essence.ends_with(b"+xml") || is_one_of(TEXT) {
        Media::Text
    } else if essence.starts_with(b"application/grpc") {
        Media::Grpc
    } else if essence.ends_with(b"+json") {
        Media::Json
    } else if essence.is_empty() && looks_like_text(body) {
        Media::Text
    } else {
        Media::Bytes
    }
}

/// The content type without parameters; empty where there is none.
fn essence(headers: &HeaderBlock) -> &[u8] {
    let value = headers.get("content-type").unwrap_or_default();
    value.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii()
}

fn looks_like_json(body: &[u8]) -> bool {
    matches!(body.trim_ascii_start().first(), Some(b'{' | b'['))
}

fn looks_like_text(body: &[u8]) -> bool {
    !body.contains(&0) && std::str::from_utf8(body).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_type_decides_and_look_where_it_says_little() {
        for (content_type, body, expected) in [
            ("application/json", "x", Media::Json),
            ("Application/JSON; charset=utf-8", "", Media::Json),
            ("application/problem+json", "", Media::Json),
            ("application/x-ndjson", "", Media::JsonLines),
            ("text/html;charset=utf-8", "{", Media::Text),
            ("image/svg+xml", "", Media::Text),
            ("application/javascript", "", Media::Text),
            ("text/plain", " \n[1]", Media::Json),
            ("text/plain", "hello", Media::Text),
            ("", "{}", Media::Json),
            ("", "hello", Media::Text),
            ("", "a\0b", Media::Bytes),
            ("application/octet-stream", "{}", Media::Bytes),
            ("application/grpc", "", Media::Grpc),
            ("application/grpc+proto", "", Media::Grpc),
            ("application/grpc+json", "", Media::Grpc),
            ("application/grpc-web+proto", "", Media::Grpc),
            ("application/grpc-web-text", "", Media::Text),
        ] {
            let headers = HeaderBlock::from_pairs(&[("content-type", content_type)]);
            assert_eq!(of(&headers, body.as_bytes()), expected, "{content_type}: {body:?}");
        }
        assert_eq!(of(&HeaderBlock::default(), b"[1]"), Media::Json);
    }
}
