//! The words of `hung-container`: what is told of one suspect, and of many.

use super::{
    Proof, Suspect, hangs, has_status, held::is_held, is_unkillable, proof, stays_below, subject,
};
use crate::{
    evidence::Evidence,
    io::probe::Outcome,
    kubelet::event::Kind,
    rules::{self, EACH, clock, count, stored, took},
    runtime::{Container, Runtime},
};
use std::collections::BTreeSet;

/// Returns "Sandbox b15929dfcea1 of pod default/web-2".
fn called(suspect: &Suspect) -> String {
    rules::called(&subject(suspect))
}

pub(super) fn title(suspects: &[Suspect], active: bool) -> String {
    let who = match suspects {
        [one] => called(one),
        many => count(many.len(), "container"),
    };
    let is_held = |suspect: &Suspect| suspect.deadlines.is_empty() && is_held(suspect);
    if suspects.iter().all(|s| !hangs(s) && is_held(s)) {
        let are = if suspects.len() == 1 { "is" } else { "are" };
        return format!("{who} {are} held up");
    }
    if !suspects
        .iter()
        .any(|suspect| has_status(suspect) || hangs(suspect))
    {
        let who = rules::lower(&who);
        let time_out = if active { "time out" } else { "timed out" };
        return format!(
            "The kubelet's calls to {} {who} {time_out}",
            verbs(suspects)
        );
    }
    match (active, suspects.len()) {
        (true, 1) => format!("{who} does not answer"),
        (true, _) => format!("{who} do not answer"),
        (false, _) => format!("{who} did not answer for a time"),
    }
}

pub(super) fn explain(evidence: &Evidence, suspects: &[Suspect]) -> String {
    let what = match suspects {
        [one] => explain_one(evidence, one),
        many => many_together(evidence, many),
    };
    let proof = suspects.first().map(|suspect| proof(evidence, suspect));
    let why = match proof {
        Some(proof) if proof.held && !proof.holds_up() => {
            "An ordinary one takes seconds; while this lasts, the kubelet's relist waits for it, and after 3 minutes the node goes NotReady."
        }
        Some(Proof {
            hangs: false,
            status: false,
            ..
        }) if suspects.iter().any(is_unkillable) => {
            "The runtime has killed its process and waited in vain for its end: a process that does not die of SIGKILL sleeps in the kernel, mostly for a file system that does not answer, or its shim does not tell of its end. It holds up the kubelet's relist only if the container's status does not answer either."
        }
        Some(Proof {
            hangs: false,
            status: false,
            ..
        }) => &format!(
            "Such a call may just need longer than the {} that the kubelet waits. It holds up the kubelet's relist only if the container's status does not answer either.",
            patience(evidence)
        ),
        Some(Proof { over: true, .. }) => {
            "While it lasted the kubelet's relist, which asks one pod after the other, could not finish."
        }
        Some(Proof { logged: true, .. })
            if suspects
                .iter()
                .all(|suspect| stays_below(evidence, suspect)) =>
        {
            "The kubelet's relist asks one pod after the other and waits for it each time, though never for so long that the kubelet called its PLEG unhealthy: from 1.32 on it asks a pod once, so that one such container alone costs a relist 2 minutes of the 3. Its pod is neither mended nor removed, and with a second one like it the node goes NotReady."
        }
        Some(Proof { logged: true, .. }) => {
            "The kubelet's relist asks one pod after the other, so it cannot finish, and after 3 minutes the node goes NotReady."
        }
        _ => {
            "An ordinary start or stop keeps a container busy for seconds; if it lasts, the kubelet's relist waits for it, and after 3 minutes the node goes NotReady."
        }
    };
    format!("{what} {why}")
}

/// Returns how long the kubelet waits for a call: as it is set, if that is known, or as usual.
fn patience(evidence: &Evidence) -> String {
    let host = evidence.host.as_ref();
    let set = host.and_then(|host| host.kubelet_settings.as_ref()?.runtime_request_timeout);
    set.map_or_else(|| "2 minutes".to_owned(), rules::holders::span)
}

fn explain_one(evidence: &Evidence, suspect: &Suspect) -> String {
    let runtime = evidence.runtime.as_ref();
    let mut text = Vec::new();
    match (suspect.container, runtime) {
        (Some(container), Some(runtime)) => {
            let seen = match &container.disk {
                Some(stored) if container.is_only_stored() => {
                    let told = stored::told(evidence, stored);
                    format!(
                        " could not be inspected now (Docker does not answer). By Docker's files, which may be stale: {told}."
                    )
                }
                _ => seen_in_docker(container, runtime),
            };
            text.push(format!("{}{seen}", called(suspect)));
            text.extend(timed_out(evidence, suspect));
        }
        _ if suspect.deadlines.is_empty() => text.push(format!("{} is held up.", called(suspect))),
        _ => {
            let calls = verbs(std::slice::from_ref(suspect));
            let (lines, span) = (suspect.deadlines.counted(), span(evidence, suspect));
            text.push(format!(
                "{}: the kubelet's calls to {calls} it timed out ({lines}, {span}).",
                called(suspect)
            ));
        }
    }
    text.extend(suspect.holder.map(|holder| holder.told()));
    if suspect.container.is_none() && evidence.listed().is_some() {
        text.push("It is not in Docker any more.".to_owned());
    }
    let subject = subject(suspect);
    let log = evidence.log.as_ref();
    let (pod, uid) = (subject.pod.as_ref(), subject.uid.as_ref());
    let removal = log.and_then(|log| log.removal_of(pod, uid, suspect.deadlines.last()));
    let removal = removal.map(|removal| clock(evidence, removal.at));
    text.extend(removal.map(|since| format!("Its pod is being deleted (since {since}).")));
    text.join(" ")
}

/// Returns what the log says of a container that Docker has.
fn timed_out(evidence: &Evidence, suspect: &Suspect) -> Option<String> {
    let lines = suspect.deadlines.counted();
    let latest = suspect.deadlines.latest();
    let since = clock(evidence, Some(latest.first()?));
    if proof(evidence, suspect).logged && hangs(suspect) {
        return Some(format!(
            "The kubelet's calls for it have timed out since {since} ({lines})."
        ));
    }
    let span = span(evidence, suspect);
    Some(format!(
        "The kubelet's calls for it timed out before ({lines}, {span})."
    ))
}

fn span(evidence: &Evidence, suspect: &Suspect) -> String {
    let latest = suspect.deadlines.latest();
    let (first, last) = (
        clock(evidence, latest.first()),
        clock(evidence, latest.last()),
    );
    if first == last {
        first
    } else {
        format!("{first} to {last}")
    }
}

/// Returns "inspect and stop": what the kubelet tried.
fn verbs(suspects: &[Suspect]) -> String {
    let verb = |kind| match kind {
        Kind::StopSandboxFailed | Kind::StopContainerFailed | Kind::GcStopContainerFailed => "stop",
        Kind::StartContainerFailed => "start",
        Kind::RemoveSandboxFailed | Kind::RemoveContainerFailed => "remove",
        _ => "inspect",
    };
    let groups = suspects.iter().flat_map(|suspect| &suspect.deadlines.0);
    let verbs: BTreeSet<_> = groups.map(|group| verb(group.first.kind)).collect();
    let verbs: Vec<_> = verbs.into_iter().collect();
    verbs.join(" and ")
}

fn seen_in_docker(container: &Container, runtime: &Runtime) -> String {
    let answered = |c: &&Container| c.id != container.id && c.probe.outcome == Outcome::Answered;
    let others: Vec<_> = runtime.containers.iter().filter(answered).collect();
    let slowest = others
        .iter()
        .map(|c| &c.probe)
        .max_by_key(|probe| probe.took)
        .map(took);
    let others = slowest.map_or_else(String::new, |slowest| match others.len() {
        1 => format!("; the other one took {slowest}"),
        n => format!("; {n} others took {slowest} at most"),
    });
    let listed = format!(" Docker lists it as \"{}\".", container.listed_status);
    let took = took(&container.probe);
    match container.probe.outcome {
        Outcome::TimedOut => format!(" answers no inspect (gave up after {took}{others}).{listed}"),
        Outcome::Answered => format!(" answers again (in {took})."),
        Outcome::Gone => " is not in Docker any more.".to_owned(),
        _ => {
            let how = rules::probe_text(&container.probe);
            format!(" could not be inspected now ({how}).{listed}")
        }
    }
}

fn many_together(evidence: &Evidence, suspects: &[Suspect]) -> String {
    let containers = count(suspects.len(), "container");
    let what = match suspects.first().map(|suspect| proof(evidence, suspect)) {
        Some(Proof {
            logged: true,
            hangs: true,
            ..
        }) => {
            format!("{containers} answer no inspect, and the kubelet's calls for them time out.")
        }
        Some(Proof { hangs: true, .. }) => format!("{containers} answer no inspect."),
        _ if suspects.iter().all(|s| s.deadlines.is_empty()) => {
            format!("{containers} are held up.")
        }
        _ => format!("The kubelet's calls for {containers} timed out."),
    };
    let pods: BTreeSet<_> = suspects
        .iter()
        .filter_map(|suspect| subject(suspect).pod)
        .collect();
    let named: Vec<_> = pods.iter().take(EACH).map(ToString::to_string).collect();
    let more = match pods.len().saturating_sub(named.len()) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let pods = match pods.len() {
        0 => String::new(),
        number => format!(
            " They belong to {}: {}{more}.",
            count(number, "pod"),
            named.join(", ")
        ),
    };
    format!("{what}{pods}{}", held_together(suspects))
}

/// Returns the processes that work on some of many.
fn held_together(suspects: &[Suspect]) -> String {
    let pids = suspects.iter().filter_map(|suspect| suspect.holder?.pid());
    let pids: Vec<_> = pids.map(|pid| pid.to_string()).collect();
    match pids.as_slice() {
        [] => String::new(),
        [pid] => format!(" The OCI runtime's process {pid} works on one of them."),
        _ => format!(
            " OCI runtime processes work on {} of them: {}.",
            pids.len(),
            pids.join(", ")
        ),
    }
}
