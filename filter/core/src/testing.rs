//! The data cases of `testdata/cases/` and their reader, so that the same cases run natively, as WebAssembly and through
//! a real Envoy. `testdata/README.md` describes the format. Only behind the feature `testing`, never in the module.

use serde::Deserialize;

use crate::answer::{Answer, Overflow};
use crate::config::{Caps, Mirror, Rules, Sampling, Target, VERSION, safe_methods};
use crate::divergence::Kind;
use crate::headers::HeaderBlock;

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        /// Name and text of every file of cases; WebAssembly has no file system to find them in.
        pub const FILES: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../testdata/cases/", $name)))),*];
    };
}

files![
    "bodies.json",
    "cookies.json",
    "encodings.json",
    "grpc.json",
    "headers.json",
    "json-bodies.json",
    "json-rules.json",
    "json-values.json",
    "skips.json",
    "status.json",
    "trailers.json",
];

/// Two answers and what comparing them must find.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// A sentence that says what holds.
    pub name: String,
    /// The request's method.
    #[serde(default = "get")]
    pub method: String,
    /// The mirror's rules.
    #[serde(default)]
    pub rules: Rules,
    /// The mirror's caps.
    #[serde(default)]
    pub caps: Caps,
    /// The primary's answer.
    pub primary: Side,
    /// The shadow's answer; what it leaves out is as the primary's.
    #[serde(default)]
    pub shadow: Side,
    /// Whether a real server can give these answers over HTTP.
    #[serde(default = "yes")]
    pub wire: bool,
    /// What differs; nothing where absent.
    #[serde(default)]
    pub divergences: Vec<Expected>,
    /// Why the bodies are not compared, in the word of [`crate::outcome::Skip`].
    #[serde(default)]
    pub skipped: Option<String>,
}

fn get() -> String {
    "GET".to_owned()
}

fn yes() -> bool {
    true
}

/// One side's answer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Side {
    /// The status code; 200 where both sides leave it out.
    pub status: Option<u16>,
    /// Names and values in order.
    pub headers: Option<Vec<(String, String)>>,
    /// The body; empty where both sides leave it out.
    pub body: Option<Body>,
    /// Names and values in order.
    pub trailers: Option<Vec<(String, String)>>,
}

/// A body as it goes over the wire.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Body {
    /// Its text.
    Text(String),
    /// Its bytes in hex, spaces between them as one likes.
    Hex {
        /// The bytes.
        hex: String,
        /// The text that they hold in encoded form, for readers; a test checks it.
        #[serde(default)]
        of: Option<String>,
    },
    /// A text many times over.
    Repeated {
        /// The text.
        repeat: String,
        /// How often.
        times: usize,
    },
}

impl Body {
    /// The bytes. `None` where the hex is none.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        match self {
            Self::Text(text) => Some(text.clone().into_bytes()),
            Self::Repeated { repeat, times } => Some(repeat.repeat(*times).into_bytes()),
            Self::Hex { hex, .. } => {
                let digits: Vec<u8> = hex.bytes().filter(|byte| *byte != b' ').collect();
                let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
                digits.len().is_multiple_of(2).then(|| digits.chunks(2).map(byte).collect())?
            }
        }
    }
}

/// A divergence that must be found.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// Where, in the syntax of [`crate::place`].
    pub place: String,
    /// How.
    pub kind: Kind,
    /// What is shown of the primary's value, where the case is about that.
    #[serde(default)]
    pub primary: Option<String>,
    /// What is shown of the shadow's value, where the case is about that.
    #[serde(default)]
    pub shadow: Option<String>,
}

impl Case {
    /// The mirror that compares as the case says.
    pub fn mirror(&self) -> Mirror {
        Mirror {
            version: VERSION,
            name: "testdata/cases".to_owned(),
            candidate: Target { cluster: "candidate".to_owned(), knative: None },
            secondary: None,
            hosts: vec!["localhost".to_owned()],
            methods: safe_methods(),
            sampling: Sampling::Selector,
            split: false,
            rules: self.rules.clone(),
            caps: self.caps.clone(),
        }
    }

    /// The shadow's answer with what it takes over from the primary's.
    pub fn whole_shadow(&self) -> Side {
        let (shadow, primary) = (self.shadow.clone(), self.primary.clone());
        Side {
            status: shadow.status.or(primary.status),
            headers: shadow.headers.or(primary.headers),
            body: shadow.body.or(primary.body),
            trailers: shadow.trailers.or(primary.trailers),
        }
    }

    /// Both answers as the pair table hands them to the comparison: the primary's and the shadow's. `None` where a body
    /// cannot be read.
    pub fn answers(&self) -> Option<(Answer, Answer)> {
        Some((self.answer(&self.primary)?, self.answer(&self.whole_shadow())?))
    }

    fn answer(&self, side: &Side) -> Option<Answer> {
        let status = side.status.unwrap_or(200);
        let mut headers = vec![(":status".to_owned(), status.to_string())];
        headers.extend(side.headers.clone().unwrap_or_default());
        let body = side.body.as_ref().map_or(Some(Vec::new()), Body::bytes)?;
        let overflow = (body.len() > self.caps.body_bytes).then_some(Overflow::Cap);
        Some(Answer {
            status,
            headers: HeaderBlock::from_pairs(&headers),
            body: if overflow.is_some() { Vec::new() } else { body },
            overflow,
            trailers: HeaderBlock::from_pairs(&side.trailers.clone().unwrap_or_default()),
        })
    }
}

/// Reads one file of cases.
///
/// # Errors
/// Where it is not in the format.
pub fn read(text: &str) -> Result<Vec<Case>, serde_json::Error> {
    serde_json::from_str(text)
}
