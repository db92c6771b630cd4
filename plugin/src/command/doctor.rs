//! `kubectl mirror doctor`: whether mirrors can work on this cluster, and how to mend what keeps them from it.

mod checks;

use std::fmt::Write as _;

use anyhow::Result;
use serde::Serialize;

use crate::cli::ExitStatus;
use crate::cluster::Connection;
use crate::command::common::Format;
use crate::grid::{Paint, wrap};
use crate::output::{self, message};

/// Check whether mirrors can work on this cluster, and say how to mend what keeps them from it.
///
/// Ends with status 1 where something has to be mended. Nothing is changed.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How to show it.
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,

    #[command(flatten)]
    connection: Connection,
}

/// One check; also the shape of JSON and YAML.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Check {
    /// What was checked.
    what: &'static str,
    /// What came of it.
    health: Health,
    /// What was found.
    found: String,
    /// How to mend it.
    mend: Option<String>,
}

/// What came of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Health {
    /// All is well.
    Ok,
    /// Some mirrors may not work.
    Warning,
    /// Mirrors cannot work.
    Failed,
    /// It could not be looked at.
    Unknown,
}

/// Runs the command.
///
/// # Errors
/// No kubeconfig, and no API server that answers.
pub async fn run(args: Args) -> Result<ExitStatus> {
    let cluster = args.connection.connect().await?;
    let checks = checks::all(&cluster).await?;
    output::data(&args.output.render(&checks, || table(&checks))?)?;
    let failed = checks.iter().filter(|check| check.health == Health::Failed).count();
    if failed == 0 {
        return Ok(ExitStatus::Success);
    }
    message(format_args!("{}", crate::report::text::plural(failed as u64, "check") + " failed"));
    Ok(ExitStatus::ConditionHolds)
}

fn table(checks: &[Check]) -> String {
    let look = output::look();
    let mut text = String::new();
    for check in checks {
        let (paint, sign) = match check.health {
            Health::Ok => (Paint::Green, "✓"),
            Health::Warning => (Paint::Yellow, "!"),
            Health::Failed => (Paint::Red, "✗"),
            Health::Unknown => (Paint::Plain, "?"),
        };
        let line = wrap(&format!("{sign} {}: {}", check.what, check.found), look.width.max(72), 2);
        let _ = writeln!(text, "{}", paint.on(&line, look.colour));
        if let Some(mend) = &check.mend {
            let _ = writeln!(text, "{}", wrap(&format!("  → {mend}"), look.width.max(72), 4));
        }
    }
    text
}
