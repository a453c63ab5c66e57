//! `actions`: what `--fix` did, or left.

use super::time;
use crate::{
    finding::{
        Risk,
        outcome::{ActionRecord, Asked},
    },
    syntax::id::ContainerId,
};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct ActionV1<'a> {
    what: &'static str,
    title: &'a str,
    finding: &'static str,
    risk: &'static str,
    cost: &'a str,
    target: TargetV1<'a>,
    asked: &'static str,
    outcome: &'static str,
    reason: Option<&'a str>,
    before: Option<&'a str>,
    after: Option<&'a str>,
    proof: Option<&'a str>,
    started: String,
    acted: Option<String>,
    ended: String,
}

#[derive(Serialize)]
struct TargetV1<'a> {
    told: String,
    container: Option<&'a str>,
    pid: Option<u32>,
    start_ticks: Option<u64>,
    path: Option<&'a str>,
    unit: Option<&'static str>,
}

impl<'a> From<&'a ActionRecord> for ActionV1<'a> {
    fn from(record: &'a ActionRecord) -> Self {
        let target = record.action.target();
        let outcome = &record.outcome;
        Self {
            what: record.action.word(),
            title: &record.title,
            finding: record.finding,
            risk: match record.risk {
                Risk::Safe => "safe",
                Risk::Disruptive => "disruptive",
                Risk::Node => "node",
            },
            cost: &record.cost,
            target: TargetV1 {
                told: record.action.describe(),
                container: target.container.map(ContainerId::as_str),
                pid: target.pid,
                start_ticks: target.start_ticks,
                path: target.path,
                unit: target.unit,
            },
            asked: match record.asked {
                Asked::User => "user",
                Asked::Option => "option",
                Asked::Nobody => "nobody",
            },
            outcome: outcome.status.word(),
            reason: outcome.reason.as_deref(),
            before: outcome.before.as_deref(),
            after: outcome.after.as_deref(),
            proof: outcome.proof.as_deref(),
            started: time(record.started),
            acted: outcome.at.map(time),
            ended: time(record.ended),
        }
    }
}
