//! The report for people: the answer first, then what differs, then what one may want to know beside it. Sections
//! without content are left out. Readable at 80 columns.

use std::time::Duration;

use mirror_core::stats::names::Class;

use super::math::Share;
use super::model::{Example, Mirror, Place, Report};
use super::text::{change, duration, percent, percent_range, plural, printable, thousands};
use super::verdict::{Answer, NO_PAIRS, outcome_words, span, verdict, warnings};
use crate::grid::{Column, Grid, Paint, cut_end, cut_start, width, wrap};
use crate::source::Module;

/// How a table may look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// How many columns there are; fewer than 72 are taken as 72.
    pub width: usize,
    /// Whether to use colours.
    pub colour: bool,
    /// Whether to show all rows, whole texts and more columns, however wide that is.
    pub wide: bool,
}

/// The most rows of one section, where it is not to be wide.
const MOST_ROWS: usize = 25;
/// What stands for a value where there is none.
const ABSENT: &str = "(absent)";

impl Look {
    /// The same with all rows, whole texts and more columns.
    #[must_use]
    pub fn wide(self) -> Self {
        Self { wide: true, ..self }
    }

    /// The most rows of a section.
    fn rows(self) -> usize {
        if self.wide { usize::MAX } else { MOST_ROWS }
    }

    /// What `taken` columns leave for texts that may be cut.
    fn room(self, taken: usize) -> usize {
        if self.wide { usize::MAX } else { self.width.saturating_sub(taken) }
    }
}

/// Writes a report as text.
pub fn render(report: &Report, look: Look) -> String {
    let look = Look { width: look.width.max(72), ..look };
    let mut text = String::new();
    if report.mirrors.is_empty() {
        text.push_str(NO_PAIRS);
        text.push_str("\n\n");
    }
    for mirror in &report.mirrors {
        text.push_str(&said(mirror, look));
        text.push('\n');
    }
    let warnings = warnings(report);
    for warning in &warnings {
        let line = wrap(&format!("Warning: {}: {}", printable(&warning.about), warning.text), look.width, 2);
        text.push_str(&Paint::Yellow.on(&line, look.colour));
        text.push('\n');
    }
    if !warnings.is_empty() {
        text.push('\n');
    }
    for mirror in &report.mirrors {
        if report.mirrors.len() > 1 {
            text.push_str(&Paint::Bold.on(&format!("── {}", printable(&mirror.name)), look.colour));
            text.push_str("\n\n");
        }
        let sections = [what_differs, noise, outcomes, endpoints, statuses, latency];
        for section in sections.iter().filter_map(|section| section(mirror, look)) {
            text.push_str(&section);
            text.push('\n');
        }
    }
    if look.wide && !report.gateways.is_empty() {
        text.push_str(&gateways(report, look));
        text.push('\n');
    }
    text.push_str(&wrap(&source(report), look.width, 2));
    text.push('\n');
    text
}

/// The verdict.
fn said(mirror: &Mirror, look: Look) -> String {
    let verdict = verdict(mirror);
    let paint = match verdict.answer {
        Answer::Differs => Paint::Red,
        Answer::Same => Paint::Green,
        Answer::TooFew | Answer::Nothing => Paint::Yellow,
    };
    let name = match &mirror.candidate {
        Some(candidate) => format!("{} → {}", printable(&mirror.name), printable(candidate)),
        None => printable(&mirror.name),
    };
    let mut text = paint.on(&wrap(&format!("{name}: {}", verdict.headline), look.width, 2), look.colour);
    text.push('\n');
    for note in verdict.notes {
        text.push_str("  ");
        text.push_str(&wrap(&note, look.width - 2, 2));
        text.push('\n');
    }
    text
}

const WHAT_DIFFERS: &str = "WHAT DIFFERS";

fn what_differs(mirror: &Mirror, look: Look) -> Option<String> {
    let places: Vec<&Place> = if look.wide { mirror.differing().collect() } else { mirror.on_their_own() };
    let heading = if places.iter().any(|place| place.example.is_some()) { "PRIMARY → CANDIDATE" } else { "" };
    let mut columns = vec![
        (WHAT_DIFFERS, Column::Left),
        ("HOW", Column::Left),
        ("PAIRS", Column::Right),
        ("SHARE", Column::Right),
        (heading, Column::Left),
    ];
    if look.wide {
        columns.extend([("SEEN AT", Column::Left), ("95 %", Column::Right), ("VS ITSELF", Column::Right)]);
    }
    let mut grid = Grid::of(columns);
    let shown = first(&places, look);
    for place in shown {
        let share = place.share();
        let kind = place.kind.to_string();
        let mut cells = vec![String::new(), kind, thousands(share.count), rate(share), String::new()];
        if look.wide {
            let seen_at = place.example.as_ref().map_or_else(String::new, |example| printable(&example.endpoint));
            cells.extend([seen_at, interval(share), rate(Share::new(place.secondary, mirror.triples))]);
        }
        grid.add(Paint::Red, cells);
    }
    // Places and examples share what the other columns leave; where both are long, each gets half of it.
    let free = look.room(grid.width_without(&[0, 4]));
    let names: Vec<String> = shown.iter().map(|place| printable(&place.place)).collect();
    let examples = |most| shown.iter().map(|place| example(place, most)).collect::<Vec<_>>();
    let for_examples = widest(&examples(usize::MAX)).min(free / 2).max(width(heading));
    let for_names = widest(&names).min(free.saturating_sub(for_examples)).max(width(WHAT_DIFFERS));
    grid.fill(0, names.iter().map(|name| cut_start(name, for_names)));
    grid.fill(4, examples(free.saturating_sub(for_names)));
    let with_status = mirror.differing().count().saturating_sub(places.len()) as u64;
    let folded = match with_status {
        0 => String::new(),
        n => format!("… and {} that come and go with the status (all with -o wide)\n", plural(n, "place")),
    };
    finish(grid, places.len(), "place", look).map(|text| text + &folded)
}

fn noise(mirror: &Mirror, look: Look) -> Option<String> {
    let places: Vec<&Place> = mirror.noisy().collect();
    let mut grid = Grid::new([
        ("DIFFERS BY ITSELF, NOT COUNTED", Column::Left),
        ("HOW", Column::Left),
        ("PAIRS", Column::Right),
        ("SHARE", Column::Right),
        ("VS ITSELF", Column::Right),
    ]);
    let shown = first(&places, look);
    for place in shown {
        let share = place.share();
        let itself = rate(Share::new(place.secondary, mirror.triples));
        grid.row(Paint::Dim, [String::new(), place.kind.to_string(), thousands(share.count), rate(share), itself]);
    }
    let free = look.room(grid.width_without(&[0]));
    grid.fill(0, shown.iter().map(|place| cut_start(&printable(&place.place), free)));
    finish(grid, places.len(), "place", look)
}

fn outcomes(mirror: &Mirror, look: Look) -> Option<String> {
    let mut grid =
        Grid::new([("WHAT BECAME OF THE PAIRS", Column::Left), ("PAIRS", Column::Right), ("SHARE", Column::Right)]);
    for &(outcome, pairs) in &mirror.outcomes {
        let paint = match Class::of(outcome) {
            Class::Match => Paint::Green,
            Class::Diverged => Paint::Red,
            Class::Noise => Paint::Yellow,
            Class::Incomplete | Class::Skipped => Paint::Plain,
        };
        grid.row(paint, [outcome_words(outcome), thousands(pairs), rate(Share::new(pairs, mirror.pairs()))]);
    }
    finish(grid, mirror.outcomes.len(), "outcome", look)
}

fn endpoints(mirror: &Mirror, look: Look) -> Option<String> {
    let mut columns = vec![
        ("ENDPOINT", Column::Left),
        ("PAIRS", Column::Right),
        ("COMPARED", Column::Right),
        ("DIVERGED", Column::Right),
        ("SHARE", Column::Right),
        ("NOISE", Column::Right),
    ];
    if look.wide {
        columns.extend(["MATCH", "INCOMPLETE", "SKIPPED", "95 %"].map(|heading| (heading, Column::Right)));
    }
    let mut grid = Grid::of(columns);
    let shown = first(&mirror.endpoints, look);
    for endpoint in shown {
        let diverged = endpoint.diverged();
        let paint = if diverged.count > 0 { Paint::Red } else { Paint::Plain };
        let class = |class| thousands(endpoint.class(class));
        let [total, compared, differing] = [endpoint.total(), endpoint.compared(), diverged.count].map(thousands);
        let mut cells = vec![String::new(), total, compared, differing, rate(diverged), class(Class::Noise)];
        if look.wide {
            cells.extend([Class::Match, Class::Incomplete, Class::Skipped].map(class));
            cells.push(interval(diverged));
        }
        grid.add(paint, cells);
    }
    let free = look.room(grid.width_without(&[0]));
    grid.fill(0, shown.iter().map(|endpoint| cut_end(&printable(&endpoint.name), free)));
    finish(grid, mirror.endpoints.len(), "endpoint", look)
}

fn statuses(mirror: &Mirror, look: Look) -> Option<String> {
    let all = mirror.differing_status().of;
    let mut grid = Grid::new([("STATUS", Column::Left), ("PAIRS", Column::Right), ("SHARE", Column::Right)]);
    for row in first(&mirror.statuses, look) {
        let share = rate(Share::new(row.pairs, all));
        let (paint, codes) = if row.primary == row.candidate {
            (Paint::Plain, format!("{} on both sides", row.primary))
        } else {
            (Paint::Red, format!("{} → {}", row.primary, row.candidate))
        };
        grid.row(paint, [codes, thousands(row.pairs), share]);
    }
    finish(grid, mirror.statuses.len(), "pair of status codes", look)
}

fn latency(mirror: &Mirror, look: Look) -> Option<String> {
    let latency = mirror.latency.as_ref()?;
    let mut grid = Grid::new([
        ("LATENCY", Column::Left),
        ("PRIMARY", Column::Right),
        ("CANDIDATE", Column::Right),
        ("CHANGE", Column::Right),
    ]);
    let quantiles = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)];
    for (name, q) in quantiles {
        let (primary, candidate) = latency.quantile(q)?;
        let (primary, candidate) = (primary as f64, candidate as f64);
        let by = change(primary, candidate).unwrap_or_default();
        grid.row(Paint::Plain, [name.to_owned(), duration(primary), duration(candidate), by]);
    }
    finish(grid, quantiles.len(), "quantile", look)
}

fn gateways(report: &Report, look: Look) -> String {
    let mut grid = Grid::new([
        ("GATEWAY", Column::Left),
        ("MODULE", Column::Left),
        ("COMPARING", Column::Right),
        ("WORKERS", Column::Right),
        ("ENVOY", Column::Left),
        ("BUILD", Column::Left),
        ("UP", Column::Left),
    ]);
    for gateway in &report.gateways {
        let paint = if gateway.module == Module::Running { Paint::Plain } else { Paint::Yellow };
        let up = humantime::format_duration(Duration::from_secs(gateway.uptime)).to_string();
        let numbers = [gateway.alive, gateway.workers].map(|n| thousands(n.into()));
        let [alive, workers] = numbers;
        let [name, envoy, builds] =
            [&gateway.name, &gateway.envoy, &gateway.builds.join(", ")].map(|text| printable(text));
        grid.row(paint, [name, gateway.module.as_str().to_owned(), alive, workers, envoy, builds, up]);
    }
    grid.render(look.colour)
}

/// Where the numbers come from.
fn source(report: &Report) -> String {
    let workers = report.gateways.iter().map(|gateway| u64::from(gateway.workers)).sum();
    let versions = |versions: Vec<&str>| {
        let distinct: std::collections::BTreeSet<_> =
            versions.into_iter().filter(|version| !version.is_empty()).collect();
        distinct.into_iter().collect::<Vec<_>>().join(" and ")
    };
    let envoy = versions(report.gateways.iter().map(|gateway| gateway.envoy.as_str()).collect());
    let module = versions(report.gateways.iter().flat_map(|gateway| &gateway.builds).map(String::as_str).collect());
    let named =
        |what: &str, version: String| if version.is_empty() { String::new() } else { format!(", {what} {version}") };
    let from = match report.gateways.as_slice() {
        [gateway] => printable(&gateway.name),
        gateways => plural(gateways.len() as u64, "gateway"),
    };
    // Not every source knows it.
    let up = report.gateways.iter().map(|gateway| gateway.uptime).max().filter(|up| *up > 0).map(Duration::from_secs);
    let up = up.map_or_else(String::new, |up| format!(", up {}", humantime::format_duration(up)));
    let workers = plural(workers, "worker");
    let counted = span(report).map_or_else(String::new, |span| format!(" {span}"));
    format!("From {from}: {workers}{}{}{up}.{counted}", named("Envoy", envoy), named("module", module))
}

/// The table, where it has rows, with a line about those that were left out of `all`.
fn finish(grid: Grid, all: usize, one: &str, look: Look) -> Option<String> {
    let hidden = all.saturating_sub(look.rows()) as u64;
    match (all, hidden) {
        (0, _) => None,
        (_, 0) => Some(grid.render(look.colour)),
        _ => Some(format!("{}… and {} more (all with -o wide)\n", grid.render(look.colour), plural(hidden, one))),
    }
}

/// As many rows as are shown.
fn first<T>(all: &[T], look: Look) -> &[T] {
    all.get(..look.rows()).unwrap_or(all)
}

fn interval(share: Share) -> String {
    share.interval().map_or_else(|| "-".to_owned(), percent_range)
}

fn rate(share: Share) -> String {
    share.rate().map_or_else(|| "-".to_owned(), percent)
}

fn widest(texts: &[String]) -> usize {
    texts.iter().map(|text| width(text)).max().unwrap_or(0)
}

/// What one pair had at a place, in at most `most` columns: `10 → 12`. Where the two are too long and begin alike, what
/// they have in common is cut, so that the difference can be seen.
fn example(place: &Place, most: usize) -> String {
    const ARROW: &str = " → ";
    let Some(Example { primary, candidate, .. }) = &place.example else { return String::new() };
    let value = |value: &Option<String>| value.as_deref().map_or_else(|| ABSENT.to_owned(), printable);
    let (mut primary, mut candidate) = (value(primary), value(candidate));
    let most = most.saturating_sub(width(ARROW));
    if width(&primary).saturating_add(width(&candidate)) > most {
        (primary, candidate) = without_common_start(&primary, &candidate);
    }
    // A short value leaves its room to the other.
    let half = most / 2;
    let for_primary = width(&primary).min(half.max(most.saturating_sub(width(&candidate))));
    let for_candidate = most.saturating_sub(for_primary);
    format!("{}{ARROW}{}", cut_end(&primary, for_primary), cut_end(&candidate, for_candidate))
}

/// Cuts what two texts begin with alike, but for a few characters that show where one is.
fn without_common_start(a: &str, b: &str) -> (String, String) {
    const KEPT: usize = 5;
    let common = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    if common <= KEPT + 1 {
        return (a.to_owned(), b.to_owned());
    }
    let rest = |text: &str| format!("…{}", text.chars().skip(common - KEPT).collect::<String>());
    (rest(a), rest(b))
}

#[cfg(test)]
mod tests;
