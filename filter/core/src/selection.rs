//! Decides which requests are copied, where the module sends the copies itself. It decides as the selector's script does,
//! by the same sample.

use crate::config::{HeaderMatch, Mirror, PathMatch, Selection, ValueMatch, WHOLE};
use crate::headers::HeaderBlock;

/// Headers of Knative's probes.
const PROBES: [&str; 2] = ["k-network-probe", "k-network-hash"];

/// The host that a request is for: lower case and without a port.
pub fn host(headers: &HeaderBlock) -> Vec<u8> {
    let authority = headers.get(":authority").unwrap_or_default();
    let is_port = |port: &[u8]| !port.is_empty() && port.iter().all(u8::is_ascii_digit);
    let host = match authority.iter().rposition(|byte| *byte == b':') {
        Some(colon) if authority.get(colon.saturating_add(1)..).is_some_and(is_port) => authority.get(..colon),
        _ => Some(authority),
    };
    host.unwrap_or_default().to_ascii_lowercase()
}

/// Whether a request for one of the mirror's hosts is copied. `now` is in nanoseconds since the Unix epoch.
pub fn selects(mirror: &Mirror, selection: &Selection, headers: &HeaderBlock, now: u64) -> bool {
    let method = headers.get(":method").unwrap_or_default();
    let is_over = selection.expires.is_some_and(|end| now / 1_000_000_000 >= end);
    !is_over
        && mirror.methods.iter().any(|wanted| wanted.as_bytes() == method)
        && PROBES.iter().all(|probe| headers.get(probe).is_none())
        // An upgrade is a conversation that cannot be held twice.
        && headers.get("upgrade").is_none()
        && is_at(&selection.paths, headers)
        && selection.headers.iter().all(|wanted| has(wanted, headers))
        && is_in_sample(&mirror.name, selection, headers)
}

fn is_at(paths: &[PathMatch], headers: &HeaderBlock) -> bool {
    let path = headers.get(":path").unwrap_or_default();
    let path = path.split(|byte| *byte == b'?').next().unwrap_or_default();
    paths.is_empty()
        || paths.iter().any(|wanted| match wanted {
            PathMatch::Exact(text) => text.as_bytes() == path,
            PathMatch::Prefix(text) => path.starts_with(text.as_bytes()),
        })
}

fn has(wanted: &HeaderMatch, headers: &HeaderBlock) -> bool {
    headers.get_all(&wanted.name).is_some_and(|value| match &wanted.value {
        ValueMatch::Present => true,
        ValueMatch::Exact(text) => text.as_bytes() == value,
        ValueMatch::Prefix(text) => value.starts_with(text.as_bytes()),
    })
}

/// The mirror's name is hashed too, so that mirrors of equal shares do not pick the same users.
fn is_in_sample(name: &str, selection: &Selection, headers: &HeaderBlock) -> bool {
    if selection.millionths == WHOLE && selection.sticky.is_none() {
        return true;
    }
    let key = headers.get_all(selection.sticky.as_deref().unwrap_or("x-request-id"));
    let name = name.bytes().chain(*b"/");
    key.is_some_and(|key| draw(name.chain(key.iter().copied())) < selection.millionths.into())
}

/// Where in the whole a text falls, by the selector's hash: the multiplier keeps every product below 2^53, up to which a script's numbers are exact.
pub fn draw(text: impl Iterator<Item = u8>) -> u64 {
    const ALL: u64 = WHOLE as u64;
    const FACTOR: u64 = 1_664_525;
    let step = |h: u64, add: u64| h.wrapping_mul(FACTOR).wrapping_add(add) % 4_294_967_291;
    let hash = text.fold(5381, |h, byte| step(h, byte.into()));
    // Two rounds more spread keys that differ in their last characters only.
    (0..2).fold(hash, |h, _| step(h, 1_013_904_223)) % ALL
}

#[cfg(test)]
mod tests {
    use super::*;
    fn request(more: &[(&'static str, &'static str)]) -> HeaderBlock {
        let fixed = [(":method", "GET"), (":path", "/v1/a?b=/health")];
        HeaderBlock::from_pairs(&[more, &fixed].concat())
    }

    #[test]
    fn hosts_are_compared_without_port_and_case() {
        for (authority, expected) in [
            ("Hello.Example.com:8080", "hello.example.com"),
            ("hello.example.com", "hello.example.com"),
            ("hello:", "hello:"),
            ("hello:8a", "hello:8a"),
            ("[::1]:80", "[::1]"),
            ("", ""),
        ] {
            assert_eq!(
                host(&HeaderBlock::from_pairs(&[(":authority", authority)])),
                expected.as_bytes(),
                "{authority}"
            );
        }
    }

    #[test]
    fn all_conditions_must_hold() {
        const SECOND: u64 = 1_000_000_000;
        let path = |text: &str| vec![text.parse().expect("never fails")];
        let header = |text: &str| vec![text.parse().expect("never fails")];
        type Edit<'a> = Box<dyn Fn(&mut Selection) + 'a>;
        let cases: Vec<(Edit<'_>, HeaderBlock, bool)> = vec![
            (Box::new(|_| {}), request(&[]), true),
            (Box::new(|_| {}), request(&[(":method", "POST")]), false),
            (Box::new(|_| {}), request(&[("k-network-probe", "queue")]), false),
            (Box::new(|_| {}), request(&[("k-network-hash", "override")]), false),
            (Box::new(|_| {}), request(&[("upgrade", "websocket")]), false),
            (Box::new(|s| s.expires = Some(100)), request(&[]), false),
            (Box::new(|s| s.expires = Some(101)), request(&[]), true),
            (Box::new(|s| s.paths = path("/v1/a")), request(&[]), true),
            (Box::new(|s| s.paths = path("/v1/*")), request(&[]), true),
            (Box::new(|s| s.paths = path("/v1")), request(&[]), false),
            (Box::new(|s| s.paths = path("/health")), request(&[]), false),
            (Box::new(|s| s.headers = header("x-a")), request(&[]), false),
            (Box::new(|s| s.headers = header("x-a")), request(&[("x-a", "")]), true),
            (Box::new(|s| s.headers = header("x-a=1")), request(&[("x-a", "12")]), false),
            (Box::new(|s| s.headers = header("x-a=1*")), request(&[("x-a", "12")]), true),
            (Box::new(|s| s.headers = header("x-a=1,2")), request(&[("x-a", "1"), ("x-a", "2")]), true),
            (Box::new(|s| s.sticky = Some("x-user".into())), request(&[]), false),
            (Box::new(|s| s.sticky = Some("x-user".into())), request(&[("x-user", "u")]), true),
            (Box::new(|s| s.millionths = 999_999), request(&[]), false),
        ];
        let json = r#"{"version":1,"name":"default/hello","candidate":{"cluster":"c"},"hosts":["h"]}"#;
        let mirror = Mirror::from_json(json.as_bytes()).expect("a mirror");
        for (number, (edit, request, expected)) in cases.into_iter().enumerate() {
            let mut selection = Selection::everything();
            edit(&mut selection);
            let selected = selects(&mirror, &selection, &request, 100 * SECOND);
            assert_eq!(selected, expected, "case {number}: {request:?}");
        }
    }

    #[test]
    fn the_sample_is_the_selectors() {
        // As the script of the same mirror draws them with Lua.
        for (key, number) in [("user-1", 932_583), ("user-2", 505_513), ("", 297_677)] {
            assert_eq!(draw(b"default/hello/".iter().copied().chain(key.bytes())), number, "{key}");
        }
    }
}
