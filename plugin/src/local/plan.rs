//! What a user asks of a local mirror, and the mirror that it makes.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use mirror_core::config::{Caps, Mirror, Rules, Sampling, Target, VERSION, safe_methods};

use crate::envoy::endpoint::Scheme;
use crate::envoy::static_config::{CANDIDATE, SECONDARY};
use crate::envoy::{Endpoint, HeaderMatch, MirrorSpec, PathMatch, Selection};

/// What a user asks for.
#[derive(Clone, Debug)]
pub struct Wish {
    /// The server that clients are answered by.
    pub primary: Endpoint,
    /// The server under test.
    pub candidate: Endpoint,
    /// The primary's version once more.
    pub secondary: Option<Endpoint>,
    /// The mirror's name.
    pub name: String,
    /// The share of requests that is copied, in millionths.
    pub millionths: u32,
    /// The methods that are copied.
    pub methods: Vec<String>,
    /// Headers that a copied request must have.
    pub headers: Vec<HeaderMatch>,
    /// Paths, one of which a copied request must have.
    pub paths: Vec<PathMatch>,
    /// The header that decides who is in the sample.
    pub sticky: Option<String>,
    /// How closely to compare.
    pub rules: Rules,
    /// The `Host` that all servers are sent; each one's own where `None`.
    pub host: Option<String>,
    /// Whether https servers are who they say is not checked.
    pub insecure: bool,
}

/// A local mirror, checked.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The mirror.
    pub spec: MirrorSpec,
    /// The server that clients are answered by.
    pub primary: Endpoint,
    /// The `Host` that it is sent.
    pub primary_host: String,
    /// The server under test.
    pub candidate: Endpoint,
    /// The primary's version once more.
    pub secondary: Option<Endpoint>,
    /// The file of certificate authorities by which https servers are verified; `None` verifies nothing.
    pub trust: Option<PathBuf>,
}

impl Plan {
    /// Makes the mirror that `wish` describes.
    ///
    /// # Errors
    /// Values that make no sense, by the name of the option that they came from.
    pub fn new(wish: Wish) -> Result<Self> {
        if wish.candidate == wish.primary {
            bail!("--candidate is --primary: give the new version's own address");
        }
        if wish.secondary.as_ref() == Some(&wish.candidate) {
            bail!("--secondary is --candidate: it must be the primary's version once more");
        }
        let target = |cluster: &str| Target { cluster: cluster.to_owned(), knative: None };
        let host_for = |endpoint: &Endpoint| wish.host.clone().unwrap_or_else(|| endpoint.authority());
        let mirror = Mirror {
            version: VERSION,
            name: wish.name,
            candidate: target(CANDIDATE),
            secondary: wish.secondary.as_ref().map(|_| target(SECONDARY)),
            hosts: vec!["*".to_owned()],
            methods: wish.methods,
            sampling: Sampling::Selector,
            split: false,
            rules: wish.rules,
            // The log is this run's own, and the report takes its examples from it.
            caps: Caps { examples_per_minute: 240, ..Caps::default() },
        };
        let selection = Selection {
            millionths: wish.millionths,
            sticky: wish.sticky.map(|name| name.to_ascii_lowercase()),
            headers: wish.headers,
            paths: wish.paths,
            ..Selection::everything()
        };
        let spec = MirrorSpec {
            mirror,
            selection,
            candidate_host: Some(host_for(&wish.candidate)),
            secondary_host: wish.secondary.as_ref().map(host_for),
        };
        spec.check().map_err(|error| anyhow::anyhow!("--{}: {}", option(&error.path), error.reason))?;
        let servers = [Some(&wish.primary), Some(&wish.candidate), wish.secondary.as_ref()];
        let needs_trust = servers.into_iter().flatten().any(|server| server.scheme == Scheme::Https);
        let trust = if needs_trust && !wish.insecure { Some(trust()?) } else { None };
        Ok(Self {
            spec,
            primary_host: host_for(&wish.primary),
            primary: wish.primary,
            candidate: wish.candidate,
            secondary: wish.secondary,
            trust,
        })
    }

    /// The methods that are copied although they may change something.
    pub fn unsafe_methods(&self) -> Vec<&str> {
        let safe = safe_methods();
        self.spec.mirror.methods.iter().filter(|method| !safe.contains(method)).map(String::as_str).collect()
    }
}

/// The option that a path into the mirror's configuration comes from.
fn option(path: &str) -> &str {
    match path.split(['[', '.']).next() {
        Some("headers") => "header",
        Some("paths") => "path",
        Some("millionths") => "percent",
        Some(other) => other,
        None => path,
    }
}

/// Where systems keep the certificate authorities that they trust.
const BUNDLES: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/usr/local/share/certs/ca-root-nss.crt",
];

fn trust() -> Result<PathBuf> {
    let given = std::env::var_os("SSL_CERT_FILE").map(PathBuf::from);
    given.into_iter().chain(BUNDLES.map(PathBuf::from)).find(|file| file.is_file()).context(
        "no certificate authorities found to verify https servers by: name their file in SSL_CERT_FILE, or give --insecure",
    )
}

/// Reads a percentage (`5`, `0.25`), more than 0 and at most 100, to four decimals, as millionths.
///
/// # Errors
/// Anything else.
pub fn parse_percent(text: &str) -> Result<u32, String> {
    const EXPECTED: &str = "expected more than 0 and at most 100, with up to four decimals";
    let number = text.strip_suffix('%').unwrap_or(text);
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || whole.len() > 3 || decimals.len() > 4 || !digits(whole) || !digits(decimals) {
        return Err(EXPECTED.to_owned());
    }
    let millionths: u32 = format!("{whole}{decimals:0<4}").parse().map_err(|_| EXPECTED.to_owned())?;
    if (1..=1_000_000).contains(&millionths) { Ok(millionths) } else { Err(EXPECTED.to_owned()) }
}

/// Reads a method's name in any case.
///
/// # Errors
/// None: what is no method is refused with the mirror.
pub fn parse_method(text: &str) -> Result<String, std::convert::Infallible> {
    Ok(text.trim().to_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish() -> Wish {
        Wish {
            primary: "http://127.0.0.1:1".parse().expect("a URL"),
            candidate: "http://v2.example.com:2".parse().expect("a URL"),
            secondary: None,
            name: "local/mirror".into(),
            millionths: 1_000_000,
            methods: safe_methods(),
            headers: Vec::new(),
            paths: Vec::new(),
            sticky: None,
            rules: Rules::default(),
            host: None,
            insecure: false,
        }
    }

    #[test]
    fn each_server_is_sent_its_own_host() {
        let plan = Plan::new(wish()).expect("a good wish");
        assert_eq!(plan.primary_host, "127.0.0.1:1");
        assert_eq!(plan.spec.candidate_host.as_deref(), Some("v2.example.com:2"));
        let plan = Plan::new(Wish { host: Some("shop.test".into()), ..wish() }).expect("a good wish");
        assert_eq!(plan.primary_host, "shop.test");
        assert_eq!(plan.spec.candidate_host.as_deref(), Some("shop.test"));
    }

    #[test]
    fn mistakes_name_their_option() {
        let url = |text: &str| text.parse::<Endpoint>().expect("a URL");
        for (bad, said) in [
            (Wish { candidate: url("http://127.0.0.1:1"), ..wish() }, "--candidate is --primary"),
            (Wish { secondary: Some(url("http://v2.example.com:2")), ..wish() }, "--secondary is --candidate"),
            (Wish { name: "x".into(), ..wish() }, "--name: `x` is not <namespace>/<route>"),
            (Wish { methods: vec!["G T".into()], ..wish() }, "--methods: `G T`"),
            (Wish { sticky: Some(":path".into()), ..wish() }, "--sticky: "),
            (Wish { paths: vec!["x".parse().expect("never fails")], ..wish() }, "--path: "),
            (Wish { headers: vec!["a b".parse().expect("never fails")], ..wish() }, "--header: "),
        ] {
            let error = Plan::new(bad).expect_err(said).to_string();
            assert!(error.starts_with(said), "{error}");
        }
    }

    #[test]
    fn unsafe_methods_are_told() {
        let methods = ["GET", "POST", "DELETE"].map(str::to_owned).to_vec();
        let plan = Plan::new(Wish { methods, ..wish() }).expect("a good wish");
        assert_eq!(plan.unsafe_methods(), ["POST", "DELETE"]);
    }

    #[test]
    fn percentages_become_millionths() {
        for (text, millionths) in
            [("100", 1_000_000), ("5", 50_000), ("5%", 50_000), ("0.25", 2500), ("0.0001", 1), ("100.0000", 1_000_000)]
        {
            assert_eq!(parse_percent(text), Ok(millionths), "{text}");
        }
        for text in ["0", "0.0", "100.0001", "101", "-1", "", "x", "1e2", "0.00001", ".5", "%"] {
            assert!(parse_percent(text).is_err(), "{text}");
        }
    }
}
