//! A message of the kubelet's log: a line of `plegdoctor.event/1`.

use super::{namespace, pod_name, seconds};
use crate::kubelet::event::{ErrorClass, ErrorTail, Event, Kind, Weight};
use crate::syntax::id::{ContainerId, PodUid};
use crate::syntax::json::json_object;
use crate::syntax::klog::Severity;
use crate::syntax::time::Time;
use std::io::{self, Write};

/// Writes the event as one JSON object on a line of its own.
///
/// # Errors
/// What `out` says.
pub fn write(event: &Event, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, event)?;
    out.write_all(b"\n")
}

json_object! {
    Event as it, document "plegdoctor.event/1",
    "One line of `plegdoctor events`: a known message of the kubelet's log" {
        /// When it was logged, by the kubelet's own timestamp if it has one; null where the line has no time
        time: Option<Time> = it.at,
        /// Whether the year or zone of time is a guess from the current time and --utc-offset, since the log has
        /// neither
        time_guessed: bool = it.guessed,
        /// When journald, syslog or the container runtime received the line, if recorded; the same as time for lines
        /// without a klog timestamp
        received: Option<Time>,
        /// Which message; more may be added
        id: &str = it.kind.id() => {"pattern": "^[a-z]+(-[a-z]+)*$"},
        /// How strongly the message points at a cause; context only with --all
        weight: Weight = it.kind.message().weight,
        /// klog's letter
        severity: Severity,
        pod: Option<&str> = pod_name(it.pod.as_ref()),
        /// The pod's namespace
        namespace: Option<&str> = namespace(it.pod.as_ref()),
        /// The pod's UID
        uid: Option<PodUid>,
        /// The sandbox it is about
        sandbox: Option<ContainerId>,
        /// The container it is about
        container: Option<ContainerId>,
        /// The node, where the message names it
        node: Option<&str> = it.node.as_deref(),
        /// pleg-stale: seconds since the last relist that listed
        lag: Option<f64> = it.lag.map(seconds),
        /// pleg-stale: the kubelet's limit, in seconds
        threshold: Option<f64> = it.threshold.map(seconds),
        /// Why the call failed
        error: Option<&ErrorTail> = it.error.as_ref(),
        /// A detail of the message: an event's name, a reason, a runtime's name, a PLEG event's type, a program and
        /// its version, the size of a clock step
        detail: Option<&str> = it.detail.as_deref(),
        /// For one reason of several in a line: the id of the message that lists them
        carrier: Option<&str> = it.carrier.map(Kind::id),
        /// The file, journal or container
        source: &str = &it.citation.source,
        /// The line in source; null where lines have no number
        line: Option<u64> = it.citation.line => {"minimum": 1},
        /// The message without its framing, about 400 characters at most
        text: &str = &it.citation.text,
    }
}

json_object! {
    ErrorTail as it {
        class: ErrorClass,
        /// As logged, at most 600 bytes
        text: &str = &it.text,
        /// too_large: how large the message was
        bytes: Option<u64> = it.sizes.map(|(bytes, _)| bytes),
        /// too_large: how large it may be
        limit: Option<u64> = it.sizes.map(|(_, limit)| limit),
    }
}
