//! `kubectl mirror diffs`: examples of what differs, and rules for what of it looks like noise.

mod gather;

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap_complete::ArgValueCandidates;
use mirror_core::divergence::Kind;
use mirror_core::place::Pattern;

use crate::cli::ExitStatus;
use crate::cluster::Connection;
use crate::command::common::Format;
use crate::completion;
use crate::diffs::filter::{Endpoint, Filter, Since};
use crate::diffs::json::{self, Missing};
use crate::diffs::suggest::{suggest, yaml};
use crate::diffs::text::Text;
use crate::diffs::{Example, sort};
use crate::output::{self, message};
use crate::report::text::printable;
use gather::Source;

/// Show examples of what differs, from the logs of the gateways.
///
/// The filter logs a few examples a minute of each place that differs, cut and without secrets. Those of all gateway pods are
/// shown, the newest last.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    # what differs in prices, as it happens\n  \
    kubectl mirror diffs hello --place '/items/*/price' -f\n\n  \
    # rules for what looks like noise, to be read and then applied\n  \
    kubectl mirror diffs hello --suggest-rules > rules.yaml\n  \
    kubectl mirror rules hello -f rules.yaml\n\n  \
    # from a log that `kubectl mirror local --log-dir logs` has kept\n  \
    kubectl mirror diffs --file logs/envoy.log")]
pub struct Args {
    /// The service whose mirror's examples are shown; all of the namespace where it is left out. Also NAMESPACE/NAME.
    #[arg(value_name = "SERVICE", add = ArgValueCandidates::new(completion::mirrored))]
    name: Option<String>,

    /// All namespaces.
    #[arg(short = 'A', long, conflicts_with_all = ["name", "file"])]
    all_namespaces: bool,

    /// Read this log of Envoy's instead of those of the gateways; - for standard input.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,

    /// Only what differs here or below, for example /items/*/price, status, header:NAME. May be given several times.
    #[arg(long = "place", value_name = "PATTERN")]
    places: Vec<Pattern>,

    /// Only requests to this endpoint, for example '/users/{id}' or 'GET /users/*'. May be given several times.
    #[arg(long = "endpoint", value_name = "ENDPOINT")]
    endpoints: Vec<Endpoint>,

    /// Only what differs like this: missing, added, type, value or order. May be given several times.
    #[arg(long = "kind", value_name = "KIND", value_parser = parse_kind)]
    kinds: Vec<Kind>,

    /// Only the newest N.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    last: Option<u32>,

    /// Only what was found since then: 10m (ago), or 2026-11-30T17:30:00Z.
    #[arg(long, value_name = "TIME")]
    since: Option<Since>,

    /// Look at so many of the last lines of each gateway's log; 10000 where neither this nor --since is given.
    #[arg(long, value_name = "LINES", conflicts_with = "file")]
    tail: Option<u64>,

    /// Go on with what is found from now on, until Ctrl-C.
    #[arg(short, long, conflicts_with = "file")]
    follow: bool,

    /// Write rules for what looks like noise (times, ids, order, rounding), each with what speaks for it, as YAML for --rules.
    #[arg(long, conflicts_with_all = ["follow", "output"])]
    suggest_rules: bool,

    /// How to show them.
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,

    #[command(flatten)]
    connection: Connection,
}

/// Runs the command.
///
/// # Errors
/// No such mirror or file, what the API server refuses, and logs none of which can be read.
pub async fn run(args: Args) -> Result<ExitStatus> {
    let mut filter = Filter {
        mirrors: None,
        places: args.places.clone(),
        endpoints: args.endpoints.clone(),
        kinds: args.kinds.clone(),
        since: args.since.map(|since| since.0),
    };
    let last = args.last.and_then(|last| usize::try_from(last).ok());
    let source = Source::of(&args, &mut filter).await?;
    if args.follow {
        return follow(&source, &filter, last, args.output).await;
    }
    let (mut examples, missing) = source.read(&filter).await?;
    sort(&mut examples);
    if let Some(last) = last {
        examples.drain(..examples.len().saturating_sub(last));
    }
    if args.suggest_rules {
        check_mirror(&examples)?;
        let suggestions = suggest(examples.iter().map(|example| &example.line));
        output::data(&yaml::render(&suggestions))?;
    } else {
        show(&examples, &missing, args.output)?;
    }
    if examples.is_empty() {
        message(format_args!("No examples found in {source}."));
    }
    Ok(ExitStatus::Success)
}

/// Rules are those of one mirror: what is noise in one service need not be noise in another.
fn check_mirror(examples: &[Example]) -> Result<()> {
    let mirrors: BTreeSet<_> = examples.iter().map(|example| example.line.mirror.as_str()).collect();
    match mirrors.len() {
        0 | 1 => Ok(()),
        _ => {
            let names: Vec<_> = mirrors.into_iter().map(printable).collect();
            bail!(
                "these are examples of several mirrors, and rules are suggested for one; name it: {}",
                names.join(", ")
            )
        }
    }
}

fn show(examples: &[Example], missing: &[Missing], format: Format) -> Result<()> {
    match format.document() {
        None => {
            let mut text = Text::new(output::look());
            output::data(&examples.iter().map(|example| text.add(example)).collect::<String>())
        }
        Some(format) => output::data(&json::render(examples, missing, format)?),
    }
}

/// Shows examples as they come, until Ctrl-C, until nobody reads them any more, or until all logs have ended.
async fn follow(source: &Source, filter: &Filter, last: Option<usize>, format: Format) -> Result<ExitStatus> {
    let mut text = Text::new(output::look());
    let mut followed = source.follow()?;
    let mut first = last;
    loop {
        let batch = tokio::select! {
            batch = followed.next(filter) => batch,
            _ = tokio::signal::ctrl_c() => return Ok(ExitStatus::Success),
        };
        let Some(mut batch) = batch else { bail!("all logs have ended") };
        sort(&mut batch);
        // What was there already; all that comes later is new.
        if let Some(last) = first.take() {
            batch.drain(..batch.len().saturating_sub(last));
        }
        let mut shown = String::new();
        for example in &batch {
            shown += &match format.document() {
                None => text.add(example),
                Some(format) => json::render_one(example, format)?,
            };
        }
        if !output::more_data(&shown)? {
            return Ok(ExitStatus::Success);
        }
    }
}

impl Format {
    fn document(self) -> Option<json::Format> {
        match self {
            Self::Table => None,
            Self::Json => Some(json::Format::Json),
            Self::Yaml => Some(json::Format::Yaml),
        }
    }
}

fn parse_kind(word: &str) -> Result<Kind, String> {
    Kind::from_word(word).ok_or_else(|| {
        let words: Vec<_> = Kind::ALL.into_iter().map(Kind::as_str).collect();
        format!("expected one of {}", words.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use mirror_core::example::Line;

    use super::*;
    use crate::diffs::testing::{example, line};

    #[test]
    fn rules_are_suggested_for_one_mirror() {
        let own = example("/a", "1", "2");
        let other = Example { line: Line { mirror: "shop/stock".into(), ..line("/a", "1", "2") }, ..own.clone() };
        check_mirror(&[]).expect("nothing");
        check_mirror(&[own.clone(), own.clone()]).expect("one mirror");
        let error = check_mirror(&[own, other]).expect_err("two mirrors").to_string();
        assert!(error.ends_with("name it: shop/cart, shop/stock"), "{error}");
    }
}
