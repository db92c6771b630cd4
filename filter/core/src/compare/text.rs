//! Bodies that are compared as they stand: by lines where they are text, by bytes otherwise. They are equal or they
//! differ; what is shown is the first difference.

use super::{Sink, shown};
use crate::divergence::Kind;
use crate::place::Place;

/// How much of a line is shown before the first byte that differs, so that a long line shows the difference.
const LEAD: usize = 40;

/// How many bytes are shown where bytes differ.
const HEX_BYTES: usize = 16;

/// Compares two texts and shows the first line that differs, as `line N: …`.
pub(super) fn compare_lines(primary: &[u8], shadow: &[u8], redacted: bool, sink: &mut Sink) {
    let Some(at) = first_difference(primary, shadow) else { return };
    let same = primary.get(..at).unwrap_or_default();
    let number = memchr::memchr_iter(b'\n', same).count().saturating_add(1);
    let start = memchr::memrchr(b'\n', same).map_or(0, |newline| newline.saturating_add(1));
    let show = |text: &[u8]| {
        if redacted {
            return shown::body(text, redacted);
        }
        // The line's beginning, unless it is far from the difference; then a part of it, begun at a character.
        let mut from = start.max(at.saturating_sub(LEAD));
        while text.get(from).is_some_and(|byte| byte & 0xc0 == 0x80) {
            from = from.saturating_add(1);
        }
        let rest = text.get(from..).unwrap_or_default();
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let cut = if from > start { "…" } else { "" };
        // A line's end is part of it: without the escape, lines that differ in nothing else would look the same.
        let line = shown::body(rest.get(..end).unwrap_or_default(), false).replace('\r', "\\r");
        let ended = if rest.len() == end { " (end of text)" } else { "" };
        format!("line {number}: {cut}{line}{ended}")
    };
    sink.add(Place::body(), Kind::Value, Some(show(primary)), Some(show(shadow)));
}

/// Compares two runs of bytes and shows the first that differ, as `offset N: HEX of LENGTH bytes`.
pub(super) fn compare_bytes(primary: &[u8], shadow: &[u8], redacted: bool, sink: &mut Sink) {
    let Some(at) = first_difference(primary, shadow) else { return };
    let show = |bytes: &[u8]| {
        if redacted {
            return shown::body(bytes, redacted);
        }
        format!("offset {at}: {} of {} bytes", hex(bytes, at), bytes.len())
    };
    sink.add(Place::body(), Kind::Value, Some(show(primary)), Some(show(shadow)));
}

/// Some bytes from `at` on, in hex; `nothing` where there are none.
pub(super) fn hex(bytes: &[u8], at: usize) -> String {
    let rest = bytes.get(at..).unwrap_or_default();
    if rest.is_empty() {
        return "nothing".to_owned();
    }
    rest.iter().take(HEX_BYTES).map(|byte| format!("{byte:02x}")).collect()
}

/// Where two runs of bytes differ first: an offset, which is the shorter one's length where it begins the longer.
pub(super) fn first_difference(primary: &[u8], shadow: &[u8]) -> Option<usize> {
    // Whole blocks first: comparing them is what the machine does fastest.
    const BLOCK: usize = 64;
    let blocks = primary.chunks_exact(BLOCK).zip(shadow.chunks_exact(BLOCK));
    let skipped = blocks.take_while(|(one, other)| one == other).count().saturating_mul(BLOCK);
    let [ours, theirs] = [primary, shadow].map(|bytes| bytes.get(skipped..).unwrap_or_default());
    let rest = ours.iter().zip(theirs).take_while(|(one, other)| one == other).count();
    (rest < ours.len() || rest < theirs.len()).then(|| skipped.saturating_add(rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::divergence::REDACTED;

    fn found(compare: fn(&[u8], &[u8], bool, &mut Sink), primary: &str, shadow: &str) -> Option<(String, String)> {
        let mut sink = Sink::default();
        compare(primary.as_bytes(), shadow.as_bytes(), false, &mut sink);
        let found = sink.into_parts().0.pop()?;
        assert_eq!((found.place, found.kind), (Place::body(), Kind::Value));
        found.primary.zip(found.shadow)
    }

    #[test]
    fn the_first_line_that_differs_is_shown() {
        let far = "x".repeat(100);
        let lead = "x".repeat(LEAD);
        for (primary, shadow, expected) in [
            ("a\nb\nc", "a\nB\nc", ("line 2: b".into(), "line 2: B".into())),
            ("a\nb", "a\n", ("line 2: b (end of text)".into(), "line 2:  (end of text)".into())),
            ("a\n", "a", ("line 1: a".into(), "line 1: a (end of text)".into())),
            ("a\r\nb", "a\nb", ("line 1: a\\r".into(), "line 1: a".into())),
            ("", "a\n", ("line 1:  (end of text)".into(), "line 1: a".into())),
            (
                &format!("1\n{far}a\n"),
                &format!("1\n{far}b\n"),
                (format!("line 2: …{lead}a"), format!("line 2: …{lead}b")),
            ),
        ] {
            assert_eq!(found(compare_lines, primary, shadow), Some(expected), "{primary:?} {shadow:?}");
        }
        assert_eq!(found(compare_lines, "a\nb", "a\nb"), None);
    }

    #[test]
    fn the_first_bytes_that_differ_are_shown() {
        let long = "a".repeat(200);
        for (primary, shadow, expected) in [
            ("abc", "abd", ("offset 2: 63 of 3 bytes".into(), "offset 2: 64 of 3 bytes".into())),
            ("ab", "abd", ("offset 2: nothing of 2 bytes".into(), "offset 2: 64 of 3 bytes".into())),
            (
                &long,
                &format!("{}b", "a".repeat(150)),
                (format!("offset 150: {} of 200 bytes", "61".repeat(HEX_BYTES)), "offset 150: 62 of 151 bytes".into()),
            ),
        ] {
            assert_eq!(found(compare_bytes, primary, shadow), Some(expected), "{primary:?} {shadow:?}");
        }
        assert_eq!(found(compare_bytes, &long, &long), None);
    }

    #[test]
    fn a_redacted_body_shows_nothing() {
        for compare in [compare_lines, compare_bytes] {
            let mut sink = Sink::default();
            compare(b"secret a", b"secret b", true, &mut sink);
            let found = sink.into_parts().0;
            let shown = [&found[0].primary, &found[0].shadow].map(Option::as_deref);
            assert_eq!(shown, [Some(REDACTED); 2]);
        }
    }
}
