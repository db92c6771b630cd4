//! Every encoding there and back, and what must never happen: a panic, or more output than allowed.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use proptest::prelude::*;

use super::*;

const LIMITS: Limits = Limits { bytes: 1 << 20, ratio: 10_000 };

/// Whether `packed` decodes to `text`; a failed comparison of whole bodies could not be read.
fn decodes_to(name: &str, packed: &[u8], text: &[u8]) -> bool {
    decode([name], packed, LIMITS).is_ok_and(|decoded| *decoded == *text)
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zlib(text: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn bare_deflate(text: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn brotli_at(text: &[u8], quality: i32, lgwin: i32) -> Vec<u8> {
    let params = ::brotli::enc::BrotliEncoderParams { quality, lgwin, ..Default::default() };
    let mut packed = Vec::new();
    ::brotli::BrotliCompress(&mut &text[..], &mut packed, &params).unwrap();
    packed
}

fn brotli(text: &[u8]) -> Vec<u8> {
    brotli_at(text, 9, 22)
}

fn zstd(text: &[u8]) -> Vec<u8> {
    ::zstd::encode_all(text, 3).unwrap()
}

type Encoder = fn(&[u8]) -> Vec<u8>;

const ENCODERS: [(&str, Encoder); 5] =
    [("gzip", gzip), ("deflate", zlib), ("deflate", bare_deflate), ("br", brotli), ("zstd", zstd)];

/// Texts of several shapes: short, long runs, words, bytes without any pattern.
fn texts() -> Vec<Vec<u8>> {
    let words = "It was the best of times, it was the worst of times. ".repeat(400);
    let json: String =
        (0..3000).map(|i| format!(r#"{{"id":{i},"name":"user {}","ok":true}},"#, i * 7919 % 1000)).collect();
    let mut seed = 1_u32;
    let noise = std::iter::repeat_with(|| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 24) as u8
    });
    vec![
        b"".to_vec(),
        b"a".to_vec(),
        b"<!doctype html><html lang=\"en\"><head><title>Hello, the world of the Internet</title></head></html>"
            .to_vec(),
        words.into_bytes(),
        json.into_bytes(),
        noise.take(100_000).collect(),
        vec![b'x'; 70_000],
    ]
}

#[test]
fn what_was_encoded_is_decoded() {
    for text in texts() {
        for (name, encode) in ENCODERS {
            assert_eq!(
                decode([name], &encode(&text), LIMITS).as_deref(),
                Ok(&text[..]),
                "{name}, {} bytes",
                text.len()
            );
        }
    }
}

#[test]
fn every_setting_of_the_encoders_is_read() {
    for text in texts() {
        for (quality, lgwin) in [(0, 10), (1, 16), (2, 18), (4, 22), (5, 10), (6, 24), (10, 18), (11, 22)] {
            let packed = brotli_at(&text, quality, lgwin);
            assert!(decodes_to("br", &packed, &text), "br {quality} {lgwin} {}", text.len());
        }
        for level in [-5, 1, 6, 12, 19] {
            let packed = ::zstd::encode_all(&text[..], level).unwrap();
            assert!(decodes_to("zstd", &packed, &text), "zstd {level} {}", text.len());
        }
        let mut encoder = ::zstd::Encoder::new(Vec::new(), 3).unwrap();
        encoder.include_checksum(true).unwrap();
        encoder.set_pledged_src_size(Some(text.len() as u64)).unwrap();
        encoder.write_all(&text).unwrap();
        let packed = encoder.finish().unwrap();
        assert!(decodes_to("zstd", &packed, &text), "zstd with a checksum, {}", text.len());
    }
}

#[test]
fn names_are_read_in_any_case_and_undone_in_reverse() {
    let text = b"some text";
    let stacked = brotli(&gzip(text));
    for encodings in [vec!["gzip", "br"], vec!["X-GZIP", "BR"], vec!["identity", "gzip", "", "br"]] {
        assert_eq!(decode(encodings.clone(), &stacked, LIMITS).as_deref(), Ok(&text[..]), "{encodings:?}");
    }
    for encodings in [vec!["br", "gzip"], vec!["compress"], vec!["gzip", "gzip", "gzip", "gzip"], vec!["?"]] {
        assert_eq!(decode(encodings.clone(), &stacked, LIMITS), Err(Skip::Undecodable), "{encodings:?}");
    }
}

#[test]
fn several_members_and_frames_follow_each_other() {
    let text = b"one and two";
    let members = [gzip(b"one"), gzip(b" and "), gzip(b"two")].concat();
    assert_eq!(decode(["gzip"], &members, LIMITS).as_deref(), Ok(&text[..]));
    let skippable = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
    let frames = [zstd(b"one"), skippable, zstd(b" and "), zstd(b"two")].concat();
    assert_eq!(decode(["zstd"], &frames, LIMITS).as_deref(), Ok(&text[..]));
}

#[test]
fn every_field_of_a_gzip_header_is_passed_over() {
    let mut encoder = flate2::GzBuilder::new()
        .filename("name")
        .comment("comment")
        .extra(b"extra".to_vec())
        .mtime(7)
        .write(Vec::new(), Compression::fast());
    encoder.write_all(b"text").unwrap();
    assert_eq!(decode(["gzip"], &encoder.finish().unwrap(), LIMITS).as_deref(), Ok(&b"text"[..]));
}

#[test]
fn cut_or_continued_input_is_broken() {
    for (name, encode) in ENCODERS {
        let packed = encode(&texts()[2]);
        for end in 1..packed.len() {
            assert_eq!(decode([name], &packed[..end], LIMITS), Err(Skip::Undecodable), "{name} cut at {end}");
        }
        let continued = [&packed[..], b"garbage behind it"].concat();
        assert_eq!(decode([name], &continued, LIMITS), Err(Skip::Undecodable), "{name} with garbage");
        assert_eq!(decode([name], b"not encoded at all", LIMITS), Err(Skip::Undecodable), "{name}");
    }
}

#[test]
fn bounds_are_kept_and_told_apart() {
    let (long, short) = (vec![b'x'; 1 << 20], vec![b'x'; RATIO_FLOOR]);
    for (name, encode) in ENCODERS {
        let packed = encode(&long);
        let with = |bytes, ratio| decode([name], &packed, Limits { bytes, ratio }).map(|decoded| decoded.len());
        assert_eq!(with(1 << 20, 10_000_000), Ok(1 << 20), "{name}");
        assert_eq!(with((1 << 20) - 1, 10_000_000), Err(Skip::TooLarge), "{name}");
        assert_eq!(with(2 << 20, 2), Err(Skip::Undecodable), "{name}");
        // Below the floor the ratio does not count.
        let small = encode(&short);
        let small = decode([name], &small, Limits { bytes: 1 << 20, ratio: 1 });
        assert_eq!(small.map(|decoded| decoded.len()), Ok(RATIO_FLOOR), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn arbitrary_bytes_never_panic_nor_exceed_the_bound(bytes in prop::collection::vec(any::<u8>(), 0..2000), bound in 0_usize..5000) {
        for name in ["gzip", "deflate", "br", "zstd"] {
            if let Ok(decoded) = decode([name], &bytes, Limits { bytes: bound, ratio: 10_000 }) {
                prop_assert!(decoded.len() <= bound, "{}", name);
            }
        }
    }

    #[test]
    fn damaged_input_never_panics_nor_exceeds_the_bound(
        text in prop::collection::vec(prop::sample::select(&b"abc \n"[..]), 0..3000),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        bound in 0_usize..5000,
    ) {
        for (name, encode) in ENCODERS {
            let mut packed = encode(&text);
            for (at, byte) in &damage {
                let at = at.index(packed.len());
                packed[at] = *byte;
            }
            if let Ok(decoded) = decode([name], &packed, Limits { bytes: bound, ratio: 10_000 }) {
                prop_assert!(decoded.len() <= bound, "{}", name);
            }
        }
    }

    /// Damage in the middle of a stream finds paths that no encoder takes.
    #[test]
    fn brotli_is_read_as_the_well_known_decoder_reads_it(
        text in "[a-z ]{0,40}(the |information|\\.com/){1,30}[A-Z]{0,9}",
        quality in 0_i32..12,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let mut packed = brotli_at(text.as_bytes(), quality, 18);
        for (at, byte) in &damage {
            let at = at.index(packed.len());
            packed[at] = *byte;
        }
        let mut theirs = Vec::new();
        let accepted = brotli_decompressor::Decompressor::new(&packed[..], 4096).read_to_end(&mut theirs).is_ok();
        match decode(["br"], &packed, LIMITS) {
            Ok(ours) => prop_assert!(accepted && *ours == *theirs),
            // The other one also takes larger windows than the RFC has, and does not mind what follows the stream.
            Err(_) => prop_assert!(!accepted || !damage.is_empty()),
        }
    }

    #[test]
    fn any_text_comes_back(text in prop::collection::vec(any::<u8>(), 0..3000)) {
        for (name, encode) in ENCODERS {
            let packed = encode(&text);
            prop_assert!(decodes_to(name, &packed, &text), "{}", name);
        }
    }
}
