//! Pages of the messages of a kubelet whose feature gate `EventedPLEG` is on.

use crate::syntax::page::{Cure, Look, Page};

const EVENTED: &str = "kubernetes:pkg/kubelet/pleg/evented.go";
const CLIENT: &str = "kubernetes:staging/src/k8s.io/cri-client/pkg/remote_runtime.go";

/// What they share.
const STREAM: Page = Page {
    means: "",
    matters: "Until the stream is back, what happens to containers is seen by the relists alone, which come every 5 \
        minutes with the gate on. A runtime that restarts breaks it off once, and that is harmless.",
    confirm: &[
        Look {
            what: "Whether the gate is on",
            command: "kubectl get --raw /api/v1/nodes/NODE/proxy/configz | grep -o EventedPLEG[^,}]*",
        },
        Look {
            what: "How often the stream could not be had",
            command: "kubectl get --raw /api/v1/nodes/NODE/proxy/metrics | grep evented_pleg_connection",
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
    see: &["evented-pleg", "runtime-down"],
    sources: &[EVENTED],
};

pub(super) const RETRY: Page = Page {
    means: "The kubelet lost the runtime's stream of events and asks for it again, 5 times in all; each time it relists \
        besides.",
    versions: "1.26 and later, where the feature gate EventedPLEG is on; at -v=4 only, so its absence proves nothing.",
    see: &["evented-pleg", "evented-pleg-fallback", "runtime-down"],
    ..STREAM
};

pub(super) const FALLBACK: Page = Page {
    means: "The stream of events failed 5 times, and the kubelet gave it up: from here on it relists every second, as \
        without the gate, until it is started again.",
    matters: "The PLEG works as it always did, and its threshold is 3 minutes again in place of 10. Events before that \
        may have been lost; the next relist finds what changed.",
    versions: "1.26 and later, where the feature gate EventedPLEG is on; at -v=4 only: mostly the threshold in the \
        stale lines alone shows it.",
    see: &["evented-pleg", "evented-pleg-retry", "pleg-stale"],
    ..STREAM
};

pub(super) const BROKEN: Page = Page {
    means: "The runtime's stream of events could not be had, or broke off while the kubelet read it; the error says why.",
    see: &["evented-pleg", "evented-pleg-fallback", "runtime-down"],
    sources: &[CLIENT, EVENTED],
    ..STREAM
};

pub(super) const BAD_EVENT: Page = Page {
    means: "The runtime sent an event that does not say which sandbox it is about, and the kubelet left it out.",
    matters: "What that event told is seen by the next relist only, up to 5 minutes later.",
    ..STREAM
};

pub(super) const DROPPED: Page = Page {
    means: "An event of the runtime's found no room in the channel to the sync loop, which holds 1000, and was dropped.",
    matters: "The sync loop does not keep up, or stands still. What was dropped is seen by the next relist only, up to 5 \
        minutes later: until then the kubelet takes a container for running that has ended, or the reverse.",
    see: &["evented-pleg", "evented-pleg-full", "pleg-events-dropped"],
    ..STREAM
};
