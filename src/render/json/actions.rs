//! `actions`: what `--fix` did, or left.

use super::time;
use crate::{
    finding::{
        Risk,
        outcome::{Asked, Deed},
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

impl<'a> From<&'a Deed> for ActionV1<'a> {
    fn from(deed: &'a Deed) -> Self {
        let target = deed.action.target();
        let ending = &deed.ending;
        Self {
            what: deed.action.word(),
            title: &deed.title,
            finding: deed.finding,
            risk: match deed.risk {
                Risk::Safe => "safe",
                Risk::Disruptive => "disruptive",
                Risk::Node => "node",
            },
            cost: &deed.cost,
            target: TargetV1 {
                told: deed.action.told(),
                container: target.container.map(ContainerId::as_str),
                pid: target.pid,
                start_ticks: target.start_ticks,
                path: target.path,
                unit: target.unit,
            },
            asked: match deed.asked {
                Asked::User => "user",
                Asked::Option => "option",
                Asked::Nobody => "nobody",
            },
            outcome: ending.fate.word(),
            reason: ending.reason.as_deref(),
            before: ending.before.as_deref(),
            after: ending.after.as_deref(),
            proof: ending.proof.as_deref(),
            started: time(deed.started),
            acted: ending.at.map(time),
            ended: time(deed.ended),
        }
    }
}
