//! Rules: what to ignore and how closely to compare. Written by users as YAML and carried to the module as JSON.

use serde::{Deserialize, Serialize};

use super::ConfigError;
use super::read::Value;
use crate::place::{Pattern, Segment};

/// All rules of a mirror.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rules {
    /// Places whose differences do not count, with all below them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<Pattern>,
    /// Headers that are compared although the default list ignores them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<Pattern>,
    /// Numbers that may differ a little.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tolerance: Vec<Tolerance>,
    /// Arrays whose order does not matter.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unordered: Vec<Unordered>,
    /// Objects (with all below them) in which the shadow may have fields that the primary lacks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subset: Vec<Pattern>,
    /// Places whose values are never shown, with all below them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redact: Vec<Pattern>,
    /// How paths are folded into endpoints, tried in order before the default folding.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<EndpointTemplate>,
}

/// How far numbers at a place may lie apart: either bound suffices. Only JSON numbers, not numbers in strings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerance {
    /// The place of the number.
    pub path: Pattern,
    /// |primary − shadow| ≤ this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absolute: Option<f64>,
    /// |primary − shadow| ≤ this × the larger magnitude of the two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative: Option<f64>,
}

/// An array whose order does not matter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unordered {
    /// The place of the array.
    pub path: Pattern,
    /// A JSON pointer inside an element: elements with equal values there belong together. Without it, equal elements do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Pattern>,
}

/// A path with placeholders, for example `/users/{id}/posts/{slug}`: `{NAME}` stands for any one segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EndpointTemplate(String);

impl EndpointTemplate {
    /// The text form.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether `path` (without query) has this template's shape.
    pub fn matches(&self, path: &str) -> bool {
        let mut segments = path.split('/');
        self.0.split('/').all(|part| match segments.next() {
            Some(segment) => part == segment || (part.starts_with('{') && !segment.is_empty()),
            None => false,
        }) && segments.next().is_none()
    }
}

impl TryFrom<String> for EndpointTemplate {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let placeholder = |part: &str| part.len() > 2 && part.starts_with('{') && part.ends_with('}');
        let good = |part: &str| placeholder(part) || !part.contains(['{', '}', '?', '#']);
        if text.starts_with('/') && text.split('/').all(good) {
            return Ok(Self(text));
        }
        Err(format!("`{text}` is not an endpoint's template: expected a path such as `/users/{{id}}/posts`"))
    }
}

impl From<EndpointTemplate> for String {
    fn from(template: EndpointTemplate) -> Self {
        template.0
    }
}

impl Tolerance {
    fn read(value: Value<'_>) -> Result<Self, ConfigError> {
        let mut fields = value.fields()?;
        let rule = Self {
            path: fields.need("path")?.parsed()?,
            absolute: fields.optional("absolute", Value::number)?,
            relative: fields.optional("relative", Value::number)?,
        };
        fields.finish()?;
        Ok(rule)
    }
}

impl Unordered {
    fn read(value: Value<'_>) -> Result<Self, ConfigError> {
        let mut fields = value.fields()?;
        let rule = Self { path: fields.need("path")?.parsed()?, key: fields.optional("key", Value::parsed)? };
        fields.finish()?;
        Ok(rule)
    }
}

impl Rules {
    pub(super) fn read(value: Value<'_>) -> Result<Self, ConfigError> {
        let mut fields = value.fields()?;
        let mut patterns =
            |name| fields.optional(name, |value| value.list(Value::parsed)).map(Option::unwrap_or_default);
        let rules = Self {
            ignore: patterns("ignore")?,
            include: patterns("include")?,
            subset: patterns("subset")?,
            redact: patterns("redact")?,
            tolerance: fields.optional("tolerance", |value| value.list(Tolerance::read))?.unwrap_or_default(),
            unordered: fields.optional("unordered", |value| value.list(Unordered::read))?.unwrap_or_default(),
            endpoints: fields.optional("endpoints", |value| value.list(Value::parsed))?.unwrap_or_default(),
        };
        fields.finish()?;
        Ok(rules)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Checks what types alone cannot say.
    ///
    /// # Errors
    /// The first rule that makes no sense, with its path, which begins with `rules`.
    pub fn check(&self) -> Result<(), ConfigError> {
        for (i, pattern) in self.include.iter().enumerate() {
            if !matches!(pattern, Pattern::Header(_) | Pattern::Trailer(_)) {
                let reason = format!("`{pattern}`: only headers and trailers are ignored by default (`header:NAME`)");
                return Err(ConfigError::new(format!("rules.include[{i}]"), reason));
            }
        }
        for (i, rule) in self.tolerance.iter().enumerate() {
            let at = format!("rules.tolerance[{i}]");
            if !matches!(rule.path, Pattern::Body(_)) {
                return Err(ConfigError::new(format!("{at}.path"), "a tolerance needs a JSON pointer"));
            }
            if rule.absolute.is_none() && rule.relative.is_none() {
                return Err(ConfigError::new(at, "`absolute` or `relative` is needed"));
            }
            for (name, bound) in [("absolute", rule.absolute), ("relative", rule.relative)] {
                if bound.is_some_and(|bound| !(bound.is_finite() && bound >= 0.0)) {
                    return Err(ConfigError::new(format!("{at}.{name}"), "must be a number that is not negative"));
                }
            }
        }
        for (i, rule) in self.unordered.iter().enumerate() {
            if !matches!(rule.path, Pattern::Body(_)) {
                let at = format!("rules.unordered[{i}].path");
                return Err(ConfigError::new(at, "an array's place is a JSON pointer, or `body`"));
            }
            let concrete = |key: &Pattern| match key {
                Pattern::Body(segments) => {
                    !segments.is_empty() && segments.iter().all(|segment| matches!(segment, Segment::Key(_)))
                }
                _ => false,
            };
            if rule.key.as_ref().is_some_and(|key| !concrete(key)) {
                let at = format!("rules.unordered[{i}].key");
                return Err(ConfigError::new(
                    at,
                    "must be a JSON pointer inside the element, without `*`, such as `/id`",
                ));
            }
        }
        for (i, pattern) in self.subset.iter().enumerate() {
            if !matches!(pattern, Pattern::Body(_)) {
                let at = format!("rules.subset[{i}]");
                return Err(ConfigError::new(at, "an object's place is a JSON pointer, or `body`"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_match_paths_segment_by_segment() {
        let template = |text: &str| EndpointTemplate::try_from(text.to_owned());
        let users = template("/users/{id}/posts").expect("a template");
        assert!(users.matches("/users/7/posts"));
        for path in ["/users/7", "/users/7/posts/1", "/users//posts", "/user/7/posts", ""] {
            assert!(!users.matches(path), "{path}");
        }
        for text in ["users", "/a/{}", "/a{b}", "/a?b", ""] {
            assert!(template(text).is_err(), "{text}");
        }
    }
}
