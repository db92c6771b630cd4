//! `kubectl mirror check`: tries rules on two saved answers, without any cluster or Envoy.

mod engine;
mod saved;
mod show;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};

use crate::cli::ExitStatus;
use crate::command::common::Format;
use crate::output::{self, message};
use crate::rules;
use engine::Verdict;
use saved::Saved;
use show::Shown;

/// Try rules on two saved answers, with the engine of the filter.
///
/// Each file holds a body, or a whole response as `curl -i` saves it: status line, headers, an empty line, body. Says what
/// differs, and which rules took effect. With rules alone, only they are checked.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    # are the rules right?\n  \
    kubectl mirror check --rules rules.yaml\n\n  \
    # do they make these two equal?\n  \
    curl -is http://v1.example.com/items > a && curl -is http://v2.example.com/items > b\n  \
    kubectl mirror check --rules rules.yaml a b\n\n\
    Exit status: 0 equal, 1 they differ, 2 wrong usage or failure.")]
pub struct Args {
    /// What to ignore and how closely to compare, in YAML; only the defaults where it is left out.
    #[arg(long, value_name = "FILE", required_unless_present = "primary")]
    rules: Option<PathBuf>,

    /// The file with the primary's answer.
    #[arg(value_name = "PRIMARY", requires = "candidate")]
    primary: Option<PathBuf>,

    /// The file with the candidate's.
    #[arg(value_name = "CANDIDATE")]
    candidate: Option<PathBuf>,

    /// How to show what comes of it.
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
}

/// Runs the command.
///
/// # Errors
/// Files that cannot be read, mistakes in rules, and answers that cannot be compared.
pub async fn run(args: Args) -> Result<ExitStatus> {
    let rules = args.rules.as_deref().map(rules::read).transpose()?.unwrap_or_default();
    let (Some(primary), Some(candidate)) = (&args.primary, &args.candidate) else {
        output::data(&Shown::rules_alone(&rules).render(args.output)?)?;
        return Ok(ExitStatus::Success);
    };
    let [ours, theirs] = [read(primary)?, read(candidate)?];
    if ours.is_response != theirs.is_response {
        let (whole, body) = if ours.is_response { (primary, candidate) } else { (candidate, primary) };
        bail!("{} is a whole response and {} a body alone; save both in the same way", whole.display(), body.display());
    }
    let checked = engine::check(&rules, &ours.answer, &theirs.answer);
    output::data(&Shown::of(&checked).render(args.output)?)?;
    match checked.verdict() {
        Verdict::Equal => Ok(ExitStatus::Success),
        Verdict::Differs => Ok(ExitStatus::Differs),
        Verdict::NotCompared(reason) => Err(anyhow!("the bodies could not be compared: {}", show::words(reason))),
    }
}

fn read(file: &Path) -> Result<Saved> {
    let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let saved = saved::parse(bytes).map_err(|reason| anyhow!("{}: {reason}", file.display()))?;
    if let Some(note) = saved.note {
        message(format_args!("note: {}: {note}", file.display()));
    }
    Ok(saved)
}

#[cfg(test)]
mod tests;
