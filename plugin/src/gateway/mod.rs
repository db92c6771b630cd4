//! One gateway.
