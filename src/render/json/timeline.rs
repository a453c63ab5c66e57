//! What happened in an outage, and before it: for scripts.

use super::{CitationV1, seconds, time};
use crate::{
    report::{Moment, MomentKind},
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

fn word(what: MomentKind) -> &'static str {
    match what {
        MomentKind::OutOfMemory => "out_of_memory",
        MomentKind::ExecTimeout => "exec_timeout",
        MomentKind::HungTask => "hung_task",
        MomentKind::ServerSilent => "server_silent",
        MomentKind::ServerAnswers => "server_answers",
        MomentKind::NetdeviceHeld => "netdevice_held",
        MomentKind::DiskError => "disk_error",
        MomentKind::DaemonEnd => "daemon_end",
        MomentKind::Refused => "refused",
        MomentKind::TooLarge => "too_large",
        MomentKind::DaemonStart => "daemon_start",
        MomentKind::KubeletStart => "kubelet_start",
        MomentKind::LastRelist => "last_relist",
        MomentKind::Timeout => "timeout",
        MomentKind::Stale => "stale",
        MomentKind::NotReady => "not_ready",
        MomentKind::Recovered => "recovered",
    }
}
