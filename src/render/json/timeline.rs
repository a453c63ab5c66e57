//! What happened in an outage, and before it: for scripts.

use super::{CitationV1, seconds, time};
use crate::{
    report::{Moment, What},
    syntax::time::Time,
};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct MomentV1<'a> {
    what: &'static str,
    time: String,
    last: String,
    count: u64,
    after_seconds: f64,
    detail: Option<&'a str>,
    citation: Option<CitationV1<'a>>,
}

impl<'a> MomentV1<'a> {
    /// Of an outage whose lag counts from `start`.
    pub(super) fn new(moment: &'a Moment, start: Time) -> Self {
        let after = moment.at - start;
        let sign = if after < chrono::TimeDelta::zero() {
            -1.0
        } else {
            1.0
        };
        Self {
            what: word(moment.what),
            time: time(moment.at),
            last: time(moment.last),
            count: moment.count,
            after_seconds: sign * seconds(after.abs()),
            detail: moment.detail.as_deref(),
            citation: moment.citation.as_ref().map(CitationV1::from),
        }
    }
}

fn word(what: What) -> &'static str {
    match what {
        What::OutOfMemory => "out_of_memory",
        What::ExecTimeout => "exec_timeout",
        What::HungTask => "hung_task",
        What::ServerSilent => "server_silent",
        What::ServerAnswers => "server_answers",
        What::NetdeviceHeld => "netdevice_held",
        What::DiskError => "disk_error",
        What::DaemonEnd => "daemon_end",
        What::Refused => "refused",
        What::TooLarge => "too_large",
        What::DaemonStart => "daemon_start",
        What::KubeletStart => "kubelet_start",
        What::LastRelist => "last_relist",
        What::Timeout => "timeout",
        What::Stale => "stale",
        What::NotReady => "not_ready",
        What::Recovered => "recovered",
    }
}
