//! `kubectl mirror local`: a mirror on one machine, without a cluster.

pub mod interrupts;
mod progress;
mod run;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use mirror_core::config::safe_methods;

use self::run::Run;
use super::report::Format;
use crate::cli::ExitStatus;
use crate::envoy::{Endpoint, HeaderMatch, PathMatch};
use crate::local::{self, Files, Plan, Wish};
use crate::module::MODULE;
use crate::output::message;
use crate::report::fail_on::Conditions;
use crate::rules;

/// Compare two servers on this machine's traffic, through a local Envoy and without a cluster.
///
/// Clients that use the printed address are answered by the primary; copies of their requests go to the candidate, whose
/// answers are compared and thrown away. At the end (of COMMAND, of --for, or on Ctrl-C) the report is shown.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The server that clients are answered by: http://, https://, or h2c:// for HTTP/2 in plain text.
    #[arg(long, value_name = "URL")]
    primary: Endpoint,

    /// The server under test.
    #[arg(long, value_name = "URL")]
    candidate: Endpoint,

    /// The primary's version once more, to learn what differs by itself.
    #[arg(long, value_name = "URL")]
    secondary: Option<Endpoint>,

    /// Where clients connect; port 0 for a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: SocketAddr,

    /// The share of requests that is copied, in percent, to four decimals.
    #[arg(long, value_name = "PERCENT", default_value = "100", value_parser = local::parse_percent)]
    percent: u32,

    /// Draw the sample by this request header, so that one user is always in or always out; requests without it are not
    /// copied.
    #[arg(long, value_name = "HEADER")]
    sticky: Option<String>,

    /// Copy only these methods, separated by commas.
    #[arg(long, value_name = "METHODS", value_delimiter = ',', default_values_t = safe_methods(),
        value_parser = local::parse_method)]
    methods: Vec<String>,

    /// Copy only requests with this header: NAME, NAME=VALUE or NAME=PREFIX*. May be given several times; all must hold.
    #[arg(long = "header", value_name = "MATCH")]
    headers: Vec<HeaderMatch>,

    /// Copy only requests to this path: /PATH or /PREFIX*. May be given several times; one must hold.
    #[arg(long = "path", value_name = "MATCH")]
    paths: Vec<PathMatch>,

    /// What to ignore and how closely to compare, in YAML.
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,

    /// Send this Host to all servers; each is sent its own where it is left out.
    #[arg(long, value_name = "HOST")]
    send_host: Option<String>,

    /// Do not verify the certificates of https servers.
    #[arg(long)]
    insecure: bool,

    /// The mirror's name in the report.
    #[arg(long, value_name = "NAME", default_value = "local/mirror")]
    name: String,

    /// The Envoy to run, 1.36 or newer; searched for on the PATH and where `make` puts it.
    #[arg(long, value_name = "PATH", env = "ENVOY_BIN")]
    envoy: Option<PathBuf>,

    /// How many worker threads Envoy gets; as many as there are processors, at most 4, where it is left out.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    workers: Option<u16>,

    /// Keep Envoy's log and configuration in this folder. Else they are kept on failure only.
    #[arg(long, value_name = "FOLDER")]
    log_dir: Option<PathBuf>,

    /// End after this time, for example 30s or 5m.
    #[arg(long = "for", value_name = "TIME", value_parser = humantime::parse_duration)]
    time: Option<Duration>,

    /// End with status 1 where this holds, for example diverged>0.1%; see `kubectl mirror report --help`.
    #[arg(long, value_name = "EXPR")]
    fail_on: Vec<Conditions>,

    /// How to show the report.
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    output: Format,

    /// Run this with the address for clients in MIRROR_URL, and end with it. Its output goes to stderr.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Runs the command.
///
/// # Errors
/// Wrong arguments, no Envoy, an Envoy that fails, a module that does not compare, and a COMMAND that fails.
pub async fn run(args: Args) -> anyhow::Result<ExitStatus> {
    let plan = Plan::new(wish(&args)?)?;
    let methods = plan.unsafe_methods();
    if !methods.is_empty() {
        let methods = methods.join(", ");
        message(format_args!(
            "warning: {methods} requests are copied too: what they change in the candidate they change twice where both \
             versions share their data"
        ));
    }
    let envoy = local::find(args.envoy.as_deref())?;
    let mut files = Files::new(args.log_dir.as_deref())?;
    files.write(&plan, MODULE, args.listen)?;
    let ended = Run { args: &args, plan: &plan, envoy: &envoy, files: &files }.run().await;
    if ended.is_err() {
        message(format_args!("Envoy's log and configuration are in {}", files.keep().display()));
    }
    ended
}

fn wish(args: &Args) -> anyhow::Result<Wish> {
    let rules = args.rules.as_deref().map(rules::read).transpose()?.unwrap_or_default();
    Ok(Wish {
        primary: args.primary.clone(),
        candidate: args.candidate.clone(),
        secondary: args.secondary.clone(),
        name: args.name.clone(),
        millionths: args.percent,
        methods: args.methods.clone(),
        headers: args.headers.clone(),
        paths: args.paths.clone(),
        sticky: args.sticky.clone(),
        rules,
        host: args.send_host.clone(),
        insecure: args.insecure,
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn args(arguments: &[&str]) -> Result<Args, String> {
        #[derive(clap::Parser)]
        struct Program {
            #[command(flatten)]
            args: Args,
        }
        let program = ["local", "--primary", "http://a", "--candidate", "http://b"].iter().chain(arguments);
        Program::try_parse_from(program).map(|program| program.args).map_err(|error| error.to_string())
    }

    #[test]
    fn options_become_a_mirror() {
        let args = args(&[
            "--percent",
            "0.5",
            "--methods",
            "get,POST",
            "--header",
            "x-a=b*",
            "--path",
            "/v1/*",
            "--sticky",
            "X-User",
            "--for",
            "5m",
            "--send-host",
            "shop.test",
            "--",
            "curl",
            "-s",
        ]);
        let args = args.expect("good arguments");
        assert_eq!(
            (args.time, args.command.as_slice()),
            (Some(Duration::from_secs(300)), &["curl", "-s"].map(String::from)[..])
        );
        let plan = Plan::new(wish(&args).expect("good arguments")).expect("a plan");
        let selection = &plan.spec.selection;
        assert_eq!((selection.millionths, selection.sticky.as_deref()), (5000, Some("x-user")));
        assert_eq!((selection.headers.len(), selection.paths.len()), (1, 1));
        assert_eq!(plan.spec.mirror.methods, ["GET", "POST"]);
        assert_eq!(plan.primary_host, "shop.test");
    }

    #[test]
    fn mistakes_are_refused() {
        for (arguments, said) in [
            (&["--percent", "0"][..], "more than 0"),
            (&["--for", "5"], "--for"),
            (&["--workers", "0"], "--workers"),
            (&["--secondary", "b"], "expected a URL"),
            (&["--listen", "8080"], "--listen"),
            (&["curl"], "unexpected argument"),
        ] {
            let error = args(arguments).expect_err(said);
            assert!(error.contains(said), "{arguments:?}: {error}");
        }
    }
}
