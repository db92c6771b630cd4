//! `kubectl mirror version`: of this plugin, of the filter that it carries, and of those on the gateways.

use std::fmt::Write as _;

use anyhow::Result;
use serde::Serialize;

use crate::cli::ExitStatus;
use crate::cluster::{Cluster, Connection};
use crate::command::common::{self, Format};
use crate::gateway::Gateways;
use crate::grid::{Column, Grid, Paint};
use crate::istio::install::{Installed, module_fingerprint};
use crate::istio::names;
use crate::module::MODULE;
use crate::output::{self, message};
use crate::steps::{gateways, installing, sending};

/// Show the version of this plugin, of the filter that it carries, and of those on the gateways.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only this plugin's; ask no cluster.
    #[arg(long)]
    client: bool,

    /// How to show them.
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,

    #[command(flatten)]
    connection: Connection,
}

/// What is shown; also the shape of JSON and YAML.
#[derive(Debug, Serialize)]
struct Versions {
    /// Of this plugin and the filter in it.
    plugin: &'static str,
    /// The fingerprint of the filter in it.
    module: String,
    /// On the gateways; null where no cluster was asked.
    gateways: Option<Vec<OnGateway>>,
}

/// What is on one gateway pod.
#[derive(Debug, Serialize)]
struct OnGateway {
    pod: String,
    /// The versions of the filter that run there.
    filter: Vec<String>,
    /// The version of the plugin that installed it; null where it is not installed.
    installed: Option<String>,
    /// Where a WasmPlugin gets the filter, with its checksum; null where there is none.
    wasm_plugin: Option<Fetched>,
    /// Whether it is the very filter that this plugin carries.
    same: bool,
    istio: Option<String>,
    envoy: Option<String>,
}

/// Where a WasmPlugin gets the filter.
#[derive(Clone, Debug, Serialize)]
struct Fetched {
    url: String,
    sha256: String,
}

/// Runs the command. A cluster that cannot be asked is no failure: the plugin's own version is known.
///
/// # Errors
/// Stdout cannot be written to.
pub async fn run(args: Args) -> Result<ExitStatus> {
    let mut versions = Versions { plugin: names::PLUGIN_VERSION, module: module_fingerprint(MODULE), gateways: None };
    if !args.client {
        match on_gateways(&args.connection, &versions.module).await {
            Ok(gateways) => versions.gateways = Some(gateways),
            Err(error) => message(format_args!("note: the gateways could not be asked: {error:#}")),
        }
    }
    output::data(&args.output.render(&versions, || table(&versions))?)?;
    Ok(ExitStatus::Success)
}

async fn on_gateways(connection: &Connection, module: &str) -> Result<Vec<OnGateway>> {
    let cluster: Cluster = connection.connect().await?;
    let mut all = Vec::new();
    for gateway in gateways::everywhere(&cluster).await? {
        let installed = common::seen(installing::installed(&cluster, &gateway).await)?;
        let installed = installed.map(|object| Installed::of(&object));
        let plugin = common::seen(sending::installed(&cluster, &gateway.workload).await)?;
        let plugin = plugin.map(|plugin| Fetched { url: plugin.spec.url, sha256: plugin.spec.sha256 });
        for view in Gateways::of(&cluster, &gateway.pods).view(&[]).await {
            let said = view.view.as_ref().ok();
            let instance = said.and_then(|view| view.snapshot.instances.first());
            all.push(OnGateway {
                pod: format!("{}/{}", gateway.workload.namespace, view.pod),
                filter: instance.map(|instance| instance.builds.clone()).unwrap_or_default(),
                installed: installed.as_ref().and_then(|installed| installed.version.clone()),
                wasm_plugin: plugin.clone(),
                same: installed.as_ref().is_some_and(|installed| installed.module.as_deref() == Some(module)),
                istio: said.and_then(|view| view.istio().map(str::to_owned)),
                envoy: said.map(|view| view.envoy().to_owned()),
            });
        }
    }
    Ok(all)
}

fn table(versions: &Versions) -> String {
    let mut text = format!("kubectl-mirror {}, filter {}\n", versions.plugin, versions.module);
    let Some(gateways) = versions.gateways.as_ref().filter(|gateways| !gateways.is_empty()) else { return text };
    let mut grid = Grid::new([
        ("GATEWAY POD", Column::Left),
        ("FILTER", Column::Left),
        ("SAME AS THIS", Column::Left),
        ("ISTIO", Column::Left),
        ("ENVOY", Column::Left),
    ]);
    for gateway in gateways {
        let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        let filter = match (gateway.filter.as_slice(), &gateway.installed) {
            _ if gateway.envoy.is_none() => "?".to_owned(),
            ([], None) => "none".to_owned(),
            ([], Some(version)) => format!("{version}, not running"),
            (running, _) => running.join(" and "),
        };
        let same = if gateway.same { "yes" } else { "no" };
        grid.row(
            Paint::Plain,
            [gateway.pod.clone(), filter, same.to_owned(), or_none(&gateway.istio), or_none(&gateway.envoy)],
        );
    }
    text.push('\n');
    text.push_str(&grid.render(output::look().colour));
    let mut fetched: Vec<_> = gateways.iter().filter_map(|gateway| gateway.wasm_plugin.as_ref()).collect();
    fetched.dedup_by(|a, b| a.url == b.url && a.sha256 == b.sha256);
    for Fetched { url, sha256 } in fetched {
        let _ = write!(text, "\nBy WasmPlugin: {url}\n  sha256 {sha256}\n");
    }
    text
}
