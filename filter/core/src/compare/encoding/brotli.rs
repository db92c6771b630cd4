//! Brotli (RFC 7932).

use std::io::Read;

use brotli_decompressor::Decompressor;

use super::Fault;

pub(super) fn decode(input: &[u8], allowed: usize) -> Result<Vec<u8>, Fault> {
    let mut output = Vec::new();
    let most = u64::try_from(allowed).unwrap_or(u64::MAX).saturating_add(1);
    Decompressor::new(input, 4096).take(most).read_to_end(&mut output).map_err(|_| Fault::Broken)?;
    if output.len() > allowed { Err(Fault::TooLong) } else { Ok(output) }
}
