//! Mirrors for programs: one document, as JSON or YAML. The fields of a published schema stay; new ones may come.
//!
//! `kubectl-mirror.status/v1`:
//!
//! | field | is |
//! |---|---|
//! | `schema` | `kubectl-mirror.status/v1` |
//! | `unseen` | why the gateways could not be looked into, or null |
//! | `mirrors[]` | as follows, by namespace and name |
//! | `.namespace`, `.name` | the Route that is mirrored |
//! | `.state` | `Live`, `Degraded`, `Stale`, `Expired`, `Broken`, `Unreadable`, `Unknown` |
//! | `.strategy` | `overlay`, `virtualservice` or `wasmplugin` |
//! | `.intent` | what was asked for, as the objects keep it; null where it cannot be read |
//! | `.candidate`, `.secondary` | the clusters that copies go to, or null |
//! | `.hosts[]` | the hosts whose requests are copied |
//! | `.created`, `.expires` | seconds since the Unix epoch, or null |
//! | `.expired` | whether its time has run out |
//! | `.stale[]` | why its objects are not what would be written today |
//! | `.unserved_hosts[]` | hosts whose requests no gateway pod copies |
//! | `.impossible` | why it could not be made today, or null |
//! | `.unchecked` | why it is not known whether it is stale or impossible (rights are missing), or null |
//! | `.pods[]` | `pod`, `state` (one word), `advice` (a sentence), and where the pod could be asked `module`, `route`, `candidate` (its endpoints), `envoy`, `istio` |

use anyhow::Result;
use serde::Serialize;

use crate::gateway::{PodState, Route};
use crate::intent::Intent;
use crate::steps::Standing;
use crate::steps::standing::Look;

/// The schema's name and version.
const SCHEMA: &str = "kubectl-mirror.status/v1";

/// Writes mirrors as JSON, indented, with a newline at its end.
pub(super) fn render(standings: &[Standing], look: &Look) -> Result<String> {
    Ok(serde_json::to_string_pretty(&document(standings, look))? + "\n")
}

/// Writes the same as YAML.
pub(super) fn render_yaml(standings: &[Standing], look: &Look) -> Result<String> {
    Ok(serde_saphyr::to_string(&document(standings, look))?)
}

fn document<'a>(standings: &'a [Standing], look: &'a Look) -> Document<'a> {
    Document { schema: SCHEMA, unseen: look.unseen.as_deref(), mirrors: standings.iter().map(Mirror::from).collect() }
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    unseen: Option<&'a str>,
    mirrors: Vec<Mirror<'a>>,
}

#[derive(Serialize)]
struct Mirror<'a> {
    namespace: &'a str,
    name: &'a str,
    state: &'static str,
    strategy: String,
    intent: Option<&'a Intent>,
    candidate: Option<String>,
    secondary: Option<String>,
    hosts: Vec<String>,
    created: Option<i64>,
    expires: Option<u64>,
    expired: bool,
    stale: &'a [String],
    unserved_hosts: Vec<String>,
    impossible: Option<&'a str>,
    unchecked: Option<&'a str>,
    pods: Vec<Pod<'a>>,
}

#[derive(Serialize)]
struct Pod<'a> {
    pod: &'a str,
    state: String,
    advice: String,
    module: Option<&'static str>,
    route: Option<&'static str>,
    candidate: Option<String>,
    envoy: Option<&'a str>,
    istio: Option<&'a str>,
}

impl<'a> From<&'a Standing> for Mirror<'a> {
    fn from(standing: &'a Standing) -> Self {
        let found = &standing.found;
        let intent = found.intent.as_ref().ok();
        let mirror = found.mirror();
        Self {
            namespace: &found.name.namespace,
            name: &found.name.route,
            state: standing.state().as_str(),
            strategy: found.strategy().to_string(),
            intent,
            candidate: mirror.as_ref().map(|mirror| mirror.candidate.cluster.clone()),
            secondary: mirror.as_ref().and_then(|mirror| Some(mirror.secondary.as_ref()?.cluster.clone())),
            hosts: mirror.map(|mirror| mirror.hosts).unwrap_or_default(),
            created: found.created().map(|created| created.0.as_second()),
            expires: intent.and_then(|intent| intent.expires),
            expired: standing.expired,
            stale: &standing.stale,
            unserved_hosts: standing.unserved_hosts(),
            impossible: standing.impossible.as_deref(),
            unchecked: standing.unchecked.as_deref(),
            pods: standing.pods.iter().map(Pod::from).collect(),
        }
    }
}

impl<'a> From<&'a PodState> for Pod<'a> {
    fn from(pod: &'a PodState) -> Self {
        let found = pod.found.as_ref().ok();
        let route = |route: &Route| match route {
            Route::Absent => "absent",
            Route::Incomplete(_) => "incomplete",
            Route::Outdated => "outdated",
            Route::Live(_) => "live",
        };
        Self {
            pod: &pod.pod,
            state: pod.summary().to_string(),
            advice: pod.advice(),
            module: found.map(|found| found.module.as_str()),
            route: found.map(|found| route(&found.route)),
            candidate: found.map(|found| found.candidate.to_string()),
            envoy: found.map(|found| found.envoy.as_str()),
            istio: found.and_then(|found| found.istio.as_deref()),
        }
    }
}
