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
    more_data(text).map(|_| ())
}

/// Writes data to stdout, and tells whether anybody still reads it.
///
/// # Errors
/// As [`data`].
pub fn more_data(text: &str) -> anyhow::Result<bool> {
    #[cfg(test)]
    if kept::data(text) {
        return Ok(true);
    }
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(error).context("cannot write to stdout"),
    }
}

/// Writes a line for the user to stderr. That it cannot be written is nothing that could be told anybody.
pub fn message(line: impl fmt::Display) {
    #[cfg(test)]
    if kept::message(&line) {
        return;
    }
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// How tables on stdout may look: as wide as the terminal (or `COLUMNS` says), coloured only on a terminal and where
/// `NO_COLOR` is not set.
pub fn look() -> Look {
    #[cfg(test)]
    if kept::is_on() {
        return Look { width: 100, colour: false, wide: false };
    }
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
    let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    Look { width: columns.or(terminal).unwrap_or(WIDE), colour: io::stdout().is_terminal() && !no_colour, wide: false }
}

/// For tests: keeps what commands on this thread say, instead of writing it.
#[cfg(test)]
pub mod kept {
    use std::cell::RefCell;
    use std::fmt::{Display, Write as _};

    /// What was said.
    #[derive(Debug, Default)]
    pub struct Kept {
        /// On stdout.
        pub data: String,
        /// On stderr.
        pub messages: String,
    }

    thread_local! {
        static KEPT: RefCell<Option<Kept>> = const { RefCell::new(None) };
    }

    /// Keeps all from now on.
    pub fn begin() {
        KEPT.replace(Some(Kept::default()));
    }

    /// Gives what was kept; from now on all is written again.
    pub fn end() -> Kept {
        KEPT.take().unwrap_or_default()
    }

    pub(super) fn is_on() -> bool {
        KEPT.with_borrow(Option::is_some)
    }

    pub(super) fn data(text: &str) -> bool {
        KEPT.with_borrow_mut(|kept| kept.as_mut().map(|kept| kept.data.push_str(text)).is_some())
    }

    pub(super) fn message(line: &dyn Display) -> bool {
        KEPT.with_borrow_mut(|kept| kept.as_mut().map(|kept| writeln!(kept.messages, "{line}")).is_some())
    }
}
