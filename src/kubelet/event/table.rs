//! The table of known messages, by version.
//!
//! `old` are templates of unstructured text (kubelet 1.9 to 1.20), `new` are whole messages of structured text
//! (1.19 on, everywhere from 1.22), which carry their values as keys. Literals as in kubelet `pkg/kubelet`,
//! `kuberuntime`, `dockershim` and the CRI client. Messages without either are items of a list in another
//! message (`items`), or recognised by their form.
//!
//! Holes in templates: `<err>` an error, `<pod>` `pod_ns(uid)`, `<pods>` several of them, `<slash>` `pod/ns`,
//! `<uid>`, `<sid>` and `<cid>` ids in any writing, `<node>`, `<word>` the event's detail, `<list>` reasons,
//! `<ver>` a version, `<state>` `Ready=false reason:… message:…`, `<cond>` a condition, `<event>` a PLEG event, `<filter>` a CRI
//! filter, `<dump>` anything up to the last occurrence of what follows, `<any>` up to the first.

/// How strongly a message points at its cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Decides.
    Decisive,
    /// Strong.
    Strong,
    /// Moderate.
    Moderate,
    /// Weak.
    Weak,
    /// Context only: most of a healthy log.
    Context,
}

/// One known message.
#[derive(Debug)]
pub struct Message {
    /// Stable name.
    pub id: &'static str,
    /// How strongly it points at its cause.
    pub weight: Weight,
    /// What it means, in one sentence.
    pub summary: &'static str,
    /// Its texts before the kubelet logged structured text.
    pub old: &'static [&'static str],
    /// Its texts since.
    pub new: &'static [&'static str],
}

/// All known messages, in the order of `Kind`.
pub const MESSAGES: &[Message] = &[
    Message {
        id: "pleg-stale",
        weight: Weight::Decisive,
        summary: "No relist has listed the runtime's containers for longer than the threshold.",
        old: &[],
        new: &[],
    },
    Message {
        id: "pleg-never",
        weight: Weight::Strong,
        summary: "No relist has succeeded since the kubelet started; normal in its first seconds.",
        old: &[],
        new: &[],
    },
    Message {
        id: "relist-failed",
        weight: Weight::Strong,
        summary: "The runtime could not list its sandboxes or containers, so the whole relist failed.",
        old: &["GenericPLEG: Unable to retrieve pods: <err>"],
        new: &["GenericPLEG: Unable to retrieve pods"],
    },
    Message {
        id: "pleg-inspect-failed",
        weight: Weight::Strong,
        summary: "One pod's state could not be read during a relist.",
        old: &["PLEG: Ignoring events for pod <slash>: <err>"],
        new: &["PLEG: Ignoring events for pod"],
    },
    Message {
        id: "pleg-reinspect-failed",
        weight: Weight::Strong,
        summary: "One pod's state could not be read on a second try either.",
        old: &["PLEG: pod <slash> failed reinspection: <err>"],
        new: &["PLEG: pod failed reinspection"],
    },
    Message {
        id: "pleg-write-status",
        weight: Weight::Strong,
        summary: "One pod's status could not be read during a relist.",
        old: &["PLEG: Write status for <slash>: <dump> (err: <err>)"],
        new: &["PLEG: Write status"],
    },
    Message {
        id: "pleg-events-dropped",
        weight: Weight::Moderate,
        summary: "The sync loop does not take events fast enough, so a relist's events were dropped.",
        old: &[
            "event channel is full, discard this relist() cycle event",
            "Event channel is full, discard this relist() cycle event",
        ],
        new: &["Event channel is full, discard this relist() cycle event"],
    },
    Message {
        id: "evented-pleg-full",
        weight: Weight::Moderate,
        summary: "The evented PLEG's channel is full: the sync loop does not take its events.",
        old: &[],
        new: &[],
    },
    Message {
        id: "evented-pleg-retry",
        weight: Weight::Weak,
        summary: "The evented PLEG lost the runtime's stream of events and asks for it again.",
        old: &[],
        new: &["Evented PLEG: Failed to get container events, retrying: "],
    },
    Message {
        id: "evented-pleg-fallback",
        weight: Weight::Moderate,
        summary: "The evented PLEG gave up: relists find out again what changed.",
        old: &[],
        new: &["Fall back to Generic PLEG relisting since Evented PLEG is not working"],
    },
    Message {
        id: "evented-pleg-stream",
        weight: Weight::Weak,
        summary: "The runtime's stream of events could not be had, or broke off.",
        old: &[],
        new: &[
            "GetContainerEvents failed to get streaming client",
            "failed to receive streaming container event",
        ],
    },
    Message {
        id: "evented-pleg-bad-event",
        weight: Weight::Weak,
        summary: "The runtime sent an event without a sandbox's status.",
        old: &[],
        new: &[
            "Evented PLEG: received ContainerEventResponse with nil PodSandboxStatus or PodSandboxStatus.Metadata",
        ],
    },
    Message {
        id: "evented-pleg-dropped",
        weight: Weight::Moderate,
        summary: "The sync loop does not take events fast enough, so one of the runtime's was dropped.",
        old: &[],
        new: &["Evented PLEG: Event channel is full, discarded pod lifecycle event"],
    },
    Message {
        id: "pleg-relisting",
        weight: Weight::Context,
        summary: "A relist begins.",
        old: &["GenericPLEG: Relisting"],
        new: &["GenericPLEG: Relisting"],
    },
    Message {
        id: "pleg-state-change",
        weight: Weight::Context,
        summary: "A relist saw a container change its state.",
        old: &["GenericPLEG: <uid>/<cid>: <word>"],
        new: &["GenericPLEG"],
    },
    Message {
        id: "pleg-container-finished",
        weight: Weight::Context,
        summary: "A relist saw that a container has ended.",
        old: &[],
        new: &["Generic (PLEG): container finished"],
    },
    Message {
        id: "pleg-event",
        weight: Weight::Context,
        summary: "The sync loop handles a relist's event: PLEG works.",
        old: &["SyncLoop (PLEG): \"<pod>\", event: <event>"],
        new: &["SyncLoop (PLEG): event for pod"],
    },
    Message {
        id: "skip-sync",
        weight: Weight::Decisive,
        summary: "The kubelet does no work on pods, for the reasons listed.",
        old: &["skipping pod synchronization - <list>"],
        new: &["Skipping pod synchronization"],
    },
    Message {
        id: "runtime-down",
        weight: Weight::Strong,
        summary: "For more than 30 s the runtime's status call has not succeeded.",
        old: &[],
        new: &[],
    },
    Message {
        id: "runtime-status-pending",
        weight: Weight::Context,
        summary: "The runtime's status was not asked for yet since the kubelet started.",
        old: &[],
        new: &[],
    },
    Message {
        id: "runtime-not-ready",
        weight: Weight::Strong,
        summary: "The runtime says that it is not ready.",
        old: &["Container runtime not ready: <state>"],
        new: &["Container runtime not ready"],
    },
    Message {
        id: "runtime-sanity-failed",
        weight: Weight::Strong,
        summary: "The runtime's status call failed.",
        old: &["Container runtime sanity check failed: <err>"],
        new: &["Container runtime sanity check failed"],
    },
    Message {
        id: "runtime-status-nil",
        weight: Weight::Strong,
        summary: "The runtime answered its status call with nothing.",
        old: &["Container runtime status is nil"],
        new: &["Container runtime status is nil"],
    },
    Message {
        id: "runtime-version-failed",
        weight: Weight::Strong,
        summary: "The runtime's version call failed.",
        old: &[
            "Get runtime version failed: <err>",
            "Version from runtime service failed: <err>",
        ],
        new: &[
            "Get runtime version failed",
            "Version from runtime service failed",
        ],
    },
    Message {
        id: "runtime-status-failed",
        weight: Weight::Strong,
        summary: "The runtime's status call failed.",
        old: &["Status from runtime service failed: <err>"],
        new: &["Status from runtime service failed"],
    },
    Message {
        id: "cri-connect-failed",
        weight: Weight::Strong,
        summary: "The kubelet could not connect to the runtime's socket.",
        old: &["Connect remote runtime <any> failed: <err>"],
        new: &["Connect remote runtime failed"],
    },
    Message {
        id: "syncloop-start",
        weight: Weight::Context,
        summary: "The kubelet has started.",
        old: &["Starting kubelet main sync loop"],
        new: &[
            "Starting kubelet main sync loop",
            "Starting kubelet main sync loop.",
        ],
    },
    Message {
        id: "runtime-initialized",
        weight: Weight::Context,
        summary: "The kubelet has started and knows its runtime.",
        old: &["Container runtime <word> initialized, version: <ver>, apiVersion: <any>"],
        new: &["Container runtime initialized"],
    },
    Message {
        id: "software-version",
        weight: Weight::Context,
        summary: "The kubelet says which version of the kernel or the runtime it found.",
        old: &["Version: {KernelVersion:<ver> ContainerOsVersion:<any>"],
        new: &[],
    },
    Message {
        id: "syncloop-closed",
        weight: Weight::Moderate,
        summary: "The sync loop ends because its source of pods ended.",
        old: &["Update channel is closed. Exiting the sync loop"],
        new: &["Update channel is closed, exiting the sync loop"],
    },
    Message {
        id: "syncloop-slow",
        weight: Weight::Moderate,
        summary: "The sync loop did not come round in time; a consequence, not a cause.",
        old: &["sync Loop took longer than expected"],
        new: &["sync Loop took longer than expected"],
    },
    Message {
        id: "housekeeping-slow",
        weight: Weight::Moderate,
        summary: "Housekeeping took long: a slow runtime list, or a slow disk.",
        old: &[],
        new: &[
            "Housekeeping took longer than 15s",
            "Housekeeping took longer than expected",
        ],
    },
    Message {
        id: "clean-pods-failed",
        weight: Weight::Moderate,
        summary: "Housekeeping failed.",
        old: &["Failed cleaning pods: <err>"],
        new: &["Failed cleaning pods"],
    },
    Message {
        id: "list-sandboxes-failed",
        weight: Weight::Strong,
        summary: "The runtime could not list its sandboxes.",
        old: &[
            "ListPodSandbox with filter <filter> from runtime service failed: <err>",
            "ListPodSandbox failed: <err>",
            "ListPodSandbox with pod UID \"<uid>\" failed: <err>",
        ],
        new: &[
            "ListPodSandbox with filter from runtime service failed",
            "Failed to list pod sandboxes",
            "Failed to list sandboxes for pod",
        ],
    },
    Message {
        id: "list-containers-failed",
        weight: Weight::Strong,
        summary: "The runtime could not list its containers.",
        old: &[
            "ListContainers with filter <filter> from runtime service failed: <err>",
            "getKubeletContainers failed: <err>",
            "ListContainers error: <err>",
            "ListContainers failed: <err>",
        ],
        new: &[
            "ListContainers with filter from runtime service failed",
            "ListContainers failed",
            "ListContainers error",
        ],
    },
    Message {
        id: "list-stream-failed",
        weight: Weight::Strong,
        summary: "The runtime could not list its sandboxes or containers as a stream.",
        old: &[],
        new: &[
            "StreamPodSandboxes from runtime service failed",
            "StreamContainers from runtime service failed",
            "StreamPodSandboxes recv failed",
            "StreamContainers recv failed",
        ],
    },
    Message {
        id: "sandbox-status-failed",
        weight: Weight::Decisive,
        summary: "The status of one sandbox could not be read.",
        old: &[
            "PodSandboxStatus of sandbox \"<sid>\" for pod \"<pod>\" error: <err>",
            "Failed to get pod sandbox status: <err>; Skipping pod \"<pod>\"",
        ],
        new: &[
            "PodSandboxStatus of sandbox for pod",
            "Failed to get pod sandbox status; Skipping pod",
        ],
    },
    Message {
        id: "container-status-failed",
        weight: Weight::Decisive,
        summary: "The status of one container could not be read.",
        old: &[
            "ContainerStatus \"<cid>\" from runtime service failed: <err>",
            "ContainerStatus of \"<cid>\" failed: <err>",
            "ContainerStatus for <cid> error: <err>",
        ],
        new: &[
            "ContainerStatus from runtime service failed",
            "verify ContainerStatus failed",
            "ContainerStatus return error",
        ],
    },
    Message {
        id: "pod-containers-status-failed",
        weight: Weight::Strong,
        summary: "The status of one of a pod's containers could not be read.",
        old: &["getPodContainerStatuses for pod \"<pod>\" failed: <err>"],
        new: &["getPodContainerStatuses for pod failed"],
    },
    Message {
        id: "stop-sandbox-failed",
        weight: Weight::Strong,
        summary: "A sandbox could not be stopped.",
        old: &[
            "StopPodSandbox \"<sid>\" from runtime service failed: <err>",
            "Failed to stop sandbox \"<sid>\" before removing: <err>",
            "Failed to stop sandbox \"<sid>\": <err>",
            "Failed to stop sandbox <sid>",
        ],
        new: &[
            "StopPodSandbox from runtime service failed",
            "Failed to stop sandbox",
            "Failed to stop sandbox before removing",
        ],
    },
    Message {
        id: "remove-sandbox-failed",
        weight: Weight::Strong,
        summary: "A sandbox could not be removed.",
        old: &[
            "RemovePodSandbox \"<sid>\" from runtime service failed: <err>",
            "Failed to remove sandbox \"<sid>\": <err>",
        ],
        new: &[
            "RemovePodSandbox from runtime service failed",
            "Failed to remove sandbox",
        ],
    },
    Message {
        id: "run-sandbox-failed",
        weight: Weight::Moderate,
        summary: "A pod's sandbox could not be made or started.",
        old: &[
            "RunPodSandbox from runtime service failed: <err>",
            "createPodSandbox for pod \"<pod>\" failed: <err>",
            "CreatePodSandbox for pod \"<pod>\" failed: <err>",
        ],
        new: &[
            "RunPodSandbox from runtime service failed",
            "CreatePodSandbox for pod failed",
            "Failed to create sandbox for pod",
        ],
    },
    Message {
        id: "create-container-failed",
        weight: Weight::Moderate,
        summary: "A container could not be created.",
        old: &["CreateContainer in sandbox \"<sid>\" from runtime service failed: <err>"],
        new: &["CreateContainer in sandbox from runtime service failed"],
    },
    Message {
        id: "start-container-failed",
        weight: Weight::Strong,
        summary: "A container could not be started.",
        old: &["StartContainer \"<cid>\" from runtime service failed: <err>"],
        new: &["StartContainer from runtime service failed"],
    },
    Message {
        id: "stop-container-failed",
        weight: Weight::Strong,
        summary: "A container could not be stopped.",
        old: &[
            "StopContainer \"<cid>\" from runtime service failed: <err>",
            "Container \"<cid>\" termination failed with gracePeriod <any>: <err>",
            "killContainer \"<any>\"(id=<cid>) for pod \"<pod>\" failed: <err>",
        ],
        new: &[
            "StopContainer from runtime service failed",
            "Container termination failed with gracePeriod",
            "Kill container failed",
            "killContainer for pod failed",
        ],
    },
    Message {
        id: "remove-container-failed",
        weight: Weight::Strong,
        summary: "A container could not be removed.",
        old: &[
            "RemoveContainer \"<cid>\" from runtime service failed: <err>",
            "Failed to remove container \"<cid>\": <err>",
        ],
        new: &[
            "RemoveContainer from runtime service failed",
            "Failed to remove container",
        ],
    },
    Message {
        id: "exec-sync-failed",
        weight: Weight::Moderate,
        summary: "A command in a container (a probe, mostly) could not be run or timed out.",
        old: &["ExecSync <cid> '<word>' from runtime service failed: <err>"],
        new: &[
            "ExecSync cmd from runtime service failed",
            "ExecSync from runtime service failed",
        ],
    },
    Message {
        id: "update-resources-failed",
        weight: Weight::Weak,
        summary: "A container's resources could not be changed.",
        old: &["UpdateContainerResources \"<cid>\" from runtime service failed: <err>"],
        new: &["UpdateContainerResources from runtime service failed"],
    },
    Message {
        id: "list-stats-failed",
        weight: Weight::Weak,
        summary: "The runtime could not tell its containers' statistics.",
        old: &["ListContainerStats with filter <filter> from runtime service failed: <err>"],
        new: &[
            "ListContainerStats with filter from runtime service failed",
            "ListPodSandboxStats with filter from runtime service failed",
        ],
    },
    Message {
        id: "kill-pod-failed",
        weight: Weight::Moderate,
        summary: "A pod could not be ended.",
        old: &["killPodWithSyncResult failed: <err>"],
        new: &["killPodWithSyncResult failed"],
    },
    Message {
        id: "prestop-hook",
        weight: Weight::Weak,
        summary: "A container's preStop hook failed or did not end in time.",
        old: &[
            "preStop hook for container \"<any>\" failed: <err>",
            "preStop hook for container \"<any>\" did not complete in <any> seconds",
        ],
        new: &[
            "PreStop hook failed",
            "PreStop hook not completed in grace period",
        ],
    },
    Message {
        id: "cni-not-ready",
        weight: Weight::Decisive,
        summary: "The pod network is not ready: not a matter of PLEG.",
        old: &["Container runtime network not ready: <state>"],
        new: &["Container runtime network not ready"],
    },
    Message {
        id: "node-not-ready",
        weight: Weight::Decisive,
        summary: "The kubelet reports its node NotReady, for the reasons listed.",
        old: &["Node became not ready: <cond>"],
        new: &["Node became not ready"],
    },
    Message {
        id: "ready-condition",
        weight: Weight::Decisive,
        summary: "The node's Ready condition, as the API server shows it.",
        old: &[],
        new: &[],
    },
    Message {
        id: "node-ready",
        weight: Weight::Decisive,
        summary: "The kubelet reports its node Ready.",
        old: &[],
        new: &["Fast updating node status as it just became ready"],
    },
    Message {
        id: "recording-event",
        weight: Weight::Context,
        summary: "The kubelet records another event about its node.",
        old: &["Recording <word> event message for node <node>"],
        new: &["Recording event message for node"],
    },
    Message {
        id: "node-status-update-failed",
        weight: Weight::Strong,
        summary: "The kubelet cannot report to the API server.",
        old: &[
            "Error updating node status, will retry: <err>",
            "Unable to update node status: <err>",
        ],
        new: &[
            "Error updating node status, will retry",
            "Unable to update node status",
        ],
    },
    Message {
        id: "lease-update-failed",
        weight: Weight::Strong,
        summary: "The kubelet cannot renew its lease at the API server.",
        old: &[
            "failed to ensure lease exists, will retry in <any>, error: <err>",
            "failed to ensure node lease exists, will retry in <any>, error: <err>",
            "failed to update lease, error: <err>",
            "failed to update node lease, error: <err>",
        ],
        new: &[
            "Failed to ensure lease exists, will retry",
            "Failed to update lease",
            "Will retry updating lease",
        ],
    },
    Message {
        id: "node-registered",
        weight: Weight::Context,
        summary: "The kubelet has registered its node.",
        old: &["Successfully registered node <node>"],
        new: &["Successfully registered node"],
    },
    Message {
        id: "pod-sync-error",
        weight: Weight::Moderate,
        summary: "Work on a pod failed.",
        old: &["Error syncing pod <uid> (\"<pod>\"), skipping: <err>"],
        new: &["Error syncing pod, skipping"],
    },
    Message {
        id: "pod-removed",
        weight: Weight::Context,
        summary: "The API server or a manifest says that pods are to end or are gone.",
        old: &[
            "SyncLoop (DELETE, \"<any>\"): \"<pods>\"",
            "SyncLoop (REMOVE, \"<any>\"): \"<pods>\"",
        ],
        new: &["SyncLoop DELETE", "SyncLoop REMOVE"],
    },
    Message {
        id: "container-gc-failed",
        weight: Weight::Strong,
        summary: "The kubelet could not collect its stopped containers.",
        old: &["Container garbage collection failed: <err>"],
        new: &["Container garbage collection failed"],
    },
    Message {
        id: "gc-stop-container-failed",
        weight: Weight::Strong,
        summary: "A container of unknown state could not be stopped before its removal.",
        old: &["Failed to stop container \"<cid>\": <err>"],
        new: &["Failed to stop container"],
    },
    Message {
        id: "eviction-summary-failed",
        weight: Weight::Moderate,
        summary: "The eviction manager got no statistics.",
        old: &[
            "eviction manager: failed to get summary stats: <err>",
            "eviction manager: failed to get get summary stats: <err>",
        ],
        new: &["Eviction manager: failed to get summary stats"],
    },
    Message {
        id: "system-oom",
        weight: Weight::Moderate,
        summary: "The machine as a whole ran out of memory, and the kernel killed a process.",
        old: &[
            "Got sys oom event: <any>",
            "Got sys oom event from cadvisor: <any>",
        ],
        new: &["Got sys oom event"],
    },
    Message {
        id: "dockershim-used",
        weight: Weight::Context,
        summary: "This kubelet drives Docker.",
        // From 1.20 on "Using dockershim is deprecated" stands beside it, and tells no more.
        old: &["Connecting to docker on <any>"],
        new: &["Connecting to docker on the dockerEndpoint"],
    },
    Message {
        id: "container-manager-failed",
        weight: Weight::Decisive,
        summary: "The kubelet cannot start its container manager, and ends.",
        old: &["Failed to start ContainerManager <err>"],
        new: &["Failed to start ContainerManager"],
    },
    Message {
        id: "xtables-locked",
        weight: Weight::Weak,
        summary: "iptables could not work: another program holds its lock.",
        old: &[],
        new: &[],
    },
    Message {
        id: "clock-stepped",
        weight: Weight::Context,
        summary: "The machine's clock was set, as systemd, ntpd or chronyd say.",
        old: &[],
        new: &[],
    },
    Message {
        id: "out-of-memory",
        weight: Weight::Moderate,
        summary: "The kernel killed a process since the machine as a whole ran out of memory.",
        old: &[],
        new: &[],
    },
    Message {
        id: "hung-task",
        weight: Weight::Strong,
        summary: "The kernel says that a task has slept in it for minutes, where no signal reaches it.",
        old: &[],
        new: &[],
    },
    Message {
        id: "server-silent",
        weight: Weight::Strong,
        summary: "The kernel says that the server of a file system does not answer.",
        old: &[],
        new: &[],
    },
    Message {
        id: "server-answers",
        weight: Weight::Weak,
        summary: "The kernel says that the server of a file system answers again.",
        old: &[],
        new: &[],
    },
    Message {
        id: "netdevice-held",
        weight: Weight::Strong,
        summary: "The kernel cannot remove a network device, since something still refers to it.",
        old: &[],
        new: &[],
    },
    Message {
        id: "disk-error",
        weight: Weight::Strong,
        summary: "The kernel says that a disk failed to read or write.",
        old: &[],
        new: &[],
    },
    Message {
        id: "unit-ended",
        weight: Weight::Strong,
        summary: "systemd says that the kubelet or a daemon of the runtime ended, and not in good order.",
        old: &[],
        new: &[],
    },
    Message {
        id: "kubelet-fatal",
        weight: Weight::Decisive,
        summary: "The kubelet ended with a fatal error.",
        old: &[],
        // Before 1.21 a fatal line says it. These are followed by the end of the process (cmd/kubelet/app/server.go,
        // component-base/cli/run.go).
        new: &["command failed", "Failed to run kubelet"],
    },
];
