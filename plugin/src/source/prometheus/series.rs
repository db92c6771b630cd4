//! What a series counts, and which gateway it is of: by its name as Envoy has it, or by the labels that
//! examples/monitoring/podmonitor.yaml makes of the name.

use std::collections::BTreeMap;

use mirror_core::divergence::Kind;
use mirror_core::outcome::Outcome;
use mirror_core::stats::names::{Metric, Named, PREFIX, Text, Word};

/// What a series is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// What to call the gateway: its pod, or the address that is scraped.
    pub gateway: String,
    /// What scraped it: all labels that do not belong to the metric.
    pub target: BTreeMap<String, String>,
    /// Whether the name is as Envoy has it.
    pub is_raw: bool,
    /// What it counts.
    pub metric: Metric,
}

/// The labels by which a gateway is called, the best one first.
const NAMES: [&str; 4] = ["pod", "pod_name", "kubernetes_pod_name", "instance"];
/// What stands for whatever had no name of its own.
const OTHER: &str = "_other";

/// What a series is of, by its labels; `None` where it is none of the module's.
pub fn origin(mut labels: BTreeMap<String, String>) -> Option<Origin> {
    let name = labels.remove("__name__")?;
    let is_raw = name.starts_with(PREFIX);
    let metric = if is_raw { Metric::decode(&name)? } else { relabelled(&name, &mut Labels(&mut labels))? };
    let gateway = NAMES.iter().find_map(|name| labels.get(*name)).cloned();
    Some(Origin { gateway: gateway.unwrap_or_else(|| "gateways".to_owned()), target: labels, is_raw, metric })
}

/// Labels, of which those that belong to the metric are taken out. An empty one is none to Prometheus.
struct Labels<'a>(&'a mut BTreeMap<String, String>);

impl Labels<'_> {
    fn take(&mut self, name: &str) -> String {
        self.0.remove(name).unwrap_or_default()
    }

    fn text(&mut self, name: &str) -> Text {
        Text::new(&self.take(name))
    }

    fn named(&mut self, name: &str) -> Named<Text> {
        match self.take(name).as_str() {
            OTHER => Named::Other,
            text => Named::One(Text::new(text)),
        }
    }

    fn word<W: Word>(&mut self, name: &str) -> Option<W> {
        W::from_word(&self.take(name))
    }
}

fn relabelled(name: &str, labels: &mut Labels<'_>) -> Option<Metric> {
    Some(match name {
        "mirror_pairs_total" => {
            let (class, reason) = (labels.take("outcome"), labels.take("reason"));
            let reason = Some(reason.as_str()).filter(|reason| !reason.is_empty());
            Metric::Pairs { mirror: labels.text("mirror"), outcome: Outcome::from_words(&class, reason)? }
        }
        "mirror_triples_total" => Metric::Triples { mirror: labels.text("mirror") },
        "mirror_endpoint_pairs_total" => Metric::Endpoint {
            mirror: labels.text("mirror"),
            class: labels.word("outcome")?,
            endpoint: labels.named("endpoint"),
        },
        "mirror_place_pairs_total" => Metric::Place {
            mirror: labels.text("mirror"),
            kind: Kind::from_word(&labels.take("kind"))?,
            tally: labels.word("tally")?,
            place: labels.named("place"),
        },
        "mirror_status_pairs_total" => {
            let (primary, candidate) = (labels.take("primary"), labels.take("candidate"));
            let statuses = match primary.as_str() {
                OTHER => Named::Other,
                primary => Named::One((primary.parse().ok()?, candidate.parse().ok()?)),
            };
            Metric::Status { mirror: labels.text("mirror"), statuses }
        }
        "mirror_answers_total" => Metric::Latency {
            mirror: labels.text("mirror"),
            side: labels.word("side")?,
            bucket: labels.take("bucket").parse().ok()?,
        },
        "mirror_diagnostics_total" => {
            let mirror = Some(labels.take("mirror")).filter(|mirror| !mirror.is_empty());
            Metric::Diagnostic { what: labels.word("what")?, mirror: mirror.as_deref().map(Text::new) }
        }
        "mirror_worker_last_tick_timestamp_seconds" => Metric::Alive { slot: labels.take("slot").parse().ok()? },
        "mirror_build_info" => Metric::Build { version: labels.text("version") },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn relabelled_series_count_what_their_names_did() {
        let mirror = ("mirror", "shop/a-b");
        for (name, made) in [
            (
                "mirror_v1__pairs__shop_2fa_2db__match__n",
                &[("__name__", "mirror_pairs_total"), mirror, ("outcome", "match")][..],
            ),
            (
                "mirror_v1__pairs__shop_2fa_2db__skipped__too_large__n",
                &[("__name__", "mirror_pairs_total"), mirror, ("outcome", "skipped"), ("reason", "too_large")],
            ),
            ("mirror_v1__triples__shop_2fa_2db__n", &[("__name__", "mirror_triples_total"), mirror]),
            (
                "mirror_v1__endpoint__shop_2fa_2db__match__GET_20_2f__n",
                &[("__name__", "mirror_endpoint_pairs_total"), mirror, ("outcome", "match"), ("endpoint", "GET /")],
            ),
            (
                "mirror_v1__endpoint__shop_2fa_2db__match___other__n",
                &[("__name__", "mirror_endpoint_pairs_total"), mirror, ("outcome", "match"), ("endpoint", "_other")],
            ),
            (
                "mirror_v1__place__shop_2fa_2db__value__secondary___2fx__n",
                &[
                    ("__name__", "mirror_place_pairs_total"),
                    mirror,
                    ("place", "/x"),
                    ("kind", "value"),
                    ("tally", "secondary"),
                ],
            ),
            (
                "mirror_v1__status__shop_2fa_2db__200__503__n",
                &[("__name__", "mirror_status_pairs_total"), mirror, ("primary", "200"), ("candidate", "503")],
            ),
            (
                "mirror_v1__status__shop_2fa_2db___other__n",
                &[("__name__", "mirror_status_pairs_total"), mirror, ("primary", "_other")],
            ),
            (
                "mirror_v1__latency__shop_2fa_2db__candidate__57__n",
                &[("__name__", "mirror_answers_total"), mirror, ("side", "candidate"), ("bucket", "57")],
            ),
            ("mirror_v1__diagnostic__orphan__n", &[("__name__", "mirror_diagnostics_total"), ("what", "orphan")]),
            (
                "mirror_v1__diagnostic__stray__shop_2fa_2db__n",
                &[("__name__", "mirror_diagnostics_total"), ("what", "stray"), mirror],
            ),
            ("mirror_v1__alive__2__n", &[("__name__", "mirror_worker_last_tick_timestamp_seconds"), ("slot", "2")]),
            ("mirror_v1__build__0_2e1_2e0__n", &[("__name__", "mirror_build_info"), ("version", "0.1.0")]),
        ] {
            let target = [("pod", "gw-0"), ("instance", "10.0.0.1:15090"), ("job", "kubectl-mirror")];
            let [raw, made] = [&[("__name__", name)][..], made]
                .map(|own| origin(labels(&[own, &target].concat())).unwrap_or_else(|| panic!("{own:?}")));
            assert_eq!((&raw.metric, &raw.gateway, &raw.target), (&made.metric, &made.gateway, &made.target), "{name}");
            assert_eq!((raw.is_raw, made.is_raw, raw.target), (true, false, labels(&target)));
        }
    }

    #[test]
    fn what_is_none_of_the_modules_is_passed_over() {
        for name in ["up", "mirror_v1__something__n", "mirror_pairs_total", "mirror_answers_total"] {
            assert_eq!(origin(labels(&[("__name__", name)])), None, "{name}");
        }
    }

    #[test]
    fn a_gateway_is_called_by_its_pod_or_else_by_its_address() {
        let name = ("__name__", "mirror_v1__alive__2__n");
        for (others, gateway) in [
            (&[("instance", "a:1"), ("pod", "gw-0")][..], "gw-0"),
            (&[("instance", "a:1"), ("job", "x")], "a:1"),
            (&[], "gateways"),
        ] {
            assert_eq!(origin(labels(&[&[name], others].concat())).expect("a metric").gateway, gateway);
        }
    }
}
