//! Pages of messages about the node, its pods, and what is around them.

use crate::syntax::page::{Cure, Look, Page};

const KUBELET: &str = "kubernetes:pkg/kubelet/kubelet.go";
const SETTERS: &str = "kubernetes:pkg/kubelet/nodestatus/setters.go";
const STATUS: &str = "kubernetes:pkg/kubelet/kubelet_node_status.go";

const DESCRIBE: Look = Look {
    what: "What the API server holds of the node: Ready False with a reason, or Unknown",
    command: "kubectl describe node NODE",
};
const HEALTHZ: Look = Look {
    what: "Whether the API server can be reached from the node",
    command: "curl -sk --max-time 5 https://APISERVER:6443/healthz",
};
const STARTED: Look = Look {
    what: "When the kubelet started, and how often systemd started it",
    command: "systemctl show -p ActiveEnterTimestamp -p NRestarts kubelet",
};

pub(super) const CNI_NOT_READY: Page = Page {
    means: "The runtime says that the pod network is not ready: mostly that there is no network configuration yet, \
        because the network add-on's pod has not written it.",
    matters: "It is not PLEG. The node is NotReady for it all the same, and pods that need the network wait. Pods with \
        the host's network start, among them the add-on's.",
    confirm: &[
        Look {
            what: "Whether there is a configuration",
            command: "ls -l /etc/cni/net.d",
        },
        Look {
            what: "Whether the network add-on runs on this node",
            command: "kubectl get pods -A -o wide --field-selector spec.nodeName=NODE",
        },
    ],
    remedies: &[Cure {
        what: "Repair the network add-on's pod on this node",
        command: "",
        cost: "what its restart costs; pods that run keep their network, mostly",
    }],
    versions: "All; structured text since 1.22. From 1.26 at -v=4 only during start.",
    unproved: "",
    see: &["not-pleg", "cni-hang"],
    sources: &[KUBELET],
};

pub(super) const NODE_NOT_READY: Page = Page {
    means: "The kubelet sets its node's Ready condition to False; the condition's message lists the reasons.",
    matters: "Only `PLEG is not healthy` among the reasons makes it a matter of PLEG. Pairs with `node-ready` are a node \
        that flaps, and their period tells how long each blocked relist took.",
    confirm: &[DESCRIBE, Look::EVENTS, Look::DIAGNOSE],
    remedies: &[],
    versions: "All; structured text since 1.22.",
    unproved: "",
    see: &["pleg-stale", "runtime-down", "cni-not-ready", "not-pleg"],
    sources: &[SETTERS],
};

pub(super) const READY_CONDITION: Page = Page {
    means: "The Ready condition as `kubectl` shows it. `False` with `KubeletNotReady` is the kubelet's own word, with its \
        reasons. `Unknown` with `NodeStatusUnknown` is the node controller's: the kubelet has not reported for 40 s (50 s in newer releases) \
        and more.",
    matters: "False and `PLEG is not healthy`: look at the runtime. Unknown: the kubelet is dead, frozen, or cut off from \
        the API server; that is another illness.",
    versions: "All.",
    sources: &[
        SETTERS,
        "kubernetes:pkg/controller/nodelifecycle/node_lifecycle_controller.go",
    ],
    ..NODE_NOT_READY
};

pub(super) const NODE_READY: Page = Page {
    means: "The kubelet sets its node's Ready condition to True.",
    matters: "It is the end of an outage, or of one tooth of it: between two rises of the lag a node with one stuck \
        container is Ready, too. The next 5 minutes tell.",
    confirm: &[Look::EVENTS, Look::DIAGNOSE],
    remedies: &[],
    versions: "All as a recorded event at -v=2; 1.26 and later with a line of its own, at start only.",
    unproved: "That it is over.",
    see: &["node-not-ready", "hung-container"],
    sources: &[STATUS],
};

pub(super) const RECORDING_EVENT: Page = Page {
    means: "The kubelet records an event about its node: memory or disk pressure and their end, schedulable or not, \
        starting, rebooted.",
    matters: "It dates what happened around an outage: pressure of memory or disk before it, a start or a reboot.",
    confirm: &[DESCRIBE],
    remedies: &[],
    versions: "All; at -v=2.",
    unproved: "",
    see: &["node-not-ready", "node-ready"],
    sources: &[STATUS],
};

pub(super) const STATUS_UPDATE_FAILED: Page = Page {
    means: "The kubelet could not write its node's status to the API server; it tries 5 times, then says that it is \
        unable.",
    matters: "It is not PLEG: the node becomes Unknown, not False. `use of closed network connection` in it means that \
        the kubelet went on using a connection that was gone, which some kubelets did for many minutes.",
    confirm: &[HEALTHZ, DESCRIBE],
    remedies: &[
        Cure {
            what: "Repair the way to the API server: network, load balancer, certificate",
            command: "",
            cost: "none for the node",
        },
        Cure {
            what: "Restart the kubelet, where it holds on to a dead connection",
            command: "systemctl restart kubelet",
            cost: "containers go on running",
        },
    ],
    versions: "All; structured text since 1.22.",
    unproved: "The words about a closed connection were blamed rightly in some outages, wrongly in others: they also \
        come where the API server was restarted.",
    see: &["not-pleg", "lease-update-failed"],
    sources: &[STATUS, "kubernetes#87615", "kubernetes#103765"],
};

pub(super) const LEASE_UPDATE_FAILED: Page = Page {
    means: "The kubelet could not renew its lease, by which the node controller sees that it lives (40 s).",
    versions: "Clusters with node leases, 1.14 and later; structured text in new releases.",
    see: &["not-pleg", "node-status-update-failed"],
    sources: &["kubernetes:staging/src/k8s.io/component-helpers/apimachinery/lease/controller.go"],
    ..STATUS_UPDATE_FAILED
};

pub(super) const NODE_REGISTERED: Page = Page {
    means: "The kubelet has registered its node, or found it registered, after a start.",
    matters: "It marks a start, and that the API server could be reached then.",
    confirm: &[STARTED],
    remedies: &[],
    versions: "All.",
    unproved: "",
    see: &["syncloop-start"],
    sources: &[STATUS],
};

pub(super) const POD_SYNC_ERROR: Page = Page {
    means: "The kubelet's work on one pod failed; the error holds what, as `failed to \"Action\" for \"name\" with \
        Reason`. It tries again with growing pauses.",
    matters: "Crashing containers and missing images fill logs with it: no matter of PLEG. With a deadline in it the pod \
        is a suspect; many pods with deadlines point at the runtime.",
    confirm: &[
        Look {
            what: "What the API server holds of the pod, its events among it",
            command: "kubectl -n NAMESPACE describe pod POD",
        },
        Look::DIAGNOSE,
    ],
    remedies: &[],
    versions: "All; structured text since 1.22.",
    unproved: "",
    see: &["hung-container", "run-sandbox-failed", "kill-pod-failed"],
    sources: &["kubernetes:pkg/kubelet/pod_workers.go"],
};

pub(super) const POD_REMOVED: Page = Page {
    means: "The API server (or a manifest's folder) told the kubelet that pods are to end (DELETE) or are gone (REMOVE).",
    matters: "It says since when a sandbox may be without a pod. What hangs at its stop was often deleted a few minutes \
        before the first stale line.",
    confirm: &[Look {
        what: "What was deleted, and when",
        command: "plegdoctor events --all --since 2h",
    }],
    remedies: &[],
    versions: "All; at -v=2.",
    unproved: "",
    see: &["orphan-sandbox", "stop-sandbox-failed"],
    sources: &[KUBELET],
};

pub(super) const EVICTION_SUMMARY: Page = Page {
    means: "The eviction manager, which looks each 10 s whether memory or disk run short, got no statistics.",
    matters: "It is no part of a relist. Its figures come from the runtime and the disks, so it fails or is late beside a \
        hung runtime or a dead file system.",
    confirm: &[Look::PROBE, Look::DIAGNOSE],
    remedies: &[],
    versions: "All; structured text since 1.22. Once at a start it is normal: there are no figures yet.",
    unproved: "",
    see: &["list-stats-failed", "hung-runtime"],
    sources: &["kubernetes:pkg/kubelet/eviction/eviction_manager.go"],
};

pub(super) const SYSTEM_OOM: Page = Page {
    means: "The machine as a whole ran out of memory, and the kernel killed a process: the kubelet heard of it from the \
        kernel. A container that ran into its own limit is not told so.",
    matters: "What was killed may be a daemon or a shim, which leaves its containers to nobody, and what was not killed \
        waits for memory and answers late. Where it comes minutes before a lag, that is worth a look: it may be what the \
        hang began with.",
    confirm: &[
        Look {
            what: "Whom the kernel killed, and when",
            command: "dmesg -T | grep -iE 'out of memory|oom-kill' | tail",
        },
        Look::DIAGNOSE,
    ],
    remedies: &[Cure {
        what: "Give pods without limits some, and keep memory back for the daemons (`--system-reserved`, \
            `--kube-reserved`)",
        command: "",
        cost: "the kubelet restarts for the latter; less fits on the node",
    }],
    versions: "1.15 and later, at -v=1; structured text since 1.22.",
    unproved: "That it is the cause of a lag that follows: only that it came first.",
    see: &["memory-starved", "runtime-down", "exec-sync-failed"],
    sources: &["kubernetes:pkg/kubelet/oom/oom_watcher_linux.go"],
};

pub(super) const DOCKERSHIM_USED: Page = Page {
    means: "This kubelet drives Docker through dockershim, which is a part of it.",
    matters: "It decides which daemons to ask: dockerd, containerd behind it, and no CRI socket of another process.",
    confirm: &[Look::PROBE],
    remedies: &[],
    versions: "Up to 1.23, which had dockershim last; the words about its end since 1.20. Later kubelets drive Docker \
        through cri-dockerd.",
    unproved: "",
    see: &["runtime-initialized"],
    sources: &["kubernetes:cmd/kubelet/app/server.go"],
};

pub(super) const KUBELET_FATAL: Page = Page {
    means: "The kubelet ended with its last words: klog's F, or, from 1.21 on, an error (`command failed`, `Failed to run \
        kubelet`). systemd starts it again, and mostly it ends the same way: a loop of restarts.",
    matters: "A kubelet that ends has no PLEG. The start-up lines of each round (`pleg has yet to be successful`) are \
        taken for the error, and this line, some lines on, is it. `no PodsandBox found with Id` names a container whose \
        sandbox is gone: remove that container, and the kubelet starts.",
    confirm: &[
        STARTED,
        Look {
            what: "Its last words",
            command: "journalctl -u kubelet -o cat | grep -aE '^F[0-9]|command failed|Failed to run kubelet' | tail -n 3",
        },
    ],
    remedies: &[Cure {
        what: "Mend what its last words say",
        command: "",
        cost: "depends on them",
    }],
    versions: "All.",
    unproved: "",
    see: &["removal-race", "starting-up", "unit-ended"],
    sources: &["kubernetes:cmd/kubelet/app/server.go", "kubernetes#107115"],
};
