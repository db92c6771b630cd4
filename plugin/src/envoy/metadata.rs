//! The route's metadata: a mirror's configuration, for the module.

use serde_json::{Value, json};

use super::{MirrorSpec, NAME};

/// The route's `metadata`. The configuration is one string of JSON, which the module reads in one host call.
pub fn metadata(spec: &MirrorSpec) -> Value {
    json!({ "filter_metadata": { NAME: { "config": spec.mirror.to_json() } } })
}

#[cfg(test)]
mod tests {
    use mirror_core::config::Mirror;

    use super::super::fixture;
    use super::*;

    #[test]
    fn the_module_reads_what_is_written() {
        let spec = fixture::full();
        let metadata = metadata(&spec);
        let config = metadata["filter_metadata"]["kubectl-mirror"]["config"].as_str().expect("a string");
        assert_eq!(Mirror::from_json(config.as_bytes()), Ok(spec.mirror));
    }
}
