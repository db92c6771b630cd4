//! End-to-end tests, one theme a file, each run with every Envoy under test.

mod harness;
