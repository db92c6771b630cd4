//! What a server answers, step by step.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use hyper::body::{Body, Frame, SizeHint};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::gate::Gate;

/// One step of an answer.
#[derive(Clone, Debug)]
pub enum Step {
    /// Sends these bytes of the body. Before the headers it means nothing.
    Send(Bytes),
    /// Does nothing for a while, so that what was sent so far travels by itself.
    Pause(Duration),
    /// Waits for the test.
    Wait(Gate),
    /// Ends the connection (HTTP/1.1) or resets the stream (HTTP/2).
    Cut,
    /// Does nothing any more.
    Hang,
}

/// An answer: what happens before the headers, the headers, what happens after them, the trailers.
#[derive(Clone, Debug)]
pub struct Reply {
    before: Vec<Step>,
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<Step>,
    trailers: Option<HeaderMap>,
}

/// Long enough for what was written to have been sent.
const MOMENT: Duration = Duration::from_millis(30);

impl Reply {
    /// An answer without a body.
    pub fn status(status: u16) -> Self {
        let status = StatusCode::from_u16(status).expect("a status code");
        Self { before: Vec::new(), status, headers: HeaderMap::new(), body: Vec::new(), trailers: None }
    }

    /// 200 with this body in one piece.
    pub fn ok(body: impl Into<Bytes>) -> Self {
        Self::status(200).body(body)
    }

    /// 200 with this JSON.
    pub fn json(value: &Value) -> Self {
        Self::ok(value.to_string()).header("content-type", "application/json")
    }

    /// No answer at all: the connection ends (HTTP/1.1), the stream is reset (HTTP/2).
    pub fn cut() -> Self {
        Self::status(200).first(Step::Cut)
    }

    /// No answer at all, ever.
    pub fn hang() -> Self {
        Self::status(200).first(Step::Hang)
    }

    /// The body so far, then the connection ends in its middle.
    pub fn cut_after(part: impl Into<Bytes>) -> Self {
        Self::ok(part).then(Step::Pause(MOMENT)).then(Step::Cut)
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.append(name_of(name), HeaderValue::from_str(value).expect("a header's value"));
        self
    }

    /// Adds a piece of the body.
    pub fn body(self, piece: impl Into<Bytes>) -> Self {
        self.then(Step::Send(piece.into()))
    }

    /// Adds pieces of the body, each of which travels by itself.
    pub fn pieces(mut self, pieces: impl IntoIterator<Item = Bytes>) -> Self {
        for piece in pieces {
            self = self.body(piece).then(Step::Pause(Duration::from_millis(2)));
        }
        self
    }

    /// Adds a step before the headers.
    pub fn first(mut self, step: Step) -> Self {
        self.before.push(step);
        self
    }

    /// Adds a step after the headers.
    pub fn then(mut self, step: Step) -> Self {
        self.body.push(step);
        self
    }

    /// Holds the whole answer back until the gate opens.
    pub fn after(self, gate: &Gate) -> Self {
        self.first(Step::Wait(gate.clone()))
    }

    /// Adds a trailer.
    pub fn trailer(mut self, name: &str, value: &str) -> Self {
        let value = HeaderValue::from_str(value).expect("a trailer's value");
        self.trailers.get_or_insert_default().append(name_of(name), value);
        self
    }

    /// The status, headers, whole body and trailers, as a client should see them.
    pub fn whole(&self) -> (StatusCode, &HeaderMap, Bytes, Option<&HeaderMap>) {
        let pieces = self.body.iter().filter_map(|step| match step {
            Step::Send(bytes) => Some(bytes.as_ref()),
            _ => None,
        });
        (self.status, &self.headers, pieces.collect::<Vec<_>>().concat().into(), self.trailers.as_ref())
    }

    /// The body's length, where it is sent in one go.
    fn length(&self) -> Option<u64> {
        match self.body.as_slice() {
            _ if self.trailers.is_some() => None,
            [] => Some(0),
            [Step::Send(bytes)] => u64::try_from(bytes.len()).ok(),
            _ => None,
        }
    }

    pub(super) async fn perform(self) -> Result<http::Response<Script>, Cut> {
        for step in &self.before {
            perform(step).await?;
        }
        let length = self.length();
        let (frames, script) = mpsc::channel(1);
        tokio::spawn(async move {
            for step in self.body {
                let frame = match step {
                    Step::Send(bytes) => Ok(Frame::data(bytes)),
                    step => match perform(&step).await {
                        Ok(()) => continue,
                        Err(cut) => Err(cut),
                    },
                };
                if frames.send(frame).await.is_err() {
                    return;
                }
            }
            if let Some(trailers) = self.trailers {
                let _ = frames.send(Ok(Frame::trailers(trailers))).await;
            }
        });
        let mut response = http::Response::new(Script { frames: script, length });
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        Ok(response)
    }
}

fn name_of(name: &str) -> HeaderName {
    HeaderName::from_bytes(name.as_bytes()).expect("a header's name")
}

async fn perform(step: &Step) -> Result<(), Cut> {
    match step {
        Step::Send(_) => Ok(()),
        Step::Pause(time) => {
            tokio::time::sleep(*time).await;
            Ok(())
        }
        Step::Wait(gate) => {
            gate.passed().await;
            Ok(())
        }
        Step::Cut => Err(Cut),
        Step::Hang => std::future::pending().await,
    }
}

/// The answer is cut here.
#[derive(Debug)]
pub struct Cut;

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cut, as the test asked")
    }
}

impl std::error::Error for Cut {}

/// A body that follows its script.
#[derive(Debug)]
pub struct Script {
    frames: mpsc::Receiver<Result<Frame<Bytes>, Cut>>,
    length: Option<u64>,
}

impl Body for Script {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        self.frames.poll_recv(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.length == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.length.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
