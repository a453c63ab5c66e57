//! `hung-runtime`: the daemon accepts connections and does not answer, or only in part.

mod slow;

use super::support::answer::{Absent, Answer, Draft};
use super::support::calls::WHOLE_RUNTIME;
use super::support::case::Case;
use super::support::log_lines::LogMatches;
use super::support::remedies::{restart_containerd, restart_runtime, save_stacks};
use super::support::wording::{count, times};
use super::support::{cite, daemon_stacks, step, subject};
use super::{Detection, Explains, Rule, Tier};
use crate::evidence::Evidence;
use crate::evidence::runtime_stack::runtime_kind;
use crate::finding::{Remedy, Severity};
use crate::io::probe::{Outcome, Probe};
use crate::kubelet::event::ErrorClass;
use crate::kubelet::incident::Incident;
use crate::runtime::{Call, Runtime, RuntimeKind};
use crate::syntax::citation::Citation;

// Rules of the old form use it.
pub(super) use super::support::calls::WHOLE_RUNTIME as CALLS;

pub(super) const RULE: Rule = Rule {
    id: "hung-runtime",
    title: "The runtime accepts calls but does not answer",
    page: include_str!("../../docs/findings/hung-runtime.md"),
    explains: Explains::Lag,
    tier: Tier::First,
    detection: Detection::Custom(evaluate),
};

/// Containers that must be silent, with none that answers, before the daemon is at fault rather than a container.
const MIN_SILENT: usize = 3;

/// What of the runtime does not answer; the first that is true.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Lists,
    /// It lists, and no inspect of any container answers.
    Inspects,
    /// It lists and inspects; what concerns the daemon itself hangs.
    Itself,
}

impl Part {
    /// `/version` and `/info` ask containerd; lists do not (seen with containerd stopped).
    fn new(lines: &LogMatches, silent: &[Call]) -> Self {
        let list_failed = || lines.0.iter().any(|it| it.first.kind.is_list());
        if silent.contains(&Call::List) || (silent.is_empty() && list_failed()) {
            Self::Lists
        } else if silent.contains(&Call::Inspect) {
            Self::Inspects
        } else {
            Self::Itself
        }
    }

    /// The daemon to look at.
    fn daemon(self, evidence: &Evidence) -> &'static str {
        match (runtime_kind(evidence), self) {
            (Some(RuntimeKind::Docker), Self::Lists | Self::Inspects) => "dockerd",
            (Some(RuntimeKind::Docker | RuntimeKind::Containerd), _) => "containerd",
            (Some(RuntimeKind::CriO), _) => "crio",
            (None, _) => "container runtime",
        }
    }
}

fn evaluate(case: &Case) -> Answer {
    let evidence = case.evidence;
    let all = case.failed(WHOLE_RUNTIME, ErrorClass::Deadline);
    let lines = all.latest();
    let runtime = evidence.runtime.as_ref();
    let silent = runtime.map(silent_calls).unwrap_or_default();
    if lines.is_empty() && silent.is_empty() {
        let slow = slow::status_calls(case).or_else(|| slow::starts(case));
        return slow.map_or_else(|| absent(case).into(), Answer::from);
    }
    let part = Part::new(&lines, &silent);
    let lasts = !lines.is_empty()
        && match part {
            Part::Lists => lines.keep_lists_away(evidence),
            Part::Inspects | Part::Itself => lines.go_on(evidence),
        };
    let active = !silent.is_empty() || (lasts && !runtime.is_some_and(all_own_answer));
    let had_outage = case.log().is_some_and(|log| !log.incidents.is_empty());
    let calls = match part {
        Part::Lists => "the list of containers",
        Part::Inspects | Part::Itself => "part of its calls",
    };
    let title = match active {
        true => format!("The container runtime does not answer {calls}"),
        false => format!("The container runtime did not answer {calls} for a time"),
    };
    let stacks = runtime
        .filter(|_| !silent.is_empty())
        .and_then(most_wait)
        .map_or((String::new(), None), |(text, cited)| (text, Some(cited)));
    let own = runtime.into_iter().flat_map(|runtime| {
        let cite =
            |(call, probe): (Call, &Probe)| cite::probe(&format!("docker {call}"), runtime, probe);
        runtime.own_calls().map(cite)
    });
    Draft::new(Severity::Critical, title)
        .active(active)
        // One time-out that passed is no outage.
        .once_resolved(match had_outage || part == Part::Itself {
            true => Severity::Critical,
            false => Severity::Warning,
        })
        .say(runtime.map_or_else(String::new, |it| silent_text(it, &silent)))
        .say(match lines.is_empty() {
            true => String::new(),
            false => format!(
                "The kubelet's calls that concern the whole runtime timed out ({}).",
                lines.summary(evidence)
            ),
        })
        .say(effect(evidence, part, active))
        .say(stacks.0)
        .about([subject::daemon(part.daemon(evidence))])
        .lines(&lines, 6)
        .cite(own)
        .cite(stacks.1)
        .confirmed_if(lasts && !silent.is_empty())
        .spans(&all)
        .steps(steps(evidence, part))
        .into()
}

fn absent(case: &Case) -> Absent {
    let absent = Absent::needs_runtime("timeout 10 docker ps -a");
    let absent = match case.runtime() {
        Some(runtime) if all_own_answer(runtime) => {
            let longest = runtime.own_calls().map(|(_, probe)| probe.took).max();
            let millis = longest.unwrap_or_default().as_millis().max(1);
            absent.ruled_out(
                format!(
                    "{} answers ping, version, info and list within {millis} ms",
                    runtime.kind
                ),
                &["docker list"],
            )
        }
        Some(runtime) if runtime.probe(Call::Ping).outcome == Outcome::Refused => absent.ruled_out(
            "its socket refuses each call at once: nothing is there to hang",
            &["docker ping"],
        ),
        _ => absent,
    };
    absent.no_line_if(WHOLE_RUNTIME, ErrorClass::Deadline, lists_succeeded)
}

fn lists_succeeded(outage: &Incident) -> Option<String> {
    match (outage.rises, outage.status_deadlines) {
        (2.., _) => Some(format!(
            "no list timed out, and the lag fell back {}: then a list had succeeded",
            times(u64::from(outage.rises) - 1)
        )),
        (_, 1..) => Some("no list timed out, while status calls did".to_owned()),
        _ => None,
    }
}

fn all_own_answer(runtime: &Runtime) -> bool {
    let mut calls = runtime.own_calls();
    calls.all(|(_, probe)| probe.outcome == Outcome::Answered)
}

/// The calls that time out. Containers count only if all were asked and none answered.
fn silent_calls(runtime: &Runtime) -> Vec<Call> {
    let timed_out = |probe: &Probe| probe.outcome == Outcome::TimedOut;
    let own = runtime.own_calls().filter(|(_, probe)| timed_out(probe));
    let mut silent: Vec<_> = own.map(|(call, _)| call).collect();
    let enough = runtime.told().count() >= MIN_SILENT;
    if silent.is_empty() && enough && runtime.told().all(|it| timed_out(&it.probe)) {
        silent.push(Call::Inspect);
    }
    silent
}

fn silent_text(runtime: &Runtime, silent: &[Call]) -> String {
    let name = |call: &Call| match call {
        Call::Inspect => "docker inspect of every container".to_owned(),
        own => format!("docker {own}"),
    };
    let names: Vec<_> = silent.iter().map(name).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!(
            "The daemon did not answer within {:.1} s: {}.",
            runtime.probe_timeout.as_secs_f64(),
            names.join(", ")
        ),
    }
}

fn effect(evidence: &Evidence, part: Part, active: bool) -> String {
    match (part, active) {
        (Part::Lists, true) => "The kubelet cannot list the node's containers, so no relist succeeds and the node is NotReady after 3 minutes.".to_owned(),
        (Part::Lists, false) => "Meanwhile the kubelet could not list the node's containers, and no relist succeeded.".to_owned(),
        (Part::Inspects, _) => "It lists the containers but does not answer status calls, so the kubelet's relist waits for each of them.".to_owned(),
        (Part::Itself, _) => {
            let why = match runtime_kind(evidence) {
                Some(RuntimeKind::Docker) => "Lists work, but version and info calls hang: Docker passes those on to containerd.",
                _ => "Version and status calls hang.",
            };
            format!("{why} The kubelet then logs \"container runtime is down\" and the node is NotReady, mostly without a PLEG line.")
        }
    }
}

/// What most of dockerd's calls wait for, by its stacks; `None` if that is not clear. Not all of them need be in the same
/// call of containerd, or in the same driver.
fn most_wait(runtime: &Runtime) -> Option<(String, Citation)> {
    let calls = &runtime.docker().stacks.as_ref()?.stacks.calls;
    let alike = |name: &str| {
        calls
            .iter()
            .filter(move |it| it.waits.name() == name)
            .collect()
    };
    let groups = calls.iter().map(|call| alike(call.waits.name()));
    let most: Vec<_> = groups.max_by_key(Vec::len)?;
    let what = daemon_stacks::waited_for_kind(&most.first()?.waits)?;
    let (number, all) = (most.len(), count(calls.len(), "call"));
    let verb = if number == 1 { "waits" } else { "wait" };
    (number * 2 > calls.len()).then(|| {
        let text =
            format!("dockerd's own stacks: of {all} in progress, {number} {verb} for {what}.");
        (text, daemon_stacks::cite(runtime, &most))
    })
}

fn steps(evidence: &Evidence, part: Part) -> Vec<Remedy> {
    let look = step::look(
        "See whether the daemon is stopped (T), sleeps on a disk (D) or is starved",
        "ps -eo pid,stat,etime,wchan:24,args | grep -E '[d]ockerd|[c]ontainerd( |$)|[c]rio( |$)'",
    )
    .note("resume a daemon in state T with: kill -CONT PID");
    let is_dockers = runtime_kind(evidence) == Some(RuntimeKind::Docker);
    let containerd = (part == Part::Itself && is_dockers).then(|| restart_containerd(evidence));
    let mut steps = vec![look, save_stacks(evidence)];
    steps.extend(containerd);
    steps.push(restart_runtime(evidence));
    steps
}
