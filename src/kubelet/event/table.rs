//! The table of known messages, by version: the one place that lists them.
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
    /// Its page, as Markdown: `docs/messages/<id>.md`.
    pub page: &'static str,
    /// Its texts before the kubelet logged structured text.
    pub old: &'static [&'static str],
    /// Its texts since.
    pub new: &'static [&'static str],
}

/// Declares `Kind`, `Kind::ALL` and `MESSAGES` from rows of `Kind = "id", Weight, old: [texts], new: [texts];`.
macro_rules! messages {
    ($(
        $kind:ident = $id:literal, $weight:ident
        $(, old: [$($old:literal),* $(,)?])?
        $(, new: [$($new:literal),* $(,)?])?;
    )*) => {
        /// The known messages. Names, weights, templates and pages: `MESSAGES`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(missing_docs, reason = "each is documented by its page")]
        pub enum Kind {
            $($kind,)*
        }

        impl Kind {
            /// All kinds, in order.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];
        }

        /// All known messages, in the order of `Kind`.
        pub const MESSAGES: &[Message] = &[$(Message {
            id: $id,
            weight: Weight::$weight,
            page: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/messages/", $id, ".md")),
            old: &[$($($old,)*)?],
            new: &[$($($new,)*)?],
        },)*];
    };
}

messages! {
    // PLEG
    PlegStale = "pleg-stale", Decisive;
    PlegNever = "pleg-never", Strong;
    RelistFailed = "relist-failed", Strong,
        old: ["GenericPLEG: Unable to retrieve pods: <err>"],
        new: ["GenericPLEG: Unable to retrieve pods"];
    PlegInspectFailed = "pleg-inspect-failed", Strong,
        old: ["PLEG: Ignoring events for pod <slash>: <err>"],
        new: ["PLEG: Ignoring events for pod"];
    PlegReinspectFailed = "pleg-reinspect-failed", Strong,
        old: ["PLEG: pod <slash> failed reinspection: <err>"],
        new: ["PLEG: pod failed reinspection"];
    PlegWriteStatus = "pleg-write-status", Strong,
        old: ["PLEG: Write status for <slash>: <dump> (err: <err>)"],
        new: ["PLEG: Write status"];
    PlegEventsDropped = "pleg-events-dropped", Moderate,
        old: [
            "event channel is full, discard this relist() cycle event",
            "Event channel is full, discard this relist() cycle event",
        ],
        new: ["Event channel is full, discard this relist() cycle event"];
    EventedPlegFull = "evented-pleg-full", Moderate;
    EventedPlegRetry = "evented-pleg-retry", Weak,
        new: ["Evented PLEG: Failed to get container events, retrying: "];
    EventedPlegFallback = "evented-pleg-fallback", Moderate,
        new: ["Fall back to Generic PLEG relisting since Evented PLEG is not working"];
    EventedPlegStream = "evented-pleg-stream", Weak,
        new: [
            "GetContainerEvents failed to get streaming client",
            "failed to receive streaming container event",
        ];
    EventedPlegBadEvent = "evented-pleg-bad-event", Weak,
        new: [
            "Evented PLEG: received ContainerEventResponse with nil PodSandboxStatus or PodSandboxStatus.Metadata",
        ];
    EventedPlegDropped = "evented-pleg-dropped", Moderate,
        new: ["Evented PLEG: Event channel is full, discarded pod lifecycle event"];
    PlegRelisting = "pleg-relisting", Context,
        old: ["GenericPLEG: Relisting"],
        new: ["GenericPLEG: Relisting"];
    PlegStateChange = "pleg-state-change", Context,
        old: ["GenericPLEG: <uid>/<cid>: <word>"],
        new: ["GenericPLEG"];
    PlegContainerFinished = "pleg-container-finished", Context,
        new: ["Generic (PLEG): container finished"];
    PlegEvent = "pleg-event", Context,
        old: ["SyncLoop (PLEG): \"<pod>\", event: <event>"],
        new: ["SyncLoop (PLEG): event for pod"];

    // runtime state and sync loop
    SkipSync = "skip-sync", Decisive,
        old: ["skipping pod synchronization - <list>"],
        new: ["Skipping pod synchronization"];
    RuntimeDown = "runtime-down", Strong;
    RuntimeStatusPending = "runtime-status-pending", Context;
    RuntimeNotReady = "runtime-not-ready", Strong,
        old: ["Container runtime not ready: <state>"],
        new: ["Container runtime not ready"];
    RuntimeSanityFailed = "runtime-sanity-failed", Strong,
        old: ["Container runtime sanity check failed: <err>"],
        new: ["Container runtime sanity check failed"];
    RuntimeStatusNil = "runtime-status-nil", Strong,
        old: ["Container runtime status is nil"],
        new: ["Container runtime status is nil"];
    RuntimeVersionFailed = "runtime-version-failed", Strong,
        old: [
            "Get runtime version failed: <err>",
            "Version from runtime service failed: <err>",
        ],
        new: [
            "Get runtime version failed",
            "Version from runtime service failed",
        ];
    RuntimeStatusFailed = "runtime-status-failed", Strong,
        old: ["Status from runtime service failed: <err>"],
        new: ["Status from runtime service failed"];
    CriConnectFailed = "cri-connect-failed", Strong,
        old: ["Connect remote runtime <any> failed: <err>"],
        new: ["Connect remote runtime failed"];
    SyncloopStart = "syncloop-start", Context,
        old: ["Starting kubelet main sync loop"],
        new: [
            "Starting kubelet main sync loop",
            "Starting kubelet main sync loop.",
        ];
    RuntimeInitialized = "runtime-initialized", Context,
        old: ["Container runtime <word> initialized, version: <ver>, apiVersion: <any>"],
        new: ["Container runtime initialized"];
    SoftwareVersion = "software-version", Context,
        old: ["Version: {KernelVersion:<ver> ContainerOsVersion:<any>"];
    SyncloopClosed = "syncloop-closed", Moderate,
        old: ["Update channel is closed. Exiting the sync loop"],
        new: ["Update channel is closed, exiting the sync loop"];
    SyncloopSlow = "syncloop-slow", Moderate,
        old: ["sync Loop took longer than expected"],
        new: ["sync Loop took longer than expected"];
    HousekeepingSlow = "housekeeping-slow", Moderate,
        new: [
            "Housekeeping took longer than 15s",
            "Housekeeping took longer than expected",
        ];
    CleanPodsFailed = "clean-pods-failed", Moderate,
        old: ["Failed cleaning pods: <err>"],
        new: ["Failed cleaning pods"];

    // calls on the relist path
    ListSandboxesFailed = "list-sandboxes-failed", Strong,
        old: [
            "ListPodSandbox with filter <filter> from runtime service failed: <err>",
            "ListPodSandbox failed: <err>",
            "ListPodSandbox with pod UID \"<uid>\" failed: <err>",
        ],
        new: [
            "ListPodSandbox with filter from runtime service failed",
            "Failed to list pod sandboxes",
            "Failed to list sandboxes for pod",
        ];
    ListContainersFailed = "list-containers-failed", Strong,
        old: [
            "ListContainers with filter <filter> from runtime service failed: <err>",
            "getKubeletContainers failed: <err>",
            "ListContainers error: <err>",
            "ListContainers failed: <err>",
        ],
        new: [
            "ListContainers with filter from runtime service failed",
            "ListContainers failed",
            "ListContainers error",
        ];
    ListStreamFailed = "list-stream-failed", Strong,
        new: [
            "StreamPodSandboxes from runtime service failed",
            "StreamContainers from runtime service failed",
            "StreamPodSandboxes recv failed",
            "StreamContainers recv failed",
        ];
    SandboxStatusFailed = "sandbox-status-failed", Decisive,
        old: [
            "PodSandboxStatus of sandbox \"<sid>\" for pod \"<pod>\" error: <err>",
            "Failed to get pod sandbox status: <err>; Skipping pod \"<pod>\"",
        ],
        new: [
            "PodSandboxStatus of sandbox for pod",
            "Failed to get pod sandbox status; Skipping pod",
        ];
    ContainerStatusFailed = "container-status-failed", Decisive,
        old: [
            "ContainerStatus \"<cid>\" from runtime service failed: <err>",
            "ContainerStatus of \"<cid>\" failed: <err>",
            "ContainerStatus for <cid> error: <err>",
        ],
        new: [
            "ContainerStatus from runtime service failed",
            "verify ContainerStatus failed",
            "ContainerStatus return error",
        ];
    PodContainersStatusFailed = "pod-containers-status-failed", Strong,
        old: ["getPodContainerStatuses for pod \"<pod>\" failed: <err>"],
        new: ["getPodContainerStatuses for pod failed"];

    // start, stop, remove, exec
    StopSandboxFailed = "stop-sandbox-failed", Strong,
        old: [
            "StopPodSandbox \"<sid>\" from runtime service failed: <err>",
            "Failed to stop sandbox \"<sid>\" before removing: <err>",
            "Failed to stop sandbox \"<sid>\": <err>",
            "Failed to stop sandbox <sid>",
        ],
        new: [
            "StopPodSandbox from runtime service failed",
            "Failed to stop sandbox",
            "Failed to stop sandbox before removing",
        ];
    RemoveSandboxFailed = "remove-sandbox-failed", Strong,
        old: [
            "RemovePodSandbox \"<sid>\" from runtime service failed: <err>",
            "Failed to remove sandbox \"<sid>\": <err>",
        ],
        new: [
            "RemovePodSandbox from runtime service failed",
            "Failed to remove sandbox",
        ];
    RunSandboxFailed = "run-sandbox-failed", Moderate,
        old: [
            "RunPodSandbox from runtime service failed: <err>",
            "createPodSandbox for pod \"<pod>\" failed: <err>",
            "CreatePodSandbox for pod \"<pod>\" failed: <err>",
        ],
        new: [
            "RunPodSandbox from runtime service failed",
            "CreatePodSandbox for pod failed",
            "Failed to create sandbox for pod",
        ];
    CreateContainerFailed = "create-container-failed", Moderate,
        old: ["CreateContainer in sandbox \"<sid>\" from runtime service failed: <err>"],
        new: ["CreateContainer in sandbox from runtime service failed"];
    StartContainerFailed = "start-container-failed", Strong,
        old: ["StartContainer \"<cid>\" from runtime service failed: <err>"],
        new: ["StartContainer from runtime service failed"];
    StopContainerFailed = "stop-container-failed", Strong,
        old: [
            "StopContainer \"<cid>\" from runtime service failed: <err>",
            "Container \"<cid>\" termination failed with gracePeriod <any>: <err>",
            "killContainer \"<any>\"(id=<cid>) for pod \"<pod>\" failed: <err>",
        ],
        new: [
            "StopContainer from runtime service failed",
            "Container termination failed with gracePeriod",
            "Kill container failed",
            "killContainer for pod failed",
        ];
    RemoveContainerFailed = "remove-container-failed", Strong,
        old: [
            "RemoveContainer \"<cid>\" from runtime service failed: <err>",
            "Failed to remove container \"<cid>\": <err>",
        ],
        new: [
            "RemoveContainer from runtime service failed",
            "Failed to remove container",
        ];
    ExecSyncFailed = "exec-sync-failed", Moderate,
        old: ["ExecSync <cid> '<word>' from runtime service failed: <err>"],
        new: [
            "ExecSync cmd from runtime service failed",
            "ExecSync from runtime service failed",
        ];
    UpdateResourcesFailed = "update-resources-failed", Weak,
        old: ["UpdateContainerResources \"<cid>\" from runtime service failed: <err>"],
        new: ["UpdateContainerResources from runtime service failed"];
    ListStatsFailed = "list-stats-failed", Weak,
        old: ["ListContainerStats with filter <filter> from runtime service failed: <err>"],
        new: [
            "ListContainerStats with filter from runtime service failed",
            "ListPodSandboxStats with filter from runtime service failed",
        ];
    KillPodFailed = "kill-pod-failed", Moderate,
        old: ["killPodWithSyncResult failed: <err>"],
        new: ["killPodWithSyncResult failed"];
    PrestopHook = "prestop-hook", Weak,
        old: [
            "preStop hook for container \"<any>\" failed: <err>",
            "preStop hook for container \"<any>\" did not complete in <any> seconds",
        ],
        new: [
            "PreStop hook failed",
            "PreStop hook not completed in grace period",
        ];

    // around them: what tells recovery, removal, another illness
    CniNotReady = "cni-not-ready", Decisive,
        old: ["Container runtime network not ready: <state>"],
        new: ["Container runtime network not ready"];
    NodeNotReady = "node-not-ready", Decisive,
        old: ["Node became not ready: <cond>"],
        new: ["Node became not ready"];
    ReadyCondition = "ready-condition", Decisive;
    NodeReady = "node-ready", Decisive,
        new: ["Fast updating node status as it just became ready"];
    RecordingEvent = "recording-event", Context,
        old: ["Recording <word> event message for node <node>"],
        new: ["Recording event message for node"];
    NodeStatusUpdateFailed = "node-status-update-failed", Strong,
        old: [
            "Error updating node status, will retry: <err>",
            "Unable to update node status: <err>",
        ],
        new: [
            "Error updating node status, will retry",
            "Unable to update node status",
        ];
    LeaseUpdateFailed = "lease-update-failed", Strong,
        old: [
            "failed to ensure lease exists, will retry in <any>, error: <err>",
            "failed to ensure node lease exists, will retry in <any>, error: <err>",
            "failed to update lease, error: <err>",
            "failed to update node lease, error: <err>",
        ],
        new: [
            "Failed to ensure lease exists, will retry",
            "Failed to update lease",
            "Will retry updating lease",
        ];
    NodeRegistered = "node-registered", Context,
        old: ["Successfully registered node <node>"],
        new: ["Successfully registered node"];
    PodSyncError = "pod-sync-error", Moderate,
        old: ["Error syncing pod <uid> (\"<pod>\"), skipping: <err>"],
        new: ["Error syncing pod, skipping"];
    PodRemoved = "pod-removed", Context,
        old: [
            "SyncLoop (DELETE, \"<any>\"): \"<pods>\"",
            "SyncLoop (REMOVE, \"<any>\"): \"<pods>\"",
        ],
        new: [
            "SyncLoop DELETE",
            "SyncLoop REMOVE",
        ];
    ContainerGcFailed = "container-gc-failed", Strong,
        old: ["Container garbage collection failed: <err>"],
        new: ["Container garbage collection failed"];
    GcStopContainerFailed = "gc-stop-container-failed", Strong,
        old: ["Failed to stop container \"<cid>\": <err>"],
        new: ["Failed to stop container"];
    EvictionSummaryFailed = "eviction-summary-failed", Moderate,
        old: [
            "eviction manager: failed to get summary stats: <err>",
            "eviction manager: failed to get get summary stats: <err>",
        ],
        new: ["Eviction manager: failed to get summary stats"];
    SystemOom = "system-oom", Moderate,
        old: [
            "Got sys oom event: <any>",
            "Got sys oom event from cadvisor: <any>",
        ],
        new: ["Got sys oom event"];
    // From 1.20 on "Using dockershim is deprecated" stands beside it, and tells no more.
    DockershimUsed = "dockershim-used", Context,
        old: ["Connecting to docker on <any>"],
        new: ["Connecting to docker on the dockerEndpoint"];
    ContainerManagerFailed = "container-manager-failed", Decisive,
        old: ["Failed to start ContainerManager <err>"],
        new: ["Failed to start ContainerManager"];
    XtablesLocked = "xtables-locked", Weak;
    ClockStepped = "clock-stepped", Context;

    // the kernel's and systemd's own
    OutOfMemory = "out-of-memory", Moderate;
    HungTask = "hung-task", Strong;
    ServerSilent = "server-silent", Strong;
    ServerAnswers = "server-answers", Weak;
    NetdeviceHeld = "netdevice-held", Strong;
    DiskError = "disk-error", Strong;
    UnitEnded = "unit-ended", Strong;
    // Before 1.21 a fatal line says it. These are followed by the end of the process (cmd/kubelet/app/server.go,
    // component-base/cli/run.go).
    KubeletFatal = "kubelet-fatal", Decisive,
        new: [
            "command failed",
            "Failed to run kubelet",
        ];
}
