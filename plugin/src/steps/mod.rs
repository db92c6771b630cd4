//! What the cluster's commands are made of: each file is one step that reads or changes a cluster, and leaves it as it was
//! where the step fails.
//!
//! ```text
//! survey (the service) ─→ plan ─┬→ installing (the filter on the gateways) ─→ mirroring (the mirror's objects)
//! gateways (the pods) ──────────┘   or sending (the module in a WasmPlugin) ─→ mirroring, by sharing (several in one object)
//! inventory (which mirrors there are) ─→ standing (how each is, in each pod)
//! ```

pub mod gateways;
pub mod installing;
pub mod inventory;
pub mod mirroring;
pub mod rights;
pub mod sending;
pub mod sharing;
pub mod standing;
pub mod survey;
pub mod tagging;
pub mod waiting;

pub use gateways::GatewayPods;
pub use inventory::{Found, Inventory, Which, mirrors};
pub use standing::Standing;
pub use survey::{Survey, survey};
