//! Where an Envoy's admin page is.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use http::Uri;

use super::AdminError;

/// Where an Envoy's admin page is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// At an address.
    Address(Address),
    /// In a pod.
    Pod {
        /// The pod's namespace.
        namespace: String,
        /// The pod's name.
        name: String,
    },
}

/// The address of an Envoy's admin page: `http://HOST:PORT`, or `HOST:PORT` alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    authority: String,
}

impl Place {
    /// What to call the Envoy there: its address without a scheme, or the pod's name.
    pub fn name(&self) -> &str {
        match self {
            Self::Address(address) => &address.authority,
            Self::Pod { name, .. } => name,
        }
    }

    /// What an HTTP request calls it.
    pub(super) fn host(&self) -> &str {
        match self {
            Self::Address(address) => &address.authority,
            Self::Pod { .. } => "localhost",
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Pod { namespace, name } => write!(f, "pod {namespace}/{name}"),
        }
    }
}

impl FromStr for Address {
    type Err = AdminError;

    fn from_str(text: &str) -> Result<Self, AdminError> {
        let refused = || AdminError::Address(text.to_owned());
        let uri: Uri = text.trim_end_matches('/').parse().map_err(|_| refused())?;
        let scheme_is_good = uri.scheme_str().is_none_or(|scheme| scheme == "http");
        let is_bare = matches!(uri.path(), "" | "/") && uri.query().is_none();
        match uri.authority() {
            Some(authority) if scheme_is_good && is_bare && authority.port().is_some() => {
                Ok(Self { authority: authority.to_string() })
            }
            _ => Err(refused()),
        }
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        Self { authority: address.to_string() }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}", self.authority)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (text, shown) in [
            ("http://127.0.0.1:15000", Some("http://127.0.0.1:15000")),
            ("http://127.0.0.1:15000/", Some("http://127.0.0.1:15000")),
            ("localhost:9901", Some("http://localhost:9901")),
            ("http://[::1]:9901", Some("http://[::1]:9901")),
            ("https://localhost:9901", None),
            ("http://localhost:9901/stats", None),
            ("localhost", None),
            ("", None),
        ] {
            assert_eq!(text.parse::<Address>().ok().map(|address| address.to_string()).as_deref(), shown, "{text}");
        }
    }
}
