//! Content encodings, undone within bounds: no input makes a decoder hold more than it was allowed.

#[cfg(any(feature = "brotli", feature = "zstd"))]
mod bits;
#[cfg(feature = "brotli")]
mod brotli;
#[cfg(feature = "gzip")]
mod deflate;
#[cfg(feature = "zstd")]
mod zstd;

use std::borrow::Cow;

use crate::answer::Answer;
use crate::outcome::Skip;

/// How much a body may decode to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// In bytes.
    pub bytes: usize,
    /// In bytes for each byte on the wire; it holds only beyond [`RATIO_FLOOR`].
    pub ratio: usize,
}

/// Small bodies may grow as they like: a few bytes of a good encoder hold long runs.
const RATIO_FLOOR: usize = 64 * 1024;

/// The most encodings that are undone one after the other; more than one is rare, more than two an attack.
const MOST_STACKED: usize = 3;

/// Why a decoder gave up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// The input is not what the encoding makes, or it was cut.
    Broken,
    /// The output is larger than allowed.
    TooLong,
}

/// The content encodings of an answer, in the order in which they were applied.
pub(super) fn of(answer: &Answer) -> impl Iterator<Item = &str> + Clone {
    let headers = answer.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(b"content-encoding"));
    // A value that is not UTF-8 names no encoding that is known here.
    headers.flat_map(|(_, value)| std::str::from_utf8(value).unwrap_or("?").split(',')).map(str::trim)
}

/// Undoes `encodings` (in the order in which they were applied).
///
/// # Errors
/// [`Skip::TooLarge`] where the result exceeds the bytes allowed, [`Skip::Undecodable`] where it exceeds the ratio, an
/// encoding is unknown, or the input is broken or cut.
pub(super) fn decode<'a, 'e>(
    encodings: impl IntoIterator<Item = &'e str>,
    body: &'a [u8],
    limits: Limits,
) -> Result<Cow<'a, [u8]>, Skip> {
    let mut stack = [Encoding::Identity; MOST_STACKED];
    let mut free = stack.iter_mut();
    for name in encodings {
        match Encoding::named(name).ok_or(Skip::Undecodable)? {
            Encoding::Identity => {}
            encoding => *free.next().ok_or(Skip::Undecodable)? = encoding,
        }
    }
    let by_ratio = body.len().saturating_mul(limits.ratio).max(RATIO_FLOOR);
    let allowed = limits.bytes.min(by_ratio);
    let mut decoded = Cow::Borrowed(body);
    for encoding in stack.into_iter().rev() {
        decoded = match encoding {
            Encoding::Identity => decoded,
            packed => Cow::Owned(packed.decode(&decoded, allowed).map_err(|fault| match fault {
                Fault::TooLong if allowed == limits.bytes => Skip::TooLarge,
                Fault::TooLong | Fault::Broken => Skip::Undecodable,
            })?),
        };
    }
    Ok(decoded)
}

/// The encodings that this build undoes.
#[derive(Clone, Copy, Debug)]
enum Encoding {
    Identity,
    #[cfg(feature = "gzip")]
    Gzip,
    #[cfg(feature = "gzip")]
    Deflate,
    #[cfg(feature = "brotli")]
    Brotli,
    #[cfg(feature = "zstd")]
    Zstd,
}

impl Encoding {
    fn named(name: &str) -> Option<Self> {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        Some(match () {
            () if is("identity") || name.is_empty() => Self::Identity,
            #[cfg(feature = "gzip")]
            () if is("gzip") || is("x-gzip") => Self::Gzip,
            #[cfg(feature = "gzip")]
            () if is("deflate") => Self::Deflate,
            #[cfg(feature = "brotli")]
            () if is("br") => Self::Brotli,
            #[cfg(feature = "zstd")]
            () if is("zstd") => Self::Zstd,
            () => return None,
        })
    }

    /// Decodes all of `input` into at most `allowed` bytes.
    fn decode(self, input: &[u8], allowed: usize) -> Result<Vec<u8>, Fault> {
        match self {
            Self::Identity => Ok(input.to_vec()),
            #[cfg(feature = "gzip")]
            Self::Gzip => deflate::gzip(input, allowed),
            #[cfg(feature = "gzip")]
            Self::Deflate => deflate::deflate(input, allowed),
            #[cfg(feature = "brotli")]
            Self::Brotli => brotli::decode(input, allowed),
            #[cfg(feature = "zstd")]
            Self::Zstd => zstd::decode(input, allowed),
        }
    }
}

/// Appends `length` bytes from `distance` back, which may overlap what is being written. `distance` is not 0 and within
/// `output`.
#[cfg(any(feature = "brotli", feature = "zstd"))]
fn append_copy(output: &mut Vec<u8>, distance: usize, length: usize) {
    let start = output.len().saturating_sub(distance);
    let mut left = length;
    while left > 0 && start < output.len() {
        let part = left.min(output.len().saturating_sub(start));
        output.extend_from_within(start..start.saturating_add(part));
        left = left.saturating_sub(part);
    }
}

// The encoders exist natively only.
#[cfg(test)]
#[cfg(all(not(target_arch = "wasm32"), feature = "gzip", feature = "brotli", feature = "zstd"))]
mod tests;
