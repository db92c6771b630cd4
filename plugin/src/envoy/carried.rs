//! What an Istio VirtualService says of a mirror, for strategy `virtualservice`: how its http routes are named, which
//! headers they set on requests and which they remove.
//!
//! A VirtualService cannot give a route metadata of its own, so the mirror's configuration travels in a header. The module
//! believes it by the route's name and by the VirtualService's namespace, which must be the mirror's, and takes it away.
//! Every route of that VirtualService is named like this and has the same headers.

use std::collections::BTreeMap;

use mirror_core::config::{ConfigError, Mirror, Sampling, carried};

use super::mark;

/// The most bytes of JSON that a header may carry: every request on the route is made longer by as much, and Envoy takes
/// 60 KiB of headers.
pub const MOST_BYTES: usize = 4 * 1024;

/// The `name` of each http route of the mirror's VirtualService.
pub fn route_name(mirror: &Mirror) -> String {
    carried::route_name(&mirror.name)
}

/// What `headers.request.set` of each http route says, by header. Envoy substitutes `%…%` in these values, so they hold
/// `%%` where `%` is meant.
///
/// # Errors
/// A mirror that makes no sense, one whose sample Envoy does not draw, and one with too many rules for a header.
pub fn headers_to_set(mirror: &Mirror) -> Result<BTreeMap<&'static str, String>, ConfigError> {
    mirror.check()?;
    let error = |path: &str, reason: String| Err(ConfigError { path: path.to_owned(), reason });
    if mirror.sampling != Sampling::Envoy {
        return error("sampling", "must be `envoy`: a VirtualService has no selector".to_owned());
    }
    let json = mirror.to_json();
    if json.len() > MOST_BYTES {
        let reason = format!(
            "the configuration takes {} bytes, and a VirtualService carries at most {MOST_BYTES}: use fewer or shorter \
             rules, or strategy overlay",
            json.len()
        );
        return error("rules", reason);
    }
    let literal = |value: String| value.replace('%', "%%");
    Ok(BTreeMap::from([
        (mark::MIRROR, literal(format!("{}/{}", mirror.name, mirror.fingerprint()))),
        (mark::CONFIG, literal(json)),
    ]))
}

/// What `headers.request.remove` of each http route says: marks that a client may have sent, and no one else sets here.
pub fn headers_to_remove() -> [&'static str; 2] {
    [mark::ROLE, mark::PAIR]
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    fn mirror() -> Mirror {
        Mirror { sampling: Sampling::Envoy, ..fixture::full().mirror }
    }

    #[test]
    fn all_that_a_virtual_service_says() {
        let mirror = mirror();
        let set = headers_to_set(&mirror).expect("a good mirror");
        insta::assert_json_snapshot!((route_name(&mirror), set, headers_to_remove()));
    }

    #[test]
    fn any_configuration_is_a_header_that_envoy_takes_literally() {
        let mut mirror = mirror();
        mirror.rules.ignore = vec!["/100%PROTOCOL%/\u{e9}\u{1f980}\n\u{7f}".parse().expect("a place")];
        let set = headers_to_set(&mirror).expect("a good mirror");
        let value = &set[mark::CONFIG];
        assert!(value.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{value}");
        assert!(value.contains("100%%PROTOCOL%%"), "{value}");
        let substituted = value.replace("%%", "%");
        assert_eq!(Mirror::from_json(substituted.as_bytes()).as_ref(), Ok(&mirror));
        let fingerprint = mirror_core::config::fingerprint(substituted.as_bytes());
        assert_eq!(set[mark::MIRROR], format!("default/hello/{fingerprint}"));
    }

    #[test]
    fn what_cannot_be_carried_is_refused_with_a_way_out() {
        let selected = Mirror { sampling: Sampling::Selector, ..mirror() };
        assert_eq!(headers_to_set(&selected).expect_err("no selector").path, "sampling");
        let nameless = Mirror { name: "hello".into(), ..mirror() };
        assert_eq!(headers_to_set(&nameless).expect_err("no namespace").path, "name");

        let mut long = mirror();
        let room = MOST_BYTES - long.to_json().len();
        // `,"/aaa…"`
        let rule = format!("/{}", "a".repeat(room - 4));
        long.rules.ignore.push(rule.parse().expect("a place"));
        assert_eq!(long.to_json().len(), MOST_BYTES);
        assert!(headers_to_set(&long).is_ok());
        long.rules.ignore.push("/b".parse().expect("a place"));
        let error = headers_to_set(&long).expect_err("too long").to_string();
        for part in ["rules: ", "4101 bytes", "at most 4096", "fewer", "overlay"] {
            assert!(error.contains(part), "{error}");
        }
    }
}
