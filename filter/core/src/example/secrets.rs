//! What a request kept secret, and its removal from text that is to be shown: an answer may well repeat what it was sent.

use crate::divergence::REDACTED;
use crate::headers::HeaderBlock;

/// The secrets of one request: the values of `Authorization` and `Proxy-Authorization`, whole and without the scheme, and
/// of cookies, together and one by one.
pub struct Secrets {
    found: Vec<String>,
    /// There are more than are looked for.
    too_many: bool,
}

/// The most secrets that are looked for: a client may send thousands of cookies. With more, nothing is shown.
const MOST: usize = 64;

/// Shorter ones are not looked for: they would be found everywhere. In bytes.
const LEAST: usize = 6;
/// What ends a text that was cut.
const CUT: char = '…';

impl Secrets {
    /// Those of a request.
    pub fn of(request: &HeaderBlock) -> Self {
        let mut secrets = Self { found: Vec::new(), too_many: false };
        for (name, value) in request.iter() {
            let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
            // As text is shown: what is not UTF-8 is replaced there as well.
            let value = String::from_utf8_lossy(value);
            if is("authorization") || is("proxy-authorization") {
                secrets.add(&value);
                secrets.add(value.trim().split_once(' ').map_or("", |(_, credentials)| credentials));
            } else if is("cookie") {
                secrets.add(&value);
                for cookie in value.split(';') {
                    let value = cookie.split_once('=').map_or(cookie, |(_, value)| value);
                    secrets.add(value.trim().trim_matches('"'));
                }
            }
        }
        secrets
    }

    fn add(&mut self, secret: &str) {
        let secret = secret.trim();
        if secret.len() < LEAST {
            return;
        }
        if self.found.len() < MOST {
            self.found.push(secret.to_owned());
        } else {
            self.too_many = true;
        }
    }

    /// The text with every secret replaced by [`REDACTED`], be it as it is or escaped as in JSON. Where the text was cut
    /// (it ends in `…`), the beginning of a secret that the cut left at its end is replaced too.
    pub fn hide(&self, text: &str) -> String {
        if self.too_many {
            return REDACTED.to_owned();
        }
        let (body, was_cut) = text.strip_suffix(CUT).map_or((text, false), |body| (body, true));
        let mut shown = String::with_capacity(text.len());
        let mut hidden_to = 0;
        for (at, c) in body.char_indices() {
            let begins = self.covered(body.get(at..).unwrap_or_default(), was_cut);
            if begins > 0 && hidden_to <= at {
                shown.push_str(REDACTED);
            }
            hidden_to = hidden_to.max(at.saturating_add(begins));
            if hidden_to <= at {
                shown.push(c);
            }
        }
        if was_cut {
            shown.push(CUT);
        }
        shown
    }

    /// How many bytes secrets cover from the beginning of `text`; 0 where none begins there.
    fn covered(&self, text: &str, was_cut: bool) -> usize {
        let readings = self.found.iter().flat_map(|secret| [plain(text, secret), escaped(text, secret)]);
        let covers = |found: &Found| found.is_whole || (was_cut && found.matched >= LEAST);
        readings.flatten().filter(covers).map(|found| found.len).max().unwrap_or_default()
    }
}

/// How far a text agrees with a secret: to the secret's end, or to its own.
struct Found {
    /// How many bytes of the text.
    len: usize,
    /// How many bytes of the secret.
    matched: usize,
    /// Whether that is all of the secret.
    is_whole: bool,
}

/// The secret as it is.
fn plain(text: &str, secret: &str) -> Option<Found> {
    let len = text.len().min(secret.len());
    let agrees = text.as_bytes().get(..len) == secret.as_bytes().get(..len);
    agrees.then_some(Found { len, matched: len, is_whole: len == secret.len() })
}

/// The secret inside a JSON string.
fn escaped(text: &str, secret: &str) -> Option<Found> {
    let (mut rest, mut wanted) = (text, secret);
    while !wanted.is_empty() {
        let Some((c, after)) = next_char(rest) else {
            // The text ends here, perhaps within an escape.
            let matched = secret.len().saturating_sub(wanted.len());
            return Some(Found { len: text.len(), matched, is_whole: false });
        };
        wanted = wanted.strip_prefix(c)?;
        rest = after;
    }
    Some(Found { len: text.len().saturating_sub(rest.len()), matched: secret.len(), is_whole: true })
}

/// The character that a JSON string's text begins with, and what follows. `None` where nothing whole is left.
fn next_char(text: &str) -> Option<(char, &str)> {
    let (c, rest) = split_first(text)?;
    if c != '\\' {
        return Some((c, rest));
    }
    let (c, rest) = split_first(rest)?;
    let plain = match c {
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => return code_unit(rest),
        c => c,
    };
    Some((plain, rest))
}

/// The character of a `\u` escape; two of them where it takes a surrogate pair.
fn code_unit(text: &str) -> Option<(char, &str)> {
    let hex = |text: &str| u32::from_str_radix(text.get(..4)?, 16).ok();
    let (unit, rest) = (hex(text)?, text.get(4..)?);
    if !(0xd800..0xdc00).contains(&unit) {
        return Some((char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER), rest));
    }
    let low = rest.strip_prefix("\\u")?;
    let both = [unit, hex(low)?].map(|unit| u16::try_from(unit).unwrap_or_default());
    let c = char::decode_utf16(both).next()?.unwrap_or(char::REPLACEMENT_CHARACTER);
    Some((c, low.get(4..)?))
}

fn split_first(text: &str) -> Option<(char, &str)> {
    let mut chars = text.chars();
    Some((chars.next()?, chars.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets() -> Secrets {
        Secrets::of(&HeaderBlock::from_pairs(&[
            ("authorization", "Bearer tok\"en/ä🦀\\123456"),
            ("Proxy-Authorization", "Basic cHJveHk6cGFzcw=="),
            ("cookie", "sid=session-one; theme=dark; q=\"quoted-value\""),
            ("cookie", "bare-cookie"),
            ("x-other", "not-secret"),
        ]))
    }

    #[test]
    fn secrets_are_hidden_however_they_are_written() {
        for (text, shown) in [
            ("nothing", "nothing"),
            ("not-secret", "not-secret"),
            ("", ""),
            ("…", "…"),
            ("session-one", "[redacted]"),
            ("a session-one b session-one", "a [redacted] b [redacted]"),
            ("session-onesession-one", "[redacted][redacted]"),
            ("session-on", "session-on"),
            ("session-on…", "[redacted]…"),
            ("x sessio…", "x [redacted]…"),
            ("x sessi…", "x sessi…"),
            ("session-one…", "[redacted]…"),
            ("session-one and more…", "[redacted] and more…"),
            ("dark", "dark"),
            ("\"quoted-value\"", "\"[redacted]\""),
            ("bare-cookie", "[redacted]"),
            ("sid=session-one; theme=dark; q=\"quoted-value\"", "[redacted]"),
            ("cHJveHk6cGFzcw==", "[redacted]"),
            ("Basic cHJveHk6cGFzcw==", "[redacted]"),
            ("Bearer tok\"en/ä🦀\\123456!", "[redacted]!"),
            ("tok\"en/ä🦀\\123456!", "[redacted]!"),
            (r#"{"a":"tok\"en\/\u00e4\ud83e\udd80\\123456"}"#, r#"{"a":"[redacted]"}"#),
            (r#"{"a":"\u0074ok\"en/ä🦀\u005C123456","b":1}"#, r#"{"a":"[redacted]","b":1}"#),
            (r#"tok\"en…"#, "[redacted]…"),
            (r#"tok\"en/ä\ud83e\ud…"#, "[redacted]…"),
            (r#"tok\"en/ä\ud83e\ud"#, r#"tok\"en/ä\ud83e\ud"#),
            (r"\ud83e\u0041\uzzzz\", r"\ud83e\u0041\uzzzz\"),
        ] {
            assert_eq!(secrets().hide(text), shown, "{text}");
        }
    }

    #[test]
    fn with_more_secrets_than_are_looked_for_nothing_is_shown() {
        let cookies = |n: usize| (0..n).map(|i| format!("c{i}=value-{i}")).collect::<Vec<_>>().join("; ");
        // The header as a whole is one.
        for (n, shown) in [(MOST - 1, "x [redacted]"), (MOST, REDACTED), (10 * MOST, REDACTED)] {
            let secrets = Secrets::of(&HeaderBlock::from_pairs(&[("cookie", cookies(n))]));
            assert_eq!(secrets.hide("x value-0"), shown, "{n}");
        }
    }

    #[test]
    fn overlapping_secrets_are_hidden_to_the_end_of_the_last() {
        let secrets = Secrets::of(&HeaderBlock::from_pairs(&[("cookie", "a=abcdefgh; b=efghijkl")]));
        assert_eq!(secrets.hide("-abcdefghijkl-"), "-[redacted]-");
    }
}
