//! What this host's processes say of a container that may not answer: who holds it up now, and since when.

use super::{Suspect, hangs};
use crate::runtime::Call;
use crate::{
    evidence::Evidence,
    io::probe::Outcome,
    kubelet::incident::CALL_TIMEOUT,
    node::{OciCommand, Role, State},
    rules::holders,
    runtime::Container,
    syntax::id::ContainerId,
};
use chrono::TimeDelta;
use std::time::Duration;

/// For how long PLEG may be silent before the node goes NotReady (kubelet pkg/kubelet/pleg/generic.go).
const THRESHOLD: Duration = Duration::from_secs(3 * 60);

/// Returns the containers that an OCI runtime process has worked on for longer than the kubelet waits, unless Docker
/// shows that it holds nothing up: an `exec` may be old and in nobody's way.
pub(super) fn containers(evidence: &Evidence) -> Vec<(&ContainerId, Option<&Container>)> {
    let limit = CALL_TIMEOUT.to_std().unwrap_or(holders::STUCK);
    let mut held = Vec::new();
    for process in evidence.host.iter().flat_map(|host| &host.processes) {
        let Role::OciRuntime(command) = process.role else {
            continue;
        };
        let (Some(id), false) = (&process.container, command == OciCommand::Init) else {
            continue;
        };
        let container = match &evidence.runtime {
            None => None,
            Some(runtime) => match runtime.find(id) {
                Some(container) if container.probe.outcome == Outcome::NotProbed => Some(container),
                // Another daemon's, or one that answers.
                _ => continue,
            },
        };
        if process.age.is_some_and(|age| age >= limit) && process.state != State::Dead {
            held.push((id, container));
        }
    }
    held
}

/// Finds who holds up those that neither answer nor are gone.
pub(super) fn find<'a>(evidence: &'a Evidence, suspects: &mut [Suspect<'a>]) {
    for suspect in suspects
        .iter_mut()
        .filter(|suspect| !is_well(evidence, suspect))
    {
        suspect.holder = holders::of_container(evidence, suspect.id);
    }
    // A thread does not tell for which container it waits: only a single one that hangs may be meant.
    let mut hanging = suspects.iter_mut().filter(|suspect| hangs(suspect));
    if let (Some(one), None) = (hanging.next(), hanging.next())
        && one.holder.is_none()
    {
        one.holder = holders::waiting_thread(evidence);
    }
}

/// Whether it answers or is gone, so that an old process is in nobody's way.
pub(super) fn is_well(evidence: &Evidence, suspect: &Suspect) -> bool {
    match (suspect.container, &evidence.runtime) {
        (Some(c), _) => matches!(c.probe.outcome, Outcome::Answered | Outcome::Gone),
        (None, Some(runtime)) => runtime.probe(Call::List).outcome == Outcome::Answered,
        (None, None) => false,
    }
}

/// Whether an OCI runtime process works on it now, and has for longer than any ordinary work takes.
pub(super) fn is_held(suspect: &Suspect) -> bool {
    suspect.holder.is_some_and(|holder| holder.is_stuck())
}

/// Whether it has been held for longer than the kubelet's PLEG may be silent.
pub(super) fn is_held_for_long(suspect: &Suspect) -> bool {
    let age = suspect.holder.and_then(|holder| holder.age());
    age.is_some_and(|age| age >= THRESHOLD)
}

/// Whether its last time-out in the log fell into the hold of the present: the process was there already.
pub(super) fn covers_the_log(evidence: &Evidence, suspect: &Suspect) -> bool {
    let age = suspect.holder.and_then(|holder| holder.age());
    let age = age.and_then(|age| TimeDelta::from_std(age).ok());
    let since = age.and_then(|age| evidence.now.checked_sub_signed(age));
    is_held(suspect)
        && since
            .zip(suspect.deadlines.last())
            .is_some_and(|(since, last)| since <= last)
}
