//! Runs the data cases of `testdata/cases/`, natively and as WebAssembly.

#![allow(clippy::expect_used, clippy::panic, clippy::arithmetic_side_effects)]

use mirror_core::compare::{Plan, compare};
use mirror_core::testing::{Case, Expected, FILES, read};

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// What differs from what the case expects; `None` where nothing does.
fn complaint(case: &Case) -> Option<String> {
    let mirror = case.mirror();
    if let Err(error) = mirror.check() {
        return Some(error.to_string());
    }
    let (primary, shadow) = case.answers().expect("readable bodies");
    let found = compare(&Plan::new(&mirror), &case.method, &primary, &shadow);
    let skipped = found.skipped.map(|skip| skip.as_str().to_owned());
    let mut rest = found.divergences.clone();
    let mut missed = Vec::new();
    for expected in &case.divergences {
        let is_it = |at: &usize| {
            let Expected { place, kind, primary, shadow } = expected;
            rest.get(*at).is_some_and(|found| {
                found.place.as_str() == place
                    && found.kind == *kind
                    && (primary.is_none() || found.primary == *primary)
                    && (shadow.is_none() || found.shadow == *shadow)
            })
        };
        match (0..rest.len()).find(is_it) {
            Some(at) => drop(rest.swap_remove(at)),
            None => missed.push(expected),
        }
    }
    let good = missed.is_empty() && rest.is_empty() && found.dropped == 0 && skipped == case.skipped;
    (!good).then(|| format!("missed {missed:?}, not expected {rest:?}, skipped {skipped:?}"))
}

/// Runs the files whose names begin with `json-`, or the others.
fn run(json: bool) {
    let mut complaints = Vec::new();
    for (file, text) in FILES.iter().filter(|(file, _)| file.starts_with("json-") == json) {
        let cases = read(text).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(!cases.is_empty(), "{file}");
        complaints.extend(cases.iter().filter_map(|case| Some(format!("{file}: {}: {}", case.name, complaint(case)?))));
    }
    assert!(complaints.is_empty(), "{} cases:\n{}", complaints.len(), complaints.join("\n"));
}

#[test]
fn every_case_without_json_is_judged_as_it_says() {
    run(false);
}

#[test]
fn every_case_with_json_is_judged_as_it_says() {
    run(true);
}

#[cfg(not(target_arch = "wasm32"))]
mod files {
    use std::collections::BTreeSet;
    use std::io::Read;

    use super::*;
    use mirror_core::testing::{Body, Side};

    #[test]
    fn every_file_is_listed_and_every_name_is_there_once() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/cases");
        let entries = std::fs::read_dir(folder).expect("the folder of cases");
        let there: BTreeSet<_> = entries.map(|entry| entry.expect("an entry").file_name().into_string()).collect();
        let listed: BTreeSet<_> = FILES.iter().map(|(name, _)| Ok((*name).to_owned())).collect();
        assert_eq!(there, listed);

        let mut names = BTreeSet::new();
        for (file, text) in FILES {
            for case in read(text).unwrap_or_else(|error| panic!("{file}: {error}")) {
                assert!(names.insert(case.name.clone()), "{file}: {} is there twice", case.name);
            }
        }
    }

    /// Encoded bodies stand in the files as bytes. Decoders that the module does not use say what they hold.
    #[test]
    fn encoded_bodies_hold_what_they_say() {
        let mut seen = 0;
        for (file, text) in FILES {
            for case in read(text).unwrap_or_else(|error| panic!("{file}: {error}")) {
                for side in [case.primary.clone(), case.whole_shadow()] {
                    if let Some(Body::Hex { of: Some(expected), .. }) = &side.body {
                        assert_eq!(decoded(&side), expected.as_bytes(), "{file}: {}", case.name);
                        seen += 1;
                    }
                }
            }
        }
        assert!(seen > 10, "{seen}");
    }

    fn decoded(side: &Side) -> Vec<u8> {
        let headers = side.headers.iter().flatten();
        let encodings = headers.filter(|(name, _)| name == "content-encoding").flat_map(|(_, value)| value.split(", "));
        let mut bytes = side.body.as_ref().and_then(Body::bytes).expect("bytes");
        for encoding in encodings.collect::<Vec<_>>().into_iter().rev() {
            let mut output = Vec::new();
            let input = &bytes[..];
            let done = match encoding {
                "gzip" => flate2::read::MultiGzDecoder::new(input).read_to_end(&mut output),
                "deflate" if input.first() == Some(&0x78) => {
                    flate2::read::ZlibDecoder::new(input).read_to_end(&mut output)
                }
                "deflate" => flate2::read::DeflateDecoder::new(input).read_to_end(&mut output),
                "br" => brotli::Decompressor::new(input, 4096).read_to_end(&mut output),
                "zstd" => zstd::Decoder::new(input).expect("a decoder").read_to_end(&mut output),
                other => panic!("{other}"),
            };
            done.expect("an encoded body");
            bytes = output;
        }
        bytes
    }
}
