//! What a user asked for when enabling a mirror. It is kept as JSON in an annotation of the mirror's objects: the only
//! state there is, from which `status`, `sync` and `disable` work.

use std::fmt;
use std::str::FromStr;

use clap::ValueEnum;
use kube::core::ObjectMeta;
use mirror_core::config::Rules;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

use crate::source::Way;
use crate::waypoint::Waypoint;

/// The annotation that holds an [`Intent`].
pub const ANNOTATION: &str = "kubectl-mirror/intent";

/// The version of the annotation's format.
pub const VERSION: u32 = 1;

/// A mirror's name: that of the Route that it mirrors. As text `<namespace>/<route>`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MirrorName {
    /// The Route's namespace.
    pub namespace: String,
    /// The Route's name; that of its Knative Service, where it has one.
    pub route: String,
}

impl MirrorName {
    /// The mirror of a Route.
    pub fn new(namespace: impl Into<String>, route: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), route: route.into() }
    }
}

impl fmt::Display for MirrorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.route)
    }
}

impl FromStr for MirrorName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_name = |part: &str| !part.is_empty() && !part.contains(|c: char| c == '/' || c.is_whitespace());
        match text.split_once('/') {
            Some((namespace, route)) if is_name(namespace) && is_name(route) => Ok(Self::new(namespace, route)),
            _ => Err(format!("`{text}` is not <namespace>/<route>")),
        }
    }
}

/// How a mirror is put into the gateways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
#[value(rename_all = "lowercase")]
pub enum Strategy {
    /// An EnvoyFilter merged into the live route: splits and rollouts go on by themselves.
    #[default]
    Overlay,
    /// A VirtualService ahead of Knative's, for rights in one namespace only; rebuilt when the Route changes.
    VirtualService,
    /// A WasmPlugin whose module copies by itself, for where EnvoyFilters are not allowed.
    WasmPlugin,
}

impl Strategy {
    /// How the module stands in gateways for it.
    pub const fn way(self) -> Way {
        match self {
            Self::Overlay | Self::VirtualService => Way::Observing,
            Self::WasmPlugin => Way::Sending,
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Overlay => "overlay",
            Self::VirtualService => "virtualservice",
            Self::WasmPlugin => "wasmplugin",
        })
    }
}

/// Which calls are mirrored: those of users outside, of the cluster itself, or both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Through {
    /// Calls from outside, by the Route's external host.
    #[default]
    External,
    /// Calls from inside the cluster, by the Route's cluster-local names.
    Local,
    /// All of them.
    Both,
}

/// Whom the copies are for, as the user named it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum To {
    /// A tag of the Route, or a revision.
    Name(String),
    /// Another Knative Service of the namespace.
    Service(String),
}

impl fmt::Display for To {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Service(name) => write!(f, "ksvc/{name}"),
        }
    }
}

impl FromStr for To {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, made): (_, fn(String) -> Self) = match text.split_once('/') {
            None => (text, Self::Name),
            Some(("ksvc" | "service" | "services" | "kservice" | "services.serving.knative.dev", name)) => {
                (name, Self::Service)
            }
            Some((kind, _)) => {
                return Err(format!("cannot mirror to a `{kind}`: expected a tag, a revision, or ksvc/NAME"));
            }
        };
        if name.is_empty() || name.contains(|c: char| c == '/' || c.is_whitespace()) {
            return Err(format!("`{text}` names nothing: expected a tag, a revision, or ksvc/NAME"));
        }
        Ok(made(name.to_owned()))
    }
}

impl Serialize for To {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for To {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// What a user asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Intent {
    /// Whom the copies are for.
    pub to: To,
    /// The share of requests that is copied, in millionths.
    pub millionths: u32,
    /// The methods that are copied.
    pub methods: Vec<String>,
    /// Whether the primary's version is sent a second copy, to learn what differs by itself.
    #[serde(default, skip_serializing_if = "is_false")]
    pub secondary: bool,
    /// What to ignore and how closely to compare.
    #[serde(default, skip_serializing_if = "Rules::is_empty")]
    pub rules: Rules,
    /// Which calls are mirrored.
    pub through: Through,
    /// How the mirror is put into the gateways.
    pub strategy: Strategy,
    /// The waypoint that it is put into instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waypoint: Option<Waypoint>,
    /// The header that decides who is in the sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sticky: Option<String>,
    /// Headers that a copied request must have: `NAME`, `NAME=VALUE` or `NAME=PREFIX*`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<String>,
    /// Paths, one of which a copied request must have: `/PATH` or `/PREFIX*`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// When the gateways stop copying, in seconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
    /// The tag that was added to the Knative Service for this mirror, to be taken away with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag_added: Option<String>,
}

fn is_false(truth: &bool) -> bool {
    !truth
}

/// Why an annotation says nothing to this plugin.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum IntentError {
    /// It is not there.
    #[error("it has no annotation {ANNOTATION}, so it was not written by `kubectl mirror enable`")]
    Missing,
    /// A newer plugin wrote it.
    #[error(
        "its annotation {ANNOTATION} is of version {0}, which is newer than this plugin (version {VERSION}): update kubectl-mirror"
    )]
    Newer(u64),
    /// It was changed by hand, or cut.
    #[error(
        "its annotation {ANNOTATION} cannot be read ({0}): run `kubectl mirror enable` again, or `kubectl mirror disable`"
    )]
    Unreadable(String),
}

/// An intent with the version of its format in front.
#[derive(Serialize)]
struct Versioned<'a> {
    version: u32,
    #[serde(flatten)]
    intent: &'a Intent,
}

impl Intent {
    /// The text for the annotation, one line of JSON.
    pub fn to_annotation(&self) -> String {
        // Nothing in these types can fail to be written.
        serde_json::to_string(&Versioned { version: VERSION, intent: self }).unwrap_or_default()
    }

    /// Reads the text of an annotation.
    ///
    /// # Errors
    /// Text that a newer plugin wrote, or that is damaged.
    pub fn from_annotation(text: &str) -> Result<Self, IntentError> {
        let unreadable = |error: serde_json::Error| IntentError::Unreadable(error.to_string());
        let mut fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text).map_err(unreadable)?;
        match fields.remove("version").as_ref().and_then(serde_json::Value::as_u64) {
            Some(version) if version == u64::from(VERSION) => {}
            Some(version) if version > u64::from(VERSION) => return Err(IntentError::Newer(version)),
            _ => return Err(IntentError::Unreadable("it does not say its version".to_owned())),
        }
        serde_json::from_value(serde_json::Value::Object(fields)).map_err(unreadable)
    }

    /// What was asked for when an object was written.
    ///
    /// # Errors
    /// An object without the annotation, and what [`Intent::from_annotation`] refuses.
    pub fn of(metadata: &ObjectMeta) -> Result<Self, IntentError> {
        let annotation = metadata.annotations.as_ref().and_then(|annotations| annotations.get(ANNOTATION));
        Self::from_annotation(annotation.ok_or(IntentError::Missing)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wish with all that a wish can have.
    fn full() -> Intent {
        Intent {
            to: To::Service("basket".into()),
            millionths: 1,
            methods: vec!["GET".into(), "POST".into()],
            secondary: true,
            rules: crate::rules::parse("rules.yaml", "ignore: [/at]\ntolerance: [{path: /p, relative: 0.1}]")
                .expect("rules"),
            through: Through::Both,
            strategy: Strategy::VirtualService,
            waypoint: Some("mesh/waypoint".parse().expect("a waypoint")),
            sticky: Some("x-user".into()),
            headers: vec!["x-plan=gold".into()],
            paths: vec!["/v1/*".into()],
            expires: Some(1_767_225_600),
            tag_added: Some("old".into()),
        }
    }

    #[test]
    fn an_annotation_has_all_that_was_asked_for() {
        let text = full().to_annotation();
        insta::assert_snapshot!(text);
        assert_eq!(Intent::from_annotation(&text), Ok(full()));
    }

    #[test]
    fn what_is_left_out_takes_its_default() {
        let text =
            r#"{"version":1,"to":"v2","millionths":50000,"methods":["GET"],"through":"local","strategy":"overlay"}"#;
        let intent = Intent::from_annotation(text).expect("the smallest");
        assert_eq!(intent.to_annotation(), text);
    }

    #[test]
    fn what_cannot_be_read_says_what_to_do() {
        let good = full().to_annotation();
        let with = |from: &str, to: &str| good.replace(from, to);
        let refused = [
            String::new(),
            good[..40].to_owned(),
            "[1]".to_owned(),
            with(r#""version":1,"#, ""),
            with(r#""version":1"#, r#""version":"1""#),
            with(r#""version":1"#, r#""version":0"#),
            with(r#""version":1"#, r#""version":2"#),
            with(r#""secondary""#, r#""thirdly""#),
            with("ksvc/basket", "pod/basket"),
            with("virtualservice", "magic"),
        ]
        .map(|text| Intent::from_annotation(&text).expect_err(&text).to_string());
        insta::assert_snapshot!(refused.join("\n"));
        assert_eq!(Intent::of(&ObjectMeta::default()), Err(IntentError::Missing));
    }

    #[test]
    fn names_and_targets_are_read_as_they_are_shown() {
        for text in ["default/hello", "a/b"] {
            assert_eq!(text.parse::<MirrorName>().expect("a name").to_string(), text);
        }
        for text in ["", "hello", "/", "a/", "/b", "a/b/c", "a /b"] {
            assert!(text.parse::<MirrorName>().is_err(), "{text:?}");
        }
        for (text, to) in [
            ("v2", To::Name("v2".into())),
            ("hello-00002", To::Name("hello-00002".into())),
            ("ksvc/other", To::Service("other".into())),
        ] {
            assert_eq!(text.parse(), Ok(to.clone()));
            assert_eq!(to.to_string(), text);
        }
        assert_eq!("service/other".parse(), Ok(To::Service("other".into())));
        for text in ["", "ksvc/", "ksvc/a/b", "pod/a", "a b", "/"] {
            assert!(text.parse::<To>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn options_are_named_as_users_type_them() {
        let names = |values: &[Strategy]| -> Vec<String> {
            values.iter().filter_map(|v| Some(v.to_possible_value()?.get_name().to_owned())).collect()
        };
        assert_eq!(names(Strategy::value_variants()), ["overlay", "virtualservice", "wasmplugin"]);
        for strategy in Strategy::value_variants() {
            let typed = names(&[*strategy]);
            assert_eq!(serde_json::to_value(strategy).expect("JSON"), typed[0]);
        }
    }
}
