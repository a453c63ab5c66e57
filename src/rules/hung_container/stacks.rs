//! What the daemon's own stacks say of a container that does not answer.

use super::{Suspect, hangs};
use crate::{
    evidence::Evidence,
    finding::Citation,
    rules::daemon_stacks::{cite, doing, listed},
    stacks::Held,
};

/// Returns who holds the container's lock and waits for what; without the container's name where the stacks,
/// which have addresses in place of ids, do not tell.
pub(super) fn told(evidence: &Evidence, suspects: &[Suspect]) -> Option<(String, Citation)> {
    let runtime = evidence.runtime.as_ref()?;
    let pending = runtime.stacks.as_ref()?;
    if !suspects.iter().any(hangs) {
        return None;
    }
    if let ([one], [id]) = (suspects, &pending.pending[..])
        && one.id.matches(id)
        && let Some(held) = pending.stacks.our_lock()
        && let Some(holder) = held.holder
    {
        let sentence = format!(
            "dockerd's own stacks show who holds its lock: {}{}.",
            doing(holder),
            behind(&held)
        );
        return Some((sentence, cite(runtime, &[holder])));
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

fn behind(held: &Held<'_>) -> String {
    match held.waiting {
        0 | 1 => String::new(),
        waiting => format!("; {waiting} calls wait behind it"),
    }
}
