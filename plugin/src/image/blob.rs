//! Bytes that are named by their digest.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Some bytes, and of which kind they are.
#[derive(Clone, Debug)]
pub struct Blob {
    /// Their media type.
    pub kind: &'static str,
    /// The bytes.
    pub bytes: Vec<u8>,
    sum: String,
}

impl Blob {
    /// Bytes as they are.
    pub fn new(kind: &'static str, bytes: Vec<u8>) -> Self {
        let sum = sum(&bytes);
        Self { kind, bytes, sum }
    }

    /// A JSON document, its keys in order.
    pub fn json(kind: &'static str, document: &Value) -> Self {
        Self::new(kind, document.to_string().into_bytes())
    }

    /// The SHA-256 sum, in hexadecimal digits.
    pub fn sum(&self) -> &str {
        &self.sum
    }

    /// As other documents name it.
    pub fn digest(&self) -> String {
        format!("sha256:{}", self.sum)
    }

    /// An OCI descriptor.
    pub fn descriptor(&self) -> Value {
        json!({ "mediaType": self.kind, "digest": self.digest(), "size": self.bytes.len() })
    }

    /// A descriptor that says under which name tools write the bytes to a file.
    pub fn descriptor_of_file(&self, name: &str) -> Value {
        let mut descriptor = self.descriptor();
        descriptor["annotations"] = json!({ super::annotations::TITLE: name });
        descriptor
    }
}

/// The SHA-256 sum of some bytes, in hexadecimal digits.
pub fn sum(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
