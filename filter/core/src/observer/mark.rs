//! The marks on a request: what Envoy's configuration wrote there for the observer. A client may have written the same,
//! so nothing here is believed before the host vouched for it.

use std::rc::Rc;

use crate::config::{Knative, Sampling, carried};
use crate::headers::HeaderBlock;
use crate::pair::{KeyKind, Role, copy_role, key};

/// `<namespace>/<route>/<fingerprint>`, or without the fingerprint: which mirror is concerned.
pub(super) const MIRROR: &str = "x-mirror";
/// `shadow` or `secondary`, on copies.
pub(super) const ROLE: &str = "x-mirror-role";
/// The same on a downstream request's primary, its retries and its copies, and on no other request's.
pub(super) const PAIR: &str = "x-mirror-pair";
const REQUEST_ID: &str = "x-request-id";
pub(super) const KNATIVE_REVISION: &str = "knative-serving-revision";
pub(super) const KNATIVE_NAMESPACE: &str = "knative-serving-namespace";

/// What a request's headers say of it, read in one pass.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Marks<'a> {
    /// The mirror's name.
    pub(super) name: &'a str,
    /// The fingerprint of the mirror's configuration.
    pub(super) fingerprint: Option<&'a str>,
    pub(super) role: Option<Role>,
    /// A mirror's configuration.
    pub(super) config: Option<&'a [u8]>,
    pair: Option<&'a [u8]>,
    request_id: Option<&'a [u8]>,
    revision: Option<&'a [u8]>,
    namespace: Option<&'a [u8]>,
}

impl<'a> Marks<'a> {
    /// `None` where the request carries no well-formed mark of a mirror, or a role that there is not.
    pub(super) fn read(headers: &'a HeaderBlock) -> Option<Self> {
        let mut marks = Self::default();
        let mut mirror = None;
        let mut role = None;
        for (name, value) in headers.iter() {
            let known = [
                (MIRROR, &mut mirror),
                (ROLE, &mut role),
                (carried::HEADER, &mut marks.config),
                (PAIR, &mut marks.pair),
                (REQUEST_ID, &mut marks.request_id),
                (KNATIVE_REVISION, &mut marks.revision),
                (KNATIVE_NAMESPACE, &mut marks.namespace),
            ];
            for (header, place) in known {
                if place.is_none() && name.eq_ignore_ascii_case(header.as_bytes()) {
                    *place = Some(value);
                }
            }
        }
        (marks.name, marks.fingerprint) = mirror_mark(mirror?)?;
        marks.role = match role {
            Some(word) => Some(copy_role(word)?),
            None => None,
        };
        Some(marks)
    }

    /// The keys under which the request's pair may be open, the likeliest first. A primary opens its pair under the first.
    pub(super) fn keys(&self, mirror: usize, sampling: Sampling) -> Vec<(KeyKind, Rc<[u8]>)> {
        let id = |kind, id: Option<&[u8]>| id.filter(|id| !id.is_empty()).map(|id| (kind, key(mirror, kind, id)));
        let pair = match sampling {
            Sampling::Selector => id(KeyKind::Pair, self.pair),
            Sampling::Envoy => None,
        };
        pair.into_iter().chain(id(KeyKind::RequestId, self.request_id)).collect()
    }

    /// The request id, as text.
    pub(super) fn request_id(&self) -> Option<&'a str> {
        std::str::from_utf8(self.request_id?).ok()
    }

    /// Whether Knative's activator would send the request to this revision.
    pub(super) fn goes_to(&self, target: &Knative) -> bool {
        self.revision == Some(target.revision.as_bytes()) && self.namespace == Some(target.namespace.as_bytes())
    }
}

fn mirror_mark(value: &[u8]) -> Option<(&str, Option<&str>)> {
    let value = std::str::from_utf8(value).ok()?;
    let is_name = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'.')
    };
    let is_fingerprint = |part: &str| part.len() == 8 && part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let mut parts = value.split('/');
    let (namespace, route, fingerprint) = (parts.next()?, parts.next()?, parts.next());
    if !is_name(namespace) || !is_name(route) || !fingerprint.is_none_or(is_fingerprint) || parts.next().is_some() {
        return None;
    }
    let name = fingerprint.map_or(Some(value), |last| value.strip_suffix(last)?.strip_suffix('/'))?;
    Some((name, fingerprint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_well_formed_marks_are_marks() {
        for (value, mark) in [
            ("ns/route/0123abcd", Some(("ns/route", Some("0123abcd")))),
            ("ns/my-route.v1", Some(("ns/my-route.v1", None))),
            ("ns", None),
            ("ns/", None),
            ("/route", None),
            ("Ns/route", None),
            ("ns/route/", None),
            ("ns/route/0123abc", None),
            ("ns/route/0123ABCD", None),
            ("ns/route/0123abcd/", None),
            ("ns/rou\u{e4}te", None),
        ] {
            assert_eq!(mirror_mark(value.as_bytes()), mark, "{value}");
        }
        assert_eq!(mirror_mark(b"ns/\xff"), None);
    }

    #[test]
    fn the_first_of_a_repeated_mark_counts() {
        let headers = HeaderBlock::from_pairs(&[("x-mirror", "a/b"), ("x-mirror", "c/d"), ("x-mirror-pair", "7")]);
        let marks = Marks::read(&headers).expect("a mark");
        assert_eq!((marks.name, marks.pair), ("a/b", Some(&b"7"[..])));
    }

    #[test]
    fn an_unknown_role_is_no_role() {
        let read = |role| Marks::read(&HeaderBlock::from_pairs(&[("x-mirror", "a/b"), (ROLE, role)])).is_some();
        assert!(read("shadow") && read("secondary"));
        assert!(!read("primary") && !read(""));
    }
}
