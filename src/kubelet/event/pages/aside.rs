//! Pages of what is told aside: versions, the words of iptables, other programs' words about the clock, and a kubelet
//! that cannot start its container manager.

use crate::syntax::page::{Cure, Look, Page};

pub(super) const SOFTWARE_VERSION: Page = Page {
    means: "At its start the kubelet says which kernel it runs on (cAdvisor's line), and which version the runtime told \
        that it found.",
    matters: "Some releases are known for hangs. A log that somebody passed on tells by this line what ran then, whatever \
        runs there now.",
    confirm: &[
        Look {
            what: "The kernel of now",
            command: "uname -r",
        },
        Look {
            what: "The versions of now, as the API server holds them",
            command: "kubectl get node NODE -o wide",
        },
    ],
    remedies: &[],
    versions: "All; the kernel's line at -v=1.",
    unproved: "",
    see: &["known-bad-version", "runtime-initialized"],
    sources: &[
        "kubernetes:vendor/github.com/google/cadvisor/manager/manager.go",
        "kubernetes:pkg/kubelet/kuberuntime/kuberuntime_manager.go",
    ],
};

pub(super) const CONTAINER_MANAGER: Page = Page {
    means: "The kubelet could not start its container manager, and ends; systemd starts it again, and mostly it ends the \
        same way.",
    matters: "A kubelet that ends has no PLEG. `no PodsandBox found with Id` names the sandbox, gone by now, of a \
        container that is still listed: remove that container, and the kubelet starts.",
    confirm: &[
        Look {
            what: "Which containers were left of that sandbox (Docker)",
            command: "docker ps -a --no-trunc --filter label=io.kubernetes.sandbox.id=ID",
        },
        Look {
            what: "Which containers were left of that sandbox (containerd, CRI-O)",
            command: "crictl ps -a --pod ID",
        },
    ],
    remedies: &[Cure {
        what: "Mend what it says; of a sandbox that is gone, remove the containers that were left",
        command: "",
        cost: "depends on it; a stopped container's logs",
    }],
    versions: "As an error of structured text since 1.22; before, a fatal line says it.",
    unproved: "",
    see: &["removal-race", "kubelet-fatal"],
    sources: &[
        "kubernetes:pkg/kubelet/cm/container_manager_linux.go",
        "kubernetes#107115",
    ],
};

pub(super) const XTABLES_LOCKED: Page = Page {
    means: "The kubelet ran iptables, and another run of it held the lock on the kernel's tables for longer than it was \
        willing to wait.",
    matters: "Rules for pods' networks and services are not written. No relist waits for it: the PLEG is not concerned.",
    confirm: &[
        Look {
            what: "Who holds the lock",
            command: "lsof /run/xtables.lock",
        },
        Look {
            what: "How many rules there are: tens of thousands make each run take long",
            command: "iptables-save | wc -l",
        },
    ],
    remedies: &[],
    versions: "All with the legacy iptables; the one by nftables takes no such lock.",
    unproved: "One or two such lines are ordinary: the next try mostly works.",
    see: &["xtables-lock", "run-sandbox-failed"],
    sources: &[
        "kubernetes#48107",
        "kubernetes:pkg/util/iptables/iptables.go",
    ],
};

pub(super) const CLOCK_STEPPED: Page = Page {
    means: "The machine's clock was set by a jump: systemd notes that somebody did so, ntpd and chronyd say by how much. \
        It is not the kubelet's message.",
    matters: "Kubelets since 1.9 measure the lag with a clock that no jump touches, so the PLEG is not concerned. Leases, \
        certificates and the times in logs are.",
    confirm: &[Look {
        what: "Whether the clock is right now, and who sets it",
        command: "timedatectl; chronyc tracking || ntpq -p",
    }],
    remedies: &[],
    versions: "All; newer releases of systemd say it at its debug level only.",
    unproved: "Many machines set their clock at their start, or trim it by a moment: that harms nobody.",
    see: &["clock-step", "lease-update-failed"],
    sources: &["systemd:src/core/manager.c"],
};
