//! Configuration: whatever bytes the route's metadata holds are read or refused, and what was read is written back the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mirror_core::compare::Plan;
use mirror_core::config::Mirror;

fuzz_target!(|data: &[u8]| {
    if let Ok(mirror) = Mirror::from_json(data) {
        assert_eq!(Mirror::from_json(mirror.to_json().as_bytes()).as_ref(), Ok(&mirror));
        let _ = Plan::new(&mirror);
    }
});
