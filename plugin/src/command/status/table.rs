//! Mirrors for people: a row for each, and for each gateway pod; what is wrong below, with what to do.

use std::fmt::Write as _;

use super::Detail;
use crate::command::common::percent;
use crate::gateway::{Found as OnPod, Route};
use crate::grid::{Column, Grid, Paint, wrap};
use crate::intent::Intent;
use crate::output;
use crate::source::Module;
use crate::steps::Standing;
use crate::steps::standing::{Look, State, now};

/// Writes mirrors as text. `all` adds their namespaces.
pub(super) fn render(standings: &[Standing], look: &Look, detail: Detail, wide: bool, all: bool) -> String {
    let screen = output::look();
    let mut text = mirrors(standings, wide, all).render(screen.colour);
    if detail == Detail::Pods {
        for standing in standings {
            text.push('\n');
            text.push_str(&pods(standing, wide).map(|grid| grid.render(screen.colour)).unwrap_or_default());
            for (paint, line) in remarks(standing, look) {
                let line = wrap(&line, screen.width.max(72), 2);
                let _ = writeln!(text, "{}", paint.on(&line, screen.colour));
            }
        }
    }
    text
}

fn mirrors(standings: &[Standing], wide: bool, all: bool) -> Grid {
    let mut heading = Vec::new();
    if all {
        heading.push(("NAMESPACE", Column::Left));
    }
    heading.extend([
        ("NAME", Column::Left),
        ("TO", Column::Left),
        ("PERCENT", Column::Right),
        ("STRATEGY", Column::Left),
        ("GATEWAYS", Column::Left),
        ("STATE", Column::Left),
        ("AGE", Column::Left),
    ]);
    if wide {
        heading.extend([("REVISION", Column::Left), ("METHODS", Column::Left), ("HOSTS", Column::Left)]);
        heading.push(("EXPIRES", Column::Left));
    }
    let mut grid = Grid::of(heading);
    for standing in standings {
        let found = &standing.found;
        let intent = found.intent.as_ref().ok();
        let text = |of: fn(&Intent) -> String| intent.map_or_else(|| "?".to_owned(), of);
        let mut cells = Vec::new();
        if all {
            cells.push(found.name.namespace.clone());
        }
        cells.extend([
            found.name.route.clone(),
            text(|intent| intent.to.to_string()),
            text(|intent| percent(intent.millionths)),
            found.strategy().to_string(),
            if standing.pods.is_empty() {
                "?".to_owned()
            } else {
                format!("{}/{}", standing.live(), standing.pods.len())
            },
            standing.state().as_str().to_owned(),
            age(standing),
        ]);
        if wide {
            let mirror = found.mirror();
            let revision = mirror.as_ref().map(|mirror| {
                mirror
                    .candidate
                    .knative
                    .as_ref()
                    .map_or(mirror.candidate.cluster.clone(), |target| target.revision.clone())
            });
            cells.extend([
                revision.unwrap_or_else(|| "?".to_owned()),
                text(|intent| intent.methods.join(",")),
                mirror.map_or_else(|| "?".to_owned(), |mirror| mirror.hosts.join(",")),
                intent.and_then(|intent| intent.expires).map_or_else(|| "never".to_owned(), expires),
            ]);
        }
        let paint = match standing.state() {
            State::Live => Paint::Green,
            State::Expired | State::Unknown => Paint::Plain,
            State::Degraded | State::Stale => Paint::Yellow,
            State::Broken | State::Unreadable => Paint::Red,
        };
        grid.add(paint, cells);
    }
    grid
}

fn age(standing: &Standing) -> String {
    let Some(created) = standing.found.created() else { return "?".to_owned() };
    let created = u64::try_from(created.0.as_second()).unwrap_or(0);
    short(now().saturating_sub(created))
}

fn expires(at: u64) -> String {
    match at.checked_sub(now()) {
        Some(left) if left > 0 => format!("in {}", short(left)),
        _ => "expired".to_owned(),
    }
}

/// A duration as kubectl shows ages: its two greatest units at most.
fn short(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86400, seconds / 3600, seconds / 60);
    match seconds {
        0..=119 => format!("{seconds}s"),
        120..=599 if !seconds.is_multiple_of(60) => format!("{minutes}m{}s", seconds % 60),
        120..=10_799 => format!("{minutes}m"),
        10_800..=28_799 if !minutes.is_multiple_of(60) => format!("{hours}h{}m", minutes % 60),
        10_800..=172_799 => format!("{hours}h"),
        172_800..=691_199 if !hours.is_multiple_of(24) => format!("{days}d{}h", hours % 24),
        _ => format!("{days}d"),
    }
}

fn pods(standing: &Standing, wide: bool) -> Option<Grid> {
    if standing.pods.is_empty() {
        return None;
    }
    let mut heading = vec![
        ("GATEWAY POD", Column::Left),
        ("FILTER", Column::Left),
        ("ROUTES", Column::Left),
        ("CANDIDATE", Column::Left),
        ("STATE", Column::Left),
    ];
    if wide {
        heading.extend([("ISTIO", Column::Left), ("ENVOY", Column::Left)]);
    }
    let mut grid = Grid::of(heading);
    for pod in &standing.pods {
        let found = pod.found.as_ref().ok();
        let text = |of: fn(&OnPod) -> String| found.map_or_else(|| "?".to_owned(), of);
        let mut cells = vec![
            pod.pod.clone(),
            text(|found| module(found.module).to_owned()),
            text(|found| route(&found.route)),
            text(|found| found.candidate.to_string()),
            pod.summary().to_string(),
        ];
        if wide {
            cells.extend([
                text(|found| found.istio.clone().unwrap_or_else(|| "-".to_owned())),
                text(|found| found.envoy.clone()),
            ]);
        }
        grid.add(if pod.is_live() { Paint::Plain } else { Paint::Yellow }, cells);
    }
    Some(grid)
}

fn module(module: Module) -> &'static str {
    match module {
        Module::Running => "compares",
        Module::Stopped => "stopped",
        Module::Rejected => "rejected",
        Module::Unfetched => "unfetched",
        Module::Waiting => "waiting",
        Module::Missing => "missing",
    }
}

fn route(route: &Route) -> String {
    match route {
        Route::Absent => "absent".to_owned(),
        Route::Incomplete(_) => "incomplete".to_owned(),
        Route::Outdated => "outdated".to_owned(),
        Route::Live(n) => format!("{n} live"),
    }
}

/// What is wrong, and what to do.
fn remarks(standing: &Standing, look: &Look) -> Vec<(Paint, String)> {
    let mut remarks = Vec::new();
    let name = &standing.found.name;
    if let Err(error) = &standing.found.intent {
        remarks.push((Paint::Red, format!("{name}: {error}")));
    }
    if standing.expired {
        let line = format!("Its time has run out: nothing is copied. Remove it: kubectl mirror disable {}", name.route);
        remarks.push((Paint::Yellow, line));
    }
    // Without what was asked for there is no second reason to be told.
    if let (Some(reason), Ok(_)) = (&standing.impossible, &standing.found.intent) {
        remarks.push((Paint::Red, format!("It could not be made today: {reason}")));
    }
    if let Some(reason) = &standing.unchecked {
        remarks.push((Paint::Plain, format!("Whether it is up to date is not known: {reason}")));
    }
    if !standing.stale.is_empty() {
        let reasons = standing.stale.join("; ");
        remarks.push((Paint::Yellow, format!("Stale: {reasons}. Rebuild it: kubectl mirror sync {}", name.route)));
    }
    for host in standing.unserved_hosts() {
        let line = format!(
            "No gateway pod copies requests to {host}: another VirtualService may be in front of Knative's for it."
        );
        remarks.push((Paint::Yellow, line));
    }
    for pod in standing.pods.iter().filter(|pod| !pod.is_live()) {
        remarks.push((Paint::Yellow, format!("{}: {}", pod.pod, pod.advice())));
    }
    if let Some(why) = &look.unseen {
        remarks.push((Paint::Plain, format!("The gateways cannot be looked into: {why}")));
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_shown_as_kubectl_does() {
        for (seconds, text) in [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_860, "3h1m"),
            (28_800, "8h"),
            (172_800, "2d"),
            (176_400, "2d1h"),
            (864_000, "10d"),
        ] {
            assert_eq!(short(seconds), text);
        }
    }
}
