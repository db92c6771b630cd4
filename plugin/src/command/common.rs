//! Options that several commands share, and how kubectl words what was done.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, anyhow};
use clap::{ArgAction, ValueEnum};
use clap_complete::ArgValueCandidates;
use kube::Resource;
use mirror_core::config::safe_methods;
use serde::Serialize;
use serde_json::{Value, json};

use crate::cluster::{ApplyOptions, Change, Error};
use crate::completion;
use crate::envoy::{HeaderMatch, PathMatch};
use crate::intent::{Intent, MirrorName, Strategy, Through, To};
use crate::istio::yaml::to_yaml;
use crate::local;
use crate::output::{self, message};
use crate::rules;
use crate::steps::inventory::Unseen;
use crate::steps::mirroring::Objects;
use crate::steps::{Found, Which};
use crate::waypoint::Waypoint;

/// What is to be mirrored, and how.
#[derive(Clone, Debug, clap::Args)]
pub struct Wish {
    /// The version under test: a tag of the service, a revision's name, or another service as ksvc/NAME.
    #[arg(long, value_name = "TARGET", add = ArgValueCandidates::new(completion::targets))]
    pub to: To,

    /// The share of requests that is copied, in percent, to four decimals.
    #[arg(long, value_name = "PERCENT", default_value = "100", value_parser = local::parse_percent)]
    pub percent: u32,

    /// Copy only these methods, separated by commas. What others than GET, HEAD and OPTIONS change they change twice where
    /// both versions share their data.
    #[arg(long, value_name = "METHODS", value_delimiter = ',', default_values_t = safe_methods(),
        value_parser = local::parse_method)]
    pub methods: Vec<String>,

    /// Send a second copy to the version that users are served by, to learn what differs by itself.
    #[arg(long)]
    pub secondary: bool,

    /// What to ignore and how closely to compare, in YAML.
    #[arg(long, value_name = "FILE")]
    pub rules: Option<PathBuf>,

    /// Which calls are mirrored: those from outside, those from inside the cluster, or both.
    #[arg(long = "gateway", value_name = "GATEWAY", value_enum, default_value_t)]
    pub through: Through,

    /// How the mirror is put into the gateways: merged into Knative's live routes, which needs rights to the gateways; as a
    /// VirtualService ahead of Knative's; or told to a module that a WasmPlugin brings and that copies by itself.
    #[arg(long, value_name = "STRATEGY", value_enum)]
    pub strategy: Option<Strategy>,

    /// Mirror what passes this waypoint of an ambient mesh, by the name of its Gateway, instead of Knative's gateways; with
    /// --strategy wasmplugin. The waypoint must serve the Services of both versions.
    #[arg(long, value_name = "[NAMESPACE/]NAME")]
    pub waypoint: Option<Waypoint>,

    /// Draw the sample by this request header, so that one user is always in or always out; requests without it are not
    /// copied.
    #[arg(long, value_name = "HEADER")]
    pub sticky: Option<String>,

    /// Copy only requests with this header: NAME, NAME=VALUE or NAME=PREFIX*. May be given several times; all must hold.
    #[arg(long = "header", value_name = "MATCH")]
    pub headers: Vec<HeaderMatch>,

    /// Copy only requests to this path: /PATH or /PREFIX*. May be given several times; one must hold.
    #[arg(long = "path", value_name = "MATCH")]
    pub paths: Vec<PathMatch>,
}

impl Wish {
    /// The wish as a mirror's objects keep it, with the strategy that is meant where none is said.
    ///
    /// # Errors
    /// Rules that cannot be read.
    pub fn intent(&self, strategy: Strategy) -> Result<Intent> {
        Ok(Intent {
            to: self.to.clone(),
            millionths: self.percent,
            methods: self.methods.clone(),
            secondary: self.secondary,
            rules: self.rules.as_deref().map(rules::read).transpose()?.unwrap_or_default(),
            through: self.through,
            strategy: self.strategy.unwrap_or(strategy),
            waypoint: self.waypoint.clone(),
            sticky: self.sticky.clone(),
            headers: self.headers.iter().map(ToString::to_string).collect(),
            paths: self.paths.iter().map(ToString::to_string).collect(),
            expires: None,
            tag_added: None,
        })
    }
}

/// How an object is applied.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Applying {
    /// Change nothing: show what would be done (client), or let the server check it without keeping it (server).
    #[arg(long, value_name = "MODE", value_enum, default_value_t)]
    pub dry_run: DryRun,

    /// Print the objects.
    #[arg(short, long, value_name = "FORMAT", value_enum)]
    pub output: Option<ObjectFormat>,

    /// Take over fields of the objects that others manage.
    #[arg(long)]
    pub force_conflicts: bool,
}

/// How a command that has one table shows what it found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Table,
    /// For programs.
    Json,
    /// For programs and people.
    Yaml,
}

impl Format {
    /// What was found, in this format: `table` makes the text for people.
    ///
    /// # Errors
    /// What cannot be written as JSON or YAML.
    pub fn render(self, found: &impl Serialize, table: impl FnOnce() -> String) -> Result<String> {
        Ok(match self {
            Self::Table => table(),
            Self::Json => serde_json::to_string_pretty(found)? + "\n",
            Self::Yaml => serde_saphyr::to_string(found)?,
        })
    }
}

/// Whether anything is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum DryRun {
    /// Apply.
    #[default]
    None,
    /// Show what would be applied.
    Client,
    /// Let the server check what would be applied.
    Server,
}

/// How objects are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ObjectFormat {
    /// As kubectl apply takes them.
    Yaml,
    /// As a list.
    Json,
    /// Kind and name alone.
    Name,
}

/// How long to wait for the gateways.
#[derive(Clone, Debug, clap::Args)]
pub struct Waiting {
    /// Wait until every gateway pod is there; --wait=false does not.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = ArgAction::Set, num_args = 0..=1,
        default_missing_value = "true", require_equals = true)]
    pub wait: bool,

    /// The longest to wait, for example 90s or 5m.
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = humantime::parse_duration)]
    pub timeout: Duration,
}

impl Applying {
    /// The same for the API server.
    pub fn options(&self) -> ApplyOptions {
        ApplyOptions { force_conflicts: self.force_conflicts, dry_run: self.dry_run == DryRun::Server }
    }
}

impl Waiting {
    /// How long to wait, if at all.
    pub fn limit(&self) -> Option<Duration> {
        self.wait.then_some(self.timeout)
    }
}

impl DryRun {
    /// What kubectl adds to its messages where nothing is kept.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Client => " (dry run)",
            Self::Server => " (server dry run)",
        }
    }
}

/// Reads the name of a service, as kubectl's users may write it: `hello`, or with its kind, `ksvc/hello`.
///
/// # Errors
/// Other kinds, and no name.
pub fn parse_service(text: &str) -> Result<String, String> {
    let name = match text.split_once('/') {
        None => text,
        Some(("ksvc" | "service" | "services" | "kservice" | "route" | "routes" | "rt", name)) => name,
        Some((kind, _)) => {
            return Err(format!("`{kind}` is no kind that can be mirrored: expected a Knative Service or Route"));
        }
    };
    let is_good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
    if name.is_empty() || !name.chars().all(is_good) {
        return Err(format!("`{name}` is no name of a Kubernetes object"));
    }
    Ok(name.to_owned())
}

/// What becomes of a mirror that is enabled, where nothing is applied.
pub fn change_of(before: Option<&Found>) -> Change {
    if before.is_some() { Change::Configured } else { Change::Created }
}

/// Says on stdout what was done, see [`sentence`].
///
/// # Errors
/// Stdout cannot be written to.
pub fn said(kind: &str, name: &str, what: impl std::fmt::Display, dry_run: DryRun) -> Result<()> {
    output::data(&(sentence(kind, name, what, dry_run) + "\n"))
}

/// What was done, in kubectl's words: `mirror.kubectl-mirror/hello created`.
pub fn sentence(kind: &str, name: &str, what: impl std::fmt::Display, dry_run: DryRun) -> String {
    format!("{kind}.kubectl-mirror/{name} {what}{}", dry_run.suffix())
}

/// Prints objects on stdout.
///
/// # Errors
/// Stdout cannot be written to.
pub fn print(objects: &Objects, format: ObjectFormat) -> Result<()> {
    let mut values = Vec::new();
    for object in &objects.overlays {
        values.push(value(object)?);
    }
    if let Some(object) = &objects.virtual_service {
        values.push(value(object)?);
    }
    for held in &objects.held {
        values.push(value(&held.plugin)?);
    }
    print_values(&values, format)
}

/// Prints objects on stdout, each as JSON has it.
///
/// # Errors
/// Stdout cannot be written to.
pub fn print_values(values: &[Value], format: ObjectFormat) -> Result<()> {
    output::data(&match format {
        ObjectFormat::Yaml => to_yaml(values)?,
        ObjectFormat::Json => {
            let list = match values {
                [one] => one.clone(),
                all => json!({ "apiVersion": "v1", "kind": "List", "items": all }),
            };
            serde_json::to_string_pretty(&list)? + "\n"
        }
        ObjectFormat::Name => values.iter().map(|value| kubectl_name(value) + "\n").collect(),
    })
}

/// An object with its kind first, without the server's notes on who set what.
///
/// # Errors
/// None of this program's kinds has any.
pub fn value<K: Resource<DynamicType = ()> + Serialize>(object: &K) -> Result<Value> {
    let mut fields = serde_json::to_value(object)?;
    if let Some(metadata) = fields["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    let mut value = json!({ "apiVersion": K::api_version(&()), "kind": K::kind(&()) });
    for field in ["metadata", "spec"] {
        value[field] = fields[field].take();
    }
    Ok(value)
}

/// `envoyfilter.networking.istio.io/NAME`
fn kubectl_name(value: &Value) -> String {
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let group = text("/apiVersion").split_once('/').map_or("", |(group, _)| group);
    format!("{}.{group}/{}", text("/kind").to_lowercase(), text("/metadata/name"))
}

/// A share in millionths, in percent: `5 %`, `0.25 %`.
pub fn percent(millionths: u32) -> String {
    format!("{} %", f64::from(millionths) / 10_000.0)
}

/// As kubectl does: that there are none is said, that a named one is not there is an error.
///
/// # Errors
/// The one that is not there.
pub fn none_found(which: Which<'_>) -> Result<()> {
    match which {
        Which::One(name) => return Err(not_found(name)),
        Which::Namespace(namespace) => message(format_args!("No mirrors found in namespace {namespace}.")),
        Which::All => message("No mirrors found."),
    }
    Ok(())
}

/// That there is no mirror of this name.
pub fn not_found(name: &MirrorName) -> anyhow::Error {
    anyhow!(
        "mirror.kubectl-mirror \"{}\" not found in namespace {}; see `kubectl mirror list -A`",
        name.route,
        name.namespace
    )
}

/// Says which objects could not be looked at.
pub fn unseen(what: &[Unseen]) {
    for what in what {
        message(format_args!("note: not all can be seen, a right is missing: {what}"));
    }
}

/// An installation, where the user may look and the cluster knows the kind.
///
/// # Errors
/// Any other error.
pub fn seen<T>(found: Result<Option<T>>) -> Result<Option<T>> {
    match found {
        Err(error) if error.downcast_ref().is_some_and(|error: &Error| error.is_forbidden() || error.is_no_kind()) => {
            Ok(None)
        }
        found => found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_named_with_or_without_their_kind() {
        for (text, name) in [("hello", Some("hello")), ("ksvc/hello", Some("hello")), ("route/a.b", Some("a.b"))] {
            assert_eq!(parse_service(text).ok().as_deref(), name, "{text}");
        }
        for text in ["deploy/hello", "ksvc/", "Hello", "a b", ""] {
            assert!(parse_service(text).is_err(), "{text}");
        }
    }

    #[test]
    fn shares_are_shown_as_they_were_given() {
        for (millionths, text) in [(50_000, "5 %"), (2_500, "0.25 %"), (1, "0.0001 %"), (1_000_000, "100 %")] {
            assert_eq!(percent(millionths), text);
        }
    }
}
