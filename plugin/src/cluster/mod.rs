//! Access to a Kubernetes API server and to the gateways' pods behind it.
//!
//! `connection.rs` finds the server as kubectl does, and gives a [`Cluster`]; `read.rs`, `apply.rs`, `rights.rs`,
//! `pods.rs`, `logs.rs` and `forward.rs` are what can be asked of it. Whatever fails says so by `error.rs`, in kubectl's words.

pub mod apply;
mod asked;
pub mod connection;
pub mod error;
pub mod forward;
pub mod logs;
pub mod pods;
pub mod read;
pub mod rights;
#[cfg(test)]
pub mod testing;
mod verbose;

use std::time::Duration;

use kube::Client;
use tokio::time::timeout;

pub use apply::{Applied, ApplyOptions, Change, Precondition};
pub use asked::{Asked, Verb};
pub use connection::Connection;
pub use error::{Conflict, Error, Forbidden};
pub use logs::{LogLines, LogRange};
pub use pods::Pod;
pub use read::Scope;
pub use rights::Right;

/// The name under which the server keeps the fields that this program wrote.
pub const FIELD_MANAGER: &str = "kubectl-mirror";

/// A cluster that can be asked.
#[derive(Clone)]
pub struct Cluster {
    /// Kubernetes' own client, for what is not offered here.
    pub client: Client,
    /// The namespace that is meant where none is said.
    pub namespace: String,
    /// The server's URL, for messages.
    pub server: String,
    /// The longest that one request may take; as long as it takes where `None`.
    pub request_timeout: Option<Duration>,
}

impl Cluster {
    /// A cluster behind a client that is there already.
    pub fn new(client: Client, namespace: impl Into<String>) -> Self {
        Self { client, namespace: namespace.into(), server: String::new(), request_timeout: None }
    }

    /// The API server's version, for example `v1.34.4`.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn version(&self) -> Result<String, Error> {
        let asked = Asked {
            verb: Verb::Get,
            group: String::new(),
            version: String::new(),
            kind: "version".to_owned(),
            plural: "version".to_owned(),
            subresource: None,
            namespace: None,
            name: None,
        };
        Ok(self.ask(asked, self.client.apiserver_version()).await?.git_version)
    }

    /// Waits for the answer to one request, at most as long as it may take, and turns what went wrong into an [`Error`].
    async fn ask<T>(&self, asked: Asked<'_>, answer: impl Future<Output = kube::Result<T>>) -> Result<T, Error> {
        let answer = match self.request_timeout {
            Some(longest) => timeout(longest, answer)
                .await
                .map_err(|_| Error::TimedOut { server: self.server.clone(), after: longest })?,
            None => answer.await,
        };
        answer.map_err(|error| Error::from_kube(error, asked, &self.server))
    }
}
