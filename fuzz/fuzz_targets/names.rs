//! Metric names: what decodes is written back to the same name.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mirror_core::stats::names::Metric;

fuzz_target!(|name: &str| {
    if let Some(metric) = Metric::decode(name) {
        let encoded = metric.encode();
        assert_eq!(Metric::decode(&encoded), Some(metric));
        assert!(encoded.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'));
    }
});
