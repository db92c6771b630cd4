//! What of a header's value may be shown: secrets never, and addresses without what may hold a token.

use crate::divergence::{REDACTED, shown};

/// Headers whose values are secrets or invite to guess them.
const SECRET: &[&str] = &[
    "authorization",
    "proxy-authorization",
    "www-authenticate",
    "proxy-authenticate",
    "authentication-info",
    "proxy-authentication-info",
    "cookie",
    "set-cookie",
    "x-forwarded-client-cert",
];

/// Endings of names that services give to headers with secrets.
const SECRET_ENDINGS: &[&str] = &[
    "-authorization",
    "-token",
    "-secret",
    "-key",
    "-password",
    "-credential",
    "-credentials",
    "-signature",
    "-session",
];

/// Headers whose values are addresses; relative ones, too, so they cannot be told by their look.
const ADDRESS: &[&str] = &["location", "content-location", "refresh", "link", "sourcemap", "x-accel-redirect"];

/// The value of the header or trailer `name`, fit to be shown. `redacted` says that a rule forbids it.
///
/// An address loses its query and fragment, and one that may name a user (`https://user:password@host/`) is not shown.
pub(super) fn field(name: &[u8], value: &[u8], redacted: bool) -> String {
    if redacted || is_secret(name) {
        return REDACTED.to_owned();
    }
    let is_one_of = |list: &[&str]| list.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()));
    if !is_one_of(ADDRESS) && !value.windows(3).any(|part| part == b"://") {
        return shown(value);
    }
    if value.contains(&b'@') {
        return REDACTED.to_owned();
    }
    match value.iter().position(|byte| matches!(byte, b'?' | b'#')) {
        Some(end) => shown(value.get(..end).unwrap_or_default()) + "?" + REDACTED,
        None => shown(value),
    }
}

fn is_secret(name: &[u8]) -> bool {
    let ends_with = |ending: &&str| {
        let start = name.len().checked_sub(ending.len());
        start.and_then(|start| name.get(start..)).is_some_and(|tail| tail.eq_ignore_ascii_case(ending.as_bytes()))
    };
    SECRET.iter().any(|secret| name.eq_ignore_ascii_case(secret.as_bytes())) || SECRET_ENDINGS.iter().any(ends_with)
}

/// A part of a body, fit to be shown. `redacted` says that a rule forbids it.
pub(super) fn body(text: &[u8], redacted: bool) -> String {
    if redacted { REDACTED.to_owned() } else { shown(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_never_shown_and_addresses_lose_their_query() {
        for (name, value, expected) in [
            ("x-build", "7", "7"),
            ("Authorization", "Bearer abc", REDACTED),
            ("www-authenticate", "Bearer nonce=1", REDACTED),
            ("x-amz-security-token", "abc", REDACTED),
            ("X-Api-Key", "abc", REDACTED),
            ("set-cookie", "a=b", REDACTED),
            ("location", "/next", "/next"),
            ("location", "/next?code=abc", "/next?[redacted]"),
            ("location", "/next#access=abc", "/next?[redacted]"),
            ("x-callback", "https://host/a?t=abc", "https://host/a?[redacted]"),
            ("x-callback", "https://user:pw@host/a", REDACTED),
            ("x-question", "why?", "why?"),
        ] {
            assert_eq!(field(name.as_bytes(), value.as_bytes(), false), expected, "{name}: {value}");
        }
        assert_eq!(field(b"x-build", b"7", true), REDACTED);
        assert_eq!(body(b"text", true), REDACTED);
    }
}
