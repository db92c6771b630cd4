//! Zstandard (RFC 8878): frames one after the other, skippable ones passed over.

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::Fault;

/// The largest window that HTTP allows (RFC 9659).
const MAX_WINDOW: u64 = 8 * 1024 * 1024;

/// The most frames in a body. Encoders make one; a thousand tiny ones would only cost work.
const MOST_FRAMES: usize = 64;

/// Decodes all frames of `input`.
pub(super) fn decode(mut input: &[u8], allowed: usize) -> Result<Vec<u8>, Fault> {
    let mut output = Vec::new();
    let mut frames = 0..MOST_FRAMES;
    while !input.is_empty() {
        frames.next().ok_or(Fault::Broken)?;
        // A decoder that is used again would make room for a whole window at once, whatever the frame holds.
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MAX_WINDOW);
        match decoder.init(&mut input) {
            Ok(()) => {}
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                let length = usize::try_from(length).map_err(|_| Fault::Broken)?;
                input = input.get(length..).ok_or(Fault::Broken)?;
                continue;
            }
            Err(_) => return Err(Fault::Broken),
        }
        while !decoder.is_finished() {
            decoder.decode_blocks(&mut input, BlockDecodingStrategy::UptoBlocks(1)).map_err(|_| Fault::Broken)?;
            // What the decoder still holds for later references counts as well.
            if output.len().saturating_add(decoder.can_collect()) > allowed {
                return Err(Fault::TooLong);
            }
            decoder.collect_to_writer(&mut output).map_err(|_| Fault::Broken)?;
        }
    }
    Ok(output)
}
