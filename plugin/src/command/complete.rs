//! `kubectl mirror __complete WORDS…`: what could stand in place of the last word. The script `kubectl_complete-mirror`,
//! which kubectl looks for, calls it.
//!
//! The answer has the form that kubectl (its library cobra) expects: a line for each candidate, with a tab before its
//! description, and a last line with a colon and what the shell should do.

use std::ffi::OsString;
use std::fmt::Write as _;

use clap_complete::engine;

use crate::cli::ExitStatus;
use crate::completion;
use crate::output;

/// The shell should offer these candidates and no files of its own (cobra's `ShellCompDirectiveNoFileComp`).
const NO_FILES: &str = ":4";

/// The same, and no space after a candidate (`ShellCompDirectiveNoSpace`).
const NO_FILES_NO_SPACE: &str = ":6";

/// Completes a command line.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The words after `kubectl mirror`; the last one, which may be empty, is to be completed.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, num_args = 0..)]
    words: Vec<OsString>,
}

/// Runs the command.
///
/// # Errors
/// Where stdout cannot be written to. What cannot be completed has no candidates.
pub fn run(args: Args, program: clap::Command) -> anyhow::Result<ExitStatus> {
    output::data(&answer(args.words, program))?;
    Ok(ExitStatus::Success)
}

fn answer(words: Vec<OsString>, mut program: clap::Command) -> String {
    let words = if words.is_empty() { vec![OsString::new()] } else { words };
    let last = words.len();
    let line: Vec<OsString> = std::iter::once("kubectl-mirror".into()).chain(words).collect();
    completion::begin(program.clone(), &line[..last]);
    let here = std::env::current_dir().ok();
    let candidates = engine::complete(&mut program, line, last, here.as_deref()).unwrap_or_default();
    let mut answer = String::new();
    for candidate in candidates.iter().filter(|candidate| !candidate.is_hide_set()) {
        let value = candidate.get_value().to_string_lossy();
        let help = candidate.get_help().map(ToString::to_string).unwrap_or_default();
        // Of a description the first line is shown, as in a list of commands.
        let _ = match help.lines().next() {
            Some(help) => writeln!(answer, "{value}\t{help}"),
            None => writeln!(answer, "{value}"),
        };
    }
    // The path of a folder goes on after its last slash.
    let goes_on = candidates.iter().any(|candidate| candidate.get_value().to_string_lossy().ends_with('/'));
    answer + if goes_on { NO_FILES_NO_SPACE } else { NO_FILES }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    fn candidates(line: &str) -> Vec<String> {
        let answer = answer(line.split(' ').map(OsString::from).collect(), Cli::command());
        let lines = answer.strip_suffix(NO_FILES).expect("the directive comes last").lines();
        lines.map(|line| line.split('\t').next().unwrap_or_default().to_owned()).collect()
    }

    #[test]
    fn commands_options_and_values_are_completed() {
        for (line, candidate) in [
            ("", "report"),
            ("rep", "report"),
            ("report --adm", "--admin"),
            ("report --output j", "json"),
            ("report -o ", "table"),
        ] {
            let found = candidates(line);
            assert!(found.iter().any(|found| found == candidate), "{line:?}: {found:?}");
        }
        assert!(candidates("rep").iter().all(|found| found.starts_with("rep")));
        assert_eq!(candidates("nonsense --x"), Vec::<String>::new());
        assert!(!candidates("").contains(&"__complete".to_owned()));
    }

    #[test]
    fn descriptions_come_after_a_tab() {
        let answer = answer(vec!["rep".into()], Cli::command());
        assert!(answer.lines().next().is_some_and(|line| line.starts_with("report\t")), "{answer}");
        assert!(answer.ends_with("\n:4"));
    }
}
