//! Which examples are wanted.

use std::str::FromStr;
use std::time::{Duration, SystemTime};

use mirror_core::divergence::Kind;
use mirror_core::example::Line;
use mirror_core::place::{Pattern, Place, Segment, name_matches};

/// What an example must be. Of several places, endpoints or kinds one suffices; where none is said, all are wanted.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Whose: all where `None`.
    pub mirrors: Option<Mirrors>,
    /// Where it differs, or above.
    pub places: Vec<Pattern>,
    /// What was asked for.
    pub endpoints: Vec<Endpoint>,
    /// How it differs.
    pub kinds: Vec<Kind>,
    /// When it was found at the earliest.
    pub since: Option<SystemTime>,
}

/// Which mirrors' examples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mirrors {
    /// This one's, `<namespace>/<name>`.
    One(String),
    /// Those of all mirrors of this name, in whichever namespace.
    Route(String),
    /// Those of a namespace.
    Namespace(String),
}

/// An endpoint, with its method or without; a `*` at the end stands for any ending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint(String);

/// A moment: how long ago, or when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Since(pub SystemTime);

impl Filter {
    /// Whether this is one.
    pub fn wants(&self, line: &Line) -> bool {
        self.mirrors.as_ref().is_none_or(|mirrors| mirrors.have(&line.mirror))
            && any(&self.places, |pattern| covers(pattern, &line.place))
            && any(&self.endpoints, |endpoint| endpoint.is(&line.endpoint))
            && any(&self.kinds, |kind| *kind == line.kind)
            // Times are all of one form, so that they compare as text.
            && self.since.is_none_or(|since| line.time >= humantime::format_rfc3339_millis(since).to_string())
    }
}

fn any<T>(wanted: &[T], is: impl Fn(&T) -> bool) -> bool {
    wanted.is_empty() || wanted.iter().any(is)
}

impl Mirrors {
    fn have(&self, mirror: &str) -> bool {
        match self {
            Self::One(name) => mirror == name,
            Self::Route(route) => mirror.split_once('/').is_some_and(|(_, name)| name == route),
            Self::Namespace(namespace) => mirror.split_once('/').is_some_and(|(of, _)| of == namespace),
        }
    }
}

impl Endpoint {
    fn is(&self, endpoint: &str) -> bool {
        let path = endpoint.split_once(' ').map_or(endpoint, |(_, path)| path);
        [endpoint, path].iter().any(|text| name_matches(&self.0, text))
    }
}

impl FromStr for Endpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let path = text.split_once(' ').map_or(text, |(_, path)| path);
        if path.starts_with('/') || path == "*" {
            return Ok(Self(text.to_owned()));
        }
        Err(format!("`{text}` is no endpoint: expected `/users/{{id}}`, `GET /users/{{id}}` or `GET /users/*`"))
    }
}

impl FromStr for Since {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let ago = |time: Duration| SystemTime::now().checked_sub(time);
        let moment = humantime::parse_duration(text).ok().and_then(ago);
        let moment = moment.or_else(|| humantime::parse_rfc3339_weak(text).ok());
        moment
            .map(Self)
            .ok_or_else(|| format!("`{text}` is no time: expected `10m` (ago) or `2026-11-30T17:30:00Z` (in UTC)"))
    }
}

/// Whether a pattern names this place, or one above it. A number in it stands for any index, as places do not say which.
pub fn covers(pattern: &Pattern, place: &Place) -> bool {
    // Places are written in the patterns' syntax.
    let Ok(place) = place.as_str().parse::<Pattern>() else { return false };
    match (pattern, &place) {
        (Pattern::Status, Pattern::Status) => true,
        (Pattern::Header(wanted), Pattern::Header(name))
        | (Pattern::Trailer(wanted), Pattern::Trailer(name))
        | (Pattern::Cookie(wanted), Pattern::Cookie(name)) => name_matches(wanted, name),
        (Pattern::Body(wanted), Pattern::Body(path)) => {
            wanted.len() <= path.len() && wanted.iter().zip(path).all(|(wanted, step)| is_step(wanted, step))
        }
        _ => false,
    }
}

fn is_step(wanted: &Segment, step: &Segment) -> bool {
    match (wanted, step) {
        (Segment::Any, _) => true,
        (Segment::Key(wanted), Segment::Key(key)) => wanted == key,
        (Segment::Key(wanted), Segment::Any) => !wanted.is_empty() && wanted.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::line;
    use super::*;

    #[test]
    fn a_pattern_names_its_place_and_all_below() {
        for (pattern, place, is) in [
            ("/items", "/items/*/price", true),
            ("/items/*/price", "/items/*/price", true),
            ("/items/0", "/items/*/price", true),
            ("/items/x", "/items/*/price", false),
            ("/items/*/price", "/items", false),
            ("/item", "/items", false),
            ("body", "/a", true),
            ("body", "body", true),
            ("body", "status", false),
            ("status", "status", true),
            ("header:x-*", "header:x-build", true),
            ("header:x-build", "trailer:x-build", false),
            ("/a~1b", "/a~1b", true),
        ] {
            let pattern = pattern.parse().expect("a pattern");
            assert_eq!(covers(&pattern, &Place::from(place.to_owned())), is, "{pattern} {place}");
        }
    }

    #[test]
    fn all_that_is_asked_for_must_hold() {
        let at = |text: &str| text.parse::<Since>().expect("a time").0;
        let all = Filter {
            mirrors: Some(Mirrors::One("shop/cart".into())),
            places: vec!["/b".parse().expect("a pattern"), "/a".parse().expect("a pattern")],
            endpoints: vec!["/carts/*".parse().expect("an endpoint")],
            kinds: vec![Kind::Value, Kind::Type],
            since: Some(at("2026-11-30T17:42:10.143Z")),
        };
        let wanted = line("/a", "1", "2");
        assert!(all.wants(&wanted) && Filter::default().wants(&wanted));
        for other in [
            Filter { mirrors: Some(Mirrors::Route("car".into())), ..all.clone() },
            Filter { mirrors: Some(Mirrors::Namespace("cart".into())), ..all.clone() },
            Filter { places: vec!["/c".parse().expect("a pattern")], ..all.clone() },
            Filter { endpoints: vec!["POST /carts/{id}".parse().expect("an endpoint")], ..all.clone() },
            Filter { kinds: vec![Kind::Order], ..all.clone() },
            Filter { since: Some(at("2026-11-30 17:42:10.144")), ..all.clone() },
        ] {
            assert!(!other.wants(&wanted), "{other:?}");
        }
        for mirrors in [Mirrors::Route("cart".into()), Mirrors::Namespace("shop".into())] {
            assert!(Filter { mirrors: Some(mirrors), ..all.clone() }.wants(&wanted));
        }
    }

    #[test]
    fn what_names_nothing_is_refused() {
        for text in ["", "users", "GET users"] {
            assert!(text.parse::<Endpoint>().is_err(), "{text}");
        }
        for text in ["", "yesterday", "2026-13-01T00:00:00Z"] {
            assert!(text.parse::<Since>().is_err(), "{text}");
        }
    }
}
