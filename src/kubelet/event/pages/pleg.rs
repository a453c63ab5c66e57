//! Pages of the PLEG's own messages.

use crate::syntax::page::{Cure, Look, Page};

const GENERIC: &str = "kubernetes:pkg/kubelet/pleg/generic.go";
const EVENTED: &str = "kubernetes:pkg/kubelet/pleg/evented.go";

pub(super) const STALE: Page = Page {
    means: "The kubelet relists every second: it lists all sandboxes and containers, then asks the status of each pod \
        that changed, one after another. The time given is how long ago the last relist began that could list. It is \
        judged against the threshold each time the sync loop comes round, so the line comes every 5 seconds while it \
        lasts.",
    matters: "This is the symptom itself: the node is NotReady for it, and no pod is worked on. It says nothing of the \
        cause; the shape of the time does. If it grows without end, the list fails (`relist-failed`), or a relist \
        waits in a call that never ends. If it rises to some minutes and falls, again and again, the list works and \
        the status of one container or a few runs into the 2 minutes' limit; the node then flaps. What hangs began to \
        hang about this long before the line.",
    confirm: &[Look::DIAGNOSE, Look::PROBE, Look::EVENTS],
    remedies: &[Cure::SAVE, Cure::FIX],
    versions: "All. The threshold is 3m; 10m where the evented PLEG is on (1.26 and later, off by default). Old \
        releases had 2m, and said at which time it was last active.",
    unproved: "That Docker is well because `docker ps` answers: it answers while the inspect of one container hangs for \
        ever. Nor does the kubelet log when it is over: the end is read from what comes after.",
    see: &[
        "hung-container",
        "hung-runtime",
        "list-too-large",
        "relist-failed",
        "sandbox-status-failed",
    ],
    sources: &[
        GENERIC,
        "kubernetes:pkg/kubelet/runtime.go",
        "kubernetes#45419",
        "kubernetes#120292",
    ],
};

pub(super) const NEVER: Page = Page {
    means: "As `pleg-stale`, but there is no relist to count from: none has listed since the kubelet started. Older \
        kubelets write the largest duration that there is, 2562047h47m16.854775807s, in place of the words.",
    matters: "In the first seconds after a start it is harmless, and every kubelet says it. If it goes on for over half \
        a minute, the runtime has not been able to list since the start: it is down, hangs, or its list is too large.",
    confirm: &[
        Look {
            what: "When the kubelet started",
            command: "systemctl show -p ActiveEnterTimestamp kubelet",
        },
        Look::DIAGNOSE,
    ],
    remedies: &[],
    versions: "The words are those of 1.15 and later (with a full stop in 1.14), the number that of 1.9 to 1.12.",
    unproved: "That it is the error: in public threads it is quoted as such again and again, and another line is it.",
    see: &[
        "starting-up",
        "runtime-down",
        "hung-runtime",
        "list-too-large",
    ],
    sources: &[GENERIC, "kubernetes#69613", "kubernetes#120292"],
};

pub(super) const RELIST_FAILED: Page = Page {
    means: "The first part of a relist failed, the list of all sandboxes and containers; the error tells why. The time \
        of the last relist stays where it was.",
    matters: "Without a list nothing else of the relist happens, so the lag grows by a second each second until a list \
        succeeds. The list concerns the whole runtime, not one pod: it is down (refused at once), hangs (a deadline \
        every 2 minutes), or its answer is too large (at once, and always).",
    confirm: &[Look::PROBE, Look::DIAGNOSE],
    remedies: &[Cure::SAVE, Cure::FIX],
    versions: "All; structured text since 1.21.",
    unproved: "",
    see: &[
        "hung-runtime",
        "frozen-daemon",
        "runtime-down",
        "list-too-large",
        "list-sandboxes-failed",
    ],
    sources: &[
        GENERIC,
        "kubernetes#45496",
        "run: kubelet 1.20.2, Docker 20.10.24",
    ],
};

/// What the messages about one pod's part of a relist share.
const ONE_POD: Page = Page {
    means: "The second part of a relist failed for one pod: the status of its sandbox or of one of its containers could \
        not be read. The relist goes on with the next pod and comes back to this one in the next relist.",
    matters: "The pods are asked one after another, so a status that runs into the deadline costs a relist 2 minutes, \
        in which nothing is listed: the lag rises and falls, and the node may flap. Up to 1.31 a pod that failed is \
        asked once more at the end of the next relist: about 4 minutes, over the threshold for one stuck pod. From \
        1.32 it is asked once: one stuck pod alone does not make the node NotReady. With \"not found\" it is a race \
        with a removal, and harmless.",
    confirm: &[
        Look::PROBE,
        Look {
            what: "Which of the pod's containers does not answer (Docker)",
            command: "for id in $(docker ps -aq --filter label=io.kubernetes.pod.name=POD); do timeout 5 docker inspect $id >/dev/null || echo $id; done",
        },
        Look::DIAGNOSE,
    ],
    remedies: &[Cure::SAVE, Cure::FIX],
    versions: "",
    unproved: "",
    see: &[
        "hung-container",
        "sandbox-status-failed",
        "container-status-failed",
    ],
    sources: &[GENERIC, "kubernetes#45419", "kubernetes#94829"],
};

pub(super) const INSPECT_FAILED: Page = Page {
    versions: "An error up to 1.12. From 1.15 it is logged at -v=4 only, so its absence proves nothing. Its old text names the pod before the namespace.",
    ..ONE_POD
};

pub(super) const REINSPECT_FAILED: Page = Page {
    means: "A pod whose status could not be read in the last relist was asked again, and could not be read again.",
    versions: "An error up to 1.12, at -v=5 only from 1.15 to 1.31; gone in 1.32.",
    ..ONE_POD
};

pub(super) const WRITE_STATUS: Page = Page {
    versions: "At -v=4 only up to 1.20. From 1.21 to 1.23 it comes without an error, too, and is noise then. From 1.24 \
        always, and only with an error.",
    ..ONE_POD
};

pub(super) const EVENTS_DROPPED: Page = Page {
    means: "A relist found changes, and the channel that takes them to the sync loop, which holds 1000, was full.",
    matters: "The relist works; the sync loop does not keep up. It stands still (it does while pods are skipped), or so \
        much changes at once that it is swamped. What is dropped is found again by a later relist.",
    confirm: &[
        Look {
            what: "How many were dropped (kubelet_pleg_discard_events)",
            command: "kubectl get --raw /api/v1/nodes/NODE/proxy/metrics | grep kubelet_pleg_discard_events",
        },
        Look::DIAGNOSE,
    ],
    remedies: &[],
    versions: "1.15 and later. Before, the relist waited for room in the channel.",
    unproved: "That it makes a node NotReady: it is a consequence, or a sign of load.",
    see: &["skip-sync", "slow-relist"],
    sources: &[GENERIC],
};

pub(super) const EVENTED_FULL: Page = Page {
    means: "The evented PLEG takes the runtime's events from a stream and hands them on through a channel; that channel \
        is full.",
    matters: "The node is NotReady for it, and relists do not help: the sync loop does not take events. The plain \
        PLEG's own check, with its threshold of 10m, goes on beside it.",
    confirm: &[
        Look {
            what: "Whether the gate is on",
            command: "kubectl get --raw /api/v1/nodes/NODE/proxy/configz | grep -o EventedPLEG[^,}]*",
        },
        Look::DIAGNOSE,
    ],
    remedies: &[Cure {
        what: "Turn the feature gate EventedPLEG off",
        command: "",
        cost: "the kubelet restarts; containers go on running",
    }],
    versions: "1.26 and later, where the feature gate EventedPLEG is on: alpha in 1.26, beta and off in 1.27, alpha \
        since.",
    unproved: "",
    see: &["evented-pleg", "pleg-stale", "pleg-events-dropped"],
    sources: &[EVENTED],
};

/// What the messages share that show a relist at work.
const AT_WORK: Page = Page {
    means: "",
    matters: "It is a proof of life: relists were being made when it was logged. The last of these before a gap dates \
        the hang; the first after it dates the recovery, of which the kubelet logs no line.",
    confirm: &[Look {
        what: "When the kubelet last logged such a line",
        command: "plegdoctor events --all --since 2h",
    }],
    remedies: &[],
    versions: "",
    unproved: "That every pod is well: the events of others come out before a relist blocks on one.",
    see: &["pleg-stale"],
    sources: &[GENERIC],
};

pub(super) const RELISTING: Page = Page {
    means: "The kubelet begins a relist. Nothing tells how it will end.",
    versions: "All; at -v=5 only, so most logs have none.",
    ..AT_WORK
};

pub(super) const STATE_CHANGE: Page = Page {
    means: "A relist saw that a container is in another state than in the relist before: running, exited, unknown or \
        non-existent. Docker's `dead`, `removing` and `created` are unknown here.",
    versions: "All; at -v=4 only.",
    ..AT_WORK
};

pub(super) const CONTAINER_FINISHED: Page = Page {
    means: "A relist saw that a container has ended, and asked for its exit code.",
    versions: "1.22 and later.",
    ..AT_WORK
};

pub(super) const EVENT: Page = Page {
    means: "The sync loop took an event from a relist: a container started, died, was removed, or changed.",
    versions: "All; at -v=2, which most installations set.",
    sources: &["kubernetes:pkg/kubelet/kubelet.go"],
    ..AT_WORK
};
