//! What the shell can offer for names in a cluster: services, mirrors, targets, namespaces; and the kubeconfig's contexts.
//!
//! The command line so far says which cluster and namespace are meant. Whatever fails has no candidates: an error in
//! the middle of a command line that is being typed helps nobody.

use std::cell::RefCell;
use std::ffi::OsString;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use clap::{ArgMatches, Command, FromArgMatches};
use clap_complete::CompletionCandidate;

use crate::cluster::{Cluster, Connection, Scope};
use crate::kinds::{Revision, Route};
use crate::steps::survey::service_names;
use crate::steps::{Which, mirrors};

/// The longest that a user waits for candidates.
const PATIENCE: Duration = Duration::from_secs(2);

/// What the words before the one to be completed say.
#[derive(Clone, Debug, Default)]
struct Line {
    connection: Connection,
    service: Option<String>,
}

thread_local! {
    /// The line that is being completed. Completers are told nothing but the word itself.
    static LINE: RefCell<Line> = RefCell::default();
}

/// Lets the completers know the words before the one to be completed, the program's name first.
pub fn begin(program: Command, words: &[OsString]) {
    LINE.set(Line::read(program, words));
}

impl Line {
    fn read(program: Command, words: &[OsString]) -> Self {
        // A line that is being typed lacks what is required.
        let Ok(matches) = program.ignore_errors(true).try_get_matches_from(words) else { return Self::default() };
        let Some((_, matches)) = matches.subcommand() else { return Self::default() };
        // `local` needs no cluster, and knows none of its options.
        let has_options = matches.try_contains_id("namespace").is_ok();
        let connection = has_options.then(|| Connection::from_arg_matches(matches).unwrap_or_default());
        let connection = connection.unwrap_or_default();
        Self { connection: Connection { verbosity: 0, ..connection }, service: service(matches) }
    }
}

fn service(matches: &ArgMatches) -> Option<String> {
    matches.try_get_one("service").ok().flatten().cloned()
}

/// What can be mirrored.
pub fn services() -> Vec<CompletionCandidate> {
    ask(async |cluster, _| {
        let names = service_names(&cluster, &cluster.namespace).await?;
        Ok(names.into_iter().map(CompletionCandidate::new).collect())
    })
}

/// The mirrors that there are.
pub fn mirrored() -> Vec<CompletionCandidate> {
    ask(async |cluster, _| {
        let found = mirrors(&cluster, Which::Namespace(&cluster.namespace)).await?.mirrors;
        Ok(found.into_iter().map(|found| CompletionCandidate::new(found.name.route)).collect())
    })
}

/// The tags of the service that the line names, and then its revisions.
pub fn targets() -> Vec<CompletionCandidate> {
    ask(async |cluster, service| {
        let Some(service) = service else { return Ok(Vec::new()) };
        let route: Route = cluster.get(&cluster.namespace, &service).await?;
        let traffic = route.status.unwrap_or_default().traffic;
        let tags = traffic.into_iter().filter_map(|part| {
            let meaning = part.revision_name.map(|revision| format!("the tag of {revision}"));
            Some(CompletionCandidate::new(part.tag?).help(meaning.map(Into::into)))
        });
        let mut candidates: Vec<_> = tags.collect();
        let revisions: Vec<Revision> = cluster.list(Scope::Namespace(&cluster.namespace), None).await?;
        let own = revisions.iter().filter(|revision| revision.service() == Some(&service));
        candidates
            .extend(own.map(|revision| CompletionCandidate::new(revision.name()).help(Some("a revision".into()))));
        Ok(candidates)
    })
}

/// The cluster's namespaces.
pub fn namespaces() -> Vec<CompletionCandidate> {
    ask(async |cluster, _| Ok(cluster.namespaces().await?.into_iter().map(CompletionCandidate::new).collect()))
}

/// The kubeconfig's contexts.
pub fn contexts() -> Vec<CompletionCandidate> {
    let connection = LINE.with_borrow(|line| line.connection.clone());
    connection.contexts().unwrap_or_default().into_iter().map(CompletionCandidate::new).collect()
}

/// Asks the cluster that the line means. It is asked on a thread of its own, which is left behind when it takes too long:
/// completers cannot wait as the rest of this program does, and neither can what a kubeconfig runs to log in.
fn ask<F>(question: impl FnOnce(Cluster, Option<String>) -> F + Send + 'static) -> Vec<CompletionCandidate>
where
    F: Future<Output = Result<Vec<CompletionCandidate>>>,
{
    let Line { connection, service } = LINE.with_borrow(Clone::clone);
    let (answer, answered) = mpsc::channel();
    thread::spawn(move || {
        let answers = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async { question(connection.connect().await?, service).await })
        };
        // Nobody listens any more where it took too long.
        let _ = answer.send(answers());
    });
    answered.recv_timeout(PATIENCE).ok().and_then(Result::ok).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    fn line(text: &str) -> Line {
        let words: Vec<OsString> = std::iter::once("kubectl-mirror").chain(text.split(' ')).map(Into::into).collect();
        Line::read(Cli::command(), &words)
    }

    #[test]
    fn the_line_so_far_says_where_to_look() {
        for (text, namespace, context, service) in [
            ("enable", None, None, None),
            ("enable hello", None, None, Some("hello")),
            ("enable ksvc/hello -n shop", Some("shop"), None, Some("hello")),
            ("enable hello -n=shop --context test --to", Some("shop"), Some("test"), Some("hello")),
            ("enable --namespace=shop --percent 5 hello", Some("shop"), None, Some("hello")),
            ("list --context test -v 6 -n", None, Some("test"), None),
            ("local -n shop", None, None, None),
            ("nonsense -n shop", None, None, None),
        ] {
            let line = line(text);
            assert_eq!(line.connection.namespace.as_deref(), namespace, "{text}");
            assert_eq!(line.connection.context.as_deref(), context, "{text}");
            assert_eq!(line.connection.verbosity, 0, "{text}");
            assert_eq!(line.service.as_deref(), service, "{text}");
        }
    }

    #[test]
    fn where_there_is_no_cluster_nothing_is_offered() {
        let words = ["kubectl-mirror", "enable", "hello", "--kubeconfig", "/nonexistent/config"].map(Into::into);
        begin(Cli::command(), &words);
        for offer in [services, mirrored, targets, namespaces, contexts] {
            assert!(offer().is_empty());
        }
    }
}
