//! Reading pages from a small server that plays Envoy.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::testing::FakeEnvoy;
use super::*;

/// Answers each connection once, with these bytes, and closes it.
async fn answer_once(answer: Vec<u8>) -> Admin {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 1024];
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(&answer).await;
        }
    });
    Admin::at(address.into())
}

#[tokio::test]
async fn a_connection_is_kept_and_shared_by_clones() {
    let envoy = FakeEnvoy::start().await;
    let admin = envoy.admin();
    assert!(admin.get("/server_info").await.is_ok());
    assert!(admin.clone().idle.lock().await.is_some());
    // A refused page does not cost the connection, a broken one does.
    assert!(admin.get("/nothing").await.is_err());
    assert!(admin.idle.lock().await.is_some());
}

#[tokio::test]
async fn a_connection_that_envoy_closed_is_made_anew() {
    let admin = answer_once(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi".to_vec()).await;
    for _ in 0..3 {
        let page = admin.get("/ready").await.expect("a page");
        assert_eq!((page.body.as_ref(), page.clock), (&b"hi"[..], None));
    }
}

#[tokio::test]
async fn a_page_is_bounded_in_time_and_in_size() {
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = silent.local_addr().expect("an address");
    let admin = Admin::at(address.into()).with_timeout(Duration::from_millis(20));
    let error = admin.get("/ready").await.expect_err("silence").to_string();
    assert_eq!(error, format!("http://{address}/ready did not answer within 20ms; is this Envoy's admin port?"));

    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\nhello world".to_vec();
    let admin = Admin { largest: 10, ..answer_once(answer).await };
    let error = admin.get("/stats").await.expect_err("too long").to_string();
    assert!(error.ends_with("it is longer than 10 bytes"), "{error}");
}

#[test]
fn http_dates() {
    assert_eq!(seconds("Mon, 30 Nov 2026 14:07:32 GMT"), Some(1_796_047_652));
    assert_eq!(seconds("Thu, 01 Jan 1970 00:00:01 GMT"), Some(1));
    assert_eq!(seconds("yesterday"), None);
    assert_eq!(seconds("Mon, 30 Foo 2026 14:07:32 GMT"), None);
}
