//! What there is to know about it.

use crate::syntax::page::{Cure, Look, Page};

pub(super) const PAGE: Page = Page {
    means: "Docker holds a container's lock while it starts, stops or kills it. If that never ends, because the OCI \
        runtime, the kernel or a file system does not answer, no inspect of that one container does. All others answer \
        in milliseconds, `docker ps`, `version` and `info` too, and the list may call the hung one `Created` or `Up`.",
    matters: "The kubelet asks the status of each changed pod, one after another, and waits 2 minutes for the one that \
        does not answer (4 up to 1.31, which asks it twice). In that time no relist lists, the lag passes 3 minutes and \
        the node goes NotReady; when the call is given up a list works again and the node is Ready for a moment. So one \
        container makes a whole node flap, for as long as it hangs; several make the peaks higher.",
    confirm: &[
        Look {
            what: "Which container does not answer, each asked by itself with a deadline (Docker)",
            command: "plegdoctor probe",
        },
        Look {
            what: "The same without plegdoctor",
            command: "for id in $(docker ps -aq); do timeout 5 docker inspect $id >/dev/null || echo $id; done",
        },
        Look {
            what: "Which OCI runtime process works on it, since when, and where it sleeps",
            command: "ps -eo pid,ppid,stat,etime,wchan:24,args | grep -E 'ID|[r]unc init'",
        },
        Look {
            what: "Whose a `runc init` is, which names no container",
            command: "grep -l ID /proc/[0-9]*/cgroup",
        },
        Look {
            what: "Which call holds the lock, and what that waits for: dockerd's own stacks",
            command: "curl -s --max-time 10 --unix-socket /var/run/docker.sock 'http://localhost/debug/pprof/goroutine?debug=2'",
        },
    ],
    remedies: &[
        Cure::SAVE,
        Cure {
            what: "End that one OCI runtime process: seen on a node, inspect answered 89 ms later and the next relist was \
                good. plegdoctor names it, and ends it if asked to",
            command: "plegdoctor diagnose --fix",
            cost: "that one start, stop or exec fails, and the kubelet tries again",
        },
        Cure {
            what: "End the shim of that container, where no OCI runtime process is left",
            command: "",
            cost: "that container ends",
        },
        Cure::RESTART_RUNTIME,
        Cure {
            what: "Update what made it hang",
            command: "",
            cost: "a drained node",
        },
    ],
    versions: "All. Known to cause it: runc 1.0.0-rc93 (which containerd.io 1.4.4 has), kernels 5.4.214 to 5.4.217 \
        (fixed in 5.4.219). With Kubernetes 1.32 and later one hung container alone stays below the threshold.",
    unproved: "An inspect that was not answered once is a suspicion: an ordinary start holds the lock for seconds. A \
        second source (the kubelet's deadlines for the same id, an old process) makes it sure. Dead containers are \
        mostly not it: those that hang were shown as `Created` or `Up`.",
    see: &[
        "leaked-shim",
        "cni-hang",
        "network-storage",
        "hung-runtime",
        "sandbox-status-failed",
    ],
    sources: &[
        "kubernetes#45419",
        "kubernetes#94829",
        "runc#2530",
        "runc#3641",
        "containerd#5274",
        "rancher#31793",
        "eks-ami#1071",
        "run: kubelet 1.20.2, Docker 20.10.24",
    ],
};
