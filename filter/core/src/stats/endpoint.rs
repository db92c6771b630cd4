//! Endpoints: what requests have in common when the parts of their paths that name single things are left out.
//!
//! `GET /users/7?page=2` becomes `GET /users/{id}`. Templates from the rules come first; where none fits, segments that
//! look like ids are folded. The result is printable ASCII and bounded, whatever a client sends.

use std::borrow::Cow;

use super::names;
use crate::config::EndpointTemplate;

/// What stands for an id.
const ID: &str = "{id}";
/// How much of a path is looked at, in bytes; a longer one is treated as if it ended here.
const PATH_MOST: usize = 2048;
/// The longest method that is kept, in bytes.
const METHOD_MOST: usize = 16;

/// The endpoint of a request: `METHOD /path`. `path` may have a query and a fragment; they are dropped.
pub fn endpoint(method: &str, path: &str, templates: &[EndpointTemplate]) -> String {
    let mut text = String::new();
    fold(method, path, templates, &mut text);
    text
}

/// Writes what [`endpoint`] returns into `out`, in place of what was there.
pub(super) fn fold(method: &str, path: &str, templates: &[EndpointTemplate], out: &mut String) {
    out.clear();
    let good = |b: u8| b.is_ascii_uppercase() || b == b'-' || b == b'_';
    let known = (1..=METHOD_MOST).contains(&method.len()) && method.bytes().all(good);
    out.push_str(if known { method } else { "other" });
    out.push(' ');

    let path = path.split(['?', '#']).next().unwrap_or_default();
    let path = path.get(..path.floor_char_boundary(PATH_MOST)).unwrap_or_default();
    if let Some(template) = templates.iter().find(|template| template.matches(path)) {
        out.push_str(template.as_str());
    } else if is_grpc(method, path) {
        out.push_str(path);
    } else {
        for (i, segment) in path.split('/').enumerate() {
            if i > 0 {
                out.push('/');
            }
            fold_segment(segment, out);
        }
    }
    if let Cow::Owned(cut) = names::bounded(out) {
        *out = cut;
    }
}

/// Whether this calls a gRPC method, `/package.v1.Service/Method`: nothing in such a path is an id.
fn is_grpc(method: &str, path: &str) -> bool {
    let word = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let mut parts = path.split('/');
    let (Some(""), Some(service), Some(call), None) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    method == "POST"
        && service.contains('.')
        && service.split('.').all(|part| word(part) && part.starts_with(|c: char| !c.is_ascii_digit()))
        && word(call)
        && call.starts_with(|c: char| c.is_ascii_uppercase())
}

/// Writes one segment, its id folded, every byte that is not printable ASCII percent-encoded.
fn fold_segment(segment: &str, out: &mut String) {
    let looks = Looks::of(segment);
    if looks.like_id(segment) {
        out.push_str(ID);
        return;
    }
    if looks.digit
        && let Some((stem, extension)) = segment.rsplit_once('.')
        && (1..=5).contains(&extension.len())
        && extension.bytes().all(|b| b.is_ascii_alphabetic())
        && Looks::of(stem).like_id(stem)
    {
        out.push_str(ID);
        out.push('.');
        out.push_str(extension);
        return;
    }
    if looks.printable {
        out.push_str(segment);
        return;
    }
    for byte in segment.bytes() {
        if byte.is_ascii_graphic() {
            out.push(char::from(byte));
        } else {
            let digit = |n: u8| char::from_digit(n.into(), 16).unwrap_or('0').to_ascii_uppercase();
            out.extend(['%', digit(byte >> 4), digit(byte & 0xf)]);
        }
    }
}

/// What a segment's bytes are, seen in one pass.
struct Looks {
    /// There is a digit.
    digit: bool,
    /// All are digits and what stands between them in dates, ranges and lists.
    number: bool,
    /// All are hex digits.
    hex: bool,
    /// All are printable ASCII.
    printable: bool,
    /// There is `@` or `%`.
    at: bool,
}

impl Looks {
    fn of(segment: &str) -> Self {
        let mut looks = Self { digit: false, number: true, hex: true, printable: true, at: false };
        for byte in segment.bytes() {
            let digit = byte.is_ascii_digit();
            looks.digit |= digit;
            looks.number &= digit || matches!(byte, b'-' | b'_' | b':' | b',' | b';' | b'+');
            looks.hex &= byte.is_ascii_hexdigit();
            looks.printable &= byte.is_ascii_graphic();
            looks.at |= matches!(byte, b'@' | b'%');
        }
        looks
    }

    /// Whether the segment names one thing out of many: numbers and dates, long hex, UUIDs, ULIDs and other long tokens
    /// with a digit in them, addresses of e-mail. Dots part tokens, since names of packages and hosts may be long.
    fn like_id(&self, segment: &str) -> bool {
        let token = |part: &str| part.len() >= 20 && part.bytes().any(|b| b.is_ascii_digit());
        self.digit
            && (self.number
                || (self.hex && segment.len() >= 8)
                || (segment.len() >= 20 && segment.split('.').any(token)))
            || self.at && is_email(segment)
    }
}

fn is_email(segment: &str) -> bool {
    let at = segment.split_once('@').or_else(|| segment.split_once("%40"));
    at.is_some_and(|(user, host)| !user.is_empty() && !host.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(method: &str, path: &str) -> String {
        endpoint(method, path, &[])
    }

    #[test]
    fn ids_are_folded_and_the_rest_stays() {
        for (path, endpoint) in [
            ("/", "/"),
            ("", ""),
            ("*", "*"),
            ("/users", "/users"),
            ("/users/", "/users/"),
            ("//users//7", "//users//{id}"),
            ("/users/7", "/users/{id}"),
            ("/users/7.json", "/users/{id}.json"),
            ("/users/7?x=1", "/users/{id}"),
            ("/users?7", "/users"),
            ("/users#7", "/users"),
            ("/users/7#a?b", "/users/{id}"),
            ("/days/2024-02-29", "/days/{id}"),
            ("/range/10,20", "/range/{id}"),
            ("/v1/x", "/v1/x"),
            ("/v1.2/x", "/v1.2/x"),
            ("/utf-8/page2", "/utf-8/page2"),
            ("/6ba7b810-9dad-11d1-80b4-00c04fd430c8/x", "/{id}/x"),
            ("/6BA7B810-9DAD-11D1-80B4-00C04FD430C8", "/{id}"),
            ("/01ARZ3NDEKTSV4RRFFQ69G5FAV", "/{id}"),
            ("/commit/deadbee1", "/commit/{id}"),
            ("/commit/deadbeef", "/commit/deadbeef"),
            ("/commit/dead1", "/commit/dead1"),
            ("/sessions/eyJhbGciOiJIUzI1NiJ9.e30.ZRrHA1JJJW8opsbCGfG_HACGpVUMN", "/sessions/{id}"),
            ("/blog/a-rather-long-slug-without-number", "/blog/a-rather-long-slug-without-number"),
            ("/blog/top-10-of-the-rather-long-slugs", "/blog/{id}"),
            ("/u/ann@example.com", "/u/{id}"),
            ("/u/ann%40example.com/x", "/u/{id}/x"),
            ("/@scope/name@", "/@scope/name@"),
            ("/a%20b/%E4", "/a%20b/%E4"),
            ("/ä b\n\u{7f}", "/%C3%A4%20b%0A%7F"),
            ("/{id}/-/_", "/{id}/-/_"),
        ] {
            assert_eq!(folded("GET", path), format!("GET {endpoint}"), "{path}");
        }
    }

    #[test]
    fn absurd_methods_are_one() {
        for (method, said) in [
            ("GET", "GET"),
            ("M-SEARCH", "M-SEARCH"),
            ("", "other"),
            ("get", "other"),
            ("G T", "other"),
            ("A\n", "other"),
            ("ABCDEFGHIJKLMNOP", "ABCDEFGHIJKLMNOP"),
            ("ABCDEFGHIJKLMNOPQ", "other"),
        ] {
            assert_eq!(folded(method, "/"), format!("{said} /"), "{method}");
        }
    }

    #[test]
    fn grpc_methods_stay_whole() {
        for (method, path, endpoint) in [
            ("POST", "/google.cloud.vision.v1.ImageAnnotatorServiceV2Beta/Get", None),
            ("POST", "/a.LongServiceNameWithVersion2/Get?x", Some("/a.LongServiceNameWithVersion2/Get")),
            ("GET", "/a.LongServiceNameWithVersion2/Get", Some("/{id}/Get")),
            ("POST", "/a.LongServiceNameWithVersion2/get", Some("/{id}/get")),
            ("POST", "/a.LongServiceNameWithVersion2/Get/x", Some("/{id}/Get/x")),
            ("POST", "/e30.4RrHA1JJJW8opsbCGfG_HACGpVUMN/Get", Some("/{id}/Get")),
        ] {
            assert_eq!(folded(method, path), format!("{method} {}", endpoint.unwrap_or(path)), "{path}");
        }
    }

    #[test]
    fn templates_come_first_and_in_order() {
        let template = |text: &str| EndpointTemplate::try_from(text.to_owned()).expect("a template");
        let templates = ["/posts/{slug}", "/posts/new", "/posts/7/{part}"].map(template);
        for (path, said) in [
            ("/posts/new?draft", "/posts/{slug}"),
            ("/posts/7/likes", "/posts/7/{part}"),
            ("/posts/8/likes", "/posts/{id}/likes"),
            ("/posts/", "/posts/"),
        ] {
            assert_eq!(endpoint("GET", path, &templates), format!("GET {said}"), "{path}");
        }
    }

    #[test]
    fn long_paths_are_cut_and_stay_distinct() {
        let long = |end: &str| folded("GET", &format!("/{}{end}", "x/".repeat(300)));
        assert_ne!(long("a"), long("b"));
        assert_eq!(long("a").len(), names::Text::MOST);
        let endless = |end: &str| folded("GET", &format!("/{}{end}", "ä".repeat(PATH_MOST)));
        assert_eq!(endless("a"), endless("b"));
    }

    #[cfg(not(target_arch = "wasm32"))]
    proptest::proptest! {
        #[test]
        fn whatever_comes_the_result_is_printable_and_bounded(method: String, path: String, path2 in "(/[a-f0-9.@%-]*){0,50}") {
            for path in [path, path2] {
                let text = folded(&method, &path);
                assert!(text.len() <= names::Text::MOST && text.bytes().all(|b| b.is_ascii_graphic() || b == b' '));
                assert_eq!(text.matches(' ').count(), 1);
                assert_eq!(names::Text::new(&text).as_str(), text);
            }
        }
    }
}
