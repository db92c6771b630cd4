//! End-to-end tests, one theme a file, each run with every Envoy under test.

mod carried;
mod data;
mod demo;
mod diffs;
mod faults;
mod forged;
mod harness;
mod latency;
mod live;
mod local;
mod names;
mod outcomes;
mod pairing;
mod protocols;
mod secondary;
mod secrets;
mod selection;
mod sending;
mod untagged;
