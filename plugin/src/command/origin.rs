//! Where gateways get the module of a WasmPlugin: options of the commands that put it there.

use anyhow::Result;

use crate::intent::Strategy;
use crate::istio::pin::pin;
use crate::istio::wasm_plugin::Origin;
use crate::knative::Refusal;

/// Where the module is.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Fetching {
    /// With --strategy wasmplugin: where gateways get the module, an image (oci://…) or a file (https://…). Needed where there
    /// is no WasmPlugin yet, or to change it.
    #[arg(long, value_name = "URL")]
    module_url: Option<String>,

    /// The module's checksum: for oci:// the image's digest (where it is left out, that of `kubectl mirror image`), else that of
    /// the file.
    #[arg(long, value_name = "HEX", requires = "module_url")]
    module_sha256: Option<String>,

    /// A Secret in the gateways' namespace with the credentials for the image.
    #[arg(long, value_name = "NAME", requires = "module_url")]
    image_pull_secret: Option<String>,
}

impl Fetching {
    /// Where the module is, if that was said.
    ///
    /// # Errors
    /// A module that is not pinned, and a strategy that has its own.
    pub fn origin(&self, strategy: Strategy) -> Result<Option<Origin>> {
        let Some(url) = &self.module_url else { return Ok(None) };
        if strategy != Strategy::WasmPlugin {
            let reason = "with the others, this program brings the module along";
            return Err(Refusal::OtherStrategy { option: "--module-url", strategies: "wasmplugin", reason }.into());
        }
        let module = pin(url, self.module_sha256.as_deref())?;
        Ok(Some(Origin { module, pull_secret: self.image_pull_secret.clone() }))
    }
}
