//! Istio's control plane, and what its chart installs beside it.

use std::net::SocketAddr;
use std::process::Command;

use serde_json::json;

use super::folder::{self, Folder};
use super::kubernetes::{Behind, Kubernetes};
use super::objects::Objects;
use super::program::Program;
use super::{ISTIO_SYSTEM, ports};
use crate::client::{Protocol, Request, once};

/// The version that the control plane's pod tells.
const VERSION: &str = "1.32.0";

/// A running control plane.
#[derive(Debug)]
pub struct Istio {
    discovery: Program,
    xds: SocketAddr,
}

impl Istio {
    /// Starts it and waits until it is ready.
    pub async fn start(folder: &Folder, kubernetes: &Kubernetes, objects: &Objects) -> Self {
        // Envoys that are not Istio's lack its filters and certificates.
        let mesh = "rootNamespace: istio-system\ntrustDomain: cluster.local\nenableAutoMtls: false\n";
        objects
            .apply(json!({
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "istio", "namespace": ISTIO_SYSTEM},
                "data": {"mesh": mesh, "meshNetworks": "networks: {}"},
            }))
            .await;
        let Discovery { program: discovery, http, xds, monitoring } =
            Discovery::start(folder, kubernetes, "istiod", &[]).await;
        let labels = json!({"app": "istiod", "istio": "pilot", "istio.io/rev": "default"});
        let spec = json!({"containers": [{"name": "discovery", "image": format!("istio/pilot:{VERSION}")}]});
        objects
            .apply(json!({
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": "istiod", "namespace": ISTIO_SYSTEM, "labels": labels},
                "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": spec}},
            }))
            .await;
        let pod = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "istiod-0", "namespace": ISTIO_SYSTEM, "labels": labels},
            "spec": spec,
        });
        kubernetes.run_pod(objects, pod, "127.0.1.100").await;
        let ports = vec![(8080, http), (15010, xds), (15014, monitoring)];
        kubernetes.stand_behind(ISTIO_SYSTEM, "istiod-0", &Behind { ports, log: discovery.log() });
        Self { discovery, xds }
    }

    /// Where it gives Envoys their configuration, without TLS.
    pub fn xds(&self) -> SocketAddr {
        self.xds
    }

    /// All that runs.
    pub fn programs(&self) -> impl Iterator<Item = &Program> {
        std::iter::once(&self.discovery)
    }
}

/// One process of the control plane.
#[derive(Debug)]
pub struct Discovery {
    /// The process.
    pub program: Program,
    http: SocketAddr,
    /// Where it gives Envoys their configuration, without TLS.
    pub xds: SocketAddr,
    monitoring: SocketAddr,
}

impl Discovery {
    /// Starts it with these variables beside its usual ones, and waits until it is ready.
    pub async fn start(
        folder: &Folder,
        kubernetes: &Kubernetes,
        name: &'static str,
        variables: &[(&str, &str)],
    ) -> Self {
        let [http, https, xds, secure_xds, monitoring, control] =
            std::array::from_fn(|_| SocketAddr::from(([127, 0, 0, 1], ports::free())));
        let mut command = Command::new(folder::tool("pilot-discovery"));
        command.args(["discovery", "--domain", "cluster.local", "--kubeconfig"]);
        command.arg(kubernetes.admin().kubeconfig());
        command.args(["--httpAddr", &http.to_string(), "--httpsAddr", &https.to_string()]);
        command.args(["--grpcAddr", &xds.to_string(), "--secureGRPCAddr", &secure_xds.to_string()]);
        command.args(["--monitoringAddr", &monitoring.to_string(), "--ctrlz_port", &control.port().to_string()]);
        command.envs([
            ("POD_NAME", &*format!("{name}-0")),
            ("POD_NAMESPACE", ISTIO_SYSTEM),
            ("SERVICE_ACCOUNT", "istiod"),
            ("REVISION", "default"),
            ("CLUSTER_ID", "Kubernetes"),
            ("PILOT_CERT_PROVIDER", "istiod"),
            // Filters that only Istio's proxy has.
            ("PILOT_ENABLE_ALPN_FILTER", "false"),
            ("PILOT_ENABLE_METADATA_EXCHANGE", "false"),
            ("PILOT_ENABLE_ANALYSIS", "false"),
            ("INJECTION_WEBHOOK_CONFIG_NAME", ""),
            ("VALIDATION_WEBHOOK_CONFIG_NAME", ""),
            ("PILOT_DEBOUNCE_AFTER", "20ms"),
        ]);
        command.envs(variables.iter().copied());
        let program = Program::start(folder, name, command);
        program
            .ready(async || {
                let answer = once(http, Protocol::Http1, &Request::get("/ready")).await.ok()?;
                (answer.status == 200).then_some(())
            })
            .await;
        Self { program, http, xds, monitoring }
    }
}
