//! Pages of messages about the runtime's state and the kubelet's sync loop.

use crate::syntax::page::{Cure, Look, Page};

const KUBELET: &str = "kubernetes:pkg/kubelet/kubelet.go";
const RUNTIME: &str = "kubernetes:pkg/kubelet/runtime.go";
const MANAGER: &str = "kubernetes:pkg/kubelet/kuberuntime/kuberuntime_manager.go";
const CLIENT: &str = "kubernetes:staging/src/k8s.io/cri-client/pkg/remote_runtime.go";

const UNIT: Look = Look {
    what: "Whether the runtime runs, and why it ended if not",
    command: "systemctl status docker containerd crio --no-pager",
};
const VERSION: Look = Look {
    what: "Whether the runtime's version call answers (Docker asks containerd for it, too)",
    command: "timeout 5 docker version",
};
const STARTED: Look = Look {
    what: "When the kubelet started, and how often systemd started it",
    command: "systemctl show -p ActiveEnterTimestamp -p NRestarts kubelet",
};

pub(super) const SKIP_SYNC: Page = Page {
    means: "The kubelet's sync loop found itself unhealthy and did nothing for pods this time; the reasons are listed, \
        each explained by itself. It tries again after 0.1 s, 0.2 s and so on up to 5 s: a run of short pauses is the \
        beginning of an outage, the even 5 s its course.",
    matters: "While it lasts no pod is started, stopped or cleaned up on this node, and the node is NotReady. Count and \
        span of these lines are the outage. Only the reason tells whether it is PLEG.",
    confirm: &[Look::EVENTS, Look::DIAGNOSE],
    remedies: &[],
    versions: "All. Info up to 1.15, an error since. Up to 1.12 the reasons are joined by a blank, later by a comma.",
    unproved: "",
    see: &["pleg-stale", "runtime-down", "runtime-status-pending"],
    sources: &[KUBELET, RUNTIME, "kubernetes#78720"],
};

pub(super) const RUNTIME_DOWN: Page = Page {
    means: "Every 5 s the kubelet asks the runtime for its status. For more than 30 s none of these calls has succeeded \
        and said that the runtime is ready.",
    matters: "It tells how far the trouble goes. The status call asks for no container: it goes on answering while one \
        container hangs. So a stale PLEG with this line means the whole runtime; without it, only lists or the status \
        of single containers. With dockershim the call asks Docker's version, which asks containerd: a frozen \
        containerd gives this line, no PLEG line at all, and a node that is NotReady.",
    confirm: &[VERSION, UNIT, Look::DIAGNOSE],
    remedies: &[Cure::SAVE, Cure::FIX],
    versions: "All.",
    unproved: "That nothing runs: containers go on while the daemon hangs.",
    see: &["hung-runtime", "frozen-daemon", "runtime-status-failed"],
    sources: &[RUNTIME, "run: kubelet 1.20.2, Docker 20.10.24"],
};

pub(super) const STATUS_PENDING: Page = Page {
    means: "The kubelet has started, and its first status call to the runtime was not answered yet.",
    matters: "It is a start-up line, gone after seconds. Together with a lag far above 3 minutes it means that the \
        kubelet was restarted while the runtime was already bad, and that its first call hangs.",
    confirm: &[STARTED, VERSION],
    remedies: &[],
    versions: "1.15 and later (with a full stop in 1.14).",
    unproved: "",
    see: &["starting-up", "runtime-down"],
    sources: &[RUNTIME],
};

pub(super) const NOT_READY: Page = Page {
    means: "The runtime answered its status call, and says of itself that it is not ready. The reason and the words \
        after it are the runtime's: `DockerDaemonNotReady` means that dockershim could not ask Docker for its version.",
    matters: "After 30 s of it the runtime counts as down. PLEG fails beside it if the list fails, too.",
    confirm: &[UNIT, VERSION],
    remedies: &[Cure {
        what: "Start the runtime, or see why it ended",
        command: "journalctl -u docker -u containerd -u crio -n 100 --no-pager",
        cost: "nothing to look; starting Docker ends what has run on without it, unless live-restore is on",
    }],
    versions: "All as a line of its own; a reason in the Ready condition since 1.20. From 1.26 at -v=4 only during start.",
    unproved: "",
    see: &["runtime-down", "runtime-sanity-failed"],
    sources: &[KUBELET],
};

pub(super) const SANITY_FAILED: Page = Page {
    means: "The kubelet's check of the runtime, every 5 s, failed: its status call returned an error.",
    matters: "It comes up to 30 s before `runtime-down`. The error tells whether the runtime is gone (refused, no such \
        file) or hangs (a deadline).",
    confirm: &[VERSION, UNIT, Look::DIAGNOSE],
    remedies: &[Cure::SAVE, Cure::FIX],
    versions: "All; structured text since 1.22.",
    unproved: "",
    see: &["runtime-down", "hung-runtime", "frozen-daemon"],
    sources: &[KUBELET],
};

pub(super) const STATUS_NIL: Page = Page {
    means: "The runtime answered its status call without an error and without a status.",
    matters: "The kubelet treats it as a failed check; after 30 s the runtime counts as down.",
    confirm: &[UNIT],
    remedies: &[],
    versions: "All; structured text since 1.22. No sound runtime answers so.",
    unproved: "",
    see: &["runtime-sanity-failed"],
    sources: &[KUBELET],
};

pub(super) const VERSION_FAILED: Page = Page {
    means: "The call for the runtime's version failed. The kubelet makes it at its start, and for its node's \
        status.",
    matters: "With Docker a deadline here, while containers and lists answer, points at containerd: Docker's version \
        call asks it. Without a version the kubelet does not start.",
    confirm: &[
        VERSION,
        Look {
            what: "Whether containerd answers by itself",
            command: "timeout 5 ctr version",
        },
        Look::DIAGNOSE,
    ],
    remedies: &[Cure::SAVE, Cure::FIX],
    versions: "All; structured text since 1.21.",
    unproved: "",
    see: &["frozen-daemon", "hung-runtime"],
    sources: &[MANAGER, CLIENT, "run: kubelet 1.20.2, Docker 20.10.24"],
};

pub(super) const STATUS_FAILED: Page = Page {
    means: "The CRI client's own line about a status call that failed; the kubelet's line about the same is \
        `runtime-sanity-failed`.",
    versions: "All; structured text since 1.21.",
    ..SANITY_FAILED
};

pub(super) const CONNECT_FAILED: Page = Page {
    means: "The kubelet could not open the runtime's socket at its start.",
    matters: "A kubelet that cannot connect ends and is started again by systemd; there is no PLEG yet.",
    confirm: &[
        UNIT,
        Look {
            what: "Which socket the kubelet is told to use",
            command: "ps -o args= -C kubelet | tr ' ' '\\n' | grep endpoint",
        },
    ],
    remedies: &[Cure {
        what: "Start the runtime, or correct the kubelet's --container-runtime-endpoint",
        command: "",
        cost: "the kubelet restarts; containers go on running",
    }],
    versions: "All; structured text since 1.21.",
    unproved: "",
    see: &["runtime-down", "kubelet-fatal"],
    sources: &[CLIENT],
};

pub(super) const SYNCLOOP_START: Page = Page {
    means: "A kubelet has started, and its sync loop begins. From here on it says that PLEG is not healthy until its \
        first relist has ended; some seconds, where all is well.",
    matters: "It divides the log: what is stale or never before and after belongs to two processes. A restart may be \
        somebody's try to heal the node, a crash, or an upgrade.",
    confirm: &[STARTED],
    remedies: &[],
    versions: "All.",
    unproved: "",
    see: &["starting-up", "kubelet-fatal"],
    sources: &[KUBELET],
};

pub(super) const INITIALIZED: Page = Page {
    means: "The kubelet has asked the runtime for its name and version, and got an answer.",
    matters: "It shows that the runtime answered its version call at that moment, and which runtime and version it is.",
    sources: &[MANAGER],
    ..SYNCLOOP_START
};

pub(super) const SYNCLOOP_CLOSED: Page = Page {
    means: "The sync loop's source of pods ended, and so the loop does: a bug or a kubelet that shuts down.",
    matters: "No pod is worked on any more until the kubelet is started again.",
    confirm: &[STARTED],
    remedies: &[Cure {
        what: "Restart the kubelet",
        command: "systemctl restart kubelet",
        cost: "containers go on running",
    }],
    versions: "All.",
    unproved: "",
    see: &["syncloop-start"],
    sources: &[KUBELET],
};

pub(super) const SYNCLOOP_SLOW: Page = Page {
    means: "The kubelet's own `/healthz` (its check `syncloop`) found that the loop has not come round for 5 minutes.",
    matters: "It is a consequence: while pods are skipped the loop does not count as come round. Watchdogs that restart \
        the kubelet on it do no good while the runtime hangs, and hide when the outage began.",
    confirm: &[
        Look {
            what: "What the check says now (as root on a node of kubeadm)",
            command: "kubectl get --raw '/api/v1/nodes/NODE/proxy/healthz?verbose'",
        },
        Look::DIAGNOSE,
    ],
    remedies: &[],
    versions: "All. PLEG itself is no part of `/healthz` (kubernetes#37865, kubernetes#41569).",
    unproved: "",
    see: &["skip-sync", "pleg-stale"],
    sources: &[
        "kubernetes:pkg/kubelet/server/server.go",
        "kubernetes#37865",
        "kubernetes#41569",
    ],
};

pub(super) const HOUSEKEEPING_SLOW: Page = Page {
    means: "The kubelet's housekeeping (it cleans up after pods that are gone) took longer than it should.",
    matters: "It lists the runtime's pods and reads and removes folders: a slow list or a slow disk. Both slow relists \
        down, too.",
    confirm: &[
        Look::PROBE,
        Look {
            what: "Whether tasks wait for a disk",
            command: "cat /proc/pressure/io",
        },
    ],
    remedies: &[],
    versions: "Over 15 s from 1.22 to 1.26, over 1 s from 1.27: counts of the two do not compare.",
    unproved: "That it is harmful by itself: over 1 s is common on a busy node.",
    see: &["slow-relist", "disk-saturated", "container-pileup"],
    sources: &[KUBELET],
};

pub(super) const CLEAN_PODS_FAILED: Page = Page {
    means: "The kubelet's housekeeping failed; the error tells at which call, mostly a list.",
    matters: "What it should have cleaned up stays. If the list fails, the relist does for the same reason.",
    versions: "All; structured text since 1.22.",
    see: &["list-containers-failed", "hung-runtime", "list-too-large"],
    unproved: "",
    ..HOUSEKEEPING_SLOW
};
