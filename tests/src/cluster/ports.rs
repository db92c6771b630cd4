//! Free ports of the loopback, for programs that cannot be told to choose one.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};

/// Ports below those that the system gives to clients' connections, which could be taken between the look and the use.
const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;

/// A port on which nothing listens; never the same one twice.
///
/// # Panics
/// When all are in use.
pub fn free() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Two runs at once begin at different places.
    let start = u16::try_from(std::process::id() % u32::from(COUNT)).unwrap_or_default().wrapping_mul(31);
    let mut candidates = (0..COUNT).map(|_| FIRST + start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % COUNT);
    candidates.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).expect("a free port")
}
