//! `--watch`: the report again and again. On a terminal each takes the place of the one before; elsewhere one is written where
//! what it says has changed.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use anyhow::Context;
use tokio::time::sleep;

use super::reader::Reader;
use super::{Format, show};
use crate::command::local::interrupts::Interrupts;
use crate::output;
use crate::report::model::Report;

/// Shows reports until the user has seen enough; the last one stays.
///
/// # Errors
/// The first report cannot be made, or none can be shown.
pub async fn watch(mut reader: Reader, format: Format, interval: Duration) -> anyhow::Result<()> {
    let mut interrupts = Interrupts::new().context("cannot listen for Ctrl-C")?;
    let mut last = reader.read().await?;
    let mut screen = io::stdout().is_terminal().then(Screen::open).transpose()?;
    let mut trouble = None;
    let mut is_new = true;
    loop {
        match &mut screen {
            Some(screen) => screen.draw(&format.render(&last, &[]), trouble.as_deref())?,
            None if is_new => show(&last, format, &[])?,
            None => {}
        }
        let next = tokio::select! {
            () = interrupts.next() => break,
            next = async { sleep(interval).await; reader.read().await } => next,
        };
        (trouble, is_new) = match next {
            Ok(next) => {
                let is_new = !says_the_same(&last, &next);
                last = next;
                (None, is_new)
            }
            Err(error) => (Some(format!("{error:#}")), false),
        };
        if let (None, Some(trouble)) = (&screen, &trouble) {
            output::message(format_args!("warning: no new report: {trouble}"));
        }
    }
    if let Some(screen) = screen {
        drop(screen);
        show(&last, format, &[])?;
    }
    Ok(())
}

/// Whether nothing has changed but the time.
fn says_the_same(before: &Report, now: &Report) -> bool {
    let timeless = |report: &Report| {
        let mut report = report.clone();
        report.span.until = None;
        report.gateways.iter_mut().for_each(|gateway| gateway.uptime = 0);
        report
    };
    timeless(before) == timeless(now)
}

/// A terminal's second screen, which leaves what was on the first one as it was.
struct Screen;

/// To the second screen, without a cursor, where lines that are too long are cut rather than wrapped; and back.
const ENTER: &str = "\u{1b}[?1049h\u{1b}[?25l\u{1b}[?7l";
const LEAVE: &str = "\u{1b}[?7h\u{1b}[?25h\u{1b}[?1049l";

impl Screen {
    fn open() -> anyhow::Result<Self> {
        write(ENTER)?;
        Ok(Self)
    }

    fn draw(&mut self, text: &str, trouble: Option<&str>) -> anyhow::Result<()> {
        let height = terminal_size::terminal_size_of(io::stdout()).map_or(usize::MAX, |(_, height)| height.0.into());
        write(&frame(text, trouble, height))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = write(LEAVE);
    }
}

fn write(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).context("cannot write to the terminal")
}

/// What draws a text over the one before, in one piece and without clearing first, so that nothing flickers: from the top,
/// each line to its end, and then whatever is left below. What has no room is left out.
fn frame(text: &str, trouble: Option<&str>, height: usize) -> String {
    let trouble = trouble.map(|trouble| format!("warning: no new report: {}", trouble.replace('\n', " ")));
    let lines: Vec<&str> = trouble.as_deref().into_iter().chain(text.lines()).collect();
    let mut shown = lines.clone();
    let hidden;
    if lines.len() > height {
        let room = height.saturating_sub(1);
        hidden = format!("… and {} more lines (Ctrl-C ends, and shows them all)", lines.len() - room);
        shown.truncate(room);
        shown.push(&hidden);
    }
    let mut frame = "\u{1b}[H".to_owned();
    for (i, line) in shown.into_iter().enumerate() {
        frame.push_str(if i > 0 { "\r\n" } else { "" });
        frame.push_str(line);
        frame.push_str("\u{1b}[K");
    }
    frame.push_str("\u{1b}[J");
    frame
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples::{all_match, full};

    #[test]
    fn a_frame_replaces_the_one_before_and_fits_the_terminal() {
        let end = "\u{1b}[K";
        assert_eq!(frame("a\nb\n", None, 2), format!("\u{1b}[Ha{end}\r\nb{end}\u{1b}[J"));
        let cut = frame("a\nb\nc\n", Some("it\nfailed"), 3);
        let lines: Vec<_> = cut.split("\r\n").collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[0].contains("warning: no new report: it failed") && lines[1].starts_with('a'), "{cut}");
        assert!(lines[2].starts_with("… and 2 more lines"), "{cut}");
    }

    #[test]
    fn time_alone_changes_nothing() {
        let later = || {
            full().instance(|instance| {
                instance.uptime += 60;
                instance.clock += 60;
                instance.ticks.values_mut().for_each(|tick| *tick += 60);
            })
        };
        assert!(says_the_same(&full().report(), &later().report()));
        assert!(!says_the_same(&full().report(), &all_match(9).report()));
    }
}
