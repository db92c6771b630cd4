//! A configuration that a request header carries, as strategy `virtualservice` has it: an Istio VirtualService can name its
//! routes and set headers, but not their metadata. Anyone can send a header, so the header is believed only where the
//! route's own configuration vouches for it. This file owns what the plugin and the module must agree on for that.

/// The request header that carries the mirror's JSON. It is for the module, which takes it away.
pub const HEADER: &str = "x-mirror-config";

/// The most bytes of JSON that the module reads; Envoy takes no longer values in its configuration either.
pub const MOST_BYTES: usize = 16 * 1024;

/// What the name of a route that carries a mirror's configuration begins with; the mirror's name follows.
const ROUTE: &str = "kubectl-mirror:";

/// The name of the routes that carry the configuration of the mirror with this name.
pub fn route_name(mirror: &str) -> String {
    format!("{ROUTE}{mirror}")
}

/// Whether a route may speak for the mirror with this name. `route` is the route's name. `origin` is what Istio says that
/// it made the route from, for example `/apis/networking.istio.io/v1/namespaces/default/virtual-service/hello-mirror`: that
/// must be a VirtualService of the mirror's own namespace.
pub fn vouches(mirror: &str, route: &[u8], origin: &[u8]) -> bool {
    let Some((namespace, _)) = mirror.split_once('/') else { return false };
    let mut parts = origin.split(|byte| *byte == b'/');
    let mut next = || parts.next().unwrap_or_default();
    let head = [next(), next(), next()];
    let (_version, kind, owner, resource, name) = (next(), next(), next(), next(), next());
    head == [&b""[..], b"apis", b"networking.istio.io"]
        && (kind, resource) == (b"namespaces", b"virtual-service")
        && owner == namespace.as_bytes()
        && !name.is_empty()
        && parts.next().is_none()
        && route.strip_prefix(ROUTE.as_bytes()) == Some(mirror.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_route_of_its_own_namespace_speaks_for_a_mirror() {
        let name = "kubectl-mirror:default/hello";
        let origin = "/apis/networking.istio.io/v1/namespaces/default/virtual-service/any";
        assert_eq!(route_name("default/hello"), name);
        for (route, origin, right) in [
            (name, origin.to_owned(), true),
            (name, origin.replace("v1", "v1beta1"), true),
            ("kubectl-mirror:default/hello.match", origin.to_owned(), false),
            ("kubectl-mirror:default/other", origin.to_owned(), false),
            ("default/hello", origin.to_owned(), false),
            ("", origin.to_owned(), false),
            (name, origin.replace("default", "other"), false),
            (name, origin.replace("default", "other/virtual-service/namespaces/default"), false),
            (name, origin.replace("default", ""), false),
            (name, origin.replace("any", ""), false),
            (name, origin.replace("any", "any/more"), false),
            (name, origin.replace("virtual-service", "destination-rule"), false),
            (name, origin.replace("networking.istio.io", "networking.example.com"), false),
            (name, origin.replace("/apis", "apis"), false),
            (name, "/default".to_owned(), false),
            (name, String::new(), false),
        ] {
            assert_eq!(vouches("default/hello", route.as_bytes(), origin.as_bytes()), right, "{route} {origin}");
        }
        assert!(!vouches("default", b"kubectl-mirror:default", origin.as_bytes()));
    }
}
