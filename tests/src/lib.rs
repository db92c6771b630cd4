//! End-to-end tests against real programs.
