//! One side of a pair: how far its answer has come.

use super::Role;
use crate::answer::Answer;
use crate::headers::HeaderBlock;

/// How far a stream has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    /// No response yet.
    #[default]
    Waiting,
    /// The response's headers came.
    Answering,
    /// The response is whole.
    Whole,
    /// It ended before any response.
    Failed,
    /// It ended before the response was whole.
    Cut,
}

/// One stream of a pair.
#[derive(Debug, Default)]
pub(crate) struct Side {
    /// Which of the pair's primaries this is: each retry has a number of its own. 0 for copies.
    pub(crate) attempt: u32,
    /// When the request was sent, the first try's for a retry, in nanoseconds.
    pub(crate) started: u64,
    /// When it ended; 0 before.
    pub(crate) ended: u64,
    pub(crate) phase: Phase,
    pub(crate) answer: Answer,
    /// Server-sent events: no end is to be expected.
    pub(crate) streaming: bool,
    /// Whether the answer's body is to be kept.
    pub(crate) keeps_body: bool,
    /// The body's length as announced; 0 where it was not.
    pub(crate) expected: usize,
}

impl Side {
    pub(crate) fn new(attempt: u32, started: u64) -> Self {
        Self { attempt, started, ..Self::default() }
    }

    /// Takes the response's headers. `head` tells that the request's method was HEAD. Headers that come twice, or after
    /// the end, are not taken.
    pub(crate) fn take_headers(&mut self, headers: HeaderBlock, head: bool) {
        if self.phase != Phase::Waiting {
            return;
        }
        self.phase = Phase::Answering;
        self.answer.status = number(headers.get(":status")).unwrap_or(0);
        self.streaming = headers.get("content-type").is_some_and(is_event_stream);
        let has_body = !head && !matches!(self.answer.status, 204 | 304);
        self.keeps_body = has_body && !self.streaming;
        if self.keeps_body {
            self.expected = number(headers.get("content-length")).unwrap_or(0);
        }
        self.answer.headers = headers;
    }

    /// The stream ended; `whole` tells that the response is complete. False where it had ended before.
    pub(crate) fn finish(&mut self, now: u64, whole: bool) -> bool {
        self.phase = match self.phase {
            Phase::Waiting => Phase::Failed,
            Phase::Answering if whole => Phase::Whole,
            Phase::Answering => Phase::Cut,
            Phase::Whole | Phase::Failed | Phase::Cut => return false,
        };
        self.ended = now;
        true
    }

    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.phase, Phase::Whole | Phase::Failed | Phase::Cut)
    }

    /// Whether nothing more is to be waited for. A pair with a stream of events in it is decided by the headers alone.
    pub(crate) fn is_enough(&self, streaming_pair: bool) -> bool {
        self.has_ended() || (streaming_pair && self.phase == Phase::Answering)
    }

    /// Whether the answer can be compared. Being cut is the usual end of a stream of events.
    pub(crate) fn is_usable(&self, streaming_pair: bool) -> bool {
        match self.phase {
            Phase::Whole => true,
            Phase::Answering => streaming_pair,
            Phase::Cut => self.streaming,
            Phase::Waiting | Phase::Failed => false,
        }
    }

    /// Whether Envoy may yet send this request once more: it failed, or its answer is one that retry policies name
    /// (`5xx`, `retriable-4xx`, gRPC's codes in the headers).
    pub(crate) fn may_be_retried(&self) -> bool {
        match self.phase {
            Phase::Waiting | Phase::Answering => false,
            Phase::Failed => true,
            Phase::Cut => !self.streaming || self.has_retriable_answer(),
            Phase::Whole => self.has_retriable_answer(),
        }
    }

    fn has_retriable_answer(&self) -> bool {
        self.answer.status >= 500
            || self.answer.status == 409
            || self.answer.headers.get("grpc-status").is_some_and(|code| code != b"0")
    }

    /// Time from the request to the response's end, in nanoseconds.
    pub(crate) fn latency(&self) -> u64 {
        self.ended.saturating_sub(self.started)
    }
}

/// The role that a copy's word names.
pub(crate) fn copy_role(word: &[u8]) -> Option<Role> {
    [Role::Candidate, Role::Secondary].into_iter().find(|role| copy_word(*role).as_bytes() == word)
}

/// The word for a copy of this role.
pub(crate) const fn copy_word(role: Role) -> &'static str {
    match role {
        Role::Secondary => "secondary",
        Role::Primary | Role::Candidate => "shadow",
    }
}

/// The number that a header says.
pub(crate) fn number<T: std::str::FromStr>(text: Option<&[u8]>) -> Option<T> {
    std::str::from_utf8(text?).ok()?.parse().ok()
}

fn is_event_stream(content_type: &[u8]) -> bool {
    let essence = content_type.split(|byte| *byte == b';').next().unwrap_or_default();
    essence.trim_ascii().eq_ignore_ascii_case(b"text/event-stream")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(pairs: &[(&str, &str)], head: bool) -> Side {
        let mut side = Side::new(0, 10);
        side.take_headers(HeaderBlock::from_pairs(pairs), head);
        side
    }

    #[test]
    fn headers_say_whether_a_body_is_kept() {
        let ok = (":status", "200");
        for (headers, head, keeps, expected) in [
            (vec![ok], false, true, 0),
            (vec![ok, ("content-length", "12")], false, true, 12),
            (vec![ok, ("content-length", "twelve")], false, true, 0),
            (vec![ok, ("content-length", "12")], true, false, 0),
            (vec![(":status", "304"), ("content-length", "12")], false, false, 0),
            (vec![(":status", "204")], false, false, 0),
            (vec![ok, ("content-type", "Text/Event-Stream; charset=utf-8")], false, false, 0),
            (vec![ok, ("content-type", "text/event-streams")], false, true, 0),
        ] {
            let side = answered(&headers, head);
            assert_eq!((side.keeps_body, side.expected), (keeps, expected), "{headers:?} {head}");
        }
    }

    #[test]
    fn a_stream_ends_once() {
        let mut side = answered(&[(":status", "200")], false);
        assert!(side.finish(25, true));
        assert!(!side.finish(99, false), "it had ended");
        assert_eq!((side.phase, side.latency()), (Phase::Whole, 15));
        side.take_headers(HeaderBlock::from_pairs(&[(":status", "500")]), false);
        assert_eq!(side.answer.status, 200);
    }

    #[test]
    fn failures_and_some_answers_may_be_retried() {
        let ended = |headers: &[(&str, &str)], whole| {
            let mut side = answered(headers, false);
            side.finish(20, whole);
            side.may_be_retried()
        };
        assert!(!ended(&[(":status", "200")], true));
        assert!(!ended(&[(":status", "404")], true));
        assert!(!ended(&[(":status", "200"), ("grpc-status", "0")], true));
        assert!(ended(&[(":status", "200"), ("grpc-status", "14")], true));
        assert!(ended(&[(":status", "409")], true));
        assert!(ended(&[(":status", "503")], true));
        assert!(ended(&[(":status", "200")], false), "cut");
        let mut failed = Side::new(0, 0);
        assert!(!failed.may_be_retried(), "still going");
        failed.finish(1, true);
        assert!(failed.may_be_retried(), "an end without any headers is a failure");
    }
}
