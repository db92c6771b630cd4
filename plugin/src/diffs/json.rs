//! Examples for programs. The fields of a published schema stay; new ones may come.
//!
//! `kubectl-mirror.diffs/v1`, one document:
//!
//! | field | is |
//! |---|---|
//! | `schema` | `kubectl-mirror.diffs/v1` |
//! | `missing[]` | what could not be read: `gateway` (`<namespace>/<pod>`) and `reason` |
//! | `examples[]` | as follows, the newest last |
//! | `.time` | when it was found: RFC 3339, UTC, with milliseconds |
//! | `.gateway` | the pod that found it, `<namespace>/<name>`; null where it was read from a file |
//! | `.mirror` | `<namespace>/<name>` |
//! | `.pair` | the pair's id; what differs in one pair has the same |
//! | `.endpoint` | `GET /users/{id}` |
//! | `.place` | where: a JSON pointer, `body`, `status`, `header:NAME`, `trailer:NAME` or `cookie:NAME` |
//! | `.kind` | how: `missing`, `added`, `type`, `value` or `order` |
//! | `.primary`, `.candidate` | what each side has there, as text: cut, redacted, JSON where the body is; null for nothing |
//! | `.statuses` | `primary` and `candidate`, or null where one did not answer |
//! | `.latencies_us` | `primary` and `candidate`, microseconds to the end of the answer, or null where one is not known |
//!
//! With `--follow` each example is a document of its own, with `schema` and the fields of `examples[]`: as JSON on a line of
//! its own, as YAML after `---`.

use mirror_core::divergence::Kind;
use serde::Serialize;

use super::Example;

/// The schema's name and version.
const SCHEMA: &str = "kubectl-mirror.diffs/v1";

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

/// A pod whose log could not be read, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// `<namespace>/<name>`
    pub gateway: String,
    /// In words.
    pub reason: String,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    missing: &'a [Missing],
    examples: Vec<Item<'a>>,
}

/// A document with one example.
#[derive(Serialize)]
struct Followed<'a> {
    schema: &'static str,
    #[serde(flatten)]
    item: Item<'a>,
}

#[derive(Serialize)]
struct Item<'a> {
    time: &'a str,
    gateway: Option<&'a str>,
    mirror: &'a str,
    pair: &'a str,
    endpoint: &'a str,
    place: &'a str,
    kind: Kind,
    primary: Option<&'a str>,
    candidate: Option<&'a str>,
    statuses: Option<Both<u16>>,
    latencies_us: Option<Both<u64>>,
}

#[derive(Serialize)]
struct Both<T> {
    primary: T,
    candidate: T,
}

/// All examples as one document, with a newline at its end.
///
/// # Errors
/// None that these types could cause.
pub fn render(examples: &[Example], missing: &[Missing], format: Format) -> anyhow::Result<String> {
    let document = Document { schema: SCHEMA, missing, examples: examples.iter().map(Item::from).collect() };
    Ok(match format {
        Format::Json => serde_json::to_string_pretty(&document)? + "\n",
        Format::Yaml => serde_saphyr::to_string(&document)?,
    })
}

/// One example as a document of its own.
///
/// # Errors
/// As [`render`].
pub fn render_one(example: &Example, format: Format) -> anyhow::Result<String> {
    let document = Followed { schema: SCHEMA, item: Item::from(example) };
    Ok(match format {
        Format::Json => serde_json::to_string(&document)? + "\n",
        Format::Yaml => format!("---\n{}", serde_saphyr::to_string(&document)?),
    })
}

impl<'a> From<&'a Example> for Item<'a> {
    fn from(example: &'a Example) -> Self {
        let line = &example.line;
        Self {
            time: &line.time,
            gateway: example.gateway.as_deref(),
            mirror: &line.mirror,
            pair: &line.pair,
            endpoint: &line.endpoint,
            place: line.place.as_str(),
            kind: line.kind,
            primary: line.primary.as_deref(),
            candidate: line.candidate.as_deref(),
            statuses: line.statuses.map(|(primary, candidate)| Both { primary, candidate }),
            latencies_us: line.latencies_us.map(|(primary, candidate)| Both { primary, candidate }),
        }
    }
}

#[cfg(test)]
mod tests {
    use mirror_core::example::Line;
    use serde_json::Value;

    use super::super::testing::{example, line};
    use super::*;

    #[test]
    fn a_document_of_each_kind() {
        let cut = Line { statuses: None, latencies_us: None, candidate: None, ..line("/a: b", "\"x\n# y\"", "") };
        let examples = [example("/price", "19.99", "20"), Example { gateway: None, line: cut }];
        let missing = [Missing { gateway: "istio-system/gw-1".into(), reason: "not there".into() }];
        let json = render(&examples, &missing, Format::Json).expect("JSON");
        let yaml = render(&examples, &missing, Format::Yaml).expect("YAML");
        let value: Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(serde_saphyr::from_str::<Value>(&yaml).expect("YAML"), value);
        insta::assert_snapshot!("document", json);

        let one = render_one(&examples[0], Format::Json).expect("JSON");
        assert_eq!(one.lines().count(), 1);
        let mut followed: Value = serde_json::from_str(&one).expect("JSON");
        assert_eq!(followed["schema"].take(), SCHEMA);
        let text = render_one(&examples[0], Format::Yaml).expect("YAML");
        let mut yaml = serde_saphyr::from_str::<Value>(&text).expect("YAML");
        yaml["schema"].take();
        assert_eq!(yaml, followed);
    }
}
