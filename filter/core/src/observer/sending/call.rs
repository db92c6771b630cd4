//! A copy that the module sends: the request as the client sent it, but for what is no business of the candidate's.

use std::rc::Rc;

use super::roster::Listed;
use crate::config::Target;
use crate::headers::HeaderBlock;
use crate::observer::mark::{KNATIVE_NAMESPACE, KNATIVE_REVISION, MIRROR, PAIR, ROLE};
use crate::pair::{Pair, Role, Ticket, copy_word};

/// Envoy gives it to every answer that it got from upstream, and to none of its own.
const FROM_UPSTREAM: &str = "x-envoy-upstream-service-time";

/// Headers that are for one connection (RFC 9110, section 7.6.1), or that Envoy sets anew. Those that `Connection` names
/// are left out too.
const HOP_BY_HOP: [&str; 12] = [
    "connection",
    "content-length",
    "expect",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
/// What Envoys tell each other begins with this, time-outs and retries among it.
const ENVOYS_OWN: &[u8] = b"x-envoy-";

/// A copy to be sent.
#[derive(Debug)]
pub struct Call {
    /// The Envoy cluster.
    pub cluster: String,
    /// The request's headers.
    pub headers: HeaderBlock,
    /// The request's body.
    pub body: Rc<Vec<u8>>,
    /// The request's trailers.
    pub trailers: Rc<HeaderBlock>,
    /// How long it may take, in milliseconds.
    pub timeout_ms: u64,
    pub(super) ticket: Ticket,
}

impl Call {
    /// Bytes that the host holds for it.
    pub(super) fn size(&self) -> usize {
        self.headers.size().saturating_add(self.body.len()).saturating_add(self.trailers.size())
    }
}

/// A request that is to be copied once it is whole.
#[derive(Debug)]
pub(crate) struct Outgoing {
    listed: Rc<Listed>,
    pub(super) body: Vec<u8>,
}

impl Outgoing {
    pub(super) const fn new(listed: Rc<Listed>) -> Self {
        Self { listed, body: Vec::new() }
    }

    /// Bytes held, for budgets.
    pub(crate) fn size(&self) -> usize {
        size_of::<Self>().saturating_add(self.body.capacity())
    }

    /// The copies of this request: to the candidate, and once more to the primary's version.
    pub(super) fn calls(self, pair: &Pair, ticket: Ticket, trailers: HeaderBlock) -> Vec<Call> {
        let Self { listed, body } = self;
        let mirror = &listed.setting.mirror;
        let secondary = mirror.secondary.as_ref().filter(|_| pair.like_secondary);
        let (body, trailers) = (Rc::new(body), Rc::new(trailers));
        let mut calls = Vec::new();
        for (role, target) in [(Role::Candidate, Some(&mirror.candidate)), (Role::Secondary, secondary)] {
            let Some(target) = target else { continue };
            calls.push(Call {
                cluster: target.cluster.clone(),
                headers: headers(&listed, role, target, &pair.request),
                body: Rc::clone(&body),
                trailers: Rc::clone(&trailers),
                timeout_ms: mirror.caps.copy_timeout_ms,
                ticket: Ticket { role, ..ticket },
            });
        }
        calls
    }
}

/// A client's request without forged marks, and with the id of its pair.
pub(super) fn marked(headers: &HeaderBlock, forged: &[&'static str], id: &[u8]) -> HeaderBlock {
    let is_forged = |name: &[u8]| forged.iter().any(|mark| name.eq_ignore_ascii_case(mark.as_bytes()));
    let mut all: Vec<_> = headers.iter().filter(|(name, _)| !is_forged(name)).collect();
    all.push((PAIR.as_bytes(), id));
    HeaderBlock::from_pairs(&all)
}

/// The headers of a copy, made from those of the request.
fn headers(listed: &Listed, role: Role, target: &Target, request: &HeaderBlock) -> HeaderBlock {
    let to = if role == Role::Secondary { &listed.also } else { &listed.to };
    let mark = format!("{}/{}", listed.name(), listed.fingerprint);
    let named = request.get_all("connection").unwrap_or_default();
    let is_named =
        |name: &[u8]| named.split(|byte| *byte == b',').any(|token| token.trim_ascii().eq_ignore_ascii_case(name));
    let one_of = |name: &[u8], names: &[&str]| names.iter().any(|other| name.eq_ignore_ascii_case(other.as_bytes()));
    let ours = [MIRROR, ROLE, KNATIVE_REVISION, KNATIVE_NAMESPACE, to.as_str()];
    let is_kept = |(name, value): &(&[u8], &[u8])| {
        // gRPC needs this one.
        let is_grpcs = name.eq_ignore_ascii_case(b"te") && value.eq_ignore_ascii_case(b"trailers");
        let is_envoys = name.get(..ENVOYS_OWN.len()).is_some_and(|start| start.eq_ignore_ascii_case(ENVOYS_OWN));
        is_grpcs || !(one_of(name, &HOP_BY_HOP) || one_of(name, &ours) || is_envoys || is_named(name))
    };
    let mut all: Vec<(&[u8], &[u8])> = request.iter().filter(is_kept).collect();
    all.extend([
        (MIRROR.as_bytes(), mark.as_bytes()),
        (ROLE.as_bytes(), copy_word(role).as_bytes()),
        (to.as_bytes(), target.cluster.as_bytes()),
    ]);
    if let Some(knative) = &target.knative {
        all.extend([
            (KNATIVE_REVISION.as_bytes(), knative.revision.as_bytes()),
            (KNATIVE_NAMESPACE.as_bytes(), knative.namespace.as_bytes()),
        ]);
    }
    HeaderBlock::from_pairs(&all)
}

/// Whether an answer to a call is the server's, and not one that Envoy made up for want of one.
pub(super) fn is_answer(headers: &HeaderBlock) -> bool {
    headers.get(FROM_UPSTREAM).is_some()
}
