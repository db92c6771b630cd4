//! The program's command line: which commands there are, and how their ends become exit statuses.
//!
//! | status | means |
//! |---|---|
//! | 0 | done, and no `--fail-on` holds |
//! | 1 | done, and a `--fail-on` holds, a check of `doctor` failed, or what `check` compared differs |
//! | 2 | wrong usage, or it failed |

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::{command, output};

/// Compare a new version of a service with the old one on live traffic, before any user is served by it.
#[derive(Debug, Parser)]
#[command(name = "kubectl-mirror", bin_name = "kubectl mirror", version, max_term_width = 100)]
#[command(
    after_help = "Exit status: 0 done, 1 a --fail-on condition holds or a check of doctor failed, 2 wrong usage or failure."
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Enable(Box<command::enable::Args>),
    Status(command::status::Args),
    Report(Box<command::report::Args>),
    Diffs(command::diffs::Args),
    Check(command::check::Args),
    Rules(command::rules::Args),
    Disable(command::disable::Args),
    List(command::status::ListArgs),
    Sync(command::sync::Args),
    Generate(Box<command::generate::Args>),
    Install(command::install::Args),
    Uninstall(command::uninstall::Args),
    Repair(command::install::RepairArgs),
    Image(command::image::Args),
    Doctor(command::doctor::Args),
    Local(Box<command::local::Args>),
    Version(command::version::Args),
    #[command(name = "__complete", hide = true, disable_help_flag = true)]
    Complete(command::complete::Args),
}

/// How a command ended that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// All is well.
    Success,
    /// A `--fail-on` condition holds, or a check failed.
    ConditionHolds,
    /// What was to be compared differs.
    Differs,
}

/// Runs the command that the arguments ask for. Data goes to stdout, all else to stderr.
pub async fn run(cli: Cli) -> ExitCode {
    let ended = match cli.command {
        Command::Enable(args) => command::enable::run(*args).await,
        Command::Status(args) => command::status::run(args).await,
        Command::Report(args) => command::report::run(*args).await,
        Command::Diffs(args) => command::diffs::run(args).await,
        Command::Check(args) => command::check::run(args).await,
        Command::Rules(args) => command::rules::run(args).await,
        Command::Disable(args) => command::disable::run(args).await,
        Command::List(args) => command::status::list(args).await,
        Command::Sync(args) => command::sync::run(args).await,
        Command::Generate(args) => command::generate::run(*args).await,
        Command::Install(args) => command::install::run(args).await,
        Command::Uninstall(args) => command::uninstall::run(args).await,
        Command::Repair(args) => command::install::repair(args).await,
        Command::Image(args) => command::image::run(args).await,
        Command::Doctor(args) => command::doctor::run(args).await,
        Command::Local(args) => command::local::run(*args).await,
        Command::Version(args) => command::version::run(args).await,
        Command::Complete(args) => command::complete::run(args, Cli::command()),
    };
    match ended {
        Ok(ExitStatus::Success) => ExitCode::SUCCESS,
        Ok(ExitStatus::ConditionHolds | ExitStatus::Differs) => ExitCode::from(1),
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
