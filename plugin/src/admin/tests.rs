//! Reading pages from a small server that plays Envoy.

use super::*;

#[test]
fn http_dates() {
    assert_eq!(seconds("Mon, 30 Nov 2026 14:07:32 GMT"), Some(1_796_047_652));
    assert_eq!(seconds("Thu, 01 Jan 1970 00:00:01 GMT"), Some(1));
    assert_eq!(seconds("yesterday"), None);
    assert_eq!(seconds("Mon, 30 Foo 2026 14:07:32 GMT"), None);
}
