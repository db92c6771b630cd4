//! The cookies that answers set: by name and attributes. Their values are sessions and tokens, which differ from copy to
//! copy and must not be shown, so they are never looked at.

use super::fields::{self, Values};
use super::{Sink, defaults};
use crate::config::Rules;
use crate::divergence::{REDACTED, shown};
use crate::headers::HeaderBlock;
use crate::place::{Pattern, Place, name_matches};

/// The rules that concern cookies.
#[derive(Debug)]
pub(super) struct CookieRules {
    ignore: Vec<String>,
    redact: Vec<String>,
}

impl CookieRules {
    pub(super) fn new(rules: &Rules) -> Self {
        let names = |patterns: &[Pattern]| {
            let name = |pattern: &Pattern| match pattern {
                Pattern::Cookie(name) => Some(name.clone()),
                _ => None,
            };
            patterns.iter().filter_map(name).collect()
        };
        Self { ignore: names(&rules.ignore), redact: names(&rules.redact) }
    }
}

/// Compares all `set-cookie` headers.
pub(super) fn compare(rules: &CookieRules, primary: &HeaderBlock, shadow: &HeaderBlock, sink: &mut Sink) {
    let [ours, theirs] = [primary, shadow].map(|headers| cookies(rules, headers));
    let show = |name: &[u8], attributes: &[u8]| {
        if matches(&rules.redact, name) { REDACTED.to_owned() } else { shown(attributes) }
    };
    fields::differences([&ours, &theirs], Place::cookie, &show, sink);
}

/// The attributes of each cookie that counts; those of several cookies of one name (for other paths) follow each other.
fn cookies(rules: &CookieRules, headers: &HeaderBlock) -> Values {
    let mut cookies = Values::new();
    for (_, value) in headers.iter().filter(|(name, _)| defaults::names("set-cookie", name)) {
        let mut parts = value.split(|byte| *byte == b';');
        let pair = parts.next().unwrap_or_default();
        let name = pair.split(|byte| *byte == b'=').next().unwrap_or_default().trim_ascii();
        if !matches(&rules.ignore, name) {
            fields::append(&mut cookies, name.to_vec(), b" | ", attributes(parts).as_bytes());
        }
    }
    cookies
}

fn matches(patterns: &[String], name: &[u8]) -> bool {
    let name = String::from_utf8_lossy(name);
    patterns.iter().any(|pattern| name_matches(pattern, &name))
}

/// How the value of an attribute counts.
enum Meaning {
    /// Only that the attribute is there.
    Presence,
    /// In any case.
    AnyCase,
    /// As it stands.
    Exact,
}

/// The attributes that browsers know (RFC 6265bis, section 5.6); they ignore all others. When a cookie `Expires` depends
/// on when it was made; `Max-Age` says the same without that.
const ATTRIBUTES: &[(&str, Meaning)] = &[
    ("domain", Meaning::AnyCase),
    ("path", Meaning::Exact),
    ("max-age", Meaning::Exact),
    ("expires", Meaning::Presence),
    ("secure", Meaning::Presence),
    ("httponly", Meaning::Presence),
    ("samesite", Meaning::AnyCase),
    ("partitioned", Meaning::Presence),
    ("priority", Meaning::AnyCase),
];

/// The known attributes in one order and spelling: `path=/; secure`. Of a repeated one the last counts.
fn attributes<'a>(parts: impl Iterator<Item = &'a [u8]> + Clone) -> String {
    let mut text = String::new();
    for (attribute, meaning) in ATTRIBUTES {
        let value = parts.clone().filter_map(|part| {
            let mut halves = part.splitn(2, |byte| *byte == b'=');
            let name = halves.next().unwrap_or_default().trim_ascii();
            name.eq_ignore_ascii_case(attribute.as_bytes()).then(|| halves.next().unwrap_or_default().trim_ascii())
        });
        let Some(value) = value.last() else { continue };
        if !text.is_empty() {
            text.push_str("; ");
        }
        text.push_str(attribute);
        let value = String::from_utf8_lossy(value);
        match meaning {
            Meaning::Presence => continue,
            Meaning::AnyCase => text.push_str(&format!("={}", value.trim_start_matches('.').to_ascii_lowercase())),
            Meaning::Exact => text.push_str(&format!("={value}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_brought_into_one_order_and_spelling() {
        for (set_cookie, expected) in [
            ("SID=secret", ""),
            ("SID=secret; Path=/; HttpOnly", "path=/; httponly"),
            ("SID=secret;httponly ; PATH=/", "path=/; httponly"),
            ("SID=s; SameSite=Lax; Secure", "secure; samesite=lax"),
            ("SID=s; Domain=.Example.com", "domain=example.com"),
            ("SID=s; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=60", "max-age=60; expires"),
            ("SID=s; Path=/a; Path=/b", "path=/b"),
            ("SID=s; token=secret", ""),
        ] {
            let block = HeaderBlock::from_pairs(&[("set-cookie", set_cookie)]);
            let cookies = cookies(&CookieRules::new(&Rules::default()), &block);
            let found: Vec<_> = cookies.iter().map(|(name, value)| (name.as_slice(), value.as_slice())).collect();
            assert_eq!(found, [(&b"SID"[..], expected.as_bytes())], "{set_cookie}");
        }
    }
}
