//! Envoy's admin page, wherever it is: at an address, or on a port of a pod behind an API server.
