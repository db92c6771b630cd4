//! A mirror with all that decides what is copied, and the configuration of a module that does so itself.

use super::read::Value;
use super::{ConfigError, Mirror, Selection, VERSION, ascii, fingerprint};

/// One mirror as Envoy has to be told of it. Its pieces are written from it; where the module sends the copies itself, its
/// configuration carries it.
#[derive(Clone, Debug, PartialEq)]
pub struct MirrorSpec {
    /// What the module compares by.
    pub mirror: Mirror,
    /// Which requests are copied, beside the mirror's methods and hosts.
    pub selection: Selection,
    /// The `Host` of copies to the candidate; the client's where `None`.
    pub candidate_host: Option<String>,
    /// The `Host` of copies to the secondary; the client's where `None`.
    pub secondary_host: Option<String>,
}

/// A mirror that the module was told of, with the fingerprint that its copies are marked with. They keep the client's `Host`.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    /// What it compares by.
    pub mirror: Mirror,
    /// Which requests are copied.
    pub selection: Selection,
    /// [`Mirror::fingerprint`] of it.
    pub fingerprint: String,
}

/// What a module is told that sends the copies itself: the mirrors, each as its own text. A mirror that is of no use does
/// not keep the others from working.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sending {
    /// Name and [`MirrorSpec::to_json`] of each.
    pub mirrors: Vec<(String, String)>,
}

impl MirrorSpec {
    /// Checks all that the pieces rely on.
    ///
    /// # Errors
    /// The first value that makes no sense, with its path.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.mirror.check()?;
        self.selection.check()
    }

    /// The JSON by which a module is told of this mirror, in one line of printable ASCII; [`Sent::from_json`] reads it back.
    pub fn to_json(&self) -> String {
        // Its type holds nothing that JSON cannot say. The mirror stands there as its fingerprint has it.
        let selection = ascii(&serde_json::to_string(&self.selection).unwrap_or_default());
        format!(r#"{{"mirror":{},"selection":{selection}}}"#, self.mirror.to_json())
    }
}

impl Sent {
    /// Reads what [`MirrorSpec::to_json`] wrote, and checks what the module relies on: other values that make no sense select
    /// nothing, or everything.
    ///
    /// # Errors
    /// As [`Mirror::from_json`].
    pub fn from_json(json: &[u8]) -> Result<Self, ConfigError> {
        let mut fields = Value::document(json)?.fields()?;
        let mirror = fields.need("mirror")?;
        let fingerprint = fingerprint(mirror.text());
        let (mirror, selection) = (Mirror::read(mirror)?, Selection::read(fields.need("selection")?)?);
        fields.finish()?;
        mirror.check()?;
        selection.check_token()?;
        Ok(Self { mirror, selection, fingerprint })
    }
}

impl Sending {
    /// Reads a module's configuration. `None` where it names no mirrors: such a module sends no copies.
    ///
    /// # Errors
    /// Text that is not JSON, another version, and mirrors that are not texts by name.
    pub fn from_json(json: &[u8]) -> Result<Option<Self>, ConfigError> {
        if json.trim_ascii().is_empty() {
            return Ok(None);
        }
        let mut fields = Value::document(json)?.fields()?;
        let Some(mirrors) = fields.take("mirrors") else { return Ok(None) };
        let version: u32 = fields.need("version")?.integer()?;
        if version != VERSION {
            let reason = format!("version {version} is not known here; this build reads version {VERSION}");
            return Err(ConfigError::new("version", reason));
        }
        let mut sending = Self::default();
        for (name, json) in mirrors.entries()? {
            sending.mirrors.push((name, json.string()?));
        }
        Ok(Some(sending))
    }

    /// The configuration as JSON; [`Sending::from_json`] reads it back.
    pub fn to_json(&self) -> serde_json::Value {
        let mirrors: serde_json::Map<_, _> =
            self.mirrors.iter().map(|(name, json)| (name.clone(), json.as_str().into())).collect();
        serde_json::json!({ "version": VERSION, "mirrors": mirrors })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIRROR: &str = r#"{"version":1,"name":"default/hello","candidate":{"cluster":"c"},"hosts":["h"]}"#;

    fn full() -> MirrorSpec {
        MirrorSpec {
            mirror: Mirror::from_json(MIRROR.as_bytes()).expect("a mirror"),
            selection: Selection {
                millionths: 50_000,
                sticky: Some("x-user".into()),
                headers: vec![
                    "x-beta".parse().expect("never fails"),
                    "x-plan=g\u{f6}ld*".parse().expect("never fails"),
                ],
                paths: vec!["/v1/*".parse().expect("never fails")],
                expires: Some(1_767_225_600),
                token: "5f3a9c01".into(),
            },
            candidate_host: None,
            secondary_host: None,
        }
    }

    #[test]
    fn a_mirror_is_read_back_as_it_was_written() {
        let spec = full();
        let json = spec.to_json();
        assert_eq!(
            json,
            format!(
                r#"{{"mirror":{MIRROR},"selection":{{"millionths":50000,"sticky":"x-user","headers":["x-beta","x-plan=g\u00f6ld*"],"#
            ) + r#""paths":["/v1/*"],"expires":1767225600,"token":"5f3a9c01"}}"#
        );
        let sent = Sent::from_json(json.as_bytes()).expect("a good mirror");
        assert_eq!((sent.fingerprint, &sent.mirror), (spec.mirror.fingerprint(), &spec.mirror));
        assert_eq!(sent.selection, spec.selection);
    }

    #[test]
    fn mistakes_are_refused_with_path_and_reason() {
        let json = full().to_json();
        for (from, to, path) in [
            ("50000", "-1", "selection.millionths"),
            ("\"x-user\"", "7", "selection.sticky"),
            ("\"/v1/*\"", "1", "selection.paths[0]"),
            (",\"token\":\"5f3a9c01\"", "", "selection"),
            ("\"hosts\":[\"h\"]", "\"hosts\":[]", "hosts"),
            ("\"selection\"", "\"host\":\"h\",\"selection\"", "host"),
            ("5f3a9c01", "5f3a9c0", "token"),
        ] {
            let error = Sent::from_json(json.replace(from, to).as_bytes()).expect_err(from);
            assert_eq!(error.path, path, "{error}");
        }
    }

    #[test]
    fn a_module_is_told_of_its_mirrors_or_of_none() {
        let told = Sending { mirrors: vec![("a/b".into(), "{}".into()), ("a/c".into(), full().to_json())] };
        assert_eq!(Sending::from_json(told.to_json().to_string().as_bytes()), Ok(Some(told.clone())));
        let spaced = serde_json::to_string_pretty(&told.to_json()).expect("JSON");
        assert_eq!(Sending::from_json(spaced.as_bytes()), Ok(Some(told)));
        for none in ["", " ", "{}", r#"{"generation":7}"#, r#"{"mirrors":null}"#] {
            assert_eq!(Sending::from_json(none.as_bytes()), Ok(None), "{none}");
        }
        for (wrong, path) in [
            ("{", "."),
            (r#"{"mirrors":{}}"#, "."),
            (r#"{"version":2,"mirrors":{}}"#, "version"),
            (r#"{"version":1,"mirrors":[]}"#, "mirrors"),
            (r#"{"version":1,"mirrors":{"a/b":{}}}"#, "mirrors.a/b"),
        ] {
            assert_eq!(Sending::from_json(wrong.as_bytes()).expect_err(wrong).path, path);
        }
    }
}
