//! Where the numbers come from.

use std::time::Duration;

use maud::{Markup, html};

use crate::report::model::Gateway;
use crate::report::text::printable;

/// The Envoys that were asked.
pub fn section(gateways: &[Gateway]) -> Markup {
    if gateways.is_empty() {
        return html! {};
    }
    html! {
        section aria-labelledby="gateways" {
            h2 id="gateways" { "Gateways" }
            div.scroll role="region" aria-label="Gateways" tabindex="0" {
                table {
                    thead {
                        tr {
                            th scope="col" { "Gateway" }
                            th scope="col" { "Workers comparing" }
                            th scope="col" { "Versions" }
                            th scope="col" { "Up" }
                        }
                    }
                    tbody { @for gateway in gateways { (row(gateway)) } }
                }
            }
        }
    }
}

fn row(gateway: &Gateway) -> Markup {
    let envoy = Some(&gateway.envoy).filter(|version| !version.is_empty()).map(|version| format!("Envoy {version}"));
    let modules = gateway.builds.iter().map(|version| format!("module {version}"));
    let versions: Vec<String> = envoy.into_iter().chain(modules).collect();
    html! {
        tr {
            th scope="row" { (printable(&gateway.name)) }
            td {
                @if gateway.alive < gateway.workers { strong.differs { (gateway.alive) " of " (gateway.workers) } }
                @else { (gateway.alive) " of " (gateway.workers) }
            }
            td { (printable(&versions.join(", "))) }
            td { (humantime::format_duration(Duration::from_secs(gateway.uptime))) }
        }
    }
}
