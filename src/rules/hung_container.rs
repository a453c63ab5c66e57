//! `hung-container`: one container's status call hangs, so the relist cannot finish.
//!
//! Docker holds a container's lock while it starts, stops or kills it; if that never ends, no inspect of it does. An
//! ordinary start holds the lock for seconds: an inspect that hangs is only suspicious. Where the host was looked at, the
//! process that does not end is named.

mod lag_shape;
mod suspect;
mod text;

use super::support::answer::{Absent, Answer, Draft};
use super::support::calls::ONE_CONTAINER;
use super::support::case::Case;
use super::support::holders::Holder;
use super::support::log_lines::LogMatches;
use super::support::remedies::{
    end_runtime_process, restart_runtime, save_stacks, see_runtime_process, see_whose,
};
use super::support::{cite, daemon_stacks, holders};
use super::{Detection, EACH, Explains, Rule, Tier};
use crate::evidence::Evidence;
use crate::finding::{Remedy, Severity};
use crate::kubelet::event::ErrorClass;
use crate::kubelet::incident::Incident;
use crate::runtime::stacks::Wait;
use suspect::{Suspect, suspects};

// Rules of the old form use it.
pub(super) use super::support::calls::ONE_CONTAINER as CALLS;

pub(super) const RULE: Rule = Rule {
    id: "hung-container",
    title: "One container's status call hangs and blocks the relist",
    page: include_str!("../../docs/findings/hung-container.md"),
    explains: Explains::Lag,
    tier: Tier::First,
    detection: Detection::Custom(evaluate),
};

/// Containers that one command names.
const MAX_IN_COMMAND: usize = 8;

fn evaluate(case: &Case) -> Answer {
    let suspects = suspects(case);
    if suspects.is_empty() {
        return lag_shape::unnamed(case).map_or_else(|| absent(case).into(), Answer::from);
    }
    // Those that block the relist now do it together: it waits for one after the other. What is resolved, or blocked
    // besides, has a finding of its own.
    let alike = |a: &Suspect, b: &Suspect| {
        let blocks = !a.proof.over && (a.proof.hangs || a.proof.blocks_relist());
        a.proof == b.proof && (suspects.len() > EACH || blocks)
    };
    let mut more = lag_shape::more(case, &suspects);
    let drafts = suspects.chunk_by(alike).map(|some| {
        let more = more.take().unwrap_or_default();
        describe(case, some).say(more)
    });
    Answer::Found(drafts.collect())
}

fn absent(case: &Case) -> Absent {
    let decide = "plegdoctor probe --all # on the node: each container separately";
    let absent = Absent::needs_runtime(decide);
    let absent = match case.all_answer() {
        Some(runtime) => {
            let longest = runtime.told().map(|it| it.probe.took).max();
            let millis = longest.unwrap_or_default().as_millis().max(1);
            let all = runtime.containers.len();
            absent.ruled_out(
                format!("each of {all} containers answers its inspect within {millis} ms"),
                &["docker inspect"],
            )
        }
        None => absent,
    };
    let failed_at_list = |outage: &Incident| {
        let reason = "each relist failed at its list, before any status call";
        (outage.list_errors > 0 && outage.rises == 1).then(|| reason.to_owned())
    };
    absent.no_line_if(ONE_CONTAINER, ErrorClass::Deadline, failed_at_list)
}

fn describe(case: &Case, suspects: &[Suspect]) -> Draft {
    let evidence = case.evidence;
    let is_critical = |it: &Suspect| {
        let blocks = it.proof.blocks_relist() && !it.stays_below;
        blocks || (it.proof.hangs && it.is_held_for_long())
    };
    let severity = match suspects.iter().any(is_critical) {
        true => Severity::Critical,
        false => Severity::Warning,
    };
    let active = suspects.iter().any(|it| !it.proof.over);
    let lines = suspects.iter().flat_map(|it| &it.deadlines.0);
    let lines = LogMatches(lines.copied().collect());
    let probed = evidence.runtime.iter().flat_map(|runtime| {
        let containers = suspects.iter().filter_map(|it| it.container).take(EACH);
        containers.map(|it| {
            let call = cite::inspect(it, suspects.len());
            cite::probe(&call, runtime, &it.probe)
        })
    });
    let holders = || suspects.iter().filter_map(|it| Some((it.id, it.holder?)));
    let (stacks, stacks_cited) = text::stacks(case, suspects).unzip();
    Draft::new(severity, text::title(suspects, active))
        .active(active)
        .say(text::state(case, suspects))
        .say(text::effect(case, suspects))
        .say(stacks.unwrap_or_default())
        .about(suspects.iter().map(Suspect::subject))
        .about(holders().map(|(id, holder)| holder.subject(id)))
        .lines(&lines, 6)
        .cite(probed)
        .cite(
            holders()
                .take(EACH)
                .map(|(_, holder)| holder.cite(evidence)),
        )
        .cite(stacks_cited)
        .confirmed_if(suspects.iter().all(|it| it.proof.sources() > 1))
        .spans(&lines)
        .steps(steps(evidence, suspects))
}

fn steps(evidence: &Evidence, suspects: &[Suspect]) -> Vec<Remedy> {
    let few = suspects.iter().take(MAX_IN_COMMAND);
    let ids: Vec<_> = few.map(|it| it.id.short()).collect();
    let ids = ids.join("|");
    let held: Vec<Holder> = suspects.iter().filter_map(|it| it.holder).collect();
    let (see, end) = match held.split_first() {
        // Of a thread that waits for a file system there is no process to kill.
        Some((first, others)) => {
            // Only what did not answer this look may be killed: it is the first of the two observations that takes.
            let hung = suspects.iter().filter(|it| it.proof.hangs);
            let actions = hung.filter_map(|it| it.holder?.end()).collect();
            let end = holders::end(&held).map(|step| step.actions(actions));
            (first.look(others), end)
        }
        None => {
            let end = (!waits_for_logs(evidence, suspects)).then(|| end_runtime_process(&ids));
            (see_runtime_process(&ids), end)
        }
    };
    let unnamed = suspects.iter().find(|it| {
        let subject = it.subject();
        subject.pod.is_none() && subject.name.is_none()
    });
    let mut steps = Vec::new();
    steps.extend(unnamed.map(|it| see_whose(evidence, it.id.short())));
    steps.extend([see, save_stacks(evidence)]);
    steps.extend(end);
    steps.push(restart_runtime(evidence));
    steps
}

/// Whether the only suspect's lock is held by a call that waits for a log driver: then no OCI runtime process blocks it.
fn waits_for_logs(evidence: &Evidence, suspects: &[Suspect]) -> bool {
    let (Some(runtime), [one]) = (&evidence.runtime, suspects) else {
        return false;
    };
    daemon_stacks::lock_of(runtime, one.id)
        .is_some_and(|(_, holder)| matches!(holder.waits, Wait::LogDriver(_)))
}
