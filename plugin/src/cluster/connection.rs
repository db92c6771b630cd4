//! Which cluster, as whom, and in which namespace: kubectl's own options, read as kubectl reads them.

use std::env;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use clap_complete::ArgValueCandidates;
use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use thiserror::Error;

use super::{Cluster, verbose};
use crate::completion;

/// Kubectl's options. Flattened into a command line, they may stand before or after a command.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Cluster options")]
pub struct Connection {
    /// The namespace; that of the kubeconfig's context where left out.
    #[arg(short, long, global = true, value_name = "NAME", add = ArgValueCandidates::new(completion::namespaces))]
    pub namespace: Option<String>,

    /// The kubeconfig's context to use.
    #[arg(long, global = true, value_name = "NAME", add = ArgValueCandidates::new(completion::contexts))]
    pub context: Option<String>,

    /// The kubeconfig; the files of $KUBECONFIG or else ~/.kube/config where left out.
    #[arg(long, global = true, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,

    /// The kubeconfig's cluster to use.
    #[arg(long, global = true, value_name = "NAME")]
    pub cluster: Option<String>,

    /// The kubeconfig's user to use.
    #[arg(long, global = true, value_name = "NAME")]
    pub user: Option<String>,

    /// The user to act as.
    #[arg(long = "as", global = true, value_name = "USER")]
    pub impersonate: Option<String>,

    /// A group to act as; may be given several times.
    #[arg(long = "as-group", global = true, value_name = "GROUP")]
    pub impersonate_groups: Vec<String>,

    /// The user id to act as.
    #[arg(long = "as-uid", global = true, value_name = "UID")]
    pub impersonate_uid: Option<String>,

    /// The longest that one request to the API server may take, for example 5s or 1m; 0 is no limit.
    #[arg(long, global = true, value_name = "TIME", value_parser = parse_timeout)]
    pub request_timeout: Option<Duration>,

    /// How much to tell of what goes on; 6 shows each request to the API server.
    #[arg(
        short = 'v',
        long = "v",
        global = true,
        value_name = "LEVEL",
        default_value_t = 0,
        hide_default_value = true
    )]
    pub verbosity: u8,
}

/// Why there is no cluster to ask.
#[derive(Debug, Error)]
pub enum ConnectionError {
    /// There is no kubeconfig.
    #[error(
        "there is no kubeconfig: {looked}\n\
         Pass one by --kubeconfig or $KUBECONFIG, as for kubectl; without a cluster see `kubectl mirror local`"
    )]
    NoKubeconfig {
        /// Where it was looked for.
        looked: String,
    },
    /// A kubeconfig cannot be read.
    #[error("cannot read the kubeconfig {}: {reason}", file.display())]
    Unreadable {
        /// Which.
        file: PathBuf,
        /// Why.
        reason: String,
    },
    /// The kubeconfig does not have what was asked for.
    #[error("{what} \"{name}\" does not exist in the kubeconfig; {}", there_are(names))]
    NoSuch {
        /// `context`, `cluster` or `user`.
        what: &'static str,
        /// What was asked for.
        name: String,
        /// What there is.
        names: Vec<String>,
    },
    /// Neither the kubeconfig nor the command line says which context.
    #[error("the kubeconfig has no current context; pass one by --context ({})", there_are(names))]
    NoContext {
        /// What there is.
        names: Vec<String>,
    },
    /// What it says makes no sense.
    #[error("cannot use the kubeconfig's {what}: {reason}")]
    Unusable {
        /// Which part.
        what: String,
        /// Why.
        reason: String,
    },
}

impl Connection {
    /// Reads the kubeconfig and makes a client. Nothing is sent yet: a server that is not there shows with the first request.
    ///
    /// # Errors
    /// See [`ConnectionError`].
    pub async fn connect(&self) -> Result<Cluster, ConnectionError> {
        #[cfg(test)]
        if let Some(server) = super::testing::connected() {
            return Ok(server.cluster(self.namespace.as_deref().unwrap_or("default")));
        }
        let mut config = self.config().await?;
        if self.impersonate.is_some() {
            config.auth_info.impersonate = self.impersonate.clone();
        }
        if !self.impersonate_groups.is_empty() {
            config.auth_info.impersonate_groups = Some(self.impersonate_groups.clone());
        }
        if self.impersonate_uid.is_some() {
            config.auth_info.impersonate_uid = self.impersonate_uid.clone();
        }
        let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
        let namespace = self.namespace.clone().unwrap_or_else(|| config.default_namespace.clone());
        let client = client(config, &server, self.verbosity).map_err(|error| ConnectionError::Unusable {
            what: format!("connection to {server}"),
            reason: super::error::innermost(&error),
        })?;
        let request_timeout = self.request_timeout.filter(|timeout| !timeout.is_zero());
        Ok(Cluster { client, namespace, server, request_timeout })
    }

    /// The names of the kubeconfig's contexts.
    ///
    /// # Errors
    /// See [`ConnectionError`].
    pub fn contexts(&self) -> Result<Vec<String>, ConnectionError> {
        Ok(match self.kubeconfig()? {
            Found::Files(kubeconfig) => kubeconfig.contexts.into_iter().map(|context| context.name).collect(),
            Found::Nothing(_) => Vec::new(),
        })
    }

    async fn config(&self) -> Result<Config, ConnectionError> {
        let kubeconfig = match self.kubeconfig()? {
            Found::Files(kubeconfig) => *kubeconfig,
            // As kubectl does in a pod.
            Found::Nothing(looked) => {
                return Config::incluster().map_err(|_| ConnectionError::NoKubeconfig { looked });
            }
        };
        self.check(&kubeconfig)?;
        let options =
            KubeConfigOptions { context: self.context.clone(), cluster: self.cluster.clone(), user: self.user.clone() };
        Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(|error| {
            let what = match error {
                KubeconfigError::MissingClusterUrl | KubeconfigError::ParseClusterUrl(_) => "cluster",
                KubeconfigError::ParseProxyUrl(_) => "proxy-url",
                KubeconfigError::LoadCertificateAuthority(_) | KubeconfigError::ParseCertificates(_) => {
                    "certificate-authority"
                }
                _ => "context",
            };
            ConnectionError::Unusable { what: what.to_owned(), reason: error.to_string() }
        })
    }

    /// The kubeconfig: one file where it was named, else all that exist of $KUBECONFIG's, else the one at home.
    fn kubeconfig(&self) -> Result<Found, ConnectionError> {
        if let Some(file) = &self.kubeconfig {
            return Ok(Found::Files(Box::new(read(file)?)));
        }
        let listed: Vec<PathBuf> = env::var_os("KUBECONFIG")
            .map(|list| env::split_paths(&list).filter(|path| !path.as_os_str().is_empty()).collect())
            .unwrap_or_default();
        if !listed.is_empty() {
            return merge(&listed);
        }
        match env::home_dir() {
            Some(home) => merge(&[home.join(".kube/config")]),
            None => Ok(Found::Nothing("$KUBECONFIG is not set, and there is no home directory".to_owned())),
        }
    }

    /// Whether the kubeconfig has the context, cluster and user that are to be used, so that a slip of the pen is said.
    fn check(&self, kubeconfig: &Kubeconfig) -> Result<(), ConnectionError> {
        let contexts: Vec<_> = kubeconfig.contexts.iter().map(|context| context.name.clone()).collect();
        let current = kubeconfig.current_context.as_ref().filter(|name| !name.is_empty());
        let Some(context) = self.context.as_ref().or(current) else {
            return Err(ConnectionError::NoContext { names: contexts });
        };
        exists("context", context, contexts)?;
        let clusters = kubeconfig.clusters.iter().map(|cluster| cluster.name.clone()).collect();
        self.cluster.as_ref().map_or(Ok(()), |cluster| exists("cluster", cluster, clusters))?;
        let users = kubeconfig.auth_infos.iter().map(|user| user.name.clone()).collect();
        self.user.as_ref().map_or(Ok(()), |user| exists("user", user, users))
    }
}

/// What was found of kubeconfigs.
enum Found {
    Files(Box<Kubeconfig>),
    /// None, and where was looked.
    Nothing(String),
}

fn client(config: Config, server: &str, verbosity: u8) -> kube::Result<Client> {
    let builder = ClientBuilder::try_from(config)?;
    if verbosity >= verbose::REQUESTS {
        Ok(builder.with_layer(&verbose::Show { server: server.to_owned() }).build())
    } else {
        Ok(builder.build())
    }
}

/// Files that are not there are left out, as kubectl does.
fn merge(files: &[PathBuf]) -> Result<Found, ConnectionError> {
    let mut merged: Option<Kubeconfig> = None;
    for file in files.iter().filter(|file| file.exists()) {
        let next = read(file)?;
        merged = Some(match merged {
            Some(before) => before.merge(next).map_err(|error| unreadable(file, error.to_string()))?,
            None => next,
        });
    }
    let looked = || {
        let files: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
        format!("{} does not exist", files.join(" or "))
    };
    Ok(merged.map_or_else(|| Found::Nothing(looked()), |kubeconfig| Found::Files(Box::new(kubeconfig))))
}

fn read(file: &Path) -> Result<Kubeconfig, ConnectionError> {
    Kubeconfig::read_from(file).map_err(|error| match error {
        KubeconfigError::ReadConfig(error, _) if error.kind() == ErrorKind::NotFound => {
            unreadable(file, "no such file".to_owned())
        }
        KubeconfigError::ReadConfig(error, _) => unreadable(file, error.to_string()),
        KubeconfigError::Parse(error) => unreadable(file, error.to_string()),
        error => unreadable(file, error.to_string()),
    })
}

fn unreadable(file: &Path, reason: String) -> ConnectionError {
    ConnectionError::Unreadable { file: file.to_owned(), reason }
}

fn exists(what: &'static str, name: &str, names: Vec<String>) -> Result<(), ConnectionError> {
    if names.iter().any(|there| there == name) {
        return Ok(());
    }
    Err(ConnectionError::NoSuch { what, name: name.to_owned(), names })
}

fn there_are(names: &[String]) -> String {
    if names.is_empty() { "there are none".to_owned() } else { format!("there are: {}", names.join(", ")) }
}

/// Kubectl's syntax: `0`, a number of seconds, or a number with a unit.
fn parse_timeout(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(seconds) => Ok(Duration::from_secs(seconds)),
        Err(_) => humantime::parse_duration(text).map_err(|error| error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;

    #[derive(Debug, Parser)]
    struct Program {
        #[command(flatten)]
        connection: Connection,
    }

    const KUBECONFIG: &str = "
apiVersion: v1
kind: Config
current-context: first
clusters:
- {name: rig, cluster: {server: 'https://127.0.0.1:6443/'}}
- {name: other, cluster: {server: 'https://127.0.0.1:7443'}}
users:
- {name: admin, user: {token: t}}
contexts:
- {name: first, context: {cluster: rig, user: admin, namespace: shop}}
- {name: second, context: {cluster: rig, user: admin}}
- {name: lost, context: {cluster: nowhere, user: admin}}
";

    fn options(arguments: &[&str]) -> Connection {
        Program::try_parse_from([&["program"], arguments].concat()).expect("good options").connection
    }

    async fn connect(kubeconfig: &str, arguments: &[&str]) -> Result<(String, String), String> {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("config");
        std::fs::write(&file, kubeconfig).expect("a file");
        let connection = Connection { kubeconfig: Some(file.clone()), ..options(arguments) };
        let cluster = connection.connect().await;
        cluster
            .map(|cluster| (cluster.server, cluster.namespace))
            .map_err(|error| error.to_string().replace(&file.display().to_string(), "FILE"))
    }

    #[tokio::test]
    async fn the_cluster_and_the_namespace_are_those_that_kubectl_would_take() {
        for (arguments, server, namespace) in [
            (&[][..], "https://127.0.0.1:6443", "shop"),
            (&["-n", "mine"], "https://127.0.0.1:6443", "mine"),
            (&["--context", "second"], "https://127.0.0.1:6443", "default"),
            (&["--context=second", "--namespace=mine"], "https://127.0.0.1:6443", "mine"),
            (&["--cluster", "other", "--user", "admin", "-v=6"], "https://127.0.0.1:7443", "shop"),
            (&["--as", "bob", "--as-group", "a", "--as-group", "b", "--as-uid", "7"], "https://127.0.0.1:6443", "shop"),
        ] {
            let found = connect(KUBECONFIG, arguments).await;
            assert_eq!(found, Ok((server.to_owned(), namespace.to_owned())), "{arguments:?}");
        }
    }

    #[tokio::test]
    async fn mistakes_are_told_with_what_there_is() {
        let no_context = KUBECONFIG.replace("current-context: first", "current-context: ''");
        for (kubeconfig, arguments, said) in [
            (
                KUBECONFIG,
                &["--context", "frist"][..],
                "context \"frist\" does not exist in the kubeconfig; there are: first, second, lost",
            ),
            (KUBECONFIG, &["--cluster", "x"], "cluster \"x\" does not exist in the kubeconfig; there are: rig, other"),
            (KUBECONFIG, &["--user", "x"], "user \"x\" does not exist in the kubeconfig; there are: admin"),
            (
                KUBECONFIG,
                &["--context", "lost"],
                "cannot use the kubeconfig's context: failed to load the cluster of context: nowhere",
            ),
            (
                &no_context,
                &[],
                "the kubeconfig has no current context; pass one by --context (there are: first, second, lost)",
            ),
            ("{", &[], "cannot read the kubeconfig FILE: "),
        ] {
            let error = connect(kubeconfig, arguments).await.expect_err(said);
            assert!(error.starts_with(said), "{error}");
        }
        let missing = Connection { kubeconfig: Some("/nowhere/config".into()), ..Connection::default() };
        let error = missing.connect().await.err().expect("no such file").to_string();
        assert_eq!(error, "cannot read the kubeconfig /nowhere/config: no such file");
    }

    #[test]
    fn several_kubeconfigs_are_merged_and_the_first_wins() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("a file");
            path
        };
        let first = file("first", "{apiVersion: v1, kind: Config, current-context: second}");
        let second = file("second", KUBECONFIG);
        let Ok(Found::Files(merged)) = merge(&[folder.path().join("missing"), first, second]) else { panic!("files") };
        assert_eq!((merged.current_context.as_deref(), merged.contexts.len()), (Some("second"), 3));
        let Ok(Found::Nothing(looked)) = merge(&["/nowhere/a".into(), "/nowhere/b".into()]) else { panic!("nothing") };
        assert_eq!(looked, "/nowhere/a or /nowhere/b does not exist");
    }

    #[test]
    fn the_options_are_consistent() {
        Program::command().debug_assert();
        let times = [("0", Some(0)), ("5", Some(5)), ("90s", Some(90)), ("2m", Some(120)), ("soon", None)];
        for (text, seconds) in times {
            assert_eq!(parse_timeout(text).ok(), seconds.map(Duration::from_secs), "{text}");
        }
    }
}
