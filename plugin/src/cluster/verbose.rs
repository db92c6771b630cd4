//! `-v 6`: each request to the API server on stderr, as kubectl shows it.

use std::fmt::Display;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use http::{Request, Response, Uri};
use kube::client::Body;
use tower::{Layer, Service};

use crate::output;

/// The level from which on requests are shown.
pub const REQUESTS: u8 = 6;

/// Shows each request that passes.
#[derive(Clone)]
pub struct Show {
    /// The server's URL, without a trailing slash.
    pub server: String,
}

/// A service whose requests are shown.
pub struct Shown<S> {
    server: String,
    inner: S,
}

impl<S> Layer<S> for Show {
    type Service = Shown<S>;

    fn layer(&self, inner: S) -> Shown<S> {
        Shown { server: self.server.clone(), inner }
    }
}

impl<S, B> Service<Request<Body>> for Shown<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: Display,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let asked = format!("{} {}{}", request.method(), self.server, tidy(request.uri()));
        let begun = Instant::now();
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await;
            let took = begun.elapsed().as_millis();
            match &answer {
                Ok(response) => output::message(format_args!("{asked} {} in {took} milliseconds", response.status())),
                Err(error) => output::message(format_args!("{asked} failed in {took} milliseconds: {error}")),
            }
            answer
        })
    }
}

/// The path and the query, without the marks of an empty first parameter that kube leaves.
fn tidy(uri: &Uri) -> String {
    uri.to_string().replace("?&", "?").trim_end_matches('?').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_shown_as_kubectl_shows_them() {
        for (uri, shown) in [
            ("/api/v1/pods", "/api/v1/pods"),
            ("/api/v1/pods?", "/api/v1/pods"),
            ("/api/v1/pods?&limit=500&labelSelector=a%3Db", "/api/v1/pods?limit=500&labelSelector=a%3Db"),
        ] {
            assert_eq!(tidy(&Uri::from_static(uri)), shown);
        }
    }
}
