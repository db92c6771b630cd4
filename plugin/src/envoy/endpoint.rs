//! A server that a user names by URL.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use http::Uri;

/// A server: how to speak to it and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// How to speak to it.
    pub scheme: Scheme,
    /// Its name or address, without brackets.
    pub host: String,
    /// Its port.
    pub port: u16,
}

/// How to speak to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// HTTP/1.1 in plain text.
    Http,
    /// TLS, and HTTP/2 or HTTP/1.1 as the server likes.
    Https,
    /// HTTP/2 in plain text, without asking first.
    H2c,
}

impl Scheme {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
            Self::H2c => "h2c",
        }
    }

    const fn default_port(self) -> u16 {
        match self {
            Self::Http | Self::H2c => 80,
            Self::Https => 443,
        }
    }
}

impl Endpoint {
    /// What a request to it says as `Host`: the port is left out where it is the scheme's own.
    pub fn authority(&self) -> String {
        let host = match self.host.parse::<Ipv6Addr>() {
            Ok(address) => format!("[{address}]"),
            Err(_) => self.host.clone(),
        };
        if self.port == self.scheme.default_port() { host } else { format!("{host}:{}", self.port) }
    }

    /// Its address, where it is not a name.
    pub fn ip(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme.as_str(), self.authority())
    }
}

/// Why a text is no [`Endpoint`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}`: {reason}")]
pub struct EndpointError {
    text: String,
    reason: &'static str,
}

impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        const PORT: &str = "the port is not a number from 1 to 65535";
        let error = |reason| EndpointError { text: text.to_owned(), reason };
        const SHAPE: &str =
            "expected a URL such as http://127.0.0.1:8080 (or https://, or h2c:// for HTTP/2 in plain text)";
        if !text.contains("://") {
            return Err(error(SHAPE));
        }
        let uri: Uri = text.parse().map_err(|_| error(SHAPE))?;
        let scheme = match uri.scheme_str() {
            Some("http") => Scheme::Http,
            Some("https") => Scheme::Https,
            Some("h2c") => Scheme::H2c,
            _ => return Err(error(SHAPE)),
        };
        let authority = uri.authority().ok_or_else(|| error(SHAPE))?;
        if authority.as_str().contains('@') {
            return Err(error("a user's name and password are not sent; put them into the requests"));
        }
        if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
            return Err(error("a path is not supported: requests keep their own; give scheme, host and port only"));
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
        let port = match authority.as_str().strip_prefix(authority.host()).and_then(|rest| rest.strip_prefix(':')) {
            Some(port) => port.parse().map_err(|_| error(PORT))?,
            None => scheme.default_port(),
        };
        if port == 0 {
            return Err(error(PORT));
        }
        Ok(Self { scheme, host, port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read() {
        for (text, shown, authority, port) in [
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080", "127.0.0.1:8080", 8080),
            ("HTTP://Example.com/", "http://example.com", "example.com", 80),
            ("https://example.com", "https://example.com", "example.com", 443),
            ("https://example.com:443", "https://example.com", "example.com", 443),
            ("h2c://[::1]:50051", "h2c://[::1]:50051", "[::1]:50051", 50051),
        ] {
            let endpoint: Endpoint = text.parse().expect(text);
            assert_eq!((endpoint.to_string().as_str(), endpoint.port), (shown, port), "{text}");
            assert_eq!(endpoint.authority(), authority, "{text}");
        }
        assert!("h2c://[::1]:1".parse::<Endpoint>().expect("good").ip().is_some());
    }

    #[test]
    fn mistakes_are_refused_with_the_text_and_what_would_be_right() {
        for (text, said) in [
            ("127.0.0.1:8080", "expected a URL"),
            ("localhost", "expected a URL"),
            ("ftp://a", "expected a URL"),
            ("http://", "expected a URL"),
            ("http://a:0", "from 1 to 65535"),
            ("http://a:99999", "from 1 to 65535"),
            ("http://a/base", "path is not supported"),
            ("http://a/?x", "path is not supported"),
            ("http://u:p@a", "name and password"),
        ] {
            let error = text.parse::<Endpoint>().expect_err(text).to_string();
            assert!(error.contains(said) && error.contains(text), "{text}: {error}");
        }
    }
}
