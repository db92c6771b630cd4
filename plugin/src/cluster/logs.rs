//! What a container of a pod has written, line by line (as `kubectl logs`).

use std::io;
use std::pin::Pin;
use std::time::Duration;

use futures_util::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};
use k8s_openapi::api::core::v1;
use kube::Api;
use kube::api::LogParams;

use super::{Asked, Cluster, Error, Verb};

/// The most bytes of a line that are kept; what is beyond comes as a line of its own.
const LONGEST_LINE: u64 = 64 * 1024;

/// Which part of a log is read. All of it by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogRange {
    /// What was written this long ago or later, in whole seconds.
    pub since: Option<Duration>,
    /// At most so many of its last lines.
    pub tail: Option<u64>,
    /// Also what will be written, until the container ends.
    pub follow: bool,
}

/// The lines of a log, as they come.
pub struct LogLines {
    log: Pin<Box<dyn AsyncBufRead + Send>>,
}

impl Cluster {
    /// Opens the log of a pod's container.
    ///
    /// # Errors
    /// See [`Error`]; needs the right to `get pods/log`.
    pub async fn log(&self, namespace: &str, pod: &str, container: &str, range: LogRange) -> Result<LogLines, Error> {
        let api: Api<v1::Pod> = Api::namespaced(self.client.clone(), namespace);
        let asked = Asked { subresource: Some("log"), ..Asked::of::<v1::Pod>(Verb::Get, Some(namespace), Some(pod)) };
        let parameters = LogParams {
            container: Some(container.to_owned()),
            follow: range.follow,
            // The server refuses 0.
            since_seconds: range.since.map(|since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX).max(1)),
            tail_lines: range.tail.map(|lines| i64::try_from(lines).unwrap_or(i64::MAX)),
            ..LogParams::default()
        };
        let log = self.ask(asked, api.log_stream(pod, &parameters)).await?;
        Ok(LogLines { log: Box::pin(log) })
    }
}

impl LogLines {
    /// The next line, without its end; `None` at the end of the log.
    ///
    /// # Errors
    /// The connection broke.
    pub async fn next(&mut self) -> io::Result<Option<String>> {
        let mut line = Vec::new();
        if (&mut self.log).take(LONGEST_LINE).read_until(b'\n', &mut line).await? == 0 {
            return Ok(None);
        }
        Ok(Some(String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::FakeServer;
    use super::*;

    const POD: &str = "{apiVersion: v1, kind: Pod, metadata: {name: gw-0, namespace: istio-system}}";

    async fn lines(server: &FakeServer, range: LogRange) -> Result<Vec<String>, Error> {
        let mut log = server.cluster("default").log("istio-system", "gw-0", "istio-proxy", range).await?;
        let mut lines = Vec::new();
        while let Some(line) = log.next().await.expect("a line") {
            lines.push(line);
        }
        Ok(lines)
    }

    #[tokio::test]
    async fn a_log_is_read_line_by_line() {
        let long = "x".repeat(LONGEST_LINE as usize + 1);
        let server = FakeServer::new().with(POD).log("istio-system", "gw-0", &format!("one\r\ntwo\n{long}\nlast"));
        let all = lines(&server, LogRange::default()).await.expect("a log");
        assert_eq!(all, ["one", "two", &long[1..], "x", "last"]);
        let tail = LogRange { tail: Some(1), ..LogRange::default() };
        assert_eq!(lines(&server, tail).await.expect("a log"), ["last"]);
        let range = LogRange { since: Some(Duration::from_millis(1)), tail: None, follow: true };
        lines(&server, range).await.expect("a log");
        let asked = server.logs_asked();
        assert_eq!(asked[0], "istio-system/gw-0 container=istio-proxy");
        assert_eq!(asked[2], "istio-system/gw-0 container=istio-proxy&follow=true&sinceSeconds=1");
    }

    #[tokio::test]
    async fn what_stands_in_the_way_is_told() {
        let missing = lines(&FakeServer::new(), LogRange::default()).await.expect_err("no pod");
        assert_eq!(missing.to_string(), "pods \"gw-0\" not found in namespace istio-system");
        let server = FakeServer::new().with(POD).forbid("get", "pods/log");
        let forbidden = lines(&server, LogRange::default()).await.expect_err("no right").to_string();
        assert!(forbidden.ends_with("ask for: get pods/log in namespace istio-system"), "{forbidden}");
    }
}
