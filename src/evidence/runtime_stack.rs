//! Which runtime this node's kubelet drives, the units that the two run in, and the commands that ask it. All that
//! remedies and looks name comes from here; where no evidence tells, the alternatives are named.

use super::Evidence;
use crate::kubelet::event::{ErrorClass, Event, Kind};
use crate::runtime::{Runtime, RuntimeKind};
use crate::syntax::framing::Program;

/// Who packages the runtime and the kubelet, where that gives them other units and commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Distribution {
    /// Each by itself, in units of their own names.
    Apart,
    /// containerd is a child of k3s. Its program's name is not always told to be server's or agent's.
    K3s,
    K3sAgent,
    /// containerd is a child of RKE2, at k3s' socket.
    Rke2,
    Rke2Server,
    Rke2Agent,
    /// One of these two, by the socket alone.
    Rancher,
    MicroK8s,
}

/// The units of a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Units {
    /// All that may concern, the one that the kubelet asks first.
    pub all: &'static [&'static str],
    /// A comment on the first one's name, where it may have another; begins with a blank.
    pub note: &'static str,
}

impl Units {
    /// Returns what systemd calls the one that the kubelet asks, with the comment: `docker # or containerd, or crio`.
    pub fn first(self) -> String {
        let name = self.all.first().copied().unwrap_or("docker");
        format!("{name}{}", self.note)
    }

    /// Returns the look at how they are.
    pub fn status(self) -> String {
        format!("systemctl status {} --no-pager", self.all.join(" "))
    }

    /// Returns the option that names them to journalctl: ` -u docker -u containerd`.
    pub fn of_journal(self) -> String {
        self.all.iter().map(|unit| format!(" -u {unit}")).collect()
    }
}

/// The calls that fail at once where nothing listens.
pub const CONNECT_CALLS: &[Kind] = &[
    Kind::ListSandboxesFailed,
    Kind::ListContainersFailed,
    Kind::ListStreamFailed,
    Kind::RelistFailed,
    Kind::RuntimeVersionFailed,
    Kind::RuntimeStatusFailed,
    Kind::RuntimeSanityFailed,
    Kind::CriConnectFailed,
    Kind::RunSandboxFailed,
    Kind::SandboxStatusFailed,
    Kind::ContainerStatusFailed,
    Kind::RuntimeNotReady,
    Kind::ContainerGcFailed,
    Kind::CleanPodsFailed,
];

/// What is known of a node's runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuntimeStack {
    pub kind: Option<RuntimeKind>,
    distribution: Distribution,
    /// Whether it is cri-dockerd, between the kubelet and Docker, that cannot be reached.
    pub lacks_cri_dockerd: bool,
}

/// Where k3s' and RKE2's containerd listens.
const RANCHERS: &str = "unix:///run/k3s/containerd/containerd.sock";
const SNAPS: &str = "unix:///var/snap/microk8s/common/run/containerd.sock";

impl RuntimeStack {
    /// Returns what the evidence tells.
    pub fn new(evidence: &Evidence) -> Self {
        let refused = refused(evidence);
        let distribution = distribution(evidence, refused);
        Self {
            kind: runtime_kind(evidence),
            distribution,
            lacks_cri_dockerd: refused.is_some_and(|text| text.contains("cri-dockerd.sock")),
        }
    }

    /// Returns the units of the runtime.
    pub fn units(self) -> Units {
        let (all, note): (&[_], _) = match (self.kind, self.distribution) {
            (Some(RuntimeKind::Docker), _) if self.lacks_cri_dockerd => {
                (&["cri-docker", "docker", "containerd"], "")
            }
            (Some(RuntimeKind::Docker), _) => (&["docker", "containerd"], ""),
            (Some(RuntimeKind::CriO), _) => (&["crio"], ""),
            (Some(RuntimeKind::Containerd), distribution) => match distribution {
                Distribution::Apart => (&["containerd"], ""),
                Distribution::MicroK8s => (&["snap.microk8s.daemon-containerd"], ""),
                _ => return self.own_units(),
            },
            (None, _) => (
                &["docker", "containerd", "crio"],
                " # or containerd, or crio",
            ),
        };
        Units { all, note }
    }

    /// Returns the units that the kubelet runs in.
    pub fn own_units(self) -> Units {
        let (all, note): (&[_], _) = match self.distribution {
            Distribution::Apart => (&["kubelet"], ""),
            Distribution::K3s => (&["k3s", "k3s-agent"], " # on an agent: k3s-agent"),
            Distribution::K3sAgent => (&["k3s-agent"], ""),
            Distribution::Rke2 => (&["rke2-server", "rke2-agent"], " # on an agent: rke2-agent"),
            Distribution::Rke2Server => (&["rke2-server"], ""),
            Distribution::Rke2Agent => (&["rke2-agent"], ""),
            Distribution::Rancher => (
                &["k3s", "k3s-agent", "rke2-server", "rke2-agent"],
                " # or k3s-agent, rke2-server, rke2-agent",
            ),
            Distribution::MicroK8s => (&["snap.microk8s.daemon-kubelite"], ""),
        };
        Units { all, note }
    }

    /// Returns whether the runtime is a child of the program that the kubelet runs in, and restarts with it.
    pub fn is_one(self) -> bool {
        let apart = matches!(
            self.distribution,
            Distribution::Apart | Distribution::MicroK8s
        );
        self.kind == Some(RuntimeKind::Containerd) && !apart
    }

    /// Returns whether the runtime runs in the unit of its own name.
    pub fn is_plain(self) -> bool {
        self.kind == Some(RuntimeKind::Docker) || self.distribution == Distribution::Apart
    }

    /// Returns how to call crictl so that it asks this runtime.
    pub fn crictl(self) -> String {
        match self.distribution {
            Distribution::Apart => "crictl".to_owned(),
            Distribution::K3s | Distribution::K3sAgent => "k3s crictl".to_owned(),
            Distribution::Rke2 | Distribution::Rke2Server | Distribution::Rke2Agent => {
                format!("/var/lib/rancher/rke2/bin/crictl -r {RANCHERS}")
            }
            Distribution::Rancher => format!("crictl -r {RANCHERS}"),
            Distribution::MicroK8s => format!("crictl -r {SNAPS}"),
        }
    }

    /// Returns how to call containerd's own client.
    pub fn ctr(self) -> String {
        match self.distribution {
            Distribution::Apart => "ctr".to_owned(),
            Distribution::K3s | Distribution::K3sAgent => "k3s ctr".to_owned(),
            Distribution::Rke2
            | Distribution::Rke2Server
            | Distribution::Rke2Agent
            | Distribution::Rancher => {
                let socket = RANCHERS.trim_start_matches("unix://");
                let folder = match self.distribution {
                    Distribution::Rancher => "",
                    _ => "/var/lib/rancher/rke2/bin/",
                };
                format!("{folder}ctr -a {socket}")
            }
            Distribution::MicroK8s => "microk8s ctr".to_owned(),
        }
    }

    /// Returns a call of crictl that ends in any case, and tells whether it was answered. By itself crictl waits 2 s
    /// (kubernetes-sigs/cri-tools cmd/crictl/main.go), which a slow runtime needs as well.
    pub fn ask(self, call: &str) -> String {
        let crictl = self.crictl();
        format!("timeout 15 {crictl} --timeout 10s {call} > /dev/null && echo answered")
    }
}

/// Whether it is known to be a runtime that plegdoctor does not ask.
pub fn is_other_than_docker(evidence: &Evidence) -> bool {
    runtime_kind(evidence).is_some_and(|kind| kind != RuntimeKind::Docker)
}

/// Returns the runtime that this node's kubelet drives; `None` where it is neither asked nor named by the log.
pub fn runtime_kind(evidence: &Evidence) -> Option<RuntimeKind> {
    if let Some(kind) = named_kind(evidence) {
        return kind;
    }
    let runtime = evidence.runtime.as_ref();
    match program(evidence) {
        _ if runtime.is_some_and(has_pods) => Some(RuntimeKind::Docker),
        Some(Program::OpenShift) => Some(RuntimeKind::CriO),
        Some(program) if program != Program::Kubelet => Some(RuntimeKind::Containerd),
        _ if runtime.is_some() => Some(RuntimeKind::Docker),
        _ => None,
    }
}

/// Returns the runtime that the log's lines or the kubelet's settings name; `Some(None)` where it is one not known here.
pub fn named_kind(evidence: &Evidence) -> Option<Option<RuntimeKind>> {
    let log = evidence.log.as_ref();
    if log.is_some_and(|log| log.uses_docker.is_some()) {
        return Some(Some(RuntimeKind::Docker));
    }
    match log.and_then(|log| log.runtime_name.as_deref()) {
        Some("docker") => return Some(Some(RuntimeKind::Docker)),
        Some("containerd") => return Some(Some(RuntimeKind::Containerd)),
        Some("cri-o") => return Some(Some(RuntimeKind::CriO)),
        Some(_) => return Some(None),
        None => {}
    }
    let host = evidence.host.as_ref();
    let settings = host.and_then(|host| host.kubelet_settings.as_ref());
    let endpoint = settings.and_then(|settings| settings.runtime_endpoint.as_deref());
    let set = endpoint.map(by_socket);
    set.or_else(|| by_socket(refused(evidence)?).map(Some))
}

/// Returns whether Docker has containers of pods.
pub fn has_pods(runtime: &Runtime) -> bool {
    let mut told = runtime.told();
    told.any(|it| it.pod.is_some() || it.uid.is_some())
}

/// Returns the runtime whose socket an address or an error names. Docker's own containerd may be in its errors.
fn by_socket(text: &str) -> Option<RuntimeKind> {
    const SIGNS: &[(&str, RuntimeKind)] = &[
        ("Error response from daemon", RuntimeKind::Docker),
        ("Docker daemon", RuntimeKind::Docker),
        ("dockershim", RuntimeKind::Docker),
        ("cri-dockerd", RuntimeKind::Docker),
        ("docker.sock", RuntimeKind::Docker),
        ("/docker/containerd/", RuntimeKind::Docker),
        ("crio.sock", RuntimeKind::CriO),
        ("containerd.sock", RuntimeKind::Containerd),
    ];
    let sign = SIGNS.iter().find(|(sign, _)| text.contains(sign));
    sign.map(|(_, kind)| *kind)
}

/// Returns what the last call said that did not reach the runtime's socket.
fn refused(evidence: &Evidence) -> Option<&str> {
    let log = evidence.log.as_ref()?;
    let text = |event: &'_ Event| event.error.as_ref().is_some_and(|it| !it.is_of_network());
    let groups = log.failed(CONNECT_CALLS, ErrorClass::Unavailable);
    let last = groups
        .filter(|group| text(&group.last) && names_socket(&group.last))
        .max_by_key(|group| group.last.at)?;
    last.last.error.as_ref().map(|error| &*error.text)
}

fn names_socket(event: &Event) -> bool {
    let text = event.error.as_ref().map(|error| &*error.text);
    text.is_some_and(|text| by_socket(text).is_some())
}

/// Returns the program that the kubelet is, or runs in, as the sources of the log tell.
fn program(evidence: &Evidence) -> Option<Program> {
    let sources = evidence.log.iter().flat_map(|log| &log.sources);
    let told = sources.filter(|source| source.of_kubelet);
    let mut programs = told.filter_map(|source| {
        // The journal of a unit tells more than the tag in its lines.
        let unit = |name: &str| source.name.contains(name);
        match source.program? {
            Program::K3s if unit("k3s-agent.service") => Some(Program::K3sAgent),
            Program::Rke2 if unit("rke2-agent.service") => Some(Program::Rke2Agent),
            Program::Rke2 if unit("rke2-server.service") => Some(Program::Rke2Server),
            program => Some(program),
        }
    });
    let first = programs.next()?;
    Some(programs.find(|it| *it != Program::Kubelet).unwrap_or(first))
}

fn distribution(evidence: &Evidence, refused: Option<&str>) -> Distribution {
    match program(evidence) {
        Some(Program::K3s) => Distribution::K3s,
        Some(Program::K3sAgent) => Distribution::K3sAgent,
        Some(Program::Rke2) => Distribution::Rke2,
        Some(Program::Rke2Server) => Distribution::Rke2Server,
        Some(Program::Rke2Agent) => Distribution::Rke2Agent,
        Some(Program::MicroK8s) => Distribution::MicroK8s,
        Some(Program::Kubelet | Program::OpenShift) | None => {
            let settings = evidence
                .host
                .as_ref()
                .and_then(|host| host.kubelet_settings.as_ref());
            let set = settings.and_then(|settings| settings.runtime_endpoint.as_deref());
            let at = |place: &str| [set, refused].iter().flatten().any(|it| it.contains(place));
            match () {
                () if at("/run/k3s/") => Distribution::Rancher,
                () if at("/snap/microk8s/") => Distribution::MicroK8s,
                () => Distribution::Apart,
            }
        }
    }
}
