//! Answers in files: bodies, and responses as `curl -i` writes them.

use mirror_core::answer::Answer;
use mirror_core::headers::HeaderBlock;

/// What a file holds.
#[derive(Debug)]
pub struct Saved {
    /// The answer; of a body alone with status 200, and JSON as far as it can be read as such.
    pub answer: Answer,
    /// Whether it has a status and headers.
    pub is_response: bool,
    /// What was done to it that a user may not expect.
    pub note: Option<&'static str>,
}

/// Reads what a file holds.
///
/// # Errors
/// Something that begins like a response and is none, with the place.
pub fn parse(bytes: Vec<u8>) -> Result<Saved, String> {
    if status_of(first_line(&bytes).0).is_none() {
        let headers = HeaderBlock::from_pairs(&[("content-type", "application/json")]);
        let answer = Answer { status: 200, headers, body: bytes, ..Answer::default() };
        return Ok(Saved { answer, is_response: false, note: None });
    }
    let mut rest = bytes.as_slice();
    let mut number = 0;
    // What came before the final response: 100 Continue, a proxy's own answer, redirects that were followed.
    let (status, mut headers) = loop {
        let mut headers: Vec<(String, Vec<u8>)> = Vec::new();
        let mut line;
        (line, rest) = first_line(rest);
        let status = status_of(line).unwrap_or_default();
        number += 1;
        loop {
            if rest.is_empty() {
                return Err(format!("after line {number} an empty line is missing, which ends the headers"));
            }
            (line, rest) = first_line(rest);
            number += 1;
            if line.is_empty() {
                break;
            }
            let colon = line.iter().position(|byte| *byte == b':').filter(|colon| *colon > 0);
            let Some((name, value)) = colon.map(|colon| (&line[..colon], &line[colon + 1..])) else {
                return Err(format!("line {number} is no header (`NAME: VALUE`), and no empty line that ends them"));
            };
            let name = String::from_utf8_lossy(name).trim().to_ascii_lowercase();
            headers.push((name, value.trim_ascii().to_vec()));
        }
        if status_of(first_line(rest).0).is_none() {
            break (status, headers);
        }
    };
    // `curl --compressed` decodes the body and leaves the header as it was. What is encoded is no text.
    let is_decoded = !rest.is_empty() && std::str::from_utf8(rest).is_ok();
    let before = headers.len();
    if is_decoded {
        headers.retain(|(name, _)| name != "content-encoding");
    }
    let note =
        (headers.len() < before).then_some("its body is not encoded (any more), so content-encoding is passed over");
    let answer =
        Answer { status, headers: HeaderBlock::from_pairs(&headers), body: rest.to_vec(), ..Answer::default() };
    Ok(Saved { answer, is_response: true, note })
}

/// The first line without its end, and what follows.
fn first_line(bytes: &[u8]) -> (&[u8], &[u8]) {
    let (line, rest) = match bytes.iter().position(|byte| *byte == b'\n') {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None => (bytes, &[][..]),
    };
    (line.strip_suffix(b"\r").unwrap_or(line), rest)
}

/// The status in `HTTP/1.1 200 OK` or `HTTP/2 200`.
fn status_of(line: &[u8]) -> Option<u16> {
    let line = std::str::from_utf8(line.strip_prefix(b"HTTP/")?).ok()?;
    let mut words = line.split_ascii_whitespace();
    let version = words.next()?;
    if !version.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    words.next()?.parse().ok().filter(|status| (100..1000).contains(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_are_read_as_curl_saves_them() {
        for (text, status, build, body) in [
            ("HTTP/1.1 200 OK\r\nX-Build: 7\r\n\r\n{}", 200, "7", "{}"),
            ("HTTP/2 404 \nx-build:7\n\n", 404, "7", ""),
            (
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 302 Found\r\nlocation: /\r\n\r\nHTTP/2 200\r\nx-build: 8\r\n\r\nHi\r\n\r\n",
                200,
                "8",
                "Hi\r\n\r\n",
            ),
        ] {
            let saved = parse(text.into()).expect(text);
            assert!(saved.is_response && saved.note.is_none());
            assert_eq!(saved.answer.status, status);
            assert_eq!(saved.answer.headers.get_str("x-build"), Some(build));
            assert_eq!(saved.answer.body, body.as_bytes());
        }
    }

    #[test]
    fn anything_else_is_a_body() {
        for text in ["", "{}", "HTTP is a protocol", "HTTP/x 200", "HTTP/1.1 soon"] {
            let saved = parse(text.into()).expect(text);
            assert!(!saved.is_response, "{text}");
            assert_eq!(saved.answer.body, text.as_bytes());
        }
    }

    #[test]
    fn an_encoding_that_curl_has_undone_is_passed_over() {
        let head = "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n";
        let saved = parse(format!("{head}{{}}").into()).expect("a response");
        assert!(saved.note.is_some() && saved.answer.headers.is_empty());
        let saved = parse([head.as_bytes(), &[0x1f, 0x8b, 8, 0]].concat()).expect("a response");
        assert!(saved.note.is_none());
        assert_eq!(saved.answer.headers.get_str("content-encoding"), Some("gzip"));
    }

    #[test]
    fn what_is_no_response_is_told_with_its_line() {
        for (text, said) in [
            ("HTTP/1.1 200 OK\r\nx: 1\r\n{}\r\n", "line 3 is no header"),
            ("HTTP/1.1 200 OK\r\nx: 1\r\n", "after line 2 an empty line is missing"),
            ("HTTP/1.1 200 OK\n: 1\n\n", "line 2 is no header"),
        ] {
            let error = parse(text.into()).expect_err(text);
            assert!(error.starts_with(said), "{error}");
        }
    }
}
