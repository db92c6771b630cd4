//! Port-forwards of the fake API server: a real WebSocket on loopback, with Kubernetes' channels inside, joined to a server
//! that plays the pod.

use std::net::SocketAddr;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use http::header::{HOST, SEC_WEBSOCKET_PROTOCOL};
use http::request::Parts;
use http::{Request, Response};
use http_body_util::{Empty, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::accept_hdr_async;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server;

/// The channels of the first port: its bytes, and what went wrong with it.
const DATA: u8 = 0;
const ERROR: u8 = 1;

/// Answers a request to forward `port`, joined to the server at `pod`. Nobody listens there where it is `None`.
pub(super) async fn forward(parts: &Parts, port: u16, pod: Option<SocketAddr>) -> Response<Full<Bytes>> {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.expect("the request");
        stream.set_nodelay(true).expect("a socket");
        serve(stream, port, pod).await;
    });
    let stream = TcpStream::connect(address).await.expect("the server above");
    stream.set_nodelay(true).expect("a socket");
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.expect("HTTP");
    tokio::spawn(connection.with_upgrades());
    let mut request = Request::builder().uri(parts.uri.clone()).body(Empty::<Bytes>::new()).expect("a request");
    request.headers_mut().clone_from(&parts.headers);
    request.headers_mut().insert(HOST, "localhost".parse().expect("a host"));
    let response = sender.send_request(request).await.expect("an answer");
    // The upgraded connection travels in the answer's extensions.
    response.map(|_| Full::default())
}

async fn serve(stream: TcpStream, port: u16, pod: Option<SocketAddr>) {
    #[expect(clippy::result_large_err, reason = "the signature is tungstenite's")]
    let accept = |request: &server::Request, mut response: server::Response| {
        let protocols = request.headers().get(SEC_WEBSOCKET_PROTOCOL).and_then(|value| value.to_str().ok());
        let first = protocols.and_then(|protocols| protocols.split(',').next()).unwrap_or_default().trim();
        response.headers_mut().insert(SEC_WEBSOCKET_PROTOCOL, first.parse().expect("a protocol"));
        Ok(response)
    };
    let (mut to_client, mut from_client) = accept_hdr_async(stream, accept).await.expect("a WebSocket").split();
    let on = |channel: u8, bytes: &[u8]| Message::Binary([&[channel], bytes].concat().into());
    // Each channel begins with the port.
    for channel in [DATA, ERROR] {
        to_client.send(on(channel, &port.to_le_bytes())).await.expect("the client");
    }
    let Some(pod) = pod else {
        let said = format!("dial tcp4 127.0.0.1:{port}: connect: connection refused");
        to_client.send(on(ERROR, said.as_bytes())).await.expect("the client");
        return;
    };
    let to_envoy = TcpStream::connect(pod).await.expect("the pod");
    to_envoy.set_nodelay(true).expect("a socket");
    let (mut from_pod, mut to_pod) = to_envoy.into_split();
    let up = async {
        while let Some(Ok(message)) = from_client.next().await {
            if let Message::Binary(bytes) = message
                && let Some((&DATA, bytes)) = bytes.split_first()
            {
                to_pod.write_all(bytes).await.expect("the pod");
            }
        }
    };
    let down = async {
        let mut bytes = vec![0; 16 * 1024];
        while let Ok(n @ 1..) = from_pod.read(&mut bytes).await {
            if to_client.send(on(DATA, &bytes[..n])).await.is_err() {
                return;
            }
        }
        let _ = to_client.close().await;
    };
    tokio::select! {
        () = up => {}
        () = down => {}
    }
}
