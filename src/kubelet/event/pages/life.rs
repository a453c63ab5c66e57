//! Pages of failed calls that start, stop, remove, or run something in a container.

use crate::syntax::page::{Cure, Look, Page};

const CLIENT: &str = "kubernetes:staging/src/k8s.io/cri-client/pkg/remote_runtime.go";
const MANAGER: &str = "kubernetes:pkg/kubelet/kuberuntime/kuberuntime_manager.go";
const CONTAINER: &str = "kubernetes:pkg/kubelet/kuberuntime/kuberuntime_container.go";
const GC: &str = "kubernetes:pkg/kubelet/kuberuntime/kuberuntime_gc.go";
const RUN: &str = "run: kubelet 1.20.2, Docker 20.10.24";

const STATE: Look = Look {
    what: "What Docker says of it, if it answers at all",
    command: "timeout 5 docker inspect -f '{{.State.Status}} {{.State.Pid}} {{.State.Error}}' ID",
};
const ASLEEP: Look = Look {
    what: "Which processes cannot be killed (state D), and where they sleep",
    command: "ps -eo pid,ppid,stat,wchan:32,etime,comm | awk '$3 ~ /D/'",
};
const MOUNTED: Look = Look {
    what: "Which processes still see its mount",
    command: "grep -l ID /proc/[0-9]*/mountinfo",
};

/// What a failed call about one container or sandbox shares with the others.
const CALL: Page = Page {
    means: "",
    matters: "The call is no part of a relist. But what makes it run into its deadline (the runtime holds that \
        container's lock while it works on it) makes the next status call hang, too, and that one is: a first \
        deadline here is often the moment at which the trouble began, minutes before the first stale line.",
    confirm: &[STATE, Look::RUNTIME_PROCESS, ASLEEP, Look::DIAGNOSE],
    remedies: &[Cure::SAVE, Cure::FIX],
    versions: "All; structured text since 1.21.",
    unproved: "With another error than a deadline it says nothing of PLEG.",
    see: &["hung-container", "leaked-shim", "network-storage"],
    sources: &[CLIENT, MANAGER, RUN],
};

pub(super) const STOP_SANDBOX: Page = Page {
    means: "A pod ends, and its sandbox could not be stopped: the network plugin takes the network away first, then the \
        pause container is stopped. The kubelet tries again until it works, so the pod stays Terminating.",
    see: &[
        "hung-container",
        "cni-hang",
        "leaked-shim",
        "sandbox-status-failed",
    ],
    ..CALL
};

pub(super) const REMOVE_SANDBOX: Page = Page {
    means: "A sandbox that is stopped could not be removed. The kubelet's clean-up tries again each minute.",
    matters: "A removal that fails at once does not hold up the relist. Its left-overs make the list longer; with \
        \"device or resource busy\" a mount has leaked. One that runs into its deadline hangs, and then the status of \
        that sandbox may hang, too.",
    confirm: &[STATE, MOUNTED, Look::DIAGNOSE],
    remedies: &[
        Cure {
            what: "See what can be removed, then remove it: what held it may be gone",
            command: "plegdoctor clean --dead --dry-run",
            cost: "to look: nothing; to remove: the container's logs",
        },
        Cure::SAVE,
    ],
    unproved: "That a container which cannot be removed blocks the relist: it was never shown.",
    see: &["dead-container", "busy-mount", "container-gc-failed"],
    sources: &[CLIENT, GC],
    ..CALL
};

pub(super) const RUN_SANDBOX: Page = Page {
    means: "A pod's sandbox could not be made: the call sets up its container, its namespaces and its network, and may \
        take twice the usual limit, 4 minutes. `name is reserved` in a later try means that the first is still at it.",
    see: &[
        "cni-hang",
        "hung-container",
        "disk-saturated",
        "systemd-unresponsive",
    ],
    ..CALL
};

pub(super) const CREATE_CONTAINER: Page = Page {
    means: "A container could not be created: its name, its layer and its configuration, no process yet. Deadlines here \
        are those of a slow disk or an overloaded runtime.",
    see: &["disk-saturated", "hung-runtime", "memory-starved"],
    ..CALL
};

pub(super) const START_CONTAINER: Page = Page {
    means: "A container could not be started. With a deadline the OCI runtime hangs while it sets the process up, or a \
        volume's file system does not answer: then no OCI runtime process exists and a thread of the daemon sleeps.",
    ..CALL
};

pub(super) const STOP_CONTAINER: Page = Page {
    means: "A container could not be stopped: it got its signal, its grace, and then SIGKILL. The limit is the grace and \
        2 minutes. A process that outlives SIGKILL sleeps in the kernel (state D), or its shim does not tell that it \
        ended.",
    sources: &[CLIENT, CONTAINER, "containerd#10755"],
    ..CALL
};

pub(super) const REMOVE_CONTAINER: Page = Page {
    means: "A stopped container could not be removed. The kubelet's clean-up tries again each minute; the same id for \
        hours is one problem, not hundreds.",
    sources: &[CLIENT, GC, "kubernetes#72325", "kubernetes#64940"],
    ..REMOVE_SANDBOX
};

pub(super) const EXEC_SYNC: Page = Page {
    means: "A command in a container could not be run, or did not end in time: a probe, mostly. The limit is the probe's \
        and 2 minutes.",
    matters: "Probes are no part of a relist. But each exec that hangs leaves an OCI runtime process and goroutines \
        behind, and many of them jam the runtime: bursts of this line were logged hours before the first stale line. \
        Many containers at once point at the runtime or the host, one container at that workload.",
    confirm: &[
        Look {
            what: "How many execs there are at work",
            command: "ps -eo etime,args | grep -c '[r]unc.* exec'",
        },
        Look::RUNTIME_PROCESS,
        Look::EVENTS,
    ],
    remedies: &[Cure {
        what: "Make the probe end by itself, ask it less often, or use an HTTP probe",
        command: "",
        cost: "a change of the workload; its pods restart",
    }],
    versions: "All; structured text since 1.21. Before 1.20 the kubelet with dockershim did not enforce a probe's time.",
    unproved: "A probe that fails says nothing of PLEG. And under a hung runtime probes fail as a consequence.",
    see: &["hung-runtime", "hung-container", "memory-starved"],
    sources: &[CLIENT, "eks-ami#195"],
};

pub(super) const UPDATE_RESOURCES: Page = Page {
    means: "A running container's limits could not be changed: the kubelet's CPU manager does that, or a resize.",
    versions: "All; structured text since 1.21.",
    see: &["hung-container", "systemd-unresponsive"],
    sources: &[CLIENT],
    ..CALL
};

pub(super) const LIST_STATS: Page = Page {
    means: "The runtime could not tell its containers' statistics, which metrics and evictions use.",
    matters: "It is no part of a relist. It fails as others do when the runtime hangs; alone it does nothing to PLEG.",
    confirm: &[Look::PROBE, Look::DIAGNOSE],
    remedies: &[],
    versions: "All; the sandboxes' statistics since 1.23. In 1.9 and 1.20 the call has no limit of time, in 1.30 and \
        later 2 minutes.",
    see: &["hung-runtime", "eviction-summary-failed"],
    sources: &[CLIENT],
    ..CALL
};

pub(super) const KILL_POD: Page = Page {
    means: "The kubelet could not end a pod; the error holds what failed for each container and the sandbox: \
        `failed to \"KillPodSandbox\" for …`.",
    see: &[
        "stop-sandbox-failed",
        "stop-container-failed",
        "hung-container",
    ],
    sources: &[MANAGER],
    ..CALL
};

pub(super) const PRESTOP_HOOK: Page = Page {
    means: "The command or request that a workload asks for before its container is stopped failed, or was not done \
        within the grace.",
    matters: "It is the workload's matter. A hook that is an exec hangs with the runtime, as probes do.",
    confirm: &[Look::EVENTS],
    remedies: &[Cure {
        what: "Make the hook end within the pod's grace",
        command: "",
        cost: "a change of the workload; its pods restart",
    }],
    versions: "All; at -v=2 where it did not end in time, since 1.21.",
    see: &["exec-sync-failed"],
    sources: &[CONTAINER],
    ..CALL
};

pub(super) const CONTAINER_GC: Page = Page {
    means: "The kubelet's clean-up of stopped containers, each minute, failed: mostly already at its list.",
    matters: "What it does not remove makes the list longer: with the error `message larger than max` it is caught, since \
        it cannot list what it should remove, and the relist fails for the same reason. With a deadline the runtime is \
        slow or hangs, for the relist as well.",
    confirm: &[Look::PROBE, Look::EVENTS],
    remedies: &[
        Cure {
            what: "Remove the stopped containers of pods that are gone, past the kubelet (Docker)",
            command: "plegdoctor clean --exited",
            cost: "the logs of the removed containers; running ones are not touched",
        },
        Cure::SAVE,
    ],
    versions: "All; structured text since 1.22.",
    unproved: "",
    see: &[
        "list-too-large",
        "container-pileup",
        "hung-runtime",
        "dead-container",
    ],
    sources: &["kubernetes:pkg/kubelet/kubelet.go", "kubernetes#63858", RUN],
};

pub(super) const GC_STOP: Page = Page {
    means: "The clean-up found a container in an unknown state (Docker's dead, removing or created) and tried to stop it \
        first, which failed.",
    versions: "1.15 and later; structured text since 1.21.",
    sources: &[GC],
    ..REMOVE_SANDBOX
};
