//! The configuration of one mirror: the JSON that the route's metadata, or a request header, carries to the module. The
//! plugin writes it with the same types, so a field that one side does not know cannot exist.

mod caps;
pub mod carried;
mod read;
mod rules;
mod selection;
mod spec;

use std::fmt;

use serde::Serialize;

pub use caps::Caps;
use read::Value;
pub use rules::{EndpointTemplate, Rules, Tolerance, Unordered};
pub use selection::{HeaderMatch, PathMatch, Selection, ValueMatch, WHOLE};
pub use spec::{MirrorSpec, Sending, Sent};

/// The version of the format. A module refuses any other, so that an old module never half-understands a new plugin.
pub const VERSION: u32 = 1;

/// One mirror.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mirror {
    /// [`VERSION`].
    pub version: u32,
    /// `<namespace>/<route>`.
    pub name: String,
    /// Where the copies go.
    pub candidate: Target,
    /// The primary's version once more, to learn which places differ by themselves; off where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secondary: Option<Target>,
    /// The hosts (without port) whose requests are copied. Envoy's configuration enforces this; the module only knows.
    pub hosts: Vec<String>,
    /// The methods that are copied. Envoy's configuration enforces this; the module only knows.
    #[serde(skip_serializing_if = "are_safe_methods")]
    pub methods: Vec<String>,
    /// Who draws the sample.
    #[serde(skip_serializing_if = "Sampling::is_default")]
    pub sampling: Sampling,
    /// Whether the route may send a primary to the candidate itself (a canary split); the module then checks each one.
    #[serde(skip_serializing_if = "is_true")]
    pub split: bool,
    /// How closely to compare.
    #[serde(skip_serializing_if = "Rules::is_empty")]
    pub rules: Rules,
    /// How much to hold and to record.
    #[serde(skip_serializing_if = "Caps::is_default", serialize_with = "Caps::changes")]
    pub caps: Caps,
}

/// Where copies of requests go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Target {
    /// The Envoy cluster, for example `outbound|80||hello-v2.default.svc.cluster.local`.
    pub cluster: String,
    /// Set where Knative's activator may stand in the path: it routes by these and not by the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub knative: Option<Knative>,
}

/// What `Knative-Serving-Revision` and `Knative-Serving-Namespace` must say on a copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Knative {
    /// The revision's name.
    pub revision: String,
    /// Its namespace.
    pub namespace: String,
}

/// Who decides which of the marked requests are copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sampling {
    /// The selector: only sampled requests are marked, so a marked request without a shadow is an incomplete pair.
    #[default]
    Selector,
    /// Envoy's mirror policy: a marked request without a shadow was not sampled, and nothing of it is recorded.
    Envoy,
}

/// The methods that change nothing (RFC 9110, section 9.2.1), without TRACE, which Envoy and servers rarely let pass.
pub fn safe_methods() -> Vec<String> {
    ["GET", "HEAD", "OPTIONS"].map(str::to_owned).to_vec()
}

fn are_safe_methods(methods: &Vec<String>) -> bool {
    *methods == safe_methods()
}

fn is_true(truth: &bool) -> bool {
    *truth
}

/// Why a configuration was refused: where (a path such as `rules.tolerance[0].path`) and for what reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The path into the document; `.` for the document itself.
    pub path: String,
    /// The reason, with what would be right.
    pub reason: String,
}

impl ConfigError {
    pub(crate) fn new(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { path: path.into(), reason: reason.into() }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.reason)
    }
}

impl std::error::Error for ConfigError {}

impl Mirror {
    /// Reads and checks the JSON of a mirror.
    ///
    /// # Errors
    /// Text that is not JSON, unknown or missing fields, another version, and values that make no sense; the path and
    /// the reason are said.
    pub fn from_json(json: &[u8]) -> Result<Self, ConfigError> {
        let mirror = Self::read(Value::document(json)?)?;
        mirror.check()?;
        Ok(mirror)
    }

    fn read(value: Value<'_>) -> Result<Self, ConfigError> {
        let mut fields = value.fields()?;
        let mirror = Self {
            version: fields.need("version")?.integer()?,
            name: fields.need("name")?.string()?,
            candidate: Target::read(fields.need("candidate")?)?,
            secondary: fields.optional("secondary", Target::read)?,
            hosts: fields.need("hosts")?.list(Value::string)?,
            methods: fields.optional("methods", |value| value.list(Value::string))?.unwrap_or_else(safe_methods),
            sampling: fields.optional("sampling", Sampling::read)?.unwrap_or_default(),
            split: fields.optional("split", Value::truth)?.unwrap_or(true),
            rules: fields.optional("rules", Rules::read)?.unwrap_or_default(),
            caps: fields.optional("caps", Caps::read)?.unwrap_or_default(),
        };
        fields.finish()?;
        Ok(mirror)
    }

    /// The JSON of this mirror; [`Mirror::from_json`] reads it back. It is one line of printable ASCII, so that a header
    /// can carry it, and leaves out what has its default.
    pub fn to_json(&self) -> String {
        // These types hold nothing that JSON cannot say: no maps with other keys than strings, no failing Serialize.
        ascii(&serde_json::to_string(self).unwrap_or_default())
    }

    /// Checks what types alone cannot say.
    ///
    /// # Errors
    /// The first value that makes no sense, with its path.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.version != VERSION {
            let reason = format!("version {} is not known here; this build reads version {VERSION}", self.version);
            return Err(ConfigError::new("version", reason));
        }
        check_name(&self.name)?;
        check_target("candidate", &self.candidate)?;
        if let Some(secondary) = &self.secondary {
            check_target("secondary", secondary)?;
            if secondary.cluster == self.candidate.cluster {
                let reason = "is the candidate's cluster; it must be the primary's version once more";
                return Err(ConfigError::new("secondary.cluster", reason));
            }
        }
        if self.hosts.is_empty() {
            return Err(ConfigError::new("hosts", "at least one host is needed"));
        }
        for (i, host) in self.hosts.iter().enumerate() {
            if host.is_empty() || host.contains(|c: char| c.is_whitespace() || c == '/') {
                return Err(ConfigError::new(format!("hosts[{i}]"), format!("`{host}` is not a host name")));
            }
        }
        if self.methods.is_empty() {
            return Err(ConfigError::new("methods", "at least one method is needed"));
        }
        for (i, method) in self.methods.iter().enumerate() {
            if method.is_empty() || !method.bytes().all(|b| b.is_ascii_uppercase() || b == b'-') {
                let reason = format!("`{method}` is not a method: methods are upper case, for example GET");
                return Err(ConfigError::new(format!("methods[{i}]"), reason));
            }
            if method == "CONNECT" {
                return Err(ConfigError::new(format!("methods[{i}]"), "Envoy does not mirror CONNECT"));
            }
        }
        self.rules.check()?;
        self.caps.check()
    }

    /// A short name of this very configuration: 8 hex digits that change whenever any field does. Marked requests carry
    /// it, so that the module knows whether it has this configuration already.
    pub fn fingerprint(&self) -> String {
        fingerprint(self.to_json().as_bytes())
    }
}

impl Target {
    fn read(value: Value<'_>) -> Result<Self, ConfigError> {
        let mut fields = value.fields()?;
        let target =
            Self { cluster: fields.need("cluster")?.string()?, knative: fields.optional("knative", Knative::read)? };
        fields.finish()?;
        Ok(target)
    }
}

impl Knative {
    fn read(value: Value<'_>) -> Result<Self, ConfigError> {
        let mut fields = value.fields()?;
        let knative =
            Self { revision: fields.need("revision")?.string()?, namespace: fields.need("namespace")?.string()? };
        fields.finish()?;
        Ok(knative)
    }
}

impl Sampling {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }

    fn read(value: Value<'_>) -> Result<Self, ConfigError> {
        let invalid = value.invalid("`selector` or `envoy`");
        match value.string()?.as_str() {
            "selector" => Ok(Self::Selector),
            "envoy" => Ok(Self::Envoy),
            _ => Err(invalid),
        }
    }
}

/// The same JSON in printable ASCII.
fn ascii(json: &str) -> String {
    let mut ascii = String::with_capacity(json.len());
    for character in json.chars() {
        if matches!(character, ' '..='~') {
            ascii.push(character);
        } else {
            // Such a character stands in a string, where its UTF-16 units can be escaped.
            for unit in character.encode_utf16(&mut [0; 2]) {
                ascii.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    ascii
}

/// The fingerprint of a configuration's JSON text: FNV-1a, 32 bits, in hex.
pub fn fingerprint(json: &[u8]) -> String {
    let hash = json.iter().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
    format!("{hash:08x}")
}

fn check_name(name: &str) -> Result<(), ConfigError> {
    let part_is_good = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'.')
    };
    match name.split_once('/') {
        Some((namespace, route)) if part_is_good(namespace) && part_is_good(route) => Ok(()),
        _ => {
            let reason = format!("`{name}` is not <namespace>/<route> in lower-case letters, digits, `-` and `.`");
            Err(ConfigError::new("name", reason))
        }
    }
}

fn check_target(field: &str, target: &Target) -> Result<(), ConfigError> {
    if target.cluster.is_empty() || target.cluster.contains(|c: char| c.is_whitespace() || c.is_control()) {
        let reason = format!("`{}` is not the name of an Envoy cluster", target.cluster);
        return Err(ConfigError::new(format!("{field}.cluster"), reason));
    }
    if let Some(knative) = &target.knative {
        for (name, value) in [("revision", &knative.revision), ("namespace", &knative.namespace)] {
            if value.is_empty() || value.contains(|c: char| c.is_whitespace() || c.is_control()) {
                let reason = format!("`{value}` is not a Kubernetes name");
                return Err(ConfigError::new(format!("{field}.knative.{name}"), reason));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALLEST: &str = r#"{"version":1,"name":"default/hello","candidate":{"cluster":"c"},"hosts":["h"]}"#;

    #[test]
    fn what_is_left_out_takes_its_default() {
        let mirror = Mirror::from_json(SMALLEST.as_bytes()).expect("the smallest configuration");
        assert_eq!(mirror.methods, ["GET", "HEAD", "OPTIONS"]);
        assert_eq!(mirror.sampling, Sampling::Selector);
        assert_eq!(mirror.caps, Caps::default());
        assert!(mirror.secondary.is_none() && mirror.rules.is_empty());
    }

    #[test]
    fn a_configuration_is_read_back_as_it_was_written() {
        let full = r#"{"version":1,"name":"ns/r","candidate":{"cluster":"c","knative":{"revision":"r2","namespace":"ns"}},
            "secondary":{"cluster":"p"},"hosts":["h"],"methods":["GET","POST"],"sampling":"envoy",
            "split":false,
            "rules":{"ignore":["/a/*","header:x"],"include":["header:date"],
            "tolerance":[{"path":"/p","absolute":0.5},{"path":"/q","relative":1e-3}],
            "unordered":[{"path":"/l","key":"/id"}],"subset":["body"],"redact":["/s\u00e9"],"endpoints":["/u/{id}"]},
            "caps":{"body_bytes":1000,"decoded_bytes":1001,"decoded_ratio":1002,"pairs":1003,"pair_bytes":1024,
            "pair_ttl_ms":1005,"endpoints":106,"places":107,"statuses":108,"examples_per_minute":109,
            "copies":110,"copy_bytes":1111,"copy_timeout_ms":1112}}"#;
        let mirror = Mirror::from_json(full.as_bytes()).expect("a full configuration");
        let written: serde_json::Value = serde_json::from_str(full).expect("JSON");
        assert_eq!(serde_json::to_value(&mirror).expect("JSON"), written, "every field was read");
        let rules = serde_json::from_value(written["rules"].clone());
        assert_eq!(rules.ok().as_ref(), Some(&mirror.rules), "rules files are read by other code");
        assert_eq!(Mirror::from_json(mirror.to_json().as_bytes()), Ok(mirror.clone()));
        assert_eq!(mirror.fingerprint().len(), 8);
        assert!(mirror.to_json().bytes().all(|byte| matches!(byte, b' '..=b'~')), "a header can carry it");
        assert_ne!(mirror.fingerprint(), Mirror { hosts: vec!["i".into()], ..mirror }.fingerprint());
    }

    #[test]
    fn what_has_its_default_is_not_written() {
        let mirror = Mirror::from_json(SMALLEST.as_bytes()).expect("the smallest configuration");
        assert_eq!(mirror.to_json(), SMALLEST);
        assert_eq!(mirror.fingerprint(), fingerprint(SMALLEST.as_bytes()));
        let one = Mirror { caps: Caps { pairs: 7, ..Caps::default() }, ..mirror.clone() };
        assert_eq!(one.to_json(), SMALLEST.replace("]}", r#"],"caps":{"pairs":7}}"#));
        let odd = Mirror { hosts: vec!["h\u{7f}\u{e9}\u{20ac}\u{1f980}\n\"".into()], ..mirror };
        assert!(odd.to_json().contains(r#""h\u007f\u00e9\u20ac\ud83e\udd80\n\"""#), "{}", odd.to_json());
        let read = Mirror::read(Value::document(odd.to_json().as_bytes()).expect("JSON"));
        assert_eq!(read, Ok(odd));
    }

    #[test]
    fn mistakes_are_refused_with_path_and_reason() {
        let with = |from: &str, to: &str| SMALLEST.replace(from, to);
        for (json, path, reason) in [
            ("{".to_owned(), ".", "EOF"),
            (format!("{SMALLEST}x"), ".", "trailing"),
            ("[]".to_owned(), ".", "expected an object"),
            (with(r#""version":1"#, r#""version":2"#), "version", "version 2 is not known"),
            (with(r#""version":1"#, r#""version":1.0"#), "version", "invalid value"),
            (with(r#""version":1"#, r#""version":4294967297"#), "version", "invalid value"),
            (with(r#""version":1"#, r#""version":null"#), ".", "missing field `version`"),
            (with(r#""hosts""#, r#""version":1,"hosts""#), "version", "there twice"),
            (with(r#""default/hello""#, "7"), "name", "expected a string"),
            (with("default/hello", r"\ud800"), "name", "UTF-8"),
            (with("}", r#","nope":1}"#), "candidate.nope", "unknown field"),
            (with(r#""candidate":{"cluster":"c"},"#, ""), ".", "missing field `candidate`"),
            (with("default/hello", "hello"), "name", "<namespace>/<route>"),
            (with("default/hello", "a/b/c"), "name", "<namespace>/<route>"),
            (with(r#"["h"]"#, "[]"), "hosts", "at least one"),
            (with(r#"["h"]"#, r#"{"h":1}"#), "hosts", "expected a list"),
            (with(r#"["h"]"#, r#"["h", 1]"#), "hosts[1]", "expected a string"),
            (with(r#"["h"]"#, r#"["h/x"]"#), "hosts[0]", "not a host"),
            (with(r#"["h"]"#, r#"["h"],"sampling":"both""#), "sampling", "`selector` or `envoy`"),
            (with(r#"["h"]"#, r#"["h"],"split":"no""#), "split", "true or false"),
            (with(r#"["h"]"#, r#"["h"],"methods":["get"]"#), "methods[0]", "upper case"),
            (with(r#"["h"]"#, r#"["h"],"methods":["CONNECT"]"#), "methods[0]", "CONNECT"),
            (with(r#"["h"]"#, r#"["h"],"secondary":{"cluster":"c"}"#), "secondary.cluster", "candidate's"),
            (with(r#"["h"]"#, r#"["h"],"rules":{"ignore":["a"]}"#), "rules.ignore[0]", "names no place"),
            (with(r#"["h"]"#, r#"["h"],"rules":{"tolerance":[{"path":"/a"}]}"#), "rules.tolerance[0]", "absolute"),
            (
                with(r#"["h"]"#, r#"["h"],"rules":{"tolerance":[{"path":"/a","absolute":"1"}]}"#),
                "rules.tolerance[0].absolute",
                "a number",
            ),
            (
                with(r#"["h"]"#, r#"["h"],"rules":{"tolerance":[{"path":"/a","absolute":1e999}]}"#),
                "rules.tolerance[0].absolute",
                "not negative",
            ),
            (
                with(r#"["h"]"#, r#"["h"],"rules":{"unordered":[{"path":"/a","by":1}]}"#),
                "rules.unordered[0].by",
                "unknown",
            ),
            (with(r#"["h"]"#, r#"["h"],"rules":{"endpoints":["a"]}"#), "rules.endpoints[0]", "template"),
            (with(r#"["h"]"#, r#"["h"],"caps":{"body_bytes":0}"#), "caps.body_bytes", "at least"),
            (with(r#"["h"]"#, r#"["h"],"caps":{"body_bytes":-1}"#), "caps.body_bytes", "invalid value"),
        ] {
            let error = Mirror::from_json(json.as_bytes()).expect_err(&json);
            assert_eq!(error.path, path, "{json}: {error}");
            assert!(error.reason.contains(reason), "{json}: {error}");
        }
    }
}
