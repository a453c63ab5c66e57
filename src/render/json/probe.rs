//! `probe` for scripts: `plegdoctor.probe/1`.

use super::{ProbeV1, time};
use crate::{
    kubelet::{THRESHOLD, incident::CALL_TIMEOUT},
    runtime::{
        Runtime,
        calls::{CallResult, Ending},
        relist::{Pod, Relist},
    },
};
use serde::Serialize;
use std::{
    io::{self, Write},
    time::Duration,
};

#[derive(Serialize)]
struct ProbedV1<'a> {
    schema: &'static str,
    version: &'static str,
    asked_at: String,
    endpoint: &'a str,
    runtime_version: Option<&'a str>,
    api_version: Option<&'a str>,
    probe_timeout_seconds: f64,
    verdict: &'static str,
    calls: Vec<CallV1<'a>>,
    relist: RelistV1<'a>,
}

#[derive(Serialize)]
struct CallV1<'a> {
    call: &'static str,
    id: Option<&'a str>,
    name: Option<&'a str>,
    pod: Option<&'a str>,
    namespace: Option<&'a str>,
    listed_state: Option<&'a str>,
    probe: ProbeV1<'a>,
}

#[derive(Serialize)]
struct RelistV1<'a> {
    none_changed_seconds: f64,
    one_changed_seconds: f64,
    all_changed_seconds: f64,
    at_least: bool,
    pods: usize,
    statuses: usize,
    unanswered: usize,
    unknown: usize,
    slowest_pod: Option<PodV1<'a>>,
    call_timeout_seconds: f64,
    threshold_seconds: f64,
}

#[derive(Serialize)]
struct PodV1<'a> {
    pod: Option<&'a str>,
    namespace: Option<&'a str>,
    containers: usize,
    seconds: f64,
}

/// Writes what was asked as one JSON object and a newline.
///
/// # Errors
/// What `out` says.
pub fn write(runtime: &Runtime, out: &mut dyn Write) -> io::Result<()> {
    let relist = runtime.relist();
    let probed = ProbedV1 {
        schema: "plegdoctor.probe/1",
        version: env!("CARGO_PKG_VERSION"),
        asked_at: time(runtime.asked_at),
        endpoint: &runtime.endpoint,
        runtime_version: runtime.version.as_deref(),
        api_version: runtime.api_version.as_deref(),
        probe_timeout_seconds: runtime.probe_timeout.as_secs_f64(),
        verdict: match runtime.ending() {
            Ending::Well => "well",
            Ending::Trouble => "trouble",
            Ending::Unasked => "unasked",
        },
        calls: runtime.calls().iter().map(CallV1::from).collect(),
        relist: RelistV1::from(&relist),
    };
    serde_json::to_writer_pretty(&mut *out, &probed)?;
    writeln!(out)
}

impl<'a> From<&CallResult<'a>> for CallV1<'a> {
    fn from(call: &CallResult<'a>) -> Self {
        let container = call.container;
        let pod = container.and_then(|container| container.pod.as_ref());
        Self {
            call: call.call.as_str(),
            id: container.map(|container| container.id.as_str()),
            name: container.map(|container| container.name.as_str()),
            pod: pod.map(|pod| &*pod.name),
            namespace: pod.map(|pod| &*pod.namespace),
            listed_state: container.map(|container| container.listed_state.as_str()),
            probe: ProbeV1::from(call.probe),
        }
    }
}

impl<'a> From<&'a Relist> for RelistV1<'a> {
    fn from(relist: &'a Relist) -> Self {
        Self {
            none_changed_seconds: seconds(relist.lists),
            one_changed_seconds: seconds(relist.one_changed()),
            all_changed_seconds: seconds(relist.all_changed()),
            at_least: !relist.is_whole(),
            pods: relist.pods,
            statuses: relist.asked,
            unanswered: relist.unanswered,
            unknown: relist.unknown,
            slowest_pod: relist.slowest.as_ref().map(PodV1::from),
            call_timeout_seconds: super::seconds(CALL_TIMEOUT),
            threshold_seconds: super::seconds(THRESHOLD),
        }
    }
}

impl<'a> From<&'a Pod> for PodV1<'a> {
    fn from(pod: &'a Pod) -> Self {
        let name = pod.name.as_ref();
        Self {
            pod: name.map(|name| &*name.name),
            namespace: name.map(|name| &*name.namespace),
            containers: pod.containers,
            seconds: seconds(pod.took),
        }
    }
}

/// Returns seconds, to a tenth of a millisecond as the calls' own times are.
fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 10_000.0).round() / 10_000.0
}
