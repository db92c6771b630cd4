//! Why an admin page could not be read.

use std::time::Duration;

use thiserror::Error;

use super::Place;
use crate::cluster;

/// Why no page came. Says what, where, and what to do.
#[derive(Debug, Error)]
pub enum AdminError {
    /// The address is none.
    #[error(
        "`{0}` is no address of an Envoy's admin page: expected http://HOST:PORT, for example http://127.0.0.1:15000"
    )]
    Address(String),
    /// No connection, or it broke.
    #[error("cannot reach an Envoy's admin page at {place}: {reason}\n{}", advice(place))]
    Unreachable {
        /// Where.
        place: Place,
        /// What the system said.
        reason: String,
    },
    /// The API server does not connect us.
    #[error("cannot reach the Envoy in {place}: {error}")]
    Cluster {
        /// Where.
        place: Place,
        /// Why.
        error: cluster::Error,
    },
    /// No whole answer in time.
    #[error("{place}{page} did not answer within {}; is this Envoy's admin port?", humantime::format_duration(*after))]
    TimedOut {
        /// Where.
        place: Place,
        /// Which page.
        page: String,
        /// How long was waited.
        after: Duration,
    },
    /// Something answered that is not Envoy's admin page.
    #[error("{place}{page} is not the page of an Envoy's admin port: {reason}")]
    NotEnvoy {
        /// Where.
        place: Place,
        /// Which page.
        page: String,
        /// What was found instead.
        reason: String,
    },
}

fn advice(place: &Place) -> &'static str {
    match place {
        Place::Address(_) => {
            "Is Envoy running, and is this its admin port? For a gateway's pod: kubectl port-forward -n NAMESPACE POD 15000"
        }
        Place::Pod { .. } => "Is this pod an Istio gateway? Its Envoy's admin page is on port 15000",
    }
}
