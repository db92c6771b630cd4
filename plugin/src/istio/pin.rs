//! Which very module a WasmPlugin runs: where it is, and the checksum that it must have.

use thiserror::Error;

/// A module that cannot become another one unnoticed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pinned {
    /// Where it is: `oci://`, `http://`, `https://` or `file://`.
    pub url: String,
    /// The checksum, 64 hex digits: for `oci://` that of the image's manifest, else that of the module's bytes.
    pub sha256: String,
}

/// Why a module is not pinned.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PinError {
    /// A scheme that Istio does not fetch.
    #[error("--module-url: `{0}` is none of oci://IMAGE, https://…, http://… and file:///…")]
    Url(String),
    /// No checksum at all.
    #[error(
        "--module-url: {0} may be another module tomorrow: add the file's checksum (`sha256sum`), --module-sha256 HEX"
    )]
    Unpinned(String),
    /// Text that is no checksum.
    #[error("--module-sha256: `{0}` is no SHA-256 checksum: expected 64 hex digits")]
    Checksum(String),
    /// Two checksums.
    #[error("--module-sha256: {option} is not the digest in --module-url, {in_url}; leave one of them out")]
    Two {
        /// That of the option.
        option: String,
        /// That of the URL.
        in_url: String,
    },
}

/// The module at a URL, by the checksum that is said beside it or in it; for an image, by that of this program's own where none is
/// said. A URL without a scheme is that of an image, as for Istio.
///
/// # Errors
/// A URL that Istio does not fetch, and checksums that are missing, damaged or contradict each other.
pub fn pin(url: &str, sha256: Option<&str>) -> Result<Pinned, PinError> {
    let url = if url.contains("://") { url.to_owned() } else { format!("oci://{url}") };
    let refuse = || Err(PinError::Url(url.clone()));
    let Some((scheme, rest)) = url.split_once("://") else { return refuse() };
    let is_path = scheme != "file" || rest.starts_with('/');
    if !matches!(scheme, "oci" | "http" | "https" | "file") || rest.is_empty() || !is_path {
        return refuse();
    }
    let in_url =
        rest.split_once("@sha256:").filter(|_| scheme == "oci").map(|(_, digest)| checksum(digest)).transpose()?;
    let option = sha256.map(|text| checksum(text.trim_start_matches("sha256:"))).transpose()?;
    // An image without either is meant to be the one that `kubectl mirror image` writes.
    let own = (scheme == "oci").then(crate::image::digest);
    let own = own.map(|digest| digest.trim_start_matches("sha256:").to_owned());
    let sha256 = match (option, in_url) {
        (Some(option), Some(in_url)) if option != in_url => return Err(PinError::Two { option, in_url }),
        (option, in_url) => option.or(in_url).or(own).ok_or_else(|| PinError::Unpinned(url.clone()))?,
    };
    Ok(Pinned { url, sha256 })
}

fn checksum(text: &str) -> Result<String, PinError> {
    let lower = text.to_ascii_lowercase();
    let is_good = lower.len() == 64 && lower.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_good { Ok(lower) } else { Err(PinError::Checksum(text.to_owned())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_pinned_by_either_checksum() {
        let (a, b) = ("a".repeat(64), "b".repeat(64));
        let pinned = |url: &str, sha256: &str| Ok(Pinned { url: url.into(), sha256: sha256.into() });
        assert_eq!(pin("oci://ghcr.io/x/y:1", Some(&a)), pinned("oci://ghcr.io/x/y:1", &a));
        assert_eq!(pin("ghcr.io/x/y", Some(&a.to_uppercase())), pinned("oci://ghcr.io/x/y", &a));
        let own = crate::image::digest();
        assert_eq!(pin("x/y:1", None), pinned("oci://x/y:1", own.trim_start_matches("sha256:")));
        let with_digest = format!("oci://ghcr.io/x/y@sha256:{a}");
        for option in [None, Some(format!("sha256:{a}"))] {
            assert_eq!(pin(&with_digest, option.as_deref()), pinned(&with_digest, &a));
        }
        for url in ["https://x/y.wasm", "http://x/y.wasm?@sha256:", "file:///y.wasm"] {
            assert_eq!(pin(url, Some(&b)), pinned(url, &b));
        }
        let refused = [
            pin("https://x/y.wasm", None),
            pin(&with_digest, Some(&b)),
            pin("oci://x/y", Some("12")),
            pin("oci://x/y@sha256:12", None),
            pin("ftp://x/y", Some(&a)),
            pin("file://y.wasm", Some(&a)),
            pin("oci://", Some(&a)),
        ]
        .map(|refused| refused.expect_err("a refusal").to_string());
        insta::assert_snapshot!(refused.join("\n"));
    }
}
