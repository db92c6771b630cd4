//! Bounds of one mirror: what it may hold in memory and how many names it may record.

use serde::ser::Error;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value as Json;

use super::ConfigError;
use super::read::Value;

/// Bounds, each with a default that suits a gateway. All are per Envoy worker but `examples_per_minute`, which is
/// per worker too and so grows with their number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Caps {
    /// The largest body that is kept for comparison, in bytes as they go over the wire.
    pub body_bytes: usize,
    /// The most that a body may decode to (gzip and the like), in bytes.
    pub decoded_bytes: usize,
    /// The most that a body may grow by decoding: decoded bytes over bytes on the wire.
    pub decoded_ratio: usize,
    /// How many pairs may be open at once.
    pub pairs: usize,
    /// How many bytes all open pairs may hold together.
    pub pair_bytes: usize,
    /// How long a pair may stay open, in milliseconds from the primary's request.
    pub pair_ttl_ms: u64,
    /// How many endpoints get counts of their own; the rest is counted as `other`.
    pub endpoints: usize,
    /// How many places get counts of their own; the rest is counted as `other`.
    pub places: usize,
    /// How many pairs of status codes get counts of their own; the rest is counted as `other`.
    pub statuses: usize,
    /// How many examples of divergences are logged in a minute; 0 for none.
    pub examples_per_minute: u32,
    /// How many copies may be under way at once, where the module sends them itself.
    pub copies: usize,
    /// How many bytes of requests the copies under way may be together, and how many bodies of requests that are still to
    /// be copied.
    pub copy_bytes: usize,
    /// How long a copy that the module sends may take, in milliseconds.
    pub copy_timeout_ms: u64,
}

impl Default for Caps {
    fn default() -> Self {
        Self {
            body_bytes: 256 * 1024,
            decoded_bytes: 2 * 1024 * 1024,
            decoded_ratio: 200,
            pairs: 2048,
            pair_bytes: 32 * 1024 * 1024,
            pair_ttl_ms: 60_000,
            endpoints: 64,
            places: 128,
            statuses: 32,
            examples_per_minute: 12,
            copies: 128,
            copy_bytes: 8 * 1024 * 1024,
            copy_timeout_ms: 15_000,
        }
    }
}

impl Caps {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Writes the bounds that differ from their defaults.
    pub(super) fn changes<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let json = |caps: &Self| serde_json::to_value(caps).map_err(S::Error::custom);
        let mut changes = json(self)?;
        let defaults = json(&Self::default())?;
        if let Json::Object(bounds) = &mut changes {
            bounds.retain(|name, bound| defaults.get(name) != Some(bound));
        }
        changes.serialize(serializer)
    }

    pub(super) fn read(value: Value<'_>) -> Result<Self, ConfigError> {
        let mut fields = value.fields()?;
        let mut bound = |name, default| Ok::<_, ConfigError>(fields.optional(name, Value::integer)?.unwrap_or(default));
        let default = Self::default();
        let caps = Self {
            body_bytes: bound("body_bytes", default.body_bytes)?,
            decoded_bytes: bound("decoded_bytes", default.decoded_bytes)?,
            decoded_ratio: bound("decoded_ratio", default.decoded_ratio)?,
            pairs: bound("pairs", default.pairs)?,
            pair_bytes: bound("pair_bytes", default.pair_bytes)?,
            endpoints: bound("endpoints", default.endpoints)?,
            places: bound("places", default.places)?,
            statuses: bound("statuses", default.statuses)?,
            copies: bound("copies", default.copies)?,
            copy_bytes: bound("copy_bytes", default.copy_bytes)?,
            pair_ttl_ms: fields.optional("pair_ttl_ms", Value::integer)?.unwrap_or(default.pair_ttl_ms),
            copy_timeout_ms: fields.optional("copy_timeout_ms", Value::integer)?.unwrap_or(default.copy_timeout_ms),
            examples_per_minute: fields
                .optional("examples_per_minute", Value::integer)?
                .unwrap_or(default.examples_per_minute),
        };
        fields.finish()?;
        Ok(caps)
    }

    /// Checks that none of the bounds is beyond its default. Whoever may write a VirtualService may use a gateway's memory
    /// and its metrics so far and no further.
    ///
    /// # Errors
    /// The first bound that is, with its path.
    pub fn check_modest(&self) -> Result<(), ConfigError> {
        let default = Self::default();
        let bounds = [
            ("body_bytes", self.body_bytes, default.body_bytes),
            ("decoded_bytes", self.decoded_bytes, default.decoded_bytes),
            ("decoded_ratio", self.decoded_ratio, default.decoded_ratio),
            ("pairs", self.pairs, default.pairs),
            ("pair_bytes", self.pair_bytes, default.pair_bytes),
            ("endpoints", self.endpoints, default.endpoints),
            ("places", self.places, default.places),
            ("statuses", self.statuses, default.statuses),
            ("copies", self.copies, default.copies),
            ("copy_bytes", self.copy_bytes, default.copy_bytes),
        ];
        let beyond = bounds.iter().find(|(_, value, most)| value > most).map(|(field, ..)| *field);
        let slow = (self.pair_ttl_ms > default.pair_ttl_ms).then_some("pair_ttl_ms");
        let slow = slow.or((self.copy_timeout_ms > default.copy_timeout_ms).then_some("copy_timeout_ms"));
        let chatty = (self.examples_per_minute > default.examples_per_minute).then_some("examples_per_minute");
        match beyond.or(slow).or(chatty) {
            Some(field) => {
                Err(ConfigError::new(format!("caps.{field}"), "may not exceed its default where a header carries it"))
            }
            None => Ok(()),
        }
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        const MIB: usize = 1024 * 1024;
        let bounds = [
            ("body_bytes", self.body_bytes, 1, 16 * MIB),
            ("decoded_bytes", self.decoded_bytes, 1, 64 * MIB),
            ("decoded_ratio", self.decoded_ratio, 1, 10_000),
            ("pairs", self.pairs, 1, 100_000),
            ("pair_bytes", self.pair_bytes, 1024, 256 * MIB),
            ("endpoints", self.endpoints, 1, 1000),
            ("places", self.places, 1, 1000),
            ("statuses", self.statuses, 1, 1000),
            ("copies", self.copies, 1, 10_000),
            ("copy_bytes", self.copy_bytes, 1024, 256 * MIB),
        ];
        for (field, value, least, most) in bounds {
            if !(least..=most).contains(&value) {
                let reason = format!("{value} is out of range: at least {least}, at most {most}");
                return Err(ConfigError::new(format!("caps.{field}"), reason));
            }
        }
        for (field, value) in [("pair_ttl_ms", self.pair_ttl_ms), ("copy_timeout_ms", self.copy_timeout_ms)] {
            if !(100..=600_000).contains(&value) {
                let reason = format!("{value} is out of range: at least 100, at most 600000");
                return Err(ConfigError::new(format!("caps.{field}"), reason));
            }
        }
        if self.examples_per_minute > 600 {
            let reason = format!("{} is out of range: at most 600", self.examples_per_minute);
            return Err(ConfigError::new("caps.examples_per_minute", reason));
        }
        Ok(())
    }
}
