//! Which mirrors a report is on.

use anyhow::bail;

use crate::intent::MirrorName;

/// Which mirrors a report is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// All.
    All,
    /// Those of a namespace.
    Namespace(String),
    /// Those of a route's name, in every namespace.
    Route(String),
    /// One, as `NAMESPACE/NAME`.
    One(String),
}

impl Selection {
    /// What a user means where there is no cluster that could say in which namespace: `name` is `NAMESPACE/NAME` or `NAME`.
    pub fn anywhere(namespace: Option<&str>, name: Option<&str>) -> Self {
        match (namespace, name) {
            (None, None) => Self::All,
            (Some(namespace), None) => Self::Namespace(namespace.to_owned()),
            (_, Some(name)) if name.contains('/') => Self::One(name.to_owned()),
            (Some(namespace), Some(name)) => Self::One(format!("{namespace}/{name}")),
            (None, Some(name)) => Self::Route(name.to_owned()),
        }
    }

    /// What a user means on a cluster, where what is said nowhere is said by the kubeconfig.
    pub fn on_cluster(namespace: &str, name: Option<&str>, all: bool) -> Self {
        match name {
            Some(name) => match name.parse::<MirrorName>() {
                Ok(name) => Self::One(name.to_string()),
                Err(_) => Self::One(MirrorName::new(namespace, name).to_string()),
            },
            None if all => Self::All,
            None => Self::Namespace(namespace.to_owned()),
        }
    }

    /// Whether a mirror is among them.
    pub fn holds(&self, mirror: &str) -> bool {
        let parts = mirror.split_once('/');
        match self {
            Self::All => true,
            Self::Namespace(namespace) => parts.is_some_and(|(of, _)| of == namespace),
            Self::Route(route) => mirror == route || parts.is_some_and(|(_, of)| of == route),
            Self::One(name) => mirror == name,
        }
    }

    /// What to call them, in one word: `shop/hello`, `*/hello`, `shop/*` or `*`.
    pub fn scope(&self) -> String {
        match self {
            Self::All => "*".to_owned(),
            Self::Namespace(namespace) => format!("{namespace}/*"),
            Self::Route(route) => format!("*/{route}"),
            Self::One(name) => name.clone(),
        }
    }

    /// The scopes that hold all of them.
    pub fn covering(&self) -> Vec<String> {
        let mut scopes = vec![self.scope(), Self::All.scope()];
        if let Self::One(name) = self
            && let Some((namespace, route)) = name.split_once('/')
        {
            scopes.push(Self::Namespace(namespace.to_owned()).scope());
            scopes.push(Self::Route(route.to_owned()).scope());
        }
        scopes.dedup();
        scopes
    }

    /// Whether there is something to report on among the mirrors that have counted anything. Where none has, the report says
    /// so itself.
    ///
    /// # Errors
    /// There are others only.
    pub fn check(&self, names: &[String]) -> anyhow::Result<()> {
        let meant = match self {
            Self::Route(name) | Self::One(name) => name,
            Self::All | Self::Namespace(_) => return Ok(()),
        };
        if names.is_empty() || names.iter().any(|name| self.holds(name)) {
            return Ok(());
        }
        bail!("no mirror `{meant}` has counted anything here; {}", nearest(names, meant));
    }
}

/// The mirrors whose names are most like `name`.
fn nearest(names: &[String], name: &str) -> String {
    let likeness = |mirror: &str| {
        let route = mirror.split_once('/').map_or(mirror, |(_, route)| route);
        strsim::jaro_winkler(mirror, name).max(strsim::jaro_winkler(route, name))
    };
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.sort_by(|a, b| likeness(b).total_cmp(&likeness(a)));
    let more = if names.len() > 5 { ", …" } else { "" };
    format!("there is {}{more}", names.get(..5).unwrap_or(&names).join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [&str; 4] = ["a/hello", "b/hello", "b/world", "plain"];

    #[test]
    fn names_and_namespaces_select_mirrors() {
        for (namespace, name, held, scopes) in [
            (None, None, &ALL[..], &["*"][..]),
            (Some("b"), None, &ALL[1..3], &["b/*", "*"]),
            (None, Some("hello"), &ALL[..2], &["*/hello", "*"]),
            (Some("b"), Some("hello"), &ALL[1..2], &["b/hello", "*", "b/*", "*/hello"]),
            (Some("b"), Some("a/hello"), &ALL[..1], &["a/hello", "*", "a/*", "*/hello"]),
            (None, Some("plain"), &ALL[3..], &["*/plain", "*"]),
        ] {
            let selection = Selection::anywhere(namespace, name);
            let found: Vec<_> = ALL.into_iter().filter(|mirror| selection.holds(mirror)).collect();
            assert_eq!(
                (found.as_slice(), selection.covering()),
                (held, scopes.iter().map(|s| (*s).to_owned()).collect())
            );
        }
        for (name, all, scope) in [
            (None, false, "b/*"),
            (None, true, "*"),
            (Some("hello"), false, "b/hello"),
            (Some("a/hello"), false, "a/hello"),
        ] {
            assert_eq!(Selection::on_cluster("b", name, all).scope(), scope);
        }
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_ones_most_like_it() {
        let names = ["a/zebra", "b/hello", "b/jello"].map(str::to_owned);
        let error = Selection::Route("helo".to_owned()).check(&names).expect_err("unknown").to_string();
        assert!(error.ends_with("there is b/hello, b/jello, a/zebra"), "{error}");
        Selection::Route("helo".to_owned()).check(&[]).expect("nothing to choose from");
    }
}
