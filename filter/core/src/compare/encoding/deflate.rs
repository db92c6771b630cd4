//! gzip (RFC 1952) and deflate (RFC 1950 and, as some servers send it, bare RFC 1951) around miniz_oxide.
//!
//! The checksums are not looked at: both bodies are compared byte for byte anyway, and the tables would cost the module
//! more than they tell.

use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress, inflate_flags};

use super::Fault;

/// How many bytes of room a stream gets at first.
const LEAST_ROOM: usize = 4096;

/// Decodes one gzip member after the other.
pub(super) fn gzip(mut input: &[u8], allowed: usize) -> Result<Vec<u8>, Fault> {
    let mut output = Vec::new();
    loop {
        let before = output.len();
        let packed = after_header(input).ok_or(Fault::Broken)?;
        let rest = inflate(packed, &mut output, allowed)?;
        let (&[_, _, _, _, a, b, c, d], rest) = rest.split_first_chunk().ok_or(Fault::Broken)?;
        let length = u32::try_from(output.len().saturating_sub(before)).unwrap_or(u32::MAX);
        if u32::from_le_bytes([a, b, c, d]) != length {
            return Err(Fault::Broken);
        }
        if rest.is_empty() {
            return Ok(output);
        }
        input = rest;
    }
}

/// Decodes bare deflate.
#[cfg(feature = "brotli")]
pub(super) fn bare(input: &[u8], allowed: usize) -> Result<Vec<u8>, Fault> {
    let mut output = Vec::new();
    inflate(input, &mut output, allowed)?;
    Ok(output)
}

/// Decodes a zlib stream or, where it does not begin as one, bare deflate.
pub(super) fn deflate(input: &[u8], allowed: usize) -> Result<Vec<u8>, Fault> {
    let mut output = Vec::new();
    let rest = match zlib_payload(input) {
        Some(packed) => inflate(packed, &mut output, allowed)?.split_first_chunk::<4>().ok_or(Fault::Broken)?.1,
        None => inflate(input, &mut output, allowed)?,
    };
    if rest.is_empty() { Ok(output) } else { Err(Fault::Broken) }
}

/// What follows a zlib header: method 8, a window that exists, a header that is a multiple of 31, no preset dictionary.
fn zlib_payload(input: &[u8]) -> Option<&[u8]> {
    let (&[method, flags], rest) = input.split_first_chunk()?;
    let is_header = method & 0x0f == 8
        && method >> 4 <= 7
        && u16::from_be_bytes([method, flags]).is_multiple_of(31)
        && flags & 0x20 == 0;
    is_header.then_some(rest)
}

/// What follows the header of a gzip member.
fn after_header(input: &[u8]) -> Option<&[u8]> {
    const HEADER_CRC: u8 = 2;
    const EXTRA: u8 = 4;
    const NAME: u8 = 8;
    const COMMENT: u8 = 16;
    let (&[0x1f, 0x8b, 8, flags, ..], mut rest) = input.split_first_chunk::<10>()? else { return None };
    if flags & EXTRA != 0 {
        let (length, after) = rest.split_first_chunk()?;
        rest = after.get(usize::from(u16::from_le_bytes(*length))..)?;
    }
    for text in [NAME, COMMENT] {
        if flags & text != 0 {
            rest = rest.get(memchr::memchr(0, rest)?.checked_add(1)?..)?;
        }
    }
    if flags & HEADER_CRC != 0 { rest.get(2..) } else { Some(rest) }
}

/// Appends what one deflate stream holds to `output` and returns what follows the stream.
fn inflate<'a>(input: &'a [u8], output: &mut Vec<u8>, allowed: usize) -> Result<&'a [u8], Fault> {
    let start = output.len();
    let mut inflator = Box::<DecompressorOxide>::default();
    let mut read = 0_usize;
    let mut written = start;
    loop {
        // Twice what this stream gave so far: room is filled with zeros first, which many tiny streams must not make dear.
        let at = written.saturating_sub(start);
        let room = at.max(LEAST_ROOM);
        output.resize(written.saturating_add(room).min(allowed), 0);
        let (Some(rest), Some(window)) = (input.get(read..), output.get_mut(start..)) else {
            return Err(Fault::Broken);
        };
        let flags = inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
        let (status, consumed, produced) = decompress(&mut inflator, rest, window, at, flags);
        read = read.saturating_add(consumed);
        written = written.saturating_add(produced);
        match status {
            TINFLStatus::Done => {
                output.truncate(written);
                return input.get(read..).ok_or(Fault::Broken);
            }
            TINFLStatus::HasMoreOutput if output.len() < allowed => {}
            TINFLStatus::HasMoreOutput => return Err(Fault::TooLong),
            _ => return Err(Fault::Broken),
        }
    }
}
