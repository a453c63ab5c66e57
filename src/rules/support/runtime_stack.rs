//! Which runtime this node's kubelet drives, the units that the two run in, and the commands that ask it. All that
//! remedies and looks name comes from here; where no evidence tells, the alternatives are named.

use super::calls::REFUSED;
use crate::{
    evidence::Evidence,
    kubelet::event::{ErrorClass, Event},
    runtime::Runtime,
    syntax::framing::Program,
};

/// The container runtimes whose commands differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    Docker,
    Containerd,
    Crio,
    /// Neither asked nor named by the log.
    Unknown,
}

impl Engine {
    /// Returns whether it is known to be another runtime than Docker: one that plegdoctor does not ask.
    pub(crate) fn is_others(self) -> bool {
        matches!(self, Self::Containerd | Self::Crio)
    }
}

/// Who packed the runtime and the kubelet, where that gives them other units and commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packed {
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
pub(crate) struct Units {
    /// All that may concern, the one that the kubelet asks first.
    pub(crate) all: &'static [&'static str],
    /// A comment on the first one's name, where it may have another; begins with a blank.
    pub(crate) note: &'static str,
}

impl Units {
    /// Returns what systemd calls the one that the kubelet asks, with the comment: `docker # or containerd, or crio`.
    pub(crate) fn first(self) -> String {
        let name = self.all.first().copied().unwrap_or("docker");
        format!("{name}{}", self.note)
    }

    /// Returns the look at how they are.
    pub(crate) fn status(self) -> String {
        format!("systemctl status {} --no-pager", self.all.join(" "))
    }

    /// Returns the option that names them to journalctl: ` -u docker -u containerd`.
    pub(crate) fn of_journal(self) -> String {
        self.all.iter().map(|unit| format!(" -u {unit}")).collect()
    }
}

/// What is known of a node's runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Setup {
    pub(crate) engine: Engine,
    packed: Packed,
    /// Whether it is cri-dockerd, between the kubelet and Docker, that cannot be reached.
    pub(crate) lacks_cri_dockerd: bool,
}

/// Where k3s' and RKE2's containerd listens.
const RANCHERS: &str = "unix:///run/k3s/containerd/containerd.sock";
const SNAPS: &str = "unix:///var/snap/microk8s/common/run/containerd.sock";

impl Setup {
    /// Returns what the evidence tells.
    pub(crate) fn of(evidence: &Evidence) -> Self {
        let refused = refused(evidence);
        let packed = packed(evidence, refused);
        Self {
            engine: engine(evidence),
            packed,
            lacks_cri_dockerd: refused.is_some_and(|text| text.contains("cri-dockerd.sock")),
        }
    }

    /// Returns the units of the runtime.
    pub(crate) fn units(self) -> Units {
        let (all, note): (&[_], _) = match (self.engine, self.packed) {
            (Engine::Docker, _) if self.lacks_cri_dockerd => {
                (&["cri-docker", "docker", "containerd"], "")
            }
            (Engine::Docker, _) => (&["docker", "containerd"], ""),
            (Engine::Crio, _) => (&["crio"], ""),
            (Engine::Containerd, packed) => match packed {
                Packed::Apart => (&["containerd"], ""),
                Packed::MicroK8s => (&["snap.microk8s.daemon-containerd"], ""),
                _ => return self.own_units(),
            },
            (Engine::Unknown, _) => (
                &["docker", "containerd", "crio"],
                " # or containerd, or crio",
            ),
        };
        Units { all, note }
    }

    /// Returns the units that the kubelet runs in.
    pub(crate) fn own_units(self) -> Units {
        let (all, note): (&[_], _) = match self.packed {
            Packed::Apart => (&["kubelet"], ""),
            Packed::K3s => (&["k3s", "k3s-agent"], " # on an agent: k3s-agent"),
            Packed::K3sAgent => (&["k3s-agent"], ""),
            Packed::Rke2 => (&["rke2-server", "rke2-agent"], " # on an agent: rke2-agent"),
            Packed::Rke2Server => (&["rke2-server"], ""),
            Packed::Rke2Agent => (&["rke2-agent"], ""),
            Packed::Rancher => (
                &["k3s", "k3s-agent", "rke2-server", "rke2-agent"],
                " # or k3s-agent, rke2-server, rke2-agent",
            ),
            Packed::MicroK8s => (&["snap.microk8s.daemon-kubelite"], ""),
        };
        Units { all, note }
    }

    /// Returns whether the runtime is a child of the program that the kubelet runs in, and restarts with it.
    pub(crate) fn is_one(self) -> bool {
        let apart = matches!(self.packed, Packed::Apart | Packed::MicroK8s);
        self.engine == Engine::Containerd && !apart
    }

    /// Returns whether the runtime runs in the unit of its own name.
    pub(crate) fn is_plain(self) -> bool {
        self.engine == Engine::Docker || self.packed == Packed::Apart
    }

    /// Returns how to call crictl so that it asks this runtime.
    pub(crate) fn crictl(self) -> String {
        match self.packed {
            Packed::Apart => "crictl".to_owned(),
            Packed::K3s | Packed::K3sAgent => "k3s crictl".to_owned(),
            Packed::Rke2 | Packed::Rke2Server | Packed::Rke2Agent => {
                format!("/var/lib/rancher/rke2/bin/crictl -r {RANCHERS}")
            }
            Packed::Rancher => format!("crictl -r {RANCHERS}"),
            Packed::MicroK8s => format!("crictl -r {SNAPS}"),
        }
    }

    /// Returns how to call containerd's own client.
    pub(crate) fn ctr(self) -> String {
        match self.packed {
            Packed::Apart => "ctr".to_owned(),
            Packed::K3s | Packed::K3sAgent => "k3s ctr".to_owned(),
            Packed::Rke2 | Packed::Rke2Server | Packed::Rke2Agent | Packed::Rancher => {
                let socket = RANCHERS.trim_start_matches("unix://");
                let folder = match self.packed {
                    Packed::Rancher => "",
                    _ => "/var/lib/rancher/rke2/bin/",
                };
                format!("{folder}ctr -a {socket}")
            }
            Packed::MicroK8s => "microk8s ctr".to_owned(),
        }
    }

    /// Returns a call of crictl that ends in any case, and tells whether it was answered. By itself crictl waits 2 s
    /// (kubernetes-sigs/cri-tools cmd/crictl/main.go), which a slow runtime needs as well.
    pub(crate) fn ask(self, call: &str) -> String {
        let crictl = self.crictl();
        format!("timeout 15 {crictl} --timeout 10s {call} > /dev/null && echo answered")
    }
}

/// Returns the runtime that this node's kubelet drives.
pub(crate) fn engine(evidence: &Evidence) -> Engine {
    if let Some(engine) = told(evidence) {
        return engine;
    }
    let runtime = evidence.runtime.as_ref();
    match program(evidence) {
        _ if runtime.is_some_and(has_pods) => Engine::Docker,
        Some(Program::OpenShift) => Engine::Crio,
        Some(program) if program != Program::Kubelet => Engine::Containerd,
        _ if runtime.is_some() => Engine::Docker,
        _ => Engine::Unknown,
    }
}

/// Returns the runtime that the log's lines or the kubelet's settings name.
pub(crate) fn told(evidence: &Evidence) -> Option<Engine> {
    let log = evidence.log.as_ref();
    if log.is_some_and(|log| log.uses_docker.is_some()) {
        return Some(Engine::Docker);
    }
    match log.and_then(|log| log.runtime_name.as_deref()) {
        Some("docker") => return Some(Engine::Docker),
        Some("containerd") => return Some(Engine::Containerd),
        Some("cri-o") => return Some(Engine::Crio),
        Some(_) => return Some(Engine::Unknown),
        None => {}
    }
    let host = evidence.host.as_ref();
    let settings = host.and_then(|host| host.kubelet_settings.as_ref());
    let endpoint = settings.and_then(|settings| settings.runtime_endpoint.as_deref());
    let set = endpoint.map(|endpoint| by_socket(endpoint).unwrap_or(Engine::Unknown));
    set.or_else(|| by_socket(refused(evidence)?))
}

/// Returns whether Docker has containers of pods.
pub(crate) fn has_pods(runtime: &Runtime) -> bool {
    let mut told = runtime.told();
    told.any(|it| it.pod.is_some() || it.uid.is_some())
}

/// Returns the runtime whose socket an address or an error names. Docker's own containerd may be in its errors.
fn by_socket(text: &str) -> Option<Engine> {
    const SIGNS: &[(&str, Engine)] = &[
        ("Error response from daemon", Engine::Docker),
        ("Docker daemon", Engine::Docker),
        ("dockershim", Engine::Docker),
        ("cri-dockerd", Engine::Docker),
        ("docker.sock", Engine::Docker),
        ("/docker/containerd/", Engine::Docker),
        ("crio.sock", Engine::Crio),
        ("containerd.sock", Engine::Containerd),
    ];
    let sign = SIGNS.iter().find(|(sign, _)| text.contains(sign));
    sign.map(|(_, engine)| *engine)
}

/// Returns what the last call said that did not reach the runtime's socket.
fn refused(evidence: &Evidence) -> Option<&str> {
    let log = evidence.log.as_ref()?;
    let text = |event: &'_ Event| event.error.as_ref().is_some_and(|it| !it.is_of_network());
    let groups = log.failed(REFUSED, ErrorClass::Unavailable);
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

fn packed(evidence: &Evidence, refused: Option<&str>) -> Packed {
    match program(evidence) {
        Some(Program::K3s) => Packed::K3s,
        Some(Program::K3sAgent) => Packed::K3sAgent,
        Some(Program::Rke2) => Packed::Rke2,
        Some(Program::Rke2Server) => Packed::Rke2Server,
        Some(Program::Rke2Agent) => Packed::Rke2Agent,
        Some(Program::MicroK8s) => Packed::MicroK8s,
        Some(Program::Kubelet | Program::OpenShift) | None => {
            let settings = evidence
                .host
                .as_ref()
                .and_then(|host| host.kubelet_settings.as_ref());
            let set = settings.and_then(|settings| settings.runtime_endpoint.as_deref());
            let at = |place: &str| [set, refused].iter().flatten().any(|it| it.contains(place));
            match () {
                () if at("/run/k3s/") => Packed::Rancher,
                () if at("/snap/microk8s/") => Packed::MicroK8s,
                () => Packed::Apart,
            }
        }
    }
}
