//! The words of `hung-container`: what is told of one suspect, and of many.

use super::{Suspect, hangs, is_held, subject};
use crate::{
    event::Kind,
    evidence::Evidence,
    rules::{self, EACH, clock, count, first_of, last_of, lines_of, took},
    runtime::{Container, Outcome, Runtime},
};
use std::collections::BTreeSet;

/// Returns "Sandbox b15929dfcea1 of pod default/web-2".
fn called(suspect: &Suspect) -> String {
    rules::called(&subject(suspect))
}

pub(super) fn title(suspects: &[Suspect], active: bool) -> String {
    match (suspects, active) {
        ([one], true) => format!("{} does not answer", called(one)),
        ([one], false) => format!("{} did not answer for a time", called(one)),
        (many, true) => format!("{} do not answer", count(many.len(), "container")),
        (many, false) => format!(
            "{} did not answer for a time",
            count(many.len(), "container")
        ),
    }
}

pub(super) fn explain(evidence: &Evidence, suspects: &[Suspect], active: bool) -> String {
    let what = match suspects {
        [one] => explain_one(evidence, one),
        many => many_together(evidence, many),
    };
    let logged = suspects.iter().any(|s| !s.deadlines.is_empty());
    let why = match (logged, active) {
        (false, true) if suspects.iter().any(is_held) => {
            "An ordinary one takes seconds; while this lasts, the kubelet's relist waits for it, and after 3 minutes the node goes NotReady."
        }
        (_, false) => {
            "While it lasted the kubelet's relist, which asks one pod after the other, could not finish."
        }
        (true, true) => {
            "The kubelet's relist asks one pod after the other, so it cannot finish, and after 3 minutes the node goes NotReady."
        }
        (false, true) => {
            "An ordinary start or stop keeps a container busy for seconds; if it lasts, the kubelet's relist waits for it, and after 3 minutes the node goes NotReady."
        }
    };
    format!("{what} {why}")
}

fn explain_one(evidence: &Evidence, suspect: &Suspect) -> String {
    let runtime = evidence.runtime.as_ref();
    let mut text = Vec::new();
    match (suspect.container, runtime) {
        (Some(container), Some(runtime)) => {
            text.push(format!(
                "{}{}",
                called(suspect),
                seen_in_docker(container, runtime)
            ));
            let since = first_of(&suspect.deadlines).map(|first| clock(Some(first)));
            let lines = lines_of(&suspect.deadlines);
            text.extend(since.map(|since| {
                format!("The kubelet's calls for it have timed out since {since} ({lines}).")
            }));
        }
        _ if suspect.deadlines.is_empty() => text.push(format!("{} is held up.", called(suspect))),
        _ => text.push(format!("{}{}", called(suspect), timed_out(suspect))),
    }
    text.extend(suspect.holder.map(|holder| holder.told()));
    if suspect.container.is_none() && runtime.is_some_and(|r| r.list.outcome == Outcome::Answered) {
        text.push("It is not in Docker any more.".to_owned());
    }
    let subject = subject(suspect);
    let removal = evidence
        .log
        .as_ref()
        .and_then(|log| log.removal_of(subject.pod.as_ref(), subject.uid.as_ref()));
    text.extend(
        removal.map(|removal| format!("Its pod is being deleted (since {}).", clock(removal.at))),
    );
    text.join(" ")
}

fn timed_out(suspect: &Suspect) -> String {
    let groups = &suspect.deadlines;
    let verbs: BTreeSet<_> = groups.iter().map(|group| verb(group.first.kind)).collect();
    let verbs: Vec<_> = verbs.into_iter().collect();
    let (first, last) = (clock(first_of(groups)), clock(last_of(groups)));
    let span = if first == last {
        first
    } else {
        format!("{first} to {last}")
    };
    let lines = lines_of(groups);
    format!(
        ": the kubelet's calls to {} it timed out ({lines}, {span}).",
        verbs.join(" and ")
    )
}

fn verb(kind: Kind) -> &'static str {
    match kind {
        Kind::StopSandboxFailed | Kind::StopContainerFailed | Kind::GcStopContainerFailed => "stop",
        Kind::StartContainerFailed => "start",
        Kind::RemoveSandboxFailed | Kind::RemoveContainerFailed => "remove",
        _ => "inspect",
    }
}

fn seen_in_docker(container: &Container, runtime: &Runtime) -> String {
    let others: Vec<_> = runtime
        .containers
        .iter()
        .filter(|c| c.id != container.id && c.probe.outcome == Outcome::Answered)
        .collect();
    let slowest = others
        .iter()
        .max_by_key(|c| c.probe.took)
        .map(|c| took(&c.probe));
    let others = slowest.map_or_else(String::new, |slowest| match others.len() {
        1 => format!("; the other one took {slowest}"),
        n => format!("; {n} others took {slowest} at most"),
    });
    let listed = format!(" Docker lists it as \"{}\".", container.listed_status);
    match container.probe.outcome {
        Outcome::TimedOut => format!(
            " answers no inspect (gave up after {}{others}).{listed}",
            took(&container.probe)
        ),
        Outcome::Answered => format!(" answers again (in {}).", took(&container.probe)),
        Outcome::Gone => " is not in Docker any more.".to_owned(),
        _ => format!(
            " could not be inspected now ({}).{listed}",
            rules::probe_text(&container.probe)
        ),
    }
}

fn many_together(evidence: &Evidence, suspects: &[Suspect]) -> String {
    let pods: BTreeSet<_> = suspects.iter().filter_map(|s| subject(s).pod).collect();
    let named: Vec<_> = pods.iter().take(EACH).map(ToString::to_string).collect();
    let more = pods.len().saturating_sub(named.len());
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    let hanging = suspects.iter().filter(|s| hangs(s)).count();
    let asked = evidence.runtime.as_ref().map_or_else(String::new, |_| {
        format!("; {hanging} of them answer no inspect now")
    });
    let containers = count(suspects.len(), "container");
    let pods = match pods.len() {
        0 => String::new(),
        number => format!(
            " They belong to {}: {}{more}.",
            count(number, "pod"),
            named.join(", ")
        ),
    };
    let held: Vec<_> = suspects
        .iter()
        .filter_map(|s| s.holder?.pid())
        .map(|pid| pid.to_string())
        .collect();
    let held = match held.len() {
        0 => String::new(),
        1 => format!(
            " The OCI runtime's process {} works on one of them.",
            held[0]
        ),
        _ => format!(
            " OCI runtime processes work on {} of them: {}.",
            held.len(),
            held.join(", ")
        ),
    };
    format!("The kubelet's calls for {containers} timed out{asked}.{pods}{held}")
}
