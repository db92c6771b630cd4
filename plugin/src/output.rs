//! Where output goes: data to stdout, all else to stderr. That a reader (`head`) has had enough is no error.

use std::fmt;
use std::io::{self, ErrorKind, IsTerminal, Write};

use anyhow::Context;

use crate::report::table::Look;

/// The width where nothing says it: a file or a pipe, in which no line is ever too long to be useful.
const WIDE: usize = 160;

/// Writes data to stdout.
///
/// # Errors
/// Stdout cannot be written, for another reason than that nobody reads it any more.
pub fn data(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error).context("cannot write to stdout"),
        _ => Ok(()),
    }
}

/// Writes a line for the user to stderr. That it cannot be written is nothing that could be told anybody.
pub fn message(line: impl fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// How tables on stdout may look: as wide as the terminal (or `COLUMNS` says), coloured only on a terminal and where
/// `NO_COLOR` is not set.
pub fn look() -> Look {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
    let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    Look { width: columns.or(terminal).unwrap_or(WIDE), colour: io::stdout().is_terminal() && !no_colour, wide: false }
}
