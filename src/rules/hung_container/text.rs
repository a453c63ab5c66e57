//! The sentences of `hung-container`, for one suspect and for many.

use super::suspect::{Proof, Suspect};
use crate::io::probe::Outcome;
use crate::kubelet::event::Kind;
use crate::rules::EACH;
use crate::rules::support::case::Case;
use crate::rules::support::daemon_stacks::{cite, doing, listed, lock_of};
use crate::rules::support::wording::{clock, count, display_name, lower, probe_text, took};
use crate::rules::support::{bind_mounts, holders, on_disk};
use crate::runtime::stacks::{Call, Wait};
use crate::runtime::{Container, Runtime};
use crate::syntax::citation::Citation;
use crate::syntax::time::Time;
use std::collections::BTreeSet;
use std::fmt::Write as _;

pub(super) fn title(suspects: &[Suspect], active: bool) -> String {
    let (name, is, do_) = match suspects {
        [one] => (display_name(&one.subject()), "is", "does"),
        many => (count(many.len(), "container"), "are", "do"),
    };
    let is_only_held = |it: &Suspect| it.proof.held && !it.proof.hangs && it.deadlines.is_empty();
    if suspects.iter().all(is_only_held) {
        return format!("{name} {is} blocked by an OCI runtime process");
    }
    if !suspects.iter().any(|it| it.proof.status || it.proof.hangs) {
        let time_out = if active { "time out" } else { "timed out" };
        let (calls, name) = (verbs(suspects), lower(&name));
        return format!("The kubelet's calls to {calls} {name} {time_out}");
    }
    match active {
        true => format!("{name} {do_} not answer"),
        false => format!("{name} did not answer for a time"),
    }
}

/// What is seen of them.
pub(super) fn state(case: &Case, suspects: &[Suspect]) -> String {
    match suspects {
        [one] => state_of_one(case, one),
        many => state_of_many(many),
    }
}

fn state_of_one(case: &Case, suspect: &Suspect) -> String {
    let evidence = case.evidence;
    let subject = suspect.subject();
    let name = display_name(&subject);
    let lines = suspect.deadlines.summary(evidence);
    let mut text = Vec::new();
    match (suspect.container, &evidence.runtime) {
        (Some(container), Some(runtime)) => {
            text.push(match &container.disk {
                Some(stored) if container.is_only_stored() => format!(
                    "{name} could not be inspected now (Docker does not answer). By Docker's files, which may be stale: {}.",
                    on_disk::told(evidence, stored)
                ),
                _ => inspected(container, runtime, &name),
            });
            let latest = suspect.deadlines.latest();
            let lasts = suspect.proof.logged && suspect.proof.hangs;
            text.extend(latest.first().map(|first| match lasts {
                true => format!(
                    "The kubelet's calls for it have timed out since {} ({}).",
                    clock(evidence, Some(first)),
                    suspect.deadlines.counted()
                ),
                false => format!(
                    "The kubelet's calls for it timed out before ({}, {}).",
                    suspect.deadlines.counted(),
                    latest.span(evidence)
                ),
            }));
        }
        _ if suspect.deadlines.is_empty() => {
            text.push(format!("{name} is blocked by an OCI runtime process."));
        }
        _ => {
            let calls = verbs(std::slice::from_ref(suspect));
            let name = lower(&name);
            text.push(format!(
                "The kubelet's calls to {calls} {name} timed out ({lines})."
            ));
        }
    }
    text.extend(suspect.holder.map(|holder| holder.told()));
    if suspect.container.is_none() && evidence.listed().is_some() {
        text.push("It is not in Docker any more.".to_owned());
    }
    let (pod, uid) = (subject.pod.as_ref(), subject.uid.as_ref());
    let removal = case
        .log()
        .and_then(|log| log.deletion_of(pod, uid, suspect.deadlines.last()));
    text.extend(removal.map(|removal| {
        let since = clock(evidence, removal.at);
        format!("Its pod is being deleted (since {since}).")
    }));
    text.join(" ")
}

fn inspected(container: &Container, runtime: &Runtime, name: &str) -> String {
    let took_now = took(&container.probe);
    let how = match container.probe.outcome {
        Outcome::Answered => return format!("{name} answers again (in {took_now})."),
        Outcome::Gone => return format!("{name} is not in Docker any more."),
        Outcome::TimedOut => {
            let others = runtime.containers.iter().filter(|it| it.id != container.id);
            let others = others.map(|it| &it.probe);
            let others = others.filter(|it| it.outcome == Outcome::Answered);
            let slowest = others.clone().max_by_key(|it| it.took).map(took);
            let others = slowest.map_or_else(String::new, |slowest| match others.count() {
                1 => format!(" (the other one answered within {slowest})"),
                number => format!(" (the {number} others answered within {slowest})"),
            });
            format!(
                "`docker inspect` of {} timed out after {took_now}{others}",
                lower(name)
            )
        }
        _ => format!(
            "{name} could not be inspected now ({})",
            probe_text(&container.probe)
        ),
    };
    format!("{how}. Docker lists it as \"{}\".", container.listed_status)
}

/// "inspect and stop": the calls that failed.
fn verbs(suspects: &[Suspect]) -> String {
    let verb = |kind| match kind {
        Kind::StopSandboxFailed | Kind::StopContainerFailed | Kind::GcStopContainerFailed => "stop",
        Kind::StartContainerFailed => "start",
        Kind::RemoveSandboxFailed | Kind::RemoveContainerFailed => "remove",
        _ => "inspect",
    };
    let groups = suspects.iter().flat_map(|it| &it.deadlines.0);
    let verbs: BTreeSet<_> = groups.map(|group| verb(group.first.kind)).collect();
    verbs.into_iter().collect::<Vec<_>>().join(" and ")
}

fn state_of_many(suspects: &[Suspect]) -> String {
    let containers = count(suspects.len(), "container");
    let proof = suspects.first().map(|it| it.proof).unwrap_or_default();
    let mut text = match (proof.hangs, proof.logged) {
        (true, true) => format!(
            "`docker inspect` of {containers} times out, and so do the kubelet's calls for them."
        ),
        (true, false) => format!("`docker inspect` of {containers} times out."),
        _ if suspects.iter().all(|it| it.deadlines.is_empty()) => {
            format!("{containers} are blocked by OCI runtime processes.")
        }
        _ => format!("The kubelet's calls for {containers} timed out."),
    };
    let pods: BTreeSet<_> = suspects.iter().filter_map(|it| it.subject().pod).collect();
    let named: Vec<_> = pods.iter().take(EACH).map(ToString::to_string).collect();
    if !named.is_empty() {
        let more = match pods.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let (pods, named) = (count(pods.len(), "pod"), named.join(", "));
        let _ = write!(text, " They belong to {pods}: {named}{more}.");
    }
    let pids = suspects.iter().filter_map(|it| it.holder?.pid());
    let pids: Vec<_> = pids.map(|pid| pid.to_string()).collect();
    match &pids[..] {
        [] => {}
        [pid] => drop(write!(
            text,
            " OCI runtime process {pid} works on one of them."
        )),
        _ => drop(write!(
            text,
            " OCI runtime processes work on {} of them: {}.",
            pids.len(),
            pids.join(", ")
        )),
    }
    text
}

/// What that means for the relist.
pub(super) fn effect(case: &Case, suspects: &[Suspect]) -> String {
    const IF_STATUS: &str =
        "It blocks the kubelet's relist only if the container's status call hangs, too.";
    let proof = suspects.first().map(|it| it.proof).unwrap_or_default();
    let is_status = proof.hangs || proof.status;
    match proof {
        Proof { held: true, .. } if !proof.blocks_relist() => "Such a process takes seconds; while it lasts, the kubelet's relist waits for it, and after 3 minutes the node is NotReady.".to_owned(),
        _ if !is_status && suspects.iter().any(Suspect::is_unkillable) => format!(
            "The runtime killed its process, which did not end: a process that survives SIGKILL sleeps in the kernel, mostly for a file system that does not answer, or its shim does not report its end. {IF_STATUS}"
        ),
        _ if !is_status => format!(
            "Such a call may just need longer than the {} that the kubelet waits. {IF_STATUS}",
            call_timeout(case)
        ),
        Proof { over: true, .. } => "Meanwhile the kubelet's relist, which queries one pod after the other, could not finish.".to_owned(),
        Proof { logged: true, .. } if suspects.iter().all(|it| it.stays_below) => "The kubelet's relist waits for it each time, but never long enough to report PLEG unhealthy: from 1.32 on it queries a pod once, so one such container costs a relist 2 minutes of its 3. Its pod is neither repaired nor removed, and with a second one like it the node is NotReady.".to_owned(),
        Proof { logged: true, .. } => "The kubelet's relist queries one pod after the other, so it cannot finish, and after 3 minutes the node is NotReady.".to_owned(),
        _ => "An ordinary start or stop keeps a container busy for seconds; if this lasts, the kubelet's relist waits for it, and after 3 minutes the node is NotReady.".to_owned(),
    }
}

/// How long the kubelet waits for a call: as it is set, or as usual.
fn call_timeout(case: &Case) -> String {
    let settings = case.host().and_then(|host| host.kubelet_settings.as_ref());
    let set = settings.and_then(|it| it.runtime_request_timeout);
    set.map_or_else(|| "2 minutes".to_owned(), holders::span)
}

/// What dockerd's stacks show: the call that holds the container's lock, or, since they have addresses in place of ids, only
/// which calls hang.
pub(super) fn stacks(case: &Case, suspects: &[Suspect]) -> Option<(String, Citation)> {
    let runtime = case.evidence.runtime.as_ref()?;
    let pending = runtime.docker().stacks.as_ref()?;
    if !suspects.iter().any(|it| it.proof.hangs) {
        return None;
    }
    if let [one] = suspects
        && let Some((lock, holder)) = lock_of(runtime, one.id)
    {
        let holder = within_its_life(holder, one.container, runtime.asked_at);
        let behind = match lock.waiting {
            0 | 1 => String::new(),
            waiting => format!("; {waiting} calls wait behind it"),
        };
        let waits = matches!(holder.waits, Wait::FileSystem { bind: true, .. });
        let shares = one.container.filter(|_| waits);
        let shares = shares.map(|it| bind_mounts::of(case.evidence, it));
        let share = match shares.as_deref().unwrap_or_default() {
            [] => String::new(),
            shares => format!(" By Docker's files {}.", bind_mounts::told(shares)),
        };
        let text = format!(
            "dockerd's own stacks show what holds its lock: {}{behind}.{share}",
            doing(&holder)
        );
        return Some((text, cite(runtime, &[&holder])));
    }
    let hanging = pending.stacks.hanging();
    (!hanging.is_empty()).then(|| {
        let calls = listed(&hanging);
        let text = format!(
            "dockerd's own stacks show which calls hang, but not for which container: {calls}."
        );
        (text, cite(runtime, &hanging))
    })
}

/// The holder without its minutes where they are more than the container's age: Go's count was seen to be ahead of the
/// clock, and a lock is not older than its container.
fn within_its_life(holder: &Call, container: Option<&Container>, now: Time) -> Call {
    let age = container.and_then(|it| it.created).map(|it| now - it);
    let minutes = i64::try_from(holder.minutes).unwrap_or(i64::MAX);
    let is_older = age.is_some_and(|age| age.num_minutes() < minutes);
    Call {
        minutes: if is_older { 0 } else { holder.minutes },
        ..holder.clone()
    }
}
