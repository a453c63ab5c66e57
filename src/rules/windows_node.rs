//! `windows-node`: the log is of a Windows node, of which this program knows nothing.
//!
//! Told by the words of Windows' container service, and by lags in steps of 100 ns, as its clock has them: a lag of
//! Linux' clock ends so by chance once in a hundred times.

use super::support::answer::{Answer, Draft};
use super::support::case::Case;
use super::{Detection, Explains, Rule, Tier};
use crate::finding::{Finding, Severity};
use crate::kubelet::summary::{Group, Log};
use crate::syntax::citation::Citation;
use chrono::TimeDelta;
use std::collections::BTreeSet;

pub(super) const RULE: Rule = Rule {
    id: "windows-node",
    title: "This is a Windows node, which plegdoctor does not cover",
    page: include_str!("../../docs/findings/windows-node.md"),
    explains: Explains::Nothing,
    tier: Tier::First,
    detection: Detection::Custom(evaluate),
};

/// What only Windows' kubelets log: the library for its container service, its pipes.
const WORDS: &[&str] = &["hcsshim", "hcs::", "npipe:", "//./pipe/", r"\\.\pipe\"];
/// The steps of Windows' clock, in nanoseconds, and steps of which lags would look rounded by whoever wrote them down.
const STEP: i64 = 100;
const ROUND: i64 = 10_000;
/// … or all of them by who cuts them to microseconds.
const MICRO: i64 = 1000;
/// Fewer different lags in such steps may be chance.
const MIN_LAGS: usize = 3;

fn evaluate(case: &Case) -> Answer {
    let words = case.log().and_then(worded);
    let lags = case.log().and_then(coarse);
    if words.is_none() && lags.is_none() {
        return Answer::Silent;
    }
    let mut draft = Draft::new(Severity::Info, RULE.title);
    if let Some(group) = words {
        draft = draft
            .say("Its lines mention Windows' container service.")
            .cite([group.first.citation.clone()]);
    }
    if let Some((number, cited)) = lags {
        let sentence = format!(
            "Its lags, {number} different ones, are whole multiples of 100 ns, the step of Windows' clock."
        );
        draft = draft.say(sentence).cite(cited);
    }
    draft
        .say("plegdoctor knows Docker, containerd, processes and mounts as on Linux: its other findings may not apply, and their commands are left out. On Windows usually the container service (HCS) itself hangs, and the removal of a container with it.")
        .into()
}

/// Removes Linux commands from all findings of a Windows node: only `kubectl` runs elsewhere.
pub(super) fn leave_out_commands(findings: &mut [Finding]) {
    if !findings.iter().any(|finding| finding.id == RULE.id) {
        return;
    }
    for finding in findings {
        let mut remedies = std::mem::take(&mut finding.remedies);
        remedies.retain(|remedy| remedy.command.starts_with("kubectl "));
        finding.remedies = remedies;
    }
}

fn worded(log: &Log) -> Option<&Group> {
    log.groups.iter().find(|group| {
        let error = group.first.error.as_ref();
        error.is_some_and(|error| WORDS.iter().any(|word| error.text.contains(word)))
    })
}

/// How many different lags there are, and where two stand, if all of them are in Windows' steps and not round.
fn coarse(log: &Log) -> Option<(usize, Vec<Citation>)> {
    let all = log.incidents.iter().flat_map(|incident| &incident.samples);
    let nanos: BTreeSet<i64> = all
        .filter_map(|(_, lag): &(_, TimeDelta)| lag.num_nanoseconds())
        .collect();
    let fine = nanos.iter().filter(|&&lag| lag % ROUND != 0).count();
    let coarse =
        nanos.iter().all(|lag| lag % STEP == 0) && nanos.iter().any(|lag| lag % MICRO != 0);
    let first = log.incidents.first()?;
    (coarse && fine >= MIN_LAGS)
        .then(|| (nanos.len(), vec![first.first.clone(), first.last.clone()]))
}
