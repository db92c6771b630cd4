//! Which hosts an Envoy's live routes serve, whether they are mirrored or not.

/// A virtual host that sends requests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Served {
    /// The route configuration that has it.
    pub port: String,
    /// Its domains.
    pub domains: Vec<String>,
    /// How many of its routes do so.
    pub routes: usize,
}

impl Served {
    /// Whether it serves this host.
    pub fn serves(&self, host: &str) -> bool {
        serve(&self.domains, host)
    }
}

/// Whether a virtual host with these domains serves this host.
pub(super) fn serve<'a>(domains: impl IntoIterator<Item = &'a String>, host: &str) -> bool {
    domains.into_iter().any(|domain| {
        let domain = domain.split(':').next().unwrap_or_default();
        match domain.strip_prefix('*') {
            Some(suffix) => host.ends_with(suffix),
            None => domain.eq_ignore_ascii_case(host),
        }
    })
}
