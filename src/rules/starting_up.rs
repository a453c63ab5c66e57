//! `starting-up`: the kubelet started a moment ago, and its PLEG line is harmless. Start-ups that ended well are no finding.

use super::support::answer::{Answer, Draft};
use super::support::case::Case;
use super::support::wording::clock;
use super::{Detection, Explains, Rule, Tier};
use crate::finding::Severity;
use crate::kubelet::event::Kind;
use crate::kubelet::incident::START_UP;
use crate::syntax::time::Time;

pub(super) const RULE: Rule = Rule {
    id: "starting-up",
    title: "The kubelet has just started",
    page: include_str!("../../docs/findings/starting-up.md"),
    explains: Explains::Nothing,
    tier: Tier::First,
    detection: Detection::Custom(evaluate),
};

fn evaluate(case: &Case) -> Answer {
    let lines = case.lines(&[Kind::PlegNever, Kind::RuntimeStatusPending]);
    let started = lines.last().and_then(|last| {
        let started = start_before(case, last).or(lines.first())?;
        let log = case.log()?;
        // The first relist and the first status check take a second or two where all is well.
        let has_ended = log.last.is_some_and(|end| end - started > START_UP)
            || log.recovery_after(last).is_some();
        let evidence = case.evidence;
        let is_now = evidence.now - started <= START_UP || evidence.runtime.is_none();
        (is_now && !has_ended).then_some(started)
    });
    let Some(started) = started else {
        return Answer::Silent;
    };
    Draft::new(Severity::Info, RULE.title)
        .say(format!(
            "The kubelet started at {}. It logs \"PLEG is not healthy: pleg has yet to be successful\" until its first relist and its first check of the runtime succeed; that is normal for some seconds. If the line still comes after a minute, run plegdoctor again.",
            clock(case.evidence, Some(started))
        ))
        .lines(&lines, 3)
        .into()
}

fn start_before(case: &Case, time: Time) -> Option<Time> {
    let starts = case.log()?.starts.iter().filter_map(|start| start.at);
    starts.filter(|start| *start <= time).max()
}
