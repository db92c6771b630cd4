//! The kubectl plugin: kubectl runs it as `kubectl mirror`.

use std::process::ExitCode;

use clap::Parser;
use kubectl_mirror::cli::{self, Cli};

#[tokio::main]
async fn main() -> ExitCode {
    cli::run(Cli::parse()).await
}
