//! What to do about what holds a container up.

use super::{Suspect, hangs, stacks, subject};
use crate::{
    evidence::Evidence,
    finding::{Remedy, action::Action},
    rules::{
        holders,
        remedies::{
            end_runtime_process, restart_runtime, save_stacks, see_runtime_process, see_whose,
        },
    },
};

/// Containers that one command names.
const IN_ONE: usize = 8;

/// Returns the actions that end what holds them up: only of those that did not answer this look, which is the first of
/// the two observations that a kill needs.
fn ends(suspects: &[Suspect]) -> Vec<Action> {
    let hung = suspects.iter().filter(|suspect| hangs(suspect));
    hung.filter_map(|suspect| suspect.holder?.end()).collect()
}

/// Returns them, the mildest first.
pub(super) fn all(evidence: &Evidence, suspects: &[Suspect]) -> Vec<Remedy> {
    let few = suspects.iter().take(IN_ONE);
    let ids: Vec<_> = few.map(|suspect| suspect.id.short()).collect();
    let process = (!ids.is_empty()).then(|| ids.join("|"));
    let process = process.as_deref();
    let holders: Vec<_> = suspects.iter().filter_map(|s| s.holder).collect();
    let (see, end) = match holders.split_first() {
        // Of a thread that waits for a file system there is no process to end.
        Some((holder, others)) => {
            let end = holders::end(&holders).map(|remedy| Remedy {
                actions: ends(suspects),
                ..remedy
            });
            (Some(holder.look(others)), end)
        }
        None => (
            process.map(see_runtime_process),
            process
                .filter(|_| !stacks::waits_for_logs(evidence, suspects))
                .map(end_runtime_process),
        ),
    };
    let unnamed = suspects.iter().find(|suspect| {
        let subject = subject(suspect);
        subject.pod.is_none() && subject.name.is_none()
    });
    let whose = unnamed.map(|suspect| see_whose(evidence, suspect.id.short()));
    let save = save_stacks(evidence);
    whose
        .into_iter()
        .chain(see)
        .chain([save])
        .chain(end)
        .chain([restart_runtime(evidence)])
        .collect()
}
