//! What the daemon's own stacks say of a container that does not answer.

use super::{Suspect, hangs};
use crate::{
    evidence::Evidence,
    rules::{
        daemon_stacks::{cite, doing, listed},
        shares,
    },
    runtime::{
        Container, PendingStacks,
        stacks::{Call, Held, Wait},
    },
    syntax::{citation::Citation, time::Time},
};

/// Returns who holds the container's lock and waits for what; without the container's name where the stacks,
/// which have addresses in place of ids, do not tell.
pub(super) fn told(evidence: &Evidence, suspects: &[Suspect]) -> Option<(String, Citation)> {
    let runtime = evidence.runtime.as_ref()?;
    let pending = runtime.docker().stacks.as_ref()?;
    if !suspects.iter().any(hangs) {
        return None;
    }
    if let ([one], Some((held, holder))) = (suspects, held(suspects, pending)) {
        let holder = within_its_life(holder, one.container, runtime.asked_at);
        let sentence = format!(
            "dockerd's own stacks show who holds its lock: {}{}.{}",
            doing(&holder),
            behind(&held),
            share(evidence, &holder, one.container)
        );
        return Some((sentence, cite(runtime, &[&holder])));
    }
    let hanging = pending.stacks.hanging();
    if hanging.is_empty() {
        return None;
    }
    let sentence = format!(
        "dockerd's own stacks tell which calls hang, though not for which container: {}.",
        listed(&hanging)
    );
    Some((sentence, cite(runtime, &hanging)))
}

/// Returns whether the one container's lock is held by a call that waits for a log driver, so that no process of the OCI
/// runtime can be what holds it up.
pub(super) fn waits_for_logs(evidence: &Evidence, suspects: &[Suspect]) -> bool {
    let runtime = evidence.runtime.as_ref();
    let pending = runtime.and_then(|runtime| runtime.docker().stacks.as_ref());
    pending
        .and_then(|pending| held(suspects, pending))
        .is_some_and(|(_, holder)| matches!(holder.waits, Wait::LogDriver(_)))
}

/// Returns the lock that the one container's inspect waits for, and the call that holds it, where the stacks tell.
fn held<'a>(suspects: &[Suspect], pending: &'a PendingStacks) -> Option<(Held<'a>, &'a Call)> {
    let ([one], [id]) = (suspects, &pending.pending[..]) else {
        return None;
    };
    let held = pending.stacks.our_lock().filter(|_| one.id.matches(id))?;
    let holder = held.holder?;
    Some((held, holder))
}

/// Returns the share that a start waits for: a bind mount's source is looked at, and one with a server behind it is
/// mounted in the container.
fn share(evidence: &Evidence, holder: &Call, container: Option<&Container>) -> String {
    let waits = matches!(holder.waits, Wait::FileSystem { bind: true, .. });
    let shares = container
        .filter(|_| waits)
        .map(|container| shares::of(evidence, container));
    match shares.unwrap_or_default().as_slice() {
        [] => String::new(),
        shares => format!(" By Docker's files {}.", shares::told(shares)),
    }
}

/// Returns the holder without its minutes where they are more than the container's age: Go's count was seen to be
/// ahead of the clock, and a lock is not older than what it guards.
fn within_its_life(holder: &Call, container: Option<&Container>, now: Time) -> Call {
    let age = container
        .and_then(|container| container.created)
        .map(|created| now - created);
    let minutes = i64::try_from(holder.minutes).unwrap_or(i64::MAX);
    let older = age.is_some_and(|age| age.num_minutes() < minutes);
    Call {
        minutes: if older { 0 } else { holder.minutes },
        ..holder.clone()
    }
}

fn behind(held: &Held<'_>) -> String {
    match held.waiting {
        0 | 1 => String::new(),
        waiting => format!("; {waiting} calls wait behind it"),
    }
}
