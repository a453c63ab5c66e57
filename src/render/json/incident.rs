//! Outages, and what happened in them and before.

use super::seconds;
use crate::kubelet::incident::{Incident, Shape};
use crate::report::{Moment, MomentKind};
use crate::syntax::citation::Citation;
use crate::syntax::json::json_object;
use crate::syntax::time::Time;
use chrono::TimeDelta;

/// An outage and its timeline.
pub(super) struct Outage<'a>(pub(super) (&'a Incident, &'a Vec<Moment>));

json_object! {
    Outage<'_> as it {
        /// When the last successful relist began: the first line's time minus its lag
        start: Time = it.0.0.start,
        /// When it ended; null while it lasts
        end: Option<Time> = it.0.0.end,
        /// Whether the log ends without a sign of recovery
        ongoing: bool = it.0.0.ongoing,
        /// The largest lag
        peak_lag_seconds: f64 = seconds(it.0.0.peak_lag),
        /// The limit as logged
        threshold_seconds: Option<f64> = it.0.0.threshold.map(seconds),
        /// growing: no list succeeds; sawtooth: lists succeed and a status blocks; single: one short stretch, either
        /// is possible
        shape: Shape = it.0.0.shape,
        /// Lines that give a lag
        lines: u64 = it.0.0.lines,
        /// What happened in it and up to 12 hours before, in order
        timeline: Vec<Entry<'_>> = it.0.1.iter().map(|moment| Entry(moment, it.0.0.start)).collect(),
    }
}

/// A moment, and when the outage's lag began.
struct Entry<'a>(&'a Moment, Time);

json_object! {
    Entry<'_> as it {
        /// What happened; timeout, refused and too_large: how a call to the runtime ended
        what: MomentKind = it.0.what,
        /// When it first happened
        time: Time = it.0.at,
        /// When it last happened
        last: Time = it.0.last,
        /// How often it happened
        count: u64 = it.0.count => {"minimum": 1},
        /// How long after the incident's start; negative before it
        after_seconds: f64 = signed_seconds(it.0.at - it.1) => {"minimum": null},
        /// Which daemon, or the id of the message
        detail: &Option<String> = &it.0.detail,
        /// The line of the first; null for what follows from other lines
        citation: &Option<Citation> = &it.0.citation,
    }
}

fn signed_seconds(duration: TimeDelta) -> f64 {
    let sign = if duration < TimeDelta::zero() {
        -1.0
    } else {
        1.0
    };
    sign * seconds(duration.abs())
}
