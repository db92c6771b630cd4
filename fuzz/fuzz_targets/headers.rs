//! Header blocks: lengths that lie are refused, and what was accepted reads to its end.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mirror_core::headers::HeaderBlock;

fuzz_target!(|data: &[u8]| {
    if let Some(block) = HeaderBlock::parse(data.to_vec()) {
        assert_eq!(block.iter().count(), block.len());
        let pairs: Vec<_> = block.iter().collect();
        let again = HeaderBlock::from_pairs(&pairs);
        assert!(again.iter().eq(block.iter()));
    }
});
