//! Kubernetes itself: etcd, the API server, and one node with a kubelet whose pods are processes of this machine.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};

use super::folder::{self, Folder};
use super::objects::Objects;
use super::program::Program;
use super::user::User;
use super::{ISTIO_SYSTEM, ports};

/// The node that all pods are on.
const NODE: &str = "rig-node";

const ADMIN_TOKEN: &str = "the-admin-of-a-cluster-on-loopback";

/// The running programs.
#[derive(Debug)]
pub struct Kubernetes {
    etcd: Program,
    api_server: Program,
    kubelet: Program,
    kubelet_port: u16,
    server: String,
    authority: PathBuf,
    admin: User,
    pods: Mutex<BTreeMap<String, Value>>,
    pods_file: PathBuf,
    folder: Folder,
}

impl Kubernetes {
    /// Starts all and waits until the API server is ready.
    pub async fn start(folder: &Folder) -> Self {
        let etcd_client = format!("http://127.0.0.1:{}", ports::free());
        let etcd = Program::start(folder, "etcd", etcd(&folder.folder("etcd"), &etcd_client));

        let port = ports::free();
        let keys = folder.folder("keys");
        let tokens = folder.file("tokens.csv");
        std::fs::write(&tokens, format!("{ADMIN_TOKEN},admin,admin,system:masters\n")).expect("the token is written");
        let api_server = Program::start(folder, "kube-apiserver", api_server(port, &etcd_client, &keys, &tokens));

        let (kubelet_port, pods_file) = (ports::free(), folder.file("pods.json"));
        std::fs::write(&pods_file, "{}").expect("the pods are written");
        let kubelet = Program::start(folder, "kubelet", kubelet(kubelet_port, &pods_file));

        let server = format!("https://127.0.0.1:{port}");
        // The API server makes a certificate for itself; the file holds its authority's too.
        let authority = keys.join("apiserver.crt");
        let admin = User::new(folder, "admin", &server, &authority, ADMIN_TOKEN);
        let kubernetes = Self {
            etcd,
            api_server,
            kubelet,
            kubelet_port,
            server,
            authority,
            admin,
            pods: Mutex::default(),
            pods_file,
            folder: folder.clone(),
        };
        let ready = async || {
            let request = http::Request::get("/readyz").body(Vec::new()).expect("a request");
            client_of(kubernetes.admin.kubeconfig()).await?.request_text(request).await.ok()
        };
        kubernetes.api_server.ready(ready).await;
        kubernetes
    }

    /// Makes the node and the kinds that the cluster knows.
    pub async fn install(&self, objects: &Objects) {
        let definitions = folder::tool("crds");
        let definitions = definitions.to_str().expect("a path in UTF-8");
        self.admin.kubectl_ok(&["apply", "--server-side", "--filename", definitions]);
        self.admin.kubectl_ok(&["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"]);
        for namespace in ["knative-serving", ISTIO_SYSTEM] {
            objects.apply(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})).await;
        }
        objects
            .apply(json!({
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": NODE},
                "status": {
                    "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
                    "conditions": [{"type": "Ready", "status": "True"}],
                    "daemonEndpoints": {"kubeletEndpoint": {"Port": self.kubelet_port}},
                },
            }))
            .await;
    }

    /// A client of the user who may do everything.
    pub async fn client(&self) -> Client {
        client_of(self.admin.kubeconfig()).await.expect("a client")
    }

    /// The user who may do everything.
    pub fn admin(&self) -> &User {
        &self.admin
    }

    /// The service account `name` in `namespace` as a user.
    pub async fn user(&self, objects: &Objects, namespace: &str, name: &str) -> User {
        let metadata = json!({"name": name, "namespace": namespace});
        objects.apply(json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})).await;
        let token = self.admin.kubectl_ok(&["create", "token", name, "--namespace", namespace]);
        User::new(&self.folder, &format!("{namespace}.{name}"), &self.server, &self.authority, token.trim())
    }

    /// Lets the kubelet know what is behind a pod.
    pub fn stand_behind(&self, namespace: &str, pod: &str, behind: &Behind) {
        let ports: BTreeMap<_, _> = behind.ports.iter().map(|(port, to)| (port.to_string(), to.to_string())).collect();
        let mut pods = self.pods.lock().expect("no poison");
        pods.insert(format!("{namespace}/{pod}"), json!({"ports": ports, "log": behind.log}));
        // A rename, so that the kubelet never reads half a file.
        let part = self.pods_file.with_extension("part");
        std::fs::write(&part, json!(*pods).to_string()).expect("the pods are written");
        std::fs::rename(part, &self.pods_file).expect("the pods are in place");
    }

    /// Makes a pod that runs. `pod` says its metadata and spec.
    pub async fn run_pod(&self, objects: &Objects, mut pod: Value, address: &str) {
        let containers = pod["spec"]["containers"].as_array().cloned().unwrap_or_default();
        let started = "2026-01-01T00:00:00Z";
        let statuses: Vec<_> = containers.iter().map(|container| json!({
            "name": container["name"], "image": container["image"], "imageID": "", "ready": true, "started": true,
            "restartCount": 0, "state": {"running": {"startedAt": started}},
        })).collect();
        let conditions = ["Initialized", "Ready", "ContainersReady", "PodScheduled"];
        let conditions = conditions.map(|kind| json!({"type": kind, "status": "True", "lastTransitionTime": started}));
        pod["spec"]["nodeName"] = json!(NODE);
        pod["status"] = json!({
            "phase": "Running", "conditions": conditions, "containerStatuses": statuses, "startTime": started,
            "hostIP": "127.0.0.1", "podIP": address, "podIPs": [{"ip": address}],
        });
        objects.apply(pod).await;
    }

    /// All that runs.
    pub fn programs(&self) -> impl Iterator<Item = &Program> {
        [&self.etcd, &self.api_server, &self.kubelet].into_iter()
    }
}

/// What a pod really is.
#[derive(Debug)]
pub struct Behind {
    /// Its ports, and where each leads.
    pub ports: Vec<(u16, SocketAddr)>,
    /// The file that is its log.
    pub log: PathBuf,
}

async fn client_of(kubeconfig: &Path) -> Option<Client> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).ok()?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.ok()?;
    Client::try_from(config).ok()
}

fn kube(program: &str) -> Command {
    let mut command = Command::new(folder::tool("kube"));
    command.arg(program);
    command
}

fn etcd(data: &Path, client: &str) -> Command {
    let peer = format!("http://127.0.0.1:{}", ports::free());
    let mut command = kube("etcd");
    command.arg("--data-dir").arg(data);
    command.args(["--listen-client-urls", client, "--advertise-client-urls", client]);
    command.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
    command.args(["--initial-cluster", &format!("default={peer}"), "--unsafe-no-fsync", "--log-level", "warn"]);
    command
}

fn api_server(port: u16, etcd: &str, keys: &Path, tokens: &Path) -> Command {
    let mut command = kube("kube-apiserver");
    command.args(["--bind-address", "127.0.0.1", "--advertise-address", "127.0.0.1", "--secure-port"]);
    command.arg(port.to_string());
    command.args(["--etcd-servers", etcd, "--service-cluster-ip-range", "10.96.0.0/16"]);
    // Nobody has to find the API server by a Service, whose endpoints cannot be on loopback.
    command.args(["--endpoint-reconciler-type", "none"]);
    command.args(["--authorization-mode", "RBAC", "--token-auth-file"]).arg(tokens);
    command.arg("--cert-dir").arg(keys);
    // It makes the key of its own certificate before it looks for this one: that one will do.
    let key = keys.join("apiserver.key");
    command.arg("--service-account-key-file").arg(&key).arg("--service-account-signing-key-file").arg(&key);
    command.args(["--service-account-issuer", "https://kubernetes.default.svc"]);
    // The default service accounts would be made by a controller.
    command.args(["--disable-admission-plugins", "ServiceAccount"]);
    command.args(["--kubelet-preferred-address-types", "InternalIP"]);
    command
}

fn kubelet(port: u16, pods: &Path) -> Command {
    let mut command = kube("kubelet");
    command.args(["--address", &format!("127.0.0.1:{port}"), "--pods"]).arg(pods);
    command
}
