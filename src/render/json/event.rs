//! A message of the kubelet's log for scripts: a line of `plegdoctor.event/1`.

use super::{seconds, time};
use crate::{
    kubelet::event::{ErrorClass, ErrorTail, Event, Kind, Weight},
    syntax::{
        id::{ContainerId, PodUid},
        klog::Severity,
    },
};
use serde::Serialize;
use std::io::{self, Write};

/// Writes the event as one JSON object on a line of its own.
///
/// # Errors
/// What `out` says.
pub fn write(event: &Event, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &EventV1::from(event))?;
    out.write_all(b"\n")
}

#[derive(Serialize)]
pub(super) struct EventV1<'a> {
    schema: &'static str,
    time: Option<String>,
    time_guessed: bool,
    received: Option<String>,
    id: &'static str,
    weight: &'static str,
    severity: &'static str,
    pod: Option<&'a str>,
    namespace: Option<&'a str>,
    uid: Option<&'a str>,
    sandbox: Option<&'a str>,
    container: Option<&'a str>,
    node: Option<&'a str>,
    lag: Option<f64>,
    threshold: Option<f64>,
    error: Option<ErrorV1<'a>>,
    detail: Option<&'a str>,
    carrier: Option<&'static str>,
    source: &'a str,
    line: Option<u64>,
    text: &'a str,
}

#[derive(Serialize)]
struct ErrorV1<'a> {
    class: &'static str,
    text: &'a str,
    bytes: Option<u64>,
    limit: Option<u64>,
}

impl<'a> From<&'a Event> for EventV1<'a> {
    fn from(event: &'a Event) -> Self {
        Self {
            schema: "plegdoctor.event/1",
            time: event.at.map(time),
            time_guessed: event.guessed,
            received: event.received.map(time),
            id: event.kind.id(),
            weight: match event.kind.message().weight {
                Weight::Decisive => "decisive",
                Weight::Strong => "strong",
                Weight::Moderate => "moderate",
                Weight::Weak => "weak",
                Weight::Context => "context",
            },
            severity: match event.severity {
                Severity::Info => "info",
                Severity::Warning => "warning",
                Severity::Error => "error",
                Severity::Fatal => "fatal",
            },
            pod: event.pod.as_ref().map(|pod| &*pod.name),
            namespace: event.pod.as_ref().map(|pod| &*pod.namespace),
            uid: event.uid.as_ref().map(PodUid::as_str),
            sandbox: event.sandbox.as_ref().map(ContainerId::as_str),
            container: event.container.as_ref().map(ContainerId::as_str),
            node: event.node.as_deref(),
            lag: event.lag.map(seconds),
            threshold: event.threshold.map(seconds),
            error: event.error.as_ref().map(ErrorV1::from),
            detail: event.detail.as_deref(),
            carrier: event.carrier.map(Kind::id),
            source: &event.citation.source,
            line: event.citation.line,
            text: &event.citation.text,
        }
    }
}

impl<'a> From<&'a ErrorTail> for ErrorV1<'a> {
    fn from(error: &'a ErrorTail) -> Self {
        Self {
            class: match error.class {
                ErrorClass::TooLarge => "too_large",
                ErrorClass::NotFound => "not_found",
                ErrorClass::Unavailable => "unavailable",
                ErrorClass::Busy => "busy",
                ErrorClass::NameReserved => "name_reserved",
                ErrorClass::NoResources => "no_resources",
                ErrorClass::Deadline => "deadline",
                ErrorClass::Canceled => "canceled",
                ErrorClass::Other => "other",
            },
            text: &error.text,
            bytes: error.sizes.map(|(bytes, _)| bytes),
            limit: error.sizes.map(|(_, limit)| limit),
        }
    }
}
