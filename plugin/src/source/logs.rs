//! Examples of differences from logs of Envoy's: a file, or those of all gateway pods, several at a time.

use std::io::{self, BufRead, Read};
use std::sync::Arc;

use mirror_core::example::Line;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;

use crate::cluster::{Cluster, LogRange, Pod};
use crate::diffs::Example;

/// The container whose log it is.
const CONTAINER: &str = "istio-proxy";
/// How many logs are read at a time, where they have an end.
const AT_ONCE: usize = 16;
/// How many examples may wait for whoever takes them.
const WAITING: usize = 256;
/// The most bytes of a log's line that are looked at; the module's own are far shorter.
const LONGEST_LINE: u64 = 64 * 1024;

/// What comes of reading the logs of pods.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// An example, in the order of its own pod's log.
    Found(Box<Example>),
    /// A pod's log is at its end, or cannot be read for this reason.
    Ended {
        /// `<namespace>/<name>`
        pod: String,
        /// Why it ended too early; `None` where it did not.
        failed: Option<String>,
    },
}

/// Hands over all examples of a log; other lines are passed over.
///
/// # Errors
/// The log cannot be read.
pub fn read(mut log: impl BufRead, mut found: impl FnMut(Line)) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        if Read::take(&mut log, LONGEST_LINE).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if let Some(line) = Line::parse(&String::from_utf8_lossy(&line)) {
            found(line);
        }
    }
}

/// Reads the logs of these pods. The events end when all logs have, with one [`Event::Ended`] a pod; reading ends when nobody
/// takes them any more.
pub fn of_pods(cluster: &Cluster, pods: &[Pod], range: LogRange) -> mpsc::Receiver<Event> {
    let (events, taken) = mpsc::channel(WAITING);
    // Logs that are followed have no end that others could wait for.
    let turns = Arc::new(Semaphore::new(if range.follow { pods.len() } else { AT_ONCE }));
    for pod in pods {
        let (cluster, pod, events, turns) = (cluster.clone(), pod.clone(), events.clone(), turns.clone());
        tokio::spawn(async move {
            // The semaphore is never closed.
            let _turn = turns.acquire().await;
            let failed = read_pod(&cluster, &pod, range, &events).await.err();
            // Where nobody listens there is nobody to be told.
            let _ = events.send(Event::Ended { pod: name(&pod), failed }).await;
        });
    }
    taken
}

/// Reads one pod's log to its end, or until nobody takes events any more.
async fn read_pod(cluster: &Cluster, pod: &Pod, range: LogRange, events: &mpsc::Sender<Event>) -> Result<(), String> {
    let mut log = cluster.log(&pod.namespace, &pod.name, CONTAINER, range).await.map_err(|error| error.to_string())?;
    loop {
        let line = match cluster.request_timeout.filter(|_| !range.follow) {
            Some(longest) => timeout(longest, log.next()).await.map_err(|_| {
                format!("its log stood still for {}; see --request-timeout", humantime::format_duration(longest))
            })?,
            None => log.next().await,
        };
        let Some(line) = line.map_err(|error| format!("its log broke off: {error}"))? else { return Ok(()) };
        if let Some(line) = Line::parse(&line) {
            let found = Event::Found(Box::new(Example { gateway: Some(name(pod)), line }));
            if events.send(found).await.is_err() {
                return Ok(());
            }
        }
    }
}

fn name(pod: &Pod) -> String {
    format!("{}/{}", pod.namespace, pod.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::testing::FakeServer;
    use crate::diffs::testing::line;

    /// More than are read at a time.
    const PODS: usize = 40;

    #[tokio::test]
    async fn examples_of_all_pods_are_read_and_one_that_fails_is_named() {
        let mut server = FakeServer::new();
        let mut pods = Vec::new();
        for i in 0..PODS {
            let name = format!("gw-{i}");
            pods.push(Pod { namespace: "istio-system".into(), name: name.clone(), ..Pod::default() });
            if i == 7 {
                continue;
            }
            let log = format!("[info] started\n{}\n{}\n", line("/a", "1", "2").to_log(), line("/b", "1", "2").to_log());
            server = server
                .with(&format!("{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, namespace: istio-system}}}}"))
                .log("istio-system", &name, &log);
        }
        let mut events = of_pods(&server.cluster("default"), &pods, LogRange::default());
        let (mut found, mut ended, mut failed) = (0, 0, Vec::new());
        while let Some(event) = events.recv().await {
            match event {
                Event::Found(example) => {
                    assert_ne!(example.gateway.as_deref(), Some("istio-system/gw-7"));
                    found += 1;
                }
                Event::Ended { failed: None, .. } => ended += 1,
                Event::Ended { pod, failed: Some(reason) } => failed.push(format!("{pod}: {reason}")),
            }
        }
        assert_eq!((found, ended), (2 * (PODS - 1), PODS - 1));
        assert_eq!(failed, ["istio-system/gw-7: pods \"gw-7\" not found in namespace istio-system"]);
    }

    #[test]
    fn a_log_may_hold_anything() {
        let mut text = Vec::from("something else\n\u{fffd}\n");
        text.extend(std::iter::repeat_n(b'y', 3 * 64 * 1024));
        text.extend(b"\n\xff\xfe\n");
        text.extend(line("/a", "1", "2").to_log().bytes());
        let mut found = Vec::new();
        read(text.as_slice(), |line| found.push(line)).expect("a log");
        assert_eq!(found, [line("/a", "1", "2")]);
    }
}
