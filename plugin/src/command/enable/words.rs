//! What a mirror does, in words.

use std::time::Duration;

use mirror_core::config::safe_methods;

use crate::command::common;
use crate::knative::Plan;
use crate::output::message;

/// Warns of methods that change something.
pub(super) fn warn_of_methods(plan: &Plan) {
    let safe = safe_methods();
    let others: Vec<&str> =
        plan.intent.methods.iter().filter(|method| !safe.contains(method)).map(String::as_str).collect();
    if !others.is_empty() {
        message(format_args!(
            "warning: {} requests are copied too: what they change they change twice where both versions share their data",
            others.join(", ")
        ));
    }
}

/// What is copied, in one sentence.
pub(super) fn describe(plan: &Plan) -> String {
    let intent = &plan.intent;
    let hosts = plan.source.hosts(intent.through);
    let shown = match hosts.as_slice() {
        [] => String::new(),
        [host] => host.clone(),
        [host, others @ ..] => format!("{host} and {} more", crate::report::text::plural(others.len() as u64, "host")),
    };
    let secondary = plan.secondary.as_ref().map(|target| format!(", and once more to {}", target.revision));
    let until = intent.expires.map(|expires| {
        let at = std::time::UNIX_EPOCH + Duration::from_secs(expires);
        format!(", until {}", humantime::format_rfc3339_seconds(at))
    });
    format!(
        "{} of the {} requests to {shown} are copied to {}{}{}.",
        common::percent(intent.millionths),
        intent.methods.join(", "),
        plan.candidate.revision,
        secondary.unwrap_or_default(),
        until.unwrap_or_default(),
    )
}
