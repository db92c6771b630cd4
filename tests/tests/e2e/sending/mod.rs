//! The module before the router, as an Istio WasmPlugin puts it there: it sends the copies itself.

mod copies;
mod faults;
mod limits;

use std::net::SocketAddr;
use std::time::Duration;

use mirror_tests::backend::{Backend, Reply};
use mirror_tests::mirror::{Setup, Way};
use mirror_tests::wait;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

async fn echo() -> Backend {
    Backend::start(|seen| Reply::ok(seen.path.clone())).await
}

/// A module that sends copies of what `primary` gets, POST requests too.
fn sending(primary: SocketAddr, candidate: SocketAddr) -> Setup {
    let methods = ["GET", "POST"].map(str::to_owned).to_vec();
    Setup::new(primary, candidate).way(Way::Downstream).mirror(|mirror| mirror.methods = methods)
}

/// Sends these bytes over a connection of their own and reads until it is closed.
async fn raw(address: SocketAddr, parts: &[&[u8]]) -> String {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    for part in parts {
        stream.write_all(part).await.expect("it is sent");
        stream.flush().await.expect("it is sent");
        // So that Envoy sees each part by itself.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(wait::PATIENCE, stream.read_to_end(&mut answer)).await;
    String::from_utf8_lossy(&answer).into_owned()
}
