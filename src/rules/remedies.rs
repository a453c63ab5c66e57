//! Remedies that several findings share, in the commands of the runtime that the node has.

use crate::{
    evidence::Evidence,
    finding::{Remedy, Risk},
    runtime::DEFAULT_ENDPOINT,
};

/// The container runtimes whose commands differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Engine {
    Docker,
    Containerd,
    Crio,
    /// Neither asked nor named by the log.
    Unknown,
}

fn engine(evidence: &Evidence) -> Engine {
    let log = evidence.log.as_ref();
    let named = log.and_then(|log| log.runtime_name.as_deref());
    match named {
        _ if log.is_some_and(|log| log.uses_docker.is_some()) => Engine::Docker,
        Some("containerd") => Engine::Containerd,
        Some("cri-o") => Engine::Crio,
        _ if evidence.runtime.is_some() => Engine::Docker,
        _ => Engine::Unknown,
    }
}

/// Returns the remedy that keeps the daemon's stacks before anything is restarted.
pub(super) fn save_stacks(evidence: &Evidence) -> Remedy {
    let title = "Save the runtime's stacks before anything is restarted".to_owned();
    let cost = "nothing; they say who waits for whom, and a restart destroys them";
    let signal = |daemon: &str| format!("kill -USR1 $(pidof {daemon})");
    let (command, cost) = match engine(evidence) {
        Engine::Docker => (
            format!(
                "curl -s --max-time 10 --unix-socket {} 'http://localhost/debug/pprof/goroutine?debug=2' > dockerd-stacks.txt",
                socket(evidence)
            ),
            cost.to_owned(),
        ),
        Engine::Containerd => (
            signal("containerd"),
            format!("{cost}; its log names the file"),
        ),
        Engine::Crio => (signal("crio"), format!("{cost}; they are in /tmp")),
        Engine::Unknown => (
            signal("dockerd containerd crio"),
            format!("{cost}; each daemon's log names its file"),
        ),
    };
    Remedy {
        title,
        risk: Risk::Safe,
        command,
        cost,
    }
}

/// Returns the remedy of last resort.
pub(super) fn restart_runtime(evidence: &Evidence) -> Remedy {
    let (title, command, cost) = match engine(evidence) {
        Engine::Docker => (
            "Restart Docker",
            "systemctl restart docker",
            "stops every container of the node unless live-restore is on, and destroys the evidence",
        ),
        Engine::Containerd => (
            "Restart containerd",
            "systemctl restart containerd",
            "containers go on running; calls in flight fail, and the evidence is destroyed",
        ),
        Engine::Crio => (
            "Restart CRI-O",
            "systemctl restart crio",
            "containers go on running; calls in flight fail, and the evidence is destroyed",
        ),
        Engine::Unknown => (
            "Restart the container runtime",
            "systemctl restart docker # or containerd, or crio",
            "Docker stops every container of the node unless live-restore is on; the evidence is destroyed",
        ),
    };
    Remedy {
        title: title.to_owned(),
        risk: Risk::Node,
        command: command.to_owned(),
        cost: cost.to_owned(),
    }
}

/// Returns the remedies that remove stopped containers, with a look before. `kind` is an option of our `clean`,
/// which knows Docker; elsewhere crictl serves.
pub(super) fn clean(evidence: &Evidence, kind: &str, cost: &str) -> Vec<Remedy> {
    let (look, remove) = match engine(evidence) {
        Engine::Containerd | Engine::Crio => (
            "crictl ps -a --state Exited".to_owned(),
            "crictl ps -a --state Exited -q | xargs -r crictl rm".to_owned(),
        ),
        Engine::Docker | Engine::Unknown => {
            let option = docker_option(evidence);
            (
                format!("plegdoctor clean --{kind} --dry-run{option}"),
                format!("plegdoctor clean --{kind} --yes{option}"),
            )
        }
    };
    vec![
        Remedy {
            title: "See what would be removed".to_owned(),
            risk: Risk::Safe,
            command: look,
            cost: "nothing".to_owned(),
        },
        Remedy {
            title: "Remove them".to_owned(),
            risk: Risk::Safe,
            command: remove,
            cost: cost.to_owned(),
        },
    ]
}

/// Returns the option that makes our own commands ask the same daemon, with a blank before it.
pub(super) fn docker_option(evidence: &Evidence) -> String {
    let asked = evidence.runtime.as_ref().map(|runtime| &runtime.endpoint);
    match asked {
        Some(endpoint) if endpoint != DEFAULT_ENDPOINT => format!(" --docker-host {endpoint}"),
        _ => String::new(),
    }
}

/// Returns the socket's path, for commands.
fn socket(evidence: &Evidence) -> &str {
    let endpoint = evidence
        .runtime
        .as_ref()
        .map_or(DEFAULT_ENDPOINT, |runtime| &runtime.endpoint);
    endpoint.strip_prefix("unix://").unwrap_or(endpoint)
}
