//! A stream of bytes to a port of a pod, through the API server (as `kubectl port-forward`, over a WebSocket).

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use k8s_openapi::api::core::v1;
use kube::Api;
use kube::api::Portforwarder;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};

use super::{Asked, Cluster, Error, Verb};

/// A connection to a port of a pod. It ends when this is dropped.
pub struct PodStream {
    stream: DuplexStream,
    /// What the node says where the port cannot be used; it says so beside the stream.
    refusal: Option<Pin<Box<dyn Future<Output = Option<String>> + Send>>>,
    forwarder: Portforwarder,
}

impl Cluster {
    /// Connects to a port of a pod. That nobody listens there shows only when something is read.
    ///
    /// # Errors
    /// See [`Error`]; needs the right to `get pods/portforward` (a WebSocket begins as a GET); newer servers ask
    /// for `create` as well.
    pub async fn forward(&self, namespace: &str, pod: &str, port: u16) -> Result<PodStream, Error> {
        let api: Api<v1::Pod> = Api::namespaced(self.client.clone(), namespace);
        let asked =
            Asked { subresource: Some("portforward"), ..Asked::of::<v1::Pod>(Verb::Get, Some(namespace), Some(pod)) };
        let mut forwarder = self.ask(asked, api.portforward(pod, &[port])).await?;
        let refusal = forwarder.take_error(port).map(|error| Box::pin(error) as Pin<Box<_>>);
        let Some(stream) = forwarder.take_stream(port) else {
            let message = format!("no stream to port {port} of pod \"{pod}\"");
            return Err(Error::Server { code: 0, reason: String::new(), message });
        };
        Ok(PodStream { stream, refusal, forwarder })
    }
}

impl Drop for PodStream {
    fn drop(&mut self) {
        self.forwarder.abort();
    }
}

impl AsyncRead for PodStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(refusal) = &mut self.refusal
            && let Poll::Ready(message) = refusal.as_mut().poll(context)
        {
            self.refusal = None;
            if let Some(message) = message {
                return Poll::Ready(Err(io::Error::other(message)));
            }
        }
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for PodStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::FakeServer;
    use crate::admin::testing::FakeEnvoy;
    use crate::admin::{Admin, AdminError};

    #[tokio::test]
    async fn a_pods_admin_page_is_read_through_the_api_server() {
        let envoy = FakeEnvoy::start().await;
        let cluster = FakeServer::new().pod("istio-system", "gw-0", &envoy).cluster("default");
        let admin = Admin::of_pod(&cluster, "istio-system", "gw-0");
        // Several pages, over one connection.
        for _ in 0..3 {
            let page = admin.get("/server_info").await.expect("a page");
            assert!(String::from_utf8_lossy(&page.body).contains("1.28.3"));
        }
    }

    #[tokio::test]
    async fn what_stands_in_the_way_is_told() {
        let envoy = FakeEnvoy::start().await;
        let pod = "{apiVersion: v1, kind: Pod, metadata: {name: other, namespace: istio-system}}";
        let server = FakeServer::new().with(pod).pod("istio-system", "gw-0", &envoy);
        let said = async |server: FakeServer, pod: &str| {
            let error = Admin::of_pod(&server.cluster("default"), "istio-system", pod).get("/ready").await;
            error.expect_err("no page").to_string()
        };
        let refused = said(server.clone(), "other").await;
        assert!(refused.contains("pod istio-system/other: ") && refused.contains("connection refused"), "{refused}");
        let missing = said(server.clone(), "gw-7").await;
        assert!(missing.contains("pods \"gw-7\" not found in namespace istio-system"), "{missing}");
        let forbidden = said(server.forbid("get", "pods/portforward"), "gw-0").await;
        assert!(forbidden.ends_with("ask for: get pods/portforward in namespace istio-system"), "{forbidden}");
    }

    #[tokio::test]
    async fn a_page_that_is_none_is_told_with_its_pod() {
        let envoy = FakeEnvoy::start().await;
        let cluster = FakeServer::new().pod("istio-system", "gw-0", &envoy).cluster("default");
        let error = Admin::of_pod(&cluster, "istio-system", "gw-0").get("/nothing").await.expect_err("no such page");
        assert!(matches!(error, AdminError::NotEnvoy { .. }), "{error}");
    }
}
