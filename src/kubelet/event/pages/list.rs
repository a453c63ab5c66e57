//! Pages of failed calls that a relist makes: the list of everything, then the status of each.

use crate::syntax::page::{Cure, Look, Page};

const CLIENT: &str = "kubernetes:staging/src/k8s.io/cri-client/pkg/remote_runtime.go";
const RUN: &str = "run: kubelet 1.20.2, Docker 20.10.24";

/// What failed lists share.
const LIST: Page = Page {
    means: "",
    matters: "A relist begins with the lists of sandboxes and containers; if one fails the relist does, and the lag \
        grows until one succeeds. The error decides: a deadline means that the whole runtime is blocked or very slow \
        (each try costs 2 minutes), a refusal that it is not there, a size that there are too many containers. The \
        kubelet's clean-up begins with the same lists, and fails beside it.",
    confirm: &[
        Look {
            what: "Whether Docker lists at all, how long it takes, how large the list is",
            command: "plegdoctor probe",
        },
        Look {
            what: "The same of another runtime",
            command: "time timeout 150 crictl --timeout 120s ps -aq | wc -l",
        },
        Look::DIAGNOSE,
    ],
    remedies: &[Cure::SAVE, Cure::FIX],
    versions: "All; structured text since 1.21.",
    unproved: "A filter that names a pod's UID makes it the list of one pod's, which is asked with its status: then only \
        that pod failed.",
    see: &[
        "relist-failed",
        "hung-runtime",
        "frozen-daemon",
        "runtime-down",
        "list-too-large",
    ],
    sources: &[
        CLIENT,
        "kubernetes:pkg/kubelet/kuberuntime/kuberuntime_sandbox.go",
        RUN,
    ],
};

pub(super) const SANDBOXES: Page = Page {
    means: "The call that lists sandboxes failed. The CRI client says so, and the kubelet once more in words of its own: \
        two or three lines are one failure.",
    ..LIST
};

pub(super) const CONTAINERS: Page = Page {
    means: "The call that lists containers failed. The CRI client says so, and the kubelet once more in words of its \
        own: two or three lines are one failure.",
    sources: &[
        CLIENT,
        "kubernetes:pkg/kubelet/kuberuntime/kuberuntime_container.go",
        RUN,
    ],
    ..LIST
};

pub(super) const STREAM: Page = Page {
    means: "The lists came as a stream, which has no limit of size, and the stream failed or ended early.",
    versions: "1.36 and later, with a runtime that has such calls; with another the kubelet goes back to plain lists.",
    sources: &[CLIENT],
    ..LIST
};

/// What a status that could not be read means, sandbox or container.
const STATUS: Page = Page {
    means: "",
    matters: "Pods are asked one after another, so one status that does not come holds up the whole relist: 2 minutes \
        each time. The lag rises to some minutes and falls when the call is given up, and the node flaps between Ready \
        and NotReady. If the same id comes again and again with a deadline, it is the culprit. With \"not found\" it is \
        a race with a removal, and harmless.",
    confirm: &[
        Look {
            what: "Whether Docker answers for that one (others answer in milliseconds)",
            command: "timeout 5 docker inspect ID >/dev/null && echo answers",
        },
        Look {
            what: "The same of another runtime; for a sandbox: inspectp",
            command: "crictl --timeout 5s inspect ID >/dev/null && echo answers",
        },
        Look::RUNTIME_PROCESS,
        Look::DIAGNOSE,
    ],
    remedies: &[
        Cure::SAVE,
        Cure {
            what: "End the process that holds it: an OCI runtime, a network plugin; `hung-container` and `cni-hang` \
                name it",
            command: "plegdoctor diagnose --fix",
            cost: "that one start, stop or exec fails, and the kubelet tries again",
        },
    ],
    versions: "All. From 1.32 a pod is asked once for each relist, so that one stuck container alone (2 minutes) stays \
        below the threshold.",
    unproved: "That nothing else is wrong: in the 2 minutes after the first such line every other call for the same \
        container fails, too.",
    see: &[
        "hung-container",
        "leaked-shim",
        "network-storage",
        "cni-hang",
        "pod-containers-status-failed",
    ],
    sources: &[
        "kubernetes:pkg/kubelet/kuberuntime/kuberuntime_manager.go",
        "kubernetes#45419",
        "kubernetes#94829",
        RUN,
    ],
};

pub(super) const SANDBOX_STATUS: Page = Page {
    means: "The kubelet asked for the status of one sandbox and did not get it. With dockershim that is an inspect of the \
        sandbox's container and a call of the network plugin for its address.",
    ..STATUS
};

pub(super) const CONTAINER_STATUS: Page = Page {
    means: "The kubelet asked for the status of one container and did not get it. The line does not name the pod; \
        `pod-containers-status-failed` after it does. The same error about the same id is logged once a minute at \
        most: counts say too little.",
    ..STATUS
};

pub(super) const POD_CONTAINERS_STATUS: Page = Page {
    means: "What the kubelet makes of a `container-status-failed` just before: the status of this pod's containers is \
        not known. It names the pod, and that line the container.",
    see: &["container-status-failed", "hung-container"],
    ..STATUS
};
