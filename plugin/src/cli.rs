//! The program's command line: which commands there are, and how their ends become exit statuses.
//!
//! | status | means |
//! |---|---|
//! | 0 | done, and no `--fail-on` holds |
//! | 1 | done, and a `--fail-on` holds |
//! | 2 | wrong usage, or it failed |

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::{command, output};

/// Compare a new version of a service with the old one on live traffic, before any user is served by it.
#[derive(Debug, Parser)]
#[command(name = "kubectl-mirror", bin_name = "kubectl mirror", version, max_term_width = 100)]
#[command(after_help = "Exit status: 0 done, 1 a --fail-on condition holds, 2 wrong usage or failure.")]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Local(Box<command::local::Args>),
    Report(command::report::Args),
    #[command(name = "__complete", hide = true, disable_help_flag = true)]
    Complete(command::complete::Args),
}

/// How a command ended that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// All is well.
    Success,
    /// A `--fail-on` condition holds.
    ConditionHolds,
}

/// Runs the command that the arguments ask for. Data goes to stdout, all else to stderr.
pub async fn run(cli: Cli) -> ExitCode {
    let ended = match cli.command {
        Command::Local(args) => command::local::run(*args).await,
        Command::Report(args) => command::report::run(args).await,
        Command::Complete(args) => command::complete::run(args, Cli::command()),
    };
    match ended {
        Ok(ExitStatus::Success) => ExitCode::SUCCESS,
        Ok(ExitStatus::ConditionHolds) => ExitCode::from(1),
        Err(error) => {
            output::message(format_args!("error: {error:#}"));
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent_and_reads_as_users_type_it() {
        let mut command = Cli::command();
        command.clone().debug_assert();
        assert!(command.render_help().to_string().contains("Usage: kubectl mirror <COMMAND>"));
    }
}
