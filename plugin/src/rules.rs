//! Rules files: YAML that says what to ignore and how closely to compare. A mistake is shown where it stands:
//!
//! ```text
//! rules.yaml:7:5: tolerance[0]: `absolute` or `relative` is needed
//!   7 |   - path: /price
//!     |     ^
//! ```

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use mirror_core::config::Rules;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{MessageFormatter, Spanned, UserMessageFormatter};
use thiserror::Error;

/// Why there are no rules.
#[derive(Debug, Error)]
pub enum RulesError {
    /// The file cannot be read.
    #[error("cannot read the rules file {}: {source}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file holds a mistake.
    #[error("{0}")]
    Mistake(Mistake),
}

/// A mistake in a rules file. Shown with the line it stands in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    file: String,
    /// Line, column (both from 1) and the line's text; `None` where it is no place's in particular.
    at: Option<(usize, usize, String)>,
    /// Which rule, for example `tolerance[0].path`; empty for the file as a whole.
    path: String,
    reason: String,
}

/// Reads a rules file.
///
/// # Errors
/// A file that cannot be read, text that is not YAML, and rules that are not known or make no sense.
pub fn read(file: &Path) -> Result<Rules, RulesError> {
    let text = fs::read_to_string(file).map_err(|source| RulesError::Read { file: file.to_owned(), source })?;
    parse(&file.display().to_string(), &text).map_err(RulesError::Mistake)
}

/// Reads the text of a rules file. Nothing but comments is no rules.
///
/// # Errors
/// The first mistake.
pub fn parse(file: &str, text: &str) -> Result<Rules, Mistake> {
    let mut path = String::new();
    let read = serde_saphyr::with_deserializer_from_str(text, |reader| {
        serde_path_to_error::deserialize::<_, Option<Rules>>(reader).map_err(|error| {
            path = error.path().to_string();
            error.into_inner()
        })
    });
    let mistake = |line_and_column, path: &str, reason: String| {
        let at = |(line, column): (usize, usize)| {
            let shown = text.lines().nth(line.checked_sub(1)?)?;
            Some((line, column, shown.to_owned()))
        };
        // `.` and `?` stand for the whole document.
        let path = path.trim_matches(['.', '?']).to_owned();
        Mistake { file: file.to_owned(), at: Option::and_then(line_and_column, at), path, reason }
    };
    let rules = read.map_err(|error| {
        let error = error.without_snippet();
        let at = error.location().map(|location| (as_index(location.line()), as_index(location.column())));
        mistake(at, &path, plainly(&UserMessageFormatter.format_message(error)))
    })?;
    let rules = rules.unwrap_or_default();
    rules.check().map_err(|error| {
        // The file is what the configuration knows as `rules`.
        let path = error.path.trim_start_matches("rules").trim_start_matches('.');
        mistake(place_of(text, path), path, error.reason)
    })?;
    Ok(rules)
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some((line, column, _)) = &self.at {
            write!(f, ":{line}:{column}")?;
        }
        if !self.path.is_empty() {
            write!(f, ": {}", self.path)?;
        }
        write!(f, ": {}", self.reason)?;
        if let Some((line, column, text)) = &self.at {
            let number = line.to_string();
            // Tabs before the caret keep it below its column, however wide they are.
            let indent: String = text.chars().take(column - 1).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
            write!(f, "\n  {number} | {text}\n  {:width$} | {indent}^", "", width = number.len())?;
        }
        Ok(())
    }
}

impl std::error::Error for Mistake {}

/// Line and column of the value at `path` (`tolerance[0].path`), or of the nearest value around it.
fn place_of(text: &str, path: &str) -> Option<(usize, usize)> {
    let tree: Spanned<Tree> = serde_saphyr::from_str(text).ok()?;
    let mut node = &tree;
    for step in path.split(['.', '[']).filter(|step| !step.is_empty()) {
        let next = match &node.value {
            Tree::Map(entries) => entries.iter().find(|(key, _)| key == step).map(|(_, value)| value),
            Tree::Sequence(items) => step.trim_end_matches(']').parse().ok().and_then(|i: usize| items.get(i)),
            Tree::Scalar => None,
        };
        let Some(next) = next else { break };
        node = next;
    }
    Some((as_index(node.referenced.line()), as_index(node.referenced.column())))
}

/// The YAML reader's reason in words for someone who has never seen its inside.
fn plainly(reason: &str) -> String {
    match reason {
        "expected mapping start" => "expected fields, such as `path: /price`",
        "expected sequence start" => "expected a list: each entry on a line of its own, after `- `",
        "invalid floating point" => "expected a number",
        other => other,
    }
    .to_owned()
}

fn as_index(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

/// The shape of a document, for finding places in it.
enum Tree {
    Map(Vec<(String, Spanned<Tree>)>),
    Sequence(Vec<Spanned<Tree>>),
    Scalar,
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Shape;

        impl<'de> Visitor<'de> for Shape {
            type Value = Tree;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Tree::Map(entries))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Tree, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = sequence.next_element()? {
                    items.push(item);
                }
                Ok(Tree::Sequence(items))
            }

            fn visit_str<E>(self, _: &str) -> Result<Tree, E> {
                Ok(Tree::Scalar)
            }

            fn visit_bool<E>(self, _: bool) -> Result<Tree, E> {
                Ok(Tree::Scalar)
            }

            fn visit_i64<E>(self, _: i64) -> Result<Tree, E> {
                Ok(Tree::Scalar)
            }

            fn visit_u64<E>(self, _: u64) -> Result<Tree, E> {
                Ok(Tree::Scalar)
            }

            fn visit_f64<E>(self, _: f64) -> Result<Tree, E> {
                Ok(Tree::Scalar)
            }

            fn visit_unit<E>(self) -> Result<Tree, E> {
                Ok(Tree::Scalar)
            }
        }

        deserializer.deserialize_any(Shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read() {
        let text = "# comment\nignore:\n  - /at\n  - header:x-build\ntolerance:\n  - {path: /price, relative: 0.01}\n\
                    unordered:\n  - path: /tags\n  - path: /items\n    key: /id\nendpoints: [\"/users/{id}\"]\n";
        let rules = parse("rules.yaml", text).expect("good rules");
        assert_eq!((rules.ignore.len(), rules.tolerance.len(), rules.unordered.len()), (2, 1, 2));
        assert_eq!(rules.tolerance[0].relative, Some(0.01));
    }

    #[test]
    fn nothing_is_no_rules() {
        for text in ["", "# only a comment\n", "---\n", "{}\n", "ignore: []\n"] {
            assert_eq!(parse("rules.yaml", text), Ok(Rules::default()), "{text:?}");
        }
    }

    #[test]
    fn mistakes_are_shown_where_they_stand() {
        let cases = [
            "ignore:\n  - /at\nignored:\n  - /b\n",
            "ignore:\n  - items/price\n",
            "tolerance:\n  - path: /price\n    absolute: 1\n  - path: /tax\n",
            "tolerance:\n  - path: /price\n    absolute: much\n",
            "tolerance:\n  - path: header:x\n    absolute: 1\n",
            "tolerance:\n  - path: /a\n    absolute: -1\n",
            "unordered:\n  - path: /a\n    key: /*/id\n",
            "unordered:\n  - /a\n",
            "include:\n  - header:date\n  - /date\n",
            "endpoints: [users]\n",
            "ignore: /at\n",
            "ignore:\n  - /at\nignore:\n  - /b\n",
            "ignore:\n- [\n",
            "- ignore\n",
            "ignore:\n\t- /a\n",
            "ignore: [/a]\n---\nignore: [/b]\n",
        ];
        let shown: Vec<_> = cases.iter().map(|text| parse("rules.yaml", text).expect_err(text).to_string()).collect();
        insta::assert_snapshot!(shown.join("\n\n"));
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = read(Path::new("/nowhere/rules.yaml")).expect_err("no such file").to_string();
        assert!(error.starts_with("cannot read the rules file /nowhere/rules.yaml: "), "{error}");
    }
}
