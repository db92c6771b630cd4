//! The gateway pods that one EnvoyFilter reaches.

use std::collections::BTreeMap;
use std::fmt;

use mirror_core::config::fingerprint;

use crate::kinds::{EnvoyFilter, WorkloadSelector};

/// Gateway pods: those of a namespace that have all these labels.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Workload {
    /// Their namespace: an EnvoyFilter reaches pods of its own namespace only.
    pub namespace: String,
    /// Their labels, as Istio's Gateway selects them.
    pub labels: BTreeMap<String, String>,
}

impl Workload {
    /// Those that an EnvoyFilter reaches.
    pub fn of(filter: &EnvoyFilter) -> Self {
        let labels = filter.spec.workload_selector.as_ref().map(|selector| selector.labels.clone());
        Self { namespace: filter.metadata.namespace.clone().unwrap_or_default(), labels: labels.unwrap_or_default() }
    }

    /// As an EnvoyFilter selects them.
    pub(super) fn selector(&self) -> WorkloadSelector {
        WorkloadSelector { labels: self.labels.clone() }
    }

    /// As `kubectl -l` selects them, `a=b,c=d`.
    pub fn label_selector(&self) -> String {
        let pairs: Vec<_> = self.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        pairs.join(",")
    }

    /// What the names of objects for these pods end with. It is made of nothing but the labels, so it stays the same, and
    /// two workloads of one namespace have two: Istio's usual label `istio` gives its value alone, anything else also has
    /// a fingerprint.
    pub fn suffix(&self) -> String {
        let value = self.labels.get("istio").or_else(|| self.labels.values().next()).map_or("all", String::as_str);
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if self.labels.len() == 1 && self.labels.contains_key("istio") && value.chars().all(is_plain) {
            return value.to_owned();
        }
        let readable: String =
            value.chars().map(|c| c.to_ascii_lowercase()).map(|c| if is_plain(c) { c } else { '-' }).collect();
        format!("{readable}-{}", fingerprint(self.label_selector().as_bytes()))
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.label_selector())
    }
}
